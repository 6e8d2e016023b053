# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""ROS 2 nodes: they convert messages, keep time and call the core; only they import rclpy."""
