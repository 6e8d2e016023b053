# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of drives are monitored, and so are the monitors."""

import contextlib
import struct
import threading
import time
import types

import can
import numpy as np
import pytest
import samples
from processes import meanwhile, wait_for

from drives.ideal_drives import PERIOD
from drives.robot import Robot, connected, content
from drives.supervised import array
from drives.test_escalation import chewing_robot
from masticator_dynamics.drives import objects
from masticator_dynamics.drives.can_bus import open_bus
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.drive_cycle import DriveGoal
from masticator_dynamics.drives.drive_faults import WatchDeadlines
from masticator_dynamics.drives.exchange import (
    PATIENCE,
    SlowReading,
    WatchingThread,
)
from masticator_dynamics.drives.other_master import OtherMaster
from masticator_dynamics.drives.state_machine import powered
from masticator_dynamics.errors import DriveError

pytestmark = [pytest.mark.waiting, pytest.mark.early]

# Threads that watch


def test_a_watch_that_is_silent_stops_the_drives_in_time(following):
    watches = following.supervisor.deadlines
    watches.begin('eye', 0.05 + PATIENCE)
    for _ in range(20):
        watches.looked('eye')
        following.drives.run(0.05, following.command)
    assert following.drives.setpoint.goal is DriveGoal.ENABLED
    begin = following.drives.time - 0.05  # of the latest look
    while following.drives.setpoint.goal is DriveGoal.ENABLED:
        following.drives.run(PERIOD, following.command)
    assert 0.05 + PATIENCE - 3 * PERIOD < following.drives.time - begin < 1.0
    assert following.report.text.startswith('eye: has not looked for 0.85')


def test_a_silent_watch_keeps_drives_from_being_enabled(bench):
    bench.supervisor.disable()
    bench.drives.finish()
    bench.supervisor.deadlines.begin('eye', 0.1)
    bench.drives.run(0.2)
    assert 'eye: has not looked' in bench.supervisor.enable().message
    bench.supervisor.deadlines.looked('eye')
    bench.drives.cycle()
    assert bench.supervisor.enable().success


def test_a_watch_that_has_ended_is_not_missed(following):
    watches = following.supervisor.deadlines
    watches.begin('eye', 0.01)
    watches.end('eye')
    following.drives.run(0.1, following.command)
    assert following.drives.setpoint.goal is DriveGoal.ENABLED


def test_an_error_of_a_watching_thread_is_told_and_it_goes_on():
    found, looked, watches = [], threading.Event(), WatchDeadlines()

    class Eye(WatchingThread):
        def look(self):
            if not found:
                raise RuntimeError('no eyes')
            looked.set()

    watcher = Eye('eye', 0.001, types.SimpleNamespace(deadlines=watches, stop=found.append))
    watcher.start()
    try:
        assert looked.wait(30.0)
    finally:
        watcher.stop()
        watcher.stop()
    assert [(f.drive, f.text, f.goal) for f in found] == [
        ('eye', 'failed: RuntimeError: no eyes', DriveGoal.STOPPED)
    ]
    assert not watches.overdue(1e9)


# Status word bit 12


def test_a_drive_that_ignores_its_target_is_seen_in_that_cycle(following):
    following.drives.once = {'status_word': array(4, 0x0237, 0x1237, int)}
    assert following.drives.cycle().goal is DriveGoal.TORQUE_FREE
    assert following.report.text.startswith('crank_4: ignores its target (status word bit 12 is 0)')


def test_a_drive_that_never_follows_is_not_enabled(bench):
    bench.supervisor.disable()
    bench.drives.finish()
    assert bench.supervisor.enable().success
    bench.drives.given = {'status_word': array(4, 0x0237, 0x1237, int)}
    outcome = bench.drives.finish()
    assert not outcome.success and 'crank_4: not enabled within 3 s' in outcome.message


# Another master


def frame(identifier, data=b'', **kinds):
    return can.Message(arbitration_id=identifier, is_extended_id=False, data=data, **kinds)


@pytest.mark.parametrize(
    ('identifier', 'words'),
    [
        (0x080, 'SYNC (0x080)'),
        (0x000, 'NMT commands'),
        (0x77E, 'heartbeat of node 126 (0x77E)'),
        (0x7E5, 'LSS commands (0x7E5)'),
    ],
)
def test_frames_of_a_master_are_found(identifier, words):
    from drives.simulated import drives

    others = OtherMaster(drives())
    for ignored in (frame(0x181), frame(0x701), frame(identifier, is_error_frame=True)):
        others.take(ignored)
    assert others.found() == ''
    others.take(frame(identifier))
    assert words in others.found()
    assert others.found() == ''


