# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The nodes of a pass as processes, and a session: they run until a record is complete.

Node dynamics alone, or in closed loop with drives and twin, where the robot's drives file is used
at another rate, or on a bus where only simulated drives answer.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
import queue
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import click
import yaml

from masticator_dynamics.drives.configuration import find_file, load_drives
from masticator_dynamics.errors import InputError
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
from masticator_dynamics.robot.recording.stalls import stalls_file

GROUP = '239.74.163.2'  # python-can's own multicast group; frames do not leave the machine


def on_simulated_bus(path: str | pathlib.Path, port: int, rate: float | None = None) -> str:
    """Text of a drives file whose bus connects processes of this machine but no robot.

    A file that names such a bus already (``udp_multicast``, or a virtual CAN device ``vcan...``)
    keeps it; a real device or the bus within one process is replaced. Encoders become absolute:
    a simulated robot needs no homing.

    Parameters
    ----------
    path : str or pathlib.Path
        As for `load_drives`.
    port : int
        UDP port of the bus, a different one for each robot.
    rate : float, optional
        In place of ``cycle_rate``, Hz.

    Raises
    ------
    DescriptionError
        As `load_drives`.
    """
    bus = load_drives(path).bus
    content = _content(path, rate)
    virtual_device = bus.interface == 'socketcan' and bus.channel.startswith('vcan')
    if bus.interface != 'udp_multicast' and not virtual_device:
        content['bus'] = {'interface': 'udp_multicast', 'channel': GROUP, 'port': port}
    for drive in content['drives'].values():
        drive['motor']['absolute'] = True  # simulated encoders know their position
    return yaml.safe_dump(content, sort_keys=False)


def at_rate(path: str | pathlib.Path, rate: float) -> str:
    """Text of a drives file with another ``cycle_rate`` (Hz); raises as `load_drives`."""
    load_drives(path)
    return yaml.safe_dump(_content(path, rate), sort_keys=False)


def _content(path: str | pathlib.Path, rate: float | None) -> dict[str, Any]:
    """Content of a drives file, usable from another folder, at another rate."""
    file = find_file(path)
    content: dict[str, Any] = yaml.safe_load(file.read_text(encoding='utf-8'))
    if rate is not None:
        content['cycle_rate'] = rate
    for drive in content['drives'].values():
        beside = file.parent / str(drive.get('eds', ''))
        if beside.is_file():
            drive['eds'] = str(beside.absolute())
    return content


