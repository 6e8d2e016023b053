# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Texture figures of chewing strokes from gap and force over time.

A stroke goes from one widest opening of the mouth to the next. Work and areas are integrals of the
force over the gap between the teeth, impulses over time, by trapezoids. The two-bite profile treats
the first two strokes as the two compressions of a texture analyser (Friedman, Whitney and
Szczesniak 1963; Bourne 1978), by one of two conventions: by work and deformation, which do not
depend on the speed of chewing, or as an analyser does, by time and impulse. A jaw is not one: it
closes along a curve, at a varying speed, and to the same gap rather than to the same fraction of
the sample's height. The figures compare foods chewed with the same motion.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.integrate import trapezoid
from scipy.signal import find_peaks

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError

TOUCH = 0.5  # N, above which a force counts as contact
_OPEN = 0.25  # share of the widest opening by which the mouth must close and open between strokes
_DROP, LEAST_DROP = 0.1, 1.0  # of a fracture: share of the stroke's peak, and N
_WITHIN = 0.02  # s, within which the force drops at a fracture
_SLOPE = (0.2, 0.8)  # shares of the first peak between which stiffness is taken


@dataclasses.dataclass(frozen=True)
class Stroke:
    """Figures of one stroke; those that need a touch, or a break, are NaN without one."""

    # When it began and ended, s.
    start: float
    end: float
    peak_force: float  # N
    contact_time: float  # time with more force than counts as contact, s
    work: float  # net work on the food, J: loading less what came back
    loading_work: float  # done while the teeth closed, J
    force_rate: float  # steepest rise, N/s
    # Drops of the force by a tenth of the peak and 1 N within 20 ms while the teeth close.
    fractures: int
    # Where the first fracture begins, N and m; deformation since the first touch.
    break_force: float
    break_deformation: float
    stiffness: float  # by least squares between 20 and 80 % of the first rise, N/m
    deformation: float  # from first touch to the closest gap under load, m
    height: float  # gap at the first touch, m: height of the food at the start of this stroke
    # Of forces, J, that hold the teeth together while they part: beyond the touch, negative.
    adhesion_work: float
    rise_time: float  # from the first touch to the peak, s
    # Of pushing forces, N s, from the first touch to the peak, and from there until they cease.
    rise_impulse: float
    fall_impulse: float
    pull_impulse: float  # of forces that hold the teeth together after the peak, N s


@dataclasses.dataclass(frozen=True)
class TextureProfile:
    """The two-bite profile of the first two strokes, by one of two conventions."""

    hardness: float  # N, peak of the first bite
    # Ratios: work and deformation of the second bite to the first; work the first gives back.
    cohesiveness: float
    springiness: float
    # N: hardness * cohesiveness, and that times springiness.
    gumminess: float
    chewiness: float
    resilience: float
    # J, or N s by the analyser's convention: what holds the teeth together after the first bite.
    adhesiveness: float


def strokes(
    time: FloatArray,
    gap: FloatArray,
    force: FloatArray,
    touch: float = TOUCH,
    pull: float | None = None,
    drop: float = LEAST_DROP,
    felt: FloatArray | None = None,
) -> tuple[Stroke, ...]:
    """Figures of every stroke.

    Parameters
    ----------
    time : array, shape (N,)
        s, increasing.
    gap : array, shape (N,)
        m, of the teeth; 0 where they meet.
    force : array, shape (N,)
        N, of the food pushing the teeth apart; negative where it holds them together.
    touch : float
        N, above which a force counts as contact.
    pull : float, optional
        N, below whose negative a force counts as adhesion; by default that of a touch.
    drop : float
        N, least drop of the force at a fracture.
    felt : array, shape (N,), optional
        N, the force with less noise, which tells contact and adhesion; by default the force.

    Raises
    ------
    InputError
        For arrays of different lengths, or a mouth that does not open.
    """
    if not len(time) == len(gap) == len(force):
        raise InputError(f'{len(time)} times, {len(gap)} gaps and {len(force)} forces')
    cuts = openings(gap)
    if not len(cuts):
        raise InputError('the mouth does not open and close again: there is no stroke')
    ends = [*cuts[1:], len(time) - 1]
    felt = force if felt is None else felt
    return tuple(
        _stroke(
            time[a : b + 1],
            gap[a : b + 1],
            force[a : b + 1],
            felt[a : b + 1],
            touch,
            touch if pull is None else pull,
            drop,
        )
        for a, b in zip(cuts, ends, strict=True)
    )


