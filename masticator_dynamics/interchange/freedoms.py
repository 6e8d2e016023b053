# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How a closed robot can move: its degrees of freedom, idle spins, and good coordinates.

From these follow the choices that a description needs and imported files omit: motors, held joints.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

import numpy as np
import scipy.linalg

from masticator_dynamics.description.urdf import Array
from masticator_dynamics.errors import DescriptionError, meant
from masticator_dynamics.interchange.pose_search import LoopKinematics, close
from masticator_dynamics.interchange.robot_model import ImportedMotor, Loop, RobotModel

_RANK = 1e-4  # relative; what CAD rounding leaves of a redundant equation is smaller
_STILL = 1e-6  # relative; of a motion that a motor or the platform takes part in
_OWN = 1e-3  # of what a joint does: less of it is no motion of its own
_FREE = 0.03  # smallest share in the motions of a coordinate near the base
_NEIGHBOURS = 6
_LIGHT = 1e-6  # kg; placeholders have at most this mass
_MOVED = 1e-4  # m/s and rad/s, where the joint moves by 1
_BALANCED = 1e-3  # m between the axis of a wheel and its centre of mass


def freedoms(kinematics: LoopKinematics, q: Array) -> tuple[Array, Array]:
    """Motions (joints, k) that keep the loops closed, and the pose where they were computed.

    Poses near ``q`` are compared: if ``q`` itself is singular, one of them is used.
    """
    rng = np.random.default_rng(2)
    here, tied = _null_space(kinematics, q), kinematics.tied()
    candidates = [(here, q)]
    for _ in range(_NEIGHBOURS if kinematics.model.loops else 0):
        moved = here @ rng.uniform(-0.15, 0.15, here.shape[1])
        near, gap = close(kinematics, q + moved * tied)
        if gap < 1e-4 and np.abs(near - q).max() < 1.0:
            candidates.append((_null_space(kinematics, near), near))
    return min(candidates, key=lambda candidate: candidate[0].shape[1])


def _null_space(kinematics: LoopKinematics, q: Array) -> Array:
    """Orthonormal motions (joints, k) that keep the gaps."""
    rates = kinematics.gaps(q).rates
    return np.asarray(scipy.linalg.null_space(rates, rcond=_RANK) if rates.size else np.eye(len(q)))


def idle_joints(kinematics: LoopKinematics, q: Array, motions: Array, platform: str) -> list[str]:
    """Joints to lock so that links that would spin idly stand still.

    A rod between two ball joints spins about its axis: nothing drives or needs that motion.

    Parameters
    ----------
    kinematics : LoopKinematics
        The mechanism with its closed loops.
    q : (n_q,) array
        A closed pose, m and rad.
    motions : (n_q, f) array
        Basis of the joint velocities that keep the loops closed.
    platform : str
        Link whose motion counts.
    """
    driven = [kinematics.names.index(name) for name in kinematics.model.motors]
    felt = np.vstack([motions[driven], kinematics.twist_rates(q, platform) @ motions])
    idle = motions @ scipy.linalg.null_space(felt, rcond=_STILL)
    joints = _pivots(idle, range(len(q)))
    if not joints:
        return []
    separate = idle @ np.linalg.pinv(idle[joints])
    # Where no motors are named, what hangs on one joint alone is a tool rather than a rod; where
    # something was left out, that may hold it.
    trusted = bool(driven) and not kinematics.model.untied
    # An arm with parallel axes that no motors are named for can move so, too: it has no loops.
    in_loops = set[int]().union(*(on for tie, on in kinematics.ties() if isinstance(tie, Loop)))
    return [
        kinematics.names[j]
        for j, motion in zip(joints, separate.T, strict=True)
        if (driven or in_loops.intersection(np.flatnonzero(np.abs(motion) > _STILL)))
        and _is_idle(kinematics, q, motion, trusted)
    ]


def _is_idle(kinematics: LoopKinematics, q: Array, motion: Array, trusted: bool) -> bool:
    """Whether one piece alone turns: between two others, or (``trusted``) about its centre of mass.

    What swings or slides acts on motors by its weight and inertia, though none of them moves it.
    """
    tree, poses = kinematics.tree, kinematics.tree.poses(q)
    linear = np.array([poses.point_jacobian(k, np.zeros(3)) @ motion for k in range(len(q))])
    angular = np.array([poses.angular_jacobian(k) @ motion for k in range(len(q))])
    twists = np.hstack([linear, angular])
    moved = {k for k, twist in enumerate(twists) if np.abs(twist).max() > _MOVED}
    held = len(_holders(kinematics, moved)) > 1
    heavy = [k for k in moved if tree.inertias[k].mass > _LIGHT]
    if not heavy:
        return held or trusted
    turning = angular[heavy[0]]
    parts = np.abs(twists[heavy] - twists[heavy[0]]).max() > _MOVED
    if parts or np.abs(turning).max() < _MOVED:
        return False
    masses = [tree.inertias[k].mass for k in heavy]
    centers = [poses.point(k, tree.inertias[k].center_of_mass) for k in heavy]
    center = np.average(centers, axis=0, weights=masses)
    swing = linear[heavy[0]] + np.cross(turning, center)
    return held or (trusted and float(np.linalg.norm(swing)) < _BALANCED)


