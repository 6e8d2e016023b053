# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A robot whose numbers nobody knows: MuJoCo from the URDF, hidden numbers, drives that count.

It shares no code with the package: MuJoCo reads the URDF itself, points are closed by its
equalities, and a condyle is pinned to a light body that slides on the plane of its socket. Masses,
inertia and friction are then changed by numbers that lie in a file beside the log, which what is
tested never opens.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import xacro
import yaml
from scipy.interpolate import CubicSpline

STEP = 5e-4  # s
RATE = 500.0  # Hz, of the drives
_STIFF = {'solref': [0.001, 1.0], 'solimp': [0.9999, 0.9999, 0.001, 0.5, 2.0]}
_DRY = ([0.002, 1.0], [0.999, 0.9999, 0.001, 0.5, 2.0])  # nearly rigid
_SLIDER = 1e-4  # kg, of what runs in a socket


@dataclasses.dataclass(frozen=True)
class Hidden:
    """What the robot's numbers are, as factors on those of its file and in N m.

    ``mass`` by link: on mass and inertia; by actuated joint ``dry``, N m, ``viscous``, N m s, and
    ``bearing``, per newton across the axis times the radius, m; by contact ``sliding``, per newton.
    ``centre`` by link: shift (3,) of the centre of mass, m, axes of the link.
    """

    mass: dict[str, float]
    dry: dict[str, float]
    viscous: dict[str, float]
    bearing: dict[str, float]
    sliding: dict[str, float]
    centre: dict[str, list[float]] = dataclasses.field(default_factory=dict)

    def write(self, file: pathlib.Path) -> None:
        file.write_text(json.dumps(dataclasses.asdict(self)), encoding='utf-8')

    @classmethod
    def read(cls, file: pathlib.Path) -> Hidden:
        return cls(**json.loads(file.read_text(encoding='utf-8')))


@dataclasses.dataclass(frozen=True)
class Drive:
    """What a drive measures in: counts per turn of the joint, and N m of the joint per step."""

    counts: float = 4096 * 4.8
    torque: float = 0.0882 * 4.8 * 1e-3


