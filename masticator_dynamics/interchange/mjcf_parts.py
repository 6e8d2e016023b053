# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Names of the parts of a compiled MuJoCo model, and what its tendons run along."""

from __future__ import annotations

from typing import Any

from scipy.spatial.transform import Rotation

from masticator_dynamics.description.urdf import Array
from masticator_dynamics.interchange.robot_model import Frame


class MjcfParts:
    """A compiled model (``mujoco.MjModel``) whose bodies and joints all have names."""

    def __init__(self, mujoco: Any, compiled: Any):
        self.mujoco, self.compiled = mujoco, compiled
        self.bodies = [self.name('BODY', b, f'body_{b}') for b in range(compiled.nbody)]
        self.bodies[0] = 'world'
        self.joints = [self._joint_name(j) for j in range(compiled.njnt)]

    def name(self, kind: str, index: int, default: str = '') -> str:
        """Name of a part, such as an ``ACTUATOR``; by default its kind and number from 1."""
        kinds = self.mujoco.mjtObj
        found = self.mujoco.mj_id2name(self.compiled, getattr(kinds, f'mjOBJ_{kind}'), index)
        return str(found or default or f'{kind.lower()}_{index + 1}')

    def _joint_name(self, joint: int) -> str:
        body = self.bodies[self.compiled.jnt_bodyid[joint]]
        first = self.compiled.body_jntadr[self.compiled.jnt_bodyid[joint]]
        return self.name('JOINT', joint, f'{body}_joint_{joint - first + 1}')

    def site(self, site: int) -> Frame:
        """A site as a frame of its body."""
        m = self.compiled
        body = self.bodies[m.site_bodyid[site]]
        return Frame(body, m.site_pos[site].copy(), matrix(m.site_quat[site]))

    def joints_of(self, tendon: int) -> dict[str, float]:
        """Joints and coefficients of a fixed tendon; none for a spatial one."""
        m, found = self.compiled, dict[str, float]()
        for wrap in self._wraps(tendon, 'JOINT'):
            joint = self.joints[m.wrap_objid[wrap]]
            found[joint] = found.get(joint, 0.0) + float(m.wrap_prm[wrap])
        return found

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
