# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of the real nodes over the real middleware, if rclpy is installed."""
