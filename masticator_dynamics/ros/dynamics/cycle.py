# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What one control cycle computes: motion, measured wrenches and efforts at one instant.

It follows the commanded motion as a function of time: hold home, move, hold the end.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from masticator_dynamics import Mechanism
from masticator_dynamics.control.force_goal import Reason
from masticator_dynamics.control.force_goal import State as ForceState
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import FrameChain
from masticator_dynamics.engine.evaluation.results import Effort
from masticator_dynamics.engine.traced.effort_goals import Goal
from masticator_dynamics.engine.traced.row_code import RowInPlace
from masticator_dynamics.errors import LimitError, MasticatorError
from masticator_dynamics.motion import MotionPath
from masticator_dynamics.ros.dynamics.effort_limits import EffortClamp, LoadWatch
from masticator_dynamics.ros.dynamics.force_turn import ForceTurn, JointReadings, PressingJob
from masticator_dynamics.ros.dynamics.measured_wrenches import (
    BiteForce,
    MeasuredWrench,
    MeasuredWrenches,
    Transport,
)

State = tuple[FloatArray, FloatArray, FloatArray]

_REMEMBERED = 1_000_000_000  # ns that replaced motions are, for messages stamped late


@dataclasses.dataclass(frozen=True)
class Piece:
    """A path that begins at ``start`` (ns) and is followed until a later piece starts."""

    start: int
    path: MotionPath

    def state(self, time: int) -> State:
        """Position, velocity and acceleration at a time in ns."""
        return self.path(self.path.start + (time - self.start) * 1e-9)

    @property
    def end(self) -> int:
        """When the path comes to rest, ns."""
        return self.start + round((self.path.end - self.path.start) * 1e9)


class ExecutedMotion:
    """Schedule of paths; from its start on, each replaces what was there.

    Times are integer nanoseconds: seconds since 1970 as a double only resolve 0.2 µs. Reading is
    safe from any thread, since a schedule is never modified but replaced as a whole.

    Parameters
    ----------
    home : (n_y,) array_like
        Held until the first path starts.
    """

    def __init__(self, home: npt.ArrayLike):
        self._exchange = threading.Lock()
        self._pieces: tuple[Piece, ...] = (Piece(0, MotionPath.constant(home)),)
        self._moved = False

    @property
    def schedule(self) -> tuple[Piece, ...]:
        """The pieces in order of their starts; the first has always been valid."""
        return self._pieces

    def state(self, time: int) -> State:
        """Independent position, velocity and acceleration (n_y,) each at a time in ns."""
        return piece_at(self._pieces, time).state(time)

    def mode(self, time: int) -> str:
        """``hold home``, ``running``, ``hold last``."""
        piece = piece_at(self._pieces, time)
        if piece.start < time < piece.end:
            return 'running'
        return 'hold last' if self._moved or piece is not self._pieces[0] else 'hold home'

    def settled(self, time: int) -> bool:
        """Whether nothing moves from a time (ns) on."""
        return all(piece.end <= time for piece in self._pieces)

    def replace(self, piece: Piece, expected: tuple[Piece, ...], now: int) -> bool:
        """Follow another path from its start on, if the schedule is still the expected one.

        Parameters
        ----------
        piece : Piece
            What to follow, and from when on.
        expected : tuple of Piece
            The schedule that the path was prepared for.
        now : int
            Time of the clock, ns; pieces long past are dropped.

        Returns
        -------
        bool
            False, with nothing changed, when the schedule has changed in the meantime: the path
            then starts from a state that may no longer be the mechanism's.
        """
        with self._exchange:
            if self._pieces is not expected:
                return False
            before = [earlier for earlier in expected if earlier.start < piece.start]
            while len(before) > 1 and before[1].start < now - _REMEMBERED:
                del before[0]
                self._moved = True
            self._pieces = (*before, piece)
            return True

    def hold(self, time: int, position: npt.ArrayLike | None = None) -> None:
        """From a time (ns) on hold a position, by default that of the motion at that time."""
        with self._exchange:
            if position is None:
                if len(self._pieces) == 1 and self.mode(time) == 'hold home':
                    return
                position = self.state(time)[0]
            self._pieces = (Piece(time, MotionPath.constant(position)),)
            self._moved = True

    def shift(self, delta: int) -> None:
        """Shift the whole schedule in time (ns) after the clock itself has jumped."""
        with self._exchange:
            self._pieces = tuple(Piece(p.start + delta, p.path) for p in self._pieces)


