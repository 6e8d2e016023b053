# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether friction of another kind than constant and viscous is worth its number, by motor.

Three kinds are tried beside all that is identified: dry friction that grows from rest over some
velocity (efforts that were filtered look so, too); friction that is larger near rest (Stribeck's;
Armstrong-Helouvry, Dupont and Canudas de Wit 1994, Automatica 30, 1083); and friction that grows
with the load that a gear passes on. They are judged by least squares on blocks of time that nothing
was learnt from. What is worth it joins the description, so that it is identified like all else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from masticator_dynamics.description.data import Actuator, JointPhysics, MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.identification.measured_motion import MeasuredMotion
from masticator_dynamics.identification.unknowns import Unknowns
from masticator_dynamics.identification.weighted_equations import Equations
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.motion_rows import rows_at

_BLOCKS = 6
_AT_ONCE = 1e-3  # of the usual velocity, over which friction turns round that does so at once
_OVER = (0.02, 0.05, 0.1, 0.2, 0.4)  # likewise, over which dry friction may grow
_NEAR = (0.1, 0.2, 0.4)  # likewise, at which half of what is more near rest may be left
_WORTH = 0.9  # of a motor's error, by which another kind leaves less where it is worth it
_ANY = 0.02  # of a motor's efforts: of less the rest may come from whatever is not modelled
_ROUNDING = 1e-10


class Kind(NamedTuple):
    """Friction that is neither constant nor viscous."""

    words: str
    instead: bool  # whether it takes the place of constant friction, or comes to it
    # The description in which friction of a motor's joint is so; velocities are in rad/s or m/s.
    described: Callable[[MechanismDescription, str, float], MechanismDescription]


def _grows(description: MechanismDescription, joint: str, over: float) -> MechanismDescription:
    motor = description.actuators.get(joint) or Actuator()
    law = dataclasses.replace(motor.friction, transition_velocity=over)
    described = _with_motor(description, joint, dataclasses.replace(motor, friction=law))
    return _with_physics(described, joint, transition_velocity=over)


def _sticks(description: MechanismDescription, joint: str, near: float) -> MechanismDescription:
    return _with_physics(description, joint, stiction=0.0, stiction_velocity=near)


def _loses(description: MechanismDescription, joint: str, _: float) -> MechanismDescription:
    motor = description.actuators.get(joint) or Actuator()
    law = dataclasses.replace(motor.friction, gear_loss=0.0)
    return _with_motor(description, joint, dataclasses.replace(motor, friction=law))


def _with_motor(
    description: MechanismDescription, joint: str, motor: Actuator
) -> MechanismDescription:
    return dataclasses.replace(description, actuators={**description.actuators, joint: motor})


def _with_physics(
    description: MechanismDescription, joint: str, **changes: float
) -> MechanismDescription:
    physics = dataclasses.replace(description.joints.get(joint, JointPhysics()), **changes)
    return dataclasses.replace(description, joints={**description.joints, joint: physics})


GROWS = Kind('grows from rest (efforts that were filtered look so, too)', True, _grows)
STICKS = Kind('is larger near rest', False, _sticks)
LOSES = Kind('grows with the load', False, _loses)


class WorthIt(NamedTuple):
    """Another kind of friction that a motor has, and parts of its efforts that are left."""

    joint: str
    kind: Kind
    velocity: float  # rad/s or m/s, over which it grows or falls off
    before: float
    after: float

    def sentence(self, learnt: bool) -> str:
        """For a person; it begins with the motor."""
        leaves = 'leaves' if learnt else 'would leave'
        return (
            f'{self.joint}: friction that {self.kind.words} {leaves} {100.0 * self.after:.2g} % of '
            f'its efforts unexplained, without it {100.0 * self.before:.2g} % are (on blocks not '
            'learnt from)'
        )


class _Trial(NamedTuple):
    kind: Kind
    velocity: FloatArray  # (n_u,)
    rows: FloatArray  # (N, n_u), of a unit at each motor, whenever it was measured


