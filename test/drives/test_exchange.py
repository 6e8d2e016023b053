# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The cyclic exchange with simulated drives in another process."""

import sys
import time

import can
import numpy as np
import pytest
from processes import wait_for

from drives.robot import Robot, Told, connected, content, exchanging
from masticator_dynamics.drives import objects
from masticator_dynamics.drives.can_bus import open_bus
from masticator_dynamics.drives.drive_cycle import DriveGoal, Setpoint
from masticator_dynamics.drives.exchange import CyclicExchange
from masticator_dynamics.drives.objects import NmtState

pytestmark = [pytest.mark.waiting, pytest.mark.early]
JOINTS = 6
IN_A_ROW = 125  # cycles; half a second at 250 Hz


def make(tmp_path, port, **changes):
    return Robot(tmp_path, content(port) | changes)


@pytest.fixture(scope='module')
def running(tmp_path_factory, module_port):
    robot = make(tmp_path_factory.mktemp('exchange'), module_port)
    yield robot
    robot.end()


def longest_run(kept):
    """Largest number of successive cycles in which all PDOs arrived."""
    best = run = 0
    for feedback in list(kept):
        run = run + 1 if feedback.fresh.all() else 0
        best = max(best, run)
    return best


def test_at_250_hz_nothing_is_lost(tmp_path, free_port):
    robot = make(tmp_path, free_port, cycle_rate=250.0)
    try:
        with connected(robot) as network, exchanging(network) as (exchange, told):
            told.reach(DriveGoal.ENABLED, 'operation enabled')
            wait_for(lambda: longest_run(told.kept) >= IN_A_ROW, 'half a second without a loss')
            statistics = exchange.statistics
            assert exchange.failure is None
        assert 0.25 / 250.0 <= statistics.answer.spread()['p50'] < 0.6 / 250.0
    finally:
        robot.end()


def test_cycles_are_on_a_grid_and_all_accounted_for(robot):
    with connected(robot) as network, exchanging(network) as (exchange, told):
        wait_for(lambda: told.newest is not None, 'feedback')
        robot.inject('drop crank_2 0.3')
        wait_for(lambda: told.newest.lost[1] >= 20 and told.newest.missed[1] == 0, 'losses')
    kept = list(told.kept)
    due = np.array([feedback.time - feedback.lateness for feedback in kept])
    steps = np.diff(due) * 50.0
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-6)  # no drift
    assert (np.rint(steps) >= 1).all()
    # Nor do two follow closely.
    assert np.diff([feedback.time for feedback in kept]).min() >= 0.5 / 50.0 - 1e-9
    for before, after in zip(kept, kept[1:], strict=False):
        np.testing.assert_array_equal(after.lost, before.lost + ~after.fresh)
        np.testing.assert_array_equal(after.missed, np.where(after.fresh, 0, before.missed + 1))
    assert max(feedback.missed[1] for feedback in kept) >= 2
    statistics = exchange.statistics
    assert statistics.skipped >= np.rint(steps).sum() - len(steps)


def test_positions_and_efforts_reach_the_motors(robot):
    """Joints go where they are commanded, whichever way their motors are mounted."""
    goal = np.array([0.3, 0.2, -0.1, -0.2, 0.15, 0.25])
    with connected(robot) as network, exchanging(network) as (_, told):
        told.reach(DriveGoal.ENABLED, 'operation enabled')
        begin = told.newest.position
        for share in np.linspace(0.0, 1.0, 20):
            told.position = begin + share * (goal - begin)
            time.sleep(0.02)
        wait_for(lambda: abs(told.newest.position - goal).max() < 0.02, 'positions')
        # As the drive itself says: counts of a motor that turns 4.8 times, 4096 counts each.
        for index, name in enumerate(network.names):
            counts_per_radian = (-1 if index % 2 else 1) * 4.8 * 4096 / (2.0 * np.pi)

            def difference(name=name, index=index, factor=counts_per_radian):
                counts = network.channel(name).read(objects.POSITION)
                return abs(counts - factor * told.newest.position[index])

            wait_for(lambda: difference() < 3.0, f'counts of {name}')
        # A torque against the position loop of 16 N m/rad.
        told.effort = np.full(JOINTS, 0.6)
        wait_for(
            lambda: ((told.newest.position - goal) > 0.03).all(), 'way given to the torque offset'
        )
        told.goal = DriveGoal.TORQUE_FREE