def _holders(kinematics: LoopKinematics, moved: set[int]) -> set[int]:
    """Bodies that stand still while some move, and hold these at a point or hinge; -1: the base."""
    tree, held = kinematics.tree, set[int]()
    for body, place in enumerate(tree.placements):
        above = place.body
        if body in moved and above not in moved:
            joints = [body]
            while above >= 0 and tree.inertias[above].mass <= _LIGHT:
                joints.append(above)
                above = tree.placements[above].body
            # A body that slides along as it likes is not held.
            if not any(kinematics.slides[joints]):
                held.add(above)
        elif above in moved and body not in moved:
            held.add(body)
    for loop in kinematics.model.loops:
        ends = {tree.frames[end.link].body for end in (loop.first, loop.second)}
        if loop.kind.joined > 1 and ends & moved:
            held |= ends - moved
    return held


def coordinates(kinematics: LoopKinematics, motions: Array) -> list[str]:
    """Joints, one per degree of freedom, that determine all others.

    Joints with motors are preferred; where the file names none, those that it marks as independent,
    or those near the base.
    """
    model = kinematics.model
    preferred = [*model.motors] or [k for k in model.independent if k in kinematics.names]
    driven = [kinematics.names.index(name) for name in preferred]
    driven = driven or _near_base(kinematics, motions)
    chosen = _pivots(motions, driven)
    rows = motions[chosen] / np.linalg.norm(motions[chosen], axis=1, keepdims=True)
    rest = motions @ scipy.linalg.null_space(rows, rcond=_OWN) if chosen else motions
    others = [j for j in range(len(motions)) if j not in driven]
    chosen = sorted(chosen, key=driven.index) + _pivots(rest, others)
    return [kinematics.names[j] for j in chosen]


def _near_base(kinematics: LoopKinematics, motions: Array) -> list[int]:
    """Joints in order from the base that can move independently of those before them."""
    order = sorted(range(len(motions)), key=lambda j: len(kinematics.tree.supports(j)))
    chosen: list[int] = []
    for joint in order:
        rows = motions[[*chosen, joint]]
        if len(rows) <= motions.shape[1] and np.linalg.svd(rows, compute_uv=False)[-1] > _FREE:
            chosen.append(joint)
    return chosen


def _pivots(motions: Array, joints: range | list[int]) -> list[int]:
    """Of some joints, those whose rows of the motions are most independent.

    What a joint does by itself is compared with all that it does: one that slides by a thread's
    lead while others turn by a radian does little, and may do it by itself.
    """
    candidates = list(joints)
    rows = motions[candidates]
    if not rows.size or not np.abs(rows).max() > _STILL:
        return []
    _, triangle, order = scipy.linalg.qr(rows.T, mode='economic', pivoting=True)
    order, by_itself = order[: len(triangle)], np.abs(np.diag(triangle))
    own = by_itself > _OWN * np.linalg.norm(rows[order], axis=1)
    return [candidates[j] for j in order[own & (by_itself > _STILL * by_itself[0])]]


_AT_STOP = 1e-3  # rad or m
_NEAR_REST = 0.3  # rad or m: a spring that rests farther from the closed pose counts as soft


def require_moving(model: RobotModel, key: str, names: Sequence[str]) -> None:
    """Refuse names of joints that do not exist or do not move.

    Parameters
    ----------
    model : RobotModel
        The robot as read.
    key : str
        Key or option that names them, for the message.
    names : sequence of str
        Joints that must exist and move.
    """
    moving = [joint.name for joint in model.joints if joint.moves]
    for name in names:
        if name not in moving:
            near = meant(name, moving) or f'; there are: {", ".join(moving)}'
            raise DescriptionError(model.file, key, f'moving joint {name!r} does not exist{near}')


_RESTS = 1e-3  # rad or m, by which a joint that rests may be seen to move


