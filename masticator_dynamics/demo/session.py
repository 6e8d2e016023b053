# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runs node and player as processes until the record is there, or says why it is not."""

from __future__ import annotations

import json
import pathlib
import queue
import threading
import time
from collections.abc import Sequence
from typing import Any

from masticator_dynamics.demo.processes import (
    Child,
    Parameters,
    RunError,
    node_arguments,
    ros_environment,
    stopped_at_the_end,
)
from masticator_dynamics.demo.progress import Progress
from masticator_dynamics.demo.script import BITE_TIMEOUT, Script
from masticator_dynamics.mechanism import Mechanism

NODE_MODULE = 'masticator_dynamics.nodes.dynamics_node'
PLAYER_MODULE = 'masticator_dynamics.demo.player'
VISUAL_RATE = 100.0  # Hz, of joint states and contact forces
_PATIENCE = {'waiting': 120.0, 'playing': 30.0, 'writing': 60.0}  # s beyond the motion's duration
_POLL = 0.1  # s


def record_session(
    work: pathlib.Path,
    mechanism: Mechanism,
    script: Script,
    rate: float,
    progress: Progress,
    node_module: str = NODE_MODULE,
) -> pathlib.Path:
    """Play a script to a node of its own and record the answers.

    Parameters
    ----------
    work : pathlib.Path
        Folder for logs and the record.
    rate : float
        Control cycles per second, Hz.
    node_module : str
        Module that runs the node.

    Returns
    -------
    pathlib.Path
        The MCAP file.

    Raises
    ------
    RunError
        When a process ends early or does not get on.
    """
    record, script_file = work / 'run.mcap', work / 'script.npz'
    script.save(script_file)
    environment = ros_environment(work / 'ros_log')
    parameters: Parameters = {
        'mechanism': str(mechanism.description.file),
        'rate': float(rate),
        'bite_force.timeout': BITE_TIMEOUT,
        'visual_rate': min(VISUAL_RATE, float(rate)),
    }
    player_arguments = ['-m', PLAYER_MODULE, '--script', str(script_file), '--record', str(record)]
    player_arguments += ['--contacts', *mechanism.contacts]
    children: list[Child] = []
    with stopped_at_the_end(children):
        node = Child(
            'dynamics node', node_arguments(node_module, parameters), environment, work / 'node.log'
        )
        children.append(node)
        player = Child('player', player_arguments, environment, work / 'player.log', reports=True)
        children.append(player)
        supervise([node], player, script.duration, progress)
    return record


def supervise(nodes: Sequence[Child], player: Child, duration: float, progress: Progress) -> None:
    """Follow the player's reports until it has recorded; the nodes end when it writes.

    Parameters
    ----------
    nodes : sequence of Child
        Those that must live while the player waits and plays, in the order to stop them in.
    duration : float
        s, of the motion.

    Raises
    ------
    RunError
        When a process ends early, does not get on, or says that it failed.
    """
    reports, first = _reports(player), True
    phase, lacking = 'waiting', ['nothing at all from the player']
    deadline = time.monotonic() + _PATIENCE[phase]
    while True:
        if phase != 'writing':
            for node in nodes:
                node.check_alive()
        try:
            report = reports.get(timeout=_POLL)
        except queue.Empty:
            report = {}
        if report and first:  # before it plays: this process may have to wait for its turn
            first = False
            player.go_first()
        if report.get('phase') == 'failed':
            raise RunError(report['reason'])
        lacking = report.get('lacking', lacking)
        if report.get('phase') == 'recorded':
            return
        if report.get('phase', phase) != phase:
            phase = report['phase']
            deadline = time.monotonic() + _PATIENCE[phase] + duration
            if phase == 'playing':
                progress.stage(f'Playing {duration:.1f} s')
            else:
                for node in nodes:
                    node.stop()  # before it misses what the player sent
        if phase == 'playing' and 'time' in report:
            progress.motion(report['time'], duration)
        if not report:
            player.check_alive()
        if time.monotonic() > deadline:
            if phase == 'waiting':
                those = ', '.join(f'the {node.name}' for node in nodes)
                stuck = f'{those} not there after {_PATIENCE[phase]:.0f} s'
                raise RunError(f'{stuck}: {", ".join(lacking)}{nodes[0].log_tail()}')
            raise RunError('the player does not come to an end')


def _reports(player: Child) -> queue.SimpleQueue[dict[str, Any]]:
    """Reports of the player as they come."""
    reports: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def read() -> None:
        assert player.process.stdout is not None
        for line in player.process.stdout:
            if line.startswith(b'{'):
                reports.put(json.loads(line))

    threading.Thread(target=read, daemon=True).start()
    return reports
