# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Load inertia at any pose without the model: membership functions and grids (S4)."""
