# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads files in bounded time and memory, and writes them whole or not at all."""
