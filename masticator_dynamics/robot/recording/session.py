# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runs node and player as processes until the record is complete, or says why it is not."""

from __future__ import annotations

import json
import pathlib
import queue
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import click

from masticator_dynamics.robot.recording.nodes import Node, running_nodes
from masticator_dynamics.robot.recording.processes import Child, RunError, ros_environment
from masticator_dynamics.robot.recording.script import Script

PLAYER_MODULE = 'masticator_dynamics.robot.recording.play'
# s: until everything is there, without a report while it plays, beyond the motion's duration
_PATIENCE = {'waiting': 120.0, 'playing': 30.0, 'writing': 60.0}
_POLL = 0.1  # s


class Progress:
    """Stages of a run in words, and seconds of the motion as a bar if there is a terminal."""

    def __init__(self) -> None:
        self._bar: Any = None

    def stage(self, text: str) -> None:
        """Say what happens next."""
        self.close()
        print(text, file=sys.stderr, flush=True)

    def motion(self, time: float, duration: float) -> None:
        """Show that so many seconds have been played."""
        if not sys.stderr.isatty():
            return
        if self._bar is None:
            self._bar = click.progressbar(length=round(10.0 * duration), file=sys.stderr)
        self._bar.update(round(10.0 * time) - self._bar.pos)

    def close(self) -> None:
        """End the bar."""
        if self._bar is not None:
            self._bar.render_finish()
            self._bar = None


def record_session(
    work: pathlib.Path,
    name: str,
    nodes: Sequence[Node],
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
        Name of the pass: the names of its record and of all logs begin with it.
    nodes : sequence of Node
        What it is played to.
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
    with running_nodes(work, environment, name, nodes) as children:
        running = list(reversed(children))
        log = work / f'{name}_player.log'
        player = Child('player', [*arguments, *options], environment, log, reports=True)
        children.append(player)
        supervise(running, player, script.duration, progress)
    return record


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
