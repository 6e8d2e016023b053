# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction and the choice among the efforts that drive the same motion."""
