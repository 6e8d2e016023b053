# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with flexible links: assumed modes in floating frames, loops by null space (S3)."""

from masticator_dynamics.flexible.drive import MODES
from masticator_dynamics.flexible.model import Energies, FlexibleModel, FlexibleState
from masticator_dynamics.flexible.run import FlexibleRun, run_flexible
from masticator_dynamics.flexible.segments import Segments, segmented
from masticator_dynamics.flexible.simulation import METHODS, Trajectory, simulate

__all__ = [
    'METHODS',
    'MODES',
    'Energies',
    'FlexibleModel',
    'FlexibleRun',
    'FlexibleState',
    'Segments',
    'Trajectory',
    'run_flexible',
    'segmented',
    'simulate',
]