def piece_at(schedule: tuple[Piece, ...], time: int) -> Piece:
    """Which piece of a schedule is followed at a time in ns."""
    for piece in reversed(schedule):
        if piece.start <= time:
            return piece
    return schedule[0]


class CycleAnswer(NamedTuple):
    """What one cycle reports."""

    effort: Effort  # as computed
    actuated: FloatArray  # (n_u,), efforts that may be sent
    position: FloatArray  # (n_u,), of the actuated joints, rad or m
    velocity: FloatArray  # (n_u,), of the actuated joints, rad/s or m/s
    loaded: State | None = None  # the motion that wrenches acted on; None if no wrench was fresh
    free: FloatArray | None = None  # (n_u,), what would be sent without wrenches, if known


class Ahead(NamedTuple):
    """A cycle computed before it is due, as far as that needs no measured wrench."""

    basis: tuple[object, ...]  # what it was computed for; valid as long as this holds
    state: State
    answer: CycleAnswer | None = None  # without wrenches; None if that has to wait
    cut: bool = False  # whether the efforts are beyond the clamp's limits
    transport: Transport | None = None  # for the frame in which the bite force was last measured


class Loads(NamedTuple):
    """The fresh bite force, if any, and the wrenches on other links."""

    bite: MeasuredWrench | None
    others: list[MeasuredWrench]


