# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every check passes for a faultless run and fails for the fault that it should find."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from demo.perfect_run import RATE, perfect_record, with_series
from masticator_dynamics import Mechanism
from masticator_dynamics.robot.acceptance.checks import judge, missing, publish_rate
from masticator_dynamics.robot.acceptance.passes import Pass, Run
from masticator_dynamics.robot.acceptance.summary import run_table, summarise
from masticator_dynamics.robot.recording import topics
from masticator_dynamics.robot.recording.demo_motion import built_in_script
from masticator_dynamics.robot.recording.script import Script


@pytest.fixture(scope='module')
def script(mechanism):
    return built_in_script(mechanism, strokes=1)


@pytest.fixture(scope='module')
def record(mechanism, script):
    return perfect_record(mechanism, script)


def failed(mechanism, script, record):
    checks = judge(Run(Pass(mechanism, script, record), RATE))
    return {check.name for check in checks if not check.passed}


def with_state(record, **changes):
    """A record with changed feedforward_state and, to match, feedforward_effort."""
    changed = with_series(record, topics.STATE, **changes)
    return dataclasses.replace(changed, effort=changed[topics.STATE].effort)


def keep(record, rows):
    state = record[topics.STATE].rows(rows)
    return dataclasses.replace(
        record, series={**record.series, topics.STATE: state}, effort=state.effort,
        effort_sequence=record.effort_sequence[rows],
    )  # fmt: skip


def test_faultless_run_passes(mechanism, script, record):
    assert failed(mechanism, script, record) == set()


@pytest.fixture(scope='module')
def snap(mechanism):
    """The jaw opens, snaps shut within 5 ms and stays shut: torques rise and fall within cycles."""
    times = np.array([0.0, 0.3, 0.305, 0.6])
    positions = np.zeros((4, 4))
    positions[1, 3] = 2e-3
    rest = np.zeros((4, 4))
    bite_times = np.arange(0.0, 0.6, 0.005)
    force = np.zeros((len(bite_times), 3))
    return Script(
        times, mechanism.home.y + positions, rest, rest, 'snap', mechanism.independent,
        'molar_left', bite_times, force,
    )  # fmt: skip


def test_a_snap_of_milliseconds_balances(mechanism, snap):
    record = perfect_record(mechanism, snap)
    checks = judge(Run(Pass(mechanism, snap, record), RATE))
    assert [check.detail for check in checks if not check.passed] == []


def test_a_tenth_more_mass_does_not_balance(mechanism, snap):
    record = perfect_record(mechanism, snap)
    tree = mechanism.description.tree
    links = {k: dataclasses.replace(v, mass=1.1 * v.mass) for k, v in tree.links.items()}
    tree = dataclasses.replace(tree, links=links)
    heavy = Mechanism(dataclasses.replace(mechanism.description, tree=tree))
    assert 'energy balance' in failed(heavy, snap, record)


def test_peaks_between_cycles_are_told(mechanism, snap):
    """Against a 20 kHz node; a 500 Hz node sees a peak two or three times, or not at all."""
    record = perfect_record(mechanism, snap)
    run = Run(Pass(mechanism, snap, record), RATE)
    checks = judge(run)
    summary = summarise(run, checks)
    fine = np.arange(0.299, 0.306, 5e-5)
    effort = mechanism.feedforward_batch(*snap.path.sample(fine))
    true = np.abs(effort.actuated).max(axis=0)
    found = list(summary.numbers['torque_peak_between_cycles_nm'].values())
    assert found == pytest.approx(true, rel=0.01)
    assert max(np.array(found) / list(summary.numbers['torque_peak_nm'].values())) > 1.05
    force = effort.contact * [np.linalg.norm(c.normal) for c in mechanism.description.contacts]
    for name, column in zip(mechanism.contacts, force.T, strict=True):
        low, high = summary.numbers['contact_force_range_between_cycles_n'][name]
        assert (low, high) == pytest.approx((column.min(), column.max()), rel=0.01)
        seen = summary.numbers['contact_force_range_n'][name]
        assert low <= seen[0] < seen[1] <= high
        assert (low, high) != seen
    assert 'between cycles' in summary.as_text()


