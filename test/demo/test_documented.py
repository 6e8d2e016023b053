# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Documented commands that talk to other processes: demos over ROS 2, servers, simulated drives."""

import contextlib
import importlib.util
import os
import pathlib
import re
import signal
import socket
import sys
import urllib.request
from collections.abc import Iterator

import numpy as np
import pages
import pytest
import samples
from processes import PROGRAM, PYTHON, Process, completed, free_port, has_multicast

from masticator_dynamics import Mechanism
from masticator_dynamics.cli import main
from masticator_dynamics.robot import demo
from masticator_dynamics.robot.recording.nodes import ClosedLoop

pytestmark = pytest.mark.waiting

LINES = [line for line in pages.documented() if pages.waits(line)]
CHEWED, CLOSED = 'masticator demo --incisor recorded.csv', 'masticator demo --closed-loop'
OUTPUT = pathlib.Path('masticator_demo')
PATIENCE = 240  # s
READY = 'ankle: efforts of motor_left, motor_right at 500 Hz'
# A domain that no other process of this test run takes.
DOMAIN = {'ROS_DOMAIN_ID': str(1 + os.getpid() % 101)}
PACKAGES = {'demo': tuple(demo.PACKAGES.values()),
            'view': (('viser',),), 'simulate-drives': (('can', 'canopen', 'msgpack'),)}  # fmt: skip


@pytest.fixture
def stocked(tmp_path, monkeypatch) -> pathlib.Path:
    pages.stock(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def skip_without(kind: str) -> None:
    names = {name for group in PACKAGES[kind] for name in group}
    missing = sorted(name for name in names if importlib.util.find_spec(name) is None)
    if missing or (kind != 'view' and not has_multicast()):
        pytest.skip(f'not installed: {", ".join(missing)}' if missing else 'no multicast route')


@pytest.mark.parametrize(
    ('line', 'function', 'words', 'options'),
    [
        (CHEWED, 'run_demo', (OUTPUT, pathlib.Path('recorded.csv'), 'masticator'), {}),
        (CLOSED, 'run_closed_loop', (OUTPUT, None), {'loop': ClosedLoop()}),
    ],
)
def test_the_documented_demos_are_those_that_other_tests_run(
    stocked, monkeypatch, line, function, words, options
) -> None:
    """Not chewed a second time: test_run.py and test_closed_loop.py do that, and judge it."""
    assert line in LINES
    asked = []
    monkeypatch.setattr(demo, function, lambda *given, **more: asked.append((given, more)) or 0)
    assert main(line.split()[1:]) == 0
    assert asked == [(words, options)]


@contextlib.contextmanager
def node_of(mechanism: pathlib.Path) -> Iterator[None]:
    """The node as the tutorial runs it without ROS 2, active; it must end well when interrupted."""
    text = next(text for _, text in pages.blocks(pages.TUTORIAL) if text.startswith('.venv/'))
    node, *words = text.strip().replace('$PWD/ankle.yaml', str(mechanism)).split()
    node = pathlib.Path(sys.prefix, node.removeprefix('.venv/'))
    if not node.exists():
        pytest.skip('make setup installs the nodes; pip does not')
    with Process(node, *words, env=os.environ | DOMAIN) as process:
        process.wait_for_line(READY, PATIENCE)
        yield
        assert process.end() == 0, process.text


@pytest.fixture
def ankle(tmp_path) -> pathlib.Path:
    """The tutorial's mechanism."""
    skip_without('demo')
    for kind, text in pages.blocks(pages.TUTORIAL):
        if kind in ('xml', 'yaml'):
            (tmp_path / f'ankle.{"urdf.xacro" if kind == "xml" else kind}').write_text(text)
    return tmp_path / 'ankle.yaml'


def test_the_node_of_the_tutorial_tells_its_planner_the_torques(ankle) -> None:
    """Against the torques of the page's last pose in Python, and the page's own output."""
    blocks = [text for _, text in pages.blocks(pages.TUTORIAL)]
    planner = next(text for text in blocks if 'import rclpy' in text)
    with node_of(ankle):
        run = completed(*PYTHON, '-c', planner, env=os.environ | DOMAIN)
    assert run.returncode == 0 and run.stdout in blocks, run.stderr + run.stdout
    held = Mechanism.load(ankle).feedforward([0.2, 0.1])
    printed = [float(line.split()[1]) for line in run.stdout.splitlines()]
    assert np.abs(printed - held.actuated).max() < 1e-4


def test_the_planner_of_the_jaw_says_that_it_is_not_for_the_ankle(ankle) -> None:
    planner = samples.ROOT / 'examples' / 'chewing_planner.py'
    with node_of(ankle), Process(*PYTHON, planner, env=os.environ | DOMAIN) as process:
        process.wait_for_line('the stroke was refused: ', PATIENCE)
    assert "unknown joint 'x'; there are independent (pitch, roll)" in process.text


@pytest.mark.parametrize('line', [line for line in LINES if line not in (CHEWED, CLOSED)])
def test_a_documented_command_runs_until_it_is_interrupted(line, stocked) -> None:
    kind = line.split()[1]
    skip_without(kind)
    port = ['--port', str(free_port(socket.SOCK_STREAM))] if kind == 'view' else []
    with Process(
        *PROGRAM, *line.split()[1:], *port, cwd=None,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:  # fmt: skip
        if kind == 'view':
            (first, *_) = process.wait_for_line('(Ctrl-C ends)', PATIENCE)
            address = re.match(r'(http://\S+) \(Ctrl-C ends\)', first)
            with urllib.request.urlopen(address[1], timeout=PATIENCE) as page:
                assert b'<html' in page.read()
        else:
            process.wait_for_line('ready: 6 drives', PATIENCE)
        assert process.end(signal.SIGINT, PATIENCE) in (0, 130)
    assert not process.log('Traceback'), process.text
