# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Kinematics of a mechanism as its users see it: joints to joints, frames and wrenches in them.

Twists, accelerations and Jacobians of frames are those of Siciliano, Robotics, 2009, Sec. 3.1.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, as_finite_vector, as_floats
from masticator_dynamics.engine.evaluation.answered import answered, by
from masticator_dynamics.engine.evaluation.results import Effort, Evaluator, Motion, check_motion
from masticator_dynamics.errors import InputError, MasticatorError

# Imported where it is used: a process that only computes efforts needs none of it.
if TYPE_CHECKING:
    from masticator_dynamics.engine.evaluation.actuated_fit import ForwardKinematics
    from masticator_dynamics.engine.evaluation.frames import FrameChain

# Of the output of `frame_of_row`.
PLACED, TWIST, JACOBIAN = slice(1, 13), slice(13, 19), slice(19, None)


@dataclasses.dataclass(frozen=True)
class FramePose:
    """Pose of a frame in the base: ``position`` (3,) in m and ``rotation`` (3, 3) of its axes."""

    position: FloatArray
    rotation: FloatArray


@contextlib.contextmanager
def _of_row(row: int) -> Iterator[None]:
    """Name the row of a batch in an error."""
    try:
        yield
    except MasticatorError as error:
        from masticator_dynamics.engine.evaluation.failures import in_row

        raise in_row(error, row, many=True) from None


