# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads MJCF: loaded and compiled by MuJoCo's own MjSpec, then read from the compiled model.

Joint positions count from the pose in which the file defines the robot: MuJoCo's minus ``ref``.
"""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from masticator_dynamics.description.urdf import Array, Inertia, Joint
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.importing.robot_model import (
    NO_MASS,
    Frame,
    ImportedMotor,
    JointCoupling,
    Loop,
    RobotModel,
    Spring,
    turning_joints,
)


def read_mjcf(file: pathlib.Path) -> RobotModel:
    """Model of an MJCF file.

    Raises
    ------
    DescriptionError
        When MuJoCo refuses the file, or is not installed.
    """
    try:
        import mujoco
    except ImportError as error:
        reason = "reading MJCF needs MuJoCo: pip install 'masticator_dynamics[import]'"
        raise DescriptionError(file, '', reason) from error
    notes: list[str] = []
    # Without this, MuJoCo prints its warnings and leaves them in a MUJOCO_LOG.TXT where it runs.
    told = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: notes.append(f'MuJoCo: {" ".join(text.split())}'))
    try:
        compiled = _compiled(mujoco, file, notes)
    finally:
        mujoco.set_mju_user_warning(told)
    return _MjcfReader(mujoco, compiled, file, notes).model


def _compiled(mujoco: Any, file: pathlib.Path, notes: list[str]) -> Any:
    """The compiled model; missing meshes are left out."""
    if not file.is_file():
        raise DescriptionError(file, '', 'No such file or directory')
    try:
        spec = mujoco.MjSpec.from_file(str(file))
    except ValueError as error:
        raise DescriptionError(file, '', f'MuJoCo: {" ".join(str(error).split())}') from error
    try:
        return spec.compile()
    except ValueError as error:
        if 'file' not in str(error).lower():
            raise DescriptionError(file, '', f'MuJoCo: {" ".join(str(error).split())}') from error
    spec = mujoco.MjSpec.from_file(str(file))
    for geom in [g for g in spec.geoms if g.meshname or g.hfieldname or g.material]:
        if geom.meshname or geom.hfieldname:
            spec.delete(geom)
        else:
            geom.material = ''
    for kind in ('meshes', 'hfields', 'materials', 'textures', 'skins'):
        for item in list(getattr(spec, kind)):
            spec.delete(item)
    notes.append('meshes that are not there are left out, with the masses that follow from them')
    try:
        return spec.compile()
    except ValueError as error:
        raise DescriptionError(file, '', f'MuJoCo: {" ".join(str(error).split())}') from error


class _MjcfReader:
    """Converts a compiled model."""

    def __init__(self, mujoco: Any, compiled: Any, file: pathlib.Path, notes: list[str]):
        self.mujoco, self.compiled = mujoco, compiled
        disabled = compiled.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
        x, y, z = (0.0 if disabled else float(value) for value in compiled.opt.gravity)
        self.model = RobotModel(
            file, file.stem, 'world', {'world': NO_MASS}, [], notes=notes, gravity=(x, y, z)
        )
        self.bodies = [self._name('BODY', b, f'body_{b}') for b in range(compiled.nbody)]
        self.bodies[0] = 'world'
        self.joints = [self._joint_name(j) for j in range(compiled.njnt)]
        self.model.reserved = frozenset(self.joints)
        self.model.links |= dict.fromkeys(self.bodies, NO_MASS)
        for body in range(1, compiled.nbody):
            self._body(body)
        for equality in range(compiled.neq):
            self._equality(equality)
        for actuator in range(len(compiled.actuator_trntype)):  # some have several controls
            self._actuator(actuator)
        self._left_out()
        self._keyframe()

    def _name(self, kind: str, index: int, default: str) -> str:
        kinds = self.mujoco.mjtObj
        found = self.mujoco.mj_id2name(self.compiled, getattr(kinds, f'mjOBJ_{kind}'), index)
        return str(found) if found else default

    def _joint_name(self, joint: int) -> str:
        body = self.bodies[self.compiled.jnt_bodyid[joint]]
        first = self.compiled.body_jntadr[self.compiled.jnt_bodyid[joint]]
        return self._name('JOINT', joint, f'{body}_joint_{joint - first + 1}')

    def _body(self, body: int) -> None:
        m, name = self.compiled, self.bodies[body]
        turned = _matrix(m.body_iquat[body])
        about = turned @ np.diag(m.body_inertia[body]) @ turned.T
        self.model.links[name] = Inertia(float(m.body_mass[body]), m.body_ipos[body].copy(), about)
        parent = self.bodies[m.body_parentid[body]]
        position, rotation = m.body_pos[body].copy(), _matrix(m.body_quat[body])
        count, first = int(m.body_jntnum[body]), int(m.body_jntadr[body])
        offset = np.zeros(3)
        for joint in range(first, first + count):
            if int(m.jnt_type[joint]) == int(self.mujoco.mjtJoint.mjJNT_FREE):
                self._floating(self.joints[joint], name, position, rotation)
                self._note_left_out(f'free joint of {name}', **self._acts(joint))
                return
            anchor = m.jnt_pos[joint].copy()
            last = joint == first + count - 1 and not anchor.any()
            link = name if last else self.model.add_link(f'{self.joints[joint]}_link')
            place = position + rotation @ (anchor - offset)
            self._joint(joint, parent, link, place, rotation)
            parent, position, rotation, offset = link, np.zeros(3), np.eye(3), anchor
            if last:
                return
        self.model.joints.append(
            Joint(
                self.model.free_joint_name(f'{name}_fixed'), 'fixed', parent, name,
                position - rotation @ offset, rotation, np.zeros(3),
            )
        )  # fmt: skip

    def _joint(self, joint: int, parent: str, child: str, position: Array, rotation: Array) -> None:
        m, name, kinds = self.compiled, self.joints[joint], self.mujoco.mjtJoint
        acts = self._acts(joint)
        if int(m.jnt_type[joint]) == int(kinds.mjJNT_BALL):
            turning_joints(self.model, name, parent, child, position, rotation, np.eye(3))
            self._note_left_out(f'ball {name}', **acts)
            return
        slides = int(m.jnt_type[joint]) == int(kinds.mjJNT_SLIDE)
        zero = float(m.qpos0[m.jnt_qposadr[joint]])
        lower, upper = -np.inf, np.inf
        if m.jnt_limited[joint]:
            lower, upper = (float(bound) - zero for bound in m.jnt_range[joint])
        self.model.joints.append(
            Joint(
                name, 'prismatic' if slides else 'revolute', parent, child, position, rotation,
                m.jnt_axis[joint].copy(), lower, upper, np.inf, np.inf,
            )
        )  # fmt: skip
        if acts['stiffness']:
            rest = float(m.qpos_spring[m.jnt_qposadr[joint]]) - zero
            self.model.springs[name] = Spring(acts['stiffness'], rest)
        of_model = self.model.damping, self.model.dry, self.model.armature
        for values, key in zip(of_model, ('damping', 'friction', 'armature'), strict=True):
            if acts[key]:
                values[name] = acts[key]

    def _acts(self, joint: int) -> dict[str, float]:
        """What a joint does by itself."""
        m, dof = self.compiled, int(self.compiled.jnt_dofadr[joint])
        return {
            'damping': float(np.max(m.dof_damping[dof])),
            'stiffness': float(np.max(m.jnt_stiffness[joint])),
            'friction': float(m.dof_frictionloss[dof]),
            'armature': float(m.dof_armature[dof]),
        }

    def _floating(self, joint: str, body: str, position: Array, rotation: Array) -> None:
        self.model.joints.append(
            Joint(joint, 'floating', 'world', body, position, rotation, np.zeros(3))
        )
        self.model.floating[joint] = body

    def _equality(self, index: int) -> None:
        m, kinds = self.compiled, self.mujoco.mjtEq
        kind, data = int(m.eq_type[index]), m.eq_data[index]
        name = self._name('EQUALITY', index, f'equality_{index + 1}')
        first, second = int(m.eq_obj1id[index]), int(m.eq_obj2id[index])
        if not m.eq_active0[index]:
            self.model.notes.append(f'equality {name} is not active and left out')
        elif kind == int(kinds.mjEQ_JOINT):
            self._joint_equality(name, first, second, data)
        elif kind in (int(kinds.mjEQ_CONNECT), int(kinds.mjEQ_WELD)):
            welded = kind == int(kinds.mjEQ_WELD)
            if int(m.eq_objtype[index]) == int(self.mujoco.mjtObj.mjOBJ_SITE):
                frames = (self._site(first), self._site(second))
            elif welded:
                # The anchor in the second body, that in the first, and how the second is turned.
                frames = (
                    Frame(self.bodies[first], data[3:6].copy(), _matrix(data[6:10])),
                    Frame(self.bodies[second], data[0:3].copy(), np.eye(3)),
                )
            else:
                frames = (
                    Frame(self.bodies[first], data[0:3].copy(), np.eye(3)),
                    Frame(self.bodies[second], data[3:6].copy(), np.eye(3)),
                )
            self.model.loops.append(Loop(name, 'weld' if welded else 'point', *frames))
        else:
            self.model.notes.append(
                f'equality {name} is left out: only connect, weld and joint are read'
            )

    def _site(self, site: int) -> Frame:
        m = self.compiled
        body = self.bodies[m.site_bodyid[site]]
        return Frame(body, m.site_pos[site].copy(), _matrix(m.site_quat[site]))

    def _joint_equality(self, name: str, first: int, second: int, data: Array) -> None:
        coefficients = [float(value) for value in data[:5]]
        if second < 0:
            self.model.guess[self.joints[first]] = coefficients[0]
            held = self.joints[first]
            self.model.notes.append(f'joint {held} is held by equality {name}')
            self.model.lock(held, coefficients[0])
            return
        while len(coefficients) > 2 and not coefficients[-1]:
            coefficients.pop()
        joints = (self.joints[first], self.joints[second])
        self.model.couplings.append(JointCoupling(name, *joints, tuple(coefficients)))

    def _actuator(self, index: int) -> None:
        m, kinds = self.compiled, self.mujoco.mjtTrn
        name = self._name('ACTUATOR', index, f'actuator_{index + 1}')
        kind, target = int(m.actuator_trntype[index]), int(m.actuator_trnid[index, 0])
        gear = float(m.actuator_gear[index, 0])
        if kind in (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)):
            self._drive(index, name, self.joints[target], gear)
        elif kind == int(kinds.mjTRN_TENDON) and self._tendon_joints(target):
            joints = self._tendon_joints(target)
            follows = [self._follows(joint, joints[0][0]) for joint, _ in joints]
            if not all(follows):
                free = joints[follows.index(0.0)][0]
                self.model.notes.append(
                    f'actuator {name} is left out: no coupling ties {free} to {joints[0][0]}, both '
                    'of which its tendon moves'
                )
                return
            ratio = sum(c * follow for (_, c), follow in zip(joints, follows, strict=True))
            self._drive(index, name, joints[0][0], gear * ratio)
        else:
            self.model.notes.append(f'actuator {name} is left out: it moves no joint')

    def _drive(self, index: int, name: str, joint: str, gear: float) -> None:
        m = self.compiled
        if not self.model.has_moving(joint) or not gear:
            self.model.notes.append(f'actuator {name} is left out: it moves no hinge or slide')
            return
        self.model.motors[joint] = ImportedMotor(gear)
        bounds = []
        if m.actuator_forcelimited[index]:
            bounds.append(np.sort(m.actuator_forcerange[index]))
        plain = int(m.actuator_biastype[index]) == int(self.mujoco.mjtBias.mjBIAS_NONE)
        control = int(m.actuator_ctrladr[index]) if hasattr(m, 'actuator_ctrladr') else index
        if m.actuator_ctrllimited[control] and plain:
            bounds.append(np.sort(m.actuator_ctrlrange[control] * m.actuator_gainprm[index, 0]))
        if bounds:
            low, high = (float(b) for b in (np.max(bounds, axis=0)[0], np.min(bounds, axis=0)[1]))
            self.model.change(joint, effort=max(abs(low), abs(high)) * abs(gear))
            if low != -high:
                motor = dataclasses.replace(self.model.motors[joint], effort=(low, high))
                self.model.motors[joint] = motor

    def _tendon_joints(self, tendon: int) -> list[tuple[str, float]]:
        """Joints and coefficients of a fixed tendon; none for a spatial one."""
        m = self.compiled
        wraps = range(m.tendon_adr[tendon], m.tendon_adr[tendon] + m.tendon_num[tendon])
        if any(int(m.wrap_type[w]) != int(self.mujoco.mjtWrap.mjWRAP_JOINT) for w in wraps):
            return []
        return [(self.joints[m.wrap_objid[w]], float(m.wrap_prm[w])) for w in wraps]

    def _follows(self, joint: str, leader: str) -> float:
        """Motion of a joint per motion of a leader to which a linear coupling ties it; 0: none."""
        for coupling in self.model.couplings:
            if {coupling.joint, coupling.other} == {joint, leader}:
                ratio = coupling.coefficients[1] if len(coupling.coefficients) == 2 else 0.0
                return ratio if coupling.joint == joint or not ratio else 1.0 / ratio
        return 1.0 if joint == leader else 0.0

    def _left_out(self) -> None:
        """Note what acts on joints or bodies in MuJoCo and has no counterpart here."""
        m = self.compiled
        for tendon in range(m.ntendon):
            self._note_left_out(
                f'tendon {self._name("TENDON", tendon, f"tendon_{tendon + 1}")}',
                stiffness=float(np.max(m.tendon_stiffness[tendon])),
                damping=float(np.max(m.tendon_damping[tendon])),
                friction=float(m.tendon_frictionloss[tendon]),
            )
        for body, share in zip(self.bodies, m.body_gravcomp.tolist(), strict=True):
            if share:
                self.model.notes.append(
                    f'body {body}: its gravity compensation (gravcomp {share:.6g}) is left out; '
                    'motors carry its weight'
                )

    def _note_left_out(self, owner: str, **values: float) -> None:
        """Note which properties of something are left out, if it has any."""
        if there := [f'{key} {value:.6g}' for key, value in values.items() if value]:
            self.model.notes.append(f'{owner}: left out: {", ".join(there)}')

    def _keyframe(self) -> None:
        """Start the search for a closed pose at the first keyframe."""
        m = self.compiled
        if not m.nkey:
            return
        for joint, name in enumerate(self.joints):
            address = m.jnt_qposadr[joint]
            if self.model.has_moving(name):
                self.model.guess[name] = float(m.key_qpos[0, address] - m.qpos0[address])
            elif name in self.model.floating:
                pose = m.key_qpos[0, address : address + 7]
                self.model.change(name, position=pose[:3].copy(), rotation=_matrix(pose[3:]))


def _matrix(quaternion: Array) -> Array:
    w, x, y, z = quaternion
    matrix: Array = Rotation.from_quat([x, y, z, w]).as_matrix()
    return matrix
