# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The oracles against one another, the papers and the reference samples."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from . import rcid_oracle, rrr4_oracle, trimule_oracle
from .pinocchio_oracle import PinocchioOracle
from .rss_oracle import RssOracle

Array = NDArray[np.float64]
State = tuple[Array, Array, Array, Array]

ROOT = Path(__file__).resolve().parents[2]
MECHANISMS = ROOT / 'config' / 'mechanisms'
REFERENCE = ROOT.parent / 'shared' / 'reference' / 'masticator.json'
POSES = 50
TOLERANCE = 1e-9

_LENGTH_AND_ANGLE = np.array([1.0, 1.0, 1.0, 10.0, 10.0, 10.0])


def _wrench(rng: np.random.Generator) -> Array:
    largest = np.array([100.0, 100.0, 100.0, 3.0, 3.0, 3.0])
    return np.asarray(largest * rng.uniform(-1.0, 1.0, 6))


def _masticator_state(rng: np.random.Generator) -> State:
    """Return a state at up to 0.05 m/s, 0.5 rad/s (one sigma), 1 m/s², 20 rad/s²."""
    low = np.array([-0.005, -0.0025, -0.04, -0.005])
    high = np.array([0.005, 0.0025, 0.04, 0.17])
    y_dot = rng.normal(size=4) * np.array([0.05, 0.05, 0.5, 0.5])
    y_ddot = rng.normal(size=4) * np.array([1.0, 1.0, 20.0, 20.0])
    return rng.uniform(low, high), y_dot, y_ddot, _wrench(rng)


def _six_dof_rates(rng: np.random.Generator) -> tuple[Array, Array]:
    y_dot = 0.05 * rng.normal(size=6) * _LENGTH_AND_ANGLE
    y_ddot = rng.normal(size=6) * np.array([1.0, 1.0, 1.0, 20.0, 20.0, 20.0])
    return y_dot, y_ddot


def _rss6_state(rng: np.random.Generator) -> State:
    """Return a state near the masticator's poses, off its constraint surface."""
    constrained, *_ = _masticator_state(rng)
    pose = RssOracle('masticator').platform_motion(constrained, np.zeros(4), np.zeros(4)).pose
    offset = rng.uniform(-1.0, 1.0, 6) * np.array([0.0, 0.0, 0.0005, 0.0, 0.0, 0.02])
    return pose + offset, *_six_dof_rates(rng), _wrench(rng)


def _rcid_state(rng: np.random.Generator) -> State:
    reach = np.array([0.015, 0.015, 0.015, 0.2, 0.2, 0.2])
    y = np.array([0.0, 0.0, 0.110, 0.0, 0.0, 0.0]) + rng.uniform(-1.0, 1.0, 6) * reach
    return y, *_six_dof_rates(rng), _wrench(rng)


def _relative(value: Array, expected: Array, floor: float) -> float:
    """Return the largest error over the largest expected value or `floor`."""
    return float(np.max(np.abs(value - expected)) / max(np.max(np.abs(expected)), floor))


def _reachable(
    state_of: Callable[[np.random.Generator], State], solve: Callable[..., Any], seed: int
) -> list[tuple[State, Any]]:
    """Return POSES states that the hand-written oracle can reach, with its solutions."""
    rng = np.random.default_rng(seed)
    found: list[tuple[State, Any]] = []
    for _ in range(2 * POSES):
        state = state_of(rng)
        try:
            found.append((state, solve(*state)))
        except ValueError:
            # a corner of the sampled box, where a limb is too short
            continue
        if len(found) == POSES:
            return found
    raise AssertionError('the sampled box is mostly out of reach')


