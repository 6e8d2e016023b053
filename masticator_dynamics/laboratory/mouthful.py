# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One mouthful on the twin: simulated drives chew, and what happens is kept cycle by cycle."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError, MasticatorError, SimulationError
from masticator_dynamics.frames import frame_poses
from masticator_dynamics.laboratory.protocol import Motion, Mouthful, Stop
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion import MotionPath, chewing_stroke
from masticator_dynamics.twin.feedforward import Kind
from masticator_dynamics.twin.plant import MechanismPlant
from masticator_dynamics.twin.study import Setting

APPROACH = 0.3  # s, from home to the closed mouth of a motion with an occlusal gap


@dataclasses.dataclass(frozen=True)
class Series:
    """What happened during a mouthful; rows are cycles of the drives.

    Attributes
    ----------
    time : array, shape (N,)
        s from the start of the motion.
    gap : array, shape (N,)
        Distance of the chewing tooth from occlusion along base z, m.
    force : array, shape (N,)
        Magnitude of the food's force on the tooth, N.
    q : array, shape (N, n_q)
        Tree positions, rad or m.
    position, velocity, effort : array, shape (N, n_u)
        Of the actuated joints; efforts of the motors, at the joints.
    contact : array, shape (N, n_c)
        Multipliers of the contacts, N, as :attr:`Effort.contact`.
    end : str
        Why the mouthful ended: 'done', 'force', 'broken', or the text of a fault.
    """

    time: FloatArray
    gap: FloatArray
    force: FloatArray
    q: FloatArray
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray
    contact: FloatArray
    end: str

    @property
    def fault(self) -> bool:
        """Whether something went wrong."""
        return self.end not in ('done', 'force', 'broken')


class _Watch:
    """Keeps every cycle of a run, and says when to stop."""

    def __init__(self, stop: Stop):
        self.rows: list[tuple[FloatArray | float, ...]] = []
        self.end = 'done'
        self._stop = stop

    def __call__(self, plant: MechanismPlant, effort: FloatArray) -> bool:
        force = float(np.linalg.norm(plant.food_force))
        self.rows.append(
            (
                plant.time, plant.food_gap, force, plant.tree_positions, plant.position,
                plant.velocity, effort, plant.contact,
            )
        )  # fmt: skip
        if self._stop.force is not None and force > self._stop.force:
            self.end = 'force'
        elif self._stop.broken and plant.food_broken:
            self.end = 'broken'
        return self.end != 'done'

    def series(self, end: str) -> Series:
        """All cycles, as arrays."""
        time, gap, force, q, position, velocity, effort, contact = (
            np.array(column) for column in zip(*self.rows, strict=True)
        )
        return Series(time, gap, force, q, position, velocity, effort, contact, end)


def chew(mouthful: Mouthful, setting: Setting, stop: Stop) -> Series:
    """Chew a mouthful on the twin with full feedforward, by the gains of the drives file.

    Parameters
    ----------
    setting : Setting
        Drives and model; its path and food are replaced by the mouthful's.

    Raises
    ------
    InputError
        When the motion cannot be made: out of reach or out of range, with the stroke's data.
    """
    path = motion_path(setting.model, mouthful.motion, mouthful.strokes)
    run = dataclasses.replace(setting, path=path, food=mouthful.food)
    watch = _Watch(stop)
    try:
        run.run(Kind.FRICTION, run.gains, watch)
        end = watch.end
    except SimulationError as error:
        if not watch.rows:
            raise
        end = str(error)
    return watch.series(end)


def motion_path(mechanism: Mechanism, motion: Motion, strokes: int) -> MotionPath:
    """The subject's motion, from home to the closed mouth.

    Parameters
    ----------
    mechanism : Mechanism
        With the coordinates of a chewing motion and molars.
    motion : Motion
        With an occlusal gap, the mouth closes to the angle at which the molar of the working side
        is that far from its place at home, and its opening stays the same.

    Raises
    ------
    InputError
        For numbers that no stroke can have.
    """
    closed = closed_angle(mechanism, motion)
    if closed == 0.0:
        return chewing_stroke(
            side=motion.side, strokes=strokes, period=motion.period, opening=motion.opening
        )
    if closed > 0.5 * motion.opening:
        raise InputError(
            f'an occlusal gap of {1e3 * motion.occlusal_gap:.3g} mm takes {closed:.3g} rad, more '
            f'than half of the opening of {motion.opening:.3g} rad'
        )
    chewing = chewing_stroke(
        side=motion.side, strokes=strokes, period=motion.period, opening=motion.opening - closed
    )
    rest = np.zeros(len(mechanism.independent))
    rest[mechanism.independent.index('beta')] = closed
    raised = chewing.coefficients.copy()
    raised[:, 0] += rest
    names, still = chewing.names, (0.0 * rest, 0.0 * rest)
    opened = MotionPath.through(
        [0.0, APPROACH], [0.0 * rest, rest], start=still, end=still, names=names
    )
    return MotionPath.joined([opened, MotionPath(chewing.knots + APPROACH, raised, names=names)])


def closed_angle(mechanism: Mechanism, motion: Motion) -> float:
    """Opening angle (rad) at which the working molars are the occlusal gap apart.

    Raises
    ------
    InputError
        When no opening within 0.18 rad brings them that far apart.
    """
    if motion.occlusal_gap == 0.0:
        return 0.0
    beta = np.linspace(0.0, 0.18, 37)
    rows = np.zeros((len(beta), len(mechanism.independent)))
    rows[:, mechanism.independent.index('beta')] = beta
    q = mechanism.feedforward_batch(rows).q
    height = frame_poses(mechanism, q, f'molar_{motion.side}')[0][:, 2]
    gap = height[0] - height
    if motion.occlusal_gap > gap[-1]:
        raise InputError(
            f'an occlusal gap of {1e3 * motion.occlusal_gap:.3g} mm is beyond the widest mouth, '
            f'{1e3 * gap[-1]:.3g} mm at the molar'
        )
    return float(np.interp(motion.occlusal_gap, gap, beta))


def check_motion(mechanism: Mechanism, mouthful: Mouthful) -> None:
    """Refuse a motion that the mechanism cannot make, before anything moves.

    Raises
    ------
    InputError
        Naming the mouthful, the motion and what is exceeded.
    """
    try:
        path = motion_path(mechanism, mouthful.motion, mouthful.strokes)
        times = np.arange(path.start, path.end, 0.005)
        effort = mechanism.feedforward_batch(*path.sample(times))
    except MasticatorError as error:
        raise InputError(f'mouthful {mouthful.number} ({_shown(mouthful)}): {error}') from error
    speed = np.abs(effort.velocity).max(axis=0)
    limits = mechanism.limits.velocity[mechanism.tree_indices(mechanism.actuated)]
    worst = int(np.argmax(speed / limits))
    if speed[worst] > limits[worst]:
        raise InputError(
            f'mouthful {mouthful.number} ({_shown(mouthful)}): {mechanism.actuated[worst]} would '
            f'turn at {speed[worst]:.3g} rad/s, its limit is {limits[worst]:.3g} rad/s'
        )


def _shown(mouthful: Mouthful) -> str:
    motion = mouthful.motion
    return f'{motion.side}, {motion.period:g} s, {motion.opening:g} rad'
