# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Who else is connected to a node, and mistakes in that which no message would show."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rclpy.duration import Infinite
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.qos import LivelinessPolicy, QoSProfile, qos_check_compatible

from masticator_dynamics.ros.common.diagnostics import ERROR, OK, WARN, Status, shortened

_SHARED = {'/diagnostics', '/parameter_events', '/rosout', '/tf', '/tf_static'}
_DESCRIPTION = 'robot_description'  # a topic that nodes around this one take the robot from
_EVERY = 0.15  # s; a look holds Python's lock for as long as a cycle takes
_UNKNOWN = '_NODE_NAME_UNKNOWN_'  # what the middleware calls a node that it has not heard of yet


class ConnectionFinding(NamedTuple):
    """What is wrong with a topic, and how bad that is."""

    level: bytes
    text: str


class Connections:
    """Looks who else is connected to the topics of a node, one topic at a time.

    A second publisher on a topic that the node publishes is a mistake, and so is an end that
    receives or reaches nothing because its quality of service or its type does not fit. So are two
    publishers of ``robot_description``: ros2_control takes whichever robot comes first.

    Attributes
    ----------
    status : Status
        What is wrong, as of the latest look.
    """

    def __init__(self, node: Node):
        self._node = node
        self._turn, self._time = 0, -_EVERY
        self._found: dict[str, tuple[ConnectionFinding, ...]] = {}
        self.status = self._status()

    def look(self) -> None:
        """Look at the next topic, if the last look is some time ago, and log what is new."""
        if time.monotonic() - self._time < _EVERY:
            return
        self._time = time.monotonic()
        try:
            ends = _by_topic(self._node)
            if not ends:
                return
            ends.setdefault(self._node.resolve_topic_name(_DESCRIPTION), ([], []))
            self._turn = (self._turn + 1) % len(ends)
            topic = sorted(ends)[self._turn]
            findings = tuple(_findings(self._node, topic, *ends[topic]))
        except InvalidHandle:
            return  # a topic has just been destroyed
        self._found = {topic_before: self._found.get(topic_before, ()) for topic_before in ends}
        new = set(findings) - set(self._found[topic])
        self._found[topic] = findings
        for finding in sorted(new):
            self._node.get_logger().warning(finding.text)
        self.status = self._status()

    def _status(self) -> Status:
        findings = [finding for of_topic in self._found.values() for finding in of_topic]
        level = max((finding.level for finding in findings), default=OK)
        text = '; '.join(finding.text for finding in findings) or 'as they should be'
        return Status('connections', level, shortened(text), {'wrong': len(findings)})


def _by_topic(node: Node) -> dict[str, tuple[list[Any], list[Any]]]:
    """Publishers and subscriptions of a node by topic, without those that all nodes share."""
    ends: dict[str, tuple[list[Any], list[Any]]] = {}
    for kind, endpoints in enumerate((node.publishers, node.subscriptions)):
        for end in tuple[Any, ...](endpoints):
            if end.topic_name not in _SHARED:
                ends.setdefault(end.topic_name, ([], []))[kind].append(end)
    return ends


def _findings(
    node: Node, topic: str, publishers: Sequence[Any], subscriptions: Sequence[Any]
) -> Iterator[ConnectionFinding]:
    """What is wrong with a topic of which the node has these publishers and subscriptions."""
    theirs = [end for end in node.get_publishers_info_by_topic(topic) if end.node_name != _UNKNOWN]
    if publishers:
        names = [_name(end) for end in theirs]
        own_name = node.get_fully_qualified_name()
        for name in dict.fromkeys(names):
            if name != own_name:
                yield ConnectionFinding(ERROR, f'{topic} is also published by {name}')
            elif names.count(own_name) > len(publishers):
                yield ConnectionFinding(
                    ERROR, f'{topic} is also published by another node {own_name}'
                )
    if subscriptions:
        for end in theirs:
            if why := _mismatch([(end, mine) for mine in subscriptions], end):
                yield ConnectionFinding(ERROR, f'{topic} is not received from {_name(end)}: {why}')
    if len(theirs) > 1 and topic == node.resolve_topic_name(_DESCRIPTION):
        both = ' and '.join(sorted(map(_name, theirs)))
        text = f'{topic} is published by {both}: the controller manager may have the other robot'
        yield ConnectionFinding(ERROR, text)
    for mine in publishers[:1]:
        for end in node.get_subscriptions_info_by_topic(topic):
            if why := _mismatch([(mine, end)], end):
                yield ConnectionFinding(WARN, f'{topic} does not reach {_name(end)}: {why}')


def _mismatch(pairs: Sequence[tuple[Any, Any]], theirs: Any) -> str:
    """Why no message goes from a publisher to a subscription of any of these pairs, or ''."""
    reasons = [_incompatible(source.qos_profile, sink.qos_profile) for source, sink in pairs]
    kinds = [end.msg_type for pair in pairs for end in pair if end is not theirs]
    wanted = {f'{kind.__module__.partition(".")[0]}/msg/{kind.__name__}' for kind in kinds}
    if theirs.topic_type not in wanted:
        return f'its type is {theirs.topic_type}, not {", ".join(sorted(wanted))}'
    return reasons[0] if all(reasons) else ''


def _incompatible(publisher: QoSProfile, subscription: QoSProfile) -> str:
    """Policies because of which they are not connected, or ''."""
    _, text = qos_check_compatible(_in_full(publisher), _in_full(subscription))
    reasons = (part.strip() for part in text.split(';'))
    return '; '.join(r.removeprefix('ERROR: ') for r in reasons if r.startswith('ERROR: '))


def _in_full(profile: QoSProfile) -> QoSProfile:
    """A profile with its defaults spelled out, as the graph does it for those of others."""
    full = copy.copy(profile)
    if full.liveliness == LivelinessPolicy.SYSTEM_DEFAULT:
        full.liveliness = LivelinessPolicy.AUTOMATIC
    for name in ('deadline', 'liveliness_lease_duration'):
        if not getattr(full, name).nanoseconds:
            setattr(full, name, Infinite)
    return full


def _name(end: Any) -> str:
    return shortened(f'{end.node_namespace.rstrip("/")}/{end.node_name}')


def who_asks(node: Node, service: str) -> str:
    """Nodes that currently have a client of a service, by the topic that carries its requests."""
    return _names(node, f'rq{node.resolve_service_name(service)}Request', no_mangle=True)


def who_publishes(node: Node, topic: str) -> str:
    """Nodes that currently publish a topic."""
    return _names(node, node.resolve_topic_name(topic), no_mangle=False)


def _names(node: Node, topic: str, no_mangle: bool) -> str:
    try:
        endpoints = node.get_publishers_info_by_topic(topic, no_mangle=no_mangle)
    except Exception:  # names that come over a network may be any bytes
        return 'somebody whose name cannot be read'
    names = sorted({_name(endpoint) for endpoint in endpoints})
    return shortened(' or '.join(names)) if names else 'somebody who has gone'
