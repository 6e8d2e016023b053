# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The way of a point, for any mechanism: geometry, work, what cannot be; a five-bar presses."""

import collections

import numpy as np
import pytest
import samples
from scipy.optimize import linprog

from masticator_dynamics import Mechanism
from masticator_dynamics.control.force_control import ForceControl
from masticator_dynamics.control.force_goal import ForceGoal, LoopTiming, Measured, Reason, State
from masticator_dynamics.control.pressing_path import PressingPath, Servos
from masticator_dynamics.errors import InputError, LimitError, ReachError

OPEN = [0.0, 0.0, 0.0, 0.08]
UP = [0.0, 0.0, 1.0]


def servos(mechanism: Mechanism, gain: float = 16.0) -> Servos:
    ones = np.ones(len(mechanism.actuated))
    return Servos(gain * ones, 30.0 * ones, 2000.0 * ones)


@pytest.fixture(scope='module')
def jaw() -> Mechanism:
    return Mechanism.load('masticator')


@pytest.fixture(scope='module')
def five_bar() -> Mechanism:
    return Mechanism.load(samples.ROOT / 'test' / 'mechanisms' / 'five_bar.yaml')


@pytest.fixture(scope='module', params=['to occlusion', 'straight', 'five_bar'])
def case(request, jaw, five_bar) -> tuple[Mechanism, PressingPath]:  # type: ignore[no-untyped-def]
    if request.param == 'five_bar':
        start = [0.02, 0.30]
        return five_bar, PressingPath(
            five_bar, 'pin', [1.0, 2.0, 0.0], start, 0.02, servos(five_bar)
        )
    towards = jaw.home.y if request.param == 'to occlusion' else None
    return jaw, PressingPath(jaw, 'molar_left', UP, OPEN, 0.004, servos(jaw), towards)


def place(mechanism: Mechanism, path: PressingPath, travel: float) -> float:
    motion = mechanism.solve(path.state(travel, 0.0, 0.0)[0])
    return float(path.direction @ mechanism.frame_pose(motion, path.frame).position)


def test_travel_is_how_far_the_point_has_moved_along_the_direction(case) -> None:
    mechanism, path = case
    start = place(mechanism, path, 0.0)
    for travel in np.linspace(0.0, path.length, 7):
        assert place(mechanism, path, travel) - start == pytest.approx(travel, abs=2e-8)


def test_velocities_and_accelerations_are_derivatives(case) -> None:
    _, path = case
    travel, speed, acceleration, h = 0.4 * path.length, 0.03, 0.7, 1e-4
    y, y_dot, y_ddot = path.state(travel, speed, acceleration)
    ahead = [
        path.state(travel + speed * t + 0.5 * acceleration * t * t, 0.0, 0.0)[0] for t in (-h, h)
    ]
    assert y_dot == pytest.approx((ahead[1] - ahead[0]) / (2 * h), abs=1e-6)
    assert y_ddot == pytest.approx((ahead[1] - 2 * y + ahead[0]) / h**2, abs=1e-3)


def test_the_travel_is_measured_by_the_joints(case) -> None:
    mechanism, path = case
    for travel in (0.3 * path.length, 0.9 * path.length):
        joints = mechanism.solve(path.state(travel, 0.0, 0.0)[0]).q[mechanism.actuated_rows]
        assert path.measured(joints, travel - 2e-4) == pytest.approx(travel, abs=5e-6)
        assert path.measured(joints, travel) == pytest.approx(travel, abs=2e-7)


def test_what_is_pressed_takes_work_as_force_times_travel(case) -> None:
    """The power of the wrench, by the platform's twist from finite differences of efforts."""
    mechanism, path = case
    travel, force, speed = 0.5 * path.length, 25.0, 0.02
    state = path.state(travel, speed, 0.0)
    loaded = mechanism.feedforward(*state, path.wrench(travel, force))
    free = mechanism.feedforward(*state)
    power = float((loaded.actuated - free.actuated) @ loaded.velocity)
    assert power == pytest.approx(force * speed, rel=1e-6)


def test_stiffness_of_the_drives_by_the_efforts_of_a_force(case) -> None:
    """Each joint gives way by its effort over its gain; the least-norm efforts of one force."""
    mechanism, path = case
    travel, force = 0.5 * path.length, 10.0
    y = path.state(travel, 0.0, 0.0)[0]
    efforts = (
        mechanism.feedforward(y, wrench=path.wrench(travel, force)).actuated
        - mechanism.feedforward(y).actuated
    )
    energy = float(efforts @ efforts) / 16.0  # force times how far the point gives way
    assert path.stiffness(travel) == pytest.approx(force**2 / energy, rel=1e-3)


def test_forces_are_split_into_pressing_and_lateral(jaw) -> None:
    path = PressingPath(jaw, 'molar_left', [0.0, 0.0, 2.0], OPEN, 0.002, servos(jaw))
    assert path.felt([3.0, 4.0, -20.0]) == (20.0, 5.0)


def test_teeth_meet_where_the_way_ends(jaw) -> None:
    path = PressingPath(jaw, 'molar_left', UP, OPEN, 0.004, servos(jaw), jaw.home.y)
    heights = [jaw.frame_pose(jaw.solve(y), 'molar_left').position[2] for y in (OPEN, jaw.home.y)]
    assert path.hard == pytest.approx(heights[1] - heights[0])
    other = PressingPath(jaw, 'molar_left', UP, OPEN, 0.004, servos(jaw))
    assert other.hard == np.inf


