# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""robot.launch.py and twin.launch.py: topics of all nodes, and refusals."""

import pytest

from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.robot.recording.nodes import at_rate
from masticator_dynamics.ros.middleware import HEEDED, PROFILES, RANGE
from nodes.launch_files import (
    PACKAGES,
    as_text,
    command_lines,
    executed,
    needs_launch,
    only,
    parameters,
    remappings,
)

TRAJECTORY = {'feedforward_trajectory': 'joint_trajectory_controller/joint_trajectory'}
EFFORT = {'feedforward_effort': 'effort_forward_controller/commands'}
FILES = {'bus_config': '/b.yml', 'master_config': '/m.dcf'}


@needs_launch
@pytest.mark.parametrize(
    ('given', 'controller', 'feedforward', 'active'),
    [
        ({}, 'joint_trajectory_controller', TRAJECTORY, False),
        ({'active': 'true'}, 'joint_trajectory_controller', TRAJECTORY, True),
        ({'simulate': 'true'}, 'joint_trajectory_controller', TRAJECTORY, True),
        ({'hardware': 'mock'}, 'joint_trajectory_controller', TRAJECTORY, True),
        ({'hardware': 'mock', 'controller': 'effort'}, 'effort_forward_controller', EFFORT, True),
        ({'hardware': 'canopen', **FILES}, 'joint_trajectory_controller', {}, False),
    ],
)
def test_one_controller_gets_the_feedforward(given, controller, feedforward, active):
    """On a robot, it waits for homing; only node dynamics is remapped, to that controller."""
    lines = command_lines('robot', given | {'gui': 'false', 'rate': '250'})
    assert remappings(only(lines, 'dynamics_node')) == feedforward
    first, second = (words for name, words in lines if name == 'spawner')
    broadcaster, own = sorted((first, second), key=lambda words: 'broadcaster' not in words[0])
    assert broadcaster[0] == 'joint_state_broadcaster' and '--inactive' not in broadcaster
    assert own[0] == controller and ('--inactive' not in own) is active
    manager = only(lines, 'ros2_control_node')
    settings = parameters(manager, 'controller_manager')
    assert settings['update_rate'] == 250 and settings[controller]['type']
    assert parameters(only(lines, 'dynamics_node'), 'dynamics')['rate'] == 250.0
    claimed = ['position'] if given.get('hardware') == 'canopen' else ['position', 'effort']
    trajectory = parameters(manager, 'joint_trajectory_controller')
    assert trajectory['command_interfaces'] == claimed


@needs_launch
@pytest.mark.parametrize(
    ('given', 'friction'),
    [
        ({'hardware': 'mock'}, None),
        ({'hardware': 'mock', 'controller': 'effort'}, True),
        ({'hardware': 'mock', 'controller': 'effort', 'friction': 'false'}, False),
        ({'hardware': 'mock', 'friction': 'true'}, True),
    ],
)
def test_efforts_without_a_position_loop_overcome_friction(given, friction):
    words = only(command_lines('robot', given | {'gui': 'false'}), 'dynamics_node')
    told = parameters(words, 'dynamics')
    assert told['friction'] is (friction is True)


@needs_launch
@pytest.mark.parametrize('name', ['robot', 'twin'])
@pytest.mark.parametrize(('reach', 'words'), [('LOCALHOST', 'this computer'), ('', 'every host')])
def test_it_says_who_may_command(monkeypatch, name, reach, words):
    for variable in (PROFILES, HEEDED, 'ROS_SECURITY_ENABLE'):
        monkeypatch.setenv(variable, '')  # and set as before at the end
    monkeypatch.setenv(RANGE, reach)
    _, actions = executed(name, {'gui': 'false'})
    lines = [as_text(action.msg) for action in actions if type(action).__name__ == 'LogInfo']
    (line,) = [line for line in lines if 'may command this robot' in line]
    assert words in line


@needs_launch
def test_the_bite_is_observed_on_demand():
    """From what the drives of the same file measure."""
    lines = command_lines('robot', {'gui': 'false', 'observe_bite': 'true', 'rate': '125'})
    observer = only(lines, 'bite_observer_node')
    assert remappings(observer) == {'joint_states': 'servo_drives/state'}
    given = [parameters(only(lines, f'{n}_node'), n) for n in ('bite_observer', 'servo_drives')]
    assert given[0]['drives'] == given[1]['drives'] and given[0]['mechanism'] == 'masticator'
    assert 'bite_observer_node' not in dict(command_lines('robot', {'gui': 'false'}))


@needs_launch
def test_the_controller_comes_when_there_are_measured_states():
    """Earlier it would hold NaN and reach every goal; without measurement, it never starts."""
    lines = command_lines('robot', {'gui': 'false'})
    waiting = only(lines, 'wait_for_joint_states')
    assert remappings(waiting) == {'joint_states_in': 'joint_state_broadcaster/joint_states'}
    joints = parameters(waiting, 'wait_for_joint_states')['joints']
    assert joints == [f'crank_{k}' for k in range(1, 7)]
    names = [name for name, _ in lines]
    assert names.count('spawner') == 2
    failed = command_lines('robot', {'gui': 'false'}, exit_code=1)
    (broadcaster,) = [words for name, words in failed if name == 'spawner']
    assert broadcaster[0] == 'joint_state_broadcaster'


