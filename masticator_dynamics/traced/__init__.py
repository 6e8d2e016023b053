# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics written once, on numbers that record, and its machine code per mechanism."""
