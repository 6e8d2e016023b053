# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The generalized momentum of S2 against the engine, finite differences and Lagrange."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
import samples
from hypothesis import given, settings
from hypothesis import strategies as st

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import InputError, ReachError, SingularityError
from papers.formulations import (
    PUS_FORMULATIONS,
    GeneralizedMomentum,
    LagrangeKoditschek,
)
from papers.formulations.generalized_momentum import inertia_slope
from papers.formulations.momentum_parts import (
    actuators,
    all_parts,
    platform,
    rotating_link,
    translating_link,
)
from papers.formulations.pus_geometry import read_pus_geometry
from papers.formulations.pus_kinematics import kinematics
from papers.formulations.rotations import axial, rotation_zyx, skew

TOLERANCE = 1e-10  # the promise is 1e-8
RCID = samples.mechanism('rcid')
# Dimensions without symmetry, so that no mistake hides: uneven links, tilted gravity, rotors.
RNG = np.random.default_rng(101)
SHIPPED = read_pus_geometry(RCID.description)
GEOMETRY = dataclasses.replace(
    SHIPPED,
    b=SHIPPED.b + RNG.uniform(-2e-3, 2e-3, (6, 3)),
    p=SHIPPED.p + RNG.uniform(-2e-3, 2e-3, (6, 3)),
    kappa=RNG.uniform(0.2, 0.8, 6),
    I_P=SHIPPED.I_P + 3e-5 * np.array([[0.0, 1.0, 2.0], [1.0, 0.0, -1.0], [2.0, -1.0, 0.0]]),
    m_A=RNG.uniform(0.2, 0.3, 6),
    m_rotor=RNG.uniform(0.05, 0.1, 6),
    m_L=RNG.uniform(0.03, 0.08, 6),
    I_Lxx=RNG.uniform(1e-6, 1e-5, 6),
    I_Lyy=RNG.uniform(3e-5, 5e-5, 6),
    g=np.array([2.0, -3.0, -8.0]),
)
STATES = samples.states('rcid', 3, 102)
PARTS = {
    'platform': platform,
    'actuators': actuators,
    'translating link': functools.partial(translating_link, i=3),
    'rotating link': functools.partial(rotating_link, i=4),
}
STEP = 2e-4  # of time or of a coordinate: truncation below 1e-9 of the derivative


@functools.cache
def formulation(method: str):
    return PUS_FORMULATIONS[method](RCID.description)


def assert_close(value, expected, floor: float = 1e-6) -> None:
    assert samples.relative_error(value, expected, floor) < 1e-8


def rate(function, x, x_dot) -> samples.Array:
    """Derivative along x_dot, by five points."""
    return samples.five_point(lambda t: function(x + t * x_dot), STEP)


# Against the engine


@pytest.mark.parametrize('method', PUS_FORMULATIONS)
def test_random_motions_with_random_wrenches(method: str) -> None:
    for state in samples.states('rcid', 40, 103):
        found = formulation(method).inverse_dynamics(*state)
        assert found.contact is None
        expected = RCID.feedforward(*state).actuated
        assert samples.relative_error(found.actuated, expected) < TOLERANCE


unit, signed = st.floats(0.0, 1.0), st.floats(-1.0, 1.0)


@settings(max_examples=25)
@given(st.lists(unit, min_size=6, max_size=6), st.lists(signed, min_size=18, max_size=18))
def test_anywhere_in_the_workspace(place: list[float], rest: list[float]) -> None:
    """Corners, rest and symmetric poses included; all methods refuse poses out of reach."""
    box = samples.BOXES['rcid']
    factors = np.array(rest).reshape(3, 6)
    state = samples.State(
        box.lower + np.array(place) * (box.upper - box.lower),
        3.0 * factors[0] * box.rates,
        3.0 * factors[1] * box.accelerations,
        2.0 * factors[2] * samples.LARGEST_WRENCH,
    )
    for method in PUS_FORMULATIONS:
        try:
            expected = RCID.feedforward(*state).actuated
        except ReachError:
            with pytest.raises(ReachError):
                formulation(method).inverse_dynamics(*state)
            continue
        found = formulation(method).inverse_dynamics(*state).actuated
        assert samples.relative_error(found, expected) < 1e-8


def changed(**changes):
    """The RCID's description with links and other fields replaced."""
    description = RCID.description
    links = dict(description.tree.links)
    for name, values in changes.pop('links', {}).items():
        links[name] = dataclasses.replace(links[name], **values)
    tree = dataclasses.replace(description.tree, links=links)
    return dataclasses.replace(description, tree=tree, **changes)


