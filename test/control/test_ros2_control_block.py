# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The <ros2_control> block of a URDF: joints, interfaces, limits, hardware; none by default."""

from __future__ import annotations

import pathlib
from xml.etree import ElementTree

import pytest
import samples

from masticator_dynamics import Mechanism
from masticator_dynamics.analysis.load_inertia.storage import fingerprint
from masticator_dynamics.description import load_description, shipped_mechanisms
from masticator_dynamics.errors import DescriptionError, InputError
from masticator_dynamics.ros.ros2_control import HARDWARE, controlled_joints, description_for

FILES = {'bus_config': '/robot/bus.yml', 'master_config': '/robot/master.dcf'}
MECHANISMS = ('masticator', 'rss6', 'rcid')
# Plugins by the names under which they are registered, and their parameters: hardware_interface's
# mock_components_plugin_description.xml; README of joint_state_topic_hardware_interface;
# canopen_ros2_control.xml and the robot system's page of ros2_canopen 0.3.4.
PLUGINS = {
    'mock': ('mock_components/GenericSystem', {}),
    'topic': (
        'joint_state_topic_hardware_interface/JointStateTopicSystem',
        {
            'joint_commands_topic': 'servo_drives/command',
            'joint_states_topic': 'servo_drives/state',
            'trigger_joint_command_threshold': '-1',
        },
    ),
    'canopen': ('canopen_ros2_control/RobotSystem', FILES | {'can_interface_name': 'can1'}),
}


def block(mechanism: str, hardware: str) -> ElementTree.Element:
    files = FILES | {'can_interface': 'can1'}
    root = ElementTree.fromstring(description_for(mechanism, hardware, files).urdf_xml)
    (found,) = root.findall('ros2_control')
    return found


def params(element: ElementTree.Element) -> dict[str, str]:
    return {param.attrib['name']: param.text or '' for param in element.findall('param')}


@pytest.mark.parametrize('mechanism', MECHANISMS)
@pytest.mark.parametrize('hardware', HARDWARE)
def test_block_names_hardware_joints_and_interfaces(mechanism: str, hardware: str) -> None:
    found = block(mechanism, hardware)
    assert found.attrib['type'] == 'system'
    (above,) = found.findall('hardware')
    assert (above.findtext('plugin'), params(above)) == PLUGINS[hardware]
    joints = found.findall('joint')
    actuated = load_description(mechanism).actuated
    assert tuple(joint.attrib['name'] for joint in joints) == actuated and len(actuated) == 6
    for joint in joints:
        commands = [item.attrib['name'] for item in joint.findall('command_interface')]
        states = [item.attrib['name'] for item in joint.findall('state_interface')]
        assert commands == ['position', 'effort']
        assert states == ['position', 'velocity', 'effort']
        named = {'device_name': joint.attrib['name']} if hardware == 'canopen' else {}
        assert params(joint) == named


@pytest.mark.parametrize('mechanism', MECHANISMS)
def test_limits_are_those_of_the_joints(mechanism: str) -> None:
    by_name = {joint.name: joint for joint in load_description(mechanism).tree.joints}
    for joint in block(mechanism, 'topic').findall('joint'):
        limits = by_name[joint.attrib['name']]
        position, effort = (
            {name: float(value) for name, value in params(item).items()}
            for item in joint.findall('command_interface')
        )
        assert position == {'min': limits.lower, 'max': limits.upper}
        assert effort == {'min': -limits.effort, 'max': limits.effort}


def test_limits_follow_the_arguments_of_the_xacro(tmp_path: pathlib.Path) -> None:
    file = tmp_path / 'wide.yaml'
    shipped = load_description('masticator')
    text = shipped.file.read_text(encoding='utf-8').replace(
        'urdf: ../../urdf/masticator.urdf.xacro',
        f"urdf: {shipped.urdf_file}\nxacro_arguments: {{crank_range: '1.2', crank_effort: '3.5'}}",
    )
    file.write_text(text, encoding='utf-8')
    root = ElementTree.fromstring(description_for(file, 'topic').urdf_xml)
    numbers = [float(item.text or 'nan') for item in root.findall('ros2_control/joint//param')]
    assert numbers == [-1.2, 1.2, -3.5, 3.5] * 6


@pytest.mark.parametrize('mechanism', MECHANISMS)
def test_mock_hardware_starts_where_the_loops_close(mechanism: str) -> None:
    starts = [
        float(item.text or 'nan')
        for item in block(mechanism, 'mock').findall('joint/state_interface/param')
    ]
    loaded = Mechanism.load(mechanism)
    assert len(starts) == 6
    y = loaded.forward_kinematics(starts, tolerance=1e-9)
    assert y == pytest.approx(loaded.home.y, abs=1e-9)


@pytest.mark.parametrize('mechanism', MECHANISMS)
def test_a_mechanism_does_not_notice_its_block(mechanism: str) -> None:
    plain, controlled = load_description(mechanism), description_for(mechanism, 'topic')
    assert controlled_joints(plain.urdf_xml) == ()
    assert 'ros2_control' not in plain.urdf_xml
    root = ElementTree.fromstring(controlled.urdf_xml)
    root.remove(root.findall('ros2_control')[0])
    rest = ElementTree.canonicalize(ElementTree.tostring(root, 'unicode'), strip_text=True)
    assert rest == ElementTree.canonicalize(plain.urdf_xml, strip_text=True)
    # What the block adds is read past: the same joints and bodies come out.
    assert [joint.name for joint in controlled.tree.joints] == [j.name for j in plain.tree.joints]
    assert fingerprint(controlled) == fingerprint(plain)


def test_what_is_wrong_is_said(tmp_path: pathlib.Path) -> None:
    with pytest.raises(InputError, match="hardware 'gazebo' does not exist; there are: mock"):
        description_for('masticator', 'gazebo')
    with pytest.raises(DescriptionError, match="ros2_control is 'gazebo': none, mock, topic or"):
        load_description('masticator', {'ros2_control': 'gazebo'})
    with pytest.raises(DescriptionError, match='bus_config and master_config are needed'):
        description_for('masticator', 'canopen', {'bus_config': '/robot/bus.yml'})
    with pytest.raises(DescriptionError, match='trimule.urdf.xacro: has no <ros2_control> block'):
        description_for('trimule', 'mock')


def test_a_block_of_other_joints_is_refused(tmp_path: pathlib.Path) -> None:
    urdf = (samples.OWN / 'ladder.urdf').read_text(encoding='utf-8')
    other = '<ros2_control name="x" type="system"><joint name="tilt"/></ros2_control></robot>'
    (tmp_path / 'ladder.urdf').write_text(urdf.replace('</robot>', other), encoding='utf-8')
    mechanism = (samples.OWN / 'ladder.yaml').read_text(encoding='utf-8')
    (tmp_path / 'ladder.yaml').write_text(mechanism, encoding='utf-8')
    with pytest.raises(DescriptionError, match='its joints are tilt, not the actuated ones'):
        description_for(tmp_path / 'ladder.yaml', 'topic')


def test_every_shipped_mechanism_expands_without_a_block() -> None:
    for name in shipped_mechanisms():
        assert controlled_joints(load_description(name).urdf_xml) == (), name
