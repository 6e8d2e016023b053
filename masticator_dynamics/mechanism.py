# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A closed-loop mechanism: the public face of the engine."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from masticator_dynamics.description import MechanismDescription, load_description
from masticator_dynamics.engine.arrays import FloatArray, IntArray
from masticator_dynamics.errors import InputError, LimitError
from masticator_dynamics.inputs import pack_row, pack_rows, three_numbers
from masticator_dynamics.results import (
    Attempts,
    Effort,
    Evaluator,
    Motion,
    QuickEffort,
    SolvedMotion,
)
from masticator_dynamics.traced import kernels

# All else is imported where it is used: a process that only asks for efforts needs none of it.
if TYPE_CHECKING:
    from masticator_dynamics.actuation.distribution import Distribution
    from masticator_dynamics.forward_kinematics import ForwardKinematics
    from masticator_dynamics.frames import FrameChain
    from masticator_dynamics.limits.load_limits import LoadLimits
    from masticator_dynamics.limits.ranges import RangeViolation
    from masticator_dynamics.traced.python_entry import Entry
    from masticator_dynamics.traced.reference import Reference

Goal = str | Mapping[str, float]
LinkWrenches = Mapping[str, npt.ArrayLike]


def _plain(goal: Goal, friction: bool, limits: LoadLimits | bool, nearest: bool) -> bool:
    """Whether efforts are the frictionless ones of least norm, without limits."""
    return goal == 'torque' and not friction and limits is False and not nearest


def _goal_weights(goal: Goal) -> tuple[str, dict[str, float]]:
    """What tells a goal from others, and the weights of the squares that it keeps least."""
    if isinstance(goal, str):
        return goal, {goal: 1.0}
    if isinstance(goal, Mapping):
        return repr(sorted(goal.items())), dict(goal)
    raise InputError(f'goal is {goal!r}, neither a name nor weights by name')


@dataclasses.dataclass(frozen=True)
class FramePose:
    """Where a frame is: ``position`` (3,) in m and ``rotation`` (3, 3) of its axes, base axes."""

    position: FloatArray
    rotation: FloatArray


