# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a recorded run should have been, and how far it was off.

Two ways, because they can fail differently. The *expectation* evaluates the played motion and the
bite forces sent at the stamps that came back: it sees a node that interpolates, times, transforms
or forwards wrongly. The *energy balance* does not use the engine's dynamics but the masses in the
URDF: what the motors and the food put in must be what the links hold.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.integrate import cumulative_trapezoid, trapezoid

from masticator_dynamics.demo.link_motion import LinkMotion
from masticator_dynamics.demo.record import ForceSeries, JointSeries, Record
from masticator_dynamics.demo.script import Script
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.frames import wrenches_on_platform
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.results import Effort

# s; were it as long as a burst of force, one that was ignored could pass for one not seen yet.
_OLDEST_BITE = 0.1
_LEAST_WORK = 1e-6  # J; a recording may be one of a jaw that does not move
_CHUNK = 2000  # rows whose links are held in memory at once


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Everything that is derived from a record; N rows of `feedforward_state`, K of joint states.

    Attributes
    ----------
    position_error, velocity_error : float
        Largest distance of an actuated joint in any row, and of any joint in a joint state, from
        the played motion, rad (m) and rad/s (m/s).
    effort_error : float
        Largest difference from the expected effort, N m or N.
    bite : (N, 3) array
        Force that each row's efforts fit best, of those sent around then; axes of the bite frame.
    bite_age : (N,) array
        How long before the row's stamp it was sent, s.
    links : LinkMotion
        From `joint_states` (K).
    gap : (K,) array
        Largest gap of a loop or contact, m.
    contacts : dict of (N,) arrays
        Multiplier of each contact's normal as written in the description, N, between messages.
    energy, work : (N,) array
        Held by the links, and put in by motors and food, since the first row, J.
    throughput : float
        Integral of the absolute power of the motors, J.
    """

    position_error: float
    velocity_error: float
    effort_error: float
    bite: FloatArray
    bite_age: FloatArray
    links: LinkMotion
    gap: FloatArray
    contacts: dict[str, FloatArray]
    energy: FloatArray
    work: FloatArray
    throughput: float

    @property
    def energy_error(self) -> float:
        """Largest energy that is unaccounted for, relative to what went through the motors."""
        unaccounted = float(np.abs(self.energy - self.work).max())
        return unaccounted / max(self.throughput, _LEAST_WORK)


def evaluate(mechanism: Mechanism, script: Script, record: Record) -> Evaluation:
    """Compare a record with what was played."""
    state, joints = record.state, record.joints
    rows = script.path.sample(state.stamps)
    expected = mechanism.feedforward_batch(*rows)
    position, velocity = _motion_errors(mechanism, script, record, expected)
    error, bite, age = fit_bite(mechanism, state, record.bite, rows, expected)
    energy, bite_power = _energy_and_bite_power(mechanism, record.bite.frame, expected, bite)
    motor_power = np.einsum('ni,ni->n', state.effort, state.velocity)
    links = LinkMotion(mechanism.description, joints.names, joints.position, joints.velocity)
    return Evaluation(
        position_error=position,
        velocity_error=velocity,
        effort_error=float(error.max()),
        bite=bite,
        bite_age=age,
        links=links,
        gap=links.largest_gap(),
        contacts=_multipliers(mechanism, record, links),
        energy=energy - energy[0],
        work=cumulative_trapezoid(motor_power + bite_power, state.stamps, initial=0.0),
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
    rows: tuple[FloatArray, ...],
    expected: Effort,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Least difference from the effort for any bite force of late; that force; its age.

    Which of the last messages a cycle used cannot be known from outside, but one it must be:
    sent before the answer was received, for a late cycle is stamped when it was due, and then the
    last one before the stamp or not much older.
    Efforts are linear in the force; `expected` are those without.
    """
    free = expected.actuated
    measured = state.effort[:, state.columns(mechanism.actuated)]
    per_newton = np.empty((len(free), 3, free.shape[1]))
    for axis in range(3):
        unit = np.zeros((len(free), 6))
        unit[:, axis] = 1.0
        wrenches = wrenches_on_platform(
            mechanism, expected.q, unit, axes=sent.frame, point=sent.frame
        )
        per_newton[:, axis] = _efforts(mechanism, rows, wrenches) - free
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
        # Equal forces in a row explain a cycle equally well: the youngest is taken.
        better = (candidate < error * 0.999) & (index >= first - 1)
        error[better] = candidate[better]
        bite[better] = force[better]
        age[better] = (state.stamps - sent.stamps[index])[better]
    return error, bite, age


def _multipliers(mechanism: Mechanism, record: Record, links: LinkMotion) -> dict[str, FloatArray]:
    """Contact forces along the plane's normal, at the stamps of `feedforward_state`."""
    multipliers = {}
    for contact in mechanism.description.contacts:
        series, normal = record.contacts[contact.name], np.array(contact.normal)
        nearest = np.abs(series.stamps[:, None] - record.joints.stamps).argmin(axis=1)
        force = np.einsum('kij,kj->ki', links.rotation[series.frame][nearest], series.force)
        along = force @ normal / (normal @ normal)
        multipliers[contact.name] = np.interp(record.state.stamps, series.stamps, along)
    return multipliers


def _efforts(
    mechanism: Mechanism, rows: tuple[FloatArray, ...], wrenches: FloatArray
) -> FloatArray:
    position, velocity, acceleration = rows
    return mechanism.feedforward_batch(position, velocity, acceleration, wrenches).actuated


def _energy_and_bite_power(
    mechanism: Mechanism, frame: str, expected: Effort, bite: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Energy of the links (J) and power of forces at a frame, in its axes (W), (N,) each."""
    energy, power = [], []
    for start in range(0, len(bite), _CHUNK):
        part = slice(start, start + _CHUNK)
        links = LinkMotion(
            mechanism.description, mechanism.tree_joints, expected.q[part], expected.v[part]
        )
        force = np.einsum('nij,nj->ni', links.rotation[frame], bite[part])
        power.append(np.einsum('ni,ni->n', force, links.velocity[frame]))
        energy.append(links.energy())
    return np.concatenate(energy), np.concatenate(power)
