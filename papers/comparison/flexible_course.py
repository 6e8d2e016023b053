# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Flexible rods along S3's spiral over time, mode by mode (S3 Figs. 8 to 13)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, rms
from masticator_dynamics.flexible import FlexibleRun
from papers.comparison.comparison_table import ComparisonTable, rows_of
from papers.comparison.flexible_segments import (
    DRIVEN,
    JointMotion,
    joint_motion,
)

PLATFORM = ('x', 'y', 'phi')
WINDOWS = {'0-0.35 s': (0.0, 0.35), '0.35-0.4 s': (0.35, 0.4)}  # S3 Sec. 4, on Fig. 8
COLUMNS = ('', 'mode a', 'mode b', 'mode c')
GROWTH = 0.2  # s, S3 Sec. 4, on Fig. 11
_NOTE = (
    "S3's model, one fixed-free shape per rod, in our layout; S3 draws curves and prints no "
    'numbers.'
)


@dataclasses.dataclass(frozen=True)
class Course:
    """Motion of rods 1 to 8 at N samples in time.

    Attributes
    ----------
    time : array, shape (N,)
        s.
    tip_deflection, angle_error, rate_error : array, shape (N, 8)
        m, rad, rad/s; see :class:`FlexibleRun`.
    platform_error : array, shape (N, 3)
        Deviation of x, y (m) and phi (rad) from the path.
    joints : JointMotion
    frequency : float
        Lowest frequency of a driven rod with the platform held and motors free, Hz.
    end_point_error : array, shape (N,)
        Distance of P from its path, m.
    energy_gap : float
        Error of the energy balance.
    """

    time: FloatArray
    tip_deflection: FloatArray
    angle_error: FloatArray
    rate_error: FloatArray
    platform_error: FloatArray
    joints: JointMotion
    frequency: float
    end_point_error: FloatArray
    energy_gap: float

    @classmethod
    def of(cls, run: FlexibleRun) -> Course:
        """Course of a run with eight rods that bend in one plane."""
        model = run.model
        return cls(
            run.time, run.tip_deflection, run.angle_error, run.rate_error,
            np.column_stack([run.error(name) for name in PLATFORM]),
            joint_motion(model, run),
            float(model.frequencies(model.home, PLATFORM)[2 * DRIVEN - 1]),
            run.end_point_error, run.energy_balance(),
        )  # fmt: skip

    @property
    def driven_rates(self) -> FloatArray:
        """Errors (N, 4) of the driven rods' angular rates, rad/s."""
        return self.rate_error[:, :DRIVEN]

    def sizes(self) -> FloatArray:
        """Root mean squares (3,) of the driven rods' deflections and rates, and of P's error."""
        parts = self.tip_deflection[:, :DRIVEN], self.driven_rates, self.end_point_error
        return np.array([rms(values) for values in parts])


def courses(runs: Mapping[str, Course]) -> list[ComparisonTable]:
    """Tables from one run per drive mode."""
    return [_windows(runs), _largest(runs), _end_point(runs), _angles(runs), _rates(runs)]


def _windows(runs: Mapping[str, Course]) -> ComparisonTable:
    """How much more rods 1 to 4 vibrate in mode a than in b and c, early and late."""
    rows = {}
    for window, (begin, end) in WINDOWS.items():
        inside = (runs['a'].time >= begin) & (runs['a'].time <= end)
        shaken = {
            mode: np.array([rms(vibration(run)[inside, k]) for k in range(DRIVEN)])
            for mode, run in runs.items()
        }
        bent = {
            mode: np.abs(run.tip_deflection[inside, :DRIVEN]).max(axis=0)
            for mode, run in runs.items()
        }
        for what, values in (('vibration', shaken), ('largest deflection', bent)):
            for other in 'bc':
                ratio = values['a'] / values[other]
                norms = float(np.linalg.norm(values['a']) / np.linalg.norm(values[other]))
                rows[f'{window}, {what}, a/{other}'] = [*ratio, norms]
    columns = ('', *(f'rod {k + 1}' for k in range(DRIVEN)), 'all four')
    notes = (
        'Vibration: root mean square of the deflection minus its mean over one period of the rod. '
        'All four: ratio of norms over the rods; the motor of rod 4 is idle in mode a.',
        _NOTE,
    )
    return ComparisonTable(
        'Tip deflections in two windows, mode a over b and c', 'S3 Sec. 4, Fig. 8',
        columns, rows_of(rows), notes, digits=3,
    )  # fmt: skip


