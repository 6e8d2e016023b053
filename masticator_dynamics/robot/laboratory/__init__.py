# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Chewing experiments: a protocol of mouthfuls in, recordings, texture tables and a report out."""
