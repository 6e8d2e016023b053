# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What launch files share: arguments with descriptions, processes, the nodes of other packages.

Nothing that the process of a launch has started or written outlives it.

Imports `launch`, which comes with a ROS 2 installation but is not on PyPI; only launch files import
this module.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import pathlib
import runpy
import shutil
import signal
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from ament_index_python.packages import get_package_prefix
from launch.action import Action
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
)
from launch.event_handlers import OnProcessExit
from launch.events.process import ProcessExited
from launch.launch_context import LaunchContext
from launch.launch_description import LaunchDescription
from launch.logging import get_logger
from launch.substitutions import LaunchConfiguration
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from launch_ros.actions import Node

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.description.urdf_text import plain_urdf
from masticator_dynamics.engine.traced.effort_goals import GOALS
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.share import share_directory
from masticator_dynamics.files.yaml_file import read_mapping
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.ros import middleware
from masticator_dynamics.ros.dynamics.settings import effort_topic
from masticator_dynamics.ros.ending_with_parent import ending_with_parent
from masticator_dynamics.ros.ros2_control import CONTROLLERS, FEEDFORWARD, HARDWARE
from masticator_dynamics.ros.rviz_configuration import configuration
from masticator_dynamics.ros.shown_urdf import for_rviz

Arguments = Sequence[tuple[str, str, str]]  # name, default, description
Values = dict[str, str]
Start = Callable[[Values], Sequence[Action | str]]

CHOICES = {
    'goal': ('', *GOALS),
    'hardware': HARDWARE,
    'controller': tuple(CONTROLLERS),
    'feedforward': FEEDFORWARD,
    'gui': ('auto', 'true', 'false'),
    'on_exit': ('shutdown', 'respawn'),
}
_PAUSE = 1.0  # s until a process that has ended is started again
_SHARED = read_mapping(share_directory() / 'config' / 'launch_arguments.yaml')


def shared(*names: str) -> Arguments:
    """Arguments that several launch files have."""
    return [(name, *_SHARED[name]) for name in names]


def described(arguments: Arguments, start: Start) -> Callable[[], LaunchDescription]:
    """A launch file's function: arguments as ``--show-args`` lists them, nodes for their values.

    Every launch file has it, so here is what holds for everything that is started. The middleware's
    settings are those of our nodes: nodes of other packages publish to the drives, too. Processes
    end with `ros2 launch`, whatever ends it, and so does the folder of its temporary files.

    Parameters
    ----------
    arguments : sequence of tuple
        Names, defaults and descriptions.
    start : callable
        Returns what is started for the values that the arguments have at launch: actions, and
        names of packages that are needed besides those of the actions.
    """

    def started(context: LaunchContext) -> list[Any]:
        values = {name: LaunchConfiguration(name).perform(context) for name, _, _ in arguments}
        return checked(context, start(values))

    def describe() -> LaunchDescription:
        middleware.prepare()
        use_temporary_folder()
        declared = [
            DeclareLaunchArgument(
                name,
                default_value=default,
                description=description,
                choices=list(CHOICES[name]) if name in CHOICES else None,
            )
            for name, default, description in arguments
        ]
        return LaunchDescription([*declared, OpaqueFunction(function=started)])

    return describe


def is_true(text: str) -> bool:
    """Whether a launch argument is true.

    Raises
    ------
    InputError
        If it is neither true nor false.
    """
    if text.lower() not in ('true', 'false', '1', '0'):
        raise InputError(f'{text!r} is neither true nor false')
    return text.lower() in ('true', '1')


def installed(package: str) -> bool:
    """Whether ROS 2 can find a package."""
    try:
        get_package_prefix(package)
    except (LookupError, OSError):  # OSError: there is no index at all
        return False
    return True


