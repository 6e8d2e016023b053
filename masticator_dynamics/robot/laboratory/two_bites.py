# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Texture figures of a curve that an instrument measured, or why it has none."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.errors import InputError
from masticator_dynamics.robot.laboratory.baseline import Baseline, baseline, quieter
from masticator_dynamics.robot.laboratory.curves import Curve
from masticator_dynamics.robot.laboratory.mouthful_figures import Stroke, figures, strokes

_CLEAR_OF_NOISE = 5.0  # standard deviations of a reading that count as a touch
_OF_PEAK = 0.005  # and at least this share of the peak
_OF_TOUCH = 2.0  # touches by which the force must drop at a fracture
_ROUNDING = 0.05  # of the work put in, by which more may come back


@dataclasses.dataclass(frozen=True)
class JudgedCurve:
    """A curve with its figures."""

    # Figures by name, SI units; then ``touch`` (N), ``baseline`` (N, where the first bite begins),
    # ``drift`` (N/s) and ``noise`` (N).
    figures: dict[str, float]
    bites: int  # strokes that touch the sample
    reading: str  # what was taken off the force, and what counts as a touch


def judge(curve: Curve, touch: float | None = None) -> JudgedCurve:
    """Figures of a curve, with its baseline taken off.

    Parameters
    ----------
    curve : Curve
        With times: ``read_curve(file, timed=True)``.
    touch : float, optional
        N, above which the plunger touches the sample; by default five standard deviations of the
        noise, and at least half a percent of the peak.

    Raises
    ------
    InputError
        If there are no times or no bite, or the figures are those of no sample; names the cause.
    """
    if len(curve.time) != len(curve.force):
        raise InputError(
            'the curve has no times, which its figures need: read_curve(…, timed=True)'
        )
    gap = curve.displacement.max() - curve.displacement
    zero = baseline(curve.time, curve.displacement, curve.force)
    quiet = quieter(curve.force, gap)
    unsure = _CLEAR_OF_NOISE * zero.quiet_noise
    force, felt = curve.force - zero.force, quiet - zero.force
    if touch is None:
        touch = max(unsure, _OF_PEAK * float(force.max()))
    pull = max(unsure, zero.bend) if zero.free.any() else touch
    every = strokes(curve.time, gap, force, touch, min(pull, touch), _OF_TOUCH * touch, felt)
    bites = tuple(stroke for stroke in every if stroke.contact_time)
    if len(bites) > 1:
        later = [
            stroke.height for stroke in strokes(curve.time, gap, force, 2.0 * touch, felt=felt)
        ]
        soft = [
            stroke.height - height
            for stroke, height in zip(every, later, strict=True)
            if stroke in bites[:2] and height < stroke.height
        ]
        error = 2.0 * float(np.abs(np.diff(gap)).max()) + min(soft, default=0.0)
        _check_possible(bites[0], bites[1], error, touch, bites[0].height == gap[0])
    begins = int(np.searchsorted(curve.time, bites[0].start)) if bites else 0
    numbers = {
        **figures(bites),
        'touch': touch,
        'baseline': float(zero.force[begins]),
        'drift': zero.drift,
        'noise': zero.noise,
    }
    return JudgedCurve(numbers, len(bites), _reading(zero, numbers))


def _reading(zero: Baseline, numbers: dict[str, float]) -> str:
    counts = f'touch above {numbers["touch"]:.3g} N (noise {numbers["noise"]:.2g} N)'
    if not zero.free.any():
        return f'nowhere is the plunger free: the force is taken as tared; {counts}'
    return (
        f'baseline of {numbers["baseline"]:.3g} N, drift of {numbers["drift"]:.2g} N/s taken off '
        f'(from {zero.free.sum()} rows without a touch); {counts}'
    )


def _check_possible(
    first: Stroke, second: Stroke, error: float, touch: float, from_start: bool
) -> None:
    """Refuse what no sample does: to be higher after a bite, or to give back more than it took.

    `error` (m) is that of a deformation.
    """
    more = second.deformation - first.deformation
    if more > error:
        deeper = more - (second.height - first.height)
        if deeper > 0.5 * more:
            cause = f'the second bite goes {1e3 * deeper:.2g} mm deeper than the first'
        elif from_start:
            cause = (
                'the recording begins on the sample, so where the first bite touches it is not '
                'known; begin above it'
            )
        else:
            cause = (
                f'in the second bite the force is above {touch:.2g} N {1e3 * (more - deeper):.2g} '
                'mm earlier than in the first, and no sample grows: it was lifted by the plunger, '
                'or the baseline is not that of the free travel; look at the curve, or say what '
                'counts as a touch by --touch'
            )
        raise InputError(
            f'springiness would be {second.deformation / first.deformation:.2f}, which no sample '
            f'has (error {error / first.deformation:.1g}): {cause}'
        )
    if first.work < -_ROUNDING * first.loading_work:
        raise InputError(
            f'resilience would be {1.0 - first.work / first.loading_work:.2f}, which no sample '
            'has: force and displacement are not of the same instant (one of them is late)'
        )