def test_contact_forces_of_every_cycle_are_judged(mechanism, script, record):
    effort = record[topics.CONTACTS].effort.copy()
    effort[301, 1] += 0.01
    changed = with_series(record, topics.CONTACTS, effort=effort)
    assert failed(mechanism, script, changed) == {'contact forces as expected'}


def test_scaled_torques_break_expectation_and_energy(mechanism, script, record):
    scaled = with_state(record, effort=record[topics.STATE].effort * 1.05)
    expected = {'torques as expected', 'contact forces as expected', 'energy balance'}
    assert failed(mechanism, script, scaled) == expected


def test_ignored_bite_force_is_noticed(mechanism, script, record):
    rows = script.path.sample(record[topics.STATE].stamps)
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
    row = int(np.abs(record[topics.STATE].stamps - 0.4).argmin())
    effort = record[topics.STATE].effort.copy()
    effort[row] += 0.01 * idle
    assert failed(mechanism, script, with_state(record, effort=effort)) == {'torques as expected'}


def test_late_motion_is_noticed(mechanism, script, record):
    late = script.path.sample(record[topics.STATE].stamps - 0.002)
    effort = mechanism.feedforward_batch(*late)
    changed = with_state(record, position=effort.position, velocity=effort.velocity)
    assert 'motion as played' in failed(mechanism, script, changed)


def test_open_loop_is_noticed(mechanism, script, record):
    position = record[topics.JOINT_STATES].position.copy()
    position[40, mechanism.tree_joints.index('x')] += 1e-9
    changed = with_series(record, topics.JOINT_STATES, position=position)
    assert failed(mechanism, script, changed) == {'loops closed'}


def test_lost_message_is_noticed(mechanism, script, record):
    rows = np.arange(len(record[topics.STATE].stamps)) != 300
    assert failed(mechanism, script, keep(record, rows)) == {'no cycle lost'}


def test_a_lost_contact_message_is_noticed(mechanism, script, record):
    rows = np.arange(len(record[topics.CONTACTS].stamps)) != 300
    changed = with_series(record, topics.CONTACTS, sequence=record[topics.CONTACTS].sequence[rows])
    assert failed(mechanism, script, changed) == {'no cycle lost'}


@pytest.mark.parametrize(('every', 'expected'), [(400, set()), (20, {'publish rate'})])
def test_skipped_cycles_are_counted(mechanism, script, record, every, expected):
    rows = np.arange(len(record[topics.STATE].stamps)) % every != every - 1
    kept = keep(record, rows)
    count = np.arange(1.0, rows.sum() + 1.0)  # never published: the count has no gap
    changed = with_series(
        dataclasses.replace(kept, effort_sequence=count), topics.STATE, sequence=count
    )
    assert failed(mechanism, script, changed) == expected
    assert missing(changed[topics.STATE].stamps, RATE).sum() == (~rows).sum()


def test_differing_effort_topics_are_noticed(mechanism, script, record):
    effort = record.effort.copy()
    effort[300, 2] += 1e-12
    changed = dataclasses.replace(record, effort=effort)
    assert failed(mechanism, script, changed) == {'no cycle lost'}


def test_slow_reception_is_noticed(mechanism, script, record):
    received = (
        record[topics.STATE].received[0]
        + (record[topics.STATE].received - record[topics.STATE].received[0]) * 1.02
    )
    changed = with_series(record, topics.STATE, received=received)
    assert failed(mechanism, script, changed) == {'reception rate'}


def test_messages_that_wait_before_they_come_are_no_matter_of_rate(mechanism, script, record):
    """Messages of 60 ms around the motion's end came at once; stamps are right, none is lost."""
    received, stamps = record[topics.STATE].received.copy(), record[topics.STATE].stamps
    waited = np.abs(stamps - script.duration) < 0.03
    received[waited] = script.duration + 0.031
    changed = with_series(record, topics.STATE, received=received)
    assert failed(mechanism, script, changed) == set()
    assert publish_rate(changed[topics.STATE]) == pytest.approx(RATE)


