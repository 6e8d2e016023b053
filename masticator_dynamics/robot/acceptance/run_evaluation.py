# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a recorded run should have been, and how far off it was.

Judged in two ways that fail differently. The *expectation* evaluates the played motion and the bite
forces sent at the stamps that came back: it detects a node that interpolates, times, transforms or
forwards wrongly. The *energy balance* uses the masses in the URDF instead of the engine's dynamics:
the energy that motors and food put in must be that of the links. It is a balance of powers in every
cycle, since summing work over cycles would miss what torques do between them: at tooth contact they
rise and fall within a few milliseconds.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.integrate import trapezoid

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.evaluation.results import Effort
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.acceptance.link_motion import LinkMotion
from masticator_dynamics.robot.acceptance.peaks import Peaks, peaks_between_cycles, wrench_of_bite
from masticator_dynamics.robot.recording.record import ForceSeries, JointSeries, Record
from masticator_dynamics.robot.recording.script import Script

# s; if it were as long as a burst of force, an ignored one could pass for one not yet seen.
_OLDEST_BITE = 0.1
_LEAST_WORK = 1e-6  # J; a recording may be of a jaw that does not move
_CHUNK = 2000  # rows whose links are held in memory at once
_STEP = 1e-6  # s, to either side, for the rate of energy


@dataclasses.dataclass(frozen=True)
class RunEvaluation:
    """Everything derived from a record; N rows of `feedforward_state`, K of joint states.

    Attributes
    ----------
    mechanism, script, record
        What moved, what was played, what was received.
    position_error, velocity_error : float
        Largest distance of an actuated joint in any row, and of any joint in a joint state, from
        the played motion, rad (m) and rad/s (m/s).
    effort_error : float
        Largest difference from the expected effort, N m or N.
    contact_error : float
        Largest difference from the expected contact multipliers, N.
    bite : (N, 3) array
        Of the forces sent around then, the one that fits each row's efforts best; axes of the
        bite frame.
    bite_age : (N,) array
        How long before the row's stamp it was sent, s.
    links : LinkMotion
        From `joint_states` (K).
    gap : (K,) array
        Largest gap of a loop or contact, m.
    contacts : dict of (N,) arrays
        Multiplier of each contact's normal as written in the description, N.
    peaks : Peaks
        Including those between cycles.
    unaccounted : float
        Integral of the absolute difference between the power that motors and food put in and the
        rate at which the links' energy changes, J.
    throughput : float
        Integral of the absolute power of the motors, J.
    """

    mechanism: Mechanism
    script: Script
    record: Record
    position_error: float
    velocity_error: float
    effort_error: float
    contact_error: float
    bite: FloatArray
    bite_age: FloatArray
    links: LinkMotion
    gap: FloatArray
    contacts: dict[str, FloatArray]
    peaks: Peaks
    unaccounted: float
    throughput: float

    @property
    def energy_error(self) -> float:
        """Unaccounted energy, relative to the energy that went through the motors."""
        return self.unaccounted / max(self.throughput, _LEAST_WORK)


def evaluate(mechanism: Mechanism, script: Script, record: Record) -> RunEvaluation:
    """Compare a record with what was played.

    Parameters
    ----------
    mechanism, script, record
        What moved, what was played, what was received.
    """
    state, joints = record.state, record.joints
    rows = script.path.sample(state.stamps)
    expected = mechanism.feedforward_batch(*rows)
    position, velocity = _motion_errors(mechanism, script, record, expected)
    error, bite, age = fit_bite(mechanism, state, record.bite, rows, expected)
    wrench = wrench_of_bite(mechanism, expected.q, record.bite, bite)
    loaded = mechanism.feedforward_batch(*rows, wrench).contact
    multipliers = _multipliers(mechanism, record)
    known = np.isin(state.stamps, record.multipliers.stamps)
    bite_power = _bite_power(mechanism, record.bite.frame, expected, bite)
    motor_power = np.einsum('ni,ni->n', state.effort, state.velocity)
    links = LinkMotion(mechanism.description, joints.names, joints.position, joints.velocity)
    return RunEvaluation(
        mechanism=mechanism,
        script=script,
        record=record,
        position_error=position,
        velocity_error=velocity,
        effort_error=float(error.max()),
        contact_error=float(np.abs(multipliers - loaded)[known].max(initial=0.0)),
        bite=bite,
        bite_age=age,
        links=links,
        gap=links.largest_gap(),
        contacts=dict(zip(mechanism.contacts, multipliers.T, strict=True)),
        peaks=peaks_between_cycles(mechanism, script, record.bite).including(
            state.effort[:, state.columns(mechanism.actuated)], multipliers
        ),
        unaccounted=float(
            trapezoid(
                np.abs(_energy_rate(mechanism, script, state.stamps) - motor_power - bite_power),
                state.stamps,
            )
        ),
        throughput=float(trapezoid(np.abs(motor_power), state.stamps)),
    )


