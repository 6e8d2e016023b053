# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of a node: the fields of its settings, each defined once.

A node's settings are a frozen dataclass whose fields are ``Annotated[type, Declaration(...)]``
with the default as their value; what is declared, read and documented comes from there.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter

Settings = TypeVar('Settings')


@dataclasses.dataclass(frozen=True)
class Declaration:
    """A parameter; without ``interval`` it has no range.

    ``constraints`` says in words what no interval can; ``name`` defaults to the field's name. The
    rest comes from the field: the type of its default is the parameter's.
    """

    description: str
    read_only: bool = True
    interval: tuple[float, float] | None = None
    constraints: str = ''
    name: str = ''
    field: str = ''
    default: Any = None


MechanismName = Annotated[
    str, Declaration('Name of a shipped mechanism, or path to a mechanism YAML.')
]
FramePrefix = Annotated[
    str,
    Declaration(
        'Goes before every frame_id on topics, as in robot_state_publisher: several robots on one '
        'TF.',
        constraints="such as 'left/'",
    ),
]
ClosureTolerance = Annotated[
    float,
    Declaration(
        'Largest gap of a loop that measured actuated joints may leave, m.',
        read_only=False,
        interval=(1e-9, 1e-1),
    ),
]
Autostart = Annotated[
    bool, Declaration('Configure and activate at the start, without a lifecycle manager.')
]


def declarations(settings: type) -> list[Declaration]:
    """Parameters that the fields of a settings class stand for."""
    hints = typing.get_type_hints(settings, include_extras=True)
    found = []
    for field in dataclasses.fields(settings):
        (declared,) = hints[field.name].__metadata__
        default = list(field.default) if isinstance(field.default, tuple) else field.default
        name = declared.name or field.name
        found.append(dataclasses.replace(declared, name=name, field=field.name, default=default))
    return found


def declare(node: Node, settings: type) -> None:
    """Declare parameters on a node; values from files and the command line are applied."""
    for parameter in declarations(settings):
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


def read(node: Node, settings: type[Settings], changes: Sequence[Parameter] = ()) -> Settings:
    """Current values of all parameters, or what they would be after changes.

    Parameters
    ----------
    node : Node
        Has declared the parameters.
    settings : type
        The dataclass that they were declared from.
    changes : sequence of Parameter
        Values to replace the current ones.

    Raises
    ------
    InputError
        When the ``__post_init__`` of the settings refuses the values.
    """
    fields = {p.name: p.field for p in declarations(settings)}
    values = {field: node.get_parameter(name).value for name, field in fields.items()}
    values |= {fields[p.name]: p.value for p in changes if p.name in fields}
    return settings(**values)