def test_a_pause_is_noticed_though_messages_came_at_the_rate_during_the_motion(
    mechanism, script, record
):
    """Fifty cycles are missing before the motion begins."""
    stamps = record[topics.STATE].stamps
    rows = (stamps < -0.099) | (stamps > 0.0)
    kept = keep(record, rows)
    count = np.arange(1.0, rows.sum() + 1.0)
    changed = with_series(
        dataclasses.replace(kept, effort_sequence=count), topics.STATE, sequence=count
    )
    assert 'publish rate' in failed(mechanism, script, changed)


def test_incomplete_record_is_noticed(mechanism, script, record):
    rows = record[topics.STATE].stamps < script.duration - 0.3
    assert 'whole motion recorded' in failed(mechanism, script, keep(record, rows))


def test_end_off_home_is_noticed(mechanism, script, record):
    position = record[topics.STATE].position.copy()
    position[-5:, 0] += 1e-5
    changed = with_state(record, position=position)
    assert failed(mechanism, script, changed) == {'motion as played', 'ends at home at rest'}


def test_controller_trajectory_that_is_too_coarse_is_noticed(mechanism, script, record):
    message = record.actuated_trajectory[0]
    coarse = SimpleNamespace(joint_names=message.joint_names, points=message.points[::2])
    changed = dataclasses.replace(record, actuated_trajectory=(coarse,))
    assert failed(mechanism, script, changed) == {'controller trajectory'}


