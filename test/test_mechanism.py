# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The public interface: consistent results, refusals with reasons, and no ROS."""

import numpy as np
import pytest
import samples
from processes import PYTHON, completed

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.evaluation.results import Effort
from masticator_dynamics.errors import (
    ActuationError,
    DescriptionError,
    InputError,
    MasticatorError,
    ReachError,
)

QUANTITIES = (
    'q', 'v', 'a', 'y', 'y_dot', 'y_ddot', 'position', 'velocity', 'acceleration', 'tangent',
)  # fmt: skip
AGREEMENT = 1e-12  # of the largest: one row and many are computed by different code
EFFORT_QUANTITIES = (*QUANTITIES, 'actuated', 'contact', 'wrench', 'loop_force')


@pytest.fixture(name='mechanism')
def fixture_mechanism() -> Mechanism:
    return samples.mechanism('masticator')


# Consistency


@pytest.mark.parametrize('name', samples.swept(samples.NAMES))
def test_feedforward_is_solve_and_inverse_dynamics(name: str) -> None:
    mechanism = samples.mechanism(name)
    for state in samples.states(name, 5, seed=81):
        fused = mechanism.feedforward(*state)
        motion = mechanism.solve(state.y, state.y_dot, state.y_ddot)
        mechanism.solve(mechanism.home.y)  # what was computed in between does not matter
        effort = mechanism.inverse_dynamics(motion, state.wrench)
        for quantity in QUANTITIES:
            assert np.array_equal(getattr(motion, quantity), getattr(fused, quantity)), quantity
        # Other code, whose multiplications and additions are contracted in other pairs.
        for quantity in EFFORT_QUANTITIES:
            value, expected = getattr(effort, quantity), getattr(fused, quantity)
            assert np.abs(value - expected).max(initial=0.0) <= AGREEMENT * _size(
                fused, quantity
            ), quantity


@pytest.mark.parametrize('name', samples.swept(samples.NAMES))
def test_a_batch_is_its_rows(name: str) -> None:
    mechanism = samples.mechanism(name)
    sampled = samples.states(name, 7, seed=82)
    batch = mechanism.feedforward_batch(
        *(np.array(column) for column in zip(*sampled, strict=True))
    )
    for row, state in enumerate(sampled):
        single = mechanism.feedforward(*state)
        for quantity in (*EFFORT_QUANTITIES, 'closure_residual', 'balance_residual'):
            value, expected = getattr(batch, quantity)[row], getattr(single, quantity)
            assert np.abs(value - expected).max(initial=0.0) <= AGREEMENT * _size(
                batch, quantity
            ), quantity


def _size(batch: Effort, quantity: str) -> float:
    """Scale for rounding errors of a quantity."""
    if quantity == 'closure_residual':
        return 1.0
    if quantity == 'balance_residual':
        return max(_size(batch, name) for name in ('actuated', 'contact', 'loop_force'))
    return float(np.abs(getattr(batch, quantity)).max(initial=0.0))


def test_omitted_derivatives_and_wrenches_are_zero(mechanism: Mechanism) -> None:
    y, none = samples.states('masticator', 1, seed=83)[0].y, np.zeros(4)
    given = mechanism.feedforward(y, none, none, np.zeros(6))
    assert np.array_equal(mechanism.feedforward(y).actuated, given.actuated)
    batch = mechanism.feedforward_batch([y, y])
    assert np.abs(batch.actuated - given.actuated).max() <= AGREEMENT * given.actuated.max()
    assert mechanism.feedforward_batch(np.zeros((0, 4))).actuated.shape == (0, 6)


def test_lists_integers_and_strided_arrays_serve(mechanism: Mechanism) -> None:
    state = samples.states('masticator', 1, seed=84)[0]
    expected = mechanism.feedforward(*state).actuated
    lists = mechanism.feedforward(*(list(part) for part in state))
    strided = mechanism.feedforward(*(np.repeat(part, 2)[::2] for part in state))
    assert np.array_equal(lists.actuated, expected)
    assert np.array_equal(strided.actuated, expected)
    assert np.array_equal(
        mechanism.feedforward([0, 0, 0, 0]).actuated, mechanism.feedforward(np.zeros(4)).actuated
    )


