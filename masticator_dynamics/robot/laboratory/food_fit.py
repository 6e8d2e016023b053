# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A food's parameters from a measured compression: force over displacement."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.yaml_file import checked
from masticator_dynamics.robot.twin.food import Food

_TOUCH = 0.02  # share of the peak at which the compression begins
_RISE = (0.1, 0.6)  # shares of the peak between which stiffness is taken
_FRACTURE = 0.3  # share of the force lost where a food counts as breaking
_FEWEST = 10  # rows


@dataclasses.dataclass(frozen=True)
class FoodFit:
    """A food and how well it fits the curve.

    Attributes
    ----------
    food : Food
    residual : float
        RMS of law minus curve while the sample is compressed, over the peak.
    breaks : bool
        Whether the curve shows a fracture.
    touch : float
        m, displacement at which the compression begins.
    """

    food: Food
    residual: float
    breaks: bool
    touch: float


def fit_food(
    displacement: FloatArray, force: FloatArray, *, thickness: float, softening: float = 1.0
) -> FoodFit:
    """Stiffness, yield force and fracture from a single compression.

    Parameters
    ----------
    displacement : array, shape (N,)
        m, increasing while the sample is compressed; rows after the largest are left out.
    force : array, shape (N,)
        N, positive in compression.
    thickness : float
        m, of the sample: the curve does not show it.
    softening : float
        Of a bite relative to the one before: a single compression does not show it.

    Raises
    ------
    InputError
        If the curve shows no compression, or one by more than the thickness.
    DescriptionError
        If no food has such a thickness or softening.
    """
    _check(displacement, force, thickness)
    end = int(np.argmax(displacement)) + 1
    x, f = displacement[:end], force[:end]
    peak = float(f.max())
    first = int(np.argmax(f > _TOUCH * peak))
    x, f = x[first:], f[first:]
    at_peak = int(np.argmax(f))
    fracture = _fracture(f)
    rise_end = (at_peak if fracture is None else min(at_peak, fracture)) + 1
    stiffness, zero = _line(x[:rise_end], f[:rise_end])
    depth = x - zero
    if depth[-1] > thickness:
        raise InputError(
            f'the sample is compressed by {1e3 * depth[-1]:.3g} mm, its thickness is said to be '
            f'{1e3 * thickness:.3g} mm'
        )
    compression, rest = 2.0 * thickness, 1.0
    if fracture is not None:
        compression = float(0.5 * (depth[fracture] + depth[fracture + 1]))
        # What is left is the part that flows on, by the median force after the drop.
        rest = float(np.clip(np.median(f[fracture + 1 :]) / f[fracture], 0.0, 1.0))
    fitted = dict(
        thickness=thickness,
        stiffness=stiffness,
        yield_force=peak if fracture is None else float(f[: fracture + 1].max()),
        break_compression=compression,
        broken_force=rest,
        renewal_gap=1.25 * thickness,
        softening=softening,
    )
    food = checked(Food, fitted, 'the fitted food')
    error = predicted(food, depth) - f
    return FoodFit(food, float(np.sqrt(np.mean(error**2)) / peak), fracture is not None, zero)


def predicted(food: Food, depth: FloatArray) -> FloatArray:
    """Force (N,) of a food's law in one slow compression by depth (N,), m."""
    force = np.minimum(food.stiffness * np.maximum(depth, 0.0), food.yield_force)
    return np.where(depth >= food.break_compression, food.broken_force * force, force)


def fit_figure(fit: FoodFit, displacement: FloatArray, force: FloatArray) -> Any:
    """The measured compression, and the law that was fitted to it."""
    from matplotlib.figure import Figure

    end = int(displacement.argmax()) + 1
    depth = displacement[:end] - fit.touch
    figure = Figure(figsize=(5.0, 3.4), layout='constrained')
    axes = figure.subplots()
    axes.plot(1e3 * depth, force[:end], '.', color='0.6', ms=3, label='measured')
    axes.plot(1e3 * depth, predicted(fit.food, depth), color='C3', lw=1.4, label='fitted')
    axes.set(
        xlabel='compression, mm', ylabel='force, N',
        title=f'residual {fit.residual:.1%} of the peak',
    )  # fmt: skip
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    return figure


def _check(displacement: FloatArray, force: FloatArray, thickness: float) -> None:
    if not thickness > 0.0:
        raise InputError(f'the thickness is {thickness} m, expected a positive number')
    if len(displacement) < _FEWEST:
        raise InputError(f'{len(displacement)} rows; a compression needs at least {_FEWEST}')
    if not force.max() > 0.0:
        raise InputError(f'the largest force is {force.max():.3g} N; compression must be positive')


def _fracture(force: FloatArray) -> int | None:
    """Last row before the first drop that loses a large share of the force within three rows."""
    for k in np.flatnonzero(np.diff(force) < 0.0).tolist():
        after = force[k + 1 : k + 4].min()
        if force[k] - after > _FRACTURE * force[k] and force[k] > 0.25 * force.max():
            return int(k)
    return None


def _line(x: FloatArray, force: FloatArray) -> tuple[float, float]:
    """Slope (N/m) of the rise and where it begins (m)."""
    low, high = (part * force[-1] for part in _RISE)
    chosen = (force >= low) & (force <= high)
    if np.count_nonzero(chosen) < 3 or np.ptp(x[chosen]) == 0.0:
        raise InputError('the rise of the force has fewer than three rows: record it finer')
    slope, offset = np.polyfit(x[chosen], force[chosen], 1)
    if not slope > 0.0:
        raise InputError('the force does not rise with the displacement')
    return float(slope), float(-offset / slope)
