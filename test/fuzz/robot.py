# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes and simulated drives as processes, and what must hold for them whatever they receive."""

import pathlib
import re
import struct

import numpy as np
from nodes.drives_harness import RPDO, BusTrace, write_drives
from nodes.harness import NodeProcess, Peer
from processes import SimulatedDrives, wait_for
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from masticator_dynamics import Mechanism
from masticator_dynamics.drives.configuration import load_drives

ALL = ('dynamics', 'servo_drives', 'joint_state_completion', 'inertia_estimator',
       'inertia_coupling', 'frame_path', 'twin', 'bite_observer')  # fmt: skip
LATE = 20e-3  # s
GROWTH = 1.2  # of the memory before
KINDS = ('resident', 'private')
# In a log: no message may make these.
OURS = 'Traceback', 'internal error', 'the simulation ended'
_TO_DRIVE = struct.Struct('<Hih')  # control word, position, torque


class Robot:
    """The processes under test.

    Parameters
    ----------
    folder : pathlib.Path
    nodes : sequence of str
    """

    def __init__(self, folder, nodes=ALL):
        self.mechanism = Mechanism.load('masticator')
        file = write_drives(folder, absolute=True)
        self.drives = load_drives(str(file))
        self.simulator, self.trace = SimulatedDrives(file), BusTrace(file)
        (folder / 'twin').mkdir()
        twin = write_drives(folder / 'twin', absolute=True)
        special = {
            'servo_drives': {'drives': file, 'add_bite_effort': True},
            'twin': {'drives': twin, 'food': 'soft', 'fixture': False},
        }
        buses = {'servo_drives': file, 'twin': twin}
        self.buses = {name: load_drives(str(buses[name])).bus for name in nodes if name in buses}
        self.processes = {
            name: NodeProcess(name, wait=False, **special.get(name, {})) for name in nodes
        }
        for process in self.processes.values():
            process.wait_until_ready()
        self.peer = Peer('dynamics')
        self.efforts = self.peer.record(Float64MultiArray, 'feedforward_effort')
        topics = {'servo_drives': 'servo_drives/state', 'twin': 'twin/joint_states'}
        self.measured = {name: self.peer.record(JointState, topics[name]) for name in self.buses}
        wait_for(lambda: self.efforts, 'efforts')
        wait_for(lambda: all(self.measured.values()), 'states')
        self.memory = self.taken()

    def taken(self):
        """Resident and private memory of each process, MB."""
        return {name: memory(process.process.pid) for name, process in self.alive()}

    def alive(self):
        return [(n, p) for n, p in self.processes.items() if p.process.poll() is None]

    def lateness(self):
        """Largest lateness of recent cycles of node dynamics, s."""
        status = self.peer.status('cycle')
        return float(status[2]['cycle lateness max (us)']) * 1e-6 if status else 0.0

    def faults(self):
        """Violations at present, one sentence each."""
        yield from self._dead()
        yield from self._told()
        yield from self._published()
        yield from self._on_the_bus()
        del self.peer.diagnostics[:-50]

    def _dead(self):
        for name, process in self.processes.items():
            code = process.process.poll()
            if code is not None:
                yield f'node {name} ended with {code}: {process.lines[-5:]}'
        if self.simulator.process.poll() is not None:
            yield f'simulated drives ended: {self.simulator.lines[-5:]}'

    def _told(self):
        for name, process in self.processes.items():
            lines = [line for line in process.lines if any(words in line for words in OURS)]
            if lines:
                yield f'node {name} logged: {lines[0]}'
            if len(process.lines) > 1000:
                del process.lines[:-200]

    def _published(self):
        """Check topics that the fuzzer leaves alone, because no node subscribes to them."""
        limits = self.mechanism.effort_limits * (1.0 + 1e-9)
        for message in take_all(self.efforts):
            if not (np.abs(message.data) <= limits).all():
                yield f'feedforward_effort {list(message.data)} beyond {limits}'
        for name, messages in self.measured.items():
            for message in take_all(messages):
                rows = (message.position, message.velocity, message.effort)
                if not all(np.isfinite(row).all() for row in rows):
                    yield f'state of {name} is not finite: {rows}'

    def _on_the_bus(self):
        """The torques sent to drives: efforts plus what motor and gear need themselves."""
        for drive in self.drives.drives.values():
            motor = drive.motor
            rated = motor.rated_torque * motor.gear_ratio * motor.efficiency
            most = 1.5 * 1000.0 * drive.limits.effort / rated + 1.0
            for _, _, data in self.trace.since(0.0, RPDO + drive.node_id):
                torque = _TO_DRIVE.unpack(data)[2] if len(data) == _TO_DRIVE.size else 0
                if abs(torque) > most:
                    yield f'drive {drive.node_id} was sent {torque} of {most:.0f} per mille'
        self.trace.frames.clear()

    def grown(self):
        """Processes whose memory has not returned to normal."""
        now = self.taken()
        return [
            f'{kind} memory of {name}: {later:.0f} MB after {before:.0f} MB'
            for name in now
            for kind, later, before in zip(KINDS, now[name], self.memory[name], strict=True)
            if later > GROWTH * before
        ]

    def close(self):
        self.peer.close()
        codes = {name: process.end() for name, process in self.processes.items()}
        self.trace.close()
        self.simulator.end()
        return [f'node {name} ended with {code}' for name, code in codes.items() if code]


def memory(pid):
    """Resident and private (unshared) memory of a process, MB."""
    text = pathlib.Path(f'/proc/{pid}/smaps_rollup').read_text(encoding='ascii')
    return tuple(
        sum(map(int, re.findall(rf'^{what}: +(\d+) kB', text, re.MULTILINE))) / 1024.0
        for what in ('Rss', r'Private_\w+')
    )


def take_all(messages):
    """Receive what has arrived; more may arrive meanwhile."""
    count = len(messages)
    taken = messages[:count]
    del messages[:count]
    return taken