def test_numbers_come_from_the_description() -> None:
    rod = RCID.description.tree.links['link_5']
    motor = RCID.description.actuators['slider_3']
    motor = dataclasses.replace(motor, rotor_inertia=0.1)
    description = changed(
        links={
            'link_5': {
                'mass': 0.08,
                'center_of_mass': 1.3 * rod.center_of_mass,
                'about_center': 2.0 * rod.about_center,
            },
            'slider_2_link': {'mass': 0.4},
            'platform': {'mass': 0.7, 'about_center': GEOMETRY.I_P},
        },
        gravity=(2.0, -3.0, -8.0),
        actuators={**RCID.description.actuators, 'slider_3': motor},
    )
    mechanism = Mechanism(description)
    for method, kind in PUS_FORMULATIONS.items():
        for state in samples.states('rcid', 4, 104):
            found = kind(description).inverse_dynamics(*state).actuated
            expected = mechanism.feedforward(*state).actuated
            assert samples.relative_error(found, expected) < TOLERANCE
            shipped = formulation(method).inverse_dynamics(*state).actuated
            assert samples.relative_error(found, shipped) > 1e-2


def test_platform_below_the_sliders() -> None:
    """Home determines the side of the links: here they point down, about the level first axes."""
    height = RCID.home.y[2] - RCID.description.home['slider_1']
    turn = 2.0 * np.arcsin(height / SHIPPED.L[0])
    home = {**RCID.description.home, 'z': RCID.home.y[2] - 2.0 * height}
    home |= {f'universal_{i}_first': turn for i in range(1, 7)}
    description = changed(home=home)
    mechanism = Mechanism(description)
    assert np.all(read_pus_geometry(description).branch == -1.0)
    for state in samples.states('rcid', 3, 105):
        found = GeneralizedMomentum(description).inverse_dynamics(*state).actuated
        assert samples.relative_error(found, mechanism.feedforward(*state).actuated) < TOLERANCE


# Derivatives


@pytest.mark.parametrize('state', STATES)
def test_kinematics(state: samples.State) -> None:
    x, x_dot = state.y, state.y_dot
    at = kinematics(GEOMETRY, x, x_dot)

    def along(name: str):
        return rate(lambda pose: getattr(kinematics(GEOMETRY, pose, x_dot), name), x, x_dot)

    assert_close(at.omega, axial(along('R') @ at.R.T))
    for name in ('T', 'p', 'a', 'J_C', 'J_E'):
        assert_close(getattr(at, f'{name}_dot'), along(name))
    assert_close(at.T @ x_dot, np.concatenate([x_dot[:3], at.omega]))
    # Links keep their lengths, and J_E is the Jacobian of l = w_z - a_z.
    assert np.linalg.norm(at.a, axis=1) == pytest.approx(GEOMETRY.L, rel=1e-14)
    assert_close(at.J_E @ x_dot, rate(sliders, x, x_dot))


def sliders(x: samples.Array) -> samples.Array:
    P = x[:3] + GEOMETRY.p @ rotation_zyx(x[3:]).T
    level = (P - GEOMETRY.b)[:, :2]
    return P[:, 2] - GEOMETRY.b[:, 2] - np.sqrt(GEOMETRY.L**2 - np.sum(level**2, axis=1))


@pytest.mark.parametrize('name', PARTS)
@pytest.mark.parametrize('state', STATES)
def test_momentum_and_its_rate(name: str, state: samples.State) -> None:
    x, x_dot, x_ddot = state.y, state.y_dot, state.y_ddot

    def part(t: float):
        moved, velocity = x + t * x_dot + 0.5 * t**2 * x_ddot, x_dot + t * x_ddot
        return PARTS[name](GEOMETRY, kinematics(GEOMETRY, moved, velocity)), velocity

    here, _ = part(0.0)
    for name_of in ('I', 'S'):
        slope = samples.five_point(lambda t, n=name_of: getattr(part(t)[0], n), STEP)
        assert_close(getattr(here, f'{name_of}_dot'), slope, floor=1e-9)
    # Eqs. 24, 37, 50, 68: force = d/dt(I T) x_dot + I T x_ddot
    slope = here.I_dot @ here.S + here.I @ here.S_dot
    force = slope @ x_dot + here.I @ here.S @ x_ddot
    expected = samples.five_point(lambda t: (lambda p, v: p.momentum(v))(*part(t)), STEP)
    assert_close(force, expected)
    product = here.velocity_matrix @ x_dot + here.inertia_matrix @ x_ddot
    assert_close(product, here.S.T @ expected)
    assert_close(inertia_slope(here), samples.five_point(lambda t: part(t)[0].inertia_matrix, STEP))