@pytest.mark.parametrize('name', ['masticator', 'rss6'])
def test_pinocchio_agrees_with_newton_euler(name: str) -> None:
    by_hand = RssOracle(name)
    generic = PinocchioOracle(MECHANISMS / f'{name}.yaml')
    state_of = _masticator_state if name == 'masticator' else _rss6_state
    for state, expected in _reachable(state_of, by_hand.inverse_dynamics, seed=1):
        effort = generic.inverse_dynamics(*state)
        motion = effort.motion
        pose = generic.by_name(motion.q)
        for joint, value in zip(
            ('x', 'y', 'z', 'alpha', 'beta', 'gamma'), expected.platform.pose, strict=True
        ):
            assert pose[joint] == pytest.approx(value, abs=1e-13)
        assert np.max(np.abs(generic.of_actuated(motion.q) - expected.theta)) < TOLERANCE
        assert _relative(generic.of_actuated(motion.v), expected.theta_dot, 1e-2) < TOLERANCE
        assert _relative(generic.of_actuated(motion.a), expected.theta_ddot, 1e-2) < TOLERANCE
        assert _relative(effort.actuated, expected.effort, 1e-2) < TOLERANCE
        assert effort.contact.shape == expected.contact.shape
        if name == 'masticator':
            assert _relative(effort.contact, expected.contact, 1e-2) < TOLERANCE
        assert effort.imbalance < TOLERANCE


def test_pinocchio_agrees_with_virtual_work() -> None:
    generic = PinocchioOracle(MECHANISMS / 'rcid.yaml')
    for state, expected in _reachable(_rcid_state, rcid_oracle.inverse_dynamics, seed=2):
        effort = generic.inverse_dynamics(*state)
        motion = effort.motion
        assert np.max(np.abs(generic.of_actuated(motion.q) - expected.slider)) < 1e-13
        assert _relative(generic.of_actuated(motion.v), expected.slider_dot, 1e-3) < TOLERANCE
        assert _relative(generic.of_actuated(motion.a), expected.slider_ddot, 1e-3) < TOLERANCE
        assert _relative(effort.actuated, expected.effort, 1e-2) < TOLERANCE
        mass_matrix = generic.mass_matrix_independent(state[0])
        assert _relative(mass_matrix, expected.mass_matrix, 1e-6) < TOLERANCE


@pytest.mark.parametrize('name', ['masticator', 'rss6', 'rcid'])
def test_power_changes_the_energy(name: str) -> None:
    """The power of motors and food in the generic oracle is the rate of change of its energy."""
    generic = PinocchioOracle(MECHANISMS / f'{name}.yaml')
    state_of = {'masticator': _masticator_state, 'rss6': _rss6_state, 'rcid': _rcid_state}[name]
    y, y_dot, y_ddot, wrench = state_of(np.random.default_rng(3))
    effort = generic.inverse_dynamics(y, y_dot, y_ddot, wrench)
    twist = generic.frame_jacobian(generic.description['platform'], effort.motion) @ y_dot
    power = effort.actuated @ generic.of_actuated(effort.motion.v) + wrench @ twist

    def energy(time: float) -> float:
        motion = generic.solve(y + time * y_dot + 0.5 * time**2 * y_ddot, y_dot + time * y_ddot)
        return sum(generic.energy(motion.q, motion.v))

    assert power == pytest.approx(_derivative(energy, 2e-4), rel=1e-6)


def _derivative(function: Callable[[float], Any], step: float) -> Any:
    """Return the derivative at zero by the fourth-order central difference."""
    far = function(-2.0 * step) - function(2.0 * step)
    return (far + 8.0 * (function(step) - function(-step))) / (12.0 * step)


