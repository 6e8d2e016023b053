# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Who may have sent a request; rclpy does not say which client a request came from."""

from __future__ import annotations

from collections.abc import Iterable

from rclpy.node import Node


def who_asks(node: Node, service: str) -> str:
    """Nodes that currently have a client of a service, by the topic that carries its requests."""
    full = node.resolve_service_name(service)
    return _names(node.get_publishers_info_by_topic(f'rq{full}Request', no_mangle=True))


def who_publishes(node: Node, topic: str) -> str:
    """Nodes that currently publish a topic."""
    return _names(node.get_publishers_info_by_topic(node.resolve_topic_name(topic)))


def _names(endpoints: Iterable[object]) -> str:
    names = {
        f'{getattr(one, "node_namespace", "").rstrip("/")}/{getattr(one, "node_name", "")}'
        for one in endpoints
    }
    if not names:
        return 'somebody who has gone'
    return ' or '.join(sorted(names))
