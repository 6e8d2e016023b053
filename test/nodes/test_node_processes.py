# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint state nodes as processes: life cycle, unusable parameters, Ctrl-C at any moment."""

import importlib.util
import pathlib
import re
import signal
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState
from processes import ROOT, START, Process, wait_for
from std_msgs.msg import Float64MultiArray

from nodes.harness import NodeProcess, Peer, Sender

pytestmark = pytest.mark.waiting

CRANKS = [f'crank_{k}' for k in range(1, 7)]


def test_life_cycle_without_autostart(ros_domain):
    process = NodeProcess('inertia_coupling', wait=False, autostart=False, namespace='managed')
    answers = (Float64MultiArray, 'inertia_coupling/mci')
    client = Peer('inertia_coupling', 'managed')
    try:
        assert client.state() == State.PRIMARY_STATE_UNCONFIGURED
        client.change(Transition.TRANSITION_CONFIGURE)
        sender = Sender('inertia_coupling', 'joint_states', answers, 'managed')
        try:
            assert sender.status('joint_states')[1] == 'not active'
            for _ in range(5):
                sender.send(CRANKS, [0.0] * 6)
            client.change(Transition.TRANSITION_ACTIVATE)
            time.sleep(0.3)
            assert not sender.answers  # what came before is out of date
            sender.ask(CRANKS, [0.0] * 6)
            client.change(Transition.TRANSITION_DEACTIVATE)
            sender.send(CRANKS, [0.0] * 6)
            time.sleep(0.3)
            assert len(sender.answers) == 1
            client.change(Transition.TRANSITION_ACTIVATE)
            sender.ask(CRANKS, [0.0] * 6)
            client.change(Transition.TRANSITION_DEACTIVATE)
            client.change(Transition.TRANSITION_CLEANUP)
            assert client.state() == State.PRIMARY_STATE_UNCONFIGURED
        finally:
            sender.close()
        assert process.end(signal.SIGTERM) == 0
    finally:
        client.close()
        process.end()
    assert not process.log('Traceback')


REFUSED = {
    'same topics': ('joint_state_completion', {}, 'are both /joint_states'),
    'order': ('inertia_coupling', {'warn_above': 2.0}, 'warn_above 2 is above error_above'),
    'frame': ('frame_path', {'frame': 'tail'}, "no frame 'tail'"),
}


def test_transitions_that_there_are_not_fill_no_log(ros_domain):
    """The ROS client library logs a line for each; the node itself throttles its own."""
    process = NodeProcess('inertia_coupling', namespace='asked')
    client = Peer('inertia_coupling', 'asked')
    try:
        service = client.node.create_client(ChangeState, 'inertia_coupling/change_state')
        assert service.wait_for_service(START)
        for number in range(100, 140):
            service.call_async(ChangeState.Request(transition=Transition(id=number)))
            time.sleep(0.01)
        process.wait_for_line('inertia_coupling/change_state: InputError')
        client.state()  # answered after those before it
        assert len(process.log('ransition')) < 10, process.lines
    finally:
        client.close()
        assert process.end() == 0


def test_unusable_parameters_end_the_node_with_one_line(ros_domain):
    remap = [('joint_states_in', '/joint_states'), ('joint_states', '/joint_states')]
    started = {
        case: NodeProcess(name, wait=False, namespace='refused', remap=remap, **given)
        for case, (name, given, _) in REFUSED.items()
    }
    for case, process in started.items():
        code = process.process.wait(START)
        process.end()
        assert code == 1, case
        lines = [line for line in process.lines if 'loading mechanism' not in line]
        assert len(lines) == 1 and REFUSED[case][2] in lines[0], lines


def holds_back_interrupts(process: Process) -> bool:
    """Whether SIGINT is blocked or caught; a busy computer may need longer for that than a user."""
    folder = pathlib.Path(f'/proc/{process.pid}')
    if b'ros.executable' not in (folder / 'cmdline').read_bytes():
        return False  # the shell, which holds signals back for moments of its own
    status = (folder / 'status').read_text(encoding='utf-8')
    masks = re.findall(r'^Sig(?:Blk|Cgt):\s*(\w+)', status, re.MULTILINE)
    return any(int(mask, 16) >> (signal.SIGINT - 1) & 1 for mask in masks)


def test_ctrl_c_while_python_starts_is_no_stack_trace(ros_domain):
    """All executables at the same time, at different moments of the first second."""
    scripts = sorted((ROOT / 'scripts').iterdir())
    if importlib.util.find_spec('rqt_plot') is None:  # it ends by itself, early or late
        scripts = [script for script in scripts if script.name != 'plot_topics']
    delays = np.linspace(0.05, 0.6, len(scripts))
    command = ['-p', 'autostart:=false', '-r', '__ns:=/hasty']
    folder = ROOT / '.venv/lib/masticator_dynamics'
    folder = folder if folder.is_dir() else ROOT / 'scripts'
    started = []
    try:
        for script in scripts:
            started.append(Process(folder / script.name, '--ros-args', *command))
        for process in started:
            wait_for(lambda p=process: holds_back_interrupts(p), 'signals held back', START)
        begin = time.monotonic()
        for process, delay in zip(started, delays, strict=True):
            time.sleep(max(begin + delay - time.monotonic(), 0.0))
            process.process.send_signal(signal.SIGINT)
        for script, process in zip(scripts, started, strict=True):
            # Launch files start what comes next when what they wait for has come: not now.
            code = 0 if script.name.endswith('_node') else 1
            assert (process.wait(START), process.text) == (code, ''), script
    finally:
        for process in started:
            process.kill()
