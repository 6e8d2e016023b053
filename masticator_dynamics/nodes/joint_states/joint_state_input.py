# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What incoming joint states say about a mechanism's configuration, or why they say nothing.

The one reading that all nodes share. Joints are found by name, in any order; joints that are not
needed are ignored, whatever their values.

- All independent coordinates are named: they are the configuration.
- Otherwise all actuated joints are named: forward kinematics, and for velocities least squares,
  find the closed configuration that fits them best. It is refused when its loops would open by
  more than a tolerance with the actuated joints at their given positions.
- Otherwise, or when a needed joint is named twice, when there are not as many positions as names,
  or when a needed position is not finite: refused, naming the joint.
- Velocities may be missing, or NaN for all needed joints (what joint_state_broadcaster sends for
  drives that measure none): then the velocity is unknown, which is not zero. Velocities of a wrong
  length, and numbers beside NaN, are refused. Efforts are not looked at.
- Ranges of joints and sockets are not enforced: a measured state is a fact.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.forward_kinematics import closest_motion, independent_velocity
from masticator_dynamics.results import Motion

INDEPENDENT, ACTUATED = 'independent', 'actuated'


@dataclasses.dataclass(frozen=True)
class JointSelection:
    """Which entries of a message count: ``joints`` of a ``kind``, at ``columns`` of its arrays."""

    kind: str
    joints: tuple[str, ...]
    columns: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class JointReading:
    """A configuration of the closed mechanism.

    Attributes
    ----------
    motion : Motion
        At rest.
    y_dot : array, shape (n_y,), or None
        Independent velocities; None when they were not measured.
    kind : str
        What they were read from: `INDEPENDENT` or `ACTUATED`.
    closure_residual : float
        Largest gap that the given actuated positions would open, m; 0 for independent coordinates.
    """

    motion: Motion
    y_dot: FloatArray | None
    kind: str
    closure_residual: float

    @property
    def y(self) -> FloatArray:
        """Independent positions (n_y,), rad or m."""
        return self.motion.y


class UnmeasuredError(InputError):
    """None of the needed joints has a position: nothing has been measured yet."""


def select_joints(mechanism: Mechanism, names: Sequence[str]) -> JointSelection:
    """Find the joints that give the configuration: all independent ones, else all actuated ones.

    Raises
    ------
    InputError
        When both kinds are incomplete or a needed joint is named twice.
    """
    counts = Counter(names)
    lacking = []
    for kind in (INDEPENDENT, ACTUATED):
        joints = getattr(mechanism, kind)
        missing = [joint for joint in joints if joint not in counts]
        if missing:
            plural = 'coordinates' if kind == INDEPENDENT else 'joints'
            lacking.append(f'all {kind} {plural} (missing: {", ".join(missing)})')
            continue
        for joint in joints:
            if counts[joint] > 1:
                raise InputError(f'{joint!r} is named {counts[joint]} times')
        return JointSelection(kind, joints, tuple(names.index(joint) for joint in joints))
    raise InputError(f'there are neither {lacking[0]} nor {lacking[1]}')


class JointStateReader:
    """Configurations of a mechanism from names, positions and velocities as messages carry them.

    Parameters
    ----------
    mechanism : Mechanism
        Holds scratch memory: for the thread alone that reads.
    tolerance : float
        Largest gap of a loop that measured actuated positions may leave, m.
    """

    def __init__(self, mechanism: Mechanism, tolerance: float):
        self._mechanism = mechanism
        self.tolerance = tolerance
        self._names: list[str] = []
        self._selection: JointSelection | None = None

    def read(
        self, names: Sequence[str], positions: Sequence[float], velocities: Sequence[float] = ()
    ) -> JointReading:
        """Read one state.

        Parameters
        ----------
        names : sequence of str
        positions : sequence of float
            rad or m, as many as names.
        velocities : sequence of float
            rad/s or m/s, as many as names, or none.

        Raises
        ------
        UnmeasuredError
            When all needed positions are NaN, as ros2_control has them before the first state.
        InputError
            For what is missing, doubled, not finite or of a wrong length.
        ReachError, ClosureError, SingularityError
            When the loops cannot close at the independent positions, or no closed configuration
            is near the actuated ones, or the loops stay open by more than the tolerance.
        """
        selection = self.select(names)
        if len(positions) != len(names):
            raise InputError(f'there are {len(positions)} positions for {len(names)} joints')
        if len(velocities) not in (0, len(names)):
            raise InputError(f'there are {len(velocities)} velocities for {len(names)} joints')
        if all(positions[c] != positions[c] for c in selection.columns):
            joints = ', '.join(selection.joints)
            raise UnmeasuredError(f'no position of {joints} has been measured: all are NaN')
        position = _numbers(selection, positions, 'position')
        velocity = None
        if len(velocities) and not all(velocities[c] != velocities[c] for c in selection.columns):
            velocity = _numbers(selection, velocities, 'velocity')
        if selection.kind == INDEPENDENT:
            return JointReading(self._mechanism.solve(position), velocity, INDEPENDENT, 0.0)
        motion, residual = closest_motion(self._mechanism, position, self.tolerance)
        if velocity is not None:
            velocity = independent_velocity(self._mechanism, motion, velocity)
        return JointReading(motion, velocity, ACTUATED, residual)

    def select(self, names: Sequence[str]) -> JointSelection:
        """:func:`select_joints`, remembered: a publisher sends the same names all the time."""
        names = list(names)
        if self._selection is None or names != self._names:
            self._selection, self._names = select_joints(self._mechanism, names), names
        return self._selection


def _numbers(selection: JointSelection, values: Sequence[float], what: str) -> FloatArray:
    """Needed values, finite."""
    numbers = np.array([values[c] for c in selection.columns], dtype=np.float64)
    if not np.isfinite(numbers).all():
        bad = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise InputError(
            f'{what} of {selection.joints[bad]} is {numbers[bad]}, not a finite number'
        )
    return numbers
