# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Actuators of a compiled MuJoCo model, as motors of joints; the names of its parts.

One that does not act on a joint gets a joint of its own, without mass: a slide, or a telescopic rod
along its tendon.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from masticator_dynamics.description.closures import DISTANCE, POINT
from masticator_dynamics.description.joints import CONTINUOUS, PRISMATIC
from masticator_dynamics.description.urdf import Array, Joint
from masticator_dynamics.engine.tree import rotation_to
from masticator_dynamics.interchange.robot_model import (
    Frame,
    ImportedMotor,
    JointCoupling,
    Loop,
    RobotModel,
    turning_joints,
)
from masticator_dynamics.interchange.unread import Unread


class MjcfParts:
    """A compiled model (``mujoco.MjModel``) whose bodies and joints all have names."""

    def __init__(self, mujoco: Any, compiled: Any):
        self.mujoco, self.compiled = mujoco, compiled
        self.bodies = self._names('BODY', compiled.nbody, lambda body: f'body_{body}')
        self.bodies[0] = 'world'
        self.joints = self._names('JOINT', compiled.njnt, self._usual_joint_name)

    def _names(self, kind: str, count: int, usual: Callable[[int], str]) -> list[str]:
        """Names of all parts of a kind; of nameless ones usual names that no other has."""
        names = [self.name(kind, part, '?') for part in range(count)]
        for part, name in enumerate(names):
            if name == '?':
                new = usual(part)
                while new in names:
                    new += '_'
                names[part] = new
        return names

    def name(self, kind: str, index: int, default: str = '') -> str:
        """Name of a part, such as an ``ACTUATOR``; by default its kind and number from 1."""
        kinds = self.mujoco.mjtObj
        written = self.mujoco.mj_id2name(self.compiled, getattr(kinds, f'mjOBJ_{kind}'), index)
        return str(written or default or f'{kind.lower()}_{index + 1}')

    def _usual_joint_name(self, joint: int) -> str:
        body = self.compiled.jnt_bodyid[joint]
        return f'{self.bodies[body]}_joint_{joint - self.compiled.body_jntadr[body] + 1}'

    def site(self, site: int) -> Frame:
        """A site as a frame of its body."""
        m = self.compiled
        body = self.bodies[m.site_bodyid[site]]
        return Frame(body, m.site_pos[site].copy(), matrix(m.site_quat[site]))

    def joints_of(self, tendon: int) -> dict[str, float]:
        """Joints and coefficients, but those of 0, of a fixed tendon; none for a spatial one."""
        m, arms = self.compiled, dict[str, float]()
        for wrap in self._wraps(tendon, 'JOINT'):
            joint = self.joints[m.wrap_objid[wrap]]
            arms[joint] = arms.get(joint, 0.0) + float(m.wrap_prm[wrap])
        return {joint: arm for joint, arm in arms.items() if arm}

    def ends_of(self, tendon: int) -> tuple[Frame, Frame] | None:
        """The sites that a straight tendon runs between; none for a longer or a fixed one."""
        sites = [self.site(self.compiled.wrap_objid[w]) for w in self._wraps(tendon, 'SITE')]
        return (sites[0], sites[1]) if len(sites) == 2 else None

    def _wraps(self, tendon: int, kind: str) -> range:
        """What a tendon runs along, if all of it is of one kind."""
        m = self.compiled
        wraps = range(m.tendon_adr[tendon], m.tendon_adr[tendon] + m.tendon_num[tendon])
        wanted = int(getattr(self.mujoco.mjtWrap, f'mjWRAP_{kind}'))
        return wraps if all(int(m.wrap_type[w]) == wanted for w in wraps) else range(0)


def matrix(quaternion: Array) -> Array:
    """Rotation (3, 3) of a quaternion w, x, y, z."""
    w, x, y, z = quaternion
    rotation: Array = Rotation.from_quat([x, y, z, w]).as_matrix()
    return rotation


_READ = (
    'Read are actuators of hinges and slides, of fixed tendons, of straight tendons between two '
    'sites, and slider-cranks'
)
_OTHERS = {
    'joint': 'it acts on a ball or free joint',
    'jointinparent': 'it acts on a ball or free joint',
    'tendon': 'its tendon wraps around something or has more than two sites',
}
_ALONG = np.array([0.0, 0.0, 1.0])


def read_actuators(parts: MjcfParts, model: RobotModel, unread: Unread) -> None:
    """Add the actuators of a compiled model to a robot that has its joints and equalities.

    Raises
    ------
    DescriptionError
        For one that has no counterpart, unless it is to be left out.
    """
    reader = _Actuators(parts, model, unread)
    for index in range(len(parts.compiled.actuator_trntype)):  # some have several controls
        reader.read(index)


