# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Studies of designs: many geometries of a mechanism, judged over motions and loads."""
