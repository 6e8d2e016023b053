# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every check is green for a faultless run and red for the fault it is there for."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from demo.perfect_run import RATE, perfect_record
from masticator_dynamics import Mechanism
from masticator_dynamics.demo.checks import run_checks, skipped
from masticator_dynamics.demo.evaluation import evaluate
from masticator_dynamics.demo.run_table import run_table
from masticator_dynamics.demo.script import built_in_script
from masticator_dynamics.demo.summary import summarise


@pytest.fixture(scope='module')
def mechanism():
    return Mechanism.load('masticator')


@pytest.fixture(scope='module')
def script(mechanism):
    return built_in_script(mechanism, strokes=1)


@pytest.fixture(scope='module')
def record(mechanism, script):
    return perfect_record(mechanism, script)


def failed(mechanism, script, record):
    checks = run_checks(mechanism, script, record, evaluate(mechanism, script, record), RATE)
    return {check.name for check in checks if not check.passed}


def with_state(record, **changes):
    """A record whose feedforward_state differs, and feedforward_effort with it."""
    state = dataclasses.replace(record.state, **changes)
    return dataclasses.replace(record, state=state, effort=state.effort)


def keep(record, rows):
    state = record.state
    parts = {
        field.name: getattr(state, field.name)[rows]
        for field in dataclasses.fields(state)
        if field.name != 'names'
    }
    changed = with_state(record, **parts)
    return dataclasses.replace(changed, effort_sequence=record.effort_sequence[rows])


def test_faultless_run_passes(mechanism, script, record):
    assert failed(mechanism, script, record) == set()


def test_scaled_torques_break_expectation_and_energy(mechanism, script, record):
    scaled = with_state(record, effort=record.state.effort * 1.05)
    assert failed(mechanism, script, scaled) == {'torques as expected', 'energy balance'}


def test_ignored_bite_force_is_noticed(mechanism, script, record):
    rows = script.path.sample(record.state.stamps)
    free = mechanism.feedforward_batch(*rows).actuated
    assert 'torques as expected' in failed(mechanism, script, with_state(record, effort=free))


def test_bite_force_without_rotation_is_noticed(mechanism, script, record):
    # Force taken as if it were in base axes, though it is in the molar's.
    turned = np.roll(record.bite.force, 1, axis=1)
    changed = dataclasses.replace(record, bite=dataclasses.replace(record.bite, force=turned))
    assert {'torques as expected', 'energy balance'} <= failed(mechanism, script, changed)


def test_null_space_torques_are_noticed_though_they_do_no_work(mechanism, script, record):
    motion = mechanism.solve(*(row[0] for row in script.path.sample(np.array([0.4]))))
    jacobian = mechanism.jacobian_actuated_from_independent(motion)
    idle = np.linalg.svd(jacobian.T)[2][-1]
    row = int(np.abs(record.state.stamps - 0.4).argmin())
    effort = record.state.effort.copy()
    effort[row] += 0.01 * idle
    assert failed(mechanism, script, with_state(record, effort=effort)) == {'torques as expected'}


def test_late_motion_is_noticed(mechanism, script, record):
    late = script.path.sample(record.state.stamps - 0.002)
    effort = mechanism.feedforward_batch(*late)
    changed = with_state(record, position=effort.position, velocity=effort.velocity)
    assert 'motion as played' in failed(mechanism, script, changed)


def test_open_loop_is_noticed(mechanism, script, record):
    position = record.joints.position.copy()
    position[40, mechanism.tree_joints.index('x')] += 1e-9
    joints = dataclasses.replace(record.joints, position=position)
    assert failed(mechanism, script, dataclasses.replace(record, joints=joints)) == {'loops closed'}


def test_lost_message_is_noticed(mechanism, script, record):
    rows = np.arange(len(record.state.stamps)) != 300
    assert failed(mechanism, script, keep(record, rows)) == {'no cycle lost'}


