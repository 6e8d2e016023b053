# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-loop kinematics and dynamics on flat arrays, the same code for every mechanism."""
