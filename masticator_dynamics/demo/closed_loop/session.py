# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One pass: all processes of the loop, until the record is there, or why it is not."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator

from masticator_dynamics.demo.closed_loop.setting import Setting
from masticator_dynamics.demo.processes import (
    Child,
    Parameters,
    node_arguments,
    ros_environment,
    stopped_at_the_end,
)
from masticator_dynamics.demo.progress import Progress
from masticator_dynamics.demo.script import BITE_TIMEOUT, Script
from masticator_dynamics.demo.session import supervise
from masticator_dynamics.mechanism import Mechanism

PLAYER_MODULE = 'masticator_dynamics.demo.closed_loop.player'
NODES = ('twin', 'servo_drives', 'dynamics')
# What the nodes log when they are active.
_READY = {'twin': 'simulating ', 'servo_drives': 'drives of ', 'dynamics': 'efforts of '}


def record_pass(
    work: pathlib.Path,
    name: str,
    mechanism: Mechanism,
    script: Script,
    setting: Setting,
    progress: Progress,
    *,
    forward_effort: bool = True,
) -> pathlib.Path:
    """Chew once with processes of its own, and record.

    Parameters
    ----------
    work : pathlib.Path
        Folder for logs and the record.
    name : str
        Of the pass: its files begin with it.
    forward_effort : bool
        Efforts go to the drives; else positions alone.

    Returns
    -------
    pathlib.Path
        The MCAP file.

    Raises
    ------
    RunError
        When a process ends early or does not get on, or the drives stop.
    """
    record, script_file = work / f'{name}.mcap', work / 'script.npz'
    script.save(script_file)
    environment = ros_environment(work / 'ros_log')
    with running_nodes(
        work, name, mechanism, setting, environment, forward_effort=forward_effort
    ) as children:
        # While servo_drives stops the drives, dynamics commands and the twin moves them.
        nodes = list(reversed(children))
        player = Child(
            'player',
            ['-m', PLAYER_MODULE, '--script', str(script_file), '--record', str(record)],
            environment,
            work / f'{name}_player.log',
            reports=True,
        )
        children.append(player)
        supervise(nodes, player, script.duration, progress)
    return record


@contextlib.contextmanager
def running_nodes(
    work: pathlib.Path,
    name: str,
    mechanism: Mechanism,
    setting: Setting,
    environment: dict[str, str],
    *,
    forward_effort: bool = True,
) -> Iterator[list[Child]]:
    """Node dynamics, drives and the twin, ready and not enabled.

    Parameters
    ----------
    work : pathlib.Path
        Folder of the drives files.
    name : str
        Of the pass; the names of its log files begin with it.
    mechanism : Mechanism
        What moves.
    setting : Setting
        Food, rate and drives.
    environment : dict
        Of the processes.
    forward_effort : bool
        Whether the drives get the feedforward efforts.

    Yields
    ------
    list of Child
        The last is the first to be stopped. What is added to it is ended, too.

    Raises
    ------
    RunError
        When one ends early or does not get ready.
    """
    drives, twin_drives = setting.write_drives(work)
    file: Parameters = {'mechanism': str(mechanism.description.file)}
    parameters: dict[str, Parameters] = {
        'twin': {
            'drives': str(twin_drives), 'food': setting.food, 'rate': setting.commands,
        },
        'servo_drives': {'drives': str(drives), 'forward_effort': forward_effort},
        'dynamics': {
            'drives': str(drives),
            'rate': setting.commands, 'bite_force.timeout': BITE_TIMEOUT,
            'publish_joint_states': False, 'visual_rate': 10.0,
        },
    }  # fmt: skip
    children: list[Child] = []

    def start(node: str, *remappings: str) -> Child:
        module = f'masticator_dynamics.nodes.{node}_node'
        arguments = node_arguments(module, file | parameters[node], *remappings)
        child = Child(f'{node} node', arguments, environment, work / f'{name}_{node}.log')
        children.append(child)
        return child

    with stopped_at_the_end(children):
        twin, dynamics = start('twin'), start('dynamics')
        twin.wait_until_logged(_READY['twin'])  # drives that do not answer are a fault
        servo_drives = start('servo_drives', '~/command:=/feedforward_state')
        nodes = {'servo_drives': servo_drives, 'dynamics': dynamics, 'twin': twin}
        for node, child in nodes.items():
            child.wait_until_logged(_READY[node])
            child.go_first()
        yield children


def logs(work: pathlib.Path, passes: tuple[str, ...]) -> str:
    """What the nodes of all passes logged."""
    files = [work / f'{name}_{node}.log' for name in passes for node in NODES]
    parts = [(f.stem, f.read_text(encoding='utf-8', errors='replace')) for f in files if f.exists()]
    return '\n'.join(f'--- {title}\n{text}' for title, text in parts)
