# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node inertia_estimator: load inertia on request and for measured joint states."""