def vibration(run: Course) -> FloatArray:
    """Tip deflections (N, b) less their running mean over one period of a driven rod."""
    step = float(run.time[1] - run.time[0])
    width = max(int(round(1.0 / (run.frequency * step))), 1)
    kernel = np.ones(width) / width
    padded = np.pad(run.tip_deflection, ((width // 2, width - 1 - width // 2), (0, 0)), 'edge')
    mean = [np.convolve(column, kernel, 'valid') for column in padded.T]
    return np.asarray(run.tip_deflection - np.array(mean).T)


def _largest(runs: Mapping[str, Course]) -> ComparisonTable:
    tips = np.array([1e3 * np.abs(run.tip_deflection).max(axis=0) for run in runs.values()]).T
    rows: dict[str, Any] = {f'rod {k + 1}': [*row, row[1] / row[2]] for k, row in enumerate(tips)}
    share = 100.0 * tips[DRIVEN:].max(axis=0) / tips[:DRIVEN].max(axis=0)
    spread = (tips[DRIVEN:].max(axis=1) / tips[DRIVEN:].min(axis=1)).max()
    rows['rods 5-8 of rods 1-4, %'] = [*share, None]
    rows['rods 5-8, largest mode / least'] = [spread, None, None, None]
    return ComparisonTable(
        'Largest tip deflections, mm', 'S3 Sec. 4, Fig. 8',
        (*COLUMNS, 'b / c'), rows_of(rows), (_NOTE,), digits=3,
    )  # fmt: skip


def _end_point(runs: Mapping[str, Course]) -> ComparisonTable:
    rows = {}
    for k, name in enumerate(PLATFORM):
        errors = [1e6 * run.platform_error[:, k] for run in runs.values()]
        unit = 'µrad' if name == 'phi' else 'µm'
        rows[f'{name}, rms, {unit}'] = [rms(e) for e in errors]
        rows[f'{name}, largest, {unit}'] = [np.abs(e).max() for e in errors]
    title = 'Errors of the platform by direction'
    return ComparisonTable(
        title, 'S3 Sec. 4, Figs. 9, 10', COLUMNS, rows_of(rows), (_NOTE,), digits=3
    )


def _angles(runs: Mapping[str, Course]) -> ComparisonTable:
    rows = {}
    late = runs['a'].time >= GROWTH
    for rods, columns in (('rods 1-4', slice(0, DRIVEN)), ('rods 5-8', slice(DRIVEN, None))):
        before, after = (
            np.array([1e6 * rms(run.angle_error[inside, columns]) for run in runs.values()])
            for inside in (~late, late)
        )
        rows[f'{rods}, rms before {GROWTH:g} s'] = before
        rows[f'{rods}, rms from {GROWTH:g} s on'] = after
        rows[f'{rods}, growth'] = after / before
    title = 'Errors of the angles of the rods, µrad'
    return ComparisonTable(title, 'S3 Sec. 4, Fig. 11', COLUMNS, rows_of(rows), (_NOTE,), digits=3)


def _rates(runs: Mapping[str, Course]) -> ComparisonTable:
    """Deviations of rates and accelerations: their size and mean frequency."""
    rows = {}
    for rods, columns in (('rods 1-4', slice(0, DRIVEN)), ('rods 5-8', slice(DRIVEN, None))):
        rates = [run.rate_error[:, columns] for run in runs.values()]
        slopes = [_slope(run)[:, columns] for run in runs.values()]
        for what, unit, errors in (('rate', 'rad/s', rates), ('acceleration', 'rad/s²', slopes)):
            duration = float(np.ptp(runs['a'].time))
            rows[f'{rods}, {what}, rms, {unit}'] = [rms(v) for v in errors]
            swings = [_swings(v) / duration for v in errors]
            rows[f'{rods}, {what}, mean frequency, Hz'] = swings
    late = (runs['a'].time >= 0.35) & (runs['a'].time <= 0.4)
    fifth = [run.rate_error[late, DRIVEN] for run in runs.values()]
    rows['rod 5, 0.35-0.4 s, rate, rad/s, rms'] = [rms(v) for v in fifth]
    fifth = [_slope(run)[late, DRIVEN] for run in runs.values()]
    rows['rod 5, 0.35-0.4 s, acceleration, rad/s², rms'] = [rms(v) for v in fifth]
    notes = (
        'Deviations from the desired motion. Mean frequency: half the number of sign changes per '
        'second, mean over rods. An acceleration is the slope of a rate, so high frequencies have '
        'more weight in it.',
        _NOTE,
    )
    return ComparisonTable(
        'Deviations of angular rates and accelerations', 'S3 Sec. 4, Figs. 12, 13',
        COLUMNS, rows_of(rows), notes, digits=3,
    )  # fmt: skip


def _slope(run: Course) -> FloatArray:
    """Deviation (N, b) of the angular accelerations, rad/s²."""
    from scipy.interpolate import CubicSpline  # only here: it takes long to import

    return np.asarray(CubicSpline(run.time, run.rate_error)(run.time, 1))


def _swings(values: FloatArray) -> float:
    """Number of oscillations, half that of sign changes; mean over columns."""
    return float((np.diff(np.sign(values), axis=0) != 0.0).sum(axis=0).mean() / 2.0)
