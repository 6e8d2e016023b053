# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of goals and friction, and the forces worked out by hand that they compare with."""
