# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters as data: declared with description, range and what may change, read as a dataclass."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter

Settings = TypeVar('Settings')


@dataclasses.dataclass(frozen=True)
class Declaration:
    """A parameter; without ``interval`` it has no range.

    The default's type is the parameter's. ``constraints`` says in words what no interval can.
    """

    name: str
    default: Any
    description: str
    read_only: bool = True
    interval: tuple[float, float] | None = None
    constraints: str = ''

    @property
    def field(self) -> str:
        """Name of the field in the settings of its node."""
        return self.name.replace('.', '_')


MECHANISM = Declaration(
    'mechanism', 'masticator', 'Name of a shipped mechanism, or path to a mechanism YAML.'
)
FRAME_PREFIX = Declaration(
    'frame_prefix',
    '',
    'Goes before every frame_id on topics, as in robot_state_publisher: several robots on one TF.',
    constraints="such as 'left/'",
)
AUTOSTART = Declaration(
    'autostart', True, 'Configure and activate at the start, without a lifecycle manager.'
)


def declare(node: Node, declarations: Sequence[Declaration]) -> None:
    """Declare parameters on a node; values from files and the command line are taken over."""
    for parameter in declarations:
        ranges = []
        if parameter.interval is not None:
            low, high = parameter.interval
            ranges = [FloatingPointRange(from_value=low, to_value=high, step=0.0)]
        node.declare_parameter(
            parameter.name,
            parameter.default,
            ParameterDescriptor(
                description=parameter.description,
                additional_constraints=parameter.constraints,
                read_only=parameter.read_only,
                floating_point_range=ranges,
            ),
        )


def read(
    node: Node,
    declarations: Sequence[Declaration],
    settings: type[Settings],
    changes: Sequence[Parameter] = (),
) -> Settings:
    """Present values of all parameters, or what they would be after changes.

    Raises
    ------
    InputError
        When the settings refuse the values, which their ``__post_init__`` may do.
    """
    values = {p.field: node.get_parameter(p.name).value for p in declarations}
    fields = {p.name: p.field for p in declarations}
    values |= {fields[p.name]: p.value for p in changes if p.name in fields}
    return settings(**values)