@pytest.mark.parametrize('quantity', EFFORT_QUANTITIES)
def test_results_are_read_only(mechanism: Mechanism, quantity: str) -> None:
    effort = mechanism.feedforward(*samples.states('masticator', 1, seed=85)[0])
    with pytest.raises(ValueError, match='read-only'):
        getattr(effort, quantity)[...] = 0.0


def test_results_keep_their_values(mechanism: Mechanism) -> None:
    """Neither later calls nor changes of the caller's arrays affect a result."""
    state = samples.states('masticator', 1, seed=86)[0]
    effort = mechanism.feedforward(*state)
    before = {name: getattr(effort, name).copy() for name in EFFORT_QUANTITIES}
    for part in state:
        part[:] = 0.0
    mechanism.feedforward(np.zeros(4))
    _ = effort.joint_reaction
    for name, value in before.items():
        assert np.array_equal(getattr(effort, name), value), name


def test_two_mechanisms_do_not_disturb_each_other() -> None:
    one, other = samples.mechanism('masticator'), samples.mechanism('rcid')
    first, second = samples.states('masticator', 1, 87)[0], samples.states('rcid', 1, 87)[0]
    motion = one.solve(first.y, first.y_dot, first.y_ddot)
    alone = one.inverse_dynamics(motion, first.wrench).actuated.copy()
    other.feedforward(*second)
    assert np.array_equal(one.inverse_dynamics(motion, first.wrench).actuated, alone)


@pytest.mark.parametrize('name', samples.swept(samples.NAMES))
def test_home_is_as_described_and_at_rest(name: str) -> None:
    mechanism = samples.mechanism(name)
    described = mechanism.description.home
    for joint, position in zip(mechanism.tree_joints, mechanism.home.q, strict=True):
        assert position == pytest.approx(described.get(joint, 0.0), abs=1e-6), joint
    assert not mechanism.home.v.any() and not mechanism.home.a.any()
    assert mechanism.home.closure_residual < 1e-12


def test_names_and_shapes(mechanism: Mechanism) -> None:
    assert mechanism.independent == ('x', 'y', 'alpha', 'beta')
    assert mechanism.actuated == tuple(f'crank_{i}' for i in range(1, 7))
    assert mechanism.contacts == ('condyle_left', 'condyle_right')
    assert len(mechanism.tree_joints) == 24 and len(mechanism.closures) == 6
    effort = mechanism.feedforward(np.zeros(4))
    assert effort.tangent.shape == (24, 4) and effort.joint_reaction.shape == (24, 6)
    assert effort.contact.shape == (2,) and effort.loop_force.shape == (6, 3)
    assert mechanism.home.condition_number_loops > 1.0
    assert mechanism.home.condition_number_actuation > 1.0


# Frames and wrenches


def test_a_wrench_measured_elsewhere_does_the_same_work(mechanism: Mechanism) -> None:
    rng = np.random.default_rng(88)
    for y in (state.y for state in samples.states('masticator', 5, seed=88)):
        motion = mechanism.solve(y)
        force, torque = rng.normal(size=3), rng.normal(size=3)
        for axes, point in (('incisor', 'molar_left'), ('crank_1_link', 'mandible')):
            wrench = mechanism.wrench_on_platform(motion, force, torque, axes=axes, point=point)
            turn = mechanism.frame_pose(motion, axes).rotation
            there = mechanism.frame_jacobian(motion, point)
            work_there = (turn @ force) @ there[:3] + (turn @ torque) @ there[3:]
            work_here = wrench @ mechanism.frame_jacobian(motion, 'mandible')
            assert samples.relative_error(work_here, work_there) < 1e-12


def test_a_wrench_about_the_platform_in_base_axes_is_as_given(mechanism: Mechanism) -> None:
    motion = mechanism.solve([0.0, 0.0, 0.01, 0.1])
    wrench = mechanism.wrench_on_platform(motion, [1, 2, 3], [4, 5, 6])
    assert wrench == pytest.approx([1, 2, 3, 4, 5, 6], abs=1e-12)
    with pytest.raises(InputError, match=r'force has shape \(2,\), needed is \(3,\)'):
        mechanism.wrench_on_platform(motion, [1, 2], [0, 0, 0])
    with pytest.raises(InputError, match="no frame 'nose'.*incisor"):
        mechanism.wrench_on_platform(motion, [0, 0, 0], [0, 0, 0], axes='nose')


