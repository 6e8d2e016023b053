# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What launch files start ends with them, however they end; here without ROS's launch."""

import os
import shlex
import shutil
import signal
import subprocess
import textwrap

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from processes import PYTHON, START, Process, runs, wait_for

from masticator_dynamics.ros.ending_with_parent import ending_with_parent

pytestmark = [
    pytest.mark.waiting,
    pytest.mark.skipif(not shutil.which('setpriv'), reason='util-linux is missing'),
]

PARENT = """
    import subprocess, sys
    sys.exit(subprocess.Popen(sys.argv[1:]).wait())
"""
# A window with Qt, as joint_state_publisher_gui: SIGTERM ends what it has of ROS, not its own loop.
WINDOW = """
    import os, signal, threading, time
    import rclpy
    rclpy.init()
    node = rclpy.create_node('window')
    threading.Thread(target=rclpy.spin, args=(node,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    print(os.getpid(), flush=True)
    while True:
        time.sleep(0.01)
"""
IN_ORDER = """
    import os, signal, sys
    def end(*_):
        open(sys.argv[1], 'x').close()
        os._exit(0)
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print(os.getpid(), flush=True)
    while True:
        signal.pause()
"""


def started(program, *arguments, at_once):
    """A process with a child, and the child's number once it is there."""
    prefix = shlex.split(ending_with_parent(at_once=at_once))
    child = *prefix, *PYTHON, '-c', textwrap.dedent(program), *arguments
    options = {'stderr': subprocess.DEVNULL, 'start_new_session': True}
    parent = Process(*PYTHON, '-c', textwrap.dedent(PARENT), *child, **options)
    wait_for(lambda: parent.lines, 'the number of the child')
    return parent, int(parent.lines[0])


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGQUIT])
def test_a_window_that_does_not_hear_sigterm_ends_with_its_parent(ros_domain, number):
    parent, child = started(WINDOW, at_once=True)
    try:
        assert runs(child)
        parent.process.send_signal(number)
        parent.process.wait(START)
        wait_for(lambda: not runs(child), 'the end of the window')
    finally:
        parent.process.kill()
        if runs(child):
            os.kill(child, signal.SIGKILL)
        parent.kill()


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGKILL])
def test_others_end_in_order(tmp_path, number):
    file = tmp_path / 'ended_in_order'
    parent, child = started(IN_ORDER, file, at_once=False)
    try:
        parent.process.send_signal(number)
        parent.process.wait(START)
        wait_for(lambda: not runs(child), 'the end of the program')
        assert file.exists()
    finally:
        parent.process.kill()
        if runs(child):
            os.kill(child, signal.SIGKILL)
        parent.kill()
