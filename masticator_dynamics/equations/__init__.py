# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equations of motion of a mechanism: mass matrix, bias, energies, accelerations, frames."""
