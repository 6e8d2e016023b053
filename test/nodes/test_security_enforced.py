# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Under SROS 2 with strategy Enforce, nobody without keys can enable or free the robot.

Needs Fast DDS built with security, and `ros2 security` to make the keys: Ubuntu's ROS 2
Jazzy has both, PyPI's wheels neither.
"""

import os
import shutil
import subprocess

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('can', reason='python-can is not installed')

from processes import PYTHON, ROOT, SimulatedDrives, completed, needs_multicast

from masticator_dynamics.files.share import share_directory
from nodes.drives_harness import POWERED, BusTrace, write_drives
from nodes.harness import NodeProcess
from tools.security_policy import ENCLAVES, FILE

pytestmark = [
    pytest.mark.waiting,
    needs_multicast,
]
TRIES = 1000


def secured(keystore, enclave):
    """Environment of a participant with the keys of an enclave."""
    return {
        'ROS_SECURITY_KEYSTORE': str(keystore),
        'ROS_SECURITY_ENABLE': 'true',
        'ROS_SECURITY_STRATEGY': 'Enforce',
        'ROS_SECURITY_ENCLAVE_OVERRIDE': f'{ENCLAVES}/{enclave}',
    }


def asked(count, environment):
    """Number of answers that a process with this environment got to a number of requests."""
    done = completed(
        *PYTHON,
        '-m',
        'nodes.stranger',
        count,
        cwd=ROOT / 'test',
        env=os.environ | environment,
        check=True,
    )
    return int(done.stdout)


@pytest.fixture(name='keystore')
def fixture_keystore(ros_domain, tmp_path):
    """Keys for all enclaves of the shipped policy; skips if something is missing, and says what."""
    start = 'import rclpy; rclpy.init(); rclpy.create_node("probe")'
    folder = tmp_path / 'keystore'
    (folder / 'enclaves' / ENCLAVES.strip('/') / 'operator').mkdir(parents=True)
    probe = completed(*PYTHON, '-c', start, env=os.environ | secured(folder, 'operator'))
    assert probe.returncode, 'a participant without keys was let in by strategy Enforce'
    if 'security libraries' in probe.stderr:
        pytest.skip('this Fast DDS was built without security')
    if not shutil.which('ros2'):
        pytest.skip('there is no `ros2 security` to make keys with')
    shutil.rmtree(folder)
    policy = str(share_directory() / FILE)
    for command in (
        ['create_keystore', folder],
        ['generate_artifacts', '-k', folder, '-p', policy],
    ):
        subprocess.run(['ros2', 'security', *map(str, command)], check=True)
    return folder


@pytest.mark.timeout(1200)
def test_who_has_no_keys_cannot_enable_or_free_the_robot(keystore, tmp_path, monkeypatch):
    file = write_drives(tmp_path, absolute=True)
    simulator, trace = SimulatedDrives(file), BusTrace(file)
    with monkeypatch.context() as patch:
        for name, value in secured(keystore, 'servo_drives').items():
            patch.setenv(name, value)
        node = NodeProcess('servo_drives', drives=file)
    try:
        assert asked(TRIES, {}) == 0
        assert not [
            (number, state)
            for number in range(1, 7)
            for _, state in trace.states(0.0, number)
            if state in POWERED
        ]
        assert asked(1, secured(keystore, 'operator')) == 1  # who has them can
    finally:
        assert node.end() == 0
        trace.close()
        simulator.end()
