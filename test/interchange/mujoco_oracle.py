# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts of a robot in MJCF from MuJoCo's own matrices, projected onto what its equalities leave.

It shares nothing with the importer: neither how equalities are read, nor what becomes of actuators.
"""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from masticator_dynamics import Mechanism
from masticator_dynamics.interchange.imported_description import import_description


class MujocoOracle:
    """A compiled file."""

    def __init__(self, path: pathlib.Path):
        self.mujoco: Any = pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
        self.model = self.mujoco.MjModel.from_xml_path(str(path))
        self.model.opt.jacobian = self.mujoco.mjtJacobian.mjJAC_DENSE
        self.model.opt.disableflags |= self.mujoco.mjtDisableBit.mjDSBL_CONTACT
        self.model.opt.disableflags |= self.mujoco.mjtDisableBit.mjDSBL_LIMIT
        self.data = self.mujoco.MjData(self.model)

    def place(self, positions: dict[str, float]) -> None:
        """Put joints where they are, counted from the pose of the file, at rest."""
        self.data.qpos[:] = self.model.qpos0
        for joint in range(self.model.njnt):
            name = self.mujoco.mj_id2name(self.model, self.mujoco.mjtObj.mjOBJ_JOINT, joint)
            address = self.model.jnt_qposadr[joint]
            self.data.qpos[address] += positions.get(name, 0.0)
        self.mujoco.mj_forward(self.model, self.data)

    def equalities(self) -> tuple[np.ndarray, np.ndarray]:
        """Gaps of all active equalities and their Jacobian."""
        kind = int(self.mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        rows = self.data.efc_type == kind
        jacobian = self.data.efc_J.reshape(-1, self.model.nv)
        return self.data.efc_pos[rows], jacobian[rows]

    def motions(self) -> np.ndarray:
        """Basis (n_v, freedoms) of the velocities that the equalities leave."""
        return scipy.linalg.null_space(self.equalities()[1], rcond=1e-8)

    def efforts(self, acceleration: np.ndarray) -> np.ndarray:
        """Forces (n_u,) of the actuators that give an acceleration (n_v,) at rest."""
        moment, inertial = np.zeros((self.model.nu, self.model.nv)), np.zeros(self.model.nv)
        self.mujoco.mj_mulM(self.model, self.data, inertial, acceleration)
        if self.data.actuator_moment.shape == moment.shape:
            moment = self.data.actuator_moment
        else:
            self.mujoco.mju_sparse2dense(
                moment, self.data.actuator_moment.reshape(-1), self.data.moment_rownnz,
                self.data.moment_rowadr, self.data.moment_colind.reshape(-1),
            )  # fmt: skip
        needed = inertial + self.data.qfrc_bias - self.data.qfrc_passive
        motions = self.motions()
        efforts, *_ = np.linalg.lstsq((moment @ motions).T, motions.T @ needed, rcond=None)
        return efforts


def assert_as_in_mujoco(path: pathlib.Path, freedoms: int, reach: float = 0.2) -> Mechanism:
    """Poses, freedoms and efforts at home and near it are those of MuJoCo; return the import."""
    oracle, ours = MujocoOracle(path), Mechanism(import_description(path))
    assert len(ours.independent) == freedoms == ours.actuation_rank()
    rng = np.random.default_rng(4)
    for attempt in range(6):
        y = ours.home.y + rng.uniform(-reach, reach, freedoms) * (attempt > 0)
        y_ddot = rng.normal(size=freedoms) * (attempt > 1)
        motion = ours.solve(y, np.zeros(freedoms), y_ddot)
        oracle.place(dict(zip(ours.tree_joints, motion.q, strict=True)))
        gaps, _ = oracle.equalities()
        assert gaps == pytest.approx(0.0, abs=1e-9)
        motions = oracle.motions()
        assert motions.shape[1] == freedoms
        names = [oracle.model.joint(j).name for j in range(oracle.model.njnt)]
        shared = [name for name in names if name in ours.tree_joints]
        wanted = np.array([motion.a[ours.tree_joints.index(name)] for name in shared])
        rows = motions[[names.index(name) for name in shared]]
        acceleration = motions @ np.linalg.lstsq(rows, wanted, rcond=None)[0]
        effort = ours.feedforward(y, np.zeros(freedoms), y_ddot)
        assert effort.actuated == pytest.approx(oracle.efforts(acceleration), abs=1e-8, rel=1e-8)
    return ours


def accelerates_softly(mechanism: Mechanism, text: str, tolerance: float) -> Any:
    """MuJoCo itself, whose loops and contacts give way to a part of their force; its state then.

    At home it gets the efforts that are needed by our equations for some acceleration.
    """
    mujoco = pytest.importorskip('mujoco', reason='MuJoCo is not installed')
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    asked = np.linspace(1.0, 2.0, len(mechanism.independent))
    effort = mechanism.feedforward(mechanism.home.y, np.zeros(len(asked)), asked)
    model.actuator_ctrllimited[:] = 0
    for motor, value in zip(mechanism.actuated, effort.actuated, strict=True):
        data.ctrl[model.actuator(motor).id] = value
    mujoco.mj_forward(model, data)
    reached = [data.qacc[model.joint(joint).dofadr[0]] for joint in mechanism.independent]
    assert reached == pytest.approx(asked, rel=tolerance)
    return data
