# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where a mechanism may go: every pose of a batch with its class, the reason, and its margins."""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from masticator_dynamics.analysis.singularity import LoopConditioning, SingularityMeasures
from masticator_dynamics.description.urdf import FARTHEST
from masticator_dynamics.engine import status as reasons
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.failures import diagnose
from masticator_dynamics.errors import InputError
from masticator_dynamics.limits.ranges import range_room

if TYPE_CHECKING:
    from masticator_dynamics.engine.evaluation.results import Attempts
    from masticator_dynamics.mechanism import Mechanism

CLEARANCE = 0.05  # of type 1 and type 2; as an angle 3 degrees


class PoseClass(enum.IntEnum):
    """A pose's class for a planner; if several apply, the first of these except `USABLE`."""

    USABLE = 0
    OUT_OF_REACH = 1  # a loop cannot close
    OTHER_BRANCH = 2  # it can, but home's branch is lost on the straight path there
    SINGULAR = 3  # the loops do not determine the velocities
    OUT_OF_RANGE = 4  # a joint or socket leaves its range
    NEAR_TYPE_2 = 5  # the actuators are about to lose control
    ACROSS_TYPE_2 = 6  # every path from home leads through a singularity of type II
    NEAR_TYPE_1 = 7  # a limb is nearly stretched or folded

    @property
    def label(self) -> str:
        """As in files: lower case."""
        return self.name.lower()


_FAILURES = {
    reasons.OUT_OF_REACH: PoseClass.OUT_OF_REACH,
    reasons.OTHER_BRANCH: PoseClass.OTHER_BRANCH,
    reasons.SINGULAR: PoseClass.SINGULAR,
}


@dataclasses.dataclass(frozen=True)
class Workspace:
    """Poses of a mechanism and their classification; NaN where the loops do not close."""

    coordinates: tuple[str, ...]  # the independent coordinates
    characteristic_length: float  # m of sliding that count as much as 1 rad of turning
    clearance: float  # of ``type_1`` and ``type_2`` below which a pose counts as near a singularity
    y: FloatArray  # (N, n_y): poses, rad or m
    pose_class: npt.NDArray[np.int64]  # (N,): :class:`PoseClass`
    # (N,): what makes it so: closures or contacts, the range left, the actuators; empty when
    # usable.
    cause: npt.NDArray[np.object_]
    # (N,): by how much: gap of the loop (m; the smallest that was found), distance outside the
    # range (m or rad), or the measure that is too small; NaN when usable.
    amount: FloatArray
    # (N,): distance to the nearest end of a range over its half width, negative outside.
    room: FloatArray
    nearest_range: npt.NDArray[np.object_]  # (N,): that range: a joint, or a contact and its axis
    # (N,): distance from singularities, 0 to 1; see ``analysis/singularity.py``.
    type_1: FloatArray
    type_1_joint: npt.NDArray[np.object_]  # (N,): the actuated joint whose sine ``type_1`` is
    type_2: FloatArray
    # (N,): condition numbers, of loops (joints of unit effect) and actuation (turning in rad,
    # sliding in characteristic lengths).
    condition_loops: FloatArray
    condition_actuation: FloatArray
    # (N,) of the actuated velocities per independent velocity, normalised likewise.
    smallest_singular_value: FloatArray
    largest_singular_value: FloatArray

    def __len__(self) -> int:
        """Count the poses."""
        return len(self.y)

    @property
    def usable(self) -> npt.NDArray[np.bool_]:
        """Poses (N,) that close, inside all ranges and clear of singularities."""
        return self.pose_class == PoseClass.USABLE

    @property
    def closed(self) -> npt.NDArray[np.bool_]:
        """Poses (N,) whose loops close regularly on home's branch, ranges or not."""
        return np.isfinite(self.type_1)

    @classmethod
    def joined(cls, parts: Sequence[Workspace]) -> Workspace:
        """One workspace from parts of it, in their order."""
        arrays: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS
        }
        return dataclasses.replace(parts[0], **arrays)


_ARRAYS = [field.name for field in dataclasses.fields(Workspace)][3:]


