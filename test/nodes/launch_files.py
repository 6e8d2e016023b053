# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Launch files executed without starting processes, and the resulting command lines."""

import contextlib
import importlib.util
import os
import pathlib
import tempfile
import types

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]

needs_launch = pytest.mark.skipif(
    importlib.util.find_spec('launch_ros') is None,
    reason='launch is part of a ROS 2 installation and not on PyPI',
)


def launch_file(name):
    return ROOT / f'launch/{name}.launch.py'


PACKAGES = (
    'masticator_dynamics', 'robot_state_publisher', 'controller_manager', 'rviz2', 'ros2bag',
    'joint_state_publisher_gui', 'joint_state_broadcaster', 'joint_trajectory_controller',
    'effort_controllers', 'hardware_interface', 'joint_state_topic_hardware_interface',
    'canopen_ros2_control', 'rqt_plot',
)  # fmt: skip


@contextlib.contextmanager
def an_index_of(packages):
    """An index of installed packages that contains these."""
    before = os.environ.get('AMENT_PREFIX_PATH')
    with tempfile.TemporaryDirectory() as prefix:
        index = pathlib.Path(prefix, 'share/ament_index/resource_index/packages')
        index.mkdir(parents=True)
        for package in packages:
            (index / package).touch()
        os.environ['AMENT_PREFIX_PATH'] = prefix
        try:
            yield
        finally:
            del os.environ['AMENT_PREFIX_PATH']
            if before is not None:
                os.environ['AMENT_PREFIX_PATH'] = before


def executed(name, given, packages=PACKAGES, exit_code=0):
    """Declared arguments with their descriptions, and all resulting actions, delayed ones included.

    Processes end with the exit code; actions that follow from this are included.
    """
    with an_index_of(packages):
        return _executed(name, given, exit_code)


def _executed(name, given, exit_code):
    from launch.actions import DeclareLaunchArgument, OpaqueFunction
    from launch.launch_description_sources import PythonLaunchDescriptionSource

    from launch import LaunchContext

    context = LaunchContext()
    context.launch_configurations.update(given)
    source = PythonLaunchDescriptionSource(str(launch_file(name)))
    declared, actions = {}, []
    for entity in source.get_launch_description(context).entities:
        if isinstance(entity, DeclareLaunchArgument):
            declared[entity.name] = entity.description
            entity.execute(context)
        else:
            assert isinstance(entity, OpaqueFunction)
            for action in entity.execute(context):
                later = getattr(action, 'event_handler', None)
                event = types.SimpleNamespace(returncode=exit_code)
                actions += [action] if later is None else later.handle(event, context)
    return declared, actions


def as_text(substitutions):
    return ''.join(part.text for part in substitutions)


def command_lines(name, given, **options):
    """Executable and command-line arguments of each node started."""
    from launch_ros.actions import Node

    from launch import LaunchContext

    lines = []
    for action in executed(name, given, **options)[1]:
        if not isinstance(action, Node):
            continue
        action._perform_substitutions(LaunchContext())
        # Without the executable, which would have to be installed, and names filled in at the end.
        words = [as_text(w) for w in action.cmd[1:] if all(hasattr(part, 'text') for part in w)]
        lines.append((action.node_executable, words))
    return lines


def only(lines, executable):
    (words,) = [words for name, words in lines if name == executable]
    return words


def remappings(words):
    return dict(word.split(':=') for word in words if ':=' in word)


def parameters(words, node):
    """Parameters that the node gets from files; later files override earlier ones."""
    merged = {}
    for flag, path in zip(words, words[1:], strict=False):
        if flag == '--params-file':
            # launch_ros writes arrays with a tag that rcl does not look at.
            text = pathlib.Path(path).read_text().replace('!!python/tuple', '')
            for name, content in yaml.safe_load(text).items():
                if name.rsplit('/', 1)[-1] in (node, '**'):
                    merged |= content['ros__parameters']
    return merged
