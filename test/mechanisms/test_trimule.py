# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""TriMule against virtual work by hand (S4), with its wrist locked and free."""

import re

import numpy as np
import pytest
import samples
import yaml
from oracles import trimule_oracle

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import ReachError


@pytest.fixture(scope='module')
def trimule() -> Mechanism:
    return samples.mechanism('trimule')


def test_limbs_move_as_by_hand(trimule) -> None:
    for state in samples.states('trimule', 20, seed=91):
        solution = trimule_oracle.inverse_dynamics(*state)
        motion = trimule.solve(state.y, state.y_dot, state.y_ddot)
        assert motion.position == pytest.approx(solution.limb, abs=1e-13)
        assert motion.velocity == pytest.approx(solution.limb_dot, abs=1e-12)
        assert motion.acceleration == pytest.approx(solution.limb_ddot, abs=1e-11)


def test_motor_torques_are_those_of_virtual_work(trimule) -> None:
    for state in samples.states('trimule', 20, seed=92):
        expected = trimule_oracle.inverse_dynamics(*state).effort
        effort = trimule.feedforward(*state)
        assert samples.relative_error(effort.actuated, expected) < 1e-11


def test_limbs_2_and_3_turn_with_the_base_link(trimule) -> None:
    """Their own first axes, which replace that of the base link, move exactly like it."""
    for state in samples.states('trimule', 10, seed=93):
        motion = trimule.solve(state.y, state.y_dot, state.y_ddot)
        theta_1, *own = trimule.tree_indices(['theta_1', 'joint_2_x', 'joint_3_x'])
        for values in (motion.q, motion.v, motion.a):
            assert values[own] == pytest.approx(np.full(2, values[theta_1]), abs=1e-11)


def test_the_passive_limb_points_to_p(trimule) -> None:
    """S4 Eqs. 4 and 5: limb_4 is |r_P| - e, theta_1 and theta_2 are its direction."""
    x, y, z = 0.3, -0.4, 1.2
    motion = trimule.solve([x, y, z])
    indices = trimule.tree_indices(['limb_4', 'theta_1', 'theta_2'])
    r = np.sqrt(x * x + y * y + z * z)
    expected = [r - 0.352, np.arctan2(-y, z), np.arcsin(x / r)]
    assert motion.q[indices] == pytest.approx(expected, abs=1e-13)


def test_left_and_right_mirror(trimule) -> None:
    for state in samples.states('trimule', 5, seed=94):
        signs = np.array([-1.0, 1.0, 1.0])
        mirrored = [signs * part for part in (state.y, state.y_dot, state.y_ddot)]
        wrench = state.wrench * [-1.0, 1.0, 1.0, 1.0, -1.0, -1.0]
        here = trimule.feedforward(*state).actuated
        there = trimule.feedforward(*mirrored, wrench).actuated
        assert there == pytest.approx(here[[0, 2, 1]], rel=1e-10, abs=1e-8)


def test_gravity_is_a_vector_of_the_description(tmp_path) -> None:
    """Upside down, the machine at rest needs the opposite forces."""
    text = samples.file_of('trimule').read_text(encoding='utf-8')
    urdf = samples.ROOT / 'urdf' / 'trimule.urdf.xacro'
    text = text.replace('../../urdf/trimule.urdf.xacro', str(urdf))
    assert yaml.safe_load(text)['gravity'] == [0.0, -9.81, 0.0]
    other = tmp_path / 'other.yaml'
    other.write_text(text.replace('[0.0, -9.81, 0.0]', '[0.0, 9.81, 0.0]'), encoding='utf-8')
    pose = [0.2, -0.3, 1.2]
    upright = samples.mechanism('trimule').feedforward(pose).actuated
    assert Mechanism.load(other).feedforward(pose).actuated == pytest.approx(-upright, rel=1e-10)


def test_a_wrist_at_rest_at_zero_changes_no_limb() -> None:
    five = samples.mechanism('trimule_five_axis')
    for state in samples.states('trimule', 5, seed=95):
        motion = (state.y, state.y_dot, state.y_ddot)
        expected = samples.mechanism('trimule').feedforward(*motion).actuated
        rows = [np.append(part, [0.0, 0.0]) for part in motion]
        found = five.feedforward(*rows).actuated
        assert found[:3] == pytest.approx(expected, rel=1e-11, abs=1e-9)


def test_a_locked_wrist_may_stand_elsewhere(tmp_path) -> None:
    text = samples.file_of('trimule').read_text(encoding='utf-8')
    urdf = samples.ROOT / 'urdf' / 'trimule.urdf.xacro'
    text = text.replace(
        '../../urdf/trimule.urdf.xacro',
        f"{urdf}\nxacro_arguments: {{theta_4: '0.7', theta_5: '-0.5'}}",
    )
    file = tmp_path / 'locked.yaml'
    file.write_text(text, encoding='utf-8')
    pose = [0.2, -0.3, 1.2]
    five = samples.mechanism('trimule_five_axis').feedforward([*pose, 0.7, -0.5]).actuated
    assert Mechanism.load(file).feedforward(pose).actuated == pytest.approx(five[:3], rel=1e-11)


def test_a_point_behind_the_machine_is_out_of_reach(trimule) -> None:
    with pytest.raises(ReachError, match=re.escape('at x = 0, y = 0.1, z = -1.2')):
        trimule.solve([0.0, 0.1, -1.2])
