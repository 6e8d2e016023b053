# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node dynamics: trajectories and external wrenches in, efforts out, in every cycle."""
