# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a recorded pass should have been, and how far off it was.

Judged in two ways that fail differently. The *expectation* evaluates the played motion and the bite
forces sent at the stamps that came back: it detects a node that interpolates, times, transforms or
forwards wrongly. The *energy balance* uses the masses in the URDF instead of the engine's dynamics:
the energy that motors and food put in must be that of the links. It is a balance of powers in every
cycle, since summing work over cycles would miss what torques do between them: at tooth contact they
rise and fall within a few milliseconds. Where links are and how they move then follows from URDF
and joint states alone: only the parsed URDF is shared with the engine, which is what is judged.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.integrate import trapezoid
from scipy.spatial.transform import Rotation

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray, rms
from masticator_dynamics.engine.evaluation.frames import FrameChain, wrenches_on_platform
from masticator_dynamics.engine.evaluation.results import Effort
from masticator_dynamics.files.joint_series import ForceSeries
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.recording import topics
from masticator_dynamics.robot.recording.record import Record
from masticator_dynamics.robot.recording.script import Script


class LinkMotion:
    """Poses and twists of all links for N joint states.

    Parameters
    ----------
    description : MechanismDescription
    names : sequence of str
        Joints, the columns of the rows; all moving joints must be there.
    position, velocity : (N, n) array
        rad or m, and their rates.

    Attributes
    ----------
    origin, rotation, velocity, angular : dict of arrays
        By link: origin (N, 3) in m and rotation (N, 3, 3) in the base, linear velocity (N, 3) of
        the origin and angular velocity (N, 3) in base axes.
    """

    def __init__(
        self,
        description: MechanismDescription,
        names: Sequence[str],
        position: FloatArray,
        velocity: FloatArray,
    ):
        self.description = description
        count, base = len(position), description.base
        self.origin = {base: np.zeros((count, 3))}
        self.rotation = {base: np.tile(np.eye(3), (count, 1, 1))}
        self.velocity = {base: np.zeros((count, 3))}
        self.angular = {base: np.zeros((count, 3))}
        for joint in description.tree.joints:
            parent, child = joint.parent, joint.child
            arm = self.rotation[parent] @ joint.position
            rotation = self.rotation[parent] @ joint.rotation
            angular = self.angular[parent]
            slide = np.zeros((count, 3))
            if joint.type != 'fixed':
                column = list(names).index(joint.name)
                axis = rotation @ joint.axis
                rate = velocity[:, column, None] * axis
                if joint.type == 'prismatic':
                    arm = arm + position[:, column, None] * axis
                    slide = rate
                else:
                    turns = Rotation.from_rotvec(position[:, column, None] * joint.axis)
                    rotation = rotation @ turns.as_matrix()
                    angular = angular + rate
            self.origin[child] = self.origin[parent] + arm
            self.rotation[child] = rotation
            self.angular[child] = angular
            self.velocity[child] = (
                self.velocity[parent] + np.cross(self.angular[parent], arm) + slide
            )

    def energy(self) -> FloatArray:
        """Kinetic and potential energy (N,) of all links, J."""
        total = np.zeros(len(self.origin[self.description.base]))
        gravity = np.array(self.description.gravity)
        for link, body in self.description.tree.links.items():
            rotation, angular = self.rotation[link], self.angular[link]
            arm = rotation @ body.center_of_mass
            speed = self.velocity[link] + np.cross(angular, arm)
            spin = np.einsum('nji,nj->ni', rotation, angular)
            total += 0.5 * body.mass * np.einsum('ni,ni->n', speed, speed)
            total += 0.5 * np.einsum('ni,ij,nj->n', spin, body.about_center, spin)
            total -= body.mass * (self.origin[link] + arm) @ gravity
        return total

    def largest_gap(self) -> FloatArray:
        """Largest distance (N,) by which a closure is open or a contact off its plane, m."""
        gaps = [
            np.linalg.norm(self.origin[one] - self.origin[two], axis=1)
            for one, two in (closure.frames for closure in self.description.closures)
        ]
        for contact in self.description.contacts:
            height = self.origin[contact.frame] @ np.array(contact.normal) + contact.offset
            gaps.append(np.abs(height) / np.linalg.norm(contact.normal))
        return np.max(gaps, axis=0)


