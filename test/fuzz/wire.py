# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What can be reached of running nodes, found in the ROS graph and not in a list of ours."""

import contextlib
import functools
import importlib
import struct

import can
from processes import wait_for
from rclpy.serialization import serialize_message

from masticator_dynamics.drives.can_bus import open_bus
from masticator_dynamics.ros.common.managed_node import declarations
from tools.parameter_tables import settings_of

# Requests that are allowed to whoever may ask, and end what is to be looked at.
_NOT_ASKED = ('change_state',)
_LEFT_ALONE = ('use_sim_time', 'autostart')
# Kinds of CAN frames; the first is CANopen's only one.
FRAMES = {
    'data': {},
    'remote': {'is_remote_frame': True},
    'extended': {'is_extended_id': True},
    'FD': {'is_fd': True},
    'error': {'is_error_frame': True},
}
# NMT, SYNC and emergencies, time, PDOs, answers and requests by SDO, heartbeats, LSS.
_SERVICES = (0x000, 0x080, 0x100, 0x180, 0x200, 0x280, 0x580, 0x600, 0x700, 0x7E0)
_FD_LENGTHS = (*range(9), 12, 16, 20, 24, 32, 48, 64)
_SDO = struct.Struct('<BHBI')  # command, index, subindex, value
_COMMANDS = (0x00, 0x20, 0x22, 0x23, 0x2B, 0x2F, 0x40, 0x41, 0x43, 0x4B, 0x4F, 0x60, 0x80, 0xA1)
_OBJECTS = (0x1000, 0x1005, 0x1016, 0x1400, 0x1600, 0x2002, 0x6040, 0x6041, 0x6060, 0x6072)
_FAULTS = (
    'heartbeat all', 'bus-off crank_1', 'delay crank_2 0.1', 'drop all 0.5', 'fault all 0x8611',
    'deaf crank_3 4', 'stuck-encoder crank_4', 'over-temperature all', 'clear all',
)  # fmt: skip


class Wire:
    """Topics, services, parameters and bus of the nodes under test.

    Parameters
    ----------
    robot : Robot
    nasty : Nasty
    """

    def __init__(self, robot, nasty):
        self._node, self._nasty = robot.peer.node, nasty
        self._topics, self._services, self._parameters = {}, {}, []
        wait_for(lambda: robot.processes.keys() <= set(self._node.get_node_names()), 'all nodes')
        for name in robot.processes:
            for topic, kinds in self._node.get_subscriber_names_and_types_by_node(name, '/'):
                self._topics[topic] = of_type(kinds[0], 'msg')
            for service, kinds in self._node.get_service_names_and_types_by_node(name, '/'):
                if not service.endswith(_NOT_ASKED):
                    self._services[service] = of_type(kinds[0], 'srv')
            self._parameters += parameters_of(name)
        self._publishers, self._clients = {}, {}
        self._buses = {name: open_bus(bus) for name, bus in robot.buses.items()}
        nasty.words += [*self._parameters, *_FAULTS]

    def round(self, rng):
        """Name and action of everything that can be sent, in random order; only some services."""
        services = [
            (f'service {service}', functools.partial(self.ask, service))
            for service in self._services
        ]
        others = [
            (f'{kind} frames to {name}', functools.partial(self.frame, name, kind))
            for name in self._buses
            for kind in FRAMES
        ]
        for topic in self._topics:
            for what, spoil in (('topic', False), ('bytes', True)):
                others.append((f'{what} {topic}', functools.partial(self.publish, topic, spoil)))
        some = [services[k] for k in rng.permutation(len(services))[: len(others)]]
        both = others + some
        return [both[k] for k in rng.permutation(len(both))]

    def publish(self, topic, spoil):
        self._nasty.begin()
        kind = self._topics[topic]
        if topic not in self._publishers:
            self._publishers[topic] = self._node.create_publisher(kind, topic, 10)
        message = self._nasty.message(kind)
        content = self._nasty.spoiled(serialize_message(message)) if spoil else message
        with contextlib.suppress(RuntimeError):  # some are too large for the middleware to send
            self._publishers[topic].publish(content)

    def ask(self, service):
        self._nasty.begin()
        kind = self._services[service]
        if service not in self._clients:
            self._clients[service] = self._node.create_client(kind, service)
        request = self._nasty.message(kind.Request)
        for parameter in getattr(request, 'parameters', ()):
            name = self._nasty.pick(self._parameters) if self._parameters else parameter.name
            parameter.name = parameter.name if name in _LEFT_ALONE else name
            if parameter.name in _LEFT_ALONE:
                parameter.name = 'x'
        future = self._clients[service].call_async(request)
        future.add_done_callback(lambda _: None)  # whether it answers is not asked here

    def frame(self, name, kind):
        """A frame; to ``servo_drives``' drives no command, which would bypass that node."""
        rng, flags = self._nasty.rng, {'is_extended_id': False} | FRAMES[kind]
        identifier = int(rng.integers(0x800))
        if rng.random() < 0.5:
            identifier = self._nasty.pick(_SERVICES) + int(rng.integers(8))
        if kind == 'data' and name == 'servo_drives':
            identifier += 0x80 * (identifier < 0x80 or 0x200 < identifier < 0x280)
        if kind in ('extended', 'error'):
            identifier |= int(self._nasty.pick((0, 0, 1 << 28)))
        lengths = _FD_LENGTHS if kind == 'FD' else range(9)
        data = rng.bytes(int(self._nasty.pick(lengths)))
        if kind == 'data' and rng.random() < 0.5:
            value = int(rng.integers(2**32)) >> int(rng.integers(32))
            subindex = int(rng.integers(4))
            data = _SDO.pack(
                self._nasty.pick(_COMMANDS), self._nasty.pick(_OBJECTS), subindex, value
            )
        content = {'dlc': len(data)} if kind == 'remote' else {'data': data}
        self._buses[name].send(can.Message(arbitration_id=identifier, **flags, **content))

    def close(self):
        for bus in self._buses.values():
            bus.shutdown()


def of_type(text, part):
    package, kind, name = text.split('/')
    if kind == 'action':
        name, _, service = name.partition('_')
        action = getattr(importlib.import_module(f'{package}.action'), name)
        return getattr(action.Impl, f'{service}Service')
    return getattr(importlib.import_module(f'{package}.{part}'), name)


def parameters_of(node):
    """Names of the parameters that a node declares."""
    return [declaration.name for declaration in declarations(settings_of(node))]