@pytest.mark.parametrize(('every', 'expected'), [(400, set()), (20, {'publish rate'})])
def test_skipped_cycles_are_counted(mechanism, script, record, every, expected):
    rows = np.arange(len(record.state.stamps)) % every != every - 1
    kept = keep(record, rows)
    count = np.arange(1.0, rows.sum() + 1.0)  # never published: the count has no gap
    state = dataclasses.replace(kept.state, sequence=count)
    changed = dataclasses.replace(kept, state=state, effort_sequence=count)
    assert failed(mechanism, script, changed) == expected
    assert skipped(state, RATE) == (~rows).sum()


def test_differing_effort_topics_are_noticed(mechanism, script, record):
    effort = record.effort.copy()
    effort[300, 2] += 1e-12
    changed = dataclasses.replace(record, effort=effort)
    assert failed(mechanism, script, changed) == {'no cycle lost'}


def test_slow_reception_is_noticed(mechanism, script, record):
    received = record.state.received[0] + (record.state.received - record.state.received[0]) * 1.02
    state = dataclasses.replace(record.state, received=received)
    changed = dataclasses.replace(record, state=state)
    assert failed(mechanism, script, changed) == {'publish rate'}


def test_incomplete_record_is_noticed(mechanism, script, record):
    rows = record.state.stamps < script.duration - 0.3
    assert 'whole motion recorded' in failed(mechanism, script, keep(record, rows))


def test_end_off_home_is_noticed(mechanism, script, record):
    position = record.state.position.copy()
    position[-5:, 0] += 1e-5
    changed = with_state(record, position=position)
    assert failed(mechanism, script, changed) == {'motion as played', 'ends at home at rest'}


def test_controller_trajectory_that_is_too_coarse_is_noticed(mechanism, script, record):
    message = record.actuated_trajectory[0]
    coarse = SimpleNamespace(joint_names=message.joint_names, points=message.points[::2])
    changed = dataclasses.replace(record, actuated_trajectory=[coarse])
    assert failed(mechanism, script, changed) == {'controller trajectory'}


def test_missing_controller_trajectory_and_faults_are_noticed(mechanism, script, record):
    changed = dataclasses.replace(record, actuated_trajectory=[], faults=('dynamics: refused',))
    assert failed(mechanism, script, changed) == {'controller trajectory', 'no fault reported'}


def test_table_has_what_the_record_has(mechanism, script, record):
    evaluation = evaluate(mechanism, script, record)
    columns, values = run_table(mechanism, record, evaluation)
    table = dict(zip(columns, values.T, strict=True))
    assert np.array_equal(table['effort_crank_3'], record.state.effort[:, 2])
    peak = int(np.argmin(record.bite.force[:, 2]))
    row = int(np.searchsorted(record.state.stamps, record.bite.stamps[peak]))
    assert table['bite_fz'][row] == record.bite.force[peak, 2]
    # At a visual instant the multiplier must push as hard as the message said, in its direction.
    series = record.contacts['condyle_left']
    normal = np.array(mechanism.description.contacts[0].normal)
    sizes = np.abs(table['contact_condyle_left'][::5]) * np.linalg.norm(normal)
    assert sizes == pytest.approx(np.linalg.norm(series.force, axis=1), abs=1e-9)


def test_summary_counts_torques_of_the_motion(mechanism, script, record):
    evaluation = evaluate(mechanism, script, record)
    checks = run_checks(mechanism, script, record, evaluation, RATE)
    summary = summarise(mechanism, script, record, evaluation, checks, RATE)
    assert summary.latency_median_ms == pytest.approx(1.0)
    assert summary.torque_peak_nm['crank_6'] == np.abs(record.state.effort[:, 5]).max()
    assert 80.0 < summary.bite_force_peak_n <= 100.0 + 1e-9
    text = summary.as_text()
    assert all(check.name in text for check in checks)
    assert max(len(line) for line in text.splitlines()) <= 130


def test_jaw_that_does_not_move_passes(mechanism, script):
    still = dataclasses.replace(
        script,
        positions=np.tile(mechanism.home.y, (len(script.times), 1)),
        velocities=0.0 * script.velocities,
        accelerations=0.0 * script.accelerations,
        bite_forces=0.0 * script.bite_forces,
    )
    assert failed(mechanism, still, perfect_record(mechanism, still)) == set()
