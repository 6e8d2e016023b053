# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Refused messages: all counted, few logged."""

import threading
import types

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from masticator_dynamics.ros.common import diagnostics


def test_all_are_counted_and_one_in_a_second_is_logged(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(diagnostics.time, 'monotonic', lambda: now[0])
    logged = []
    rejections = diagnostics.Rejections(logged.append)
    for k in range(2500):  # 1 kHz
        now[0] = 100.0 + 1e-3 * k
        rejections.reject('refused: ', f'mistake {k}')
    assert len(logged) == 3
    assert logged[0] == 'refused: mistake 0'
    assert ' more since the last line)' in logged[1]
    told = sum(1 + int(line.split('(')[1].split()[0]) for line in logged[1:])
    assert 1 + told + (2499 - int(logged[-1].split()[2])) == 2500  # none is lost
    assert rejections.rejected == 2500
    assert rejections.last == 'mistake 2499'
    assert rejections.alarming


def test_of_several_at_once_each_has_its_reason_in_the_status(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(diagnostics.time, 'monotonic', lambda: now[0])
    rejections = diagnostics.Rejections(lambda line: None)
    for reason in ('too late', 'no knee', 'no knee'):
        rejections.reject('', reason)
        now[0] += 0.01
    assert rejections.values()['last rejected'] == 'no knee; before it: too late'
    now[0] += 5.0
    assert rejections.values()['last rejected'] == 'no knee'
    for k in range(1000):
        rejections.reject('', f'mistake {k}')
    assert rejections.values()['last rejected'].count('before it') == 3


def test_a_burst_is_logged_whole_and_then_one_in_a_second(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(diagnostics.time, 'monotonic', lambda: now[0])
    limit = diagnostics.LogLimit(burst=10)
    assert [limit.allows() for _ in range(12)] == [True] * 10 + [False] * 2
    now[0] += 1.0
    assert limit.allows() and limit.note() == ' (2 more since the last line)'
    assert not limit.allows()
    now[0] += 100.0
    assert sum(limit.allows() for _ in range(100)) == 10


def test_a_trajectory_that_waits_for_its_checks_to_start_is_told_so():
    trajectory_input = pytest.importorskip('masticator_dynamics.ros.dynamics.trajectory_input')
    given, lines = trajectory_input.TrajectoryInput.__new__(trajectory_input.TrajectoryInput), []
    logger = types.SimpleNamespace(info=lines.append)
    given._node = types.SimpleNamespace(get_logger=lambda: logger)
    given.preparer = types.SimpleNamespace(state='starts')
    given.active, given._waiting, given._changed = True, [], threading.Condition()
    given._log_limit = diagnostics.LogLimit(10)
    given.put(trajectory_input.Request(b''))
    assert len(lines) == 1 and 'waits: the process that checks it is starting' in lines[0]
    given.preparer.state = 'ready'
    given.put(trajectory_input.Request(b''))
    assert len(lines) == 1 and len(given._waiting) == 2


def test_what_strangers_sent_is_shortened_and_made_printable():
    logged = []
    rejections = diagnostics.Rejections(logged.append)
    rejections.reject('', 'unknown joints: ' + ', '.join(f'joint_{k}' for k in range(2000)))
    (line,) = logged
    assert line == rejections.last and len(line) < 450
    assert line.startswith('unknown joints: joint_0, ') and line.endswith('characters)')
    assert diagnostics.shortened('a\x1b[31m\nb\u2028ä') == 'a\\x1b[31m\\nb\\u2028ä'


def test_a_flood_of_faults_does_not_flood_the_log_of_the_twin():
    """Whoever sends lines to ~/fault gets an answer in the log to each, up to some."""
    twin_node = pytest.importorskip('masticator_dynamics.robot.twin.twin_node')
    twin, lines = twin_node.Twin.__new__(twin_node.Twin), []
    logger = types.SimpleNamespace(info=lines.append)
    twin._node = types.SimpleNamespace(get_logger=lambda: logger)
    twin._log_limit = diagnostics.LogLimit(twin_node._BURST)
    for _ in range(1000):
        twin._log('error: \n' + 10_000 * 'x')
    assert 10 < len(lines) < 30 and max(map(len, lines)) < 500 and '\n' not in ''.join(lines)