def rates(given):
    """Rates of controller manager, dynamics, drives, and the twin's topics."""
    lines = command_lines('robot', given | {'gui': 'false'})
    found = {parameters(only(lines, 'ros2_control_node'), 'controller_manager')['update_rate']}
    found |= {parameters(only(lines, 'dynamics_node'), 'dynamics')['rate']}
    for words in [words for name, words in lines if name in ('servo_drives_node', 'twin_node')]:
        given = parameters(words, 'servo_drives') | parameters(words, 'twin')
        found |= {load_drives(given['drives']).cycle_rate, given.get('rate', *found)}
    return found


@needs_launch
@pytest.mark.parametrize(
    ('given', 'rate'),
    [
        ({}, 500.0),
        ({'rate': '125'}, 125.0),
        ({'simulate': 'true'}, 250.0),
        ({'simulate': 'true', 'rate': '100'}, 100.0),
        ({'hardware': 'mock'}, 250.0),
    ],
)
def test_everything_runs_at_one_rate(given, rate):
    assert rates(given) == {rate}


@needs_launch
def test_files_that_disagree_on_the_rate_are_refused_until_somebody_decides(tmp_path):
    slow = tmp_path / 'slow.yaml'
    slow.write_text(at_rate('drives.yaml', 250.0))
    with pytest.raises(InputError, match='cycle_rate is 250 Hz, .*update_rate is 500 Hz; rate:='):
        executed('robot', {'gui': 'false', 'drives': str(slow)})
    assert rates({'drives': str(slow), 'rate': '250'}) == {250.0}


@needs_launch
def test_all_packages_that_are_missing_are_told_at_once():
    """Those of included launch files, too."""
    lacking = {'robot_state_publisher', 'rviz2', 'ros2bag', 'rqt_plot'}
    packages = [package for package in PACKAGES if package not in lacking]
    with pytest.raises(InputError) as caught:
        executed('bringup', {'gui': 'true', 'record': 'true', 'plots': 'true'}, packages)
    named = str(caught.value).partition(' (sudo')[0].removeprefix('not installed: ')
    assert set(named.split(', ')) == lacking


@needs_launch
@pytest.mark.parametrize(
    ('name', 'given', 'lacking', 'told'),
    [
        ('robot', {}, 'controller_manager', 'ros-jazzy-controller-manager'),
        ('robot', {}, 'joint_trajectory_controller', 'ros-jazzy-joint-trajectory-controller'),
        ('robot', {'gui': 'true'}, 'rviz2', 'gui:=false goes without RViz'),
        ('bringup', {'record': 'true'}, 'ros2bag', 'ros-jazzy-ros2bag'),
        ('dynamics', {}, 'robot_state_publisher', 'ros-jazzy-robot-state-publisher'),
        ('view', {'gui': 'true'}, 'joint_state_publisher_gui', 'publisher-gui'),
    ],
)
def test_a_package_that_is_missing_is_told_before_anything_starts(name, given, lacking, told):
    packages = [package for package in PACKAGES if package != lacking]
    with pytest.raises(InputError, match=told) as caught:
        executed(name, {'gui': 'false'} | given, packages)
    assert str(caught.value).endswith('nothing has been started')


@needs_launch
def test_rviz_is_shown_where_it_can_be(monkeypatch):
    def shown(display, packages=PACKAGES):
        for variable in ('DISPLAY', 'WAYLAND_DISPLAY'):
            monkeypatch.delenv(variable, raising=False)
        if display:
            monkeypatch.setenv(display, ':0')
        return 'rviz2' in [name for name, _ in command_lines('robot', {}, packages=packages)]

    assert shown('DISPLAY') and shown('WAYLAND_DISPLAY')
    assert not shown('')
    assert not shown('DISPLAY', [package for package in PACKAGES if package != 'rviz2'])


def ends_all(name, **given):
    """Names of the processes whose end ends the whole launch."""
    _, actions = executed(name, {'gui': 'false', **given}, exit_code=-9)
    reasons = (as_text(action.msg) for action in actions if type(action).__name__ == 'LogInfo')
    shutdowns = sum(type(action).__name__ == 'Shutdown' for action in actions)
    names = {reason.partition(' has ended')[0] for reason in reasons if 'everything ends' in reason}
    assert shutdowns == len(names)
    return names


@needs_launch
def test_what_nothing_goes_on_without_ends_the_launch():
    robot = {'dynamics', 'servo_drives', 'the controller manager'}
    assert ends_all('dynamics') == ends_all('bringup', measured='true') == {'dynamics'}
    assert ends_all('robot') == robot
    assert ends_all('twin') == robot | {'twin'}
    assert ends_all('twin', on_exit='respawn') == robot - {'servo_drives'} | {'twin'}
    assert ends_all('view') == set()


