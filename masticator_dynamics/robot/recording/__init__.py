# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes run as processes, a motion is played to them, and every message is recorded."""
