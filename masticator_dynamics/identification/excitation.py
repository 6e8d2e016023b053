# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motions from which much can be learnt: Fourier series in the independent coordinates.

Sums of sines of a few frequencies, as Swevers et al. (1997) use them, begin and end at rest in the
middle of the ranges of joints and sockets, and stay inside these and the limits of the motors.
They keep away from singularities, too: near them a robot whose friction is not yet known leaves its
path, or changes its branch.
Their coefficients are searched for the most information about the unknowns of `masticator
identify`: half the logarithm of the determinant of the information matrix, beliefs included.
Redundant motors may also work against one another, which moves nothing: it loads their bearings,
and so shows friction that grows with loads.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.effort_regressor import powers, regressor
from masticator_dynamics.engine.evaluation.results import Effort, Motion
from masticator_dynamics.errors import InputError, MasticatorError, RangeWarning
from masticator_dynamics.identification.conditioning import Conditioning
from masticator_dynamics.identification.identify import with_motor_friction
from masticator_dynamics.identification.unknowns import Beliefs, Unknowns, Usual, unknowns_of
from masticator_dynamics.limits.load_limits import LoadLimits, load_ranges
from masticator_dynamics.limits.ranges import range_room, ranged
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.motion_rows import MotionRows

_ROOM = 0.05  # of half of each range stays free
_APART = 0.01  # of the mechanism's size: how far links stay below where they stop
_HARMONICS = 6
_NOISE = 0.01  # of measured efforts, relative to their usual size
_HALVINGS = 20  # of the interval in which the end of a coordinate's range is
_FEW_HALVINGS = 12  # likewise, of motions
_SWEEPS = 4  # over all coordinates, to find the middle
_LARGEST = np.pi  # rad or m; of a coordinate that nothing limits
_MOST = 10.0  # times the reach of each coordinate alone
_SAMPLES = 8.0  # per period of the highest frequency, while searching
_TINY = 1e-12  # of efforts: none
_SMALLEST = 1e-8  # part of the largest singular value: what is below is rounding


@dataclasses.dataclass(frozen=True)
class ExcitingMotion(MotionRows):
    """A motion and what it tells."""

    # (N, n_u), efforts of motors against one another, to be given on top of the motion's, N m or N.
    internal: FloatArray
    # Condition number of the equations for the unknowns, over as many directions as both motions
    # determine: of the first motion that was tried, and of this one.
    condition: tuple[float, float]
    # Directions in which the data would say more than is believed before, likewise.
    learnt: tuple[int, int]
    conditioning: float  # the least on the way, see :class:`Conditioning`


