# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The launch file: every argument is described; with ROS installed it starts the node."""

import ast
import importlib.util
import pathlib
import py_compile

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAUNCH = ROOT / 'launch/dynamics.launch.py'
WANTED = {
    'mechanism', 'rate', 'goal', 'friction', 'namespace', 'use_sim_time', 'params_file',
    'robot_state_publisher', 'rviz',
}  # fmt: skip


def test_launch_file_compiles_and_describes_every_argument(tmp_path):
    py_compile.compile(str(LAUNCH), cfile=str(tmp_path / 'launch.pyc'), doraise=True)
    tree = ast.parse(LAUNCH.read_text())
    (arguments,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == 'ARGUMENTS'
    )
    described = {row.elts[0].value: row.elts[2].value for row in arguments.elts}
    assert set(described) == WANTED
    assert all(len(text) > 10 for text in described.values())
    declared = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, 'id', '') == 'DeclareLaunchArgument'
    ]
    assert len(declared) == 1  # in a loop over ARGUMENTS
    assert {k.arg for k in declared[0].keywords} == {'default_value', 'description'}


def test_files_that_the_launch_file_names_exist():
    text = LAUNCH.read_text()
    for name in ('config/dynamics.yaml', 'rviz/masticator.rviz'):
        assert name in text
        assert (ROOT / name).is_file()
    assert (ROOT / 'scripts/dynamics_node').is_file()


def test_parameter_file_names_every_parameter_with_its_default():
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    from masticator_dynamics.nodes.parameters import DECLARATIONS

    content = yaml.safe_load((ROOT / 'config/dynamics.yaml').read_text())
    values = content['/**/dynamics']['ros__parameters']
    flat = {}
    for key, value in values.items():
        nested = value.items() if isinstance(value, dict) else [(None, value)]
        flat |= {f'{key}.{k}' if k else key: v for k, v in nested}
    assert flat == {p.name: p.default for p in DECLARATIONS}
    assert {k: type(v) for k, v in flat.items()} == {p.name: type(p.default) for p in DECLARATIONS}


@pytest.mark.skipif(
    importlib.util.find_spec('launch_ros') is None,
    reason='launch is part of a ROS 2 installation and not on PyPI',
)
def test_launch_description_declares_its_arguments():
    from launch.actions import DeclareLaunchArgument
    from launch.launch_description_sources import PythonLaunchDescriptionSource

    source = PythonLaunchDescriptionSource(str(LAUNCH))
    from launch import LaunchContext

    entities = source.get_launch_description(LaunchContext()).entities
    names = {e.name for e in entities if isinstance(e, DeclareLaunchArgument)}
    assert names == WANTED
