# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Servo drives on CANopen (CiA 402): units, bus, cyclic exchange, safety, and simulated drives."""
