# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads MJCF: loaded and compiled by MuJoCo's own MjSpec, then read from the compiled model.

Joint positions count from the pose in which the file defines the robot: MuJoCo's minus ``ref``.
Equalities become loops and couplings.
"""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from masticator_dynamics.description.closures import DISTANCE, POINT, WELD
from masticator_dynamics.description.joints import PRISMATIC, REVOLUTE
from masticator_dynamics.description.urdf import Array, Inertia, Joint
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.interchange.mjcf_actuators import MjcfParts, matrix, read_actuators
from masticator_dynamics.interchange.robot_model import (
    NO_MASS,
    Frame,
    JointCoupling,
    Loop,
    RobotModel,
    Spring,
    turning_joints,
)
from masticator_dynamics.interchange.unread import Unread
from masticator_dynamics.optional import from_checkout

_READ = (
    'Read are connect, weld, joint, and tendon: fixed tendons as couplings, one straight between '
    'two sites as a rod'
)
_TORQUE_SCALE = 10  # place in the data of a weld


class _Equality:
    def __init__(self, parts: MjcfParts, model: RobotModel, unread: Unread, index: int):
        m = parts.compiled
        self.parts, self.model, self.unread, self.index = parts, model, unread, index
        self.data: Array = m.eq_data[index]
        self.first, self.second = int(m.eq_obj1id[index]), int(m.eq_obj2id[index])
        self.name = parts.name('EQUALITY', index)
        kinds = {int(value): name for name, value in parts.mujoco.mjtEq.__members__.items()}
        self.kind = kinds[int(m.eq_type[index])].removeprefix('mjEQ_').lower()

    def read(self) -> None:
        if not self.parts.compiled.eq_active0[self.index]:
            self.model.notes.append(f'equality {self.name} is not active and left out')
            self.model.untied.append(f'equality {self.name}')
        elif self.kind in (POINT.mjcf, WELD.mjcf):
            self._loop()
        elif self.kind == 'joint':
            joints = self.parts.joints
            first, second = ({joints[j]: 1.0} if j >= 0 else {} for j in (self.first, self.second))
            self._couple(first, second, 'the position of one joint from another')
        elif self.kind == 'tendon':
            self._tendon()
        else:
            self.unread.refuse(f'equality {self.kind}', self.name, 'it ties vertices', _READ)

    def _loop(self) -> None:
        welded = self.kind == WELD.mjcf
        site = int(self.parts.mujoco.mjtObj.mjOBJ_SITE)
        if int(self.parts.compiled.eq_objtype[self.index]) == site:
            frames = (self.parts.site(self.first), self.parts.site(self.second))
        else:
            # Of a weld: the anchor in the second body, that in the first, how the second is turned.
            first_at, other = (3, 0) if welded else (0, 3)
            turned = matrix(self.data[6:10]) if welded else np.eye(3)
            bodies = self.parts.bodies
            frames = (
                Frame(bodies[self.first], self.data[first_at : first_at + 3].copy(), turned),
                Frame(bodies[self.second], self.data[other : other + 3].copy(), np.eye(3)),
            )
        kind = WELD if welded and self.data[_TORQUE_SCALE] else POINT
        self.model.loops.append(Loop(self.name, kind, *frames))

    def _tendon(self) -> None:
        """Lengths count from those in the pose in which the file defines the robot."""
        tendons = [tendon for tendon in (self.first, self.second) if tendon >= 0]
        fixed = [self.parts.joints_of(tendon) for tendon in tendons]
        names = ' and '.join(f'tendon {self.parts.name("TENDON", t)}' for t in tendons)
        if all(fixed):
            self._couple(fixed[0], fixed[1] if len(fixed) > 1 else {}, f'the length of {names}')
            return
        ends = self.parts.ends_of(self.first)
        if len(tendons) > 1 or ends is None:
            reason = f'it ties {names}, along which not only joints are'
            self.unread.refuse('equality tendon', self.name, reason, _READ)
            return
        length = float(self.parts.compiled.tendon_length0[self.first] + self.data[0])
        self.model.loops.append(Loop(self.name, DISTANCE, *ends, length=length))

    def _couple(self, first: Mapping[str, float], second: Mapping[str, float], what: str) -> None:
        powers = [float(value) for value in self.data[:5]] if second else [float(self.data[0]), 0.0]
        coupling = JointCoupling.tied(self.name, first, second, powers)
        if coupling is None:
            reason = f'it makes {what} a polynomial of several joints, or of nothing'
            self.unread.refuse(f'equality {self.kind}', self.name, reason, _READ)
            return
        self.model.couple(coupling, f'equality {self.name}')


# What each flag of <option><flag> turns off, as fields of a compiled model.
_DISABLED = {
    'gravity': (),
    'equality': ('eq_active0',),
    'spring': ('jnt_stiffness', 'jnt_stiffnesspoly', 'tendon_stiffness', 'tendon_stiffnesspoly'),
    'damper': ('dof_damping', 'dof_dampingpoly', 'tendon_damping', 'tendon_dampingpoly'),
    'frictionloss': ('dof_frictionloss', 'tendon_frictionloss'),
    'limit': ('jnt_limited', 'tendon_limited'),
    'constraint': (
        'eq_active0', 'dof_frictionloss', 'tendon_frictionloss', 'jnt_limited', 'tendon_limited',
    ),
}  # fmt: skip
_NARROW = 0.01  # of a tendon's length, or of its joints' share in it: a range that is a tie


def read_mjcf(file: pathlib.Path, unread: Unread) -> RobotModel:
    """Model of an MJCF file.

    Raises
    ------
    DescriptionError
        When MuJoCo refuses the file, or is not installed; for what ties parts and is not read.
    """
    try:
        import mujoco
    except ImportError as error:
        reason = f'reading MJCF needs MuJoCo: {from_checkout("import")}'
        raise DescriptionError(file, '', reason) from error
    notes: list[str] = []
    with _warnings_to(mujoco, notes):
        try:
            compiled = _compiled(mujoco, file, notes, unread)
        except DescriptionError:
            raise
        except ValueError as error:
            raise DescriptionError(file, '', f'MuJoCo: {" ".join(str(error).split())}') from error
        _disable(mujoco, compiled, notes)
        return _MjcfReader(mujoco, compiled, file, notes, unread).model


@contextlib.contextmanager
def _warnings_to(mujoco: Any, notes: list[str]) -> Iterator[None]:
    """MuJoCo prints its warnings otherwise, and leaves them in a MUJOCO_LOG.TXT where it runs."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: notes.append(f'MuJoCo: {" ".join(text.split())}'))
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)