class FeedforwardCycle:
    """Evaluates the executed motion with the measured bite force and external wrenches.

    Parameters
    ----------
    mechanism : Mechanism
        Used by the calling thread only: it keeps scratch memory.
    external : MeasuredWrenches, optional
        Wrenches besides the bite force, on any links.
    goal : str
        How redundant actuators share the load.
    friction : bool
        Whether efforts overcome friction.
    watch : LoadWatch, optional
        Efforts are chosen within its limits or, if none are, for the nearest acceleration; by
        default only the clamp limits them.
    turn : ForceTurn, optional
        What presses with a force instead of following the motion.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        motion: ExecutedMotion,
        bite: BiteForce,
        clamp: EffortClamp,
        *,
        external: MeasuredWrenches | None = None,
        goal: Goal = 'torque',
        friction: bool = False,
        watch: LoadWatch | None = None,
        turn: ForceTurn | None = None,
    ):
        self._turn = turn or ForceTurn(JointReadings())
        self._external = external or MeasuredWrenches(mechanism)
        # Default arguments are left out: the compiled code then does everything by itself.
        plain = goal == 'torque' and not friction
        self._options: dict[str, Any] = {} if plain else {'goal': goal, 'friction': friction}
        solver = mechanism.solver
        self._kind = solver.least_norm if plain else solver.distribution(goal, friction)
        inputs = 3 * len(mechanism.independent) + 6
        code = self._kind.code
        self._code = RowInPlace(code, inputs) if code.covers(np.zeros(inputs)) else None
        self._watch = watch
        self._mechanism = mechanism
        self._motion = motion
        self._bite = bite
        self._clamp = clamp
        contacts = mechanism.description.contacts
        self._contact_chains = [FrameChain(mechanism, contact.frame) for contact in contacts]
        joints = mechanism.structure.tree.joints
        self._actuated_rows = mechanism.tree_indices(mechanism.actuated)
        self.joint_frames = tuple(joints[j].child for j in self._actuated_rows)
        self._joint_chains = [FrameChain(mechanism, frame) for frame in self.joint_frames]
        self._last_position, self._last_q = mechanism.home.y, mechanism.home.q
        self._ahead: Ahead | None = None
        self.failure = ''  # why the last failed cycle failed

    def prepare(self, time: int) -> CycleAnswer | None:
        """Compute what is already known of the cycle at a time (ns).

        Returns
        -------
        Answer or None
            What that cycle returns if no wrench is fresh and the motion stays the same; None if
            it has to compute.
        """
        self._ahead = None if self._turn.job else self._look_ahead(time)
        return None if self._ahead is None else self._ahead.answer

    def __call__(self, time: int) -> CycleAnswer:
        """Efforts at a time (ns).

        A motion that cannot be evaluated, which the check before its start should have found,
        stops where it last could be.
        """
        job = self._turn.job
        if job is not None:
            answer = self._pressed(job, time)
            if answer is not None:
                return answer
        ahead = self._ahead
        if ahead is None or ahead.basis != self._basis(time):
            ahead = self._look_ahead(time)
        loads = self._loads(time)
        if loads is None and ahead.answer is not None:
            if ahead.cut:
                self._clamp.record(ahead.answer.effort.actuated, ahead.answer.actuated)
            self._last_position = ahead.state[0]
            return ahead.answer
        try:
            answer = self._answer(ahead, loads)
        except MasticatorError as error:
            self.failure = str(error)
            self._motion.hold(time, self._last_position)
            rest = np.zeros_like(self._last_position)
            answer = self._answer(Ahead((), (self._last_position, rest, rest)), None)
        else:
            self._last_position = ahead.state[0]
        return answer

    def _pressed(self, job: PressingJob, time: int) -> CycleAnswer | None:
        """What a job commands, or None where it has ended: its end is then held.

        The wanted force takes the place of a measured bite force.
        """
        try:
            state, wrench = job.step(
                self._mechanism, time, self._bite, self._turn.joints, self._last_q
            )
            ask = functools.partial(self._mechanism.feedforward, *state, wrench, **self._options)
            effort = self._within_limits(ask)
        except MasticatorError as error:
            self.failure = str(error)
            job.law.end(Reason.NO_WAY, str(error), math.nan)
            self._motion.hold(time, self._last_position)
            self._turn.end(job)
            return None
        sent = self._clamp(effort.actuated)
        job.look_at(effort.actuated, sent, self._clamp.scale * self._mechanism.effort_limits)
        self._last_position, self._last_q = state[0], effort.q
        if job.law.state is ForceState.DONE:
            self._motion.hold(time, state[0])
            self._turn.end(job)
        return CycleAnswer(effort, sent, effort.position, effort.velocity, state)

    def stop_pressing(self, time: int) -> None:
        """From a time (ns) on hold the pose of the last cycle, if something pressed in it."""
        job = self._turn.job
        if job is not None:
            self._motion.hold(time, self._last_position)
            self._turn.end(job)

    def external_effort(self, answer: CycleAnswer) -> FloatArray:
        """Share (n_u,) of the wrenches in the efforts that may be sent; mostly known already."""
        if answer.loaded is None:
            return np.zeros_like(answer.actuated)
        free = self._unloaded(answer.loaded) if answer.free is None else answer.free
        return answer.actuated - free

    def hold_if_moving(self, last: int, time: int, reason: str) -> bool:
        """From a time (ns) on hold the pose of the last cycle, if anything has moved since then.

        Parameters
        ----------
        last : int
            Time of the last cycle, ns.
        time : int
            When the hold begins, ns.
        reason : str
            What is reported as the failure.
        """
        if self._motion.settled(last):
            return False
        self.failure = reason
        self._motion.hold(time, self._last_position)
        return True

    def contact_forces(self, effort: Effort) -> list[FloatArray]:
        """Force (3,) of each socket on the platform, friction included, axes of its frame, N."""
        if not self._contact_chains:
            return []
        bodies = self._contact_chains[0].bodies(effort.q)
        return [
            chain.at(bodies)[1].T @ (force + rubbing)
            for chain, force, rubbing in zip(
                self._contact_chains,
                effort.contact_force,
                effort.contact_friction,
                strict=True,
            )
        ]

    def joint_forces(self, effort: Effort) -> list[FloatArray]:
        """Force and torque (6,) of each actuated joint's parent link on its child link.

        In N and N m, axes of the child link's frame, torque about its origin. Some tenths of a
        millisecond.
        """
        reactions, bodies = effort.joint_reaction, self._joint_chains[0].bodies(effort.q)
        return [
            (reactions[row].reshape(2, 3) @ chain.at(bodies)[1]).reshape(6)
            for row, chain in zip(self._actuated_rows, self._joint_chains, strict=True)
        ]

    def _basis(self, time: int) -> tuple[object, ...]:
        """What everything computed ahead depends on: objects that are replaced, never modified."""
        return time, self._motion.schedule, self._clamp.scale

    def _look_ahead(self, time: int) -> Ahead:
        """Everything that needs no measured wrench; what fails is left to the cycle itself."""
        basis, state = self._basis(time), self._motion.state(time)
        if self._watch is not None:  # its limits may be replaced, and it keeps count
            return Ahead(basis, state)
        try:
            effort = self._whole_effort(state)
        except MasticatorError:
            return Ahead(basis, state)
        wanted, bite = effort.actuated, self._bite.fresh(time)
        inside = self._clamp.inside(wanted)
        answer = CycleAnswer(effort, inside, effort.position, effort.velocity)
        return Ahead(
            basis, state, answer, self._clamp.cuts(wanted, inside),
            None if bite is None else self._bite.transport(bite.frame, effort),
        )  # fmt: skip

    def _whole_effort(self, state: State) -> Effort:
        """Efforts without wrenches, and the joints: `feedforward` would compute these later."""
        code = self._code
        if code is None:
            return self._effort(state, None)
        np.concatenate(state, out=code.inputs[:-6])
        outputs = code()
        if outputs[0] != 1.0:
            return self._effort(state, None)
        return Effort(self._mechanism, code.inputs.copy(), outputs[1:], self._kind.slices)

    def _answer(self, ahead: Ahead, loads: Loads | None) -> CycleAnswer:
        """The answer with what has been measured since."""
        free, state = ahead.answer, ahead.state
        loaded = None if loads is None else state
        if loads is None or loads.bite is None or loads.others or free is None:
            effort = self._within_limits(functools.partial(self._effort, state, loads))
        else:
            wrench = self._bite.on_platform(loads.bite, free.effort, ahead.transport)
            effort = self._mechanism.feedforward(*state, wrench, **self._options)
        sent = self._clamp(effort.actuated)
        if free is None:
            return CycleAnswer(effort, sent, effort.position, effort.velocity, loaded)
        return CycleAnswer(effort, sent, free.position, free.velocity, loaded, free.actuated)

    def _loads(self, time: int) -> Loads | None:
        """Wrenches that are fresh at a time (ns); None if there are none."""
        bite, others = self._bite.fresh(time), self._external.all_fresh(time)
        return Loads(bite, others) if bite or others else None

    def _within_limits(self, ask: Callable[..., Effort], *, noted: bool = True) -> Effort:
        """Efforts within the watched limits, if any; if nothing keeps them, the clamp decides."""
        watch = self._watch
        if watch is None:
            return ask()
        try:
            effort = ask(limits=watch.limits, nearest=True)
        except LimitError as error:
            if noted:
                watch.fail(str(error))
            return ask()
        if noted:
            watch.take(effort)
        return effort

    def _unloaded(self, state: State) -> FloatArray:
        """Efforts (n_u,) that would be sent without external wrenches."""
        ask = functools.partial(self._effort, state, None)
        return self._clamp.inside(self._within_limits(ask, noted=False).actuated)

    def _effort(self, state: State, loads: Loads | None, **limited: Any) -> Effort:
        y, y_dot, y_ddot = state
        if loads is None:
            return self._mechanism.feedforward(y, y_dot, y_ddot, **self._options, **limited)
        motion = self._mechanism.solve(y, y_dot, y_ddot)
        wrench = self._bite.on_platform(loads.bite, motion) if loads.bite else None
        links = self._external.on_links(loads.others, motion.q)
        return self._mechanism.inverse_dynamics(
            motion, wrench, link_wrenches=links, **self._options, **limited
        )
