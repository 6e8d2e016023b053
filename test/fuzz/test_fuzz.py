# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The short form of `make fuzz`, with a fixed seed; FUZZ=1 adds nodes."""

import os

import numpy as np
import pytest

from fuzz.__main__ import fuzz
from fuzz.files import Files
from fuzz.nasty import Nasty


def test_content_is_the_same_for_a_seed():
    geometry = pytest.importorskip('geometry_msgs.msg', reason='ROS messages are not installed')
    messages = [
        [Nasty(np.random.default_rng(3), ['x']).message(geometry.WrenchStamped) for _ in range(5)]
        for _ in range(2)
    ]
    assert repr(messages[0]) == repr(messages[1])


def test_files_that_are_nearly_right_are_read_or_refused(tmp_path):
    reader = Files(Nasty(np.random.default_rng(1), ['x']), tmp_path)
    found = [reader.one(name) for name in reader.kinds for _ in range(4)]
    assert not [finding for finding in found if finding[1]]


@pytest.mark.skipif(not os.environ.get('FUZZ'), reason='takes the computer for itself: FUZZ=1')
def test_nodes_survive_some_seconds(ros_domain):
    counts, findings, notes = fuzz(0.25, seed=1, nodes=('dynamics', 'servo_drives'))
    assert not findings, (findings, notes)
    assert any(name.startswith('file') for name in counts) and counts.total() > 200
