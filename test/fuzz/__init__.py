# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Fuzzing with random messages, requests, parameters, bytes, frames and files."""
