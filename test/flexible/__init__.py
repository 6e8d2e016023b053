# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of flexible links, and the descriptions and the finite segments that they use."""