@needs_launch
@pytest.mark.parametrize(('name', 'given'), [('robot', {}), ('bringup', {'measured': 'true'}),
                                             ('view', {})])  # fmt: skip
def test_a_completion_that_has_ended_is_started_again(name, given):
    """Nothing else is: what moves the robot never begins again by itself."""
    _, actions = executed(name, {'gui': 'false', **given})
    again = [
        action.node_executable
        for action in actions
        if getattr(action, '_ExecuteLocal__respawn', False)
    ]
    assert again == ['joint_state_completion_node']


@needs_launch
def test_servo_drives_that_ended_may_begin_anew_by_hand():
    lines = command_lines('robot', {'gui': 'false', 'simulate': 'true', 'on_exit': 'respawn'})
    again, first = (parameters(words, 'servo_drives') for name, words in lines
                    if name == 'servo_drives_node')  # fmt: skip
    assert sorted((first['auto_enable'], again['auto_enable'])) == [False, True]
    first.pop('auto_enable'), again.pop('auto_enable')
    assert first == again


@needs_launch
def test_measured_joint_states_go_through_completion_once():
    """From broadcaster via completion to joint_states: no other publisher, and no loop."""
    lines = command_lines('robot', {'gui': 'false'})
    completion = only(lines, 'joint_state_completion_node')
    assert remappings(completion) == {'joint_states_in': 'joint_state_broadcaster/joint_states'}
    broadcaster = parameters(only(lines, 'ros2_control_node'), 'joint_state_broadcaster')
    assert broadcaster['use_local_topics'] is True
    assert parameters(only(lines, 'dynamics_node'), 'dynamics')['publish_joint_states'] is False


@needs_launch
def test_the_controller_manager_gets_the_block_from_robot_state_publisher():
    words = only(command_lines('robot', {'gui': 'false'}), 'robot_state_publisher')
    robot = parameters(words, 'robot_state_publisher')['robot_description']
    assert '<plugin>joint_state_topic_hardware_interface/JointStateTopicSystem</plugin>' in robot


@needs_launch
def test_the_twin_is_the_robot_with_its_drives_simulated():
    given = {'gui': 'false', 'food': 'nut', 'rate': '250'}
    lines = command_lines('twin', given)
    robot = command_lines('robot', given | {'simulate': 'true'})
    assert sorted(name for name, _ in lines) == sorted(name for name, _ in robot)
    twin = only(lines, 'twin_node')
    assert parameters(twin, 'twin')['food'] == 'nut'


@needs_launch
def test_a_twin_never_shares_the_bus_of_a_robot():
    robot = command_lines('robot', {'gui': 'false'})
    real = parameters(only(robot, 'servo_drives_node'), 'servo_drives')
    assert load_drives(real['drives']).bus.interface == 'socketcan'
    assert real['add_bite_effort'] is True and real['auto_enable'] is False
    # With what the controller gets of the trajectories, their efforts can be told from the food's.
    assert remappings(only(robot, 'servo_drives_node')) == TRAJECTORY
    given = {'gui': 'false', 'simulate': 'true', 'food': 'nut', 'frame_prefix': 'left/'}
    runs = [command_lines('robot', given) for _ in range(2)]
    ports = set()
    for lines in runs:
        twin = parameters(only(lines, 'twin_node'), 'twin')
        assert (
            twin['drives'] == parameters(only(lines, 'servo_drives_node'), 'servo_drives')['drives']
        )
        assert (twin['food'], twin['frame_prefix']) == ('nut', 'left/')
        bus = load_drives(twin['drives']).bus
        assert bus.interface == 'udp_multicast'
        ports.add(bus.port)
    assert len(ports) == 2


@needs_launch
@pytest.mark.parametrize(
    ('given', 'reason'),
    [
        ({'hardware': 'gazebo'}, '"gazebo" is not valid. Valid options are: .*mock'),
        ({'controller': 'velocity'}, '"velocity" is not valid. Valid options are: .*effort'),
        ({'goal': 'speed'}, '"speed" is not valid. Valid options are: .*power'),
        ({'use_sim_time': 'true'}, 'use_sim_time needs hardware mock'),
        ({'rate': 'fast'}, "rate 'fast' is not a number"),
        ({'hardware': 'mock', 'simulate': 'true'}, 'simulate needs hardware topic'),
        ({'hardware': 'canopen'}, 'bus_config and master_config are needed'),
        ({'hardware': 'canopen', 'controller': 'effort', **FILES}, 'per mille'),
        ({'controller': 'effort'}, 'mode is position; controller effort needs effort'),
        ({'mechanism': 'rcid'}, 'crank_1, .*; rcid has, in this order, slider_1'),
        ({'mechanism': 'rrr4'}, 'has no <ros2_control> block'),
        ({'drives': 'nowhere.yaml'}, 'nowhere.yaml'),
        ({'rate': '0.5'}, 'whole numbers'),
    ],
)
def test_what_cannot_work_is_refused_before_anything_starts(given, reason):
    # RuntimeError: of launch, for what is none of its choices.
    with pytest.raises((MasticatorError, RuntimeError), match=reason):
        executed('robot', given | {'gui': 'false'})
