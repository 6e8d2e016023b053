# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The papers' Jacobians and Hessians against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import samples

from papers.formulations.coordinates import end_effector, parasitic_angle
from papers.formulations.euler_angles import (
    angular_map,
    angular_map_rate,
    motion_by_angles,
)
from papers.formulations.euler_parameters import (
    NewtonEulerParameters,
    motion_by_parameters,
    parameters_from_angles,
)
from papers.formulations.geometry import read_geometry
from papers.formulations.lagrange_dalembert import (
    constraint_hessians,
    constraint_jacobians,
    inertia_derivatives,
    jacobian_derivatives,
    kinetic_energy_hessian,
    side_by_side,
)
from papers.formulations.lagrange_multipliers import constraints
from papers.formulations.rotations import (
    axial,
    quadratic_form,
    rotation,
    rotation_by_parameters,
    rotation_derivatives,
    skew,
)
from papers.formulations.velocities import (
    Velocities,
    inertia_of_velocities,
    velocities,
    weights,
)

MECHANISMS = ('masticator', 'rss6')
GEOMETRY = {name: read_geometry(samples.mechanism(name).description) for name in MECHANISMS}
TOLERANCE = 1e-8
RNG = np.random.default_rng(81)


def slopes(function, at: samples.Array, step: float = 1e-3) -> samples.Array:
    """Derivatives by all coordinates; the last index is the coordinate."""
    columns = [
        samples.five_point(lambda t, e=e: function(at + t * e), step) for e in np.eye(len(at))
    ]
    return np.stack(columns, axis=-1)


def assert_close(value: samples.Array, expected: samples.Array) -> None:
    # Small derivatives count as large as 1e-3, metres being small.
    assert samples.relative_error(value, expected, floor=1e-3) < TOLERANCE