class Mechanism(Evaluator):
    """A mechanism ready for evaluation.

    Three spaces: *tree* coordinates q (all joints), *independent* coordinates y (the degrees of
    freedom) and *actuated* coordinates u. Wrenches on the platform are force and torque in base
    axes, torque about the origin of the platform frame, environment on platform.

    Parameters
    ----------
    description : MechanismDescription
        What the files say.
    actuators : sequence of str, optional
        The powered subset of the actuated joints; the others idle with zero effort.

    Attributes
    ----------
    packed : Model
        Records that kernels take. Every evaluation writes to the scratch memory among them, so a
        mechanism is for one thread at a time.

    Raises
    ------
    DescriptionError
        When loops do not close at home or do not determine the dependent joints.
    ActuationError
        For an unknown actuator.
    """

    def __init__(self, description: MechanismDescription, actuators: Sequence[str] | None = None):
        super().__init__(description, actuators)
        self._entries: dict[object, Entry | None] = {}
        self._quick_kinds: dict[object, tuple[kernels.Code, type[QuickEffort]]] = {}
        self._distributions: dict[object, Distribution] = {}
        self._freedoms = len(self.independent)
        self.kernels = kernels.Kernels(description, self._structure, self.driving)

    @classmethod
    def load(
        cls, name_or_path: str | pathlib.Path, actuators: Sequence[str] | None = None
    ) -> Mechanism:
        """Load a shipped mechanism by name or any by the path of its YAML file.

        Files that ``masticator import`` takes (URDF, MJCF, SDF, ...) load, too, with the choices
        that it makes by itself.
        """
        path = pathlib.Path(name_or_path)
        if path.suffix:
            # Only here: readers of other formats take longer to import than a robot to load.
            from masticator_dynamics import importing

            if importing.is_foreign(path):
                return cls(importing.import_description(path), actuators)
        return cls(load_description(path), actuators)

    @functools.cached_property
    def _engine(self) -> Callable[[FloatArray, FloatArray], None]:
        from masticator_dynamics.engine.evaluate import evaluate

        return functools.partial(evaluate, self.packed.memory, self.packed.scratch)

    def _run(self, given: FloatArray, rows: FloatArray) -> None:
        """Fill rows (N, width) with motions for what is asked (N, ...), by the engine."""
        self._engine(given.reshape(-1), rows.reshape(-1))

    @functools.cached_property
    def _reference(self) -> Reference:
        from masticator_dynamics.traced.reference import Reference

        code = self.kernels.everything
        return Reference(self.kernels, 'whole row', code.outputs, code.told)

    @functools.cached_property
    def _needed(self) -> Reference:
        from masticator_dynamics.traced.outputs import needed
        from masticator_dynamics.traced.reference import Reference

        return Reference(self.kernels, 'bodies', needed, 4 + 18 * len(self.tree_joints))

    @functools.cached_property
    def _width(self) -> int:
        return self.slices['tangent'].stop

    @functools.cached_property
    def home(self) -> Motion:
        """The mechanism at home, at rest."""
        return self.solve(self._structure.home[self.tree_indices(self.independent)])

    @property
    def memory_size(self) -> int:
        """Bytes that the engine keeps for this mechanism, its scratch memory included."""
        return int(self.packed.memory.nbytes + self.packed.scratch.nbytes)

    # Evaluation

    def solve(
        self,
        y: npt.ArrayLike,
        y_dot: npt.ArrayLike | None = None,
        y_ddot: npt.ArrayLike | None = None,
    ) -> Motion:
        """Motion of the whole tree for independent positions, velocities and accelerations.

        Parameters
        ----------
        y, y_dot, y_ddot : array_like, shape (n_y,)
            rad, m and their time derivatives; omitted derivatives are zero.

        Raises
        ------
        InputError
            For a wrong shape, NaN or infinity.
        ReachError
            When a loop cannot close at ``y`` on the branch continuous with home.
        SingularityError
            When the loops do not determine the velocities at ``y``.
        """
        given = pack_row(self._freedoms, y, y_dot, y_ddot, None)
        if self.kernels.available:
            told = self.kernels.everything(given)
            if told[0] == 1.0:
                return SolvedMotion(self, given, told[1:], self.slices)
        return SolvedMotion(self, given, self._evaluate(given, self._run), self.slices)

    def attempt(self, Y: npt.ArrayLike) -> Attempts:
        """:meth:`solve` for many poses at rest, of which any may fail: none is refused.

        For planners, which want to know of every pose whether it is there, and why not.

        Parameters
        ----------
        Y : array_like, shape (N, n_y)
            Independent positions, rad or m.

        Raises
        ------
        InputError
            For a wrong shape.
        """
        given = pack_rows(self._freedoms, Y, None, None, None)
        rows = np.empty((len(given), self._width))
        self._run(given, rows)
        return Attempts(self, given, rows)

    def row_at(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the engine is asked and says for a pose (n_y,) at rest, for inner loops.

        The first number says whether the loops close there: 0, or what keeps them open.
        """
        given, row = np.zeros(3 * self._freedoms + 6), np.empty(self._width)
        given[: self._freedoms] = y
        self._engine(given, row)
        return given, row

    def inverse_dynamics(
        self,
        motion: Motion,
        wrench: npt.ArrayLike | None = None,
        *,
        link_wrenches: LinkWrenches | None = None,
        goal: Goal = 'torque',
        friction: bool = False,
        limits: LoadLimits | bool = False,
        nearest: bool = False,
    ) -> Effort:
        """Actuator efforts for a motion, the best for a goal, and contact and loop forces.

        Parameters
        ----------
        motion : Motion
            From :meth:`solve`.
        wrench : array_like, shape (6,), optional
            N and N m, environment on platform; omitted is zero.
        link_wrenches : mapping of str to array_like, shape (6,), optional
            What the environment does to other links as well, or to the platform: by URDF link,
            force (N) and torque (N m) in base axes, the force at the link's origin and the torque
            about it. Several add up, with ``wrench``, too.
        goal : str or mapping of str to float
            What is kept least: 'torque', 'power', 'joint-force' or 'contact-force' (norms), or
            weights of the squares of several.
        friction : bool
            Friction of contacts and actuated joints.
        limits : bool or LoadLimits
            Keep the loads of motors, bearings and contacts within the description's limits, or
            within others; by default nothing is limited.
        nearest : bool
            Where no efforts keep the limits: those for the nearest acceleration that some do,
            see :attr:`Effort.shortfall`, instead of an error.

        Raises
        ------
        InputError
            For a motion of another mechanism, or an unknown link.
        LimitError
            When no efforts keep the limits; says which and by how much.
        ActuationError
            When the powered actuators cannot drive the mechanism.
        SingularityError
            When they lose control at this pose only.
        """
        if motion.mechanism.tree_joints != self.tree_joints:
            raise InputError(f'the motion is of {motion.mechanism.name}, not of {self.name}')
        given = pack_row(self._freedoms, motion.y, motion.y_dot, motion.y_ddot, wrench)
        if link_wrenches:
            given = self._with_links(given, link_wrenches, motion.q)
        # A solved motion is on home's branch; others may be on a branch of their own.
        if isinstance(motion, SolvedMotion) and _plain(goal, friction, limits, nearest):
            told = self.kernels.everything(given) if self.kernels.available else None
            if told is not None and told[0] == 1.0:
                return Effort(self, given, told[1:], self.slices)
        return self._effort(given, goal, friction, limits, nearest, motion)

    def feedforward(
        self,
        y: npt.ArrayLike,
        y_dot: npt.ArrayLike | None = None,
        y_ddot: npt.ArrayLike | None = None,
        wrench: npt.ArrayLike | None = None,
        *,
        link_wrenches: LinkWrenches | None = None,
        goal: Goal = 'torque',
        friction: bool = False,
        limits: LoadLimits | bool = False,
        nearest: bool = False,
    ) -> Effort:
        """:meth:`solve` and :meth:`inverse_dynamics` in one call, the fast path.

        With ``link_wrenches`` it costs about as much as the two.

        Parameters
        ----------
        y, y_dot, y_ddot : array_like, shape (n_y,)
            As for :meth:`solve`.
        wrench, link_wrenches, goal, friction, limits, nearest
            As for :meth:`inverse_dynamics`.
        """
        # From the first call on, machine code answers in place of this method, and calls
        # `_feedforward` with what it does not cover.
        if '_quick' not in self.__dict__:
            self._entry = self.kernels.entry(
                self.kernels.evaluate, QuickEffort, self, self._feedforward
            )
            self._quick = self._entry.call if self._entry else self._feedforward
            if self._entry is not None:
                self.feedforward = self._quick  # type: ignore[method-assign]
        return self._quick(
            y, y_dot, y_ddot, wrench, link_wrenches=link_wrenches,
            goal=goal, friction=friction, limits=limits, nearest=nearest,
        )  # fmt: skip

    def _feedforward(
        self,
        y: npt.ArrayLike,
        y_dot: npt.ArrayLike | None = None,
        y_ddot: npt.ArrayLike | None = None,
        wrench: npt.ArrayLike | None = None,
        *,
        link_wrenches: LinkWrenches | None = None,
        goal: Goal = 'torque',
        friction: bool = False,
        limits: LoadLimits | bool = False,
        nearest: bool = False,
    ) -> Effort:
        """:meth:`feedforward` of what the generated function does not take."""
        given = pack_row(self._freedoms, y, y_dot, y_ddot, wrench)
        if link_wrenches:
            given = self._with_links(given, link_wrenches)
        if limits is False and not nearest and self.kernels.available:
            code, result = self._quick_kind(goal, friction)
            told = code(given) if code.covers(given) else None
            if told is not None and told[kernels.COUNTS] == 1.0:
                return result(self, given, told)
        return self._effort(given, goal, friction, limits, nearest)

    def _quick_kind(self, goal: Goal, friction: bool) -> tuple[kernels.Code, type[QuickEffort]]:
        """Machine code for the efforts of a goal, and the class of its results, made once."""
        if goal == 'torque' and not friction:
            return self.kernels.evaluate, QuickEffort
        key, weights = _goal_weights(goal)
        if (key, friction) not in self._quick_kinds:
            self._distribution(goal, friction)  # refuses what is no goal
            code = self.kernels.best(weights, friction)
            fields = {'__slots__': (), 'choice': (goal, friction)}
            kind = type('QuickEffort', (QuickEffort,), fields)
            self._quick_kinds[key, friction] = code, kind
            if isinstance(goal, str) and code.available:
                otherwise = functools.partial(self._feedforward, goal=goal, friction=friction)
                self._entries[key, friction] = self.kernels.entry(code, kind, self, otherwise)
        chosen = self._entries.get((key, friction))
        if chosen is not None and '_entry' in self.__dict__ and self._entry is not None:
            self._entry.choose(key, bool(friction), chosen.call)  # until another is asked for
        return self._quick_kinds[key, friction]

    def feedforward_batch(
        self,
        Y: npt.ArrayLike,
        Y_dot: npt.ArrayLike | None = None,
        Y_ddot: npt.ArrayLike | None = None,
        W: npt.ArrayLike | None = None,
        *,
        link_wrenches: LinkWrenches | None = None,
        goal: Goal = 'torque',
        friction: bool = False,
        limits: LoadLimits | bool = False,
        nearest: bool = False,
    ) -> Effort:
        """:meth:`feedforward` for many rows at once; rows do not influence one another.

        Parameters
        ----------
        Y, Y_dot, Y_ddot : array_like, shape (N, n_y)
        W : array_like, shape (N, 6)
        link_wrenches : mapping of str to array_like, shape (6,) or (N, 6)
            As in :meth:`inverse_dynamics`.

        Returns
        -------
        Effort
            All fields with a leading axis of length N.

        Raises
        ------
        ReachError, SingularityError, InputError, LimitError
            As for a single call, naming the first row that fails.
        """
        given = pack_rows(self._freedoms, Y, Y_dot, Y_ddot, W)
        if link_wrenches:
            given = self._with_links(given, link_wrenches)
        if limits is False and not nearest and self.kernels.available:
            code, result = self._quick_kind(goal, friction)
            if code.covers(given):
                return self._quick_batch(given, code, result)
        return self._effort(given, goal, friction, limits, nearest)

    def forward_kinematics(self, u: npt.ArrayLike, tolerance: float = 1e-4) -> FloatArray:
        """Independent positions (n_y,) from actuated positions (n_u,).

        With more actuators than degrees of freedom the positions fit in the least-squares sense.

        Raises
        ------
        ClosureError
            When the loops stay open by more than ``tolerance`` (m).
        ReachError
            When no closed configuration is found.
        """
        from masticator_dynamics import forward_kinematics as forward

        return forward.forward_kinematics(self, u, tolerance).y

    def forward_kinematics_batch(
        self, U: npt.ArrayLike, tolerance: float = 1e-4
    ) -> ForwardKinematics:
        """:meth:`forward_kinematics` for rows (N, n_u), with the residual of each."""
        from masticator_dynamics import forward_kinematics as forward

        return forward.forward_kinematics_batch(self, U, tolerance)

    # Frames and Jacobians

    def frame_pose(self, motion: Motion | Effort, frame: str) -> FramePose:
        """Pose of a URDF link's frame in the base."""
        from masticator_dynamics.frames import check_frame

        placement = check_frame(self, frame)
        poses = self._structure.tree.poses(motion.q)
        rotation = poses.rotations[placement.body] @ placement.rotation
        return FramePose(poses.point(placement.body, placement.position), rotation)

    def frame_chain(self, frame: str) -> FrameChain:
        """What poses of a URDF link's frame are computed with; made once."""
        from masticator_dynamics.frames import frame_chain

        return frame_chain(self, frame)

    def frame_jacobian(self, motion: Motion, frame: str) -> FloatArray:
        """Twist of a frame per independent velocity (6, n_y): linear over angular.

        Linear velocity of the frame's origin and angular velocity, both in base axes.
        """
        from masticator_dynamics.frames import check_frame

        placement = check_frame(self, frame)
        poses = self._structure.tree.poses(motion.q)
        point = poses.point(placement.body, placement.position)
        linear = poses.point_jacobian(placement.body, point)
        return np.vstack([linear, poses.angular_jacobian(placement.body)]) @ motion.tangent

    def wrench_on_platform(
        self,
        motion: Motion,
        force: npt.ArrayLike,
        torque: npt.ArrayLike,
        axes: str | None = None,
        point: str | None = None,
    ) -> FloatArray:
        """Wrench (6,) for :meth:`feedforward` from a force and torque measured elsewhere.

        Parameters
        ----------
        force, torque : array_like, shape (3,)
            N and N m, environment on platform, components along the axes of frame ``axes``
            (default: base); the force acts at the origin of frame ``point`` (default: platform)
            and the torque is about that point.

        Raises
        ------
        InputError
            For an unknown frame or a wrong shape.
        """
        rotation = self.frame_pose(motion, axes or self.description.base).rotation
        origin = self.frame_pose(motion, self.description.platform).position
        arm = self.frame_pose(motion, point or self.description.platform).position - origin
        force_in_base = rotation @ three_numbers(force, 'force')
        torque_in_base = rotation @ three_numbers(torque, 'torque')
        return np.concatenate([force_in_base, torque_in_base + np.cross(arm, force_in_base)])

    def actuated_inertia(self, motion: Motion | Effort) -> FloatArray:
        """Inertia matrix (..., n_u, n_u) in actuated space; its diagonal is the load inertia.

        For the rows of a batch from :meth:`feedforward_batch`, a matrix each.
        """
        from masticator_dynamics.analysis.inertia_coupling import actuated_inertia

        return actuated_inertia(self, motion)

    def inertia_coupling(self, motion: Motion | Effort) -> FloatArray:
        """Inertia-coupling index MCI (..., n_u) of each actuator (S0 Eq. 60)."""
        from masticator_dynamics.analysis.inertia_coupling import inertia_coupling

        return inertia_coupling(self.actuated_inertia(motion))

    # Ranges and conditioning

    def range_violations(
        self, motion: Motion, effort: Effort | None = None
    ) -> tuple[RangeViolation, ...]:
        """Ranges of joints, sockets and efforts that a motion leaves; empty when inside all."""
        from masticator_dynamics.limits.ranges import find_violations

        return find_violations(self, motion, effort)

    @property
    def load_limits(self) -> LoadLimits:
        """What motors, bearings and contacts may carry, from the description."""
        from masticator_dynamics.limits.load_limits import LoadLimits

        return self.made(LoadLimits.of)

    def binding_loads(
        self, effort: Effort, limits: LoadLimits | None = None
    ) -> tuple[RangeViolation, ...]:
        """Loads of a single result that stand at a limit, or beyond it."""
        from masticator_dynamics.limits.load_limits import binding_loads

        return binding_loads(self, effort, limits or self.load_limits)

    def actuation_rank(self, motion: Motion | None = None) -> int:
        """Directions of motion that the powered actuators control, at home unless told."""
        here, home = (m.tangent[self.actuated_rows] for m in (motion or self.home, self.home))
        return self.rank(here, home)

    def largest_gap(self, q: npt.ArrayLike) -> float:
        """Largest gap of a loop or contact at any tree positions (n_q,), m."""
        asked = np.zeros(3 * self._freedoms + 6 + len(self.tree_joints))
        positions = asked[3 * self._freedoms + 6 :]
        positions[:] = q
        asked[: self._freedoms] = positions[self.independent_rows]
        if self.kernels.gap.covers(asked):
            return float(self.kernels.gap(asked)[0])
        return self._structure.largest_gap(positions)

    # Forces

    def joint_reactions(self, effort: Effort) -> FloatArray:
        """Wrenches (n_q, 6) that joints transmit; see :attr:`Effort.joint_reaction`."""
        from masticator_dynamics.engine.reactions import joint_reactions

        row = effort.row()
        if row.ndim != 1:
            raise InputError(f'joint_reaction is of single results, this is a batch of {len(row)}')
        multipliers = row[self.slices['multipliers']]
        friction = dict(zip(self.contacts, effort.contact_friction, strict=True))
        given, freedoms = effort.given(), self._freedoms
        given[2 * freedoms : 3 * freedoms] -= effort.shortfall  # the motion that is driven
        (told,) = self._needed(given[None], effort.q[None])
        bodies = told[3:].reshape(-1, 18)
        return joint_reactions(self._structure, effort.q, bodies, multipliers, friction)

    # Plumbing

    def _with_links(
        self, given: FloatArray, wrenches: LinkWrenches, q: FloatArray | None = None
    ) -> FloatArray:
        """Rows (..., 3 n_y + 6) that go on with wrenches on all bodies, at tree positions."""
        from masticator_dynamics.frames import wrenches_on_bodies

        if q is None and self.kernels.available:
            q = self.whole_rows(given)[..., self.slices['q']]
        elif q is None:
            q = self._evaluate(given, self._run)[..., self.slices['q']]
        return np.concatenate([given, wrenches_on_bodies(self, q, wrenches)], axis=-1)

    def _effort(
        self,
        given: FloatArray,
        goal: Goal,
        friction: bool,
        limits: LoadLimits | bool,
        nearest: bool,
        motion: Motion | None = None,
    ) -> Effort:
        """Efforts for a goal, with friction or without, within limits or not."""
        if nearest and limits is False:
            raise InputError('nearest=True needs limits')
        if goal == 'torque' and not friction and limits is False:
            rows = self._careful(self._reference, given, self._width, motion)
            return Effort(self, given, rows, self.slices)
        chosen = self._distribution(goal, friction)
        code = chosen.code
        # A solved motion is on home's branch; others may be on a branch of their own.
        if code.covers(given) and (motion is None or isinstance(motion, SolvedMotion)):
            rows = self._rows(code, given, chosen.reference)
        else:
            rows = self._careful(chosen.reference, given, chosen.width, motion)
        if limits is not False:
            from masticator_dynamics.failures import in_row
            from masticator_dynamics.limits.load_limits import limits_for
            from masticator_dynamics.limits.within_limits import keep_limits

            kept = limits_for(self, limits)
            table = rows.reshape(-1, chosen.width)
            asked = given.reshape(-1, given.shape[-1])
            try:
                keep_limits(self, chosen, asked, table, kept, nearest)
            except LimitError as error:
                raise in_row(error, error.row, given.ndim > 1) from None
        return Effort(self, given, rows, chosen.slices)

    def _quick_batch(
        self, given: FloatArray, code: kernels.Code, result: type[QuickEffort]
    ) -> Effort:
        """Efforts of rows by machine code, and by the engine where that hands over."""
        told = code(given)
        left = np.flatnonzero(told[:, kernels.COUNTS] != 1.0)
        if len(left):
            reference, width = self._reference, self._width
            if result.choice is not None:
                chosen = self._distribution(*result.choice)
                reference, width = chosen.reference, chosen.width
            rows = self._rows_left(given, left, reference, width)
            efforts = kernels.EFFORT + self.kernels.actuators
            told[left, kernels.CLOSURE : kernels.EFFORT] = rows[:, self.slices['report']][:, 3:5]
            told[left, kernels.EFFORT : efforts] = rows[:, self.slices['effort']]
            told[left, efforts:] = rows[:, self.slices['multipliers']]
        return result(self, given, told)

    def whole_rows(self, given: FloatArray, choice: tuple[Goal, bool] | None = None) -> FloatArray:
        """Rows of the engine's output (..., width) for what it is asked (..., 3 n_y + 6).

        For a goal, with friction or without, its numbers follow (:meth:`slices_of`).
        """
        if choice is None:
            return self._rows(self.kernels.everything, given, self._reference)
        chosen = self._distribution(*choice)
        return self._rows(chosen.code, given, chosen.reference)

    def slices_of(self, choice: tuple[Goal, bool] | None) -> dict[str, slice]:
        """Where each quantity stands in a row for a goal, with friction or without."""
        return self.slices if choice is None else self._distribution(*choice).slices

    def _rows(self, code: kernels.Code, given: FloatArray, reference: Reference) -> FloatArray:
        """Rows by machine code, and by the reference where that hands over."""
        told, width = code(given), code.told - 1
        if given.ndim == 1:
            return told[1:] if told[0] == 1.0 else self._careful(reference, given, width)
        left = np.flatnonzero(told[:, 0] != 1.0)
        if len(left):
            told[left, 1:] = self._rows_left(given, left, reference, width)
        return told[:, 1:]

    def _rows_left(
        self, given: FloatArray, left: IntArray, reference: Reference, width: int
    ) -> FloatArray:
        """The reference's answers (M, width) for some rows; refused with their number of all."""
        from masticator_dynamics.failures import failure, in_row

        rows, asked = np.empty((len(left), width)), given[left]
        self._fill(asked, rows, reference)
        failed = np.flatnonzero(rows[:, 0])
        if len(failed):
            first = failed[0]
            error = failure(self, rows[first : first + 1], asked[first])
            raise in_row(error, int(left[first]), True)
        return rows

    def _fill(
        self,
        given: FloatArray,
        rows: FloatArray,
        reference: Reference,
        motion: Motion | None = None,
    ) -> None:
        """Rows (N, width), their loops closed by the engine or as in a motion."""
        if motion is not None:
            rows[:] = reference(given, motion.q[None])
            return
        motions = np.empty((len(rows), self._width))
        self._run(given, motions)
        rows[:, : self._width] = motions
        closed = motions[:, 0] == 0.0
        rows[closed] = reference(given[closed], motions[closed][:, self.slices['q']])

    def _distribution(self, goal: Goal, friction: bool) -> Distribution:
        """How efforts for a goal are computed, made once."""
        from masticator_dynamics.actuation.distribution import Distribution

        name, weights = _goal_weights(goal)
        key = name, friction
        if key not in self._distributions:
            self._distributions[key] = Distribution(self, self.kernels, weights, friction)
        return self._distributions[key]

    def _careful(
        self,
        reference: Reference,
        given: FloatArray,
        width: int,
        motion: Motion | None = None,
    ) -> FloatArray:
        """One row or many by the reference, at the positions of a motion if there is one."""
        fill = functools.partial(self._fill, reference=reference, motion=motion)
        return self._evaluate(given, fill, width)

    def _evaluate(
        self, given: FloatArray, fill: Callable[[FloatArray, FloatArray], None], width: int = 0
    ) -> FloatArray:
        """Rows filled in, one or many; refused what fails."""
        rows = np.empty((*given.shape[:-1], width or self._width))
        fill(given.reshape(-1, given.shape[-1]), rows.reshape(-1, rows.shape[-1]))
        if rows[..., 0].any():
            from masticator_dynamics.failures import failure

            raise failure(self, rows, given)
        return rows