class _Actuators:
    def __init__(self, parts: MjcfParts, model: RobotModel, unread: Unread):
        self.parts, self.model, self.unread = parts, model, unread
        self.m = parts.compiled
        self.pose = self._pose()

    def _pose(self) -> Any:
        """MuJoCo's data where the search for a closed pose starts."""
        data = self.parts.mujoco.MjData(self.m)
        if self.m.nkey:
            data.qpos[:] = self.m.key_qpos[0]
        self.parts.mujoco.mj_fwdPosition(self.m, data)
        return data

    def read(self, index: int) -> None:
        name, target = self.parts.name('ACTUATOR', index), int(self.m.actuator_trnid[index, 0])
        kinds = {int(value): kind for kind, value in self.parts.mujoco.mjtTrn.__members__.items()}
        kind = kinds[int(self.m.actuator_trntype[index])].removeprefix('mjTRN_').lower()
        gear = float(self.m.actuator_gear[index, 0])
        if kind == 'body':
            self.model.notes.append(f'actuator {name} is left out: adhesion acts on contacts only')
        elif self._acts_alone(index):
            reason = 'its force is a spring, a damper or constant, which no control sets'
            self.unread.refuse('actuator', name, reason, _READ)
        elif kind in ('joint', 'jointinparent') and self._moves_by_one(target):
            self._drive(index, name, self.parts.joints[target], gear)
        elif kind == 'slidercrank':
            self._drive(index, name, self._slider_crank(index, name, gear), gear)
        elif kind == 'tendon' and self.parts.joints_of(target):
            self._fixed_tendon(index, name, self.parts.joints_of(target), gear)
        elif (
            kind == 'tendon'
            and self.pose.ten_length[target]
            and (ends := self.parts.ends_of(target))
        ):
            self._drive(index, name, self._rod(name, *ends), gear)
        else:
            reason = _OTHERS.get(kind, f'it acts on a {kind}')
            self.unread.refuse('actuator', name, reason, _READ)

    def _acts_alone(self, index: int) -> bool:
        """Whether no control sets the force of an actuator at rest."""
        gains = self.parts.mujoco.mjtGain
        simple = (int(gains.mjGAIN_FIXED), int(gains.mjGAIN_AFFINE))
        gain = self.m.actuator_gainprm[index]
        fixed = int(self.m.actuator_gaintype[index]) == simple[0]
        count = 1 if fixed else 2
        return int(self.m.actuator_gaintype[index]) in simple and not np.any(gain[:count])

    def _moves_by_one(self, joint: int) -> bool:
        kinds = self.parts.mujoco.mjtJoint
        return int(self.m.jnt_type[joint]) in (int(kinds.mjJNT_HINGE), int(kinds.mjJNT_SLIDE))

    def _slider_crank(self, index: int, name: str, gear: float) -> str:
        """A slide without mass along Z of one site, and a rod from it to the other site."""
        crank, slider = (self.parts.site(site) for site in self.m.actuator_trnid[index])
        joint, pin = self.model.free_joint_name(f'{name}_slide'), self.model.add_link(f'{name}_pin')
        self.model.joints.append(
            Joint(joint, PRISMATIC.name, slider.link, pin, slider.position, slider.rotation, _ALONG)
        )
        rod = Loop(
            f'{name}_rod', DISTANCE, Frame.of(pin), crank,
            length=float(self.m.actuator_cranklength[index]),
        )  # fmt: skip
        self.model.loops.append(rod)
        self.model.guess[joint] = float(self.pose.actuator_length[index]) / (gear or 1.0)
        return joint

    def _rod(self, name: str, first: Frame, second: Frame) -> str:
        """A telescopic rod without mass between two points, at 0 where the search starts."""
        turned = self.pose.xmat[self.parts.bodies.index(first.link)].reshape(3, 3)
        start, end = (self._place(end) for end in (first, second))
        length = float(np.linalg.norm(end - start))
        inner, rod = (self.model.add_link(f'{name}_{part}') for part in ('cylinder', 'rod'))
        turning_joints(
            self.model, f'{name}_swing', first.link, inner, first.position,
            rotation_to(turned.T @ (end - start) / length), np.eye(3)[:2],
        )  # fmt: skip
        joint = self.model.free_joint_name(f'{name}_length')
        self.model.joints.append(
            Joint(joint, PRISMATIC.name, inner, rod, length * _ALONG, np.eye(3), _ALONG)
        )
        self.model.loops.append(Loop(f'{name}_end', POINT, Frame.of(rod), second))
        return joint

    def _place(self, frame: Frame) -> Array:
        """Origin (3,) of a frame in the world where the search starts, m."""
        body = self.parts.bodies.index(frame.link)
        place: Array = self.pose.xpos[body] + self.pose.xmat[body].reshape(3, 3) @ frame.position
        return place

    def _fixed_tendon(self, index: int, name: str, joints: dict[str, float], gear: float) -> None:
        """The motor of one joint, if couplings tie all others to it; else of a joint of its own."""
        lead = next(iter(joints))
        follows = [self._follows(joint, lead) for joint in joints]
        if all(follows):
            ratio = sum(c * follow for c, follow in zip(joints.values(), follows, strict=True))
            self._drive(index, name, lead, gear * ratio)
            return
        moving = {joint: (c,) for joint, c in joints.items() if self.model.has_moving(joint)}
        slides = any(self.model.joint(joint).slides for joint in moving)
        reel, pull = self.model.add_link(f'{name}_reel'), self.model.free_joint_name(f'{name}_pull')
        kind = (PRISMATIC if slides else CONTINUOUS).name
        self.model.joints.append(
            Joint(pull, kind, self.model.root, reel, np.zeros(3), np.eye(3), _ALONG)
        )
        self.model.couplings.append(JointCoupling(f'{name}_tendon', pull, moving))
        self._drive(index, name, pull, gear)

    def _follows(self, joint: str, leader: str) -> float:
        """Motion of a joint per motion of a leader to which a linear coupling ties it; 0: none."""
        for coupling in self.model.couplings:
            if {coupling.joint, *coupling.of} == {joint, leader} and (line := coupling.linear()):
                return -line[leader] / line[joint] if joint != leader else 1.0
        return 1.0 if joint == leader else 0.0

    def _drive(self, index: int, name: str, joint: str, gear: float) -> None:
        if not self.model.has_moving(joint) or not gear:
            self.unread.refuse('actuator', name, 'what it acts on cannot move', _READ)
            return
        if joint in self.model.motors:
            reason = f'{name} takes the place of the actuator before it'
            self.model.notes.append(f'joint {joint} has several actuators: {reason}')
        self.model.motors[joint] = ImportedMotor(gear)
        for key, values in (('armature', self.model.armature), ('damping', self.model.damping)):
            entries = getattr(self.m, f'actuator_{key}', None)  # not in every MuJoCo
            if entries is not None and entries[index]:
                values[joint] = values.get(joint, 0.0) + float(entries[index]) * gear**2
        bounds = self._bounds(index)
        if bounds:
            low, high = (float(b) for b in (np.max(bounds, axis=0)[0], np.min(bounds, axis=0)[1]))
            self.model.change(joint, effort=max(abs(low), abs(high)) * abs(gear))
            if low != -high:
                motor = dataclasses.replace(self.model.motors[joint], effort=(low, high))
                self.model.motors[joint] = motor

    def _bounds(self, index: int) -> list[Any]:
        """Ranges of its force, as the file limits that, its control, or the force where it acts."""
        m, bounds, mujoco = self.m, [], self.parts.mujoco
        if m.actuator_forcelimited[index]:
            bounds.append(np.sort(m.actuator_forcerange[index]))
        bias = m.actuator_biasprm[index, :3] * (
            m.actuator_biastype[index] != int(mujoco.mjtBias.mjBIAS_NONE)
        )
        # A filter lags behind its control and goes as far.
        lags = [
            int(getattr(mujoco.mjtDyn, f'mjDYN_{d}')) for d in ('NONE', 'FILTER', 'FILTEREXACT')
        ]
        plain = (
            m.actuator_biastype[index] <= int(mujoco.mjtBias.mjBIAS_AFFINE)
            and m.actuator_gaintype[index] == int(mujoco.mjtGain.mjGAIN_FIXED)
            and m.actuator_dyntype[index] in lags
            and not bias[1:].any()
        )
        control = int(m.actuator_ctrladr[index]) if hasattr(m, 'actuator_ctrladr') else index
        if m.actuator_ctrllimited[control] and plain:
            gain = m.actuator_gainprm[index, 0]
            bounds.append(np.sort(m.actuator_ctrlrange[control] * gain + bias[0]))
        transmissions, gear = mujoco.mjtTrn, float(m.actuator_gear[index, 0])
        for kind, acts_on in (('TENDON', 'tendon'), ('JOINT', 'jnt'), ('JOINTINPARENT', 'jnt')):
            target = int(m.actuator_trnid[index, 0])
            if int(m.actuator_trntype[index]) == int(getattr(transmissions, f'mjTRN_{kind}')):
                if getattr(m, f'{acts_on}_actfrclimited')[target]:
                    bounds.append(np.sort(getattr(m, f'{acts_on}_actfrcrange')[target] / gear))
        return bounds
