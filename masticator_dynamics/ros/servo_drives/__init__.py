# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node servo_drives: topics and services on one side, CANopen drives on the other."""
