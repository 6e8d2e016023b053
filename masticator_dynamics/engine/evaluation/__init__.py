# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of numbers to results: positions, efforts, forces in loops, frames, and what fails."""
