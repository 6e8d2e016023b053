# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Of several jobs, the newest that is accepted counts, and nothing waits for older ones."""

import dataclasses
import threading
import time

import pytest
from masticator_dynamics.ros.dynamics.newest_first import NewestFirst


@dataclasses.dataclass(eq=False)
class Job:
    data: bytes
    begin: int = 0


class Desk:
    """Jobs written as 'name begin seconds verdict'; 'unreadable' is not a job."""

    def __init__(self):
        self.log, self.overtaken = [], []
        self.idle = threading.Event()
        self.queue = NewestFirst('desk', self.read, self.work, self.dropped)

    def put(self, text):
        self.queue.put(Job(text.encode()))

    def read(self, job):
        data = job.data.decode()
        if data == 'unreadable':
            self.log.append(data)
            return False
        job.name, begin, seconds, verdict = data.split()
        job.begin, job.seconds, job.verdict = int(begin), float(seconds), verdict == 'yes'
        return True

    def work(self, job):
        self.log.append(f'{job.name} begun')
        end = time.monotonic() + job.seconds
        while time.monotonic() < end:
            self.queue.give_way()
            time.sleep(0.001)
        self.log.append(f'{job.name} {"followed" if job.verdict else "refused"}')
        return job.verdict

    def dropped(self, items):
        # Those that were not read yet have no name.
        self.overtaken += [job.data.decode().split()[0] for job in items]

    def ends_with(self, entry):
        end = time.monotonic() + 20.0
        while time.monotonic() < end and (not self.log or self.log[-1] != entry):
            time.sleep(0.002)
        assert self.log[-1] == entry
        time.sleep(0.05)
        assert self.log[-1] == entry  # and nothing after it


@pytest.fixture(name='desk')
def fixture_desk():
    desk = Desk()
    yield desk
    desk.queue.close()


def begun(desk, name):
    while f'{name} begun' not in desk.log:
        time.sleep(0.001)


def test_a_short_one_does_not_wait_for_thirty_long_ones(desk):
    for k in range(30):
        desk.put(f'long{k} 0 1000 yes')
        time.sleep(0.002)
    desk.put('short 0 0 yes')
    desk.ends_with('short followed')
    assert desk.overtaken == [f'long{k}' for k in range(30)]  # each once, and the short one not


def test_what_cannot_be_read_overtakes_nothing(desk):
    desk.put('first 0 0.3 yes')
    begun(desk, 'first')
    desk.put('unreadable')
    desk.ends_with('first followed')
    assert desk.log == ['first begun', 'unreadable', 'first followed']
    assert desk.overtaken == []


def test_a_newer_one_that_is_refused_changes_nothing(desk):
    desk.put('first 0 0.3 yes')
    begun(desk, 'first')
    desk.put('second 0 0.01 no')
    desk.ends_with('first followed')
    assert desk.log.count('first begun') == 2
    assert 'second refused' in desk.log and desk.overtaken == []


def test_one_that_begins_later_is_done_after_the_one_before_it(desk):
    desk.put('now 0 0.2 yes')
    begun(desk, 'now')
    desk.put('later 5 0.01 yes')
    desk.ends_with('later followed')
    assert desk.log == ['now begun', 'now followed', 'later begun', 'later followed']
    assert desk.overtaken == []


def test_the_end_does_not_wait_for_the_work(desk):
    desk.put('long 0 1000 yes')
    begun(desk, 'long')
    begin = time.monotonic()
    desk.queue.close()
    assert time.monotonic() - begin < 5.0
    assert 'long followed' not in desk.log