def openings(gap: FloatArray) -> list[int]:
    """Indices of the widest opening before each closing."""
    height = float(np.ptp(gap)) if len(gap) else 0.0
    if height == 0.0:
        return []
    peaks, _ = find_peaks(np.concatenate([[-np.inf], gap, [-np.inf]]), prominence=_OPEN * height)
    candidates = (peaks - 1).tolist()
    # An opening that is not followed by a closing does not begin a stroke.
    return [k for k in candidates if gap[k:].min() < gap[k] - _OPEN * height]


def profile(first: Stroke, second: Stroke) -> TextureProfile:
    """The profile by work and deformation; NaN if the first stroke did not touch the food.

    Cohesiveness is the ratio of the loading works, springiness that of the deformations; resilience
    is the share of the first loading work that comes back.
    """
    return _profile(
        first,
        _ratio(second.loading_work, first.loading_work),
        _ratio(second.deformation, first.deformation),
        _ratio(first.loading_work - first.work, first.loading_work),
        first.adhesion_work,
    )


def analyser_profile(first: Stroke, second: Stroke) -> TextureProfile:
    """The profile as texture analysers print it; NaN if the first stroke did not touch the food.

    Cohesiveness is the ratio of the areas of force over time, the way back included, springiness
    that of the times from touch to peak; resilience is the area after the first peak over that
    before it; adhesiveness is the area of pulling force. At an analyser's constant speed, times
    stand for distances.
    """
    return _profile(
        first,
        _ratio(second.rise_impulse + second.fall_impulse, first.rise_impulse + first.fall_impulse),
        _ratio(second.rise_time, first.rise_time),
        _ratio(first.fall_impulse, first.rise_impulse),
        first.pull_impulse,
    )


def _profile(
    first: Stroke, cohesiveness: float, springiness: float, resilience: float, adhesiveness: float
) -> TextureProfile:
    if not first.contact_time:  # all that remains is sensor noise
        return TextureProfile(first.peak_force, *(6 * (math.nan,)))
    gumminess = first.peak_force * cohesiveness
    return TextureProfile(
        first.peak_force,
        cohesiveness,
        springiness,
        gumminess,
        gumminess * springiness,
        resilience,
        adhesiveness,
    )


def decay(strokes: Sequence[Stroke]) -> float:
    """Share of the peak force lost from stroke to stroke, by a fit of the logarithms.

    Strokes that do not touch the food are left out; NaN with fewer than three others.
    """
    numbers = [k for k, stroke in enumerate(strokes) if stroke.contact_time]
    if len(numbers) < 3:
        return math.nan
    slope = np.polyfit(numbers, np.log([strokes[k].peak_force for k in numbers]), 1)[0]
    return float(1.0 - np.exp(slope))


def figures(strokes: Sequence[Stroke]) -> dict[str, float]:
    """Figures of all strokes together, by name, SI units; NaN for those that are not defined."""
    together: dict[str, float] = {'strokes': float(len(strokes))}
    for name in ('peak_force', 'work', 'contact_time', 'force_rate', 'stiffness'):
        values = np.array([getattr(stroke, name) for stroke in strokes])
        finite = values[np.isfinite(values)]
        together[f'mean_{name}'] = float(finite.mean()) if len(finite) else math.nan
    together['fractures'] = float(sum(stroke.fractures for stroke in strokes))
    together['break_force'] = strokes[0].break_force if strokes else math.nan
    together['break_deformation'] = strokes[0].break_deformation if strokes else math.nan
    together['decay_per_stroke'] = decay(strokes)
    for prefix, convention in (('', profile), ('analyser_', analyser_profile)):
        two = convention(*strokes[:2]) if len(strokes) >= 2 else None
        for field in dataclasses.fields(TextureProfile):
            together[prefix + field.name] = getattr(two, field.name) if two else math.nan
    return together


def _ratio(a: float, b: float) -> float:
    return a / b if b > 0.0 else math.nan


