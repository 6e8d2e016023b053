# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated CiA 402 servo drives: motors, their servo loops, and their side of the bus."""