CLOSURE_STEP = 0.01  # s between measured angles that are fitted
PEAK_STEP = 1e-4  # s; at tooth contact torques change within a millisecond or two
# s; if it were as long as a burst of force, an ignored one could pass for one not yet seen.
_OLDEST_BITE = 0.1
_LEAST_WORK = 1e-6  # J; a recording may be of a jaw that does not move
_CHUNK = 2000  # rows whose links or efforts are held in memory at once
_STEP = 1e-6  # s, to either side, for the rate of energy


@dataclasses.dataclass(frozen=True)
class Bite:
    """Which bite force explains each of N efforts, of those sent around then.

    Attributes
    ----------
    force : (N, 3) array
        N, axes of the bite frame.
    age : (N,) array
        How long before the effort's stamp it was sent, s.
    error : (N,) array
        Largest difference that remains, N m or N.
    """

    force: FloatArray
    age: FloatArray
    error: FloatArray


@dataclasses.dataclass(frozen=True)
class Peaks:
    """Largest magnitudes of the torques (n_u,), and ranges of the contact multipliers (n_c,)."""

    torque: FloatArray
    lowest: FloatArray
    highest: FloatArray

    def including(self, torque: FloatArray, multipliers: FloatArray) -> Peaks:
        """These peaks extended by torques (N, n_u) and multipliers (N, n_c)."""
        return Peaks(
            np.maximum(self.torque, np.abs(torque).max(axis=0)),
            np.minimum(self.lowest, multipliers.min(axis=0)),
            np.maximum(self.highest, multipliers.max(axis=0)),
        )


@dataclasses.dataclass(frozen=True)
class Tracking:
    """How a motion was followed in closed loop; K rows of the true joint states during it.

    Attributes
    ----------
    time : (K,) array
        From the start of the motion, s.
    commanded, actual : (K, 3) array
        Incisor, m, base axes.
    closure_time, closure : (M,) array
        Largest gap of the loops when the measured angles are fitted, m.
    """

    time: FloatArray
    commanded: FloatArray
    actual: FloatArray
    closure_time: FloatArray
    closure: FloatArray

    @property
    def error(self) -> FloatArray:
        """Distance (K,) of the incisor from its commanded position at that time, m."""
        return np.asarray(np.linalg.norm(self.actual - self.commanded, axis=1))

    @property
    def rms(self) -> float:
        """RMS of the error, m."""
        return rms(self.error)

    @property
    def largest(self) -> float:
        """Largest error, m."""
        return float(self.error.max())


