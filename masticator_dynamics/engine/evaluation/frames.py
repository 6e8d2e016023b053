# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Poses of frames, and wrenches given in them: in control cycles and for whole recordings.

``Mechanism.frame_pose`` computes the pose for a single motion, from the poses of all bodies.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, as_floats
from masticator_dynamics.engine.evaluation.model import Model, OnDemand
from masticator_dynamics.engine.traced.functions import LARGEST_ANGLE
from masticator_dynamics.engine.traced.python_entry import Answer
from masticator_dynamics.engine.traced.row_code import RowCode, RowInPlace
from masticator_dynamics.engine.traced.small_functions import frame_of_row, poses
from masticator_dynamics.engine.tree import Placement, TreePoses, cross
from masticator_dynamics.errors import InputError


class FrameChain:
    """The joints between the base and a frame, evaluated for rows of tree positions.

    Parameters
    ----------
    mechanism : Mechanism
    frame : str
        URDF link.

    Attributes
    ----------
    joints : list of int
        Tree indices of these joints.

    Raises
    ------
    InputError
        For an unknown frame, naming the known ones.
    """

    def __init__(self, mechanism: Model, frame: str):
        self._end, self._tree = check_frame(mechanism, frame), mechanism.structure.tree
        self._mechanism = mechanism
        self.joints = sorted(self._tree.supports(self._end.body))
        self._frame = frame

    def poses(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Poses of the frame in the base.

        Parameters
        ----------
        q : array, shape (..., n_q)
            Tree positions, rad or m.

        Returns
        -------
        positions : array, shape (..., 3)
            Of the frame's origin, m, base axes.
        rotations : array, shape (..., 3, 3)
            From the frame's axes to the base's.
        """
        return self.at(self.bodies(q))

    @functools.cached_property
    def code(self) -> RowCode:
        """See :func:`frame_of_row`."""
        of = self._mechanism
        return frame_of_row(of.kernels, self._frame, self.joints, of.slices)

    def in_numbers(self, row: FloatArray) -> tuple[list[float], list[list[float]]]:
        """The pose for a whole row of a motion, in plain numbers, which few need faster."""
        place = self._place
        if place is not None:
            place.inputs[:] = row[: len(place.inputs)]
            counts, *numbers = place()[:13].tolist()
            if counts == 1.0:
                return numbers[:3], [numbers[3:6], numbers[6:9], numbers[9:]]
        position, rotation = self.poses(row[self._mechanism.slices['q']])
        return position.tolist(), rotation.tolist()

    @functools.cached_property
    def _place(self) -> RowInPlace | None:
        code = self.code
        return RowInPlace(code, code.inputs) if code.available else None

    def bodies(self, q: FloatArray) -> FloatArray:
        """Axes of all bodies, as rows, and below them their origins (..., n_q, 4, 3), base axes.

        They serve all frames; :meth:`at` computes the pose of each from them.

        Parameters
        ----------
        q : array, shape (..., n_q)
            Tree positions, rad or m.
        """
        return self._mechanism.made(_BodyPoses)(q)

    def at(self, bodies: FloatArray) -> tuple[FloatArray, FloatArray]:
        """:meth:`poses`, where all bodies have been placed (..., n_q, 4, 3)."""
        end, rows = self._end, bodies.shape[:-3]
        if end.body < 0:
            turns = np.broadcast_to(end.rotation, (*rows, 3, 3))
            return np.broadcast_to(end.position, (*rows, 3)).copy(), turns.copy()
        body = bodies[..., end.body, :, :]
        turns = body[..., :3, :]
        return turns @ end.position + body[..., 3, :], turns @ end.rotation

    def jacobians(self, q: FloatArray, tangent: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Positions of the frame's origin, and its velocities per independent velocity.

        Parameters
        ----------
        q : array, shape (N, n_q)
            Tree positions, rad or m.
        tangent : array, shape (N, n_q, n_y)
            Tree velocities per independent velocity.

        Returns
        -------
        positions : array, shape (N, 3)
            m, base axes.
        jacobians : array, shape (N, 3, n_y)
            Linear velocity, base axes.
        """
        poses = tree_poses(self._mechanism, q)
        position = poses.point(self._end.body, self._end.position)
        return position, poses.twists(self._end.body, position)[..., :3, :] @ tangent

    def twists(self, q: FloatArray) -> FloatArray:
        """Twists (..., 6, n_q) of the frame at its origin, see :meth:`TreePoses.twists`."""
        poses = tree_poses(self._mechanism, q)
        return poses.twists(self._end.body, poses.point(self._end.body, self._end.position))

    def twist_rates(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Rates (..., 6, n_q) of :meth:`twists` for tree velocities (..., n_q)."""
        poses, joints = tree_poses(self._mechanism, q), self.joints
        spin, shift = self._tree.subspaces[:, joints]
        axes, origins = poses.rotations[..., 2][..., joints, :], poses.origins[..., joints, :]
        position = poses.point(self._end.body, self._end.position)
        rates, turning = v[..., joints, None], spin * axes
        spins = np.cumsum(turning * rates, axis=-2)  # angular velocity of each body of the chain
        # Velocity of every point that is at the origin of joint j, or of the frame, by joint i.
        points = np.concatenate([origins, position[..., None, :]], axis=-2)
        arms = points[..., None, :, :] - origins[..., :, None, :]
        by_joint = (shift * axes)[..., :, None, :] + cross(turning[..., :, None, :], arms)
        carried = np.triu(np.ones((len(joints), len(joints) + 1)))
        velocities = (by_joint * rates[..., None, :] * carried[..., None]).sum(axis=-3)
        tilting = cross(spins, axes)
        moving = cross(tilting, position[..., None, :] - origins) + cross(
            axes, velocities[..., -1:, :] - velocities[..., :-1, :]
        )
        twists = np.zeros((*v.shape[:-1], 6, v.shape[-1]))
        columns = np.concatenate([shift * tilting + spin * moving, spin * tilting], axis=-1)
        twists[..., joints] = columns.swapaxes(-1, -2)
        return twists


def tree_poses(mechanism: Model, q: FloatArray) -> TreePoses:
    """Poses of all bodies at tree positions (..., n_q), by machine code."""
    base = np.broadcast_to(np.eye(4, 3), (*q.shape[:-1], 1, 4, 3))
    whole = np.concatenate([mechanism.made(_BodyPoses)(q), base], axis=-3)
    return TreePoses(mechanism.structure.tree, q, whole[..., :3, :], whole[..., 3, :])


class _BodyPoses:
    """Machine code for the poses of all bodies; wraps angles too large for its sines."""

    def __init__(self, mechanism: Model):
        tree = mechanism.structure.tree
        self._turns = np.array([joint.turns for joint in tree.joints], bool)
        self._poses = poses(mechanism.kernels)

    def __call__(self, q: FloatArray) -> FloatArray:
        far = np.abs(q) > LARGEST_ANGLE
        if far.any():
            with np.errstate(invalid='ignore'):  # of infinite angles
                q = np.where(far & self._turns, np.arctan2(np.sin(q), np.cos(q)), q)
        bodies = self._poses(q.reshape(-1, q.shape[-1]) if q.ndim > 2 else q)
        return bodies.reshape(*q.shape, 4, 3)


def _chains(mechanism: Model) -> OnDemand[str, FrameChain]:
    return OnDemand(functools.partial(FrameChain, mechanism))


def frame_chain(mechanism: Model, frame: str) -> FrameChain:
    """The chain to a URDF link's frame, made once; raises as :class:`FrameChain` does."""
    if not isinstance(frame, str):
        raise InputError(f'frame is {frame!r:.60}, not the name of one')
    return mechanism.made(_chains)[frame]


def answers(mechanism: Model, frame: str, *, part: slice) -> list[Answer]:
    """Machine code for a part of the output of :func:`frame_of_row`."""
    code, freedoms = frame_chain(mechanism, frame).code, len(mechanism.independent)
    shape = (6, freedoms) if part.stop is None else (part.stop - part.start,)
    row = [(3 * freedoms + 7, code.inputs)]  # of a motion: after its inputs and 1
    return [Answer(code, part.start, shape, {'motion': row})]


def frame_poses(mechanism: Model, q: FloatArray, frame: str) -> tuple[FloatArray, FloatArray]:
    """Poses of a URDF link's frame in the base; see :meth:`FrameChain.poses`.

    Parameters
    ----------
    q : (..., n_q) array
        Tree positions, m and rad.
    """
    return frame_chain(mechanism, frame).poses(q)


def wrenches_on_platform(
    mechanism: Model,
    q: FloatArray,
    wrenches: FloatArray,
    axes: str | None = None,
    point: str | None = None,
) -> FloatArray:
    """Wrenches in base axes about the platform's origin, from wrenches given elsewhere.

    Parameters
    ----------
    mechanism : Model
        The mechanism on whose platform they act.
    q : array, shape (..., n_q)
        Tree positions, rad or m.
    wrenches : array, shape (..., 6)
        Force (N) and torque (N m) of the environment on the platform, components along the axes
        of frame ``axes`` (default: base), the force at the origin of frame ``point`` (default:
        platform) and the torque about it.
    axes, point : str, optional
        URDF links.

    Returns
    -------
    array, shape (..., 6)

    Raises
    ------
    InputError
        For an unknown frame.
    """
    platform = frame_chain(mechanism, mechanism.description.platform)
    bodies = platform.bodies(q)
    if axes is not None:
        points, rotations = frame_chain(mechanism, axes).at(bodies)
        wrenches = turned(wrenches, rotations)
    if point is not None:
        if point != axes:
            points, _ = frame_chain(mechanism, point).at(bodies)
        wrenches = shifted(wrenches, points - platform.at(bodies)[0])
    return wrenches


def turned(wrenches: FloatArray, rotations: FloatArray) -> FloatArray:
    """Wrenches (..., 6) turned into other axes by ``rotations`` (..., 3, 3)."""
    vectors = wrenches.reshape(*wrenches.shape[:-1], 2, 3)
    return (vectors @ rotations.swapaxes(-1, -2)).reshape(wrenches.shape)


def shifted(wrenches: FloatArray, arms: FloatArray) -> FloatArray:
    """Wrenches (..., 6) about other points; ``arms`` (..., 3), m, lead from these to their own."""
    x, y, z = (arms[..., i] for i in range(3))
    fx, fy, fz = (wrenches[..., i] for i in range(3))
    about = np.array(wrenches, dtype=float)
    # The same as `np.cross`, which takes twenty times as long for one row.
    about[..., 3] += y * fz - z * fy
    about[..., 4] += z * fx - x * fz
    about[..., 5] += x * fy - y * fx
    return about


def wrenches_on_bodies(
    mechanism: Model, q: FloatArray, wrenches: Mapping[str, npt.ArrayLike]
) -> FloatArray:
    """Wrenches about the origins of all bodies, as the engine needs them, from those on links.

    Parameters
    ----------
    mechanism : Model
        Whose links they are.
    q : array, shape (..., n_q)
        Tree positions, rad or m.
    wrenches : mapping of str to array_like, shape (6,) or (..., 6)
        By URDF link: force (N) and torque (N m) of the environment on it, base axes, the force at
        the link's origin and the torque about it.

    Returns
    -------
    array, shape (..., 6 n_q)

    Raises
    ------
    InputError
        For an unknown link or a wrong shape.
    """
    rows = q.shape[:-1]
    bodies = np.zeros((*rows, q.shape[-1], 6))
    if not isinstance(wrenches, Mapping):
        raise InputError(f'link_wrenches are {wrenches!r:.60}; needed are wrenches by link')
    for link, components in wrenches.items():
        wrench = as_floats(components, f'the wrench on {link}')
        if wrench.shape not in ((6,), (*rows, 6)):
            needed = ' or '.join(str(shape) for shape in {(6,), (*rows, 6)})
            raise InputError(f'the wrench on {link} has shape {wrench.shape}, needed is {needed}')
        place = check_frame(mechanism, link)
        if place.body < 0:
            continue  # the base bears it
        if place.position.any():
            _, rotations = frame_poses(mechanism, q, link)
            arms = rotations @ (place.rotation.T @ place.position)
            wrench = shifted(np.broadcast_to(wrench, (*rows, 6)), arms)
        bodies[..., place.body, :] += wrench
    return bodies.reshape(*rows, 6 * q.shape[-1])


def check_frame(mechanism: Model, frame: str) -> Placement:
    """Placement of a URDF link's frame on its body; raises InputError for an unknown frame."""
    if frame not in mechanism.frames:
        raise InputError(f'no frame {frame!r}; there are: {", ".join(mechanism.frames)}')
    return mechanism.structure.tree.frames[frame]