def test_effort_mode_turns_joints_in_their_positive_sense(tmp_path, free_port):
    robot = make(tmp_path, free_port, mode='effort')
    try:
        with connected(robot) as network, exchanging(network) as (_, told):
            told.reach(DriveGoal.ENABLED, 'operation enabled')
            told.effort = np.full(JOINTS, 0.03)
            wait_for(lambda: (told.newest.velocity > 0.5).all(), 'turning')
            wait_for(lambda: (told.newest.effort > 0.01).all(), 'effort')
    finally:
        robot.end()


def test_velocity_is_the_slope_of_the_positions(robot):
    with connected(robot) as network, exchanging(network) as (_, told):
        told.reach(DriveGoal.ENABLED, 'operation enabled')
        begin, start = told.newest.position, told.newest.time
        while (passed := time.monotonic() - start) < 2.0:
            told.position = begin + 0.8 * passed
            time.sleep(0.005)
        kept = [feedback for feedback in told.kept if 1.0 < feedback.time - start < 2.0]
    times = np.array([feedback.time for feedback in kept])
    slope = np.polyfit(times - start, np.array([feedback.position for feedback in kept]), 1)[0]
    mean = np.mean([feedback.velocity for feedback in kept], axis=0)
    np.testing.assert_allclose(mean, slope, atol=0.1)
    np.testing.assert_allclose(slope, 0.8, atol=0.1)


def test_quick_stop(robot):
    with connected(robot) as network, exchanging(network) as (_, told):
        told.reach(DriveGoal.ENABLED, 'operation enabled')
        told.reach(DriveGoal.STOPPED, 'switch on disabled')
        told.reach(DriveGoal.ENABLED, 'operation enabled')
        told.reach(DriveGoal.TORQUE_FREE, 'switch on disabled')


def test_emergencies_come_with_the_feedback(robot):
    with connected(robot) as network, exchanging(network) as (_, told):
        wait_for(lambda: told.newest is not None, 'feedback')
        robot.inject('fault crank_5 0x7305')

        def came():
            return [e for feedback in list(told.kept) for e in feedback.emergencies]

        wait_for(came, 'emergency')
        told.reach(DriveGoal.RESET, 'switch on disabled')
        assert (came()[0].drive, came()[0].code) == ('crank_5', 0x7305)
        assert came()[0].text == 'incremental sensor 1 fault (0x7305)'
        assert {emergency.drive for emergency in came()} == {'crank_5'}


def test_heartbeats_age(robot):
    with connected(robot) as network, exchanging(network) as (_, told):
        wait_for(lambda: told.newest is not None, 'feedback')
        robot.inject('heartbeat crank_2')
        wait_for(lambda: told.newest.heartbeat_age[1] > 1.0, 'age of crank_2')
        assert (np.delete(told.newest.heartbeat_age, 1) < 1.0).all()


def test_drives_are_torque_free_after_stop(robot):
    with connected(robot) as network:
        with exchanging(network) as (exchange, told):
            told.reach(DriveGoal.ENABLED, 'operation enabled')
        assert not exchange.running
        for name in network.names:
            assert int(network.channel(name).read(objects.STATUS_WORD)) & 0x6F == 0x40


def test_a_cycle_that_raises_sets_the_drives_free(robot):
    class Fails(Told):
        broken = False

        def __call__(self, feedback):
            if self.broken:
                raise RuntimeError('a fault of the cycle')
            return super().__call__(feedback)

    told = Fails()
    failures = []
    with connected(robot) as network, exchanging(network, told, failures.append) as (exchange, _):
        told.reach(DriveGoal.ENABLED, 'operation enabled')
        told.broken = True
        wait_for(lambda: not exchange.running, 'end')
        assert str(exchange.failure) == 'a fault of the cycle'
        assert failures == [exchange.failure]
        for name in network.names:
            assert int(network.channel(name).read(objects.STATUS_WORD)) & 0x6F == 0x40


