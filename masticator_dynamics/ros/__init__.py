# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What tools of ROS are given: launch files, settings of the middleware, ros2_control, sliders."""
