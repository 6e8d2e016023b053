# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A food that relaxes, from a compression that is held: in its displacement, or in its force.

The standard linear solid, as the twin's foods are: a spring beside a Maxwell branch, a spring in
series with a damper (Findley, Lai and Onaran, Creep and Relaxation of Nonlinear Viscoelastic
Materials, 1976). For any time constant its force is linear in the two stiffnesses, whatever the
plunger does: what is left to search for is that, and where the plunger touches.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize, nnls

from masticator_dynamics.engine.arrays import FloatArray, rms
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.yaml_file import checked
from masticator_dynamics.robot.laboratory.curves import (
    DrawnFit,
    FoodFit,
    check_curve,
    first_compression,
    first_fracture,
    first_touch,
    rising_line,
)
from masticator_dynamics.robot.laboratory.mouthful_figures import openings
from masticator_dynamics.robot.twin.food import Food

_BACK = 0.02  # of the largest displacement, by which the plunger has gone back
_TRIED = 60  # time constants, before the best is refined
_SPAN = (2.0, 5.0)  # rows, and times the time under load: time constants that can be told
_LEAST_SHARE = 0.01
_BEYOND = 2.0  # times the largest force, for the yield that is not seen


def fit_relaxing_food(
    time: FloatArray,
    displacement: FloatArray,
    force: FloatArray,
    *,
    thickness: float,
    softening: float = 1.0,
) -> FoodFit:
    """Stiffness, relaxing share and relaxation time from the first compression of a curve.

    Parameters
    ----------
    time : array, shape (N,)
        s, increasing.
    displacement, force, thickness, softening
        As for `fit_food`; of the first compression everything counts until the plunger goes back.

    Raises
    ------
    InputError
        If the curve shows no compression, a fracture, or nothing that relaxes.
    """
    check_curve(displacement, force, thickness)
    rows = _pressed(displacement, force)
    t, x, f = time[rows], displacement[rows], force[rows]
    if (broken := first_fracture(f)) is not None:
        raise InputError(
            f'it breaks at {f[broken]:.4g} N: relaxation is told by a sample that stays whole'
        )
    top = int(np.argmax(f))
    _, touch = rising_line(x[: top + 1], f[: top + 1])
    if (most := float(x.max()) - touch) > thickness:
        raise InputError(
            f'the sample is compressed by {1e3 * most:.3g} mm, its thickness is said to be '
            f'{1e3 * thickness:.3g} mm'
        )
    constant, zero, (elastic, relaxing), law = _fitted(t, x, f, touch)
    share = relaxing / (elastic + relaxing)
    peak = float(f.max())
    food = checked(Food, dict(
        thickness=thickness, stiffness=elastic + relaxing, yield_force=_BEYOND * peak,
        break_compression=2.0 * thickness, renewal_gap=1.25 * thickness, softening=softening,
        relaxing_share=share, relaxation_time=constant,
    ), 'the fitted food')  # fmt: skip
    residual = rms(law - f) / peak
    notes = (
        f'no yield up to {peak:.4g} N; {_BEYOND:g} times that stands for it',
        f'{share:.3g} of the stiffness relaxes in {constant:.3g} s',
    )
    return FoodFit(food, residual, False, False, zero, notes, DrawnFit('time, s', t - t[0], f, law))


def _pressed(displacement: FloatArray, force: FloatArray) -> slice:
    """Rows of the first compression from the touch until the plunger goes back."""
    deepest, _ = first_compression(displacement)
    starts = openings(displacement.max() - displacement)
    end = starts[1] if len(starts) > 1 else len(displacement)
    most = displacement[deepest - 1]
    under = np.flatnonzero(displacement[deepest - 1 : end] < (1.0 - _BACK) * most)
    end = deepest - 1 + int(under[0]) if len(under) else end
    return slice(first_touch(force[:end]), end)


def _fitted(
    time: FloatArray, displacement: FloatArray, force: FloatArray, touch: float
) -> tuple[float, float, tuple[float, float], FloatArray]:
    """Relaxation time, s, touch, m, the two stiffnesses, N/m, and the law's force (N,), N.

    Raises
    ------
    InputError
        If nothing relaxes, or faster or slower than the curve can tell.
    """
    scale, reach = float(force.max()), float(np.ptp(displacement))

    def solved(logarithm: float, moved: float = 0.0) -> tuple[FloatArray, float, FloatArray]:
        depth = np.maximum(displacement - touch - moved * reach, 0.0)
        shape = np.column_stack([depth, _branch(time, depth, math.exp(logarithm))])
        parts, rest = nnls(shape, force / scale)
        return scale * parts, float(rest), scale * (shape @ parts)

    low = math.log(_SPAN[0] * float(np.median(np.diff(time))))
    high = math.log(_SPAN[1] * float(time[-1] - time[0]))
    tried = np.linspace(low, high, _TRIED)
    k = int(np.argmin([solved(x)[1] for x in tried.tolist()]))
    near = np.array([[tried[k], 0.0], [tried[k] + 0.1, 0.0], [tried[k], 0.01]])
    best, moved = minimize(
        lambda x: solved(*x)[1], near[0], method='Nelder-Mead',
        options={'initial_simplex': near, 'xatol': 1e-5, 'fatol': 1e-9},
    ).x.tolist()  # fmt: skip
    (elastic, relaxing), _, law = solved(best, moved)
    whole = elastic + relaxing
    if not relaxing > _LEAST_SHARE * whole or not elastic > 0.0 or not low < best < high:
        raise InputError(
            f'nothing is seen to relax within {time[-1] - time[0]:.3g} s: hold the compression, or '
            'the force, for longer, or fit without --relaxation'
        )
    return math.exp(best), touch + moved * reach, (float(elastic), float(relaxing)), law


def _branch(time: FloatArray, depth: FloatArray, constant: float) -> FloatArray:
    """Force (N,) of a Maxwell branch of unit stiffness, exactly for straight lines between rows."""
    force = np.zeros(len(time))
    steps = np.diff(time)
    fallen = np.exp(-steps / constant)
    added = np.diff(depth, prepend=0.0)
    force[0] = added[0]
    gained = added[1:] / steps * constant * (1.0 - fallen)
    for k in range(1, len(time)):
        force[k] = fallen[k - 1] * force[k - 1] + gained[k - 1]
    return force
