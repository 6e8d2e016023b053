# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of goals and friction, and the forces derived by hand that they are compared with."""
