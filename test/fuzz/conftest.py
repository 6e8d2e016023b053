# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A ROS domain for this run."""

from nodes.conftest import ros_domain

__all__ = ['ros_domain']