@pytest.mark.parametrize(
    'data', ['2b4060000f000000', '21726000', '00e8030000000000', 'c072600002000000']
)
def test_writes_of_all_kinds_are_found(data):
    """Expedited, segmented, a segment, and a block (CiA 301)."""
    from drives.simulated import drives

    others = OtherMaster(drives())
    others.take(frame(0x601, bytes.fromhex(data)))
    assert 'SDO writes to drives' in others.found()


@pytest.mark.parametrize('data', ['4041600000000000', '6000000000000000', 'a008100014000000', ''])
def test_reading_alters_nothing(data):
    from drives.simulated import drives

    others = OtherMaster(drives())
    others.take(frame(0x601, bytes.fromhex(data)))
    assert others.found() == ''


def test_frames_of_another_master_stop_quickly(following):
    following.drives.once = {'other_master': 'another master is on the bus: it sends SYNC (0x080)'}
    assert following.drives.cycle().goal is DriveGoal.STOPPED
    assert following.report.text.startswith('bus: another master is on the bus')


class Mute:
    """Drives whose crank_4 does not answer read requests."""

    def __init__(self, names, lost):
        self.names, self.lost = names, lost

    def _ask(self, k):
        if k == 3 and self.lost:
            self.lost -= 1
            raise DriveError('crank_4 (node 4)', 'cannot read 0x6072 max torque: no answer')

    def temperature(self, k):
        self._ask(k)
        return 40.0

    def difference(self, k, number):
        self._ask(k)
        return ''


@pytest.mark.parametrize(('lost', 'goal'), [(2, DriveGoal.ENABLED), (3, DriveGoal.STOPPED)])
def test_a_drive_that_leaves_three_reads_without_answer_is_not_trusted(following, lost, goal):
    reading = SlowReading(Mute(following.supervisor.joints, lost), following.supervisor)
    for _ in range(100):
        reading.look()
    assert following.send().goal is goal
    assert ('crank_4' in following.report.text) == (goal is DriveGoal.STOPPED)


# On a bus


@pytest.fixture(scope='module')
def running(tmp_path_factory, module_port):
    data = content(module_port) | {
        'cycle_rate': 100.0, 'heartbeat': {'period': 0.05, 'timeout': 0.5},
    }  # fmt: skip
    for drive in data['drives'].values():
        drive['motor']['absolute'] = True
    robot = Robot(tmp_path_factory.mktemp('watched'), data)
    yield robot
    robot.end()


@contextlib.contextmanager
def reading(network, supervisor):
    reading = SlowReading(network, supervisor)
    reading.start()
    try:
        yield reading
    finally:
        reading.stop()


CHANGES = {
    'mode': (objects.MODE, 'b', 10, '0x6061 modes of operation display is 10, it was set to 8'),
    'torque': (objects.MAX_TORQUE, 'H', 100, '0x6072 max torque is 100, it was set to 3000'),
    'window': (objects.FOLLOWING_ERROR_WINDOW, 'I', 7, '0x6065'),
    'watch': (objects.CONSUMER_HEARTBEAT, 'I', 126 << 16 | 60000, '0x1016:01'),
    'lost': (objects.CONNECTION_LOST_OPTION, 'h', 0, '0x6007'),
    'sync': (objects.SYNC_PERIOD, 'I', 0, '0x1006'),
}


def alter(network, node, entry, kind, value):
    """Change a setting such that nobody on the bus is seen to do so."""
    data = struct.pack('<' + kind, value)
    head = 0x23 | (4 - len(data)) << 2
    request = struct.pack('<BHB4s', head, entry.index, entry.subindex, data)
    network._connected.send_message(0x600 + node, request)
    time.sleep(0.05)


# Each is looked at in turn, a second apart.
@pytest.mark.parametrize('change', samples.swept(CHANGES, ['mode', 'lost']))
def test_a_change_of_what_was_set_up_is_found_while_enabled(mechanism, robot, change):
    entry, kind, value, words = CHANGES[change]
    with chewing_robot(mechanism, robot.file) as (network, supervisor):
        with reading(network, supervisor):
            alter(network, 4, entry, kind, value)
            begin = time.monotonic()
            wait_for(lambda: supervisor.report().causes, 'found', 30.0)
            print(f'CHANGE {change}: {time.monotonic() - begin:.2f} s')
        cause = supervisor.report().causes[0]
        assert cause.drive == 'crank_4' and words in str(cause)
        if cause.kind == 'configuration':
            assert network.altered() == ('crank_4',) and cause.goal is DriveGoal.TORQUE_FREE
            network.restore(network.altered())
            assert network.altered() == ()
            network.verify()


