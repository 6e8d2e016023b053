# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a recorded pass should have been, and how far off it was.

Judged in two ways that fail differently. The *expectation* evaluates the played motion and the bite
forces sent at the stamps that came back: it detects a node that interpolates, times, transforms or
forwards wrongly. The *energy balance* (``link_motion.py``) uses the masses in the URDF, and rotors,
gears and springs of the YAML file, instead of the engine's dynamics: what motors and food put in
must be what links, rotors and springs store. It is a balance of powers in every cycle, since
summing work over cycles would miss what torques do between them: at tooth contact they rise and
fall within a few milliseconds. Physics that is not judged here, such as the gap of a closure, is
asked of the engine.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.integrate import trapezoid

from masticator_dynamics.engine.arrays import FloatArray, rms
from masticator_dynamics.engine.evaluation.frames import FrameChain
from masticator_dynamics.engine.evaluation.results import Effort
from masticator_dynamics.files.joint_series import ForceSeries
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.motion_rows import rows_at
from masticator_dynamics.robot.acceptance.link_motion import LinkMotion
from masticator_dynamics.robot.recording import topics
from masticator_dynamics.robot.recording.record import Record
from masticator_dynamics.robot.recording.script import Script, wrenches_of_forces

CLOSURE_STEP = 0.01  # s between measured angles that are fitted
PEAK_STEP = 1e-4  # s; at tooth contact torques change within a millisecond or two
LIMITED_STEP = 1e-3  # s; efforts chosen within limits take a hundred times as long to compute
_EXPLAINED = 1e-8  # N m or N; far below what is judged, and above rounding
# s; if it were as long as a burst of force, an ignored one could pass for one not yet seen.
_OLDEST_BITE = 0.1
_LEAST_WORK = 1e-6  # J; a recording may be of a jaw that does not move
_CHUNK = 2000  # rows whose links or efforts are held in memory at once
_STEP = 1e-6  # s, to either side, for the rate of energy


@dataclasses.dataclass(frozen=True)
class Bite:
    """Which bite force explains each of N efforts, of those sent around then."""

    force: FloatArray  # (N, 3), N, axes of the bite frame
    age: FloatArray  # (N,), how long before the effort's stamp it was sent, s
    error: FloatArray  # (N,), largest difference that remains, N m or N


@dataclasses.dataclass(frozen=True)
class Peaks:
    """Largest magnitudes of the torques (n_u,), and ranges of the contacts' forces (n_c,)."""

    torque: FloatArray
    lowest: FloatArray
    highest: FloatArray

    def including(self, torque: FloatArray, forces: FloatArray) -> Peaks:
        """These peaks extended by torques (N, n_u) and normal forces (N, n_c)."""
        return Peaks(
            np.maximum(self.torque, np.abs(torque).max(axis=0)),
            np.minimum(self.lowest, forces.min(axis=0)),
            np.maximum(self.highest, forces.max(axis=0)),
        )


