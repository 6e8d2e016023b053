# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Ranges of joints, sockets and efforts: reported here, enforced by nodes and planners."""

from __future__ import annotations

import dataclasses
import sys
import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, IntArray
from masticator_dynamics.engine.evaluation.frames import frame_poses
from masticator_dynamics.engine.evaluation.model import Model
from masticator_dynamics.engine.evaluation.results import Effort, Motion
from masticator_dynamics.errors import LimitError, RangeWarning

# A limit written in decimal must not exclude its own value, nor a path through it because of
# rounding. In the quantity's own unit: m, rad, N m.
SLACK = 1e-9
# Contacts' poses are computed for this many rows at a time: the kernel holds Python's lock, and
# other threads must get their turn.
_ROWS = 200
# Efforts chosen within limits keep them to this relative precision.
LIMITS_KEPT = 1e-8


@dataclasses.dataclass(frozen=True)
class RangeViolation:
    """A quantity outside its range; printing it gives a sentence."""

    name: str
    quantity: str
    value: float
    lower: float
    upper: float
    unit: str

    @property
    def excess(self) -> float:
        """How far outside, relative to the range's half width."""
        width = half_width(np.array(self.lower), np.array(self.upper))
        return float(max(self.lower - self.value, self.value - self.upper) / width)

    def __str__(self) -> str:
        """E.g. ``crank_3 position 1.9 rad is outside [-1.7, 1.7] rad``."""
        quantity = f'{self.quantity} position' if self.quantity in 'xyz' else self.quantity
        return (
            f'{self.name} {quantity} {self.value:.6g} {self.unit} is outside '
            f'[{self.lower:.6g}, {self.upper:.6g}] {self.unit}'
        )


@dataclasses.dataclass(frozen=True)
class RangeSurvey:
    """Which rows of a batch leave ranges, and where they do so most."""

    outside: npt.NDArray[np.bool_]  # (N,): rows that leave any range
    # Row with the largest excess relative to the range's half width (for a half-open range, to its
    # bound); None when all rows are inside.
    worst_row: int | None = None
    worst: RangeViolation | None = None  # the quantity that leaves its range there
    excess: float = 0.0  # that relative excess; 0 when all rows are inside


@dataclasses.dataclass(frozen=True)
class RangeRoom:
    """The position range that is closest to its end, for every row of a batch."""

    # Joints (``crank_1``) and socket coordinates (``condyle_left x``) that have a range.
    ranges: tuple[str, ...]
    # (N,): distance to the nearer end relative to the range's half width: 1 in the middle of every
    # range, 0 at an end, negative outside; infinite where nothing has a range.
    room: FloatArray
    nearest: npt.NDArray[np.int64]  # (N,): index of that range; -1 where nothing has one
    beyond: FloatArray  # (N,): how far outside it the row is, m or rad; negative inside

    @property
    def outside(self) -> npt.NDArray[np.bool_]:
        """Rows (N,) that leave a range, as in :class:`RangeSurvey`."""
        return self.beyond > SLACK


@dataclasses.dataclass(frozen=True)
class Ranged:
    """Values (..., n) of one kind, their ranges (n,), and the tolerances (n,) of these."""

    names: Sequence[str]
    quantity: str
    units: Sequence[str]
    values: FloatArray
    lower: FloatArray
    upper: FloatArray
    allowance: FloatArray | float = 0.0

    def outside(self) -> npt.NDArray[np.bool_]:
        """Which values (..., n) leave their ranges."""
        return self.beyond() > SLACK

    def beyond(self) -> FloatArray:
        """How far values (..., n) are outside, beyond the tolerance; negative inside."""
        return np.maximum(self.lower - self.values, self.values - self.upper) - self.allowance

    def signed_excess(self) -> FloatArray:
        """How far values (..., n) are outside, relative to the range's half width.

        Negative inside; minus infinity where there is no range.
        """
        return self.beyond() / half_width(self.lower, self.upper)

    def violation(self, index: int, row: int | None = None) -> RangeViolation:
        """Violation of one value, in one row where there are many."""
        values = self.values if row is None else self.values[row]
        return RangeViolation(
            self.names[index], self.quantity, float(values[index]),
            float(self.lower[index]), float(self.upper[index]), self.units[index],
        )  # fmt: skip