class Pass:
    """A recorded pass beside what was played; N rows are those of `feedforward_state`.

    All that follows from the record is computed when it is first used.

    Parameters
    ----------
    mechanism, script, record
        What moved, what was played, what was received.
    """

    def __init__(self, mechanism: Mechanism, script: Script, record: Record):
        self.mechanism, self.script, self.record = mechanism, script, record
        self.state = record[topics.STATE]

    @cached_property
    def _rows(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Independent positions, velocities and accelerations (N, n_y) that were played."""
        return self.script.path.sample(self.state.stamps)

    @cached_property
    def _expected(self) -> Effort:
        """The played motion, without bite force."""
        return self.mechanism.feedforward_batch(*self._rows)

    @cached_property
    def bite(self) -> Bite:
        """Bite force with the least difference from the effort.

        Which of the last messages a cycle used cannot be known from outside, but it must be one
        sent before the answer was received, as a late cycle is stamped with its due time, and
        either the last one before the stamp or one not much older.
        """
        state, sent = self.state, self.record.bite
        free = self._expected.actuated
        difference = free - state.effort[:, state.columns(self.mechanism.actuated)]
        units = [np.tile(axis, (len(free), 1)) for axis in np.eye(3)]
        per_newton = np.stack([self._loaded(unit).actuated - free for unit in units], axis=1)
        found = Bite(np.zeros((len(free), 3)), np.zeros(len(free)), np.full(len(free), np.inf))
        last = np.searchsorted(sent.stamps, state.received, side='right') - 1
        previous = np.searchsorted(sent.stamps, state.stamps, side='right') - 1
        first = np.minimum(np.searchsorted(sent.stamps, state.stamps - _OLDEST_BITE), previous)
        for back in range(int((last - first).max()) + 2):
            # Before the first message there is no force: index -1 stands for it.
            index = np.maximum(last - back, -1)
            force = _force(sent, index)
            error = np.abs(difference + np.einsum('ni,nij->nj', force, per_newton)).max(axis=1)
            # Equal consecutive forces explain a cycle equally well: the newest is taken.
            better = (error < found.error * 0.999) & (index >= first - 1)
            found.error[better] = error[better]
            found.force[better] = force[better]
            found.age[better] = (state.stamps - sent.stamps[index])[better]
        return found

    def _loaded(self, force: FloatArray) -> Effort:
        """The played motion with bite forces (N, 3) in the bite frame, N."""
        wrench = _wrench_of_bite(self.mechanism, self._expected.q, self.record.bite, force)
        return self.mechanism.feedforward_batch(*self._rows, wrench)

    @cached_property
    def effort_error(self) -> float:
        """Largest difference from the efforts that motion and bite force need, N m or N."""
        return float(self.bite.error.max())

    # With the dynamics node alone

    @cached_property
    def motion_errors(self) -> tuple[float, float]:
        """Largest errors of position and velocity in both topics with joint states.

        Of an actuated joint in `feedforward_state`, and of any joint in `joint_states`; rad (m)
        and rad/s (m/s).
        """
        state, joints = self.state, self.record[topics.JOINT_STATES]
        actuated = state.columns(self.mechanism.actuated)
        all_joints = joints.columns(self.mechanism.tree_joints)
        whole = self.mechanism.feedforward_batch(*self.script.path.sample(joints.stamps))
        position = (
            state.position[:, actuated] - self._expected.position,
            joints.position[:, all_joints] - whole.q,
        )
        velocity = (
            state.velocity[:, actuated] - self._expected.velocity,
            joints.velocity[:, all_joints] - whole.v,
        )
        largest = [max(float(np.abs(one).max()) for one in both) for both in (position, velocity)]
        return largest[0], largest[1]

    @cached_property
    def multipliers(self) -> FloatArray:
        """Multipliers (N, n_c) of the contacts' normals as written in the description, N."""
        series = self.record[topics.CONTACTS]
        effort = series.effort[:, series.columns(self.mechanism.contacts)]
        # The same stamps, unless recording began or ended between messages of a cycle.
        columns = [np.interp(self.state.stamps, series.stamps, column) for column in effort.T]
        return np.array(columns).reshape(-1, len(self.state.stamps)).T

    @property
    def contact_error(self) -> float:
        """Largest difference from the expected contact multipliers, N."""
        known = np.isin(self.state.stamps, self.record[topics.CONTACTS].stamps)
        away = np.abs(self.multipliers - self._loaded(self.bite.force).contact)
        return float(away[known].max(initial=0.0))

    @cached_property
    def links(self) -> LinkMotion:
        """Motion of all links (K), from `joint_states`."""
        joints = self.record[topics.JOINT_STATES]
        description = self.mechanism.description
        return LinkMotion(description, joints.names, joints.position, joints.velocity)

    @cached_property
    def gap(self) -> FloatArray:
        """Largest gap (K,) of a loop or contact, m."""
        return self.links.largest_gap()

    @cached_property
    def peaks(self) -> Peaks:
        """Peaks that cycles every ``PEAK_STEP`` would have found, and those of the cycles.

        With the last bite force sent before each.
        """
        mechanism, sent = self.mechanism, self.record.bite
        none = np.full(len(mechanism.contacts), np.inf)
        effort = self.state.effort[:, self.state.columns(mechanism.actuated)]
        peaks = Peaks(np.zeros(len(mechanism.actuated)), none, -none)
        peaks = peaks.including(effort, self.multipliers)
        for times in _chunks(np.arange(0.0, self.script.duration, PEAK_STEP)):
            rows = self.script.path.sample(times)
            q = mechanism.feedforward_batch(rows[0]).q
            wrench = _wrench_of_bite(mechanism, q, sent, force_before(sent, times))
            found = mechanism.feedforward_batch(*rows, wrench)
            peaks = peaks.including(found.actuated, found.contact)
        return peaks

    @cached_property
    def energy_error(self) -> float:
        """Energy unaccounted for, relative to that which went through the motors.

        Integral of the absolute difference between the power that motors and food put in and the
        rate at which the links' energy changes.
        """
        stamps = self.state.stamps
        motors = np.einsum('ni,ni->n', self.state.effort, self.state.velocity)
        unaccounted = self._energy_rate() - motors - self._bite_power()
        throughput = float(trapezoid(np.abs(motors), stamps))
        return float(trapezoid(np.abs(unaccounted), stamps)) / max(throughput, _LEAST_WORK)

    def _bite_power(self) -> FloatArray:
        """Power (N,) of the bite forces, W."""
        frame, power = self.record.bite.frame, []
        for part in _chunks(np.arange(len(self.state.stamps))):
            links = self._links(self._expected.q[part], self._expected.v[part])
            force = np.einsum('nij,nj->ni', links.rotation[frame], self.bite.force[part])
            power.append(np.einsum('ni,ni->n', force, links.velocity[frame]))
        return np.concatenate(power)

    def _energy_rate(self) -> FloatArray:
        """Rate (N,) at which the links' energy changes along the played motion, W."""
        rates = []
        for times in _chunks(self.state.stamps):
            before, after = (self._energy(times + side * _STEP) for side in (-1.0, 1.0))
            rates.append((after - before) / (2.0 * _STEP))
        return np.concatenate(rates)

    def _energy(self, times: FloatArray) -> FloatArray:
        position, velocity, _ = self.script.path.sample(times)
        moving = self.mechanism.feedforward_batch(position, velocity)
        return self._links(moving.q, moving.v).energy()

    def _links(self, q: FloatArray, v: FloatArray) -> LinkMotion:
        return LinkMotion(self.mechanism.description, self.mechanism.tree_joints, q, v)

    # In closed loop

    @cached_property
    def tracking(self) -> Tracking:
        """How the drives followed the motion."""
        mechanism, duration = self.mechanism, self.script.duration
        truth = self.record[topics.TRUTH].during(duration)
        measured = self.record[topics.DRIVES].during(duration)
        rows = self.script.path.sample(truth.stamps)
        chain = FrameChain(mechanism, 'incisor')
        commanded, _ = chain.poses(mechanism.feedforward_batch(*rows).q)
        actual, _ = chain.poses(truth.position[:, truth.columns(mechanism.tree_joints)])
        every = max(1, round(CLOSURE_STEP * len(measured.stamps) / duration))
        angles = measured.position[::every, measured.columns(mechanism.actuated)]
        closure = mechanism.forward_kinematics_batch(angles, np.inf).closure_residual
        return Tracking(truth.stamps, commanded, actual, measured.stamps[::every], closure)


@dataclasses.dataclass(frozen=True)
class Run:
    """A demo: what was recorded, and on what.

    Attributes
    ----------
    forward : Pass
        With feedforward efforts.
    rate : float
        Requested cycles per second of node `dynamics` alone, or of the drives, Hz.
    food : str
        What was bitten in closed loop; empty with the dynamics node alone.
    alone : Pass, optional
        With PD control alone.
    """

    forward: Pass
    rate: float
    food: str = ''
    alone: Pass | None = None

    @property
    def passes(self) -> tuple[Pass, ...]:
        """One or both."""
        return (self.forward,) if self.alone is None else (self.forward, self.alone)


def force_before(sent: ForceSeries, times: FloatArray) -> FloatArray:
    """Last force (N, 3) sent before some times (N,), N; zero before the first."""
    return _force(sent, np.searchsorted(sent.stamps, times, side='right') - 1)


def _force(sent: ForceSeries, index: npt.NDArray[np.intp]) -> FloatArray:
    """Forces (N, 3) of messages by index (N,), N; zero for -1."""
    return np.where((index >= 0)[:, None], sent.force[index], 0.0)


def _chunks(values: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    return (values[first : first + _CHUNK] for first in range(0, len(values), _CHUNK))


def _wrench_of_bite(
    mechanism: Mechanism, q: FloatArray, sent: ForceSeries, force: FloatArray
) -> FloatArray:
    """Wrenches (N, 6) on the platform due to forces (N, 3) in the frame of a series.

    Parameters
    ----------
    mechanism : Mechanism
        On whose platform the wrench acts.
    q : (N, n_q) array
        Tree positions, m and rad.
    sent : ForceSeries
        Its frame is that of the forces.
    force : (N, 3) array
        N, at the frame's origin and along its axes.
    """
    wrenches = np.hstack([force, np.zeros_like(force)])
    return wrenches_on_platform(mechanism, q, wrenches, axes=sent.frame, point=sent.frame)
