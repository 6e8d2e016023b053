# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms in the browser: moved by sliders, by a recording, or live by ROS topics."""