def half_width(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Half width of ranges; the bound of a half-open one; 1 where neither is usable."""
    bound = np.fmin(np.abs(lower), np.abs(upper))
    width = np.where(np.isfinite(upper - lower), (upper - lower) / 2.0, bound)
    return np.where(np.isfinite(width) & (width > 0.0), width, 1.0)


def find_violations(
    mechanism: Model, motion: Motion | Effort, effort: Effort | None
) -> tuple[RangeViolation, ...]:
    """Violations of one motion: joint positions and velocities, sockets, efforts.

    Parameters
    ----------
    mechanism : Model
        The mechanism whose ranges are used.
    motion : Motion or Effort
        A single row.
    effort : Effort or None
        The same row's efforts; None leaves them out.
    """
    efforts = None if effort is None else effort.actuated
    return tuple(
        group.violation(int(index))
        for group in ranged(mechanism, motion.q, motion.v, efforts)
        for index in np.flatnonzero(group.outside())
    )


def within(mechanism: Model, motion: Motion | Effort) -> bool | npt.NDArray[np.bool_]:
    """Whether a motion, or each row (N,) of a batch, is within everything that has a range."""
    efforts = motion.actuated if isinstance(motion, Effort) else None
    inside = np.ones(motion.q.shape[:-1], dtype=bool)
    for group in ranged(mechanism, motion.q, motion.v, efforts):
        inside &= ~group.outside().any(axis=-1)
    return inside if inside.ndim else bool(inside)


def warn_outside(mechanism: Model, q: FloatArray) -> bool:
    """Warn if coordinates or motors are outside their ranges; return whether there was reason.

    Parameters
    ----------
    mechanism : Model
        The mechanism whose ranges are used.
    q : array, shape (n_q,) or (N, n_q)
        Tree positions, rad or m.

    Warns
    -----
    RangeWarning
        Naming the joint that is farthest outside, and how many rows are.
    """
    joints, lower, upper = mechanism.made(_told_ranges)
    positions = q[..., joints]
    if (positions >= lower).all() and (positions <= upper).all():
        return False
    group = _joint_positions(mechanism, np.atleast_2d(q))
    excess = group.signed_excess()[:, joints]
    rows = np.flatnonzero((group.beyond()[:, joints] > SLACK).any(axis=1))
    row, index = np.unravel_index(np.argmax(excess), excess.shape)
    many = f' ({len(rows)} of {len(q)} rows)' if q.ndim > 1 else ''
    warnings.warn(
        f'{mechanism.name}: {group.violation(int(joints[index]), int(row))}{many}. The answer is '
        'computed all the same. Angles are in rad, lengths in m. This is said once; in_ranges of a '
        'result says whether it is inside',
        RangeWarning,
        stacklevel=_callers_level(),
    )
    return True


def _told_ranges(mechanism: Model) -> tuple[IntArray, FloatArray, FloatArray]:
    """Coordinates and motors, by their rows, and the ends of their ranges."""
    joints = np.union1d(mechanism.independent_rows, mechanism.actuated_rows)
    limits = mechanism.limits
    return joints, limits.lower[joints] - SLACK, limits.upper[joints] + SLACK


def _callers_level() -> int:
    """Level, for a warning of the function that calls this, of the code that uses the package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get('__name__', '').startswith('masticator_dynamics.'):
        frame, level = frame.f_back, level + 1
    return level


def refuse_outside(
    mechanism: Model, times: FloatArray, motion: Effort, effort_limit_scale: float | None
) -> None:
    """Refuse a motion that leaves a range of joints, sockets or efforts.

    Parameters
    ----------
    mechanism : Model
        Whose ranges are checked.
    times : (N,) array
        For messages, s.
    motion : Effort
        What to check, at these times.
    effort_limit_scale : float or None
        Of the range of efforts; None: efforts are not checked.

    Raises
    ------
    LimitError
        Naming the joint or contact, the largest excess and its time.
    """
    effort = None if effort_limit_scale is None else motion.actuated
    for group in ranged(mechanism, motion.q, motion.v, effort, effort_limit_scale or 0.0):
        beyond = group.beyond()
        if not (beyond <= SLACK).all():  # NaN is refused, too
            row, index = divmod(int(np.argmax(beyond)), beyond.shape[1])
            raise LimitError(f'at {times[row]:.6g} s: {group.violation(index, row)}')


def survey_ranges(mechanism: Model, batch: Effort) -> RangeSurvey:
    """Violations of many motions at once, as :func:`find_violations` reports them row by row."""
    anywhere = np.zeros(len(batch.q), dtype=bool)
    worst: tuple[int | None, RangeViolation | None, float] = None, None, 0.0
    for group in ranged(mechanism, batch.q, batch.v, batch.actuated):
        outside = group.outside()
        anywhere |= outside.any(axis=1)
        excess = np.where(outside, group.signed_excess(), 0.0)
        if excess.max(initial=0.0) > worst[2]:
            row, index = divmod(int(np.argmax(excess)), excess.shape[1])
            worst = row, group.violation(index, row), float(excess[row, index])
    return RangeSurvey(anywhere, *worst)


def range_room(mechanism: Model, motion: Motion | Effort) -> RangeRoom:
    """Distance of joint and socket positions from the ends of their ranges, for many rows."""
    names: list[str] = []
    room, beyond = [], []
    for group in (_joint_positions(mechanism, motion.q), *_sockets(mechanism, motion.q)):
        ranged = np.isfinite(group.lower) | np.isfinite(group.upper)
        suffix = '' if group.quantity == 'position' else f' {group.quantity}'
        names += [f'{group.names[k]}{suffix}' for k in np.flatnonzero(ranged).tolist()]
        beyond.append(group.beyond()[:, ranged])
        room.append(-beyond[-1] / half_width(group.lower, group.upper)[ranged])
    rows = np.arange(len(motion.q))
    if not names:
        nowhere = np.full(len(rows), np.inf)
        return RangeRoom((), nowhere, np.full(len(rows), -1), -nowhere)
    all_room, all_beyond = np.hstack(room), np.hstack(beyond)
    nearest = np.argmin(all_room, axis=1)
    return RangeRoom(tuple(names), all_room[rows, nearest], nearest, all_beyond[rows, nearest])


def ranged(
    mechanism: Model,
    q: FloatArray,
    v: FloatArray,
    effort: FloatArray | None,
    effort_scale: float = 1.0,
) -> Iterator[Ranged]:
    """Everything that has a range, kind by kind; for one motion or for rows.

    Parameters
    ----------
    mechanism : Model
        The mechanism whose ranges are used.
    q, v : (..., n_q) array
        Tree positions and velocities, m, rad and s.
    effort : (..., n_u) array or None
        Actuated efforts; None leaves them out.
    effort_scale : float
        Factor on the range of efforts.
    """
    limits, joints = mechanism.limits, mechanism.tree_joints
    units = [joint.unit for joint in mechanism.structure.tree.joints]
    rates = [f'{unit}/s' for unit in units]
    yield _joint_positions(mechanism, q)
    yield Ranged(joints, 'velocity', rates, v, -limits.velocity, limits.velocity)
    yield from _sockets(mechanism, q)
    if effort is not None:
        low, high = (effort_scale * bound for bound in mechanism.effort_range)
        largest = LIMITS_KEPT * effort_scale * mechanism.effort_limits
        largest[np.isinf(largest)] = 0.0
        yield Ranged(
            mechanism.actuated, 'effort', mechanism.effort_units, effort, low, high, largest
        )


def _joint_positions(mechanism: Model, q: FloatArray) -> Ranged:
    limits, joints = mechanism.limits, mechanism.tree_joints
    units = [joint.unit for joint in mechanism.structure.tree.joints]
    return Ranged(joints, 'position', units, q, limits.lower, limits.upper)


def _sockets(mechanism: Model, q: FloatArray) -> Iterator[Ranged]:
    """Positions of the contacts."""
    parts = [q] if q.ndim == 1 else [q[k : k + _ROWS] for k in range(0, max(len(q), 1), _ROWS)]
    for contact in mechanism.description.contacts:
        position = np.concatenate(
            [frame_poses(mechanism, part, contact.frame)[0] for part in parts]
        )
        for index, axis in enumerate('xyz'):
            interval = getattr(contact.range, axis)
            if interval is not None:
                value, (low, high) = position[..., index, None], np.array(interval)[:, None]
                yield Ranged((contact.name,), axis, ('m',), value, low, high)