def random_q(name: str, seed: int) -> samples.Array:
    """Crank angles and a pose that need not fit together, as loops may be open."""
    rng = np.random.default_rng(seed)
    pose = rng.uniform(-0.3, 0.3, GEOMETRY[name].freedoms)
    pose[: pose.size // 2] *= 0.02
    return np.concatenate([rng.uniform(-1.0, 1.0, 6), pose])


def at(name: str, q: samples.Array) -> Velocities:
    geometry = GEOMETRY[name]
    return velocities(geometry, q[:6], end_effector(geometry.sockets, q[6:]))


def lengths(name: str, q: samples.Array) -> samples.Array:
    """h_i + L_i^2 (S0 Eq. 8) written out, with cranks rotated about their shafts."""
    geometry = GEOMETRY[name]
    X = end_effector(geometry.sockets, q[6:]).X
    result = []
    for i, angle in enumerate(q[:6]):
        axes = np.column_stack([geometry.X_C[i], geometry.Y_C[i], geometry.Z_C[i]])
        S = geometry.G[i] + axes @ rotation(np.array([0.0, 0.0, angle])) @ [geometry.r[i], 0, 0]
        M = X[:3] + rotation(X[3:]) @ geometry.M[i]
        result.append((M - S) @ (M - S))
    return np.array(result)


# Rotations


def test_rotation_and_its_derivatives() -> None:
    angles = np.array([0.3, -0.4, 0.5])
    R, R_k, R_kl = rotation_derivatives(angles)
    assert np.array_equal(R, rotation(angles))
    assert R @ R.T == pytest.approx(np.eye(3), abs=1e-15)
    assert_close(R_k, np.moveaxis(slopes(rotation, angles), -1, 0))
    assert_close(R_kl, np.moveaxis(slopes(lambda a: rotation_derivatives(a)[1], angles), -1, 0))
    ca, sa, cb, sb = np.cos(0.3), np.sin(0.3), np.cos(0.4), -np.sin(0.4)
    # Third column as printed in S0 Eq. 3.
    assert R[:, 2] == pytest.approx([sb, -sa * cb, ca * cb], abs=1e-15)


def test_axial_undoes_skew() -> None:
    v = np.array([1.0, -2.0, 3.0])
    assert np.array_equal(axial(skew(v)), v)
    assert np.array_equal(skew(v) @ [4.0, 5.0, 6.0], np.cross(v, [4.0, 5.0, 6.0]))


def test_angular_maps() -> None:
    angles, rates = np.array([0.3, -0.4, 0.5]), np.array([1.0, 2.0, -3.0])
    R_dot = samples.five_point(lambda t: rotation(angles + t * rates), 1e-3)
    assert_close(angular_map(angles) @ rates, axial(R_dot @ rotation(angles).T))
    expected = samples.five_point(lambda t: angular_map(angles + t * rates), 1e-3)
    assert_close(angular_map_rate(angles, rates), expected)


def test_quadratic_form_is_the_rotation() -> None:
    theta = np.array([0.8, 0.3, -0.4, 0.2])
    theta /= np.linalg.norm(theta)
    a, m = RNG.normal(size=3), RNG.normal(size=3)
    Q, c = quadratic_form(a, m)
    assert theta @ Q @ theta - c == pytest.approx(a @ rotation_by_parameters(theta) @ m, rel=1e-14)


# Parasitic motions


def test_condyles_stay_in_their_sockets() -> None:
    sockets = GEOMETRY['masticator'].sockets
    for seed in range(20):
        X = end_effector(sockets, random_q('masticator', seed)[6:]).X
        T = X[:3] + sockets.T @ rotation(X[3:]).T
        assert sockets.p1 * T[:, 0] + T[:, 2] + sockets.p2 == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_the_printed_parasitic_angles_open_the_sockets(sign: float) -> None:
    """S0 Eq. 5 (+) and S1 Eq. 65 (-) have the wrong sign before cos(alpha) sin(beta)."""
    sockets = GEOMETRY['masticator'].sockets
    a, b = 0.1, 0.2
    printed = sign * np.arctan(np.sin(a) / (1.1 * np.cos(b) + np.cos(a) * np.sin(b)))
    lines = {g: sockets.M_H @ rotation(np.array([a, b, g]))[:, 1] * 0.144
             for g in (printed, parasitic_angle(1.1, a, b)[0])}  # fmt: skip
    open_by, closed = (abs(v) for v in lines.values())
    assert open_by > 1e-3  # m, between the two condyles
    assert closed < 1e-15


def test_a_plane_that_falls_forward_the_other_way() -> None:
    """If p1 < 0, gamma is still 0 at home."""
    gamma = parasitic_angle(-1.1, 0.1, 0.2)[0]
    line = rotation(np.array([0.1, 0.2, gamma]))[:, 1]
    assert np.array([-1.1, 0.0, 1.0]) @ line == pytest.approx(0.0, abs=1e-15)
    assert abs(gamma) < 0.5


def test_pose_by_freedoms() -> None:
    sockets = GEOMETRY['masticator'].sockets
    q = random_q('masticator', 82)[6:]
    pose = end_effector(sockets, q)
    assert_close(pose.M_J, slopes(lambda q: end_effector(sockets, q).X, q))
    assert_close(pose.M_Jq, slopes(lambda q: end_effector(sockets, q).M_J, q))


# Energies


@pytest.mark.parametrize('name', MECHANISMS)
def test_velocities_of_points(name: str) -> None:
    q = random_q(name, 83)
    here, geometry = at(name, q), GEOMETRY[name]

    def points(q: samples.Array) -> samples.Array:
        X = end_effector(geometry.sockets, q[6:]).X
        M = X[:3] + geometry.M @ rotation(X[3:]).T
        S = geometry.G + geometry.cranks(q[:6])[0]
        return np.concatenate([S.ravel(), M.ravel(), X[:3]])

    assert_close(here.J[:39], slopes(points, q))
    assert_close(here.Jq, slopes(lambda q: at(name, q).J, q))


@pytest.mark.parametrize('name', MECHANISMS)
def test_angular_velocity(name: str) -> None:
    geometry, q = GEOMETRY[name], random_q(name, 84)
    q_dot = RNG.normal(size=len(q))

    def R(t: float) -> samples.Array:
        return rotation(end_effector(geometry.sockets, q[6:] + t * q_dot[6:]).X[3:])

    R_dot = samples.five_point(R, 1e-3)
    here = at(name, q)
    assert_close(here.J[39:] @ q_dot, axial(R(0.0).T @ R_dot))
    assert_close(here.M_0b[3:] @ q_dot[6:], axial(R_dot @ R(0.0).T))


def test_couplers_kinetic_energy_is_s0s_integral() -> None:
    """S0 Eq. 30 over the length of a uniform rod, by Gauss quadrature (exact for squares)."""
    geometry = GEOMETRY['masticator']
    A = inertia_of_velocities(geometry)
    V = RNG.normal(size=42)
    V[36:] = 0.0
    V_S, V_M = V[:18].reshape(6, 3), V[18:36].reshape(6, 3)
    nodes, shares = np.polynomial.legendre.leggauss(3)
    energy = 0.0
    for node, share in zip(0.5 + 0.5 * nodes, 0.5 * shares, strict=True):
        V_P = (1.0 - node) * V_S + node * V_M  # Eqs. 27, 28
        mass = 7800.0 * 17.3494e-6 * geometry.L
        energy += 0.5 * share * np.sum(mass[:, None] * V_P**2)
    assert 0.5 * V @ A @ V == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize('name', MECHANISMS)
def test_slope_of_the_potential_energy(name: str) -> None:
    geometry, q = GEOMETRY[name], random_q(name, 85)

    def V(q: samples.Array) -> samples.Array:
        X = end_effector(geometry.sockets, q[6:]).X
        M = X[:3] + geometry.M @ rotation(X[3:]).T
        E = 0.5 * (geometry.G + geometry.cranks(q[:6])[0] + M)  # S0 Eq. 40
        return np.array(9.8 * (geometry.m_S @ E[:, 2] + 0.34022 * X[2]))

    assert_close(at(name, q).J.T @ weights(geometry), slopes(V, q))


# Hessian-matrix method


@pytest.mark.parametrize('name', MECHANISMS)
def test_constraint_jacobians_and_hessians(name: str) -> None:
    q = random_q(name, 86)
    J_theta, J_qEE = constraint_jacobians(at(name, q))
    assert_close(np.hstack([J_theta, J_qEE]), slopes(lambda q: lengths(name, q), q))
    H = constraint_hessians(at(name, q))
    assert_close(H, slopes(lambda q: np.hstack(constraint_jacobians(at(name, q))), q))
    assert H.transpose(0, 2, 1) == pytest.approx(H, abs=1e-15)


@pytest.mark.parametrize('name', MECHANISMS)
def test_kinetic_energy_hessian(name: str) -> None:
    q = random_q(name, 87)
    q_dot, A = RNG.normal(size=len(q)), inertia_of_velocities(GEOMETRY[name])

    def momenta(q: samples.Array) -> samples.Array:
        J = at(name, q).J
        return J.T @ A @ J @ q_dot

    block = kinetic_energy_hessian(at(name, q), A, q_dot)
    assert_close(block, slopes(momenta, q))

    def T(q: samples.Array) -> samples.Array:
        v = at(name, q).J @ q_dot
        return np.array(0.5 * v @ A @ v)

    assert_close(0.5 * block.T @ q_dot, slopes(T, q))  # S0 Eq. 50


def test_the_block_is_not_the_rate_of_m_but_serves() -> None:
    """S0 Eq. 49 calls the block M_dot; they are equal only when multiplied by q_dot."""
    q = random_q('masticator', 88)
    q_dot, A = RNG.normal(size=len(q)), inertia_of_velocities(GEOMETRY['masticator'])

    def M(t: float) -> samples.Array:
        J = at('masticator', q + t * q_dot).J
        return J.T @ A @ J

    rate = samples.five_point(M, 1e-3)
    block = kinetic_energy_hessian(at('masticator', q), A, q_dot)
    assert_close(block @ q_dot, rate @ q_dot)
    assert samples.relative_error(block, rate, floor=0.0) > 0.1


# Liang's derivatives


@pytest.mark.parametrize('name', MECHANISMS)
def test_liangs_derivatives(name: str) -> None:
    q = random_q(name, 89)
    A = inertia_of_velocities(GEOMETRY[name])
    J_theta_q, J_qEE_q = jacobian_derivatives(at(name, q))
    assert_close(J_theta_q, slopes(lambda q: constraint_jacobians(at(name, q))[0], q))
    assert_close(J_qEE_q, slopes(lambda q: constraint_jacobians(at(name, q))[1], q))

    def M(q: samples.Array) -> samples.Array:
        J = at(name, q).J
        return J.T @ A @ J

    assert_close(inertia_derivatives(at(name, q), A), slopes(M, q))


def test_kronecker_products_are_time_derivatives() -> None:
    q = random_q('masticator', 90)
    q_dot = RNG.normal(size=len(q))
    product = side_by_side(jacobian_derivatives(at('masticator', q))[1]) @ np.kron(
        q_dot[:, None], np.eye(4)
    )
    expected = samples.five_point(
        lambda t: constraint_jacobians(at('masticator', q + t * q_dot))[1], 1e-3
    )
    assert_close(product, expected)


# Lagrange's first type


@pytest.mark.parametrize('name', MECHANISMS)
def test_constraints_with_contacts(name: str) -> None:
    geometry, q = GEOMETRY[name], random_q('rss6', 91)

    def h(q: samples.Array) -> samples.Array:
        values = lengths('rss6', q)
        if geometry.sockets is None:
            return values
        T = q[6:9] + geometry.sockets.T @ rotation(q[9:]).T
        return np.append(values, 1.1 * T[:, 0] + T[:, 2] - 0.013215)

    def both(q: samples.Array) -> tuple[samples.Array, samples.Array]:
        return constraints(geometry.sockets, at('rss6', q), q[6:])

    J, H = both(q)
    assert len(J) == (8 if name == 'masticator' else 6)
    assert_close(J, slopes(h, q))
    assert_close(H, slopes(lambda q: both(q)[0], q))


def test_s0s_form_follows_from_ours() -> None:
    """Contacts do no work on the freedoms: M_J^T eliminates their multipliers (S0 Eq. 55)."""
    geometry, q = GEOMETRY['masticator'], random_q('masticator', 92)
    pose = end_effector(geometry.sockets, q[6:])
    full = np.concatenate([q[:6], pose.X])
    J, _ = constraints(geometry.sockets, at('rss6', full), pose.X)
    assert J[6:, 6:] @ pose.M_J == pytest.approx(0.0, abs=1e-15)
    assert_close(J[:6, 6:] @ pose.M_J, constraint_jacobians(at('masticator', q))[1])


# Euler parameters


@pytest.mark.parametrize('name', MECHANISMS)
def test_euler_parameters_follow_the_angles(name: str) -> None:
    sockets = GEOMETRY[name].sockets
    y, y_dot, y_ddot, _ = samples.states(name, 1, 93)[0]

    def path(t: float):
        return y + t * y_dot + 0.5 * t * t * y_ddot, y_dot + t * y_ddot, y_ddot

    theta, theta_dot, theta_ddot = parameters_from_angles(sockets, *path(0.0))
    assert_close(rotation_by_parameters(theta), rotation(end_effector(sockets, y).X[3:]))

    def along(k: int):
        return samples.five_point(lambda t: parameters_from_angles(sockets, *path(t))[k], 1e-3)

    assert_close(theta_dot, along(0))
    assert_close(theta_ddot, along(1))


@pytest.mark.parametrize('name', MECHANISMS)
def test_rates_of_the_end_effector(name: str) -> None:
    """Both descriptions, along their own coordinates, against positions and rotations."""
    sockets = GEOMETRY[name].sockets
    parameters = NewtonEulerParameters(samples.mechanism(name).description)
    y, y_dot, y_ddot, _ = samples.states(name, 1, 94)[0]

    def path(t: float):
        return y + t * y_dot + 0.5 * t * t * y_ddot, y_dot + t * y_ddot, y_ddot

    def by_angles(t: float):
        return motion_by_angles(sockets, *path(t))

    def by_parameters(t: float):
        return motion_by_parameters(sockets, *parameters.coordinates(*path(t)))

    for motion in (by_angles, by_parameters):
        here = motion(0.0)
        assert_close(here.t[:3], samples.five_point(lambda t, m=motion: m(t).O_M, 1e-3))
        R_dot = samples.five_point(lambda t, m=motion: m(t).R, 1e-3)
        assert_close(here.t[3:], axial(R_dot @ here.R.T))
        assert_close(here.t_dot, samples.five_point(lambda t, m=motion: m(t).t, 1e-3))


@pytest.mark.parametrize('name', MECHANISMS)
def test_both_descriptions_share_twists_and_their_rates(name: str) -> None:
    """S1 Sec. 5.2 claims that, with the contacts, they cannot."""
    sockets = GEOMETRY[name].sockets
    parameters = NewtonEulerParameters(samples.mechanism(name).description)
    for y, y_dot, y_ddot, _ in samples.states(name, 20, 95):
        angles = motion_by_angles(sockets, y, y_dot, y_ddot)
        own = motion_by_parameters(sockets, *parameters.coordinates(y, y_dot, y_ddot))
        assert samples.relative_error(own.t, angles.t) < 1e-13
        assert samples.relative_error(own.t_dot, angles.t_dot) < 1e-13
