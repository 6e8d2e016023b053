# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What can be reached of running nodes, found in the ROS graph and not in a list of ours."""

import contextlib
import functools
import importlib

import can
from rclpy.serialization import serialize_message

from masticator_dynamics.drives.can_bus import open_bus
from masticator_dynamics.nodes.common.parameters import declarations
from masticator_dynamics.nodes.parameter_tables import settings_of

# Requests that are allowed to whoever may ask, and end what is to be looked at.
_NOT_ASKED = ('change_state',)
_LEFT_ALONE = ('use_sim_time', 'autostart')


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
        for name in robot.processes:
            for topic, kinds in self._node.get_subscriber_names_and_types_by_node(name, '/'):
                self._topics[topic] = of_type(kinds[0], 'msg')
            for service, kinds in self._node.get_service_names_and_types_by_node(name, '/'):
                if not service.endswith(_NOT_ASKED):
                    self._services[service] = of_type(kinds[0], 'srv')
            self._parameters += parameters_of(name)
        self._publishers, self._clients = {}, {}
        self._bus = open_bus(robot.drives.bus)
        nasty.words += self._parameters

    def round(self, rng):
        """Name and action of everything that can be sent, in random order; only some services."""
        services = [
            (f'service {service}', functools.partial(self.ask, service))
            for service in self._services
        ]
        others = [('bus frames', self.frame)]
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

    def frame(self):
        """Any frame except NMT and commands to drives, which bypass all of our software."""
        rng = self._nasty.rng
        identifier = int(rng.integers(0x80, 0x800))
        if 0x200 < identifier < 0x280:
            identifier += 0x80
        data = rng.bytes(int(rng.integers(0, 9)))
        self._bus.send(can.Message(arbitration_id=identifier, is_extended_id=False, data=data))

    def close(self):
        self._bus.shutdown()


def of_type(text, part):
    package, _, name = text.split('/')
    return getattr(importlib.import_module(f'{package}.{part}'), name)


def parameters_of(node):
    """Names of the parameters that a node declares."""
    return [declaration.name for declaration in declarations(settings_of(node))]
