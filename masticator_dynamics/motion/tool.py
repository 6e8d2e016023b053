# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Five-axis machines: independent coordinates from the tool's tip and the direction of its axis.

For any description with five degrees of freedom whose tool is carried by a wrist of two revolute
joints among the independent coordinates; what moves the wrist may be serial or parallel. S4 Eqs. 2
to 7 solve it in closed form for TriMule; here the mechanism's inverse kinematics begins once near
each of the wrist's two solutions.
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
        turning = [k for k, j in enumerate(columns) if j in carrying and tree.joints[j].turns]
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
        motions: list[Motion] = []
        failures: list[MasticatorError] = []
        for start in self._starts(target[1], centre):
            try:
                y = self.mechanism.inverse_kinematics(self.tool, *target, start)
                motions.append(self._regular(y, centre))
            except (ReachError, SingularityError) as error:
                failures.append(error)
        if not motions:
            # A singular wrist is more informative than a solution that failed.
            worst = next((e for e in failures if isinstance(e, SingularityError)), failures[0])
            raise type(worst)(f'{_shown_target(target)}: {worst}')
        best = min(motions, key=lambda m: (bool(self._violation(m)), self._turn(m.y, centre)))
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

    def _regular(self, y: FloatArray, centre: FloatArray) -> Motion:
        """The pose without whole turns of the wrist; raises where it is singular."""
        motion = self.mechanism.solve(y)
        jacobian, axis = self.mechanism.frame_jacobian(motion, self.tool), self.forward(motion)[1]
        turning = jacobian[3:] - np.outer(axis, axis @ jacobian[3:])  # about the axis: no matter
        _, values, directions = np.linalg.svd(np.vstack([jacobian[:3], turning]))
        if values[4] < _SINGULAR * values[0]:
            free = self.mechanism.independent[int(np.abs(directions[4]).argmax())]
            raise SingularityError(
                f'the wrist is singular: the tool does not determine {free} '
                f'(singular value {values[4]:.2g}, largest {values[0]:.2g})'
            )
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
        violations = self.mechanism.range_violations(motion)
        positions = [v for v in violations if v.quantity == 'position']
        if not positions:
            return ''
        first = min(positions, key=lambda v: v.name not in self.mechanism.actuated)
        amount = max(first.lower - first.value, first.value - first.upper)
        return f'{first}, by {amount:.6g} {first.unit}'


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
