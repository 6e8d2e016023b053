# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Robots with numbers of their own, what they do, and what their files say."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import samples
import yaml
from oracles.mujoco_plant import RATE, Hidden, Log, Plant

from masticator_dynamics import Mechanism

CONSTANT, LOADED = 'constant', 'loaded'  # kinds of friction


def description(folder: pathlib.Path, kind: str) -> pathlib.Path:
    """A masticator whose file states the friction of its motors."""
    content = yaml.safe_load((samples.SHIPPED / 'masticator.yaml').read_text(encoding='utf-8'))
    content['urdf'] = str((samples.SHIPPED / content['urdf']).resolve())
    dry = 0.006 if kind == CONSTANT else 0.003
    content['joints'] = {n: {'friction': dry, 'damping': 3e-4} for n in content['actuated']}
    for contact in content['contacts']:
        contact['friction'] = {'coulomb': 0.0 if kind == CONSTANT else 0.02}
    if kind == CONSTANT:
        for motor in content['actuators'].values():
            del motor['friction']
    file = folder / f'{kind}.yaml'
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding='utf-8')
    return file


def hidden(
    file: pathlib.Path,
    seed: int,
    inertia: float = 0.2,
    friction: float = 0.5,
    centre: float = 0.0,
    bounded: bool = True,
) -> Hidden:
    """Numbers that differ from the file's by up to these parts, and centres by up to this, m.

    Not bounded, they are normally distributed with the same standard deviations.
    """
    content: dict[str, Any] = yaml.safe_load(file.read_text(encoding='utf-8'))
    rng = np.random.default_rng(seed)

    def drawn(size: int | None = None) -> Any:
        if bounded:
            return rng.uniform(-1.0, 1.0, size)
        return np.clip(rng.normal(0.0, 1.0 / np.sqrt(3.0), size), -1.9, 1.9)  # friction stays > 0

    def other(values: dict[str, float], part: float) -> dict[str, float]:
        return {n: float(x * (1.0 + part * drawn())) for n, x in values.items()}

    links = ['mandible', *(f'crank_{k}_link' for k in range(1, 7))]
    links += [f'coupler_{k}' for k in range(1, 7)]
    laws = {n: a.get('friction', {}) for n, a in content['actuators'].items()}
    # Couplers are lines along x: their centres are on it.
    along = {link: [1.0, 0.0, 0.0] if link.startswith('coupler') else [1.0] * 3 for link in links}
    bearings = {n: law['coulomb'] * law['radius'] for n, law in laws.items() if law}
    return Hidden(
        other(dict.fromkeys(links, 1.0), inertia),
        other({n: j['friction'] for n, j in content['joints'].items()}, friction),
        other({n: j['damping'] for n, j in content['joints'].items()}, friction),
        other(bearings, friction),
        other({c['name']: c['friction']['coulomb'] for c in content['contacts']}, friction),
        {n: (centre * np.array(axes) * drawn(3)).tolist() for n, axes in along.items() if centre},
    )


def truth(names: tuple[str, ...], values: np.ndarray, hidden: Hidden) -> np.ndarray:
    """Parameters of the robot, in the order of names."""
    found = values.copy()
    for k, name in enumerate(names):
        owner, _, kind = name.rpartition('.')
        found[k] *= hidden.mass.get(owner, 1.0)
        of_kind = {'friction': hidden.dry, 'damping': hidden.viscous}.get(kind, {})
        found[k] = of_kind.get(owner, found[k])
        if kind == 'coulomb':
            found[k] = hidden.sliding.get(owner, hidden.bearing.get(owner, 0.0) / 0.015)
    for link, shift in hidden.centre.items():
        rows = slice(names.index(f'{link}.mass'), names.index(f'{link}.mass') + 10)
        found[rows] += moved(found[rows], np.array(shift))
    return found


def moved(numbers: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """By how much mass, first and second moments (10,) change when the centre is moved, m."""
    mass, before = numbers[0], numbers[1:4] / numbers[0]
    squares = [np.outer(c, c) for c in (before + shift, before)]
    second = mass * np.subtract(*(np.trace(s) * np.eye(3) - s for s in squares))
    return np.array([0.0, *mass * shift, *np.diag(second), *second[[0, 0, 1], [1, 2, 2]]])


def fourier(seconds: float, seed: int = 5) -> np.ndarray:
    """Positions, velocities and accelerations (3, N, 4) of sums of sines."""
    rng, time = np.random.default_rng(seed), np.arange(int(seconds * RATE)) / RATE
    rows = np.zeros((3, len(time), 4))
    for j, size in enumerate((0.0014, 0.0011, 0.035, 0.09)):
        sines, cosines = rng.normal(size=(2, 7))
        scale = size / (1.3 * np.sqrt((sines**2 + cosines**2).sum()))
        for w, a, b in zip(2.0 * np.pi * 0.45 * np.arange(1, 8), sines, cosines, strict=True):
            s, c = np.sin(w * time), np.cos(w * time)
            rows[0, :, j] += scale * (a * s + b * c)
            rows[1, :, j] += scale * w * (a * c - b * s)
            rows[2, :, j] -= scale * w * w * (a * s + b * c)
    rows[0] += np.array([-0.001, 0.0, 0.0, 0.16])
    return rows


def chewing(seconds: float) -> np.ndarray:
    """Strokes at 1.2 Hz (3, N, 4)."""
    time, w = np.arange(int(seconds * RATE)) / RATE, 2.0 * np.pi * 1.2
    rows = np.zeros((3, len(time), 4))
    opening = np.array([-0.001, 0.0, 0.0, 0.11])
    sideways = np.array([0.0, 0.0012, 0.03, 0.0])
    s, c = (f[:, None] for f in (np.sin(w * time), np.cos(w * time)))
    rows[0] = opening * (1.0 - c) + sideways * s
    rows[1] = opening * w * s + sideways * w * c
    rows[2] = opening * w * w * c - sideways * w * w * s
    return rows


def record(file: pathlib.Path, numbers: Hidden, seed: int, rows: np.ndarray) -> Log:
    """What the drives of the robot measure while it follows a motion by the file's efforts."""
    mechanism = Mechanism.load(file)
    effort = mechanism.feedforward_batch(*rows)
    sent = np.array(effort.actuated) + 0.006 * np.tanh(effort.velocity / 0.05)
    joints = dict(zip(mechanism.tree_joints, effort.q[0], strict=True))
    # With more on velocity light cranks chatter at the plant's steps, which the drives' rate hides.
    gains = (6.0, 0.01)
    return Plant(file, numbers, seed).run(joints, np.array(effort.position), sent, gains)
