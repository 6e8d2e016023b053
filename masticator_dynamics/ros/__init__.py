# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Input for ROS tools: launch files, middleware settings, ros2_control, sliders."""