def wants_gui(value: Values) -> bool:
    """Value of argument ``gui``; for ``auto``, whether there is a display, and RViz."""
    if value['gui'] != 'auto':
        return is_true(value['gui'])
    lacking = ''
    if not (os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY')):
        lacking = 'there is no display'
    elif not installed('rviz2'):
        lacking = 'rviz2 is not installed'
    if lacking:
        get_logger('masticator_dynamics').info(f'without RViz: {lacking} (gui:=true insists)')
    return not lacking


def checked(context: LaunchContext, started: Sequence[Action | str]) -> list[Any]:
    """The actions, if all packages whose programs they start, and those named, are installed.

    `launch` would find out one by one, with others already running, and leave those behind.

    Raises
    ------
    InputError
        Naming all packages that are missing, and how to install them.
    """
    packages = {each: None for each in started if isinstance(each, str)}
    for action in started:
        if isinstance(action, Node):
            name = normalize_to_list_of_substitutions(action.node_package)
            packages[perform_substitutions(context, name)] = None
    missing = [package for package in packages if not installed(package)]
    if missing:
        distribution = os.environ.get('ROS_DISTRO', 'jazzy')
        names = ' '.join(f'ros-{distribution}-{name.replace("_", "-")}' for name in missing)
        without = '; gui:=false goes without RViz' if 'rviz2' in missing else ''
        raise InputError(
            f'not installed: {", ".join(missing)} (sudo apt install {names}{without}); '
            'nothing has been started'
        )
    return [each for each in started if not isinstance(each, str)]


def of_file(name: str, value: Values) -> list[Action | str]:
    """What another launch file of this package starts.

    Parameters
    ----------
    name : str
        The file is ``<name>.launch.py``.
    value : dict
        Of its arguments, those that differ from their defaults.
    """
    file = runpy.run_path(str(share_directory() / f'launch/{name}.launch.py'))
    defaults = {argument: default for argument, default, _ in file['ARGUMENTS']}
    return list(file['start_nodes'](defaults | value))


def program(
    value: Values,
    package: str,
    executable: str,
    parameters: Sequence[Any] = (),
    *,
    window: bool = False,
    **process: Any,
) -> Node:
    """Start a program in the namespace and on the clock that the arguments choose.

    Parameters
    ----------
    value : dict
        Values of the launch arguments.
    parameters : sequence
        Files and mappings.
    window : bool
        Whether it is one, which need not hear SIGTERM.
    process
        Further arguments of the launch action.
    """
    clock = {'use_sim_time': is_true(value['use_sim_time'])}
    return Node(
        package=package,
        executable=executable,
        prefix=ending_with_launch(at_once=window),
        exec_name=executable,  # in the log; otherwise that of the prefix
        namespace=value['namespace'],
        parameters=[*parameters, clock],
        output='screen',
        **process,
    )


def process(name: str, command: Sequence[str]) -> ExecuteProcess:
    """Start a process that is no node's executable."""
    return ExecuteProcess(
        cmd=list(command), name=name, prefix=ending_with_launch(), output='screen'
    )


def own_node(
    name: str,
    value: Values,
    parameters: dict[str, object] | None = None,
    file: str = '',
    remappings: Sequence[tuple[str, str]] = (),
    **process: Any,
) -> Node:
    """Start a node of this package with its file in config/, or another, and further parameters.

    As a plain node, since it activates itself: for a `LifecycleNode`, launch creates a node of
    its own, which nobody needs and which Ctrl-C would have to wait for.

    Parameters
    ----------
    name : str
        The node; its executable is ``<name>_node``.
    value : dict
        Values of the launch arguments.
    parameters : dict, optional
        They take precedence over the file's.
    file : str
        Parameter file; empty: that of the node in config/.
    remappings : sequence of tuple
        From and to.
    process
        Further arguments of the launch action.
    """
    parameter_file = file or str(share_directory() / f'config/{name}.yaml')
    return program(
        value,
        'masticator_dynamics',
        f'{name}_node',
        [parameter_file, {'mechanism': value['mechanism']}, parameters or {}],
        name=name,
        remappings=list(remappings),
        **process,
    )


def dynamics_node(value: Values, remappings: Sequence[tuple[str, str]] = ()) -> list[Action]:
    """Start node dynamics, whose end ends all; arguments that are not empty become parameters."""
    settings: dict[str, object] = {'frame_prefix': value['frame_prefix']}
    if value.get('drives'):
        settings['drives'] = value['drives']
    if value['rate']:
        settings['rate'] = float(value['rate'])
    if value['goal']:
        settings['goal'] = value['goal']
    if value.get('exported'):  # a controller computes the efforts
        settings['trajectory_efforts'] = False
    if is_true(value['plots']):  # curves are then named by joints
        settings['effort_topics'] = True
    for switch in ('friction', 'limits', 'publish_joint_states'):
        if value[switch]:
            settings[switch] = is_true(value[switch])
    node = own_node('dynamics', value, settings, value['params_file'], remappings)
    return needs(node, 'dynamics')


def joint_state_completion(value: Values, remappings: Sequence[tuple[str, str]] = ()) -> Node:
    """Complete joint states; started again when it ends, since it holds nothing and moves nothing.

    Without it nobody sees where the robot is; meanwhile node dynamics warns.
    """
    name = 'joint_state_completion'
    return own_node(name, value, remappings=remappings, respawn=True, respawn_delay=_PAUSE)


def robot_state_publisher(description: MechanismDescription, value: Values) -> Node:
    """Publish TF and robot_description, expanded with the mechanism's xacro arguments."""
    settings = {
        'robot_description': for_rviz(plain_urdf(description.urdf_xml, description.tree)),
        'frame_prefix': value['frame_prefix'],
    }
    return program(value, 'robot_state_publisher', 'robot_state_publisher', [settings])


def rviz(description: MechanismDescription, value: Values, nodes: Sequence[str] = ()) -> Node:
    """Start RViz on a mechanism.

    Parameters
    ----------
    value : dict
        Values of the launch arguments.
    nodes : sequence of str
        Those whose drawings are shown, of `rviz_configuration.DRAWINGS`.
    """
    config = configuration(Mechanism(description), value['frame_prefix'], nodes)
    arguments = ['-d', str(temporary_file(config, '.rviz'))]
    return program(value, 'rviz2', 'rviz2', window=True, arguments=arguments)


def plots(description: MechanismDescription, value: Values) -> list[Action | str]:
    """Start rqt_plot on the efforts of node dynamics once they are published."""
    within = '/'.join(['', *filter(None, [value['namespace'].strip('/')])])
    topics = [f'{within.rstrip("/")}/{effort_topic(joint)}' for joint in description.actuated]
    curves = [f'{topic}/data' for topic in topics]
    plot = program(value, 'masticator_dynamics', 'plot_topics', window=True, arguments=curves)
    return ['rqt_plot', plot]


def wait_for_joint_states(
    value: Values, joints: Sequence[str], remappings: Sequence[tuple[str, str]]
) -> Node:
    """A process that ends when all these joints have measured positions.

    Parameters
    ----------
    value : dict
        Values of the launch arguments.
    joints : sequence of str
        Those to wait for.
    remappings : sequence of tuple
        From and to.
    """
    settings, name = {'joints': list(joints)}, 'wait_for_joint_states'
    return program(value, 'masticator_dynamics', name, [settings], remappings=list(remappings))


def then(first: Node, second: Node) -> list[Action]:
    """Two processes, the second started when the first has ended successfully."""

    def follow(event: ProcessExited, _: LaunchContext) -> list[Action]:
        return [second] if event.returncode == 0 else []

    return [RegisterEventHandler(OnProcessExit(target_action=first, on_exit=follow)), first]


def needs(node: Node, name: str) -> list[Action]:
    """A process whose end ends everything else."""

    def follow(event: ProcessExited, context: LaunchContext) -> list[Action]:
        if context.is_shutdown:
            return []
        reason = f'{name} has ended with exit code {event.returncode}: everything ends without it'
        return [LogInfo(msg=reason), Shutdown(reason=reason)]

    return [RegisterEventHandler(OnProcessExit(target_action=node, on_exit=follow)), node]


def ending_with_launch(*, at_once: bool = False) -> list[Any]:
    """The ``prefix`` of a process that the kernel ends when this one has ended.

    On SIGTERM, `ros2 launch` ends without ending what it has started.
    """
    return [ending_with_parent(at_once=at_once), LaunchConfiguration('launch-prefix', default='')]


def temporary_file(content: str, suffix: str) -> pathlib.Path:
    """A file for a program that takes no text; removed at the end of this process."""
    handle, name = tempfile.mkstemp(suffix=suffix)
    with os.fdopen(handle, 'w', encoding='utf-8') as file:
        file.write(content)
    return pathlib.Path(name)


@functools.cache
def use_temporary_folder() -> None:
    """Put temporary files of this process, those of `launch` too, where its end removes them."""
    folder = tempfile.tempdir = tempfile.mkdtemp(prefix='masticator_dynamics_')
    remove = functools.partial(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(remove)

    def end(number: int, _: object) -> None:
        remove()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        with contextlib.suppress(ValueError):  # not the main thread: whose it is takes care
            signal.signal(signal.SIGTERM, end)