class FrictionSearch:
    """What other kinds of friction would leave of the efforts.

    Parameters
    ----------
    mechanism : Mechanism
        Whose friction may be of other kinds already.
    measured : MeasuredMotion
    equations : Equations
        Of it, that were learnt from.
    unknowns : Unknowns
    x : array, shape (n_x,)
        Unknowns found.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        measured: MeasuredMotion,
        equations: Equations,
        unknowns: Unknowns,
        x: FloatArray,
    ):
        description = mechanism.description
        self._equations, self._measured = equations, measured
        self._names = description.actuated
        self._speed = measured.motion.v[:, mechanism.actuated_rows]
        self._usual = np.sqrt((equations.velocity**2).mean(axis=0)) + np.finfo(float).tiny
        self._matrix = equations.back @ equations.matrix
        # -1 of a motor that gives no effort, of whose friction nothing is unknown.
        places = {cause: k for k, cause in enumerate(unknowns.causes)}
        self._constant = [places.get(f'{name}.friction', -1) for name in self._names]
        bodies = np.array([' ' in cause for cause in unknowns.causes])
        needed = equations.effort - equations.errors(0.0)
        loads = np.abs(needed + self._matrix[..., bodies] @ x[bodies])
        self._load = rows_at(measured.time, equations.time, loads)
        physics = [description.joints[name] for name in self._names]
        self._over = np.array([of.transition_velocity for of in physics])
        laws = [(description.actuators.get(n) or Actuator()).friction for n in self._names]
        self._has = {
            GROWS: (self._over > 0.0) | (np.array(self._constant) < 0),
            STICKS: np.array([of.stiction is not None for of in physics]),
            LOSES: np.array([law.gear_loss is not None for law in laws]),
        }

    def found(self) -> Iterator[WorthIt]:
        """Kinds that are worth it, of each motor the one that is worth most first."""
        effort = np.sqrt((self._equations.effort**2).mean(axis=0)) + np.finfo(float).tiny
        before = self._left(None) / effort
        for _ in self._has:
            trials = [(trial, self._left(trial) / effort) for trial in self._trials()]
            best = [min(trials, key=lambda pair: pair[1][k]) for k in range(len(self._names))]
            chosen = [
                (k, trial, after[k])
                for k, (trial, after) in enumerate(best)
                if after[k] < _WORTH * before[k] and before[k] > _ANY
            ]
            for k, trial, after in chosen:
                over = float(trial.velocity[k])
                yield WorthIt(self._names[k], trial.kind, over, float(before[k]), float(after))
                self._adopt(k, trial)
            if not chosen:
                return
            before = self._left(None) / effort

    def _trials(self) -> Iterator[_Trial]:
        speed, at_once = self._speed, _AT_ONCE * self._usual
        for part in _OVER:
            over = part * self._usual
            yield _Trial(GROWS, over, speed / np.sqrt(speed**2 + over**2))
        sense = speed / np.sqrt(speed**2 + np.maximum(self._over, at_once) ** 2)
        for part in _NEAR:
            near = part * self._usual
            yield _Trial(STICKS, near, sense / (1.0 + (speed / near) ** 2))
        yield _Trial(LOSES, self._over, sense * self._load)

    def _columns(self, rows: FloatArray) -> FloatArray:
        """What moves the mechanism (M, n_u, n_u) of an effort (N, n_u) of each motor, filtered."""
        slow = self._measured.smooth(rows)[self._measured.kept]
        return np.asarray(self._equations.back @ (self._equations.rates * slow[:, None, :]))

    def _adopt(self, k: int, trial: _Trial) -> None:
        column = self._columns(trial.rows)[..., k]
        self._has[trial.kind][k] = True
        if trial.kind.instead:
            self._matrix[..., self._constant[k]] = column
            self._over[k] = trial.velocity[k]
        else:
            self._matrix = np.concatenate([self._matrix, column[..., None]], axis=-1)

    def _left(self, trial: _Trial | None) -> FloatArray:
        """RMS error (n_u,) of each motor, with what is tried at it alone, on blocks held out.

        Infinite where a motor has friction of this kind already, and where it would drive.
        """
        target, matrix = self._equations.errors(0.0), self._matrix
        count, motors = matrix.shape[-1], target.shape[1]
        if trial is not None:
            matrix = np.concatenate([matrix, self._columns(trial.rows)], axis=-1)
        usual = np.sqrt((target**2).mean(axis=0)) + np.finfo(float).tiny
        target, matrix = target / usual, matrix / usual[:, None]
        size = np.linalg.norm(matrix, axis=(0, 1))
        matrix = matrix / np.where(size > 0.0, size, 1.0)
        parts = np.array_split(np.arange(len(target)), _BLOCKS)
        flat = [(matrix[part].reshape(-1, len(size)), target[part].reshape(-1)) for part in parts]
        normals = np.array([rows.T @ rows for rows, _ in flat])
        sides = np.array([rows.T @ right for rows, right in flat])
        squares, drives = np.zeros_like(target), np.zeros(motors, dtype=bool)
        for part, normal, side in zip(parts, normals, sides, strict=True):
            others, right = normals.sum(axis=0) - normal, sides.sum(axis=0) - side
            others += _ROUNDING * np.trace(others) * np.eye(len(others))
            for k in range(motors):
                used = [*range(count)]
                if trial is not None:
                    used.append(count + k)
                    if trial.kind.instead and self._constant[k] in used:
                        used.remove(self._constant[k])
                x = np.linalg.solve(others[np.ix_(used, used)], right[used])
                squares[part, k] = (target[part, k] - matrix[part][:, k, used] @ x) ** 2
                drives[k] |= trial is not None and x[-1] < 0.0
        left = usual * np.sqrt(squares.mean(axis=0))
        return np.where(self._has[trial.kind] | drives, np.inf, left) if trial else left