def test_an_unknown_frame_is_refused_with_the_known_ones(mechanism: Mechanism) -> None:
    for ask in (mechanism.frame_pose, mechanism.frame_jacobian):
        with pytest.raises(InputError, match="no frame 'nose'; there are: maxilla, .*incisor"):
            ask(mechanism.home, 'nose')


@pytest.mark.parametrize('name', samples.swept(samples.NAMES))
def test_frames_agree_with_pinocchio(name: str) -> None:
    oracle, mechanism = samples.oracle(name), samples.mechanism(name)
    state = samples.states(name, 1, seed=89)[0]
    expected, motion = oracle.solve(state.y), mechanism.solve(state.y)
    for frame in mechanism.frames:
        position, rotation = oracle.frame_pose(frame, expected.q)
        pose = mechanism.frame_pose(motion, frame)
        assert np.abs(pose.position - position).max() < 1e-10, frame
        assert np.abs(pose.rotation - rotation).max() < 1e-9, frame
        jacobian = mechanism.frame_jacobian(motion, frame)
        assert samples.relative_error(jacobian, oracle.frame_jacobian(frame, expected)) < 1e-8


# Actuators


def test_a_powered_subset_leaves_the_others_idle() -> None:
    mechanism = Mechanism.load('masticator', ['crank_1', 'crank_3', 'crank_5', 'crank_6'])
    assert mechanism.driving == ('crank_1', 'crank_3', 'crank_5', 'crank_6')
    effort = mechanism.feedforward([0.0, 0.0, 0.0, 0.1], None, None, [0, 0, -50.0, 0, 0, 0])
    assert effort.actuated[[1, 3]].tolist() == [0.0, 0.0]
    assert np.abs(effort.actuated[[0, 2, 4, 5]]).min() > 0.0
    assert mechanism.actuation_rank() == 4
    assert samples.mechanism('masticator').actuation_rank() == 4


def test_too_few_actuators_are_refused_when_efforts_are_asked() -> None:
    mechanism = Mechanism.load('masticator', ['crank_1', 'crank_2', 'crank_3'])
    assert mechanism.actuation_rank() == 3
    motion = mechanism.solve(np.zeros(4))  # kinematics needs no motors
    reason = 'actuators crank_1, crank_2, crank_3 control 3 of 4 degrees of freedom'
    with pytest.raises(ActuationError, match=reason):
        mechanism.inverse_dynamics(motion)
    with pytest.raises(ActuationError, match=reason):
        mechanism.feedforward(np.zeros(4))
    nothing = Mechanism.load('masticator', [])
    assert nothing.actuation_rank() == 0
    with pytest.raises(ActuationError, match='actuators none control 0 of 4'):
        nothing.feedforward(np.zeros(4))