def _disable(mujoco: Any, compiled: Any, notes: list[str]) -> None:
    """Take out of a compiled model what flags of its file disable."""
    for flag, fields in _DISABLED.items():
        if compiled.opt.disableflags & getattr(mujoco.mjtDisableBit, f'mjDSBL_{flag.upper()}'):
            notes.append(f'its flags disable {flag}: so it is here')
            for field in fields:
                if hasattr(compiled, field):  # not in every MuJoCo
                    getattr(compiled, field)[:] = 0
            if flag == 'gravity':
                compiled.opt.gravity[:] = 0.0


def _compiled(mujoco: Any, file: pathlib.Path, notes: list[str], unread: Unread) -> Any:
    """The compiled model; missing meshes are left out."""
    if not file.is_file():
        raise DescriptionError(file, '', 'No such file or directory')
    spec = mujoco.MjSpec.from_file(str(file))
    try:
        return spec.compile()
    except ValueError as error:
        if 'file' not in str(error).lower():
            raise
    spec = mujoco.MjSpec.from_file(str(file))
    of_shapes = spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    for geom in [g for g in spec.geoms if g.meshname or g.hfieldname or g.material]:
        if geom.meshname or geom.hfieldname:
            explicit = geom.parent.explicitinertial and not of_shapes
            if not (explicit or geom.mass == 0.0 or geom.density == 0.0):
                reason = f'the mass of body {geom.parent.name} follows from it, and is not there'
                unread.refuse('mesh', geom.meshname, reason, 'Read are masses in <inertial>')
            spec.delete(geom)
        else:
            geom.material = ''
    for kind in ('meshes', 'hfields', 'materials', 'textures', 'skins'):
        for item in list(getattr(spec, kind)):
            spec.delete(item)
    notes.append('meshes that are not there are left out')
    return spec.compile()


