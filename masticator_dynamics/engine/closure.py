# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closing the loops: positions block by block, always on the branch continuous with home.

The constraints of a closed-loop mechanism rarely form one big system: the platform's parasitic
motions follow from the contacts, then each limb from its own closure. ``structure.py`` finds that
order once; here each block is a small Newton iteration, damped so that no joint moves more than
``largest_step`` at a time, started from home whatever was computed before.
"""

import math

import numpy as np

from masticator_dynamics.engine.inverse import invert_block
from masticator_dynamics.engine.jit import kernel
from masticator_dynamics.engine.pose import measure, place_bodies
from masticator_dynamics.engine.status import CLOSED, OTHER_BRANCH, OUT_OF_REACH
from masticator_dynamics.engine.universal_limb import guess_limb

ITERATIONS = 60
NEGLIGIBLE_GAP = 1e-15  # m; rounding in coordinates of a metre is 1e-16
STEP_TOLERANCE = 3e-7  # of largest_step; what is left is about its square
FAR_FROM_HOME = 0.5 * math.pi  # rad; beyond it a Newton jump may have changed the branch
DIRECT, COARSE, FINE = 1, 8, 64  # steps of the path from home


@kernel
def close_block(model, b, q):
    """Positions of the dependent joints of block ``b``; the blocks before it are closed.

    Leaves the gaps, the Jacobian for the block's own joints and its inverse at these positions.

    Returns
    -------
    status : int
        ``CLOSED``, ``OUT_OF_REACH`` or ``SINGULAR``.
    amount : float
        Smallest gap reached (m), or the regularity of the singular block.
    sign : float
        Of the determinant of the block's Jacobian.
    """
    block = model.blocks[b]
    if block.limb != 0.0:
        guess_limb(model, block, q)
    smallest_gap, closed = np.inf, False
    for _ in range(ITERATIONS):
        place_bodies(model, q, block.first_body, block.last_body)
        gap = measure_block(model, block, q)
        if not math.isfinite(gap):
            return OUT_OF_REACH, smallest_gap, 0.0
        smallest_gap = min(smallest_gap, gap)
        sign = invert_block(model, block)
        if closed or gap < NEGLIGIBLE_GAP:
            return CLOSED, gap, sign
        if sign == 0.0:
            return OUT_OF_REACH, smallest_gap, sign
        closed = newton_step(model, block, q) < STEP_TOLERANCE
    return OUT_OF_REACH, smallest_gap, 0.0


@kernel
def measure_block(model, block, q):
    """Gaps and own Jacobian of the constraints of a block; the largest gap, m."""
    for c in range(block.first_constraint, block.last_constraint):
        measure(model, model.constraints[c], q)
    largest = 0.0
    for r in range(block.first_row, block.last_row):
        largest = max(largest, abs(model.gap[r]))
        if math.isnan(model.gap[r]):
            return np.nan
    return largest


@kernel
def newton_step(model, block, q):
    """Move the joints of a block; length of the undamped step over the largest allowed one."""
    joints, dependent = model.joints, model.dependent
    first, last = block.first_row, block.last_row
    longest = 0.0
    for k in range(first, last):
        step = 0.0
        for r in range(first, last):
            step -= model.inverse[k, r - first] * model.gap[r]
        model.step[k] = step
        longest = max(longest, abs(step) / joints[dependent[k]].largest_step)
    damping = 1.0 / longest if longest > 1.0 else 1.0
    for k in range(first, last):
        q[dependent[k]] += damping * model.step[k]
    return longest


@kernel
def near_home(model, block, q):
    """Whether no joint of a block turned so far that a Newton jump could have gone unseen."""
    for k in range(block.first_row, block.last_row):
        joint = model.joints[model.dependent[k]]
        if not joint.prismatic and abs(q[model.dependent[k]] - joint.home) > FAR_FROM_HOME:
            return False
    return True


@kernel
def close_all(model, q, check_distance):
    """Close every block from the positions in ``q``: status, block, amount."""
    for b in range(len(model.blocks)):
        block = model.blocks[b]
        if block.first_row == block.last_row:
            place_bodies(model, q, block.first_body, block.last_body)
            continue
        status, amount, sign = close_block(model, b, q)
        if status != CLOSED:
            return status, b, amount
        certain = block.limb != 0.0 or not check_distance or near_home(model, block, q)
        if sign != block.home_sign or not certain:
            return OTHER_BRANCH, b, amount
    return CLOSED, -1, 0.0


@kernel
def close_loops(model, y, q):
    """Tree positions ``q`` that close the loops at ``y``, on the home branch.

    First directly from home. A result that may have jumped to another branch (a determinant of
    the other sign, a joint turned far) is not trusted: the pose is then approached from home in
    small steps, along which the branch cannot change unseen.

    Returns
    -------
    status, block, amount
        Of the direct attempt, as in :func:`close_block`, unless a path succeeded;
        ``OTHER_BRANCH`` when every path from home meets a singularity.
    """
    joints, independent = model.joints, model.independent
    first_status, first_block, first_amount = CLOSED, -1, 0.0
    for steps in (DIRECT, COARSE, FINE):
        for i in range(len(joints)):
            q[i] = joints[i].home
        for s in range(1, steps + 1):
            for i in range(len(joints)):
                model.previous[i] = q[i]
            for k in range(len(independent)):
                home = joints[independent[k]].home
                q[independent[k]] = home + (y[k] - home) * s / steps
            status, block, amount = close_all(model, q, steps == DIRECT)
            if status == CLOSED and steps != DIRECT and jumped(model, q):
                status = OTHER_BRANCH
            if status != CLOSED:
                break
        if status == CLOSED:
            return CLOSED, -1, 0.0
        if steps == DIRECT:
            first_status, first_block, first_amount = status, block, amount
    return first_status, first_block, first_amount


@kernel
def jumped(model, q):
    """Whether a joint moved more in one step of the path than a step should move it."""
    for i in range(len(q)):
        if abs(q[i] - model.previous[i]) > 2.0 * model.joints[i].largest_step:
            return True
    return False
