# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms and states for many tests: the shipped ones and three made from files alone."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pathlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from masticator_dynamics import Mechanism

Array = npt.NDArray[np.float64]

ROOT = pathlib.Path(__file__).resolve().parents[1]
SHIPPED = ROOT / 'config' / 'mechanisms'
OWN = ROOT / 'test' / 'mechanisms'
REFERENCE = ROOT.parent / 'shared' / 'reference' / 'masticator.json'


@dataclasses.dataclass(frozen=True)
class Box:
    """Ranges of random poses (n_y,), well inside the workspace, and typical rates."""

    lower: Array
    upper: Array
    rates: Array
    accelerations: Array


def _box(lower: list[float], upper: list[float], rates: list[float], acc: list[float]) -> Box:
    return Box(np.array(lower), np.array(upper), np.array(rates), np.array(acc))


BOXES = {
    'masticator': _box(
        [-0.003, -0.0025, -0.03, 0.0], [0.003, 0.0025, 0.03, 0.15],
        [0.05, 0.05, 0.5, 0.5], [1.0, 1.0, 20.0, 20.0]),
    'rss6': _box(
        [-0.001, -0.001, -0.0005, -0.008, 0.0, -0.008], [0.001, 0.001, 0.0002, 0.008, 0.05, 0.008],
        [0.05] * 3 + [0.5] * 3, [1.0] * 3 + [20.0] * 3),
    'rcid': _box(
        [-0.015, -0.015, 0.095, -0.2, -0.2, -0.2], [0.015, 0.015, 0.125, 0.2, 0.2, 0.2],
        [0.05] * 3 + [0.5] * 3, [1.0] * 3 + [20.0] * 3),
    'rrr4': _box([-0.03, -0.03, 1.7], [0.03, 0.03, 2.5], [0.5, 0.5, 5.0], [5.0, 5.0, 50.0]),
    'trimule': _box([-0.4, -0.5, 1.15], [0.4, 0.2, 1.35], [0.5] * 3, [5.0] * 3),
    'trimule_five_axis': _box(
        [-0.4, -0.5, 1.15, -1.5, -1.2], [0.4, 0.2, 1.35, 1.5, 1.2],
        [0.5] * 3 + [2.0] * 2, [5.0] * 3 + [20.0] * 2),
    'five_bar': _box([-0.1, 0.18], [0.1, 0.41], [0.5, 0.5], [5.0, 5.0]),
    'boom': _box([-0.25, -2.0], [0.5, 2.0], [0.5, 2.0], [3.0, 10.0]),
    'ladder': _box([0.58], [1.2], [1.0], [5.0]),
}  # fmt: skip
NAMES = tuple(BOXES)
# How far from home every independent coordinate may go, m or rad.
ARCHETYPES = {
    'ankle': [0.3, 0.2],
    'cable_planar': [0.4, 0.3, 0.3],
    'delta': [0.1, 0.1, 0.05],
    'excavator': [1.0, 0.2, 0.2, 0.1],
    'five_bar': [0.08, 0.04],
    'jaw_6pus': [0.004, 0.003, 0.03, 0.1],
    'palletiser': [1.0, 0.3, 0.3, 1.0],
    'scara': [1.5, 1.5, 0.08, 3.0],
    'scissor_lift': [0.15],
    'slider_crank': [3.0],
    'stewart': [0.1, 0.1, 0.1, 0.2, 0.2, 0.2],
    'three_rrs': [0.03, 0.15, 0.15],
}
ALL = (*NAMES, *(f'archetype {name}' for name in ARCHETYPES))
# Of these, each structure once: planar and spatial, redundant motors, sliders, couplings, cables.
EVERYDAY = (
    'masticator', 'rrr4', 'trimule', 'five_bar', 'boom',
    *(f'archetype {name}' for name in ('cable_planar', 'scara', 'slider_crank')),
)  # fmt: skip
LARGEST_WRENCH = np.array([50.0, 50.0, 50.0, 2.0, 2.0, 2.0])


@dataclasses.dataclass(frozen=True)
class State:
    """Independent positions, velocities, accelerations (n_y,) and a wrench (6,)."""

    y: Array
    y_dot: Array
    y_ddot: Array
    wrench: Array

    def __iter__(self):
        return iter((self.y, self.y_dot, self.y_ddot, self.wrench))


def swept(cases: Iterable[Any], often: Iterable[Any] = EVERYDAY) -> list[Any]:
    """Parameters of a test: `make test` tries those that are often tried, `make test-all` all."""
    often = [*often]
    return [c if c in often else pytest.param(c, marks=pytest.mark.sweep) for c in cases]


def swept_rows(cases: Iterable[Any], often: Iterable[Any]) -> list[Any]:
    """The same for tests with several parameters."""
    often = [*often]
    return [c if c in often else pytest.param(*c, marks=pytest.mark.sweep) for c in cases]


