# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A stop that one drive ignores: what is tried and when, and when the drive gives no torque."""

import contextlib
import time

import numpy as np
import pytest
from processes import wait_for

from drives.ideal_drives import PERIOD
from drives.robot import Robot, connected, content
from drives.supervised import DRIVES, array
from masticator_dynamics.drives import objects
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.drive_cycle import Action, DriveGoal
from masticator_dynamics.drives.drive_faults import Phase
from masticator_dynamics.drives.escalation import ramp_time, reaction_times, silence_time, step_time
from masticator_dynamics.drives.exchange import CyclicExchange
from masticator_dynamics.drives.joint_limits import in_order
from masticator_dynamics.drives.objects import Object
from masticator_dynamics.drives.state_machine import powered
from masticator_dynamics.drives.supervisor import Supervisor

pytestmark = pytest.mark.waiting

ON, OFF, SLOWING = 0x1237, 0x0250, 0x0217
LATE = 0.25  # s; what a busy machine may add
TAKEN = ['stop by SDO', 'stop by NMT', 'stop by silence', 'acts on nothing']


class Disobedient:
    """Crank 2 of a bench always reports the same status word; records what follows, with times."""

    def __init__(self, bench, word):
        self.bench, self.begin = bench, bench.drives.time
        self.tell(word)
        self.actions, self.silent = [], []

    def tell(self, word):
        self.bench.drives.given = {'status_word': array(2, word, OFF, int)}

    def run(self, seconds):
        for _ in range(round(seconds / PERIOD)):
            setpoint = self.bench.drives.cycle()
            since = self.bench.drives.time - self.begin
            self.actions += [(since, *action) for action in setpoint.actions]
            self.silent += [since] if setpoint.silent else []
        return [cause.kind for cause in self.bench.report.causes]


@pytest.fixture
def stopped(following):
    following.supervisor.emergency_stop()
    return Disobedient(following, ON)


def test_measures_follow_one_another_each_after_its_time(stopped):
    step, silence = step_time(DRIVES), silence_time(DRIVES)
    times, told = [], 1
    while len(times) < len(TAKEN):
        kinds = stopped.run(PERIOD)
        times += [stopped.bench.drives.time - stopped.begin] * (len(kinds) - told)
        told = len(kinds)
    assert kinds[1:] == TAKEN
    assert np.diff(times, prepend=0.0) == pytest.approx([step, step, step, silence], abs=2 * PERIOD)
    assert len(stopped.silent) * PERIOD == pytest.approx(silence, abs=2 * PERIOD)
    assert 'crank_2: gives torque whatever it is told' in stopped.bench.report.causes[-1].__str__()
    assert 'NMT stop' in stopped.bench.report.causes[-1].text
    assert 'hardware switch' in stopped.bench.report.causes[-1].text


def test_only_the_drive_that_disobeys_is_asked_and_status_words_are_asked_for(stopped):
    stopped.run(3 * step_time(DRIVES) + 0.02)
    assert {index for _, index, _ in stopped.actions} == {1}
    asked = [action for _, _, action in stopped.actions]
    first, then = asked[: asked.index(Action.NMT_STOP)], asked[asked.index(Action.NMT_STOP) :]
    assert first[:4] == [Action.CONTROL_WORD, Action.ASK_STATUS] * 2
    assert then[:3] == [Action.NMT_STOP, Action.NMT_PRE_OPERATIONAL, Action.ASK_STATUS]
    times = np.array([since for since, _, _ in stopped.actions])
    assert np.median(np.diff(times)) > 0.008  # there is room for little more on the bus


@pytest.mark.parametrize('measures', [1, 2, 3])
def test_a_measure_that_shows_is_the_last(stopped, measures):
    stopped.run(measures * step_time(DRIVES) + 4 * PERIOD)
    stopped.tell(OFF)
    before = len(stopped.actions)
    assert stopped.run(1.0)[1:] == TAKEN[:measures]
    assert len(stopped.actions) == before
    assert not stopped.bench.drives.setpoint.silent


def test_a_drive_that_gives_torque_every_other_cycle_disobeys(stopped):
    """As when another master enables it again and again."""
    for cycle in range(round(4 * step_time(DRIVES) / PERIOD)):
        stopped.tell((ON, OFF)[cycle % 2])
        kinds = stopped.run(PERIOD)
    assert kinds[1:] == TAKEN[:3]


def test_a_quick_stop_may_take_its_ramp_and_no_longer(following):
    following.supervisor.emergency_stop()
    slow = Disobedient(following, SLOWING)
    assert slow.run(ramp_time(DRIVES) + step_time(DRIVES)) == ['emergency stop']
    assert slow.run(2 * PERIOD)[1:] == ['quick stop']
    assert following.drives.setpoint.goal is DriveGoal.TORQUE_FREE
    assert not slow.actions


def test_a_stall_of_this_side_is_no_disobedience(stopped):
    """Without cycles, no drive has a chance to obey."""
    stopped.run(2 * PERIOD)
    stopped.bench.drives.time += 1.0
    assert stopped.run(PERIOD) == ['emergency stop']
    stopped.tell(OFF)
    assert stopped.run(0.5) == ['emergency stop']


def test_a_reset_begins_anew(stopped):
    stopped.run(4 * step_time(DRIVES) + silence_time(DRIVES))
    assert stopped.bench.supervisor.reset().success
    stopped.begin, stopped.actions = stopped.bench.drives.time, []
    stopped.run(step_time(DRIVES) - 2 * PERIOD)
    assert not stopped.actions and not stopped.bench.drives.setpoint.silent


