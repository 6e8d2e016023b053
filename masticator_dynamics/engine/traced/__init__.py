# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics written once, on recording numbers, and compiled for each mechanism."""
