# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Dynamics of closed-loop robots: from mechanism files to actuator efforts."""

from masticator_dynamics.mechanism import Mechanism

__all__ = ['Mechanism']
