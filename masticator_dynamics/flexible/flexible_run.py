# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A flexible mechanism under the efforts that move its rigid twin along a path (S3 Sec. 4).

Drive modes of S3: the flexible mechanism gets the efforts that the rigid one would need.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.results import Effort
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.flexible.flexible_model import FlexibleModel, FlexibleState
from masticator_dynamics.flexible.flexible_simulation import RTOL, FlexibleTrajectory, simulate
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.path import MotionPath

MODES = {
    'a': 'as many motors as degrees of freedom, the first ones',
    'b': 'all motors, least torques',
    'c': 'all motors, least powers',
}


def driven_mechanism(description: MechanismDescription, mode: str) -> tuple[Mechanism, str]:
    """Rigid mechanism with the motors of a drive mode, and the goal by which they share the load.

    Raises
    ------
    InputError
        For an unknown mode.
    """
    if mode not in MODES:
        raise InputError(f'drive mode {mode!r} is not one of {", ".join(MODES)}')
    few = description.actuated[: len(description.independent)]
    mechanism = Mechanism(description, few if mode == 'a' else None)
    return mechanism, 'power' if mode == 'c' else 'torque'


def feedforward(
    model: FlexibleModel, mechanism: Mechanism, goal: str, path: MotionPath
) -> Callable[[float], FloatArray]:
    """Efforts (n,) on the coordinates of a model along a path, as a function of time.

    Parameters
    ----------
    model : FlexibleModel
        What is driven.
    mechanism : Mechanism
        The rigid mechanism whose efforts are taken.
    goal : str
        As for :meth:`Mechanism.feedforward`.
    path : MotionPath
        Of the independent coordinates.
    """
    columns = [model.index(name) for name in mechanism.actuated]

    @functools.lru_cache(maxsize=64)  # implicit steps return to the same times
    def effort(time: float) -> FloatArray:
        out = np.zeros(len(model.coordinates))
        motors = mechanism.feedforward(*path(time), goal=goal).actuated
        out[columns] = mechanism.transmission_ratios * motors  # of motors, on joints
        return out

    return effort


SAMPLES = 2001


@dataclasses.dataclass(frozen=True)
class FlexibleRun(FlexibleTrajectory):
    """A trajectory of N rows, and how it differs from the desired motion."""

    model: FlexibleModel  # what moved; columns of ``q`` and ``v`` are its coordinates
    desired: Effort  # the rigid mechanism on its path, with the efforts of the drive mode, N rows
    # (N,): distance of the platform's origin from where it should be, m.
    end_point_error: FloatArray
    deflections: tuple[str, ...]
    # (N, b): for every beam and direction of bending, named in ``deflections``: far end from the
    # tangent at the near joint, and middle from the chord, m.
    tip_deflection: FloatArray
    middle_deflection: FloatArray
    # (N, b): rotation of the beam's frame at its near joint from where it should be, and its rate,
    # about the axis of bending, rad and rad/s.
    angle_error: FloatArray
    angular_rate: FloatArray
    desired_rate: FloatArray
    energy: FloatArray  # (N, 3): kinetic, elastic, potential, J
    closure_residual: FloatArray  # (N,): largest gap of the loops, m

    def energy_balance(self) -> float:
        """Largest gap between work done and energy gained, relative to the largest energy moved."""
        total = self.energy.sum(axis=1)
        gained = total - total[0]
        scale = max(np.abs(self.work).max(), np.abs(gained).max(), float(np.finfo(float).tiny))
        return float(np.abs(gained - self.work).max() / scale)

    @property
    def rate_error(self) -> FloatArray:
        """Angular rates (N, b) minus the desired ones, rad/s."""
        return self.angular_rate - self.desired_rate

    def error(self, coordinate: str) -> FloatArray:
        """Deviation (N,) of a joint from the rigid mechanism, rad or m."""
        column = self.desired.mechanism.tree_joints.index(coordinate)
        return self.q[:, self.model.index(coordinate)] - self.desired.q[:, column]

    def table(self) -> tuple[list[str], FloatArray]:
        """Header and rows for a CSV file."""
        names, columns = ['time', 'end_point_error'], [self.time, self.end_point_error]
        mechanism = self.desired.mechanism
        for name in mechanism.tree_joints:
            index = self.model.index(name)
            names += [f'position_{name}', f'velocity_{name}', f'error_{name}']
            columns += [self.q[:, index], self.v[:, index], self.error(name)]
        names += [f'effort_{name}' for name in mechanism.actuated]
        columns += list(self.desired.actuated.T)
        for label in ('tip_deflection', 'middle_deflection', 'angle_error', 'angular_rate'):
            names += [f'{label}_{beam}' for beam in self.deflections]
            columns += list(getattr(self, label).T)
        names += [f'{name}_energy' for name in ('kinetic', 'elastic', 'potential')]
        columns += [*self.energy.T, self.work, self.closure_residual]
        partial = np.full(len(self.time), float(bool(self.stopped)))
        return [*names, 'work', 'closure_residual', 'partial'], np.column_stack([*columns, partial])