class Kinematics(Evaluator):
    """The part of :class:`Mechanism` that is about positions and rates of joints and frames."""

    @answered(by('actuated_fit'))
    def forward_kinematics(self, u: npt.ArrayLike, tolerance: float = 1e-4) -> FloatArray:
        """Independent positions (n_y,) from those of the actuated joints.

        Parameters
        ----------
        u : array_like, shape (n_u,)
            Rad or m. Of more actuators than degrees of freedom the fit is a least-squares one.
        tolerance : float
            Largest gap that the loops may keep, m.

        Raises
        ------
        InputError
            For a wrong shape, NaN or infinity.
        ClosureError
            When a loop stays open by more than that.
        ReachError
            When no closed configuration is found.
        """
        from masticator_dynamics.engine.evaluation.actuated_fit import closest_motion

        return closest_motion(self, u, tolerance)[0].y.copy()

    def forward_kinematics_batch(
        self, U: npt.ArrayLike, tolerance: float = 1e-4
    ) -> ForwardKinematics:
        """:meth:`forward_kinematics` for rows (N, n_u), with the residual of each."""
        from masticator_dynamics.engine.evaluation.actuated_fit import (
            ForwardKinematics,
            closest_pose,
        )

        u = as_floats(U, 'U')
        if u.ndim != 2:
            raise InputError(f'U has shape {u.shape}, needed is (N, {len(self.actuated)})')
        y, residual = np.empty((len(u), len(self.independent))), np.empty(len(u))
        for row in range(len(u)):
            with _of_row(row):
                y[row], residual[row] = closest_pose(self, u[row], tolerance)
        return ForwardKinematics(y, residual)

    @answered(by('inverse_kinematics'))
    def inverse_kinematics(
        self,
        frame: str,
        position: npt.ArrayLike | None = None,
        rotation: npt.ArrayLike | None = None,
        start: npt.ArrayLike | None = None,
    ) -> FloatArray:
        """Independent positions (n_y,) at which a frame has a pose, or the given parts of one.

        Always on the branch continuous with home. Where the mechanism has more freedoms than are
        asked for, the answer is one near ``start``. Ranges of joints do not matter.

        Parameters
        ----------
        frame : str
            URDF link.
        position : array_like, shape (3,), optional
            Of its origin, m, base axes; None or NaN where a component does not matter.
        rotation : array_like, shape (3, 3) or (3,), optional
            From its axes to the base's; a column of NaN is an axis that does not matter. A vector
            is the direction of its third axis alone, of any length.
        start : array_like, shape (n_y,), optional
            Where the search begins; default: home.

        Raises
        ------
        ReachError
            When no pose is found; says how far the closest one is away and in which directions.
        InputError
            For an unknown frame, wrong shapes, nothing asked for, or axes that are not
            orthonormal.
        """
        from masticator_dynamics.engine.evaluation.inverse_kinematics import reach

        return reach(self, frame, position, rotation, start)

    def inverse_kinematics_batch(
        self,
        frame: str,
        positions: npt.ArrayLike | None = None,
        rotations: npt.ArrayLike | None = None,
        starts: npt.ArrayLike | None = None,
    ) -> FloatArray:
        """:meth:`inverse_kinematics` for rows (N, ...), each by itself; errors name the row."""
        names = {'positions': positions, 'rotations': rotations, 'starts': starts}
        tables = {name: as_floats(x, name) for name, x in names.items() if x is not None}
        lengths = {len(x) if x.ndim > 1 else None for x in tables.values()}
        if len(lengths) != 1 or None in lengths:
            shapes = ', '.join(f'{name} {x.shape}' for name, x in tables.items()) or 'none'
            raise InputError(f'needed are rows, as many of each; given are {shapes}')
        y = np.empty((len(next(iter(tables.values()))), len(self.independent)))
        for row in range(len(y)):
            parts = (tables[name][row] if name in tables else None for name in names)
            with _of_row(row):
                y[row] = self.inverse_kinematics(frame, *parts)
        return y

    @answered(by('frames', part=PLACED))
    def _placed(self, motion: Motion | Effort, frame: str) -> FloatArray:
        """Position, then rotation row by row (..., 12)."""
        position, rotation = self._chain_for(motion, frame).poses(motion.q)
        return np.concatenate([position, rotation.reshape(*position.shape[:-1], 9)], axis=-1)

    def frame_pose(self, motion: Motion | Effort, frame: str) -> FramePose:
        """Pose of a URDF link's frame in the base; leading axes as the motion's.

        Raises
        ------
        InputError
            For an unknown frame, naming the known ones, and for a motion of another mechanism;
            likewise all that follow.
        """
        placed = self._placed(motion, frame)
        return FramePose(placed[..., :3], placed[..., 3:].reshape(*placed.shape[:-1], 3, 3))

    def frame_chain(self, frame: str) -> FrameChain:
        """Kinematic chain that computes poses of a URDF link's frame; created once."""
        from masticator_dynamics.engine.evaluation.frames import frame_chain

        return frame_chain(self, frame)

    @answered(by('frames', part=JACOBIAN))
    def frame_jacobian(self, motion: Motion | Effort, frame: str) -> FloatArray:
        """Twist of a frame per independent velocity (..., 6, n_y): linear over angular.

        Linear velocity of the frame's origin and angular velocity, both in base axes: the geometric
        Jacobian of the chain from base to frame, on motions that keep the loops closed::

            J = [screws of the chain's joints] G,    q_dot = G y_dot
        """
        return self._chain_for(motion, frame).twists(motion.q) @ motion.tangent

    def frame_jacobian_rate(self, motion: Motion | Effort, frame: str) -> FloatArray:
        """Rate of :meth:`frame_jacobian` (..., 6, n_y) in a motion; times y_dot it is J_dot y_dot.

        :meth:`frame_acceleration` is ``jacobian @ y_ddot + jacobian_rate @ y_dot``.
        """
        chain = self._chain_for(motion, frame)
        turned = chain.twist_rates(motion.q, motion.v) @ motion.tangent
        return turned + chain.twists(motion.q) @ self.tangent_rate(motion)

    @answered(by('frames', part=TWIST))
    def frame_twist(self, motion: Motion | Effort, frame: str) -> FloatArray:
        """Linear velocity of a frame's origin, m/s, and its angular velocity, rad/s (..., 6).

        In base axes.
        """
        return (self._chain_for(motion, frame).twists(motion.q) @ motion.v[..., None])[..., 0]

    def frame_acceleration(self, motion: Motion | Effort, frame: str) -> FloatArray:
        """Rate of :meth:`frame_twist` (..., 6), m/s^2 and rad/s^2, base axes.

        The first three are the acceleration of the frame's origin, without gravity.
        """
        chain = self._chain_for(motion, frame)
        moving = chain.twist_rates(motion.q, motion.v) @ motion.v[..., None]
        return (moving + chain.twists(motion.q) @ motion.a[..., None])[..., 0]

    def tangent_rate(self, motion: Motion | Effort) -> FloatArray:
        """Rate of :attr:`Motion.tangent` (..., n_q, n_y): a = tangent y_ddot + rate y_dot."""
        from masticator_dynamics.engine.evaluation.mass_and_bias import EquationsOfMotion

        return self.made(EquationsOfMotion).tangent_rate(motion)

    def _chain_for(self, motion: Motion | Effort, frame: str) -> FrameChain:
        """Chain of a frame, for a motion of this mechanism."""
        check_motion(self, motion)
        return self.frame_chain(frame)

    def wrench_on_platform(
        self,
        motion: Motion,
        force: npt.ArrayLike,
        torque: npt.ArrayLike,
        axes: str | None = None,
        point: str | None = None,
    ) -> FloatArray:
        """Wrench (6,) for :meth:`feedforward` from a force and torque measured elsewhere.

        Parameters
        ----------
        force, torque : array_like, shape (3,)
            N and N m, environment on platform, components along the axes of frame ``axes``
            (default: base); the force acts at the origin of frame ``point`` (default: platform)
            and the torque is about that point.

        Raises
        ------
        InputError
            For an unknown frame or a wrong shape.
        """
        from masticator_dynamics.engine.evaluation.frames import wrenches_on_platform

        check_motion(self, motion)
        parts = as_finite_vector(force, 'force', 3), as_finite_vector(torque, 'torque', 3)
        wrench = np.concatenate(parts)
        return wrenches_on_platform(self, motion.q, wrench, axes, point)
