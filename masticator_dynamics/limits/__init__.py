# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Ranges of joints and loads of motors, bearings and contacts: what they are, and keeping them."""
