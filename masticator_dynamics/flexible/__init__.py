# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with flexible links: assumed modes in floating frames, loops by null space (S3)."""

from masticator_dynamics.flexible.flexible_model import FlexibleModel, FlexibleState
from masticator_dynamics.flexible.flexible_run import MODES, FlexibleRun, run_flexible
from masticator_dynamics.flexible.flexible_simulation import METHODS, FlexibleTrajectory, simulate

__all__ = [
    'METHODS',
    'MODES',
    'FlexibleModel',
    'FlexibleRun',
    'FlexibleState',
    'FlexibleTrajectory',
    'run_flexible',
    'simulate',
]