def _motion_errors(
    mechanism: Mechanism, script: Script, record: Record, expected: Effort
) -> tuple[float, float]:
    """Largest errors of position and velocity in both topics with joint states."""
    state, joints = record.state, record.joints
    actuated = state.columns(mechanism.actuated)
    all_joints = joints.columns(mechanism.tree_joints)
    whole = mechanism.feedforward_batch(*script.path.sample(joints.stamps))
    position = (
        state.position[:, actuated] - expected.position,
        joints.position[:, all_joints] - whole.q,
    )
    velocity = (
        state.velocity[:, actuated] - expected.velocity,
        joints.velocity[:, all_joints] - whole.v,
    )
    largest = [max(float(np.abs(part).max()) for part in parts) for parts in (position, velocity)]
    return largest[0], largest[1]


def fit_bite(
    mechanism: Mechanism,
    state: JointSeries,
    sent: ForceSeries,
    rows: tuple[FloatArray, FloatArray, FloatArray],
    expected: Effort,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Least difference from the effort for any recent bite force; that force; its age.

    Which of the last messages a cycle used cannot be known from outside, but it must be one sent
    before the answer was received, as a late cycle is stamped with its due time, and either the
    last one before the stamp or one not much older.
    Efforts are linear in the force; `expected` are those without.

    Parameters
    ----------
    mechanism : Mechanism
        What moved.
    state : JointSeries
        Received efforts, N rows.
    sent : ForceSeries
        Sent bite forces.
    rows : tuple of (N, n_y) array
        Independent positions, velocities and accelerations at the rows' stamps.
    expected : Effort
        Efforts of these rows without bite force.
    """
    free = expected.actuated
    measured = state.effort[:, state.columns(mechanism.actuated)]
    per_newton = np.empty((len(free), 3, free.shape[1]))
    for axis in range(3):
        unit = np.zeros((len(free), 3))
        unit[:, axis] = 1.0
        wrenches = wrench_of_bite(mechanism, expected.q, sent, unit)
        per_newton[:, axis] = mechanism.feedforward_batch(*rows, wrenches).actuated - free
    error = np.full(len(free), np.inf)
    bite, age = np.zeros((len(free), 3)), np.zeros(len(free))
    last = np.searchsorted(sent.stamps, state.received, side='right') - 1
    previous = np.searchsorted(sent.stamps, state.stamps, side='right') - 1
    first = np.minimum(np.searchsorted(sent.stamps, state.stamps - _OLDEST_BITE), previous)
    for back in range(int((last - first).max()) + 2):
        # Before the first message there is no force: index -1 stands for it.
        index = np.maximum(last - back, -1)
        force = np.where((index >= 0)[:, None], sent.force[index], 0.0)
        difference = free + np.einsum('ni,nij->nj', force, per_newton) - measured
        candidate = np.abs(difference).max(axis=1)
        # Equal consecutive forces explain a cycle equally well: the newest is taken.
        better = (candidate < error * 0.999) & (index >= first - 1)
        error[better] = candidate[better]
        bite[better] = force[better]
        age[better] = (state.stamps - sent.stamps[index])[better]
    return error, bite, age


def _multipliers(mechanism: Mechanism, record: Record) -> FloatArray:
    """Contact multipliers (N, n_c) at the stamps of `feedforward_state`."""
    series, stamps = record.multipliers, record.state.stamps
    effort = series.effort[:, series.columns(mechanism.contacts)]
    # The same stamps, except that recording may have begun or ended between messages of a cycle.
    columns = [np.interp(stamps, series.stamps, column) for column in effort.T]
    return np.array(columns).reshape(-1, len(stamps)).T


def _bite_power(mechanism: Mechanism, frame: str, expected: Effort, bite: FloatArray) -> FloatArray:
    """Power (N,) of forces at a frame, in its axes, W."""
    power = []
    for start in range(0, len(bite), _CHUNK):
        part = slice(start, start + _CHUNK)
        links = LinkMotion(
            mechanism.description, mechanism.tree_joints, expected.q[part], expected.v[part]
        )
        force = np.einsum('nij,nj->ni', links.rotation[frame], bite[part])
        power.append(np.einsum('ni,ni->n', force, links.velocity[frame]))
    return np.concatenate(power)


def _energy_rate(mechanism: Mechanism, script: Script, times: FloatArray) -> FloatArray:
    """Rate (N,) at which the links' energy changes along the played motion, W."""
    rates = []
    for start in range(0, len(times), _CHUNK):
        part = times[start : start + _CHUNK]
        before, after = (_energy(mechanism, script, part + side * _STEP) for side in (-1.0, 1.0))
        rates.append((after - before) / (2.0 * _STEP))
    return np.concatenate(rates)


def _energy(mechanism: Mechanism, script: Script, times: FloatArray) -> FloatArray:
    position, velocity, _ = script.path.sample(times)
    moving = mechanism.feedforward_batch(position, velocity)
    links = LinkMotion(mechanism.description, mechanism.tree_joints, moving.q, moving.v)
    return links.energy()
