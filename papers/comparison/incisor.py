# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Incisor tracking: one twice-differentiable motion next to S1's three optimisations."""

from __future__ import annotations

import dataclasses
import time as clock

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import FrameChain
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.chewing import chewing_stroke
from masticator_dynamics.motion.incisor import track_incisor
from papers.comparison.comparison_table import ComparisonTable
from papers.comparison.inputs import Inputs
from papers.comparison.three_optimisations import (
    Mandible,
    track_by_three_optimisations,
)

SAMPLES = 201  # of the built-in stroke, 5 ms apart
MM = 1e3


@dataclasses.dataclass(frozen=True)
class Target:
    """The path of the incisor: one function of time and its derivatives.

    Attributes
    ----------
    name : str
        For titles.
    time : array, shape (N,)
        s.
    position, velocity, acceleration : array, shape (N, 3)
        m and s, base axes.
    """

    name: str
    time: FloatArray
    position: FloatArray
    velocity: FloatArray
    acceleration: FloatArray


@dataclasses.dataclass(frozen=True)
class Track:
    """Result of a method, sample by sample, as the method reports it.

    Attributes
    ----------
    errors : array, shape (3, N)
        Errors of the incisor's position, velocity and acceleration, m and s.
    shift, shift_dot, shift_ddot : array, shape (N, 2)
        X and Y of the mandible, m, and what the method reports as their derivatives.
    condyles : array, shape (N, 2, 3)
        Displacement of the left and the right condyle from home, m, base axes.
    seconds : float
        CPU time taken.
    """

    errors: FloatArray
    shift: FloatArray
    shift_dot: FloatArray
    shift_ddot: FloatArray
    condyles: FloatArray
    seconds: float


_NOTES = (
    'S1 gives no criterion: its fourth freedom stays where the SQP leaves it, in each of three '
    'problems. Ours moves the condyles least, inside the sockets; all derivatives are those of '
    'one spline.',
    'S1 follows the incisor as well as it says (f_D, f_V, f_A); these do not show the error, '
    'since the remaining freedom moves the cranks but not the incisor.',
    'The SQP is given exact gradients and home as first guess: with the printed guess, all zeros, '
    'Eq. 7 divides by zero. Its objectives are norms, which have no gradient at their minimum.',
    'S1 is given velocity and acceleration of the incisor, track-incisor only its points: our f_V '
    'and f_A are mostly errors at the ends, where the points do not show that the motion starts '
    'at rest.',
    'Slopes are differences of neighbouring samples; our deviations are the error of these '
    'differences. S1 prints no computing times of tracking.',
)


def compare(inputs: Inputs) -> list[ComparisonTable]:
    """Both methods on the incisor path of the motion."""
    target = target_of(inputs)
    columns = [
        _scales(target) | measures(track, target.time)
        for track in (by_s1(inputs, target), by_us(inputs, target))
    ]
    table = ComparisonTable(
        f'Incisor tracking: {target.name}, {len(target.time)} samples; largest values but for rms',
        'S1 Sec. 5.1, Eqs. 56, 60, 62, Figs. 5, 6',
        ('', 'S1, three optimisations', 'track-incisor, one motion'),
        tuple((name, *(column[name] for column in columns)) for name in columns[0]),
        _NOTES,
        digits=3,
    )
    return [table]


def target_of(inputs: Inputs) -> Target:
    """Path of the incisor in the motion; for the built-in motion, one finely sampled stroke."""
    if inputs.motion.built_in:
        path = chewing_stroke(strokes=1)
        time = np.linspace(path.start, path.end, SAMPLES)
        name, states = 'a built-in stroke', path.sample(time)
    else:
        motion = inputs.motion
        name, time, states = motion.name, motion.time, motion.states[:3]
    return Target(name, time, *incisor_motion(inputs.masticator, *states))


def by_s1(inputs: Inputs, target: Target) -> Track:
    """Track by S1's three optimisations."""
    mandible = Mandible.of(inputs.masticator)
    path = (MM * target.position, MM * target.velocity, MM * target.acceleration)
    start = clock.process_time()
    steps = inputs.progress(range(len(target.time)), 'three optimisations')
    answer = track_by_three_optimisations(mandible, *path, steps)
    seconds = clock.process_time() - start
    centres = [mandible.condyle, mandible.condyle * (1.0, -1.0, 1.0)]
    condyles = np.array([[mandible.point(q, c) - c for c in centres] for q in answer.q])
    x, x_dot, x_ddot = (rows[:, :2] / MM for rows in (answer.q, answer.q_dot, answer.q_ddot))
    errors = np.array([answer.f_d, answer.f_v, answer.f_a]) / MM
    return Track(errors, x, x_dot, x_ddot, condyles / MM, seconds)