class _MjcfReader:
    """Converts a compiled model."""

    def __init__(
        self, mujoco: Any, compiled: Any, file: pathlib.Path, notes: list[str], unread: Unread
    ):  # fmt: skip
        self.mujoco, self.compiled = mujoco, compiled
        x, y, z = map(float, compiled.opt.gravity)
        self.model = RobotModel(
            file, file.stem, 'world', {'world': NO_MASS}, [], notes=notes, gravity=(x, y, z)
        )
        self.parts = MjcfParts(mujoco, compiled)
        self.bodies, self.joints = self.parts.bodies, self.parts.joints
        self.unread = unread
        self.model.reserved = frozenset(self.joints)
        self.model.links |= dict.fromkeys(self.bodies, NO_MASS)
        for body in range(1, compiled.nbody):
            self._body(body)
        self._keyframe()
        for index in range(compiled.neq):
            _Equality(self.parts, self.model, unread, index).read()
        read_actuators(self.parts, self.model, unread)
        self._left_out()

    def _body(self, body: int) -> None:
        m, name = self.compiled, self.bodies[body]
        turned = matrix(m.body_iquat[body])
        about = turned @ np.diag(m.body_inertia[body]) @ turned.T
        self.model.links[name] = Inertia(float(m.body_mass[body]), m.body_ipos[body].copy(), about)
        parent = self.bodies[m.body_parentid[body]]
        position, rotation = m.body_pos[body].copy(), matrix(m.body_quat[body])
        if m.body_mocapid[body] >= 0:
            self.model.warn(
                f'{name} (mocap) is moved by a program: it stands where the file puts it'
            )
        count, first = int(m.body_jntnum[body]), int(m.body_jntadr[body])
        offset = np.zeros(3)
        for joint in range(first, first + count):
            if int(m.jnt_type[joint]) == int(self.mujoco.mjtJoint.mjJNT_FREE):
                free = Joint(
                    self.joints[joint], 'floating', 'world', name, position, rotation, np.zeros(3)
                )
                self.model.joints.append(free)
                self.model.floating[free.name] = name
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
            for key in ('stiffness', 'armature'):
                if value := acts.pop(key):
                    reason = f'it is a ball, with {key} {value:.6g}'
                    self.unread.refuse(
                        f'joint {key}', name, reason, f'Read is {key} of hinges and slides'
                    )
            self._note_left_out(f'ball {name}', **acts)
            return
        slides = int(m.jnt_type[joint]) == int(kinds.mjJNT_SLIDE)
        zero = float(m.qpos0[m.jnt_qposadr[joint]])
        lower, upper = -np.inf, np.inf
        if m.jnt_limited[joint]:
            lower, upper = (float(bound) - zero for bound in m.jnt_range[joint])
        self.model.joints.append(
            Joint(
                name, (PRISMATIC if slides else REVOLUTE).name, parent, child, position, rotation,
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

    def _left_out(self) -> None:
        """Refuse or note what acts on joints or bodies in MuJoCo and has no counterpart here."""
        m, parts, unread = self.compiled, self.parts, self.unread
        for tendon in range(m.ntendon):
            name = parts.name('TENDON', tendon)
            if does := ', '.join(self._forces_of(tendon)):
                reason = f'it ties what it runs along by its {does}'
                unread.refuse('tendon', name, reason, 'Springs and losses of joints are read')
            if m.tendon_limited[tendon]:
                self._range_of(tendon, name)
        for joint, name in enumerate(self.joints):
            for key, field, number in (
                ('stiffness', 'jnt_stiffnesspoly', joint),
                ('damping', 'dof_dampingpoly', int(m.jnt_dofadr[joint])),
            ):
                curve = getattr(m, field, None)  # not in every MuJoCo
                if curve is not None and np.any(curve[number]):
                    reason = f'the effort of its {key} is a curve'
                    unread.refuse('joint', name, reason, f'Read is {key} of one value')
        for flex in range(m.nflex):
            if not m.flex_rigid[flex]:
                reason = (
                    f'it ties {m.flex_nodenum[flex] or m.flex_vertnum[flex]} bodies elastically'
                )
                unread.refuse('flex', parts.name('FLEX', flex), reason, 'Rigid bodies are read')
        for number, plugin in enumerate(m.body_plugin.tolist()):
            if plugin >= 0:
                reason = f'it exerts forces on body {self.bodies[number]}'
                unread.refuse('plugin', parts.name('PLUGIN', plugin), reason, 'No plugin is read')
        for body, share in zip(self.bodies, m.body_gravcomp.tolist(), strict=True):
            if share:
                self.model.warn(
                    f'body {body}: its gravity compensation (gravcomp {share:.6g}) is left out; '
                    'motors carry its weight'
                )

        if m.opt.density or m.opt.viscosity:
            self.model.warn('forces of the fluid around it (density, viscosity) are left out')

    def _range_of(self, tendon: int, name: str) -> None:
        """Note that the range of a tendon is left out; refuse one that leaves it no play."""
        m = self.compiled
        lower, upper = (float(bound) for bound in m.tendon_range[tendon])
        length = float(m.tendon_length0[tendon])
        share = max(map(abs, self.parts.joints_of(tendon).values()), default=length)
        taut = min(length - lower, upper - length) < _NARROW * (upper - lower)
        if taut or upper - lower < _NARROW * share:
            reason = f'its range from {lower:.6g} to {upper:.6g} holds its length of {length:.6g}'
            self.unread.refuse('tendon', name, reason, 'Ranges of tendons with play are left out')
        else:
            self.model.notes.append(f'tendon {name}: its range is left out')

    def _forces_of(self, tendon: int) -> Iterator[str]:
        """What a tendon does passively, as words and amounts."""
        for key in (
            'stiffness',
            'damping',
            'frictionloss',
            'armature',
            'stiffnesspoly',
            'dampingpoly',
        ):
            values = getattr(self.compiled, f'tendon_{key}', None)
            if values is not None and np.any(values[tendon]):
                yield f'{key} {float(np.max(values[tendon])):.6g}'

    def _note_left_out(self, owner: str, **values: float) -> None:
        """Note which properties of something are left out, if it has any."""
        if there := [f'{key} {value:.6g}' for key, value in values.items() if value]:
            self.model.warn(f'{owner}: left out: {", ".join(there)}')

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
                self.model.change(name, position=pose[:3].copy(), rotation=matrix(pose[3:]))
