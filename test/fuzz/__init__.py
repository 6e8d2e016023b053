# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Strangers on the wire: random messages, requests, parameters, bytes, frames and files."""
