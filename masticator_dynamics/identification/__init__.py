# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The numbers of a robot from its own recordings, and what it feels without a sensor."""