@dataclasses.dataclass(frozen=True)
class _Series:
    """Sines and cosines that a smooth window starts and ends at rest."""

    duration: float
    highest: float  # Hz

    @property
    def frequencies(self) -> FloatArray:
        return np.asarray(self.highest * np.arange(1, _HARMONICS + 1) / _HARMONICS)

    def rows(self, time: FloatArray, coefficients: FloatArray) -> FloatArray:
        """Values and two derivatives (N, 3, n_y) for coefficients (n_y, harmonics, 2)."""
        rates = 2.0 * np.pi * self.frequencies
        sine, cosine = np.sin(np.outer(time, rates)), np.cos(np.outer(time, rates))
        a, b = coefficients[..., 0].T, coefficients[..., 1].T
        a, b = a / np.arange(1, _HARMONICS + 1)[:, None], b / np.arange(1, _HARMONICS + 1)[:, None]
        f = sine @ a + cosine @ b
        df = (cosine * rates) @ a - (sine * rates) @ b
        ddf = -(sine * rates**2) @ a - (cosine * rates**2) @ b
        w, dw, ddw = (part[:, None] for part in self.window(time))
        return np.stack([w * f, dw * f + w * df, ddw * f + 2.0 * dw * df + w * ddf], axis=1)

    def window(self, time: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """From 0 to 1 and back, in a period of the lowest frequency each, with two derivatives."""
        ramp = min(_HARMONICS / self.highest, 0.5 * self.duration)
        nearer = np.minimum(time, self.duration - time)
        s, sign = np.clip(nearer / ramp, 0.0, 1.0), np.where(2 * time < self.duration, 1.0, -1.0)
        value = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
        slope = 30.0 * s**2 * (1.0 - s) ** 2 / ramp * sign
        bend = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / ramp**2
        return value, slope, bend


class _MotionSearch:
    """Largest motions of given shapes, and what they tell."""

    def __init__(
        self, mechanism: Mechanism, series: _Series, internal: float, below: Sequence[str],
        share: float, progress: Callable[[int], None],
    ):  # fmt: skip
        self.mechanism, self.series, self._internal = mechanism, series, internal
        home = mechanism.home
        self._tops = {link: mechanism.frame_pose(home, link).position[2] for link in below}
        self._limits = mechanism.load_limits
        self.conditioning, self._share = Conditioning(mechanism), share
        self._progress = progress
        self.shape = (len(mechanism.independent), _HARMONICS, 2)
        count = int(np.ceil(series.duration * series.highest * _SAMPLES))
        self.time = np.linspace(0.0, series.duration, count)
        self.centre = self._centre()
        self.reach = np.array([self._reach(k) for k in range(self.shape[0])])
        self._sizes: tuple[Usual, Unknowns] | None = None

    def rows(self, time: FloatArray, shape: FloatArray, factor: float) -> FloatArray:
        """A motion (N, 3, n_y) about the centre."""
        coefficients = factor * self.reach[:, None, None] * shape.reshape(self.shape)
        rows = self.series.rows(time, coefficients)
        rows[:, 0] += self.centre
        return rows

    def largest(self, shape: FloatArray, time: FloatArray, factor: float = _MOST) -> float:
        """The largest factor, up to a given one, with which a motion keeps ranges and limits."""
        return _largest(
            lambda x: self._allowed(self.rows(time, shape, x)) is not None, factor, _FEW_HALVINGS
        )

    def equations(self, shape: FloatArray) -> FloatArray:
        """Rows (M, n_x) for the unknowns, in units of noise; none for a motion without room."""
        rows = self.rows(self.time, shape, self.largest(shape, self.time))
        effort = self._allowed(rows)
        if effort is None:
            return np.zeros((1, 1))
        usual, unknowns = self._sized(effort)
        motion = self.mechanism.solve_batch(*np.moveaxis(rows, 1, 0))
        efforts = effort.actuated + self.internal(self.time, motion) if self._internal else None
        generalized = regressor(self.mechanism, motion, True, efforts).generalized
        sized = powers(self.mechanism, motion) * usual.effort
        weights = np.linalg.inv(np.linalg.cholesky(sized @ np.swapaxes(sized, -1, -2)))
        matrix = weights @ generalized @ unknowns.spread[: generalized.shape[-1]] / _NOISE
        return np.asarray(matrix.reshape(-1, matrix.shape[-1]))

    def internal(self, time: FloatArray, motion: Motion | Effort) -> FloatArray:
        """Efforts (N, n_u) that move nothing, smooth, and from zero to zero, N m or N."""
        by_motor = powers(self.mechanism, motion)
        count = by_motor.shape[-1]
        rates = self.series.highest * (1.0 + np.arange(count) / count) / _HARMONICS
        wanted = self.series.window(time)[0][:, None] * np.sin(2.0 * np.pi * np.outer(time, rates))
        moving = np.linalg.pinv(by_motor) @ (by_motor @ wanted[..., None])
        against = wanted - moving[..., 0]
        return np.asarray(self._internal * against / max(float(np.abs(against).max()), _TINY))

    def _sized(self, effort: Effort) -> tuple[Usual, Unknowns]:
        """Usual sizes and unknowns, by the first motion, so that motions can be compared."""
        if self._sizes is None:
            size, speed = (
                np.full(len(self.mechanism.actuated), np.sqrt((part**2).mean()))
                for part in (effort.actuated, effort.velocity)
            )
            # Efforts of all motors together tell no rotor: none is larger than what it moves.
            usual = Usual(size, size, speed, np.full_like(size, np.inf), None)
            self._sizes = usual, unknowns_of(self.mechanism, Beliefs(), usual)
        return self._sizes

    def _centre(self) -> FloatArray:
        """A pose from home in which each coordinate is in the middle of where it can go."""
        centre = self.mechanism.home.y.copy()
        for _ in range(_SWEEPS):
            for k in range(len(centre)):
                self._progress(1)
                room = min(self._room(centre[None]), _ROOM)
                up, down = (self._far(centre, k, side, room) for side in (1.0, -1.0))
                centre[k] += 0.5 * (up - down)
        return centre

    def _reach(self, k: int) -> float:
        """How far a coordinate alone can go from the centre to both sides, rad or m."""
        return min(self._far(self.centre, k, side, _ROOM) for side in (1.0, -1.0))

    def _far(self, start: FloatArray, k: int, side: float, room: float) -> float:
        """How far a coordinate alone can go to one side with some room, rad or m."""

        def possible(distance: float) -> bool:
            poses = np.tile(start, (11, 1))
            poses[:, k] += side * np.linspace(0.0, distance, len(poses))
            return self._room(poses) >= room

        return _largest(possible, _LARGEST)

    def _room(self, poses: FloatArray) -> float:
        """The least room of poses (N, n_y) in their ranges; minus infinity if one cannot be."""
        try:
            motion = self.mechanism.solve_batch(poses)
        except MasticatorError:  # does not close, or singular
            return -np.inf
        if self.conditioning.of(motion).min() < self._share:
            return -np.inf
        rooms = [range_room(self.mechanism, motion).room.min()]
        for link, top in self._tops.items():
            depth = top - self.mechanism.frame_pose(motion, link).position[..., 2].max()
            rooms.append(_ROOM * depth / (_APART * self.mechanism.structure.extent()))
        return float(min(rooms))

    def _allowed(self, rows: FloatArray) -> Effort | None:
        """Efforts of a motion that keeps ranges and limits."""
        if self._room(rows[:, 0]) < _ROOM:
            return None
        try:
            effort = self.mechanism.feedforward_batch(
                *np.moveaxis(rows, 1, 0), friction=True, limits=self._chosen_within
            )
        except MasticatorError:
            return None
        return None if self._outside(effort) else effort

    def _outside(self, effort: Effort) -> bool:
        """Whether joints are too fast, or motors and bearings overloaded."""
        moving = ranged(self.mechanism, effort.q, effort.v, None)
        groups = itertools.chain(moving, load_ranges(self.mechanism, effort, self._limits))
        return any(group.outside().any() for group in groups)

    @functools.cached_property
    def _chosen_within(self) -> LoadLimits | bool:
        """Limits within which efforts are chosen: where others would not even hold it, as cables.

        Elsewhere they are only checked, which takes a hundredth of the time.
        """
        held = self.mechanism.feedforward_batch(self.centre[None], friction=True)
        return self._limits if self._outside(held) else False


def _largest(possible: Callable[[float], bool], most: float, halvings: int = _HALVINGS) -> float:
    """The largest number up to ``most`` for which something is possible, by halving; 0: none."""
    if possible(most):
        return most
    low, high = 0.0, most
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if possible(middle) else (low, middle)
    return low


def exciting_motion(
    mechanism: Mechanism,
    duration: float = 20.0,
    highest: float = 2.0,
    rate: float = 250.0,
    tries: int = 100,
    seed: int = 0,
    progress: Callable[[int], None] = lambda steps: None,
    internal: float = 0.0,
    below: Sequence[str] = (),
    conditioning: float = 0.2,
) -> ExcitingMotion:
    """A motion from which the unknowns of a robot can be found.

    Parameters
    ----------
    mechanism : Mechanism
        With the numbers known so far.
    duration : float
        s.
    highest : float
        Highest frequency, Hz; the lowest is a sixth of it.
    rate : float
        Of the samples, Hz.
    tries : int
        Motions to compare.
    seed : int
        The same seed gives the same motion.
    progress : callable
        Called with the number of steps made since it was called, of :func:`steps` in total.
    internal : float
        Largest effort of motors against one another, N m or N.
    below : sequence of str
        URDF links that stop at their height at home (base z), as teeth do, and stay below it.
    conditioning : float
        Part of home's distance from singularities, 0 to 1, that is kept everywhere.

    Raises
    ------
    InputError
        For a motion that is too short, a mechanism without room in its ranges, and internal efforts
        that are more than motors may give, or of motors none of which is redundant.
    """
    _check_asked(mechanism, duration, highest, internal)
    model = Mechanism(with_motor_friction(mechanism.description))
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', RangeWarning)
        series = _Series(duration, highest)
        search = _MotionSearch(model, series, internal, below, conditioning, progress)
        for name, reach in zip(model.independent, search.reach, strict=True):
            if reach < 1e-6:
                raise InputError(f'{mechanism.name} has no room to move along {name}')
        first, best = _searched(search, tries, seed, progress)
        time = np.arange(round(duration * rate) + 1) / rate
        time = time[time <= duration]
        factor = search.largest(best, search.time)
        factor = search.largest(best, time, factor)  # between those samples, too
        if not factor:
            raise InputError(
                f'{mechanism.name} cannot move within the limits of its motors'
                f'{_still_joints(model)}'
            )
        conditions, learnt = _compared(*(search.equations(shape) for shape in (first, best)))
        rows = np.moveaxis(search.rows(time, best, factor), 1, 0)
        effort = model.feedforward_batch(*rows, friction=True)
        against = search.internal(time, effort)
        total, (low, high) = effort.actuated + against, model.load_limits.effort_range
        if internal and not ((total >= low) & (total <= high)).all():
            motor = model.actuated[int((np.abs(total) / high).max(axis=0).argmax())]
            raise InputError(f'internal efforts of {internal:g} are too much for {motor}')
    least = float(search.conditioning.of(effort).min())
    y, y_dot, y_ddot = rows
    return ExcitingMotion(time, y, y_dot, y_ddot, against, conditions, learnt, least)


def _check_asked(mechanism: Mechanism, duration: float, highest: float, internal: float) -> None:
    redundant = len(mechanism.driving) > len(mechanism.independent)
    if internal and not redundant:
        raise InputError(f'{mechanism.name} has no redundant motors to work against one another')
    if duration < 2.0 * _HARMONICS / highest:
        raise InputError(
            f'{duration:g} s are too short for {highest:g} Hz; needed are '
            f'{2.0 * _HARMONICS / highest:g} s, two periods of the lowest frequency'
        )


def _compared(first: FloatArray, best: FloatArray) -> tuple[tuple[float, float], tuple[int, int]]:
    """Condition numbers of the equations of two motions, and how many combinations each tells."""
    sizes = [np.linalg.svd(matrix, compute_uv=False) for matrix in (first, best)]
    count = min(int((s > _SMALLEST * s[0]).sum()) for s in sizes)
    before, after = (float(s[0] / s[count - 1]) for s in sizes)
    return (before, after), (int((sizes[0] > 1.0).sum()), int((sizes[1] > 1.0).sum()))


def _still_joints(mechanism: Mechanism) -> str:
    """The joints whose limits let nothing move, for the end of a sentence."""
    pairs = zip(mechanism.tree_joints, mechanism.limits.velocity, strict=True)
    names = [name for name, velocity in pairs if velocity == 0.0]
    return f': the velocity limit of {", ".join(names)} is 0' if names else ''


def steps(mechanism: Mechanism, tries: int) -> int:
    """Steps of :func:`exciting_motion`: to the middle of each range, and what is tried."""
    return _SWEEPS * len(mechanism.independent) + tries


def _searched(
    search: _MotionSearch, tries: int, seed: int, progress: Callable[[int], None]
) -> tuple[FloatArray, FloatArray]:
    """The first shape and the one that tells most: half of the tries are near the best so far."""
    random = np.random.default_rng(seed)
    size = int(np.prod(search.shape))
    first = best = random.standard_normal(size) / _HARMONICS
    most = -np.inf
    for k in range(tries):
        if k == 0:
            shape = first
        elif 2 * k < tries:
            shape = random.standard_normal(size) / _HARMONICS
        else:
            step = 0.3 * (1.0 - k / tries) + 0.02
            shape = best + step * random.standard_normal(size) / _HARMONICS
        information = _information(search.equations(shape))
        if information > most:
            most, best = information, shape
        progress(1)
    return first, best


def _information(matrix: FloatArray) -> float:
    """Half the logarithm of the determinant of the information, with what is believed before."""
    gram = np.eye(matrix.shape[1]) + matrix.T @ matrix
    return float(0.5 * np.linalg.slogdet(gram)[1])
