# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Robots as they are measured: friction, rotors and offsets that no file has; noise with memory."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np
import yaml
from scipy.signal import lfilter

from masticator_dynamics import Mechanism
from masticator_dynamics.description import MechanismDescription, load_description
from masticator_dynamics.engine.evaluation.effort_regressor import regressor
from masticator_dynamics.identification.identify import with_motor_friction
from masticator_dynamics.identification.robot_log import RobotLog
from masticator_dynamics.identification.unknowns import Beliefs, Usual, unknowns_of

RATE = 100.0  # Hz
_MEMORY = 0.1  # s, of noise
_LINKS = ((3.0, 0.15), (4.0, 0.2), (2.0, 0.15), (1.0, 0.05))  # kg, and m to the centre


def arm(folder: pathlib.Path) -> pathlib.Path:
    """Four turning joints in space, as a vendor describes them: links alone."""
    links, joints = '<link name="base"/>', ''
    for k, (mass, centre) in enumerate(_LINKS):
        size = 0.3 * centre
        diagonal = [mass * s for s in (size**2 + centre**2 / 3.0, centre**2 / 3.0, size**2)]
        moments = ' '.join(f'i{a}{a}="{m:.6g}"' for a, m in zip('xyz', diagonal, strict=True))
        links += (
            f'<link name="link_{k}"><inertial><origin xyz="0.01 0.02 {centre}"/>'
            f'<mass value="{mass}"/><inertia {moments} ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
        axis = '0 0 1' if k == 0 else '0 1 0' if k < 3 else '1 0 0'
        parent, offset = (f'link_{k - 1}', 0.4 if k > 1 else 0.1) if k else ('base', 0.1)
        joints += (
            f'<joint name="joint_{k}" type="revolute"><parent link="{parent}"/>'
            f'<child link="link_{k}"/><origin xyz="0 0 {offset}"/><axis xyz="{axis}"/>'
            '<limit lower="-3" upper="3" effort="500" velocity="10"/></joint>'
        )
    (folder / 'arm.urdf').write_text(f'<robot name="arm">{links}{joints}</robot>', encoding='utf-8')
    names = [f'joint_{k}' for k in range(len(_LINKS))]
    content = {
        'schema': 1, 'name': 'arm', 'urdf': 'arm.urdf', 'base': 'base', 'platform': 'link_3',
        'gravity': [0.0, 0.0, -9.80665], 'independent': names, 'actuated': names, 'home': {},
    }  # fmt: skip
    file = folder / 'arm.yaml'
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding='utf-8')
    return file


def sines(
    mechanism: Mechanism, centre: np.ndarray, reach: np.ndarray, seconds: float, seed: int,
    late: float = 0.0,
):  # fmt: skip
    """Rows (3, N, n_y) of sums of sines about a centre, as they were so many s before."""
    rng, time = np.random.default_rng(seed), np.arange(round(seconds * RATE)) / RATE - late
    rows = np.zeros((3, len(time), len(centre)))
    for j in range(len(centre)):
        for w in 2.0 * np.pi * rng.uniform(0.1, 0.9, 5):
            angle = w * time + rng.uniform(0.0, 6.28)
            parts = [np.sin(angle), w * np.cos(angle), -w * w * np.sin(angle)]
            rows[:, :, j] += 0.4 * reach[j] * np.array(parts)
    rows[0] += centre
    return rows


@dataclasses.dataclass(frozen=True)
class Measured:
    """A recording, and what is true of the robot that made it."""

    description: MechanismDescription
    log: RobotLog
    truth: dict[str, float]


def measured(
    file: pathlib.Path, rows: np.ndarray, seed: int, noise: float = 0.02, friction: float = 0.0,
    geared: float = 1.0,
) -> Measured:  # fmt: skip
    """What a robot does whose bodies differ from the file's, with friction, rotors and offsets.

    Parameters
    ----------
    noise : float
        Of each motor's efforts, part of their usual size.
    friction : float
        Part of the true friction that the file has.
    geared : float
        By how much the last motor's rotor and friction are larger than the others' are.
    """
    description, rng = load_description(file), np.random.default_rng(seed)
    mechanism = Mechanism(with_motor_friction(description))
    motion = mechanism.solve_batch(*rows)
    n_u = len(mechanism.actuated)
    usual = np.sqrt((mechanism.feedforward_batch(*rows).actuated ** 2).mean(axis=0)) + 1e-3
    speed, acceleration = (
        np.sqrt((rates[:, mechanism.actuated_rows] ** 2).mean(axis=0))
        for rates in (motion.v, motion.a)
    )
    sized = Usual(usual, usual, speed, acceleration, None)
    unknowns = unknowns_of(mechanism, Beliefs(), sized)
    bodies = np.array([' ' in cause for cause in unknowns.causes])
    x = np.where(bodies, rng.standard_normal(len(bodies)), 0.0)
    truth = dict(zip(unknowns.names, unknowns.values + unknowns.spread @ x, strict=True))
    moved = np.diag(mechanism.actuated_inertia(mechanism.home))
    for k, joint in enumerate(mechanism.actuated):
        last = geared if k == n_u - 1 else 1.0
        truth[f'{joint}.friction'] = last * usual[k] * rng.uniform(0.2, 0.5)
        truth[f'{joint}.damping'] = last * usual[k] / speed[k] * rng.uniform(0.1, 0.4)
        truth[f'{joint}.rotor_inertia'] = last * moved[k] * rng.uniform(0.2, 1.0)
        truth[f'{joint}.effort_offset'] = -usual[k] * 0.03 * rng.standard_normal()
    columns = regressor(mechanism, motion, True)
    needed = columns.matrix @ np.array([truth[name] for name in columns.names])
    offset = -np.array([truth[f'{joint}.effort_offset'] for joint in mechanism.actuated])
    memory = np.exp(-1.0 / (_MEMORY * RATE))
    white = rng.standard_normal((len(needed), n_u)) * np.sqrt(1.0 - memory**2)
    size = np.sqrt((needed**2).mean(axis=0))
    errors = noise * size * lfilter([1.0], [1.0, -memory], white, axis=0)
    time = np.arange(len(needed)) / RATE
    log = RobotLog('run.csv', time, np.array(motion.position), needed + offset + errors, None)
    if friction:
        parts = {
            joint: dataclasses.replace(
                physics,
                friction=friction * truth[f'{joint}.friction'],
                damping=friction * truth[f'{joint}.damping'],
            )
            for joint, physics in mechanism.description.joints.items()
            if joint in mechanism.actuated
        }
        joints = mechanism.description.joints | parts
        description = dataclasses.replace(mechanism.description, joints=joints)
    return Measured(description, log, truth)
