# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The short form of `make fuzz`, with a fixed seed; FUZZ=1 adds nodes."""

import os
import re
import time

import numpy as np
import pytest
import samples

from fuzz.__main__ import fuzz
from fuzz.files import Files, apart, command, outcome
from fuzz.nasty import Nasty

pytestmark = pytest.mark.waiting


def test_content_is_the_same_for_a_seed():
    geometry = pytest.importorskip('geometry_msgs.msg', reason='ROS messages are not installed')
    messages = [
        [Nasty(np.random.default_rng(3), ['x']).message(geometry.WrenchStamped) for _ in range(5)]
        for _ in range(2)
    ]
    assert repr(messages[0]) == repr(messages[1])


@pytest.mark.parametrize(('seed', 'count'), samples.swept_rows([(1, 2), (2, 4)], [(1, 2)]))
def test_files_that_are_nearly_right_are_read_or_refused(tmp_path, seed, count):
    reader = Files(Nasty(np.random.default_rng(seed), ['x']), tmp_path)
    found = [reader.one(name) for name in reader.kinds for _ in range(count)]
    assert not [finding for finding in found if finding[1]]


@pytest.mark.parametrize(
    ('read', 'found'),
    [
        (lambda file: os.kill(os.getpid(), 9), 'died: '),
        (lambda file: time.sleep(60), 'took 3 s'),
        (lambda file: len(bytes(range(256)) * 2_000_000), 'took [0-9]+ MB'),
        (lambda file: 1 / 0, 'ZeroDivisionError'),
        (lambda file: command('check', 'no_such_mechanism'), '^$'),
    ],
)
def test_what_a_file_does_is_seen(read, found, monkeypatch):
    monkeypatch.setattr('fuzz.files.LONGEST', 3)
    monkeypatch.setattr('fuzz.files.MOST', 500.0)
    assert re.match(found, apart(lambda: outcome(read, 'file')))


@pytest.mark.skipif(not os.environ.get('FUZZ'), reason='takes the computer for itself: FUZZ=1')
def test_nodes_survive_some_seconds(ros_domain):
    counts, findings, notes = fuzz(0.25, seed=1, nodes=('dynamics', 'servo_drives'))
    assert not findings, (findings, notes)
    assert any(name.startswith('file') for name in counts) and counts.total() > 200