def file_of(name: str) -> pathlib.Path:
    """Description file of a sampled mechanism, or of an archetype."""
    if name.startswith('archetype '):
        return ROOT / 'config' / 'archetypes' / f'{name.removeprefix("archetype ")}.yaml'
    shipped = SHIPPED / f'{name}.yaml'
    return shipped if shipped.is_file() else OWN / f'{name}.yaml'


def tight_masticator(folder: pathlib.Path) -> pathlib.Path:
    """Description with limits that bind early: 20 N for sockets and 0.4 N m for motors."""
    text = (SHIPPED / 'masticator.yaml').read_text(encoding='utf-8')
    assert text.count('[-300.0, 300.0]') == 2 and text.count('../../urdf') == 1
    text = text.replace('[-300.0, 300.0]', '[-20.0, 20.0]').replace('../../urdf', f'{ROOT}/urdf')
    text += "\nxacro_arguments: {crank_effort: '0.4'}\n"
    file = folder / 'tight.yaml'
    file.write_text(text, encoding='utf-8')
    return file


@functools.cache
def mechanism(name: str) -> Mechanism:
    """Load a mechanism once per test run."""
    return Mechanism.load(file_of(name))


def poses_up_to_the_edge(name: str, count: int, rng: np.random.Generator) -> Array:
    """Poses (N, n_y) on random ways from home to the edge of the workspace, most close to it."""
    found, box = mechanism(name), BOXES[name]
    home = found.home.y
    ways = rng.normal(size=(count, len(home))) * (box.upper - box.lower)
    inside, outside = np.zeros(count), np.full(count, 20.0)
    for _ in range(40):
        middle = (inside + outside) / 2.0
        closed = found.attempt(home + middle[:, None] * ways).closed
        inside, outside = np.where(closed, middle, inside), np.where(closed, outside, middle)
    inside *= 1.0 - 10.0 ** rng.uniform(-4.0, -0.5, count)
    poses = home + inside[:, None] * ways
    return poses[found.attempt(poses).closed]


def pinocchio() -> Any:
    """The module pinocchio, or a skip if it is not installed."""
    return pytest.importorskip(
        'pinocchio', reason='the Pinocchio oracle needs the package pin, which is not installed'
    )


@functools.cache
def _oracle(name: str) -> Any:
    return importlib.import_module('oracles.pinocchio_oracle').PinocchioOracle(file_of(name))


def oracle(name: str) -> Any:
    """The independent engine of a mechanism; skips the test if Pinocchio is missing."""
    pinocchio()
    return _oracle(name)


def random_pose(name: str, rng: np.random.Generator) -> Array:
    """A pose (n_y,) from the box."""
    if name.startswith('archetype '):
        reach = np.array(ARCHETYPES[name.removeprefix('archetype ')])
        return mechanism(name).home.y + rng.uniform(-reach, reach)
    return np.asarray(rng.uniform(BOXES[name].lower, BOXES[name].upper))


def random_state(name: str, rng: np.random.Generator) -> State:
    """A moving, loaded state."""
    if name.startswith('archetype '):
        y = random_pose(name, rng)
        rates, accelerations = rng.normal(size=(2, len(y)))
        return State(y, rates, accelerations, rng.normal(size=6))
    box = BOXES[name]
    count = len(box.rates)
    return State(
        random_pose(name, rng),
        rng.normal(size=count) * box.rates,
        rng.normal(size=count) * box.accelerations,
        rng.uniform(-1.0, 1.0, 6) * LARGEST_WRENCH,
    )


def states(name: str, count: int, seed: int) -> list[State]:
    """Reproducible states."""
    rng = np.random.default_rng(seed)
    return [random_state(name, rng) for _ in range(count)]


def motor_jacobian(mechanism: Mechanism, motion: Any) -> Array:
    """Rates of the motors per independent velocity (n_u, n_y), through their transmissions."""
    jacobian = mechanism.jacobian_actuated_from_independent(motion)
    return np.asarray(mechanism.transmission_ratios[:, None] * jacobian)


def relative_error(value: npt.ArrayLike, expected: npt.ArrayLike, floor: float = 1e-2) -> float:
    """Largest difference over the largest expected value, or over ``floor`` if that is larger."""
    value, expected = np.asarray(value, dtype=float), np.asarray(expected, dtype=float)
    assert value.shape == expected.shape
    if not value.size:
        return 0.0
    return float(np.abs(value - expected).max() / max(np.abs(expected).max(), floor))


def five_point(function: Any, step: float) -> Array:
    """Derivative of ``function(t)`` at 0, fourth order in ``step``."""
    near = np.asarray(function(step)) - np.asarray(function(-step))
    far = np.asarray(function(2.0 * step)) - np.asarray(function(-2.0 * step))
    return np.asarray((8.0 * near - far) / (12.0 * step))