def free_port() -> int:
    """A UDP port that nobody listens on now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(('', 0))
        return int(probe.getsockname()[1])


_COMMANDS = 500.0  # Hz, at most, of the dynamics node and of what the twin publishes
_RATES = (50.0, 500.0)  # Hz
_STEPS_PER_SECOND = 2000  # of the simulated servos; a cycle must be a whole number of them
VISUAL_RATE = 100.0  # Hz, of joint states and contact forces
NODES = ('twin', 'servo_drives', 'dynamics')


@dataclasses.dataclass(frozen=True)
class NodeSetup:
    """A node to run."""

    name: str  # such as ``dynamics``
    ready: str  # what it logs once it is active
    parameters: Parameters  # values by parameter name
    remappings: tuple[str, ...] = ()  # as ``from:=to``
    after: str = ''  # node that must be ready before this one starts; empty: none


def dynamics_alone(mechanism: Mechanism, rate: float, limits: bool = False) -> list[NodeSetup]:
    """Node dynamics at a rate (Hz), with no drives; efforts are chosen within limits or not."""
    rate, visual_rate = float(rate), min(VISUAL_RATE, float(rate))
    return [_dynamics(mechanism, rate=rate, visual_rate=visual_rate, limits=limits)]


def _dynamics(mechanism: Mechanism, **parameters: str | float | bool) -> NodeSetup:
    common: Parameters = {
        'mechanism': str(mechanism.description.file),
        'bite_force.timeout': BITE_TIMEOUT,
    }
    return NodeSetup('dynamics', 'efforts of ', common | parameters)


_EXACT: Parameters = {'force.sensor_noise': 0.0}  # of the twin's force


@dataclasses.dataclass(frozen=True)
class ClosedLoop:
    """Simulated drives and food of all passes of a demo.

    Raises
    ------
    InputError
        For a rate that the drives cannot run at.
    """

    rate: float = 250.0  # cycles of the drives, Hz
    food: str = 'soft'  # name of a shipped food, or path
    # Drives file, as for node `servo_drives`; its bus is replaced by one on this machine.
    drives: str = 'drives.yaml'
    # The same for the twin, for a robot that differs from its file. Empty: as ``drives``.
    twin_drives: str = ''

    def __post_init__(self) -> None:
        """Refuse an impossible rate."""
        low, high = _RATES
        steps = _STEPS_PER_SECOND / self.rate if self.rate > 0.0 else 0.5
        if not low <= self.rate <= high or abs(steps - round(steps)) > 1e-9:
            raise InputError(
                f'the drives cannot run at {self.rate:g} Hz: {low:g} to {high:g} Hz with a period '
                f'of whole half milliseconds, such as 250 or 500'
            )

    def write_drives(self, folder: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
        """Drives files of node `servo_drives` and of the twin, on a bus of their own."""
        port = free_port()
        files = folder / 'drives.yaml', folder / 'twin_drives.yaml'
        for file, source in zip(files, (self.drives, self.twin_drives or self.drives), strict=True):
            file.write_text(on_simulated_bus(source, port, self.rate), encoding='utf-8')
        return files

    def nodes(
        self, folder: pathlib.Path, mechanism: Mechanism, *, forward_effort: bool = True
    ) -> list[NodeSetup]:
        """Node dynamics, drives and the twin.

        Parameters
        ----------
        folder : pathlib.Path
            For the drives files.
        forward_effort : bool
            Whether the drives get the feedforward efforts.
        """
        drives, twin_drives = map(str, self.write_drives(folder))
        file = str(mechanism.description.file)
        commands = min(2.0 * self.rate, _COMMANDS)  # a slow computer is spared both
        twin: Parameters = {
            'mechanism': file, 'drives': twin_drives, 'food': self.food, 'rate': commands,
        }  # fmt: skip
        exchange: Parameters = {
            'mechanism': file, 'drives': drives, 'forward_effort': forward_effort,
        }  # fmt: skip
        return [
            NodeSetup('twin', 'simulating ', twin),
            _dynamics(
                mechanism, drives=drives, rate=commands, publish_joint_states=False,
                visual_rate=10.0, **_EXACT,
            ),
            # Drives that do not answer are a fault.
            NodeSetup(
                'servo_drives', 'drives of ', exchange,
                ('~/command:=/feedforward_state',), after='twin',
            ),
        ]  # fmt: skip


@contextlib.contextmanager
def running_nodes(
    work: pathlib.Path, environment: dict[str, str], name: str, nodes: Sequence[NodeSetup]
) -> Iterator[list[Child]]:
    """Nodes as processes, active; drives are not enabled.

    Parameters
    ----------
    work : pathlib.Path
        Folder of the log files.
    environment : dict
        Of the processes.
    name : str
        Name of the pass; the names of its log files begin with it.
    nodes : sequence of NodeSetup
        Started in this order.

    Yields
    ------
    list of Child
        The last is the first to be stopped; it watches the computer. Processes added to the list
        are ended, too.

    Raises
    ------
    RunError
        When one ends early or does not become ready.
    """
    ready = {node.name: node.ready for node in nodes}
    started: dict[str, Child] = {}
    running: list[Child] = []
    with stopped_at_the_end(running):
        for node in nodes:
            if node.after:
                started[node.after].wait_until_logged(ready[node.after])
            arguments = node_arguments(f'{node.name}_node', node.parameters, *node.remappings)
            log = work / f'{name}_{node.name}.log'
            started[node.name] = Child(f'{node.name} node', arguments, environment, log)
            running.append(started[node.name])
        for node_name, child in started.items():
            child.wait_until_logged(ready[node_name])
            child.go_first()
        watch = ['-m', 'masticator_dynamics.robot.recording.stalls']
        running.append(Child('watch', watch, environment, stalls_file(work, name)))
        yield running


def logs(work: pathlib.Path, names: Sequence[str]) -> str:
    """What the nodes of passes with these names logged."""
    files = [work / f'{name}_{node}.log' for name in names for node in NODES]
    parts = [(f.stem, f.read_text(encoding='utf-8', errors='replace')) for f in files if f.exists()]
    return '\n'.join(f'--- {title}\n{text}' for title, text in parts)


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
    nodes: Sequence[NodeSetup],
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
    nodes : sequence of NodeSetup
        What it is played to.
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