def by_us(inputs: Inputs, target: Target) -> Track:
    """Track by track_incisor, without its smoothing of recordings."""
    masticator = inputs.masticator
    home = masticator.frame_pose(masticator.home, 'incisor').position
    start = clock.process_time()
    track = track_incisor(masticator, target.time, target.position - home, tolerance=0.0)
    seconds = clock.process_time() - start
    y, y_dot, y_ddot = track.path.sample(target.time)
    motion = masticator.feedforward_batch(y, y_dot, y_ddot)
    reached = incisor_motion(masticator, y, y_dot, y_ddot)
    wanted = (target.position, target.velocity, target.acceleration)
    errors = [np.linalg.norm(a - b, axis=1) for a, b in zip(reached, wanted, strict=True)]
    chains = [FrameChain(masticator, name) for name in ('condyle_left', 'condyle_right')]
    condyles = [chain.poses(motion.q)[0] - chain.poses(masticator.home.q)[0] for chain in chains]
    return Track(
        np.array(errors), y[:, :2], y_dot[:, :2], y_ddot[:, :2], np.stack(condyles, axis=1), seconds
    )


def incisor_motion(
    masticator: Mechanism, y: FloatArray, y_dot: FloatArray, y_ddot: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Position, velocity and acceleration (N, 3) of the incisor, m and s, base axes.

    Parameters
    ----------
    masticator : Mechanism
        The mechanism.
    y, y_dot, y_ddot : (N, n_y) array
        Independent positions, velocities and accelerations, m, rad and s.
    """
    step = 1e-5  # s, along the motion
    chain = FrameChain(masticator, 'incisor')

    def jacobians(poses: FloatArray) -> tuple[FloatArray, FloatArray]:
        solved = masticator.feedforward_batch(poses)
        return chain.jacobians(solved.q, solved.tangent)

    position, jacobian = jacobians(y)
    turning = (jacobians(y + step * y_dot)[1] - jacobians(y - step * y_dot)[1]) / (2.0 * step)
    velocity = np.einsum('nij,nj->ni', jacobian, y_dot)
    acceleration = np.einsum('nij,nj->ni', jacobian, y_ddot)
    acceleration += np.einsum('nij,nj->ni', turning, y_dot)
    return position, velocity, acceleration


def _scales(target: Target) -> dict[str, float]:
    """Largest velocity and acceleration of the incisor, to compare the errors with."""
    derivatives = {'velocity, mm/s': target.velocity, 'acceleration, mm/s^2': target.acceleration}
    return {
        f"for scale: the incisor's own {name}": MM * float(np.linalg.norm(rows, axis=1).max())
        for name, rows in derivatives.items()
    }


def measures(track: Track, time: FloatArray) -> dict[str, float]:
    """Numbers to compare, by name."""
    steps = np.diff(time)[:, None]
    slopes = np.diff(track.shift, axis=0) / steps
    added = np.cumsum(0.5 * steps * (track.shift_dot[1:] + track.shift_dot[:-1]), axis=0)
    # Errors of X and Y (columns); differences at the ends are too coarse to count.
    consistency = {
        'velocity off the slope of position, mm/s': (
            np.gradient(track.shift, time, axis=0) - track.shift_dot
        )[1:-1],
        'acceleration off the slope of velocity, mm/s^2': (
            np.gradient(track.shift_dot, time, axis=0) - track.shift_ddot
        )[1:-1],
        'velocity added up, off position by, mm': track.shift[1:] - track.shift[0] - added,
        'slope of position changes between samples by, mm/s': np.diff(slopes, axis=0),
    }
    off = track.errors.max(axis=1)
    metres = {
        'incisor off its path, mm (f_D)': off[0],
        'velocity of the incisor off, mm/s (f_V)': off[1],
        'acceleration of the incisor off, mm/s^2 (f_A)': off[2],
        'condyles from home, rms, mm': np.sqrt(np.mean(np.sum(track.condyles**2, axis=2))),
        'condyles sideways, mm': np.abs(track.condyles[:, :, 1]).max(),
    }
    metres |= {
        f'{axis}: {name}': np.abs(rows[:, column]).max()
        for column, axis in enumerate('XY')
        for name, rows in consistency.items()
    }
    found = {name: MM * float(value) for name, value in metres.items()}
    return found | {'CPU time per sample, ms': 1e3 * track.seconds / len(time)}