@pytest.mark.parametrize('state', STATES)
def test_momenta_are_those_of_rigid_bodies(state: samples.State) -> None:
    """Momenta by definition: mass times velocity, inertia times angular velocity."""
    x, x_dot = state.y, state.y_dot
    at = kinematics(GEOMETRY, x, x_dot)
    spin = at.R.T @ at.omega
    expected = [GEOMETRY.m_P * x_dot[:3], at.R @ (GEOMETRY.I_P @ spin)]
    assert_close(platform(GEOMETRY, at).momentum(x_dot), np.concatenate(expected))
    moving = GEOMETRY.m_A + GEOMETRY.m_rotor
    assert_close(actuators(GEOMETRY, at).momentum(x_dot), moving * rate(sliders, x, x_dot))

    def centers(pose: samples.Array) -> samples.Array:
        moved = kinematics(GEOMETRY, pose, x_dot)
        return pose[:3] + moved.p - GEOMETRY.kappa[:, None] * moved.a  # Eq. 42

    velocity = rate(centers, x, x_dot)
    for i in range(6):
        found = translating_link(GEOMETRY, at, i).momentum(x_dot)
        assert_close(found, GEOMETRY.m_L[i] * velocity[i])
        # Square to the link, and turning it: a_dot = omega_L x a (Eq. 63).
        H = rotating_link(GEOMETRY, at, i).momentum(x_dot)
        omega_L = np.cross(at.a[i], at.a_dot[i]) / GEOMETRY.L[i] ** 2
        assert_close(H, GEOMETRY.I_Lyy[i] * omega_L)
        assert_close(skew(omega_L) @ at.a[i], at.a_dot[i])


@pytest.mark.parametrize('state', STATES)
def test_gravity_is_the_gradient_of_potential_energy(state: samples.State) -> None:
    def energy(x: samples.Array) -> float:
        at = kinematics(GEOMETRY, x, np.zeros(6))
        rod = x[:3] + at.p - GEOMETRY.kappa[:, None] * at.a
        heights = GEOMETRY.m_P * x[:3] + GEOMETRY.m_L @ rod
        return -GEOMETRY.g @ heights - GEOMETRY.g[2] * (GEOMETRY.m_A @ sliders(x))

    at = kinematics(GEOMETRY, state.y, state.y_dot)
    found = sum(part.gravity for part in all_parts(GEOMETRY, at))
    assert_close(found, [rate(energy, state.y, e) for e in np.eye(6)])


# Two velocity matrices


@pytest.mark.parametrize('name', PARTS)
def test_velocity_matrices(name: str) -> None:
    """The matrices agree for parts whose u_c is a time derivative; angular velocity is not one.

    For the platform they differ, and only the products with the velocity are equal.
    """

    def parts_of(geometry, at):
        return [PARTS[name](geometry, at)]

    for state in STATES:
        x, x_dot = state.y, state.y_dot
        momentum = GeneralizedMomentum.velocity_matrix(GEOMETRY, parts_of, x, x_dot)
        lagrange = LagrangeKoditschek.velocity_matrix(GEOMETRY, parts_of, x, x_dot)
        assert samples.relative_error(momentum @ x_dot, lagrange @ x_dot, 1e-9) < 1e-11
        difference = samples.relative_error(momentum, lagrange, 1e-9)
        assert difference > 0.1 if name == 'platform' else difference < 1e-12
        I_dot = inertia_slope(PARTS[name](GEOMETRY, kinematics(GEOMETRY, x, x_dot)))
        skewed = I_dot - 2.0 * lagrange
        assert np.abs(skewed + skewed.T).max() < 1e-13 * np.abs(I_dot).max()


# Bad input


def test_refused_states() -> None:
    solve = formulation('generalized-momentum').inverse_dynamics
    with pytest.raises(InputError, match=r'y_dot has shape \(3,\), needed is \(6,\)'):
        solve(RCID.home.y, np.zeros(3))
    with pytest.raises(ReachError, match=r'slider_.: its link does not reach the platform'):
        solve(RCID.home.y + [0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    # P_1 of limb 1 straight to the side of its foot by the length of the link.
    level = SHIPPED.b[0, 0] + SHIPPED.L[0] * np.cos(0.1) - SHIPPED.p[0, 0]
    across = SHIPPED.b[0, 1] + SHIPPED.L[0] * np.sin(0.1) - SHIPPED.p[0, 1]
    alone = dataclasses.replace(SHIPPED, L=np.array([SHIPPED.L[0], 1.0, 1.0, 1.0, 1.0, 1.0]))
    method = GeneralizedMomentum(RCID.description)
    method.geometry = alone
    with pytest.raises(SingularityError, match='slider_1: its link lies level'):
        method.inverse_dynamics([level, across, 0.1, 0.0, 0.0, 0.0])
