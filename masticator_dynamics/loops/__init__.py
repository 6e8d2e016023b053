# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed loops seen from Python: whether and how they close, and the forces in them."""