@pytest.mark.parametrize(
    ('position', 'effort', 'told_of'),
    [(np.nan, 0.0, 'crank_3'), (0.0, np.inf, 'crank_3'), (1e7, 0.0, 'crank_3')],
)
def test_numbers_that_are_none_reach_no_drive(robot, position, effort, told_of):
    told = Told()
    with connected(robot) as network, exchanging(network, told) as (exchange, _):
        told.reach(DriveGoal.ENABLED, 'operation enabled')
        before = told.newest.position
        positions, efforts = before.copy(), np.zeros(JOINTS)
        positions[2] += position
        efforts[2] = effort
        told.position, told.effort = positions, efforts
        wait_for(lambda: not exchange.running, 'end')
        assert told_of in str(exchange.failure)
        assert abs(told.newest.position - before).max() < 0.1


def test_efforts_are_clipped_at_what_their_limit_takes(robot):
    # 0.9 N m through a gear of 4.8 with 0.8, and friction at 30 rad/s, of 0.0882 N m.
    most = int(np.ceil(1000.0 * (0.9 / (4.8 * 0.8) + 0.002 + 1e-6 * 4.8 * 30.0) / 0.0882))
    told = Told()
    seen = []
    with connected(robot) as network, open_bus(network.drives.bus) as listener:
        with exchanging(network, told):
            told.reach(DriveGoal.ENABLED, 'operation enabled')
            told.effort = np.array([50.0, 50.0, -50.0, -50.0, 0.0, 0.0])

            def large():
                message = listener.recv(0.1)
                if message is not None and 0x201 <= message.arbitration_id <= 0x206:
                    torque = int.from_bytes(message.data[6:8], 'little', signed=True)
                    seen.append((message.arbitration_id - 0x200, torque))
                return {abs(torque) for _, torque in seen[-6:]} >= {most}

            wait_for(large, 'large torques')
            told.effort = np.zeros(JOINTS)
    assert max(abs(torque) for _, torque in seen) == most
    signs = {node: np.sign(torque) for node, torque in seen if torque}
    assert signs.items() >= {1: 1, 2: -1}.items() or len(signs) < 2


def test_a_restart_is_told_until_the_drive_is_set_up_again(robot):
    """However soon it answers again: its settings and its home are gone."""
    with connected(robot) as network, exchanging(network) as (_, told):
        wait_for(lambda: told.newest is not None and told.newest.fresh.all(), 'feedback')
        assert told.newest.restarted == ()
        with open_bus(network.drives.bus) as other:
            other.send(can.Message(arbitration_id=0x705, is_extended_id=False, data=b'\0'))
        wait_for(lambda: told.newest.restarted == (4,), 'restart')
        assert network.lost() == ('crank_5',)
        network.restore(network.lost())
        wait_for(lambda: told.newest.restarted == (), 'set up')


def test_bus_off_is_told_once_and_ends_when_drives_are_heard(robot):
    with connected(robot) as network, exchanging(network) as (_, told):
        wait_for(lambda: told.newest is not None and told.newest.fresh.all(), 'feedback')
        assert told.newest.bus_error == ''
        with open_bus(network.drives.bus) as other:
            other.send(
                can.Message(
                    arbitration_id=0x40, is_error_frame=True, is_extended_id=False, data=b''
                )
            )
        wait_for(
            lambda: [f for f in list(told.kept) if f.bus_error.startswith('bus-off')], 'bus-off'
        )
        wait_for(lambda: told.newest.bus_error == '', 'bus in order')


