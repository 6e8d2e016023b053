# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated drives and a client on one virtual bus, in the drives' own time."""

import contextlib
import itertools

import can

from drives.cia_client import Client
from drives.simulated import drives, simulation
from masticator_dynamics.drives.simulator.simulator import DriveSimulator

CHANNELS = itertools.count()


class Bench:
    """Drives 1 and 2 (crank_1, crank_2), and a client that steps them while it waits."""

    def __init__(self, **changes):
        settings = {'interface': 'virtual', 'channel': f'bench-{next(CHANNELS)}'}
        self.buses = [can.Bus(**settings), can.Bus(**settings)]
        self.lines = []
        self.simulator = DriveSimulator(
            drives(**settings), simulation(**changes), self.buses[0], answer=self.lines.append
        )
        self.client = Client(self.buses[1], self.simulator.step)

    def advance(self, duration):
        self.simulator.advance(duration)

    def servo(self, joint='crank_1'):
        return self.simulator.axes.servos[joint]

    def spin(self, velocity):
        """Turn all motors at a speed, rad/s."""
        plant = self.simulator.axes.plant
        plant.velocity = 0.0 * plant.velocity + velocity
        self.advance(0.02)  # the measured velocity follows

    def emergencies(self, node=1):
        """Emergencies since the last call, as (code, register)."""
        found = self.client.data_of(0x80 + node)
        self.client.forget()
        return [(int.from_bytes(data[:2], 'little'), data[2]) for data in found]

    def close(self):
        for bus in self.buses:
            bus.shutdown()


@contextlib.contextmanager
def opened(**changes):
    """A bench, closed after use."""
    found = Bench(**changes)
    try:
        yield found
    finally:
        found.close()
