# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motors' efforts of an MJCF file by MuJoCo alone, at the pose in which the file puts the robot.

MuJoCo's forces of the open tree are projected on the null space of its own equalities' Jacobian.
"""

from __future__ import annotations

import pathlib
from collections.abc import Mapping

import mujoco
import numpy as np
import scipy.linalg

EQUALITY = int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
FRICTION = int(mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF)


class Projection:
    """A robot at rest in its first pose; ``freedoms`` are motions (nv, f) that keep its loops."""

    def __init__(self, file: pathlib.Path):
        self.model = mujoco.MjModel.from_xml_path(str(file))
        self.model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
        self.data = mujoco.MjData(self.model)
        if self.model.nkey:
            mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        mujoco.mj_forward(self.model, self.data)
        rows = np.reshape(self.data.efc_J, (self.data.nefc, self.model.nv))
        ties = rows[np.asarray(self.data.efc_type) == EQUALITY]
        self.freedoms = scipy.linalg.null_space(ties, rcond=1e-5)

    def motor_dofs(self) -> dict[str, int]:
        """Joints with motors and their columns."""
        joints = [self.model.actuator_trnid[a, 0] for a in range(self.model.nu)]
        return {self.model.joint(j).name: int(self.model.jnt_dofadr[j]) for j in joints}

    def efforts(self, accelerations: Mapping[str, float]) -> dict[str, float]:
        """What motors supply at their joints at rest, for accelerations of these joints."""
        model, data = self.model, self.data
        motors = self.motor_dofs()
        driven = [motors[name] for name in accelerations]
        wanted = np.array([*accelerations.values()], dtype=float)
        mass = np.zeros((model.nv, model.nv))
        for column, unit in zip(mass, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, column, unit)
        force = data.qfrc_bias - data.qfrc_passive
        free = self.freedoms
        moves = free @ np.linalg.pinv(free[driven])
        idle = free @ scipy.linalg.null_space(free[driven], rcond=1e-6)
        # What no motor moves goes where its own forces take it.
        acceleration = moves @ wanted
        if idle.shape[1]:
            left = idle.T @ (mass @ acceleration + force)
            acceleration = acceleration - idle @ np.linalg.solve(idle.T @ mass @ idle, left)
        needed = free.T @ (mass @ acceleration + force)
        found, *_ = np.linalg.lstsq(free[driven].T, needed, rcond=None)
        return dict(zip(accelerations, found.tolist(), strict=True))
