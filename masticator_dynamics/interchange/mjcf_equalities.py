# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equalities of a compiled MuJoCo model, as loops and couplings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from masticator_dynamics.description.urdf import Array
from masticator_dynamics.interchange.joint_coupling import JointCoupling
from masticator_dynamics.interchange.mjcf_parts import MjcfParts, matrix
from masticator_dynamics.interchange.robot_model import Frame, Loop, RobotModel
from masticator_dynamics.interchange.unread import Unread

_READ = (
    'Read are connect, weld, joint, and tendon: fixed tendons as couplings, one straight between '
    'two sites as a rod'
)
_TORQUE_SCALE = 10  # place in the data of a weld


def read_equalities(parts: MjcfParts, model: RobotModel, unread: Unread) -> None:
    """Add the equalities of a compiled model to a robot.

    Raises
    ------
    DescriptionError
        For one that has no counterpart, unless it is to be left out.
    """
    for index in range(parts.compiled.neq):
        _Equality(parts, model, unread, index).read()


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
        elif self.kind in ('connect', 'weld'):
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
        welded = self.kind == 'weld'
        site = int(self.parts.mujoco.mjtObj.mjOBJ_SITE)
        if int(self.parts.compiled.eq_objtype[self.index]) == site:
            frames = (self.parts.site(self.first), self.parts.site(self.second))
        else:
            # Of a weld: the anchor in the second body, that in the first, how the second is turned.
            one, other = (3, 0) if welded else (0, 3)
            turned = matrix(self.data[6:10]) if welded else np.eye(3)
            bodies = self.parts.bodies
            frames = (
                Frame(bodies[self.first], self.data[one : one + 3].copy(), turned),
                Frame(bodies[self.second], self.data[other : other + 3].copy(), np.eye(3)),
            )
        kind = 'weld' if welded and self.data[_TORQUE_SCALE] else 'point'
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
        self.model.loops.append(Loop(self.name, 'distance', *ends, length=length))

    def _couple(self, first: Mapping[str, float], second: Mapping[str, float], what: str) -> None:
        powers = [float(value) for value in self.data[:5]] if second else [float(self.data[0]), 0.0]
        coupling = JointCoupling.tied(self.name, first, second, powers)
        if coupling is None:
            reason = f'it makes {what} a polynomial of several joints, or of nothing'
            self.unread.refuse(f'equality {self.kind}', self.name, reason, _READ)
            return
        self.model.couple(coupling, f'equality {self.name}')
