# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A motion evaluated over its whole time, and the refusal of what leaves a range."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.description.schema import Contact
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import LimitError, MasticatorError
from masticator_dynamics.frames import frame_poses
from masticator_dynamics.limits.load_limits import LoadLimits
from masticator_dynamics.limits.ranges import RangeViolation
from masticator_dynamics.mechanism import Goal
from masticator_dynamics.motion import MotionPath

# The engine keeps Python's lock: after this many rows (0.3 ms) other threads get their turn.
_CHUNK = 25
_POSE_CHUNK = 200
_SLACK = 1e-9  # a limit in decimal must not refuse the value it names


@dataclasses.dataclass(frozen=True)
class SampledMotion:
    """Actuated motion and efforts (N, n_u) without external wrench, and tree motion (N, n_q)."""

    times: FloatArray
    position: FloatArray
    velocity: FloatArray
    acceleration: FloatArray
    effort: FloatArray
    q: FloatArray
    v: FloatArray

    def rows(self, index: FloatArray) -> SampledMotion:
        """Some of the samples."""
        return SampledMotion(*(getattr(self, f.name)[index] for f in dataclasses.fields(self)))


def sample_motion(
    mechanism: Mechanism,
    path: MotionPath,
    times: FloatArray,
    *,
    goal: Goal = 'torque',
    friction: bool = False,
    limits: LoadLimits | bool = False,
    between: Callable[[], None] = lambda: None,
) -> SampledMotion:
    """Evaluate a path; ``between`` is called every few rows, and may raise to give it up.

    Raises
    ------
    ReachError, SingularityError, ActuationError, LimitError
        Naming the time; the last only where limits are asked for and no efforts keep them.
    """
    y, y_dot, y_ddot = path.sample(times)
    count, actuated, tree = len(times), len(mechanism.actuated), len(mechanism.tree_joints)
    widths = {name: actuated for name in ('position', 'velocity', 'acceleration', 'effort')}
    fields = {name: np.empty((count, w)) for name, w in (widths | {'q': tree, 'v': tree}).items()}
    for first in range(0, count, _CHUNK):
        between()
        part = slice(first, first + _CHUNK)
        try:
            batch = mechanism.feedforward_batch(
                y[part], y_dot[part], y_ddot[part], goal=goal, friction=friction, limits=limits
            )
        except MasticatorError as error:
            row = error.row or 0
            reason = str(error).removeprefix(f'row {row + 1}: ')
            raise type(error)(f'at {times[first + row]:.6g} s: {reason}') from None
        for name, field in fields.items():
            field[part] = batch.actuated if name == 'effort' else getattr(batch, name)
    return SampledMotion(times, **fields)


class RangeCheck:
    """The ranges of joints, sockets and efforts over a sampled motion.

    Parameters
    ----------
    mechanism : Mechanism
    """

    def __init__(self, mechanism: Mechanism):
        self._mechanism = mechanism
        joints = mechanism.structure.tree.joints
        self._units = [joint.unit for joint in joints]

    def __call__(self, motion: SampledMotion, effort_limit_scale: float | None) -> None:
        """Refuse a motion that leaves a range; without a scale, efforts are not looked at.

        Raises
        ------
        LimitError
            Naming joint or contact, the largest excess and its time.
        """
        limits, names = self._mechanism.limits, self._mechanism.tree_joints
        self._check(motion, names, 'position', motion.q, limits.lower, limits.upper, self._units)
        rates = [f'{unit}/s' for unit in self._units]
        self._check(motion, names, 'velocity', motion.v, -limits.velocity, limits.velocity, rates)
        for contact in self._mechanism.description.contacts:
            self._check_contact(motion, contact)
        if effort_limit_scale is not None:
            low, high = (bound * effort_limit_scale for bound in self._mechanism.effort_range)
            names, units = self._mechanism.actuated, self._mechanism.effort_units
            self._check(motion, names, 'effort', motion.effort, low, high, units)

    def _check_contact(self, motion: SampledMotion, contact: Contact) -> None:
        intervals = [getattr(contact.range, axis) or (-np.inf, np.inf) for axis in 'xyz']
        lower, upper = np.array(intervals).T
        chunks = (motion.q[k : k + _POSE_CHUNK] for k in range(0, len(motion.q), _POSE_CHUNK))
        positions = np.concatenate(
            [frame_poses(self._mechanism, q, contact.frame)[0] for q in chunks]
        )
        names = [f'{contact.name} {axis}' for axis in 'xyz']
        self._check(motion, names, 'position', positions, lower, upper, ['m'] * 3)

    @staticmethod
    def _check(
        motion: SampledMotion,
        names: Sequence[str],
        quantity: str,
        values: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        units: Sequence[str],
    ) -> None:
        excess = np.maximum(lower - values, values - upper)
        if excess.size == 0 or excess.max() <= _SLACK:  # not for NaN, which is refused
            return
        k, i = divmod(int(np.argmax(excess)), excess.shape[1])
        violation = RangeViolation(
            names[i], quantity, float(values[k, i]), float(lower[i]), float(upper[i]), units[i]
        )
        raise LimitError(f'at {motion.times[k]:.6g} s: {violation}')