def test_a_refusal_in_a_batch_does_not_wait_for_all_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each row that machine code hands over takes milliseconds."""
    mechanism = Mechanism.load('masticator', actuators=['crank_1', 'crank_2', 'crank_3'])
    looked_at = []
    unchecked = mechanism.solver.unchecked

    def counted(kind, given, *of, **how):
        looked_at.append(len(given))
        return unchecked(kind, given, *of, **how)

    monkeypatch.setattr(mechanism.solver, 'unchecked', counted)
    with pytest.raises(ActuationError, match='^row 1: ') as caught:
        mechanism.feedforward_batch(np.tile(mechanism.home.y, (500, 1)))
    assert caught.value.row == 0
    assert sum(looked_at) < 100


def test_unknown_actuators_are_refused() -> None:
    with pytest.raises(ActuationError, match="no actuator 'crank_7'; there are: crank_1, "):
        Mechanism.load('masticator', ['crank_1', 'crank_7'])
    with pytest.raises(ActuationError, match="no actuator 'alpha'"):
        Mechanism.load('masticator', ['alpha'])


# Refusals


@pytest.mark.parametrize(
    ('arguments', 'reason'),
    [
        (([0.0] * 3,), r'y has shape \(3,\), needed is \(4,\)'),
        (([[0.0] * 4],), r'y has shape \(1, 4\)'),
        (([0.0] * 4, [0.0] * 5), r'y_dot has shape \(5,\)'),
        (([0.0] * 4, None, [0.0]), r'y_ddot has shape \(1,\)'),
        (([0.0] * 4, None, None, [0.0] * 3), r'wrench has shape \(3,\), needed is \(6,\)'),
        ((0.0,), r'y has shape \(\)'),
        ((['a', 0, 0, 0],), 'y is not an array of numbers'),
        (([[0.0], 0.0, 0.0, 0.0],), 'y is not an array of numbers'),
        ((['1', '0', '0', '0'],), 'y is not an array of numbers: its elements are of type str32'),
        ((np.zeros(4) + 1j,), 'y is not .* complex128'),
        (([10**400, 0, 0, 0],), 'y is not an array of numbers'),
        ((np.ma.array(np.zeros(4), mask=[0, 1, 0, 0]),), 'some of its values are masked'),
        ((np.ma.array(np.zeros(4), mask=[0, 1, 0, 0]), *[np.zeros(4)] * 2), 'are masked'),
        (([0.0, np.nan, 0.0, 0.0],), 'y is nan, not a finite number'),
        (([0.0] * 4, [0.0, 0.0, np.inf, 0.0]), 'alpha_dot is inf, not a finite number'),
        (([0.0] * 4, None, [0.0, 0.0, 0.0, -np.inf]), 'beta_ddot is -inf'),
        (([0.0] * 4, None, None, [0, 0, 0, 0, np.nan, 0]), 'wrench ty is nan'),
        (([0.0] * 4, [1e200] * 4), 'too large'),
    ],
)
def test_malformed_input_is_named(mechanism: Mechanism, arguments, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        mechanism.feedforward(*arguments)


@pytest.mark.parametrize(
    ('arguments', 'reason'),
    [
        ((5.0,), 'shape'),
        (([0.0] * 4,), 'shape'),
        ((np.zeros((2, 3)),), r'shape \(2, 3\)'),
        ((np.zeros((2, 4)), np.zeros((3, 4))), r'shape \(3, 4\), needed is \(2, 4\)'),
        ((np.zeros((2, 4)), None, None, np.zeros((2, 5))), r'shape \(2, 5\), needed is \(2, 6\)'),
    ],
)
def test_malformed_batches_are_named(mechanism: Mechanism, arguments, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        mechanism.feedforward_batch(*arguments)


def test_a_batch_names_the_first_row_that_fails(mechanism: Mechanism) -> None:
    positions = np.zeros((6, 4))
    positions[3, 0], positions[5, 0] = 0.05, 0.06
    with pytest.raises(ReachError, match=r'^row 4: .*x = 0\.05') as caught:
        mechanism.feedforward_batch(positions)
    assert caught.value.row == 3
    positions[1, 2] = np.nan
    with pytest.raises(InputError, match=r'^row 2: alpha is nan') as other:
        mechanism.feedforward_batch(positions)
    assert other.value.row == 1
    with pytest.raises(MasticatorError) as single:
        mechanism.feedforward(positions[3])
    assert not str(single.value).startswith('row')


def test_goals_are_checked(mechanism: Mechanism) -> None:
    with pytest.raises(InputError, match="no goal 'speed'; there are: torque, "):
        mechanism.feedforward(np.zeros(4), goal='speed')
    with pytest.raises(InputError, match="no goal 'speed'"):
        mechanism.inverse_dynamics(mechanism.home, goal='speed')
    with pytest.raises(InputError, match="no goal 'speed'"):
        mechanism.feedforward_batch(np.zeros((1, 4)), goal='speed')


@pytest.mark.parametrize(
    ('call', 'reason'),
    [
        (
            lambda m: m.mass_matrix([0.0] * 4),
            'motion is a list; needed is what solve or feedforward',
        ),
        (lambda m: m.frame_pose([0.0] * 4, 'incisor'), 'motion is a list'),
        (lambda m: m.inverse_dynamics(None), 'motion is a NoneType'),
        (lambda m: m.regressor('x'), 'motion is a str'),
        (lambda m: m.actuated_inertia(5), 'motion is a int'),
        (lambda m: m.range_violations(None), 'motion is a NoneType'),
        (lambda m: m.in_ranges(samples.mechanism('rcid').home), 'motion is of rcid, not of mast'),
        (lambda m: m.binding_loads(m.home), 'effort is a SolvedMotion; needed is what feedforward'),
        (lambda m: m.feedforward([0.0] * 4, friction='yes'), "friction is 'yes', neither True nor"),
        (lambda m: m.feedforward([0.0] * 4, friction=np.array([1, 0])), 'friction is array'),
        (lambda m: m.feedforward_batch([[0.0] * 4], friction=np.array([1, 0])), 'friction is'),
        (lambda m: m.feedforward([0.0] * 4, nearest=True), 'nearest=True needs limits'),
        (lambda m: m.feedforward_batch([[0.0] * 4], nearest=True), 'nearest=True needs limits'),
        (lambda m: m.feedforward_derivatives([0.0] * 4, friction=np.array([1, 0])), 'friction is'),
        (lambda m: m.with_parameters({'mandible.mass': True}), 'mandible.mass is True, not a'),
        (lambda m: m.with_parameters({'mandible.mass': '1.0'}), "mandible.mass is '1.0', not a"),
        (lambda m: m.frame_pose(m.home, ['incisor']), r"frame is \['incisor'\], not the name"),
        (lambda m: m.feedforward([0.0] * 4, link_wrenches=5), 'link_wrenches are 5; needed are'),
        (lambda m: m.with_parameters(None), 'values are None; needed are numbers by name'),
        (lambda m: m.with_parameters({'mandible.mass': 10**400}), 'mandible.mass is 1000.*not a'),
        (
            lambda m: m.parameter_batch('mandible.mass'),
            'names are .mandible.mass.; needed is a seq',
        ),
        (lambda m: m.forward_kinematics(m.home.position, np.nan), 'tolerance is nan'),
        (lambda m: m.largest_gap([0.0]), r'q has shape \(1,\), needed is \(24,\)'),
        (lambda m: m.wrench_on_platform(m.home, [np.nan] * 3, [0] * 3), 'force is not finite'),
    ],
)
def test_what_is_no_motion_name_or_number_is_refused(mechanism, call, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        call(mechanism)


def test_a_motion_of_another_mechanism_is_refused() -> None:
    rss6, rcid = samples.mechanism('rss6'), samples.mechanism('rcid')
    with pytest.raises(InputError, match='the motion is of rss6, not of rcid'):
        rcid.inverse_dynamics(rss6.home)
    again = Mechanism.load('rcid')
    expected = rcid.inverse_dynamics(rcid.home).actuated
    assert np.array_equal(again.inverse_dynamics(rcid.home).actuated, expected)


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(DescriptionError, match='shipped are .*masticator.*rcid.*rss6'):
        Mechanism.load('masticater')


# What is not imported


def test_the_core_runs_without_ros_pinocchio_and_matplotlib() -> None:
    """Their import is made impossible, so that guarded imports are also found."""
    script = (
        'import sys\n'
        "barred = ('rclpy', 'pinocchio', 'matplotlib', 'std_msgs', 'sensor_msgs', 'launch')\n"
        'sys.modules.update(dict.fromkeys(barred))\n'
        'from masticator_dynamics import Mechanism\n'
        "effort = Mechanism.load('masticator').feedforward([0, 0, 0, 0.1])\n"
        'print(*effort.actuated)\n'
        'assert all(sys.modules[name] is None for name in barred)\n'
    )
    run = completed(*PYTHON, '-c', script)
    assert run.returncode == 0, run.stderr
    expected = samples.mechanism('masticator').feedforward([0, 0, 0, 0.1]).actuated
    assert [float(word) for word in run.stdout.split()] == pytest.approx(expected, rel=1e-9)


def test_the_core_imports_none_of_them() -> None:
    script = (
        'import sys\n'
        'from masticator_dynamics import Mechanism\n'
        "Mechanism.load('masticator').feedforward([0, 0, 0, 0.1])\n"
        "print(*{'rclpy', 'pinocchio', 'matplotlib'}.intersection(sys.modules))\n"
    )
    run = completed(*PYTHON, '-c', script, check=True)
    assert run.stdout.split() == []
