# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of node ``dynamics``: declared with description, range and what may change."""

from __future__ import annotations

import dataclasses
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node

from masticator_dynamics.actuation.packing import GOALS


@dataclasses.dataclass(frozen=True)
class Settings:
    """Values of the parameters; units are in their descriptions."""

    mechanism: str
    rate: float
    goal: str
    friction: bool
    bite_force_timeout: float
    bite_force_point_frame: str
    effort_limit_scale: float
    closure_tolerance: float
    publish_joint_states: bool
    visual_rate: float
    autostart: bool


@dataclasses.dataclass(frozen=True)
class Declaration:
    """A parameter; without ``interval`` it has no range."""

    name: str
    default: Any
    description: str
    read_only: bool = True
    interval: tuple[float, float] | None = None
    constraints: str = ''

    @property
    def field(self) -> str:
        """Name in `Settings`."""
        return self.name.replace('.', '_')


DECLARATIONS = (
    Declaration(
        'mechanism', 'masticator', 'Name of a shipped mechanism, or path to a mechanism YAML.'
    ),
    Declaration('rate', 500.0, 'Control cycles per second, Hz.', interval=(1.0, 2000.0)),
    Declaration(
        'goal',
        'torque',
        'How redundant actuators share the load.',
        constraints=', '.join(GOALS),
    ),
    Declaration('friction', False, 'Efforts overcome the friction in joints and contacts, too.'),
    Declaration(
        'bite_force.timeout',
        0.1,
        'Age beyond which a bite force counts as zero, s.',
        read_only=False,
        interval=(0.001, 60.0),
    ),
    Declaration(
        'bite_force.point_frame',
        '',
        'URDF frame at whose origin the bite force acts; empty: the frame of the message.',
        read_only=False,
        constraints='a link of the URDF, or empty',
    ),
    Declaration(
        'effort_limit_scale',
        1.0,
        "Part of the URDF's effort limits that may be used.",
        read_only=False,
        interval=(0.001, 1.0),
    ),
    Declaration(
        'closure_tolerance',
        1e-4,
        'Largest gap of a loop in trajectories of actuated joints, m.',
        read_only=False,
        interval=(1e-9, 1e-2),
    ),
    Declaration(
        'publish_joint_states',
        True,
        "Publish all joints; switch off when a robot's measured states are completed instead.",
        read_only=False,
    ),
    Declaration(
        'visual_rate', 50.0, 'Rate of joint_states and contact_force, Hz.', interval=(0.1, 200.0)
    ),
    Declaration(
        'autostart', True, 'Configure and activate at the start, without a lifecycle manager.'
    ),
)


def declare_parameters(node: Node) -> None:
    """Declare all parameters on a node; values from files and the command line are taken over."""
    for parameter in DECLARATIONS:
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


def read_settings(node: Node) -> Settings:
    """Present values of all parameters."""
    values = {p.field: node.get_parameter(p.name).value for p in DECLARATIONS}
    return Settings(**values)
