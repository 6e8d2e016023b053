# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Keys in the manifests exist for `rosdep install` in Ubuntu 24.04 and ROS 2 Jazzy.

The two lists were checked against rosdistro's rosdep/base.yaml, rosdep/python.yaml and
jazzy/distribution.yaml of August 2026. A new key in a manifest must be looked up there and
added here. Keys that Ubuntu 24.04 would install with pip, which refuses there, are in neither list.
"""

import pathlib
import re
from xml.etree import ElementTree

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[1]
OWN = {'masticator_dynamics', 'masticator_interfaces', 'masticator_control'}
MANIFESTS = tuple(
    f'{folder}package.xml' for folder in ('', 'masticator_interfaces/', 'masticator_control/')
)

# Debian packages of Ubuntu 24.04, in every installation of rosdep.
UBUNTU = {
    'eigen', 'python3-can', 'python3-click', 'python3-hypothesis', 'python3-jsonschema',
    'python3-matplotlib', 'python3-msgpack', 'python3-numba', 'python3-numpy',
    'python3-platformdirs', 'python3-pydantic', 'python3-pytest', 'python3-pytest-timeout',
    'python3-scipy', 'python3-yaml',
}  # fmt: skip
# Released into ROS 2 Jazzy.
JAZZY = {
    'ament_cmake', 'ament_index_cpp', 'builtin_interfaces', 'control_msgs', 'controller_interface',
    'controller_manager', 'controller_manager_msgs', 'diagnostic_msgs', 'diagnostic_updater',
    'effort_controllers', 'generate_parameter_library', 'geometry_msgs', 'hardware_interface',
    'inverse_dynamics_solver', 'joint_state_broadcaster', 'joint_state_publisher_gui',
    'joint_state_topic_hardware_interface', 'joint_trajectory_controller', 'launch', 'launch_ros',
    'lifecycle_msgs', 'pinocchio', 'pluginlib', 'rclcpp', 'rclcpp_lifecycle', 'rclpy',
    'realtime_tools', 'robot_state_publisher', 'ros2controlcli',
    'ros2launch', 'rosbag2', 'rosidl_default_generators', 'rosidl_default_runtime',
    'rqt_plot', 'rviz2', 'sensor_msgs', 'std_msgs', 'std_srvs', 'trajectory_msgs',
    'visualization_msgs', 'xacro',
}  # fmt: skip


def keys(manifest):
    root = ElementTree.parse(ROOT / manifest).getroot()
    return {element.text for element in root if element.tag.endswith('depend')}


@pytest.mark.parametrize('manifest', MANIFESTS)
def test_every_key_resolves_on_ubuntu(manifest):
    assert keys(manifest) - OWN - UBUNTU - JAZZY == set()


def test_the_lists_hold_no_key_that_nothing_needs():
    """Otherwise outdated keys would stay unnoticed."""
    needed = set().union(*map(keys, MANIFESTS))
    assert (UBUNTU | JAZZY) - needed == set()


def test_no_key_is_named_twice():
    for manifest in MANIFESTS:
        elements = ElementTree.parse(ROOT / manifest).getroot()
        named = [e.text for e in elements if e.tag in ('depend', 'exec_depend', 'test_depend')]
        assert len(named) == len(set(named))


def test_citation_and_changelog_are_of_the_version_of_the_manifest():
    version = ElementTree.parse(ROOT / 'package.xml').getroot().findtext('version')
    citation = yaml.safe_load((ROOT / 'CITATION.cff').read_text(encoding='utf-8'))
    changes = (ROOT / 'CHANGELOG.md').read_text(encoding='utf-8')
    released = re.findall(r'^## \[(\d[^\]]*)\] - (\S+)$', changes, re.MULTILINE)
    assert citation['version'] == version
    assert (version, str(citation['date-released'])) == released[0]