class Plant:
    """The robot of a mechanism file with numbers of its own."""

    def __init__(self, file: pathlib.Path, hidden: Hidden, seed: int):
        self.mujoco: Any = pytest.importorskip('mujoco')
        self.content = yaml.safe_load(file.read_text(encoding='utf-8'))
        urdf = (file.parent / self.content['urdf']).resolve()
        self.rng, self.hidden, self.drive = np.random.default_rng(seed), hidden, Drive()
        self.model = self._compiled(urdf)
        m = self.model
        m.opt.gravity[:] = self.content['gravity']
        m.opt.timestep = STEP
        for body in range(m.nbody):
            factor = hidden.mass.get(m.body(body).name, 1.0)
            m.body_mass[body] *= factor
            m.body_inertia[body] *= factor
            m.body_ipos[body] += hidden.centre.get(m.body(body).name, [0.0] * 3)
        self.names = self.content['actuated']
        self.dofs = np.array([m.joint(n).dofadr[0] for n in self.names])
        self.places = np.array([m.joint(n).qposadr[0] for n in self.names])
        self.cranks = np.array([m.jnt_bodyid[m.joint(n).id] for n in self.names])
        self.turning = m.dof_jntid[self.dofs]
        self.base_dry = np.array([hidden.dry.get(n, 0.0) for n in self.names])
        self.bearing = np.array([hidden.bearing.get(n, 0.0) for n in self.names])
        m.dof_damping[self.dofs] = [hidden.viscous.get(n, 0.0) for n in self.names]
        m.dof_frictionloss[self.dofs] = np.maximum(self.base_dry, 1e-9)
        slides = [n for c in hidden.sliding for n in (f'{c}:1', f'{c}:2')]
        self.slides = np.array([m.joint(n).dofadr[0] for n in slides], dtype=int)
        self.sliders = np.array([m.body(f'{c}@').id for c in hidden.sliding], dtype=int)
        self.sliding = np.array([*hidden.sliding.values()])
        m.dof_frictionloss[self.slides] = 1e-9
        for dofs in (self.dofs, self.slides):
            if len(dofs):
                m.dof_solref[dofs], m.dof_solimp[dofs] = _DRY
        self.mujoco.mj_setConst(m, self.mujoco.MjData(m))
        for (
            name
        ) in hidden.sliding:  # else what ties so light a body would be as soft as it is light
            m.body_invweight0[m.body(f'{name}@').id] = 0.0
        self.data = self.mujoco.MjData(m)

    def _compiled(self, urdf: pathlib.Path) -> Any:
        root = ElementTree.fromstring(xacro.process_file(str(urdf)).toxml())
        for link in root.iter('link'):
            for kind in ('visual', 'collision'):
                for shape in link.findall(kind):
                    link.remove(shape)
        settings = ElementTree.Element('mujoco')
        ElementTree.SubElement(
            settings, 'compiler', fusestatic='false', boundmass='1e-7', boundinertia='1e-10',
            balanceinertia='true',
        )  # fmt: skip
        root.insert(0, settings)
        spec = self.mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding='unicode'))
        for closure in self.content.get('closures', []):
            assert closure['type'] == 'point', 'the plant knows no other loops'
            self._pin(spec, *closure['frames'], name=closure['name'])
        for contact in self.content.get('contacts', []):
            self._socket(spec, contact)
        for name in self.content['actuated']:
            motor = spec.add_actuator(name=name, target=name)
            motor.trntype = self.mujoco.mjtTrn.mjTRN_JOINT
        spec.option.integrator = self.mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        return spec.compile()

    def _pin(self, spec: Any, first: str, second: str, name: str) -> None:
        for link in (first, second):
            if spec.site(f'{link}@') is None:
                spec.body(link).add_site(name=f'{link}@')
        spec.add_equality(
            name=name, type=self.mujoco.mjtEq.mjEQ_CONNECT, objtype=self.mujoco.mjtObj.mjOBJ_SITE,
            name1=f'{first}@', name2=f'{second}@', **_STIFF,
        )  # fmt: skip

    def _socket(self, spec: Any, contact: dict[str, Any]) -> None:
        """A light body that slides on the plane, pinned to the frame that touches it."""
        normal, size = np.array(contact['normal']), float(np.linalg.norm(contact['normal']))
        across = np.cross(normal, [0.0, 1.0, 0.0])
        across /= np.linalg.norm(across)
        axes = [across, np.cross(normal / size, across)]
        body = spec.worldbody.add_body(
            name=f'{contact["name"]}@', pos=-contact['offset'] / size**2 * normal
        )
        body.mass, body.inertia = _SLIDER, [1e-9] * 3
        body.explicitinertial = True
        for k, axis in enumerate(axes, 1):
            body.add_joint(
                name=f'{contact["name"]}:{k}', type=self.mujoco.mjtJoint.mjJNT_SLIDE, axis=axis
            )
        self._pin(spec, body.name, contact['frame'], f'{contact["name"]}@pin')

    def _start(self, joints: dict[str, float]) -> None:
        """Joints where they are given; what slides in sockets under the condyles."""
        m, d = self.model, self.data
        self.mujoco.mj_resetData(m, d)
        for name, position in joints.items():
            d.qpos[m.joint(name).qposadr[0]] = position
        self.mujoco.mj_forward(m, d)
        for contact in self.content.get('contacts', []):
            for k in (1, 2):
                joint = m.joint(f'{contact["name"]}:{k}')
                away = d.body(contact['frame']).xpos - d.body(f'{contact["name"]}@').xpos
                d.qpos[joint.qposadr[0]] = away @ m.jnt_axis[joint.id]
        self.mujoco.mj_forward(m, d)

    def _set_dry_friction(self) -> None:
        """Bounds of dry friction from the forces of the step before."""
        m, d = self.model, self.data
        self.mujoco.mj_rnePostConstraint(m, d)
        if self.bearing.any():
            force, axis = d.cfrc_int[self.cranks, 3:], d.xaxis[self.turning]
            across = (force**2).sum(axis=1) - (force * axis).sum(axis=1) ** 2
            m.dof_frictionloss[self.dofs] = self.base_dry + self.bearing * np.sqrt(
                np.maximum(across, 0.0)
            )
        if len(self.slides):
            pressed = np.sqrt((d.cfrc_int[self.sliders, 3:] ** 2).sum(axis=1))
            speed = np.abs(d.qvel[self.slides]).reshape(-1, 2)
            part = speed / np.maximum(np.sqrt((speed**2).sum(axis=1)), 1e-9)[:, None]
            bound = (self.sliding * pressed)[:, None] * np.maximum(part, 0.05)
            m.dof_frictionloss[self.slides] = np.maximum(bound, 1e-9).reshape(-1)

    def run(
        self,
        joints: dict[str, float],
        position: np.ndarray,
        feedforward: np.ndarray,
        gains: tuple[float, float] = (6.0, 0.03),
        wrench: np.ndarray | None = None,
        link: str = '',
    ) -> Log:
        """Follow positions of the motors (N, n_u) at the drives' rate, with torques sent along.

        ``wrench`` (N, 6), base axes, acts at the origin of a link.
        """
        m, d = self.model, self.data
        self._start(joints)
        steps = round(1.0 / RATE / STEP)
        # Between cycles drives follow a smooth curve: corners at each would be torque at each.
        cycles, fine = np.arange(len(position)), np.arange(len(position) * steps) / steps
        followed = CubicSpline(cycles / RATE, position)
        wanted, speed = followed(fine / RATE), followed(fine / RATE, 1)
        sent = CubicSpline(cycles, feedforward)(fine)
        counts = 2.0 * np.pi / self.drive.counts
        loaded = bool(self.bearing.any() or len(self.slides))
        measured, efforts = np.empty_like(position), np.empty_like(position)
        truth = np.empty((len(position), m.nq))
        for row in range(len(position)):
            truth[row] = d.qpos
            measured[row] = np.round(d.qpos[self.places] / counts) * counts
            for part in range(row * steps, (row + 1) * steps):
                effort = sent[part] + gains[0] * (wanted[part] - d.qpos[self.places])
                effort = effort + gains[1] * (speed[part] - d.qvel[self.dofs])
                if part == row * steps:
                    efforts[row] = effort
                d.ctrl[:] = effort
                if wrench is not None:  # xfrc_applied would act at the link's centre of mass
                    d.qfrc_applied[:] = 0.0
                    self.mujoco.mj_applyFT(
                        m, d, wrench[row, :3], wrench[row, 3:], d.body(link).xpos,
                        m.body(link).id, d.qfrc_applied,
                    )  # fmt: skip
                if loaded:
                    self._set_dry_friction()
                self.mujoco.mj_step(m, d)
            assert np.isfinite(d.qpos).all(), f'the plant diverged in row {row}'
        noisy = efforts + self.rng.normal(0.0, 0.5 * self.drive.torque, efforts.shape)
        efforts = np.round(noisy / self.drive.torque) * self.drive.torque
        return Log(self.names, np.arange(len(position)) / RATE, measured, efforts, truth)


@dataclasses.dataclass(frozen=True)
class Log:
    """What drives measured, rows by cycle; ``truth`` is MuJoCo's qpos."""

    names: list[str]
    time: np.ndarray
    position: np.ndarray
    effort: np.ndarray
    truth: np.ndarray

    def write(self, file: pathlib.Path, **more: np.ndarray) -> None:
        """As CSV: time, position_J, effort_J, then more columns."""
        columns = ['time', *(f'{w}_{n}' for n in self.names for w in ('position', 'effort')), *more]
        parts = [
            c for k in range(len(self.names)) for c in (self.position[:, k], self.effort[:, k])
        ]
        table = np.column_stack([self.time, *parts, *more.values()])
        np.savetxt(
            file, table, '%.9g', delimiter=',', header=','.join(columns), comments='',
            encoding='utf-8',
        )  # fmt: skip
