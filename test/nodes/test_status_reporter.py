# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics are published once per second, and immediately when they change."""

import threading

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from processes import wait_for
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode

from masticator_dynamics.ros.common import status_reporter
from masticator_dynamics.ros.common.diagnostics import ERROR, OK, Status
from nodes.harness import nanoseconds

pytestmark = pytest.mark.waiting

NEVER = 1e6  # s


class Reporting:
    """A node with one status, set by the test, and what it publishes."""

    def __init__(self):
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = LifecycleNode('reporting', context=self.context, namespace='here')
        self.level, self.message, self.values = OK, 'well', {'mode': 'rest', 'count': 1}
        self.looks, self.published = 0, []
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self.take, 100)
        self.reporter = status_reporter.StatusReporter(self.node, 'arm', self.collect)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.spin)
        self.thread.start()

    def take(self, report):
        # Nodes of other tests may still be there.
        if all(status.name.startswith('here/') for status in report.status):
            self.published.append(report)

    def collect(self):
        self.looks += 1
        return [Status('work', self.level, self.message, self.values)]

    def told(self):
        """Published statuses: level, message and values as text, oldest first."""
        statuses = [status for report in self.published for status in report.status[:1]]
        return [(s.level, s.message, {v.key: v.value for v in s.values}) for s in statuses]

    def spin(self):
        while not self.ended.is_set():
            self.executor.spin_once(timeout_sec=0.05)

    def close(self):
        self.ended.set()
        self.thread.join()
        self.reporter.destroy()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)


@pytest.fixture
def reporting(ros_domain):
    reporting = Reporting()
    yield reporting
    reporting.close()


@pytest.fixture
def only_news(monkeypatch):
    """Make the node publish only changes, without the reports of every second."""
    monkeypatch.setattr(status_reporter, '_REPORT', NEVER)


def change(what, value):
    return lambda reporting: setattr(reporting, what, value)


@pytest.mark.parametrize(
    'change',
    [
        change('level', ERROR),
        change('message', 'ill'),
        change('values', {'mode': 'running', 'count': 1}),
    ],
    ids=['level', 'message', 'word'],
)
def test_what_is_new_is_told_at_once(only_news, reporting, change):
    wait_for(lambda: reporting.looks > 2, 'a first report')
    change(reporting)
    values = {key: str(value) for key, value in reporting.values.items()}
    wanted = (reporting.level, reporting.message, values)
    wait_for(lambda: wanted in reporting.told(), 'a report')
    status, messages, connections = reporting.published[-1].status
    assert messages.name == 'here/reporting: messages' and messages.level == OK
    assert connections.name == 'here/reporting: connections' and connections.level == OK
    assert (status.name, status.hardware_id) == ('here/reporting: work', 'arm')


def test_numbers_are_no_news(only_news, reporting):
    wait_for(lambda: reporting.looks > 2, 'a first report')
    reporting.values = {'mode': 'rest', 'count': 2}
    looks = reporting.looks
    wait_for(lambda: reporting.looks > looks + 5, 'looks')
    assert not [values for *_, values in reporting.told() if values['count'] == '2']


def test_without_news_a_report_comes_each_second(reporting):
    wait_for(lambda: len(reporting.published) >= 4, 'reports')
    stamps = [nanoseconds(report.header.stamp) for report in reporting.published]
    gaps = [(b - a) * 1e-9 for a, b in zip(stamps, stamps[1:], strict=False)]
    assert min(gaps) > 0.7 and min(gaps) < 2.0  # longer ones are those of a busy computer


def test_a_thread_of_its_own_looks_when_it_is_a_good_time(reporting, only_news):
    good, threads, collect = threading.Event(), set(), reporting.collect

    def collected():
        threads.add(threading.current_thread().name)
        if reporting.message == 'fails':
            raise RuntimeError('on purpose')
        return collect()

    reporting.reporter._collect = collected
    reporting.reporter.look_when(good.wait)
    looks = reporting.looks
    reporting.message = 'worse'
    assert not good.wait(0.3) and reporting.looks <= looks + 1  # a look may have been under way
    threads.clear()
    good.set()
    wait_for(lambda: 'worse' in [message for _, message, _ in reporting.told()], 'the change')
    assert threads == {'diagnostics'}
    reporting.message = 'fails'
    wait_for(lambda: reporting.node.guard.failures.rejected, 'a look that fails')
    reporting.message = 'well again'
    wait_for(lambda: reporting.told()[-1][1] == 'well again', 'the look after it')