@dataclasses.dataclass(frozen=True)
class Tracking:
    """How a motion was followed in closed loop; K rows of the true joint states during it."""

    time: FloatArray  # (K,): from the start of the motion, s
    # (K, 3): incisor, m, base axes.
    commanded: FloatArray
    actual: FloatArray
    # (M,): largest gap of the loops when the measured angles are fitted, m.
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

    @property
    def effort_unit(self) -> str:
        """Of the motors' efforts: N m, N, or both."""
        return ' or '.join(dict.fromkeys(self.mechanism.effort_units))

    @property
    def position_units(self) -> tuple[str, str]:
        """Of the actuated joints' positions and velocities: rad and rad/s, m and m/s, or both."""
        joints = {joint.name: joint.unit for joint in self.mechanism.structure.tree.joints}
        units = dict.fromkeys(joints[name] for name in self.mechanism.actuated)
        return ' or '.join(units), ' or '.join(f'{unit}/s' for unit in units)

    @cached_property
    def _rows(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Independent positions, velocities and accelerations (N, n_y) that were played."""
        return self.script.path.sample(self.state.stamps)

    @cached_property
    def _expected(self) -> Effort:
        """The played motion, without bite force."""
        return self.mechanism.feedforward_batch(*self._rows, **self.script.effort_options)

    @cached_property
    def _sent_back(self) -> FloatArray:
        """Efforts (N, n_u) that the node answered with."""
        return self.state.effort[:, self.state.columns(self.mechanism.actuated)]

    @cached_property
    def bite(self) -> Bite:
        """Bite force with the least difference from the effort.

        Which of the last messages a cycle used cannot be known from outside, but it must be one
        sent before the answer was received, as a late cycle is stamped with its due time, and
        either the last one before the stamp or one not much older.
        """
        state, sent, count = self.state, self.record.bite, len(self.state.stamps)
        bite = Bite(np.zeros((count, 3)), np.zeros(count), np.full(count, np.inf))
        last = np.searchsorted(sent.stamps, state.received, side='right') - 1
        previous = np.searchsorted(sent.stamps, state.stamps, side='right') - 1
        first = np.minimum(np.searchsorted(sent.stamps, state.stamps - _OLDEST_BITE), previous)
        for back in range(int((last - first).max()) + 2):
            # Before the first message there is no force: index -1 stands for it.
            index = np.maximum(last - back, -1)
            rows = np.flatnonzero((index >= first - 1) & (bite.error > _EXPLAINED))
            if not len(rows):
                continue
            force = _force(sent, index[rows])
            difference = self._loaded(force, rows).actuated - self._sent_back[rows]
            error = np.abs(difference).max(axis=1)
            # Equal consecutive forces explain a cycle equally well: the newest is taken.
            better = error < bite.error[rows] * 0.999
            rows = rows[better]
            bite.error[rows], bite.force[rows] = error[better], force[better]
            bite.age[rows] = (state.stamps - sent.stamps[index])[rows]
        return bite

    def _loaded(self, force: FloatArray, rows: npt.NDArray[np.intp]) -> Effort:
        """Rows of the played motion with bite forces (len(rows), 3) in the bite frame, N."""
        mechanism, frame = self.mechanism, self.record.bite.frame
        wrench = wrenches_of_forces(mechanism, self._expected.q[rows], frame, force)
        y, y_dot, y_ddot = (part[rows] for part in self._rows)
        return mechanism.feedforward_batch(y, y_dot, y_ddot, wrench, **self.script.effort_options)

    @property
    def latency(self) -> float:
        """From the stamp of a cycle to its reception, s, the median."""
        return float(np.median(self.state.received - self.state.stamps))

    @property
    def bite_age(self) -> float:
        """Age of the bite forces that explain efforts, s, the median; 0 where there are none."""
        biting = (np.linalg.norm(self.bite.force, axis=1) > 0.0) & (self.bite.error <= _EXPLAINED)
        return float(np.median(self.bite.age[biting])) if biting.any() else 0.0

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
        # Of what is not a number, too; the built-in maximum would pass over it.
        largest = [float(np.max([np.abs(e).max() for e in both])) for both in (position, velocity)]
        return largest[0], largest[1]

    @cached_property
    def multipliers(self) -> FloatArray:
        """Multipliers (N, n_c) of the contacts' normals as written in the description, N."""
        series = self.record[topics.CONTACTS]
        effort = series.effort[:, series.columns(self.mechanism.contacts)]
        # The same stamps, unless recording began or ended between messages of a cycle.
        return rows_at(self.state.stamps, series.stamps, effort)

    @property
    def contact_forces(self) -> FloatArray:
        """Normal forces (N, n_c) of the contacts, N."""
        return self.multipliers * self._per_multiplier

    @cached_property
    def _per_multiplier(self) -> list[float]:
        return [c.force_per_multiplier for c in self.mechanism.description.contacts]

    @property
    def contact_error(self) -> float:
        """Largest difference from the expected contact multipliers, N."""
        published = np.isin(self.state.stamps, self.record[topics.CONTACTS].stamps)
        every = np.arange(len(published))
        away = np.abs(self.multipliers - self._loaded(self.bite.force, every).contact)
        return float(away[published].max(initial=0.0))

    @cached_property
    def links(self) -> LinkMotion:
        """Motion of all links (K), from `joint_states`."""
        joints = self.record[topics.JOINT_STATES]
        description = self.mechanism.description
        return LinkMotion(description, joints.names, joints.position, joints.velocity)

    @cached_property
    def gap(self) -> FloatArray:
        """Largest gap (K,) of a loop or contact in `joint_states`, as the engine has it, m or rad.

        Infinite where a position is not finite.
        """
        joints = self.record[topics.JOINT_STATES]
        q = joints.position[:, joints.columns(self.mechanism.tree_joints)]
        finite = np.isfinite(q).all(axis=1)
        gap = np.full(len(q), np.inf)
        gap[finite] = self.mechanism.largest_gap(q[finite])
        return gap

    @cached_property
    def peaks(self) -> Peaks:
        """Peaks that cycles every ``PEAK_STEP`` would have seen, and those of the cycles.

        With the last bite force sent before each.
        """
        mechanism, sent = self.mechanism, self.record.bite
        none = np.full(len(mechanism.contacts), np.inf)
        peaks = Peaks(np.zeros(len(mechanism.actuated)), none, -none)
        peaks = peaks.including(self._sent_back, self.contact_forces)
        step = LIMITED_STEP if self.script.limits else PEAK_STEP
        for times in _chunks(np.arange(0.0, self.script.duration, step)):
            rows = self.script.path.sample(times)
            q = mechanism.feedforward_batch(rows[0]).q
            wrench = wrenches_of_forces(mechanism, q, sent.frame, force_before(sent, times))
            effort = mechanism.feedforward_batch(*rows, wrench, **self.script.effort_options)
            peaks = peaks.including(effort.actuated, effort.contact * self._per_multiplier)
        return peaks

    @cached_property
    def energy_error(self) -> float:
        """Energy unaccounted for, relative to that which went through the motors.

        Integral of the absolute difference between the power that motors and food put in and the
        rate at which the energy of links, rotors and springs changes. Efforts are those of the
        motors, which move ``ratio`` times as fast as their joints.
        """
        stamps = self.state.stamps
        speed = self.state.velocity[:, self.state.columns(self.mechanism.actuated)]
        actuators = self.mechanism.description.actuators
        ratios = [actuators[name].ratio for name in self.mechanism.actuated]
        motors = np.einsum('ni,ni,i->n', self._sent_back, speed, np.array(ratios))
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
        """Rate (N,) at which the stored energy changes along the played motion, W."""
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
    """A demo: what was recorded, and on what."""

    forward: Pass  # with feedforward efforts
    rate: float  # requested cycles per second of node `dynamics` alone, or of the drives, Hz
    food: str = ''  # what was bitten in closed loop; empty with the dynamics node alone
    alone: Pass | None = None  # with PD control alone

    @property
    def closed_loop(self) -> bool:
        """Whether drives, mechanism and food took part, or the dynamics node alone."""
        return bool(self.food)

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