def _stroke(
    time: FloatArray,
    gap: FloatArray,
    force: FloatArray,
    felt: FloatArray,
    touch: float,
    pull: float,
    drop: float,
) -> Stroke:
    touched, pulled = felt > touch, felt < -pull
    step = -np.diff(gap)
    mean = 0.5 * (force[1:] + force[:-1])
    work = float(np.sum(np.maximum(mean, 0.0) * step))
    loading = float(np.sum(np.maximum(mean, 0.0) * np.maximum(step, 0.0)))
    adhesion = float(np.sum(_holding(mean, pulled[1:] | pulled[:-1]) * np.maximum(-step, 0.0)))
    seconds = np.diff(time)
    nothing = (float(time[0]), float(time[-1]), float(force.max(initial=0.0)), 0.0, work, loading)
    if not touched.any():
        nan = math.nan
        return Stroke(*nothing, 0.0, 0, *5 * (nan,), adhesion, *3 * (nan,), 0.0)
    first = int(np.argmax(touched))
    breaks = [
        k for k in _fractures(time, gap, force, drop) if k >= first
    ]  # not of spikes in the air
    rise_end = breaks[0] if breaks else int(np.argmax(force))
    height = float(gap[first])
    return Stroke(
        float(time[0]),
        float(time[-1]),
        float(force.max()),
        float(np.sum(seconds * 0.5 * (touched[1:].astype(float) + touched[:-1]))),
        work,
        loading,
        float(np.max(np.diff(force) / seconds)),
        len(breaks),
        float(force[breaks[0]]) if breaks else math.nan,
        height - float(gap[breaks[0]]) if breaks else math.nan,
        _stiffness(gap[first : rise_end + 1], force[first : rise_end + 1]),
        height - float(gap[touched].min()),
        height,
        adhesion,
        *_times(time, force, touched, pulled),
    )


def _times(
    time: FloatArray,
    force: FloatArray,
    touched: npt.NDArray[np.bool_],
    pulled: npt.NDArray[np.bool_],
) -> tuple[float, float, float, float]:
    """Time from first touch to peak (s); impulses (N s) up to the peak, after it, and pulling."""
    first, top, end = int(np.argmax(touched)), int(np.argmax(force)), len(force) - 1
    ceased = np.flatnonzero(~touched[top:])
    let_go = top + int(ceased[0]) if len(ceased) else end

    def area(of: FloatArray, a: int, b: int) -> float:
        return float(trapezoid(of[a : b + 1], time[a : b + 1]))

    push, pulling = np.maximum(force, 0.0), _holding(force, pulled)
    rise_time = float(time[top] - time[first])
    return rise_time, area(push, first, top), area(push, top, let_go), area(pulling, top, end)


def _holding(force: FloatArray, pulled: npt.NDArray[np.bool_]) -> FloatArray:
    """Forces (N) that hold the teeth together, positive, where they do."""
    return np.where(pulled, np.maximum(-force, 0.0), 0.0)


def _fractures(time: FloatArray, gap: FloatArray, force: FloatArray, drop: float) -> list[int]:
    """Where drops of the force begin while the teeth close."""
    least = max(_DROP * float(force.max()), drop)
    rows, k = [], 0
    while k < len(force) - 1:
        if not (force[k + 1] < force[k] and gap[k + 1] <= gap[k]):
            k += 1
            continue
        # From here the force falls: until it next rises, or for 20 ms.
        end = k + 1
        while (
            end + 1 < len(force)
            and force[end + 1] < force[end]
            and gap[end + 1] <= gap[end]
            and time[end + 1] - time[k] <= _WITHIN
        ):
            end += 1
        if force[k] - force[end] >= least:
            rows.append(k)
        k = end
    return rows


def _stiffness(gap: FloatArray, force: FloatArray) -> float:
    """Slope (N/m) of a rise between two fractions of its final force."""
    low, high = (part * force[-1] for part in _SLOPE)
    chosen = (force >= low) & (force <= high)
    if np.count_nonzero(chosen) < 2 or np.ptp(gap[chosen]) == 0.0:
        return math.nan
    return float(-np.polyfit(gap[chosen] - gap[chosen].mean(), force[chosen], 1)[0])
