# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes that need one another: the first to start waits, and the first to end is not missed."""

import signal
import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('can', reason='python-can is not installed')

from processes import START, SimulatedDrives, needs_multicast, wait_for

from nodes.drives_harness import EMERGENCY, LONG, BusTrace, Robot, told, write_drives
from nodes.harness import NodeProcess, Peer

pytestmark = [
    pytest.mark.waiting,
    pytest.mark.early,
    needs_multicast,
]
ALL = 'crank_1, crank_2, crank_3, crank_4, crank_5, crank_6'


def test_drives_that_are_switched_on_late_are_waited_for(ros_domain, tmp_path):
    file = write_drives(tmp_path)
    node = NodeProcess(
        'servo_drives', wait=False, namespace='late', drives=file, wait_for_drives=120.0
    )
    drives = None
    try:
        (line,) = node.wait_for_line('waiting up to 120 s: crank_1', START)
        assert 'do not answer on bus udp_multicast' in line
        drives = SimulatedDrives(file)
        node.wait_until_ready()
    finally:
        assert node.end() == 0, node.lines
        if drives is not None:
            drives.end()


def test_drives_that_are_gone_are_named_and_not_waited_for(ros_domain, mechanism, tmp_path):
    robot = Robot(mechanism, tmp_path, 'left', auto_enable=True)
    try:
        robot.node.wait_for_line('auto_enable: the loops close', LONG)
        robot.drives.process.kill()
        told(robot, 'until reset: crank_')
        time.sleep(2.0)  # longer than a request that was made before
        begin = time.monotonic()
        assert robot.node.end() == 0
        # To wait for six answers, three times, took eleven seconds; launch kills after five.
        assert time.monotonic() - begin < 5.0
        (line,) = robot.node.log('did not answer')
        assert f'{ALL} did not answer: whether they give torque is not known' in line
    finally:
        robot.close()


def test_a_twin_that_is_told_to_end_first_ends_last(ros_domain, tmp_path):
    """Ctrl-C reaches both at once; even the worst order leaves every drive in a known state."""
    file = write_drives(tmp_path, absolute=True)
    twin = NodeProcess('twin', namespace='both', drives=file)
    trace, node = BusTrace(file), None
    try:
        node = NodeProcess('servo_drives', namespace='both', drives=file, auto_enable=True)
        node.wait_for_line('auto_enable: the loops close', LONG)
        begin = time.time()
        twin.process.send_signal(signal.SIGINT)
        assert node.end() == 0, node.lines
        assert twin.end() == 0, twin.lines
        assert not node.log('torque'), node.lines
        # All were made pre-operational, and none went to fault.
        assert {data[1] for _, _, data in trace.since(begin, 0x000)} == set(range(1, 7))
        codes = trace.since(begin, *(EMERGENCY + k for k in range(1, 7)))
        assert not [code for code in codes if any(code[2][:2])]
    finally:
        trace.close()
        twin.end()
        if node is not None:
            node.end()


def test_a_twin_speaks_for_drives_whose_master_has_gone_and_ends_all_the_same(ros_domain, tmp_path):
    file = write_drives(tmp_path, absolute=True)
    twin = NodeProcess('twin', namespace='alone', drives=file)
    node, peer = None, Peer('twin', 'alone')
    try:
        node = NodeProcess('servo_drives', namespace='alone', drives=file, auto_enable=True)
        node.wait_for_line('auto_enable: the loops close', LONG)
        peer.wait_for_status('drives', 'OK', 'in use')

        def enabled():
            return set(peer.status('drives')[2].values()) == {'operation enabled'}

        wait_for(enabled, 'enabled drives')
        node.end(signal.SIGKILL)
        status = peer.wait_for_status('drives', 'ERROR', f'any more; in fault: {ALL}')
        assert set(status[2].values()) == {'fault'}
        assert twin.end() == 0, twin.lines
    finally:
        peer.close()
        twin.end()
        if node is not None:
            node.end()
