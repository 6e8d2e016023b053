# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Components of the closed loop: food, drives, and the nodes that it runs."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
from collections.abc import Iterator

import yaml

from masticator_dynamics.drives.simulated_bus import free_port, on_simulated_bus
from masticator_dynamics.errors import InputError
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.recording.processes import (
    Child,
    Parameters,
    node_arguments,
    stopped_at_the_end,
)
from masticator_dynamics.robot.recording.script import BITE_TIMEOUT
from masticator_dynamics.robot.recording.stalls import stalls_file
from masticator_dynamics.ros.executable import module_of

DYNAMICS_RATE = 500.0  # Hz, of the dynamics node and of what the twin publishes
_RATES = (50.0, 500.0)  # Hz
_STEPS_PER_SECOND = 2000  # of the simulated servos; a cycle must be a whole number of them
NODES = ('twin', 'servo_drives', 'dynamics')
# What the nodes log once they are active.
_READY = {'twin': 'simulating ', 'servo_drives': 'drives of ', 'dynamics': 'efforts of '}


@dataclasses.dataclass(frozen=True)
class ClosedLoop:
    """Simulated drives and food of all passes of a demo.

    Attributes
    ----------
    rate : float
        Cycles of the drives, Hz.
    food : str
        Name of a shipped food, or path.
    drives : str
        Drives file, as for node `servo_drives`; its bus is replaced by one on this machine.
    twin_drives : str
        The same for the twin, for a robot that differs from its file. Empty: as ``drives``.
    commands : float
        Rate of node dynamics and of what the twin publishes, Hz.

    Raises
    ------
    InputError
        For a rate that the drives cannot run at.
    """

    rate: float = 250.0
    food: str = 'soft'
    drives: str = 'drives.yaml'
    twin_drives: str = ''
    commands: float = DYNAMICS_RATE

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
            content = yaml.safe_load(on_simulated_bus(source, port))
            content['cycle_rate'] = self.rate
            file.write_text(yaml.safe_dump(content, sort_keys=False), encoding='utf-8')
        return files


@contextlib.contextmanager
def running_nodes(
    work: pathlib.Path,
    environment: dict[str, str],
    name: str,
    mechanism: Mechanism,
    loop: ClosedLoop,
    *,
    forward_effort: bool = True,
) -> Iterator[list[Child]]:
    """Node dynamics, drives and the twin, ready but not enabled.

    Parameters
    ----------
    work : pathlib.Path
        Folder of the drives files.
    environment : dict
        Of the processes.
    name : str
        Name of the pass; the names of its log files begin with it.
    mechanism : Mechanism
        What moves.
    loop : ClosedLoop
        Food, rate and drives.
    forward_effort : bool
        Whether the drives get the feedforward efforts.

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
    drives, twin_drives = loop.write_drives(work)
    file: Parameters = {'mechanism': str(mechanism.description.file)}
    parameters: dict[str, Parameters] = {
        'twin': {
            'drives': str(twin_drives), 'food': loop.food, 'rate': loop.commands,
        },
        'servo_drives': {'drives': str(drives), 'forward_effort': forward_effort},
        'dynamics': {
            'drives': str(drives),
            'rate': loop.commands, 'bite_force.timeout': BITE_TIMEOUT,
            'publish_joint_states': False, 'visual_rate': 10.0,
        },
    }  # fmt: skip
    children: list[Child] = []

    def start(node: str, *remappings: str) -> Child:
        module = module_of(f'{node}_node')
        arguments = node_arguments(module, file | parameters[node], *remappings)
        child = Child(f'{node} node', arguments, environment, work / f'{name}_{node}.log')
        children.append(child)
        return child

    with stopped_at_the_end(children):
        twin, dynamics = start('twin'), start('dynamics')
        twin.wait_until_logged(_READY['twin'])  # unanswered drives are a fault
        servo_drives = start('servo_drives', '~/command:=/feedforward_state')
        nodes = {'servo_drives': servo_drives, 'dynamics': dynamics, 'twin': twin}
        for node, child in nodes.items():
            child.wait_until_logged(_READY[node])
            child.go_first()
        watch = ['-m', 'masticator_dynamics.robot.recording.stall_watch']
        children.append(Child('watch', watch, environment, stalls_file(work, name)))
        yield children


def logs(work: pathlib.Path, passes: tuple[str, ...]) -> str:
    """What the nodes of all passes logged."""
    files = [work / f'{name}_{node}.log' for name in passes for node in NODES]
    parts = [(f.stem, f.read_text(encoding='utf-8', errors='replace')) for f in files if f.exists()]
    return '\n'.join(f'--- {title}\n{text}' for title, text in parts)