@pytest.mark.parametrize(
    ('changes', 'error', 'message'),
    [
        ({'frame': 'molar_lef'}, InputError, "no frame 'molar_lef'"),
        ({'direction': [0.0, 0.0, 0.0]}, InputError, 'has no length'),
        ({'direction': [0.0, np.nan, 1.0]}, InputError, 'direction is not finite'),
        ({'length': np.inf}, InputError, 'a travel of inf m'),
        ({'length': 0.03}, ReachError, r'cannot travel farther than 7\.4 mm: limb_3'),
        (
            {'towards': [0.0, 0.006, 0.0, 0.0]},
            LimitError,
            r'cannot travel 4 mm: after 4 mm condyle_.* y',
        ),
        ({'towards': OPEN}, InputError, 'already where it should press'),
        ({'towards': [0.0, 0.0, 0.0, 0.2]}, InputError, 'the wrong way'),
    ],
)
def test_what_cannot_be_is_refused(jaw, changes, error, message) -> None:
    asked = {
        'frame': 'molar_left', 'direction': UP, 'start': OPEN, 'length': 0.004,
        'servos': servos(jaw), 'towards': jaw.home.y,
    } | changes  # fmt: skip
    with pytest.raises(error, match=message):
        PressingPath(jaw, **asked)


def test_a_direction_out_of_the_plane_cannot_be_moved(five_bar) -> None:
    with pytest.raises(InputError, match=r'pin cannot move straight along \(0, 0, 1\)'):
        PressingPath(five_bar, 'pin', [0.0, 0.0, 1.0], [0.0, 0.3], 0.01, servos(five_bar))


@pytest.mark.parametrize('stiffness', [5e3, 3e4])
def test_a_five_bar_presses_with_20_newtons_by_parameters_alone(five_bar, stiffness) -> None:
    """Forward dynamics with position loops at the motors, which are worth 6 N/mm at the pin."""
    gain, damping, at, step = 400.0, 3.0, 0.004, 2.5e-4
    path = PressingPath(five_bar, 'pin', [0.0, 1.0, 0.0], [0.0, 0.3], 0.012, servos(five_bar, gain))
    timing = LoopTiming(path_delay=0.002, lead=0.0)  # no drive layer leads this one
    law = ForceControl(path, ForceGoal(most=40.0, duration=0.6), timing=timing)
    y, y_dot, near, late = np.array([0.0, 0.3]), np.zeros(2), 0.0, collections.deque([0.0] * 9, 9)
    rng, controlled = np.random.default_rng(1), []
    for cycle in range(900):
        time = 0.002 * cycle
        motion = five_bar.solve(y, y_dot)
        near = path.measured(motion.q[five_bar.actuated_rows], near)
        felt = late[0] + 0.1 * rng.standard_normal()
        sent = law.step(Measured(time, near, 0.0, felt, time - 0.002), lambda t: 20.0)
        if law.state is State.FORCE:
            controlled.append(late[-1])
        if law.state is State.DONE:
            break
        wanted = five_bar.feedforward(
            *path.state(sent.travel, sent.velocity, sent.acceleration),
            path.wrench(sent.travel, sent.force),
        )
        for k in range(8):
            joints = five_bar.solve(y, y_dot)
            rows = five_bar.actuated_rows
            target = wanted.position + wanted.velocity * step * k
            effort = wanted.actuated + gain * (target - joints.q[rows])
            effort = effort + damping * (wanted.velocity - joints.v[rows])
            force = max(stiffness * (y[1] - 0.3 - at), 0.0)
            wrench = [0.0, -force, 0.0, 0.0, 0.0, 0.0]
            y_dot = y_dot + step * five_bar.forward_dynamics(y, y_dot, effort, wrench)
            y = y + step * y_dot
            late.append(force)
    assert law.release.reason is Reason.DONE
    assert max(controlled) < 21.5
    assert np.mean(controlled[-50:]) == pytest.approx(20.0, abs=0.2)


def test_motors_to_spare_share_what_one_cannot_give() -> None:
    """Cables only pull: least norm pushes with one. A linear program says what is possible."""
    mechanism = Mechanism.load('cable_planar')
    count, limits = len(mechanism.actuated), mechanism.load_limits
    path = PressingPath(mechanism, 'platform', UP, mechanism.home.y, 0.003, servos(mechanism))
    with pytest.raises(InputError, match='30 N at platform are beyond the motors: cable_'):
        path.refuse_beyond_motors(30.0, 1.0)
    home, y = mechanism.feedforward(mechanism.home.y), mechanism.home.y
    pulled = mechanism.jacobian_actuated_from_independent(home).T
    weight = pulled @ home.actuated
    pressed = pulled @ mechanism.feedforward(y, wrench=path.wrench(0.0, 1.0)).actuated - weight
    columns = np.column_stack([pulled, -pressed])  # efforts, and the force
    bounds = [*zip(limits.effort_low, limits.effort, strict=True), (0.0, None)]
    most = -linprog([0.0] * count + [-1.0], A_eq=columns, b_eq=weight, bounds=bounds).fun
    path.refuse_beyond_motors(0.9 * most, 1.0, limits)  # on the whole way
    with pytest.raises(InputError, match='are beyond the motors: no efforts keep the limits'):
        path.refuse_beyond_motors(1.01 * most, 1.0, limits)