def test_drives_are_verified_and_what_differs_is_named(robot):
    with connected(robot) as network:
        begin = time.monotonic()
        network.verify()
        print(f'VERIFIED in {time.monotonic() - begin:.2f} s')
        alter(network, 2, objects.MODE, 'b', 6)
        with pytest.raises(DriveError, match=r'crank_2 \(node 2\): 0x6061 .* is 6, .* set to 8'):
            network.verify()
        assert network.altered() == ('crank_2',)


def test_answers_of_no_length_end_no_thread(mechanism, robot):
    """Whoever answers for a drive, reading continues and temperatures arrive."""
    with chewing_robot(mechanism, robot.file) as (network, supervisor):
        with reading(network, supervisor), open_bus(network.drives.bus) as other:
            for _ in range(150):
                for node in range(1, 7):
                    other.send(frame(0x580 + node, b''))
                    other.send(frame(0x580 + node, b'\x4f'))
                time.sleep(0.005)
            assert [t.name for t in threading.enumerate()].count('slow reading') == 1
            wait_for(lambda: np.isfinite(supervisor.report().temperature).all(), 'temperatures')


def test_a_second_master_is_refused_by_name_and_the_first_stops(mechanism, robot):
    with chewing_robot(mechanism, robot.file) as (network, supervisor):
        with pytest.raises(DriveError, match=r'master .* SYNC \(0x080\) .* and the heartbeat'):
            with connected(robot):
                pass
        time.sleep(0.2)
        kinds = [cause.kind for cause in supervisor.report().causes]
        assert 'second master' not in kinds  # it has only listened
        with open_bus(network.drives.bus) as other:
            other.send(frame(0x77E, b'\x05'))
        text = 'bus: another master is on the bus: it sends the heartbeat of node 126 (0x77E)'
        wait_for(lambda: text in map(str, supervisor.report().causes), 'told', 30.0)


def test_another_master_is_noticed_between_two_exchanges(robot):
    with connected(robot) as network:
        network.listen()

        def other_master(ended):
            with open_bus(network.drives.bus) as bus:
                while not ended.wait(0.02):
                    bus.send(frame(0x080))

        with meanwhile(other_master):
            with pytest.raises(DriveError, match=r'it sends SYNC \(0x080\); stop it first'):
                network.listen()


FOREIGN = {
    'setpoint': (0x206, bytes(8), 'setpoints for drives (0x200 + node id)'),
    'write': (0x606, bytes.fromhex('2b72600064000000'), 'SDO writes to drives (0x600 + node id)'),
    'answer': (0x186, bytes(8), None),
}


@pytest.mark.parametrize('what', FOREIGN)
def test_who_commands_or_answers_for_a_drive_stops_all(mechanism, robot, what):
    """The gate does not see another's setpoints; the drive would go there."""
    identifier, data, words = FOREIGN[what]
    words = words or 'bus: another node answers as crank_6 (0x186)'
    with chewing_robot(mechanism, robot.file) as (network, supervisor):
        with open_bus(network.drives.bus) as other:
            other.send(frame(0x606, bytes.fromhex('4041600000000000')))  # reading alters nothing
            time.sleep(0.1)
            assert not supervisor.report().causes

            def cause():  # an answer that was lost could explain one too many
                other.send(frame(identifier, data))
                return supervisor.report().causes

            cause = wait_for(cause, 'told', 5.0)
        assert words in ' '.join(map(str, cause)) and DriveGoal.STOPPED in [c.goal for c in cause]
        wait_for(lambda: not powered(supervisor.report().feedback).any(), 'no torque', 5.0)


def test_requests_that_only_read_are_no_other_masters():
    others = OtherMaster(load_drives('drives.yaml'))
    for data in (b'', bytes.fromhex('4041600000000000'), bytes.fromhex('6000000000000000')):
        others.take(frame(0x601, data))
        assert others.found() == ''
    others.take(frame(0x601, bytes.fromhex('2f60600006000000')))
    assert others.found().endswith('it sends SDO writes to drives (0x600 + node id)')
