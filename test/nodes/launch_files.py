# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Launch files executed without starting anything, and the command lines they lead to."""

import importlib.util
import pathlib

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]

needs_launch = pytest.mark.skipif(
    importlib.util.find_spec('launch_ros') is None,
    reason='launch is part of a ROS 2 installation and not on PyPI',
)


def launch_file(name):
    return ROOT / f'launch/{name}.launch.py'


def executed(name, given):
    """Declared arguments with their descriptions, and the actions that they lead to."""
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
            actions += entity.execute(context)
    return declared, actions


def as_text(substitutions):
    return ''.join(part.text for part in substitutions)


def included(action):
    """Name of the launch file that an action includes."""
    from launch import LaunchContext

    action.launch_description_source.get_launch_description(LaunchContext())
    return pathlib.Path(action.launch_description_source.location).name


def command_lines(name, given):
    """For each node started: its executable, and the words that follow on its command line."""
    from launch import LaunchContext

    lines = []
    for action in executed(name, given)[1]:
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
    """What the node is given in files, the last ones winning."""
    merged = {}
    for flag, path in zip(words, words[1:], strict=False):
        if flag == '--params-file':
            for name, content in yaml.safe_load(pathlib.Path(path).read_text()).items():
                if name.rsplit('/', 1)[-1] in (node, '**'):
                    merged |= content['ros__parameters']
    return merged
