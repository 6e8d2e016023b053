# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""plot_topics: what rqt_plot looks for at once is there before it begins."""

import os
import pathlib
import signal
import sys
import time

import pytest
from processes import Process

pytest.importorskip('rclpy')

import rclpy
from std_msgs.msg import Float64

pytestmark = pytest.mark.waiting

# Stands where rqt_plot stands: looks as rqt_plot does, once, with a node of its own.
LOOKS_ONCE = """
import sys
import rclpy
def main():
    assert rclpy.ok()
    node = rclpy.create_node('looks_once')
    names = [name for name, _ in node.get_topic_names_and_types()]
    print('seen', *(any(w.startswith(f'{n}/') for n in names) for w in sys.argv[1:3]), flush=True)
"""


@pytest.fixture
def plotted(ros_domain, tmp_path):
    """Starts plot_topics with some topics."""
    (tmp_path / 'rqt_plot').mkdir()
    (tmp_path / 'rqt_plot/__init__.py').touch()
    (tmp_path / 'rqt_plot/main.py').write_text(LOOKS_ONCE)
    path = os.pathsep.join([str(tmp_path), os.environ.get('PYTHONPATH', '')])
    executable = pathlib.Path(sys.prefix, 'lib/masticator_dynamics/plot_topics')
    started = []

    def start(*words):
        command = executable, *words, '--ros-args', '-r', '__ns:=/left'
        started.append(Process(*command, env=os.environ | {'PYTHONPATH': path}))
        return started[-1]

    yield start
    for process in started:
        process.kill()


@pytest.fixture
def node(ros_domain):
    context = rclpy.Context()
    rclpy.init(context=context)
    yield rclpy.create_node('late', context=context)
    rclpy.shutdown(context=context)


def test_rqt_plot_begins_when_every_topic_is_published_and_sees_it_at_its_first_look(node, plotted):
    process = plotted('/left/a/data', '/left/b/data[0]')
    node.create_publisher(Float64, '/left/a', 1)
    # A subscriber makes no topic of what nobody publishes.
    node.create_subscription(Float64, '/left/b', lambda _: None, 1)
    time.sleep(8.0)
    assert process.runs() and not process.log('seen'), process.text
    node.create_publisher(Float64, '/left/b', 1)
    assert process.wait(30.0) == 0 and process.log('seen True True'), process.text


def test_missing_topics_are_named_and_a_signal_ends_the_wait(node, plotted):
    process = plotted('/left/a/data')
    process.wait_for_line('nobody publishes /left/a/data')
    process.end(signal.SIGTERM)
    assert not process.log('Traceback')
