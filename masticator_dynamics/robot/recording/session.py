# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runs node and player as processes until the record is complete, or says why it is not."""

from __future__ import annotations

import contextlib
import json
import pathlib
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.recording.processes import (
    Child,
    Parameters,
    RunError,
    node_arguments,
    ros_environment,
    stopped_at_the_end,
)
from masticator_dynamics.robot.recording.script import BITE_TIMEOUT, Script
from masticator_dynamics.robot.recording.stages import Progress

NODE_MODULE = 'masticator_dynamics.ros.dynamics_node'
PLAYER_MODULE = 'masticator_dynamics.robot.recording.play'
VISUAL_RATE = 100.0  # Hz, of joint states and contact forces
# s: until everything is there, without a report while it plays, beyond the motion's duration
_PATIENCE = {'waiting': 120.0, 'playing': 30.0, 'writing': 60.0}
_POLL = 0.1  # s

# Runs nodes for a block: folder for logs, environment of processes; the last is stopped first.
Nodes = Callable[[pathlib.Path, dict[str, str]], contextlib.AbstractContextManager[list[Child]]]


def record_session(
    work: pathlib.Path,
    name: str,
    nodes: Nodes,
    script: Script,
    progress: Progress,
    *options: str,
) -> pathlib.Path:
    """Play a script to nodes started for it and record the answers.

    Parameters
    ----------
    work : pathlib.Path
        Folder for logs and the record.
    name : str
        Name of the record: the names of its file and of the player's log begin with it.
    nodes : callable
        Runs the nodes.
    script : Script
        What is played.
    progress : Progress
        Shows the progress.
    options : str
        For the player's process.

    Returns
    -------
    pathlib.Path
        The MCAP file.

    Raises
    ------
    RunError
        When a process ends early or makes no progress, or the drives stop.
    """
    record, script_file = work / f'{name}.mcap', work / 'script.npz'
    script.save(script_file)
    environment = ros_environment(work / 'ros_log')
    arguments = ['-m', PLAYER_MODULE, '--script', str(script_file), '--record', str(record)]
    with nodes(work, environment) as children:
        running = list(reversed(children))
        log = work / f'{name}_player.log'
        player = Child('player', [*arguments, *options], environment, log, reports=True)
        children.append(player)
        supervise(running, player, script.duration, progress)
    return record


@contextlib.contextmanager
def dynamics_alone(
    work: pathlib.Path, environment: dict[str, str], mechanism: Mechanism, rate: float
) -> Iterator[list[Child]]:
    """Node dynamics, with no drives.

    Parameters
    ----------
    work : pathlib.Path
        Folder for its log.
    environment : dict
        Of the process.
    mechanism : Mechanism
        What moves.
    rate : float
        Control cycles per second, Hz.

    Yields
    ------
    list of Child
        Processes added to it are ended, too.
    """
    parameters: Parameters = {
        'mechanism': str(mechanism.description.file),
        'rate': float(rate),
        'bite_force.timeout': BITE_TIMEOUT,
        'visual_rate': min(VISUAL_RATE, float(rate)),
    }
    children: list[Child] = []
    with stopped_at_the_end(children):
        arguments = node_arguments(NODE_MODULE, parameters)
        children.append(Child('dynamics node', arguments, environment, work / 'node.log'))
        yield children


def supervise(nodes: Sequence[Child], player: Child, duration: float, progress: Progress) -> None:
    """Follow the player's reports until it has recorded; the nodes end when it starts writing.

    Parameters
    ----------
    nodes : sequence of Child
        Those that must run while the player waits and plays, in the order to stop them in.
    player : Child
        Plays and records; its standard output is a pipe.
    duration : float
        s, of the motion.
    progress : Progress
        Shows the progress of the motion.

    Raises
    ------
    RunError
        When a process ends early, makes no progress, or reports a failure.
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
            deadline = time.monotonic() + _PATIENCE[phase]
        if not report:
            player.check_alive()
        if time.monotonic() > deadline:
            if phase == 'waiting':
                those = ', '.join(f'the {node.name}' for node in nodes)
                stuck = f'{those} not there after {_PATIENCE[phase]:.0f} s'
                raise RunError(f'{stuck}: {", ".join(lacking)}{nodes[0].log_tail()}')
            raise RunError(f'the player has stood still while {phase}{player.log_tail()}')


def _reports(player: Child) -> queue.SimpleQueue[dict[str, Any]]:
    """Reports of the player as they arrive."""
    reports: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def read() -> None:
        assert player.process.stdout is not None
        for line in player.process.stdout:
            if line.startswith(b'{'):
                reports.put(json.loads(line))

    threading.Thread(target=read, daemon=True).start()
    return reports