def half(points):
    return points[: len(points) // 2]


def with_rows(name, factor):
    def change(points):
        return [
            SimpleNamespace(**{**vars(point), name: factor * getattr(point, name)})
            for point in points
        ]

    return change


@pytest.mark.parametrize(
    'change',
    [half, *(with_rows(name, f) for name in ('velocities', 'effort') for f in (1.03, np.nan))],
)
def test_controller_trajectory_that_is_wrong_is_noticed(mechanism, script, record, change):
    """Judged by `is`, as the demo does; what it leaves can be written as JSON."""
    message = record.actuated_trajectory[0]
    wrong = SimpleNamespace(joint_names=message.joint_names, points=change(message.points))
    changed = dataclasses.replace(record, actuated_trajectory=(wrong,))
    run = Run(Pass(mechanism, script, changed), RATE)
    checks = judge(run)
    assert [c.name for c in checks if c.passed is False] == ['controller trajectory']
    assert '"passed": false' in summarise(run, checks).as_json()


def without_most(record, topic, kept):
    """A topic of which only so many messages were published."""
    series = record[topic]
    every = np.linspace(0, len(series.stamps) - 1, kept).astype(int)
    rows = dataclasses.replace(series.rows(every), sequence=np.arange(1.0, kept + 1.0))
    return dataclasses.replace(record, series={**record.series, topic: rows})


@pytest.mark.parametrize('topic', [topics.CONTACTS, topics.JOINT_STATES])
@pytest.mark.parametrize('share', [0.0, 0.8])
def test_a_topic_that_is_hardly_published_is_noticed(mechanism, script, record, topic, share):
    kept = max(round(share * len(record[topic].stamps)), 2)
    assert failed(mechanism, script, without_most(record, topic, kept)) == {'no cycle lost'}


def test_messages_that_all_come_late_are_noticed(mechanism, script, record):
    for late, expected in ((0.010, set()), (0.4, {'reception rate'})):
        series = {
            topic: dataclasses.replace(s, received=s.received + late)
            for topic, s in record.series.items()
        }
        changed = dataclasses.replace(record, series=series)
        assert failed(mechanism, script, changed) == expected


def test_bite_forces_that_are_used_late_are_noticed(mechanism, script, record):
    """They were sent 10 or 30 ms before those that the efforts are for."""
    for early, expected in ((0.010, set()), (0.030, {'reception rate'})):
        bite = dataclasses.replace(record.bite, stamps=record.bite.stamps - early)
        assert failed(mechanism, script, dataclasses.replace(record, bite=bite)) == expected


@pytest.mark.parametrize('part', ['position', 'velocity'])
def test_a_joint_state_that_is_no_number_is_noticed(mechanism, script, record, part):
    rows = getattr(record[topics.JOINT_STATES], part).copy()
    rows[40, 0] = np.nan
    changed = with_series(record, topics.JOINT_STATES, **{part: rows})
    assert 'motion as played' in failed(mechanism, script, changed)


def test_missing_controller_trajectory_and_faults_are_noticed(mechanism, script, record):
    changed = dataclasses.replace(record, actuated_trajectory=(), faults=('dynamics: refused',))
    assert failed(mechanism, script, changed) == {'controller trajectory', 'no fault reported'}


def test_table_has_what_the_record_has(mechanism, script, record):
    run = Run(Pass(mechanism, script, record), RATE)
    columns, values = run_table(run)
    table = dict(zip(columns, values.T, strict=True))
    assert np.array_equal(table['effort_crank_3'], record[topics.STATE].effort[:, 2])
    peak = int(np.argmin(record.bite.force[:, 2]))
    row = int(np.searchsorted(record[topics.STATE].stamps, record.bite.stamps[peak]))
    assert table['bite_fz'][row] == record.bite.force[peak, 2]
    assert np.array_equal(table['contact_condyle_left'], record[topics.CONTACTS].effort[:, 0])


def test_summary_counts_torques_of_the_motion(mechanism, script, record):
    run = Run(Pass(mechanism, script, record), RATE)
    checks = judge(run)
    summary = summarise(run, checks)
    assert summary.numbers['latency_median_ms'] == pytest.approx(1.0)
    assert (
        summary.numbers['torque_peak_nm']['crank_6']
        == np.abs(record[topics.STATE].effort[:, 5]).max()
    )
    assert 80.0 < summary.numbers['bite_force_peak_n'] <= 100.0 + 1e-9
    text = summary.as_text()
    assert all(check.name in text for check in checks)
    assert max(len(line) for line in text.splitlines()) <= 130


def test_jaw_that_does_not_move_passes(mechanism, script):
    still = dataclasses.replace(
        script,
        y=np.tile(mechanism.home.y, (len(script), 1)),
        y_dot=0.0 * script.y_dot,
        y_ddot=0.0 * script.y_ddot,
        bite_forces=0.0 * script.bite_forces,
    )
    assert failed(mechanism, still, perfect_record(mechanism, still)) == set()


def test_pauses_of_the_computer_excuse_lost_cycles_but_no_wrong_torques(mechanism, script, record):
    rows = np.arange(len(record[topics.STATE].stamps)) % 20 != 19
    late = with_state(keep(record, rows), effort=1.05 * record[topics.STATE].effort[rows])
    begin = np.arange(0.05, script.duration, 0.2)
    late = dataclasses.replace(late, stalls=np.stack([begin, begin + 0.02], axis=1))
    found = {check.name: check for check in judge(Run(Pass(mechanism, script, late), RATE))}
    assert found['publish rate'].passed is found['no cycle lost'].passed is None
    assert 'this computer stood still 5 times, 20.0 ms at most' in found['publish rate'].detail
    assert found['torques as expected'].passed is False
    assert found['energy balance'].cause == 'torques as expected'


def test_the_first_cause_is_told_alone(mechanism, script, record):
    """A trajectory that the node refused: it holds home, and nothing is as it was played."""
    state = record[topics.STATE]
    still = with_state(
        record, position=0.0 * state.position + state.position[0], velocity=0.0 * state.velocity,
        effort=0.0 * state.effort + state.effort[0],
    )  # fmt: skip
    refused = dataclasses.replace(still, faults=('rejected',), actuated_trajectory=())
    checks = judge(Run(Pass(mechanism, script, refused), RATE))
    failed = [check.name for check in checks if check.passed is False]
    assert failed == ['no fault reported']
    consequences = {check.name for check in checks if check.cause == 'no fault reported'}
    assert {'torques as expected', 'motion as played', 'controller trajectory'} <= consequences
    without_fault = dataclasses.replace(refused, faults=())
    checks = judge(Run(Pass(mechanism, script, without_fault), RATE))
    (only,) = [check for check in checks if check.passed is False]
    assert only.name == 'motion as played' and only.detail.startswith('the node took no motion')