def hold_unmoved(model: RobotModel, recorded: Mapping[str, tuple[float, float]]) -> None:
    """Hold joints that a recording does not have, or in which they rest.

    Parameters
    ----------
    model : RobotModel
        The robot as read, modified in place.
    recorded : mapping
        Least and greatest position, rad or m, by joint.

    Raises
    ------
    DescriptionError
        For a robot with loops, whose joints without encoders move, too, and where nothing moves.
    """
    key = 'recording'
    if model.loops:
        raise DescriptionError(
            model.file, key, 'in its loops joints move that no recording has: --lock names others'
        )
    moving = [joint.name for joint in model.joints if joint.moves]
    moved = {name for name, (low, high) in recorded.items() if high - low > _RESTS}
    following = {coupling.joint for coupling in model.couplings}
    if not moved.intersection(moving):
        raise DescriptionError(
            model.file, key,
            f'no joint of it moves there; its joints are {", ".join(moving)}, and recorded are '
            f'{", ".join(recorded)}; --joints NAME=NAME_IN_THE_RECORDING maps names',
        )  # fmt: skip
    for name in moving:
        if name in moved | following or not model.has_moving(name):
            continue
        low, high = recorded.get(name, (0.0, 0.0))
        reason = 'it rests in the recording' if name in recorded else 'it is not in the recording'
        lock(model, name, {name: 0.5 * (low + high)}, reason)


def choose_motors(model: RobotModel, names: Sequence[str]) -> None:
    """Put motors on joints by name, if any are named."""
    require_moving(model, 'actuated', names)
    if names:
        model.motors = {name: model.motors.get(name, ImportedMotor()) for name in names}


def hold_stiff_springs(model: RobotModel) -> None:
    """Hold joints without motors whose springs rest near the pose where the search starts.

    A joint stays free if holding it would block another, or if the weight of what it carries would
    wind its spring up as far as one that rests elsewhere.
    """
    stuck = _immobile(model) if model.springs else set()
    weights = _weights(model) if model.springs else {}
    for name, spring in list(model.springs.items()):
        start = model.guess.get(name, 0.0)
        sag = weights[name] / spring.stiffness
        if name in model.motors or max(abs(spring.reference - start), abs(sag)) >= _NEAR_REST:
            continue
        trial = copy.deepcopy(model)
        trial.lock(name, spring.reference)
        blocked = _immobile(trial) - stuck
        if blocked:
            reason = f'stays free: held, it would block {", ".join(sorted(blocked))}'
            model.notes.append(f'joint {name} with its spring {reason}')
        else:
            lock(model, name, {name: spring.reference}, 'it has a spring and no motor')


def hold_pressed_joints(model: RobotModel, positions: Mapping[str, float]) -> None:
    """Hold joints without motors that springs press against their stops."""
    while True:
        kinematics = LoopKinematics(model)
        q = np.array([positions[name] for name in kinematics.names])
        driven = [kinematics.names.index(name) for name in model.motors]
        if not driven or not model.springs:
            return
        motions, _ = freedoms(kinematics, q)
        idle = motions @ scipy.linalg.null_space(motions[driven], rcond=1e-6)
        effort = np.zeros(len(q))
        for name, spring in model.springs.items():
            joint = kinematics.names.index(name)
            effort[joint] = spring.stiffness * (spring.reference - q[joint])
        # Where the springs would move joints that no motor holds.
        yields = idle @ (idle.T @ effort)
        pressed = (yields > 0.0) & (q > kinematics.upper - _AT_STOP)
        pressed |= (yields < 0.0) & (q < kinematics.lower + _AT_STOP)
        pressed &= np.abs(yields) > 1e-6 * np.abs(effort).max(initial=0.0)
        if not pressed.any():
            return
        name = kinematics.names[int(np.argmax(np.where(pressed, np.abs(yields), 0.0)))]
        lock(model, name, positions, 'a spring presses it against its stop')


def _weights(model: RobotModel) -> dict[str, float]:
    """Effort, N m or N, of the weight of all that each joint carries, where the search starts."""
    kinematics = LoopKinematics(model)
    poses, effort = kinematics.tree.poses(kinematics.guess()), np.zeros(len(kinematics.names))
    for body, inertia in enumerate(kinematics.tree.inertias):
        center = poses.point(body, inertia.center_of_mass)
        effort += inertia.mass * np.array(model.gravity) @ poses.point_jacobian(body, center)
    return dict(zip(kinematics.names, effort.tolist(), strict=True))


def _immobile(model: RobotModel) -> set[str]:
    """Joints that the loops keep from moving."""
    kinematics = LoopKinematics(model)
    q, _ = close(kinematics, kinematics.guess())
    motions, _ = freedoms(kinematics, q)
    rows = np.linalg.norm(motions, axis=1)
    return {name for name, row in zip(kinematics.names, rows, strict=True) if row < 1e-5}


def lock(model: RobotModel, name: str, positions: Mapping[str, float], reason: str) -> None:
    """Make a joint fixed, and note it.

    Parameters
    ----------
    model : RobotModel
        Modified in place.
    name : str
        The joint.
    positions : mapping
        Joint positions, m and rad, by name.
    reason : str
        For the note.
    """
    unit = model.joint(name).unit
    model.notes.append(f'joint {name} is held at {positions[name]:.6g} {unit}: {reason}')
    model.lock(name, positions[name])
