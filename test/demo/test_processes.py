# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Child processes end with the demo, however it ends."""

import contextlib
import os
import signal
import sys
import time

import pytest
from processes import PYTHON, Process, runs, wait_for

from masticator_dynamics.robot.recording import nodes
from masticator_dynamics.robot.recording.processes import (
    Child,
    RunError,
    ros_environment,
    stopped_at_the_end,
)

pytestmark = pytest.mark.waiting

STUBBORN = 'import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(600)'


def test_a_record_that_cannot_be_written_is_a_failure_in_one_sentence(tmp_path) -> None:
    play = pytest.importorskip('masticator_dynamics.robot.recording.play')
    report = play._written(tmp_path / 'none' / 'run.mcap', {}, [], {})
    reason = 'run.mcap cannot be written: No such file or directory'
    assert report == {'phase': 'failed', 'reason': reason}
    assert play._written(tmp_path / 'run.mcap', {}, [], {}) == {'phase': 'recorded'}


def test_children_are_stopped_after_an_error(tmp_path):
    child = Child('sleeper', ['-c', STUBBORN], dict(os.environ), tmp_path / 'log')
    with pytest.raises(KeyboardInterrupt), stopped_at_the_end([child]):
        raise KeyboardInterrupt
    assert child.process.returncode is not None
    assert not runs(child.process.pid)


def test_early_end_shows_the_log(tmp_path):
    code = 'import sys; print("on stdout"); sys.exit("no such mechanism")'
    child = Child('node', ['-c', code], dict(os.environ), tmp_path / 'log')
    child.process.wait(60.0)
    with pytest.raises(RunError, match='node ended with exit code 1') as failure:
        child.check_alive()
    assert 'no such mechanism' in str(failure.value)
    assert 'on stdout' in str(failure.value)


@pytest.mark.skipif(sys.platform != 'linux', reason='what /proc tells')
@pytest.mark.parametrize('frozen', ['node', 'player'])
def test_a_frozen_child_ends_the_run(tmp_path, frozen):
    """Not only when the motion would have been over."""
    with running(tmp_path, 'print(\'{"phase": "playing", "time": 0.0}\', flush=True)') as children:
        children[frozen].process.send_signal(signal.SIGSTOP)
        begin = time.monotonic()
        with pytest.raises(RunError, match=f'the {frozen} was frozen'):
            nodes.supervise([children['node']], children['player'], 600.0, Quiet())
        assert time.monotonic() - begin < 20.0


def test_a_player_that_hangs_ends_the_run(tmp_path, monkeypatch):
    monkeypatch.setitem(nodes._PATIENCE, 'playing', 2.0)
    with running(tmp_path, 'print(\'{"phase": "playing", "time": 0.0}\', flush=True)') as children:
        begin = time.monotonic()
        with pytest.raises(RunError, match='the player has stood still while playing'):
            nodes.supervise([children['node']], children['player'], 600.0, Quiet())
        assert time.monotonic() - begin < 60.0


def test_a_player_that_goes_on_is_waited_for(tmp_path, monkeypatch):
    """As long as it takes: a report in time is enough."""
    monkeypatch.setitem(nodes._PATIENCE, 'playing', 2.0)
    code = (
        'import time\n'
        'for k in range(40):\n'
        '    print(\'{"phase": "playing", "time": %d}\' % k, flush=True); time.sleep(0.1)\n'
        'print(\'{"phase": "recorded"}\', flush=True)'
    )
    with running(tmp_path, code) as children:
        nodes.supervise([children['node']], children['player'], 1.0, Quiet())


class Quiet:
    """Progress that nobody looks at."""

    def stage(self, title):
        pass

    def motion(self, now, duration):
        pass


@contextlib.contextmanager
def running(folder, code):
    """A node that sleeps, and a player that runs some code and then sleeps."""
    environment, sleep = dict(os.environ), 'import time; time.sleep(600)'
    children = {
        'node': Child('node', ['-c', sleep], environment, folder / 'node'),
        'player': Child(
            'player', ['-c', f'{code}\n{sleep}'], environment, folder / 'player', reports=True
        ),
    }
    with stopped_at_the_end(list(children.values())):
        yield children


def test_environment_is_own_and_local(tmp_path, monkeypatch):
    monkeypatch.setenv('_ROS_WHEELS_BOOTSTRAP_COMPLETE', '1')
    environment = ros_environment(tmp_path)
    assert environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'
    assert 1 <= int(environment['ROS_DOMAIN_ID']) <= 101
    assert '_ROS_WHEELS_BOOTSTRAP_COMPLETE' not in environment


@pytest.mark.skipif(sys.platform != 'linux', reason='only Linux ends children of a killed parent')
@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGKILL])
def test_no_child_survives_a_killed_parent(tmp_path, number):
    parent = (
        'import os, pathlib, sys, time\n'
        'from masticator_dynamics.robot.recording.processes import Child, stopped_at_the_end\n'
        f'log = pathlib.Path({str(tmp_path / "log")!r})\n'
        "child = Child('sleeper', ['-c', 'import time; time.sleep(600)'], dict(os.environ), log)\n"
        'with stopped_at_the_end([child]):\n'
        '    print(child.process.pid, flush=True)\n'
        '    time.sleep(600)\n'
    )
    with Process(*PYTHON, '-c', parent) as process:
        wait_for(lambda: process.lines, 'the number of the child')
        pid = int(process.lines[0])
        assert runs(pid)
        process.process.send_signal(number)
        process.wait(60.0)
        wait_for(lambda: not runs(pid), 'the end of the child')


def test_a_process_that_does_not_end_is_named(tmp_path) -> None:
    words = ['-c', 'import time; print("busy", flush=True); time.sleep(100.0)']
    child = Child('experiment', words, dict(os.environ), tmp_path / 'log')
    try:
        child.wait_until_logged('busy')
        with pytest.raises(RunError, match=r'(?s)^the experiment has not ended after 0.1 s.*busy'):
            child.wait_until_ended(0.1)
    finally:
        child.stop()
