# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Five-axis machines: independent coordinates from the tool's tip and the direction of its axis.

For any description with five degrees of freedom whose tool is carried by a wrist of two revolute
joints among the independent coordinates; what moves the wrist may be serial or parallel. S4 Eqs. 2
to 7 solve it in closed form for TriMule; here the equations are solved by Newton's method on the
machine's own Jacobian, once for each of the wrist's two solutions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, as_finite_vector
from masticator_dynamics.engine.evaluation.frames import FrameChain, check_frame
from masticator_dynamics.engine.evaluation.results import Motion
from masticator_dynamics.errors import (
    InputError,
    LimitError,
    MasticatorError,
    ReachError,
    SingularityError,
)
from masticator_dynamics.mechanism import Mechanism

_ITERATIONS = 60
_CONVERGED = 1e-11  # m, rad
_LARGEST_STEP = 0.3  # m, rad
_SMALLEST_STEP = 1e-4  # as a fraction of the full step
# Smallest singular value of the tool's Jacobian (m and rad mixed) relative to the largest.
_SINGULAR = 1e-5
_SPACING = np.radians(5.0)  # of the wrist angles tried as starts
_OTHER_WAY = np.radians(60.0)


class ToolKinematics:
    """Forward and inverse kinematics of the tool of a machine with a two-axis wrist.

    Parameters
    ----------
    mechanism : Mechanism
        With five independent coordinates.
    tool : str
        URDF link: its origin is the tip, its z axis the tool axis.

    Attributes
    ----------
    wrist : list of int
        Indices of the wrist's two independent coordinates.

    Raises
    ------
    InputError
        For an unknown frame, another number of coordinates, or no wrist.
    """

    def __init__(self, mechanism: Mechanism, tool: str = 'tool'):
        check_frame(mechanism, tool)
        self.mechanism, self.tool = mechanism, tool
        count = len(mechanism.independent)
        if count != 5:
            raise InputError(
                f'{mechanism.name} has {count} degrees of freedom; tip and axis of a tool are five'
            )
        tree = mechanism.structure.tree
        carrying = tree.supports(tree.frames[tool].body)
        columns = mechanism.tree_indices(mechanism.independent)
        turning = [
            k for k, j in enumerate(columns) if j in carrying and tree.joints[j].type != 'prismatic'
        ]
        if len(turning) < 2:
            raise InputError(
                f'{mechanism.name}: {tool!r} needs two turning joints among the independent ones '
                f'that carry it, it has {len(turning)}'
            )
        # In a serial machine with more of them, the last two are the wrist.
        self.wrist = sorted(turning, key=lambda k: columns[k])[-2:]
        joints = [columns[k] for k in self.wrist]
        self._wrist_range = mechanism.limits.lower[joints], mechanism.limits.upper[joints]
        self._start_angles, self._start_axes = self._wrist_grid(joints)

    def forward(self, motion: Motion) -> tuple[FloatArray, FloatArray]:
        """Tip (3,) in m and axis (3,), base axes, of a solved motion."""
        pose = self.mechanism.frame_pose(motion, self.tool)
        return pose.position, pose.rotation[:, 2]

    def inverse(
        self, tip: npt.ArrayLike, axis: npt.ArrayLike, near: npt.ArrayLike | None = None
    ) -> Motion:
        """Find the pose that puts the tool's tip at a point and its axis in a direction.

        Of the wrist's two solutions, those inside the ranges of all joints are preferred, and of
        these the one that turns the wrist least from ``near``.

        Parameters
        ----------
        tip : array_like, shape (3,)
            m, base axes.
        axis : array_like, shape (3,)
            Any length but 0, base axes, away from the spindle.
        near : array_like, shape (5,), optional
            Independent coordinates, e.g. of the previous pose; default: home.

        Returns
        -------
        Motion
            ``y`` are the independent, ``position`` the actuated coordinates.

        Raises
        ------
        ReachError
            When there is no such pose.
        SingularityError
            When the wrist is singular: the tool axis does not determine its first angle.
        LimitError
            When a limb or joint would leave its range, naming it and the amount.
        InputError
            For a wrong shape, NaN or infinity, or an axis of length 0.
        """
        target = as_finite_vector(tip, 'tip', 3), _direction(as_finite_vector(axis, 'axis', 3))
        centre = self.mechanism.home.y if near is None else as_finite_vector(near, 'near', 5)
        found: list[Motion] = []
        failures: list[MasticatorError] = []
        for start in self._starts(target[1], centre):
            try:
                found.append(self._newton(start, target, centre))
            except (ReachError, SingularityError) as error:
                failures.append(error)
        if not found:
            # A singular wrist is more informative than a solution that failed.
            worst = next((e for e in failures if isinstance(e, SingularityError)), failures[0])
            raise type(worst)(f'{_shown_target(target)}: {worst}')
        best = min(found, key=lambda m: (bool(self._violation(m)), self._turn(m.y, centre)))
        violation = self._violation(best)
        if violation:
            raise LimitError(f'{_shown_target(target)}: {violation}')
        return best

    def _wrist_grid(self, joints: list[int]) -> tuple[FloatArray, FloatArray]:
        """Wrist angles (M, 2) and the tool axes (M, 3) they give with the other joints at home."""
        lower, upper = (
            np.maximum(self._wrist_range[0], -np.pi),
            np.minimum(self._wrist_range[1], np.pi),
        )
        steps = [
            np.linspace(low, high, 2 * int(np.ceil((high - low) / _SPACING / 2.0)) + 1)
            for low, high in zip(lower, upper, strict=True)
        ]
        angles = np.array(list(itertools.product(*steps)))
        q = np.tile(self.mechanism.home.q, (len(angles), 1))
        q[:, joints] = angles
        return angles, FrameChain(self.mechanism, self.tool).poses(q)[1][:, :, 2]

    def _starts(self, axis: FloatArray, centre: FloatArray) -> Iterator[FloatArray]:
        """Start coordinates for both wrist solutions; the other coordinates as at ``centre``."""
        away = np.arccos(np.clip(self._start_axes @ axis, -1.0, 1.0))
        turned = _wrapped(self._start_angles - centre[self.wrist])
        # Where many angles serve, as with the tool straight, take the least turned.
        cost = away + 1e-6 * np.linalg.norm(turned, axis=1)
        first = int(np.argmin(cost))
        other = np.abs(_wrapped(self._start_angles - self._start_angles[first])).max(axis=1)
        second = int(np.argmin(np.where(other > _OTHER_WAY, cost, np.inf)))
        for index in (first, second):
            start = centre.copy()
            start[self.wrist] = self._start_angles[index]
            yield start

    def _newton(
        self, y: FloatArray, target: tuple[FloatArray, FloatArray], centre: FloatArray
    ) -> Motion:
        """Solve for tip and axis from a start."""
        motion = self.mechanism.solve(y)
        for _ in range(_ITERATIONS):
            error, jacobian = self._linearised(motion, target)
            if np.abs(error).max() < _CONVERGED:
                return self._regular(motion, jacobian, centre)
            step = np.asarray(np.linalg.lstsq(jacobian, error, rcond=_SINGULAR)[0], dtype=float)
            step *= _LARGEST_STEP / max(_LARGEST_STEP, np.abs(step).max())
            motion = self._stepped(motion.y, step)
        raise ReachError(
            'out of reach: the nearest pose found is '
            f'{np.linalg.norm(error[:3]) * 1e3:.6g} mm and '
            f'{np.degrees(np.linalg.norm(error[3:])):.4g}° off'
        )

    def _linearised(
        self, motion: Motion, target: tuple[FloatArray, FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Error (6,) of tip and axis, m and rad, and its Jacobian (6, 5) by the coordinates."""
        tree = self.mechanism.structure.tree
        placement, poses = tree.frames[self.tool], tree.poses(motion.q)
        tip = poses.point(placement.body, placement.position)
        axis = (poses.rotations[placement.body] @ placement.rotation)[:, 2]
        turning = poses.angular_jacobian(placement.body)
        jacobian = np.vstack([poses.point_jacobian(placement.body, tip), turning]) @ motion.tangent
        # Turning about the tool's own axis does not count.
        jacobian[3:] -= np.outer(axis, axis @ jacobian[3:])
        across = np.cross(axis, target[1])
        sine = float(np.linalg.norm(across))
        angle = float(np.arctan2(sine, axis @ target[1]))
        if sine < 1e-9 and angle > 1.0:  # opposite: turn about any perpendicular axis
            across, sine = np.linalg.svd(axis[None])[2][1], 1.0
        turn = across * (angle / sine if sine > 0.0 else 1.0)
        return np.concatenate([target[0] - tip, turn]), jacobian

    def _stepped(self, y: FloatArray, step: FloatArray) -> Motion:
        """Take a step, shortened until the loops close."""
        part = 1.0
        while True:
            try:
                return self.mechanism.solve(y + part * step)
            except (ReachError, SingularityError):
                part /= 2.0
                if part < _SMALLEST_STEP:
                    raise

    def _regular(self, motion: Motion, jacobian: FloatArray, centre: FloatArray) -> Motion:
        """The solution without whole turns of the wrist; raises for a singular pose."""
        _, values, directions = np.linalg.svd(jacobian)
        if values[4] < _SINGULAR * values[0]:
            free = self.mechanism.independent[int(np.abs(directions[4]).argmax())]
            raise SingularityError(
                f'the wrist is singular: the tool does not determine {free} '
                f'(singular value {values[4]:.2g}, largest {values[0]:.2g})'
            )
        y = motion.y.copy()
        angles = centre[self.wrist] + _wrapped(y[self.wrist] - centre[self.wrist])
        lower, upper = self._wrist_range
        angles -= 2.0 * np.pi * (angles > upper)
        angles += 2.0 * np.pi * (angles < lower)
        y[self.wrist] = angles
        return self.mechanism.solve(y)

    def _turn(self, y: FloatArray, centre: FloatArray) -> float:
        return float(np.linalg.norm(_wrapped(y[self.wrist] - centre[self.wrist])))

    def _violation(self, motion: Motion) -> str:
        """The first range violated, actuated joints first, and by how much; empty if none."""
        left = [v for v in self.mechanism.range_violations(motion) if v.quantity == 'position']
        left.sort(key=lambda v: v.name not in self.mechanism.actuated)
        if not left:
            return ''
        amount = max(left[0].lower - left[0].value, left[0].value - left[0].upper)
        return f'{left[0]}, by {amount:.6g} {left[0].unit}'


def _wrapped(angles: FloatArray) -> FloatArray:
    """Angles in (-pi, pi]."""
    return np.pi - (np.pi - angles) % (2.0 * np.pi)


def _direction(axis: FloatArray) -> FloatArray:
    length = float(np.linalg.norm(axis))
    if length == 0.0:
        raise InputError('the tool axis has length 0: no direction')
    return axis / length


def _shown_target(target: tuple[FloatArray, FloatArray]) -> str:
    tip, axis = (', '.join(f'{value:.6g}' for value in part) for part in target)
    return f'tip ({tip}) m, axis ({axis})'