def test_resets_that_follow_one_another_do_not_keep_a_drive_under_torque(stopped):
    """Each would begin the measures anew; the last would never be taken."""
    supervisor, refused = stopped.bench.supervisor, set()
    for _ in range(round((4 * step_time(DRIVES) + silence_time(DRIVES)) / PERIOD)):
        stopped.run(PERIOD)
        outcome = supervisor.reset()
        refused |= set() if outcome.success else {outcome.message}
        if stopped.silent:
            break
    assert stopped.silent and stopped.silent[0] <= 4 * step_time(DRIVES)
    assert 'drives still give torque; not yet' in refused
    assert supervisor.may_reset() == (False, 'drives still give torque; not yet')


def test_a_drive_that_is_not_heard_of_is_told_as_such(stopped):
    stopped.bench.drives.given['heartbeat_age'] = array(2, 9.0, 0.02)
    stopped.run(4 * step_time(DRIVES) + silence_time(DRIVES))
    last = [c for c in stopped.bench.report.causes if c.kind == 'acts on nothing']
    assert 'is not heard of, so whether it gives torque is not known' in last[0].text


def test_a_drive_that_somebody_else_enables_is_set_free(bench):
    """Torque-free is a goal like any other, kept even if somebody else writes control words."""
    bench.supervisor.disable()
    assert bench.drives.finish().success
    other = Disobedient(bench, ON)
    assert other.run(step_time(DRIVES) + 4 * PERIOD) == ['stop by SDO']


# On a bus


@contextlib.contextmanager
def chewing_robot(mechanism, file):
    """Enabled drives that hold still, with the real supervisor; yields network and supervisor."""
    with connected(None, file) as network:
        supervisor = Supervisor(in_order(load_drives(file), mechanism), mechanism)
        exchange = CyclicExchange(network, supervisor, supervisor.exchange_failed)
        exchange.start()
        try:
            wait_for(lambda: _heard(supervisor), 'feedback')
            wait_for(lambda: _enabled(supervisor), 'no fault of before')
            wait_for(lambda: supervisor.report().phase.name == 'HOLDING', 'enabled')
            yield network, supervisor
        finally:
            exchange.stop()


def _enabled(supervisor):
    if supervisor.report().phase is Phase.LATCHED:
        supervisor.reset()
    return supervisor.enable().success


def _heard(supervisor):
    feedback = supervisor.report().feedback
    return feedback is not None and feedback.fresh.all()


@pytest.fixture(scope='module')
def running(tmp_path_factory, module_port):
    data = content(module_port) | {
        'cycle_rate': 100.0, 'heartbeat': {'period': 0.05, 'timeout': 0.25},
    }  # fmt: skip
    for drive in data['drives'].values():
        drive['motor']['absolute'] = True
    robot = Robot(tmp_path_factory.mktemp('disobedient'), data)
    yield robot
    robot.end()


def after_stop(supervisor):
    """Stop; returns how long (s) each drive continued to give torque."""
    begin = time.monotonic()
    supervisor.emergency_stop()
    taken = np.full(6, np.nan)

    def all_off():
        now, feedback = time.monotonic(), supervisor.report().feedback
        off = ~powered(feedback) & (feedback.time > begin)
        taken[off & np.isnan(taken)] = now - begin
        return off.all()

    wait_for(all_off, 'no torque')
    return taken


MUTE_PDO = Object(0x1400, 1, 'COB-ID')


@pytest.mark.parametrize('depth', [0, 1, 2, 3])
def test_a_drive_that_does_not_hear_is_off_in_time(mechanism, robot, depth):
    """Depth 0 is one foreign SDO write: the RPDO of crank_6 is invalid."""
    with chewing_robot(mechanism, robot.file) as (network, supervisor):
        if depth:
            robot.inject(f'deaf crank_6 {depth}')
        else:
            network.channel('crank_6').write(MUTE_PDO, objects.PDO_INVALID | 0x206)
        taken = after_stop(supervisor)
        kinds = [c.kind for c in supervisor.report().causes if c.drive == 'crank_6']
        stated = reaction_times(network.drives)[['stop by SDO', 'stop by SDO', 'stop by NMT',
                                                 'stop by silence'][depth]]  # fmt: skip
        print(f'ESCALATION {depth}: crank_6 off after {taken[5]:.3f} s, stated {stated:.3f} s')
        assert TAKEN[max(depth - 1, 0)] in kinds and 'acts on nothing' not in kinds
        assert taken[5] <= stated + LATE


def test_a_drive_that_acts_on_nothing_is_named_and_keeps_its_own_watch(mechanism, robot):
    with chewing_robot(mechanism, robot.file) as (network, supervisor):
        robot.inject('deaf crank_6 4')
        supervisor.emergency_stop()
        wait_for(lambda: 'acts on nothing' in [c.kind for c in supervisor.report().causes], 'told')
        wait_for(lambda: _heard(supervisor), 'SYNC is back')
        word = supervisor.report().feedback.status_word
        assert (word[5] & 0x6F, powered(supervisor.report().feedback).sum()) == (0x27, 1)
        assert 'crank_6' in network.powered()
    robot.inject('clear crank_6')
    with connected(robot) as network:  # nobody had told it to watch no longer
        assert network.powered() == ()
