# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""check-robot: what a computer lacks is named with a remedy, and so is a missing canopen."""

import pathlib
import subprocess
import sys

import pytest
from click.testing import CliRunner

from masticator_dynamics.cli import main
from masticator_dynamics.commands import check_robot as module
from masticator_dynamics.robot.recording.nodes import on_simulated_bus

WITHOUT_CANOPEN = "import sys; sys.modules['canopen'] = None\n"


def run(*arguments):
    return CliRunner().invoke(module.check_robot, ['--no-listen', *map(str, arguments)])


def to_do(output):
    """Remedies listed at the end of the output, by subject."""
    rows = output.partition('To do\n')[2].splitlines()
    return {row.split(':')[0].strip(): row.split(':', 1)[1].strip() for row in rows}


def test_a_device_that_is_not_there_is_told_with_its_remedy():
    answer = run()
    assert answer.exit_code == 1
    assert to_do(answer.output)['CAN device'].endswith(
        'sudo ip link set can0 up type can bitrate 1000000'
    )
    assert 'TO DO  CAN device' in answer.output and 'there is no can0' in answer.output


def test_a_simulated_bus_needs_no_device(tmp_path: pathlib.Path):
    file = tmp_path / 'drives.yaml'
    file.write_text(on_simulated_bus('drives.yaml', 45678))
    answer = run('--drives', file)
    assert 'CAN device' not in answer.output and 'udp_multicast: no device' in answer.output
    assert answer.exit_code == (1 if to_do(answer.output) else 0)


def test_a_profile_that_is_not_there_is_told(monkeypatch, tmp_path: pathlib.Path):
    monkeypatch.setenv('FASTRTPS_DEFAULT_PROFILES_FILE', str(tmp_path / 'none.xml'))
    assert 'not there' in to_do(run().output)['profile']
    (tmp_path / 'none.xml').touch()
    assert 'profile' not in to_do(run().output)


def test_sockets_that_hold_no_long_trajectory_are_told(monkeypatch, tmp_path: pathlib.Path):
    file = tmp_path / 'rmem_max'
    monkeypatch.setattr(module, '_LARGEST_BUFFER', str(file))
    for size, least in (('212992', True), ('4194304', False), ('', False)):
        file.write_text(f'{size}\n')
        remedy = to_do(run().output).get('receive buffers', '')
        assert remedy.endswith('sudo sysctl net.core.rmem_max=4194304') == least


def test_nodes_that_run_twice_are_told():
    rclpy = pytest.importorskip('rclpy', reason='rclpy is not installed')
    patch = pytest.MonkeyPatch()
    patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    patch.setenv('ROS_DOMAIN_ID', '99')
    context = rclpy.context.Context()
    rclpy.init(context=context)
    made = [rclpy.create_node(name, context=context) for name in ('left', 'twin', 'twin')]
    try:
        (finding,) = module.nodes()
        assert finding.status == 'twice: /twin' and 'ROS_DOMAIN_ID' in finding.remedy
        made.pop().destroy_node()
        (finding,) = module.nodes()
        assert finding.status.endswith('none twice') and not finding.remedy
    finally:
        for node in made:
            node.destroy_node()
        rclpy.shutdown(context=context)
        patch.undo()


@pytest.mark.parametrize(
    'program',
    [
        "from masticator_dynamics.cli import main; sys.exit(main(['check-drives']))",
        'from masticator_dynamics.ros.servo_drives_node import create; create(None, None)',
    ],
)
def test_without_canopen_there_is_a_sentence(program):
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    command = [sys.executable, '-c', WITHOUT_CANOPEN + program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert "the Python package canopen, which is not installed: pip install '.[drives]'" in last
    assert "or pip install 'canopen" in last


def test_a_mistake_of_ours_is_no_missing_package():
    assert main(['check-drives', '--mechanism', 'nowhere']) == 2
