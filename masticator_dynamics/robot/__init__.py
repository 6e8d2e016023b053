# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The robot in time and in use: its twin, the demo, the laboratory, views."""
