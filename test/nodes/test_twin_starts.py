# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""twin.launch.py at its default rate: all start, Ctrl-C ends all in time, nothing remains.

All processes of this package run unchanged. ros2_control and robot_state_publisher, which PyPI
does not have, have stand-ins: that of the controller manager republishes the drives' measurements,
like its broadcaster, and sends no commands. ``STARTS=20`` runs it twenty times.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('can', reason='python-can is not installed')

from processes import PYTHON, ROOT, START, Process, needs_multicast

from nodes.harness import READY
from nodes.launch_files import launch_file, needs_launch

pytestmark = pytest.mark.clock

STARTS = int(os.environ.get('STARTS', '2'))
ENDED = 5.0  # s; launch kills later
# How a process that is up says so; the last comes when the drives are enabled and measured.
UP = (
    *(READY[node] for node in ('dynamics', 'joint_state_completion', 'servo_drives', 'twin')),
    'auto_enable: the loops close',
    'all joints have measured positions',
    'spawned joint_trajectory_controller',
)
NOT_RIGHT = ('Traceback', 'has died', 'did not answer', 'may still give torque')
LAUNCH = """
import sys
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch import LaunchDescription, LaunchService
source = PythonLaunchDescriptionSource(sys.argv[1])
arguments = {'gui': 'false'}.items()
service = LaunchService()
service.include_launch_description(
    LaunchDescription([IncludeLaunchDescription(source, launch_arguments=arguments)])
)
sys.exit(service.run())
"""
WAITS = """
import signal, sys
signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
signal.pause()
"""
BROADCASTS = """
import signal
import rclpy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
ended = []
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: ended.append(1))
rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
node = rclpy.create_node('controller_manager')
out = node.create_publisher(JointState, 'joint_state_broadcaster/joint_states', 10)
node.create_subscription(JointState, 'servo_drives/state', out.publish, 10)
while not ended:
    rclpy.spin_once(node, timeout_sec=0.1)
"""
SPAWNS = """
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)  # it has done its work, and is about to end
print('spawned', sys.argv[1], flush=True)
"""
STAND_INS = {
    'controller_manager/ros2_control_node': BROADCASTS,
    'controller_manager/spawner': SPAWNS,
    'robot_state_publisher/robot_state_publisher': WAITS,
}
PLUGINS = (
    'joint_state_broadcaster', 'joint_trajectory_controller',
    'joint_state_topic_hardware_interface',
)  # fmt: skip


def install_stand_ins(prefix):
    """Make an ament prefix with these packages."""
    index = prefix / 'share/ament_index/resource_index/packages'
    index.mkdir(parents=True)
    for name, program in STAND_INS.items():
        file = prefix / 'lib' / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'#!{sys.executable}\n{program}')
        file.chmod(0o755)
        (index / file.parent.name).touch()
    for plugin in PLUGINS:
        (index / plugin).touch()


def of_session(leader):
    """Running processes of a session, with their command lines."""
    found = {}
    for folder in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            state, _, _, session = (folder / 'stat').read_text().rpartition(')')[2].split()[:4]
            if int(session) == leader and state != 'Z':
                found[int(folder.name)] = (folder / 'cmdline').read_text().replace('\0', ' ')
        except (OSError, ValueError):  # it has just ended
            continue
    return found


def start_and_end(environment):
    """Start, and end by Ctrl-C; returns seconds until all have ended, and the output."""
    command = *PYTHON, '-c', LAUNCH, launch_file('twin')
    launched = Process(*command, env=environment, start_new_session=True)
    try:
        for text in UP:
            launched.wait_for_line(text, START)
        names = ' '.join(of_session(launched.pid).values())
        begin = time.monotonic()
        os.killpg(launched.pid, signal.SIGINT)  # as a terminal does: to launch and to all
        try:
            launched.wait(4.0 * ENDED)
        except subprocess.TimeoutExpired:
            launched.end(signal.SIGABRT)  # it prints where its threads are
            raise AssertionError(launched.text) from None
        seconds = time.monotonic() - begin
        assert all(f'{node}_node' in names for node in ('dynamics', 'servo_drives', 'twin'))
        return seconds, launched.text
    finally:
        left = of_session(launched.pid)
        for process in left:
            os.kill(process, signal.SIGKILL)
        launched.kill()
        assert not left, left


@needs_launch
@needs_multicast
@pytest.mark.timeout(START + 120 * STARTS)
def test_all_come_up_and_all_end_and_none_is_left(ros_domain, tmp_path):
    if not (ROOT / '.venv/lib/masticator_dynamics').is_dir() and not os.environ.get(
        'AMENT_PREFIX_PATH'
    ):
        pytest.skip('this package is not installed as ROS finds it')
    install_stand_ins(tmp_path / 'prefix')
    prefixes = (str(tmp_path / 'prefix'), str(ROOT / '.venv'), os.environ.get('AMENT_PREFIX_PATH'))
    environment = os.environ | {
        'AMENT_PREFIX_PATH': ':'.join(filter(None, prefixes)),
        'ROS_LOG_DIR': str(tmp_path / 'log'),
        'PYTHONUNBUFFERED': '1',
        'PYTHONFAULTHANDLER': '1',
    }
    taken = []
    for _ in range(STARTS):
        seconds, printed = start_and_end(environment)
        taken.append(seconds)
        wrong = [line for line in printed.splitlines() if any(text in line for text in NOT_RIGHT)]
        assert not wrong, printed
    print(f'END after Ctrl-C, s: {", ".join(f"{seconds:.2f}" for seconds in taken)}')
    assert max(taken) < ENDED
