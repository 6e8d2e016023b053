# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Moves poses that leave the ranges of joints and sockets to the nearest ones inside."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.limits.ranges import range_room
from masticator_dynamics.motion.least_contact_motion import LeastContactMotion

MARGIN = 1e-6  # m or rad; between two samples the path bulges by less
_SPREAD = 0.02  # s, over which a correction of one sample rises and falls on either side
_ROUNDS = 10
_NEARNESS = 1e-3  # weight of the platform's motion against the frame's distance from its target
_MM = 1e3  # SLSQP needs numbers of the order of one


def moved_inside(
    follower: LeastContactMotion, poses: FloatArray, targets: FloatArray, times: FloatArray
) -> FloatArray:
    """Poses (N, n) inside all ranges, where there are any, with the frame as near as possible.

    Every pose outside is replaced by the one inside whose frame is nearest to its target: exactly
    on it where the free coordinates suffice. Poses around it follow, so that the motion stays
    smooth. Poses for which none is found inside stay as they are.

    Parameters
    ----------
    follower : LeastContactMotion
        Knows the mechanism, the frame and the free coordinates.
    poses, targets : (N, n) and (N, 3) array
        Independent coordinates, and where the frame's origin should be, m.
    times : (N,) array
        s.
    """
    mechanism = follower.mechanism
    for _ in range(_ROUNDS):
        outside = range_room(mechanism, mechanism.feedforward_batch(poses)).outside
        corrections = np.zeros_like(poses)
        for k in np.flatnonzero(outside):
            corrections[k] = _nearest_inside(follower, poses[k], targets[k]) - poses[k]
        if not corrections.any():
            break
        poses = poses + _spread(corrections, times)
    return poses


def _nearest_inside(
    follower: LeastContactMotion, pose: FloatArray, target: FloatArray
) -> FloatArray:
    """Pose (n,) inside all ranges whose frame is nearest to a target (3,), or the one given."""
    from scipy.optimize import minimize  # only here: it takes long to import

    def at(moved: FloatArray) -> FloatArray:
        return np.asarray(pose + moved / (_MM * follower.scale))

    def distance(moved: FloatArray) -> tuple[float, FloatArray]:
        position, jacobian = follower.placed(at(moved))
        error = _MM * (position - target)
        value = float(error @ error + _NEARNESS**2 * moved @ moved)
        return value, 2.0 * (error @ jacobian + _NEARNESS**2 * moved)

    inside = {
        'type': 'ineq',
        'fun': lambda moved: _MM * (follower.room(at(moved))[0] - MARGIN),
        'jac': lambda moved: follower.room(at(moved))[1],
    }
    try:
        found = minimize(
            distance, np.zeros(len(pose)), jac=True, method='SLSQP', constraints=[inside],
            options={'ftol': 1e-12, 'maxiter': 100},
        )  # fmt: skip
        kept = follower.room(at(found.x))[0].min() > 0.0
    except MasticatorError:  # out of reach on the way
        return pose
    return at(found.x) if kept else pose


def _spread(corrections: FloatArray, times: FloatArray) -> FloatArray:
    """Smooth curves (N, n) no smaller than the corrections (N, n), and zero far from them."""
    from scipy import ndimage  # only here: it takes long to import

    reach = max(1, round(_SPREAD / (2.0 * float(np.median(np.diff(times))))))
    window = np.hanning(2 * reach + 3)[1:-1]
    window /= window.sum()

    def envelope(sizes: FloatArray) -> FloatArray:
        raised = ndimage.maximum_filter1d(sizes, 2 * reach + 1, axis=0, mode='nearest')
        return np.asarray(ndimage.convolve1d(raised, window, axis=0, mode='nearest'))

    return envelope(np.maximum(corrections, 0.0)) - envelope(np.maximum(-corrections, 0.0))
