# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Who may have sent a request; rclpy does not say which client a request came from."""

from __future__ import annotations

from rclpy.node import Node

from masticator_dynamics.ros.common.diagnostics import shortened


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
    names = {
        f'{getattr(one, "node_namespace", "").rstrip("/")}/{getattr(one, "node_name", "")}'
        for one in endpoints
    }
    if not names:
        return 'somebody who has gone'
    return shortened(' or '.join(sorted(names)))