@pytest.mark.parametrize('kind', ['is_extended_id', 'is_remote_frame', 'is_fd'])
def test_frames_of_other_kinds_are_nobodys(robot, kind):
    """Their identifiers are those of SYNC, of the master, of an error and of a heartbeat."""
    with connected(robot) as network, exchanging(network) as (_, told):
        wait_for(lambda: told.newest is not None and told.newest.fresh.all(), 'feedback')
        with open_bus(network.drives.bus) as stranger:
            for identifier in (0x080, 0x77E, 0x081, 0x706):
                data = b'' if kind == 'is_remote_frame' else b'\x10\x23\x04'
                flags = {'is_extended_id': False} | {kind: True}
                stranger.send(can.Message(arbitration_id=identifier, data=data, **flags))
            begin = told.newest.time
            wait_for(lambda: told.newest.time > begin + 0.2, 'some cycles')
        kept = list(told.kept)
        assert not [f.other_master for f in kept if f.other_master]
        assert not [f.emergencies for f in kept if f.emergencies]
        assert network.nmt_states == [NmtState.OPERATIONAL] * JOINTS


def test_answers_that_nobody_has_asked_for_do_not_pile_up(robot):
    with connected(robot) as network, open_bus(network.drives.bus) as stranger:
        sdo, lss = network._channels[0]._node.sdo, network._network.lss
        for _ in range(20):
            for identifier in 50 * (0x581, 0x7E4):
                stranger.send(
                    can.Message(arbitration_id=identifier, data=bytes(8), is_extended_id=False)
                )
            time.sleep(0.005)
        wait_for(network.altered, 'noticed')
        assert sdo.responses.empty() and lss.responses.empty()
        assert network.channel('crank_1').read(objects.MODE) == 8


def test_a_bus_that_breaks_is_told_and_the_cycle_goes_on(robot):
    """The socket is taken away, as if the bus interface were unplugged."""
    with connected(robot) as network, exchanging(network) as (exchange, told):
        wait_for(lambda: told.newest is not None and told.newest.fresh.all(), 'feedback')
        exchange._bus.shutdown()
        wait_for(lambda: 'cannot' in told.newest.bus_error, 'bus error')
        missed = wait_for(lambda: (told.newest.missed >= 5).all() and told.newest, 'losses')
        assert 'cannot' in missed.bus_error
        assert exchange.running


def test_a_frame_that_cannot_be_sent_holds_none_of_the_others_back(robot, monkeypatch):
    with connected(robot) as network, exchanging(network) as (exchange, told):
        wait_for(lambda: told.newest is not None and told.newest.fresh.all(), 'feedback')
        send = exchange._bus.send

        def full(message, timeout=None):
            if message.arbitration_id == 0x201:
                raise can.CanOperationError('no room')
            send(message, timeout)

        monkeypatch.setattr(exchange._bus, 'send', full)
        wait_for(lambda: told.newest.bus_error == 'cannot send: no room', 'told')
        with open_bus(network.drives.bus) as listener:
            heard = {message.arbitration_id for message in (listener.recv(1.0) for _ in range(100))}
        assert {0x080, *range(0x202, 0x207)} <= heard and 0x201 not in heard


def test_sdo_goes_on_beside_the_cycle(robot):
    with connected(robot) as network, exchanging(network) as (_, told):
        wait_for(lambda: told.newest is not None and told.newest.fresh.all(), 'feedback')
        for number in range(20):
            network.channel('crank_1').write(objects.POSITION_GAIN, 2.0 + number)
            assert network.channel('crank_1').read(objects.POSITION_GAIN) == 2.0 + number


def test_python_does_not_keep_its_lock_from_the_cycle_for_long(robot):
    before = sys.getswitchinterval()
    try:
        sys.setswitchinterval(0.005)
        with connected(robot) as network:
            exchange = CyclicExchange(
                network, lambda f: Setpoint(DriveGoal.TORQUE_FREE, f.position, f.effort)
            )
            exchange.start()
            exchange.stop()
        assert sys.getswitchinterval() < 0.001
    finally:
        sys.setswitchinterval(before)
