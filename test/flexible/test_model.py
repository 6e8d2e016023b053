# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equations of motion against Lagrange's equations, frequencies against analytic beams."""

import functools

import numpy as np
import pytest

from flexible import beams
from masticator_dynamics.description.data import Material, Section
from masticator_dynamics.errors import DescriptionError, ReachError, SingularityError
from masticator_dynamics.flexible import FlexibleModel, FlexibleState
from masticator_dynamics.flexible.links import frequency_roots, quadrature, shapes

MODELS = {
    'rrr4': beams.rrr4,
    'rrr4 pinned': lambda: beams.rrr4(2, 'pinned-pinned'),
    'rcid in two planes': beams.rcid,
}


@functools.cache
def model_of(name: str) -> FlexibleModel:
    return FlexibleModel(MODELS[name]())


def random_state(model: FlexibleModel, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Free positions near home with large deflections, and rates."""
    joints = len(model.description.independent)
    size = np.where(np.arange(len(model.free)) < joints, 0.01, 0.002)
    free = model.home[model.arrays.free] + rng.uniform(-1, 1, len(size)) * size
    return free, rng.uniform(-1, 1, len(size)) * size * 300.0


@pytest.mark.parametrize('name', MODELS)
def test_equations_are_lagranges(name) -> None:
    """Kinetic and potential energy, differentiated numerically, give the same equations."""
    model, rng = model_of(name), np.random.default_rng(3)
    free, rate = random_state(model, rng)
    effort = np.zeros(len(model.coordinates))
    effort[: len(model.description.tree.joints) // 2] = 0.02
    start = model.state(model.home, free, rate)
    mass, force = model.equations(start, effort)

    def energies(free, rate):
        return model.energies(model.state(start.q, free, rate))

    count, h = len(free), 1e-6
    unit = np.eye(count)
    numeric = np.zeros(count)
    for k in range(count):
        up, down = (energies(free + s * h * unit[k], rate) for s in (1.0, -1.0))
        kinetic = (up[0] - down[0]) / (2 * h)
        potential = (sum(up[1:]) - sum(down[1:])) / (2 * h)
        numeric[k] = kinetic - potential
    # d(M rate)/dt at constant rates
    moved = [model.state(start.q, free + s * h * rate / 300.0, rate) for s in (1.0, -1.0)]
    momenta = [model.equations(state, effort)[0] @ rate for state in moved]
    numeric -= (momenta[0] - momenta[1]) / (2 * h) * 300.0
    numeric += model.null_space(start.q).T @ effort
    assert np.abs(numeric - force).max() < 2e-6 * np.abs(force).max()
    assert rate @ mass @ rate / 2.0 == pytest.approx(energies(free, rate)[0], rel=1e-12)


@pytest.mark.parametrize('name', MODELS)
def test_velocities_are_derivatives_and_loops_stay_closed(name) -> None:
    model, rng = model_of(name), np.random.default_rng(5)
    free, rate = random_state(model, rng)
    h = 1e-7
    here = model.state(model.home, free, rate)
    up, down = (model.state(here.q, free + s * h * rate) for s in (1.0, -1.0))
    scale = np.abs(here.v).max()
    assert np.abs((up.q - down.q) / (2 * h) - here.v).max() < 1e-6 * scale
    assert model.closure_residual(up.q) < 1e-13


def test_kinetic_energy_is_that_of_the_material(name='rcid in two planes') -> None:
    """Sum of the kinetic energies of many small masses along the beams, and of the rigid rest."""
    model, rng = model_of(name), np.random.default_rng(7)
    free, rate = random_state(model, rng)
    state = model.state(model.home, free, rate)
    h, points = 1e-6, 200
    moved = [model.state(state.q, free + s * h * rate).q for s in (1.0, -1.0)]
    total = 0.0
    for beam in model.beams.values():
        s = beam.start + (np.arange(points) + 0.5) * beam.length / points
        up, down = (material(model, beam, q, s) for q in moved)
        velocity = (up - down) / (2 * h)
        total += 0.5 * beam.mass_per_length * beam.length / points * np.sum(velocity**2)
    for link, inertia in model.description.tree.links.items():
        if link in model.beams or inertia.mass == 0.0 or link == model.description.base:
            continue
        up, down = (model.frame_pose(q, link) for q in moved)
        rotation = model.frame_pose(state.q, link)[1]
        centres = [p + r @ inertia.center_of_mass for p, r in (up, down)]
        velocity = (centres[0] - centres[1]) / (2 * h)
        spin = rotation.T @ model.angular_velocity(state, link)
        total += 0.5 * inertia.mass * velocity @ velocity
        total += 0.5 * spin @ inertia.about_center @ spin
    assert model.energies(state)[0] == pytest.approx(total, rel=1e-4)


def material(model: FlexibleModel, beam, q: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Points (len(s), 3) of a pinned-pinned beam; its frame is turned back by the root's slopes."""
    origin, root = model.frame_pose(q, beam.link)
    first = model.index(beam.coordinates[0])
    modal = q[first : first + len(beam.coordinates)].reshape(len(beam.names), beam.modes)
    slopes = modal @ beam.shape(0.0)[1]
    turn = np.eye(3)
    for direction, slope in zip(beam.directions, slopes, strict=True):
        turn = turn @ rotation_about(np.cross(beam.axis, direction), slope)
    frame = root @ turn.T
    value = shapes(beam.boundary, beam.modes, (s - beam.start) / beam.length).value
    local = np.outer(s, beam.axis) + (modal @ value).T @ beam.directions
    return origin + local @ frame.T


def rotation_about(axis: np.ndarray, angle: float) -> np.ndarray:
    x, y, z = axis
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * skew @ skew


def held_platform(model: FlexibleModel, *more: str) -> np.ndarray:
    return model.frequencies(model.home, held=(*beams.PLATFORM, *more))


def test_pinned_shapes_have_the_frequency_of_a_pinned_beam() -> None:
    """With the platform held and motors free, every rod is a beam between two pins: 577 Hz."""
    exact = np.pi**2 * beams.UNIT_FREQUENCY
    assert exact == pytest.approx(577.2, abs=0.05)
    assert held_platform(FlexibleModel(beams.rrr4(1, 'pinned-pinned'))) == pytest.approx(
        np.full(8, exact), rel=1e-9
    )
    shipped = held_platform(FlexibleModel(beams.rrr4()))[:8]
    assert np.abs(shipped / exact - 1.0).max() < 0.03
    assert (shipped > exact * (1.0 - 1e-9)).all()  # assumed shapes are never too soft


def test_one_fixed_free_shape_is_half_as_stiff_again() -> None:
    """S3's model: with the tip pinned, the rod turns against its shape; 853.6 Hz, by quadrature."""
    xi, weights = quadrature()
    value = shapes('fixed-free', 1, xi).value[0]
    tip = shapes('fixed-free', 1, np.array([1.0])).value[0, 0]
    relative = value - xi * tip  # the tip stays where it is
    stiffness = frequency_roots('fixed-free', 1)[0] ** 4
    expected = np.sqrt(stiffness / (weights @ relative**2)) * beams.UNIT_FREQUENCY
    assert expected == pytest.approx(853.6, abs=0.05)
    found = held_platform(FlexibleModel(beams.rrr4(1, 'fixed-free')))
    assert found == pytest.approx(np.full(8, expected), rel=1e-9)


def test_held_motors_clamp_the_driven_rods() -> None:
    model = FlexibleModel(beams.rrr4(1, 'clamped-pinned'))
    exact = frequency_roots('clamped-pinned', 1)[0] ** 2 * beams.UNIT_FREQUENCY
    assert held_platform(model, *beams.MOTORS)[:4] == pytest.approx(np.full(4, exact), rel=1e-9)
    several = held_platform(FlexibleModel(beams.rrr4(4, 'fixed-free')), *beams.MOTORS)
    assert several[4:8] == pytest.approx(np.full(4, exact), rel=0.01)


def test_more_shapes_are_softer_and_converge() -> None:
    exact = np.pi**2 * beams.UNIT_FREQUENCY
    lowest = [held_platform(FlexibleModel(beams.rrr4(n, 'fixed-free')))[0] for n in (1, 2, 3, 4)]
    assert (np.diff(lowest) < 0.0).all()
    assert lowest[-1] / exact - 1.0 < 0.003


def test_a_state_that_cannot_close_is_refused() -> None:
    model = model_of('rrr4')
    free = model.home[model.arrays.free].copy()
    free[0] = 0.5
    with pytest.raises(ReachError, match='do not close'):
        model.state(model.home, free)


def test_a_singular_state_is_refused() -> None:
    """Leg 1 is stretched: its elbow joint is at 0."""
    model = model_of('rrr4')
    q = model.home.copy()
    base, reach = np.array([-0.12, 0.12]), 0.2
    towards = np.array([np.cos(0.1), np.sin(0.1)])
    q[model.index('motor_1')], q[model.index('elbow_1')] = 0.1, 0.0
    corner = base + reach * towards
    angle = q[model.index('phi')]
    q[[model.index('x'), model.index('y')]] = corner - 0.035 * np.array(
        [np.cos(angle), np.sin(angle)]
    )
    with pytest.raises((SingularityError, ReachError)):
        model.state(q, q[model.arrays.free])


WRONG = {
    'modes 0': ({'modes': 0}, '.modes: 0 is not between 1 and 10'),
    'modes 11': ({'modes': 11}, '.modes: 11 is not between 1 and 10'),
    'axis': ({'axis': 'y'}, 'a beam along y bends along x or z'),
    'ends': ({'ends': (0.1, 0.0)}, 'is not beyond the near end'),
    'end': ({'ends': (0.0, 'platform')}, "link 'platform' is not joined to it"),
    'short': ({'ends': (0.0, 0.09)}, 'density and section make'),
    'mass': (
        {'material': Material(youngs_modulus=70e9, density=7800.0)},
        'density and section make 0.01248 kg, the URDF says 0.00432 kg',
    ),
    'sideways': (
        {'section': Section(area=16e-6, second_moment={'z': 1e-11})},
        'bends out of the plane of closure',
    ),
}


@pytest.mark.parametrize('case', WRONG)
def test_wrong_links_are_refused_by_name(case) -> None:
    changes, message = WRONG[case]
    with pytest.raises(DescriptionError, match='flexible') as error:
        FlexibleModel(beams.changed(beams.rrr4(), **changes))
    assert message in str(error.value)


def test_a_rigid_mechanism_is_the_limit_without_shapes() -> None:
    """Without flexible links: mass matrix from the rigid engine's tangent, by energies."""
    import dataclasses

    model = FlexibleModel(dataclasses.replace(beams.rrr4(), flexible={}))
    assert model.free == beams.PLATFORM
    state = FlexibleState(model.home, np.zeros(len(model.coordinates)))
    mass, force = model.equations(state, np.zeros(len(model.coordinates)))
    assert mass.shape == (3, 3) and np.abs(force).max() < 1e-12