def run_flexible(
    description: MechanismDescription,
    path: MotionPath,
    mode: str = 'b',
    *,
    samples: int = SAMPLES,
    method: str = 'radau',
    rtol: float = RTOL,
    progress: Callable[[float], None] | None = None,
) -> FlexibleRun:
    """Drive a flexible mechanism in open loop, from rest, undeformed, where the rigid one starts.

    Parameters
    ----------
    description : MechanismDescription
        With flexible links.
    path : MotionPath
        In independent coordinates. If it starts in motion, so do the links, straight.
    mode : str
        Drive mode of S3: a, b or c.
    samples : int
        Rows, evenly spaced in time.
    method, rtol, progress
        As for :func:`masticator_dynamics.flexible.flexible_simulation.simulate`.

    Raises
    ------
    DescriptionError, InputError
        For a mechanism without flexible links, a wrong flexible link, mode, method or path.
    ReachError, SingularityError, ActuationError
        When the rigid mechanism cannot follow the path, naming the time.
    """
    if not description.flexible:
        raise InputError(f'{description.name} has no flexible links: {description.file}')
    if len(path.knots) < 2 or samples < 2:
        raise InputError('a path of some duration and two samples or more are needed')
    model = FlexibleModel(description)
    mechanism, goal = driven_mechanism(description, mode)
    times = np.linspace(path.start, path.end, samples)
    desired = _rigid(mechanism, goal, path, times)
    trajectory = simulate(
        model, straight(model, mechanism, desired), feedforward(model, mechanism, goal, path),
        times, method=method, rtol=rtol, progress=progress,
    )  # fmt: skip
    count = len(trajectory.time)
    if count < samples:
        desired = _rigid(mechanism, goal, path, times[:count])
    states = FlexibleState(trajectory.q, trajectory.v)
    return FlexibleRun(
        **vars(trajectory),
        model=model,
        desired=desired,
        energy=np.stack(model.energies(states), axis=-1),
        closure_residual=model.closure_residual(states.q),
        **_deviations(model, mechanism, desired, states),
    )


def _coordinates(model: FlexibleModel, mechanism: Mechanism, joints: FloatArray) -> FloatArray:
    """Coordinates (..., n) of the model with straight links from tree values (..., n_q)."""
    out = np.zeros((*joints.shape[:-1], len(model.coordinates)))
    out[..., [model.index(name) for name in mechanism.tree_joints]] = joints
    return out


def _rigid(mechanism: Mechanism, goal: str, path: MotionPath, times: FloatArray) -> Effort:
    """The rigid mechanism on its path; errors name the time."""
    try:
        return mechanism.feedforward_batch(*path.sample(times), goal=goal)
    except MasticatorError as error:
        if error.row is None:
            raise
        raise type(error)(f'at {times[error.row]:.6g} s: {error.without_row}') from error


def straight(model: FlexibleModel, mechanism: Mechanism, desired: Effort) -> FlexibleState:
    """Where the rigid mechanism starts, with its velocities and straight links.

    Parameters
    ----------
    model : FlexibleModel
        Whose state is returned.
    mechanism : Mechanism
        Mechanism with the same joints and rigid links.
    desired : Effort
        Its motion, N rows; the first counts.
    """
    q, v = (_coordinates(model, mechanism, rows[0]) for rows in (desired.q, desired.v))
    free = model.arrays.free
    return model.state(q, q[free], v[free])


def _deviations(
    model: FlexibleModel, mechanism: Mechanism, desired: Effort, states: FlexibleState
) -> dict[str, Any]:
    """End-point error, and deflections and angles of the beams: fields of a run."""
    beams = model.beams.values()
    names = tuple(
        beam.link if len(beam.names) == 1 else f'{beam.link}_{d}'
        for beam in beams
        for d in beam.names
    )
    rigid = FlexibleState(
        *(_coordinates(model, mechanism, rows) for rows in (desired.q, desired.v))
    )
    q, platform = states.q, model.description.platform
    here, there = (model.frame_pose(s.q, platform)[0] for s in (states, rigid))
    end_point = np.linalg.norm(here - there, axis=-1)
    turns = _turns(model, states, rigid)  # angle error, rate, desired rate
    tip, middle = (
        np.column_stack(
            [
                modal @ getattr(beam, what)()
                for beam in beams
                for modal in _modal(model, beam.coordinates, beam.modes, q)
            ]
        )
        for what in ('tip_deflection', 'middle_deflection')
    )
    return {
        'end_point_error': end_point,
        'deflections': names,
        'tip_deflection': tip,
        'middle_deflection': middle,
        'angle_error': turns[0],
        'angular_rate': turns[1],
        'desired_rate': turns[2],
    }


def _modal(
    model: FlexibleModel, coordinates: tuple[str, ...], modes: int, q: FloatArray
) -> list[FloatArray]:
    """Modal coordinates (N, modes) of a beam by direction."""
    first = model.index(coordinates[0])
    return [q[:, k : k + modes] for k in range(first, first + len(coordinates), modes)]


def _turns(model: FlexibleModel, states: FlexibleState, rigid: FlexibleState) -> FloatArray:
    """Angle error, rate and desired rate (3, N, b) about the beams' axes of bending."""
    columns = []
    for beam in model.beams.values():
        (_, here), (_, there) = (model.frame_pose(s.q, beam.link) for s in (states, rigid))
        rate, wanted = (model.angular_velocity(s, beam.link) for s in (states, rigid))
        vector = Rotation.from_matrix(here @ there.swapaxes(-1, -2)).as_rotvec()
        for direction in beam.directions:
            axis = there @ np.cross(beam.axis, direction)
            columns.append([(part * axis).sum(axis=-1) for part in (vector, rate, wanted)])
    return np.moveaxis(np.array(columns), 0, -1)