@pytest.mark.parametrize(
    ('oracle', 'centre', 'joint'),
    [
        (rcid_oracle, [0.004, -0.003, 0.112, 0.10, -0.05, 0.08], 'slider'),
        (rrr4_oracle, [0.004, 0.003, 2.2], 'angle'),
        (trimule_oracle, [0.10, -0.30, 1.25], 'limb'),
    ],
)
def test_virtual_work_oracles_are_consistent(
    oracle: ModuleType, centre: list[float], joint: str
) -> None:
    """Rates are derivatives, and efforts satisfy Lagrange's equations for the mass matrix."""
    rng = np.random.default_rng(4)
    y = np.array(centre)
    n = len(y)
    y_dot, y_ddot = rng.normal(size=n), rng.normal(size=n)

    def position(time: float) -> Array:
        return y + time * y_dot + 0.5 * time**2 * y_ddot

    def at(time: float) -> Any:
        return oracle.inverse_dynamics(position(time), y_dot + time * y_ddot, y_ddot)

    def generalized(where: Array, rate: Array, acceleration: Array) -> Array:
        solution = oracle.inverse_dynamics(where, rate, acceleration)
        return np.asarray(solution.jacobian.T @ solution.effort)

    def momentum(where: Array, rate: Array) -> Array:
        still = np.zeros(n)
        return generalized(where, still, rate) - generalized(where, still, still)

    now = at(0.0)
    rate, acceleration = getattr(now, f'{joint}_dot'), getattr(now, f'{joint}_ddot')
    assert rate == pytest.approx(_derivative(lambda t: getattr(at(t), joint), 1e-4), rel=1e-7)
    assert acceleration == pytest.approx(
        _derivative(lambda t: getattr(at(t), f'{joint}_dot'), 1e-4), rel=1e-7
    )
    assert now.jacobian @ y_dot == pytest.approx(rate, rel=1e-12)

    momentum_rate = _derivative(lambda t: momentum(position(t), y_dot + t * y_ddot), 1e-4)

    def energy_slope(axis: Array) -> float:
        return float(_derivative(lambda step: 0.5 * y_dot @ momentum(y + step * axis, y_dot), 1e-4))

    slope = np.array([energy_slope(axis) for axis in np.eye(n)])
    inertial = generalized(y, y_dot, y_ddot) - generalized(y, np.zeros(n), np.zeros(n))
    error = _relative(inertial, momentum_rate - slope, 1e-9)
    assert error < 1e-7


@pytest.mark.parametrize(
    ('joint', 'point', 'printed'),
    [
        (0, (0.0, -0.29), 2.65),
        (0, (0.0, 0.04), 2.83),
        (0, (0.0, 0.41), 3.51),
        (1, (0.06, -0.12), 2.69),
        (1, (-0.2, -0.32), 2.88),
        (1, (-0.5, -0.53), 3.69),
        (2, (-0.06, -0.12), 2.69),
        (2, (0.2, -0.32), 2.88),
        (2, (0.5, -0.53), 3.69),
    ],
)
def test_trimule_load_inertia_is_as_printed(
    joint: int, point: tuple[float, float], printed: float
) -> None:
    """S4 Table 3, 1e-3 kg·m²; the tolerance is 0.01 since the dimensions were fitted to it."""
    solution = trimule_oracle.inverse_dynamics([*point, 1.268], np.zeros(3), np.zeros(3))
    assert solution.load_inertia[joint, joint] * 1e3 == pytest.approx(printed, abs=0.01)


@pytest.mark.skipif(
    not REFERENCE.exists(), reason='the reference samples are not beside the project'
)
def test_newton_euler_reproduces_the_reference_samples() -> None:
    masticator, rss6 = RssOracle('masticator'), RssOracle('rss6')
    samples = json.loads(REFERENCE.read_text(encoding='utf-8'))['samples']
    assert samples
    for sample in samples:
        given, out = sample['in'], sample['out']
        solution = masticator.inverse_dynamics(given['x'], given['xd'], given['xdd'], given['W'])
        platform = solution.platform
        free = rss6.inverse_dynamics(
            platform.pose, platform.pose_dot, platform.pose_ddot, given['W']
        )
        for value, expected in [
            (platform.pose, out['pose']),
            (platform.pose_ddot, out['pose_dd']),
            (solution.theta, out['theta']),
            (solution.theta_dot, out['theta_d']),
            (solution.theta_ddot, out['theta_dd']),
            (masticator.jacobian(given['x']), out['J_theta1']),
            (solution.effort, out['tau_minnorm']),
            (solution.contact, out['FZ_minnorm']),
            (free.effort, out['rss6']['tau']),
        ]:
            assert _relative(value, np.array(expected), 1e-2) < 1e-12
