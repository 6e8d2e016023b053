# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated drives in their own process, and a cycle controlled by a test."""

import collections
import contextlib
import copy
import signal

import can
import numpy as np
import yaml
from processes import SimulatedDrives, simulated_bus, wait_for

from masticator_dynamics.drives.can_bus import open_bus
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.drive_cycle import DriveGoal, Setpoint
from masticator_dynamics.drives.exchange import CyclicExchange
from masticator_dynamics.drives.network import DriveNetwork
from masticator_dynamics.drives.state_machine import state_of
from masticator_dynamics.files.share import share_directory

SHIPPED = share_directory() / 'config' / 'drives.yaml'


def content(port=None):
    """The shipped drives file as data without shared parts, on its own bus."""
    data = yaml.safe_load(SHIPPED.read_text(encoding='utf-8'))
    data['drives'] = {name: copy.deepcopy(drive) for name, drive in data['drives'].items()}
    if port is not None:
        data['bus'] = simulated_bus(port)
    # Generous, for machines that are busy; what is lost at the shipped rate is a test of its own.
    data['cycle_rate'] = 50.0
    data['heartbeat'] = {'period': 0.1, 'timeout': 1.0}
    return data


class Robot:
    """`masticator simulate-drives` with a drives file; `inject` makes faults."""

    def __init__(self, folder, data):
        self.file = folder / 'drives.yaml'
        self.file.write_text(yaml.safe_dump(data), encoding='utf-8')
        self._drives = SimulatedDrives(self.file)
        self.inject = self._drives.fault

    def restart(self):
        """Remove all faults and reset the drives to their state after power-on."""
        self.inject('clear all')
        with open_bus(load_drives(self.file).bus) as bus:
            reset_node = can.Message(arbitration_id=0, is_extended_id=False, data=b'\x81\x00')
            bus.send(reset_node)
            booted = {0x700 + node: b'\x00' for node in range(1, 7)}.items()
            heard = set()

            def all_booted():
                if message := bus.recv(0.1):
                    heard.add((message.arbitration_id, bytes(message.data)))
                return booted <= heard

            wait_for(all_booted, 'drives to boot')

    def end(self):
        self._drives.end(signal.SIGTERM)


class Told:
    """A cycle that keeps all feedback and requests what a test sets."""

    def __init__(self, count=6):
        self.goal = DriveGoal.TORQUE_FREE
        self.position = self.effort = None
        self.newest = None
        self.kept = collections.deque(maxlen=3000)
        self._zeros = np.zeros(count)

    def __call__(self, feedback):
        self.newest = feedback
        self.kept.append(feedback)
        position = feedback.position if self.position is None else self.position
        return Setpoint(self.goal, position, self._zeros if self.effort is None else self.effort)

    def states(self):
        if self.newest is None:
            return []
        return [state_of(int(word)).words for word in self.newest.status_word]

    def reach(self, goal, state):
        """Request a goal and wait until all drives are in a state."""
        self.goal = goal
        wait_for(lambda: set(self.states()) == {state}, f'{goal}: {state}')


@contextlib.contextmanager
def connected(robot, file=None):
    """A network of the robot's drives."""
    file = file or robot.file
    network = DriveNetwork(load_drives(file), file)
    network.connect()
    try:
        yield network
    finally:
        network.close()


@contextlib.contextmanager
def exchanging(network, told=None, failed=lambda error: None):
    """A running exchange and its cycle."""
    told = told or Told(len(network.names))
    exchange = CyclicExchange(network, told, failed)
    exchange.start()
    try:
        yield exchange, told
    finally:
        exchange.stop()
