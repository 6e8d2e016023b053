# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The loop closed: planner, dynamics, drives on a CAN bus, and the mechanism that they move."""
