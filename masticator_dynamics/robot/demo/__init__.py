# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The main use case, end to end, without a robot: a chewing motion for the dynamics node."""

from masticator_dynamics.robot.demo.run import run_demo

__all__ = ['run_demo']
