# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motions: twice differentiable paths, trajectories, chewing strokes, incisor tracking."""

from masticator_dynamics.motion.chewing import (
    BiteForceProfile,
    bite_force,
    chewing_stroke,
    opening_stroke,
)
from masticator_dynamics.motion.incisor import IncisorTrack, track_incisor
from masticator_dynamics.motion.path import MotionPath
from masticator_dynamics.motion.spiral import Spiral
from masticator_dynamics.motion.trajectory import path_from_state, with_rest_ramp

__all__ = [
    'BiteForceProfile',
    'IncisorTrack',
    'MotionPath',
    'Spiral',
    'bite_force',
    'chewing_stroke',
    'opening_stroke',
    'path_from_state',
    'track_incisor',
    'with_rest_ramp',
]