class WorkspaceSurveyor:
    """Classifies poses of a mechanism, batch by batch.

    Parameters
    ----------
    characteristic_length : float, optional
        m; default: the one that balances turning and sliding at home
        (:func:`masticator_dynamics.analysis.singularity.balanced_length`).
    clearance : float
        Least ``type_1`` and ``type_2`` of a usable pose.

    Raises
    ------
    InputError
        For a length or clearance that makes no sense.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        characteristic_length: float | None = None,
        clearance: float = CLEARANCE,
    ):
        shortest, longest = 1.0 / FARTHEST, FARTHEST
        if characteristic_length is not None and not shortest <= characteristic_length <= longest:
            raise InputError(
                f'characteristic length {characteristic_length} m is not from {shortest:g} to '
                f'{longest:g} m'
            )
        if not 0.0 <= clearance < 1.0:
            raise InputError(f'clearance {clearance} is not between 0 and 1')
        self._mechanism, self._clearance = mechanism, clearance
        self._measures = SingularityMeasures(mechanism, characteristic_length)

    def survey(self, Y: npt.ArrayLike) -> Workspace:
        """Classify poses (N, n_y).

        Raises
        ------
        InputError
            For a wrong shape, NaN, infinity, or numbers too large to compute with.
        """
        mechanism = self._mechanism
        attempts = mechanism.attempt(Y)
        malformed = np.flatnonzero(~np.isin(attempts.status, [0, *_FAILURES]))
        if len(malformed):
            error = attempts.failure(int(malformed[0]))
            raise InputError(f'row {malformed[0] + 1}: {error}')
        motions = attempts.motions
        room = range_room(mechanism, motions)
        loops, actuation = self._measures.loops(motions), self._measures.actuation(motions)
        type_1, type_1_joint = self._type_1(loops)
        closed = _Judgement.of(len(type_1))
        # What is worse is marked last.
        closed.mark(type_1 < self._clearance, PoseClass.NEAR_TYPE_1, type_1_joint, type_1)
        weakest = np.array(mechanism.independent)[actuation.weakest]
        across, near = actuation.side < 0, actuation.type_2 < self._clearance
        closed.mark(across, PoseClass.ACROSS_TYPE_2, weakest, actuation.type_2)
        closed.mark(near, PoseClass.NEAR_TYPE_2, weakest, actuation.type_2)
        ranges = np.array([*room.ranges, ''])[room.nearest]
        closed.mark(room.outside, PoseClass.OUT_OF_RANGE, ranges, room.beyond)
        every, rows = self._failed(attempts), np.flatnonzero(attempts.closed)
        every.pose_class[rows], every.cause[rows] = closed.pose_class, closed.cause
        every.amount[rows] = closed.amount
        spread = functools.partial(_spread, rows, len(attempts.y))
        return Workspace(
            coordinates=mechanism.independent,
            characteristic_length=self._measures.characteristic_length,
            clearance=self._clearance,
            y=attempts.y,
            pose_class=every.pose_class,
            cause=every.cause,
            amount=every.amount,
            room=spread(room.room),
            nearest_range=spread(ranges),
            type_1=spread(type_1),
            type_1_joint=spread(type_1_joint),
            type_2=spread(actuation.type_2),
            condition_loops=spread(loops.condition),
            condition_actuation=spread(actuation.condition),
            smallest_singular_value=spread(actuation.smallest),
            largest_singular_value=spread(actuation.largest),
        )

    def _type_1(self, loops: LoopConditioning) -> tuple[FloatArray, npt.NDArray[Any]]:
        """Least sine of an actuated joint, and which; 1 where loops determine no actuated joint."""
        of_actuated = np.isin(loops.joints, self._mechanism.tree_indices(self._mechanism.actuated))
        names = np.array(self._mechanism.tree_joints)[loops.joints[of_actuated]]
        if not len(names):
            return np.ones(len(loops.sines)), np.full(len(loops.sines), '')
        sines = loops.sines[:, of_actuated]
        return sines.min(axis=1), names[sines.argmin(axis=1)]

    def _failed(self, attempts: Attempts) -> _Judgement:
        """What is wrong with rows that do not close."""
        judgement = _Judgement.of(len(attempts.y))
        status, block, amount = diagnose(
            self._mechanism, attempts.status, attempts.block, attempts.amount, attempts.y
        )
        amount = np.where(status == reasons.OTHER_BRANCH, np.nan, amount)
        for number, name in _FAILURES.items():
            for b in np.unique(block[status == number]):
                cause = ' '.join(self._mechanism.block_names(int(b)))
                rows = (status == number) & (block == b)
                judgement.mark(rows, name, np.full(len(rows), cause), amount)
        return judgement


@dataclasses.dataclass(frozen=True)
class _Judgement:
    """Class, cause and amount (N,) of poses."""

    pose_class: npt.NDArray[np.int64]
    cause: npt.NDArray[Any]
    amount: FloatArray

    @classmethod
    def of(cls, count: int) -> _Judgement:
        """Nothing wrong yet."""
        return cls(
            np.full(count, int(PoseClass.USABLE)),
            np.full(count, '', dtype=object),
            np.full(count, np.nan),
        )

    def mark(
        self,
        rows: npt.NDArray[np.bool_],
        pose_class: PoseClass,
        cause: npt.NDArray[Any],
        amount: FloatArray,
    ) -> None:
        """Judge some rows (N,), overriding earlier judgements."""
        self.pose_class[rows] = pose_class
        self.cause[rows], self.amount[rows] = cause[rows], amount[rows]


def _spread(rows: npt.NDArray[np.intp], count: int, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Values of some rows among as many as `count`; NaN or empty text elsewhere."""
    text = values.dtype.kind == 'U'
    whole = np.full(count, '' if text else np.nan, object if text else float)
    whole[rows] = values
    return whole
