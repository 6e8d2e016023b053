# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of node ``dynamics``."""

from __future__ import annotations

import dataclasses

from masticator_dynamics.actuation.packing import GOALS
from masticator_dynamics.nodes.common.declarations import (
    AUTOSTART,
    FRAME_PREFIX,
    MECHANISM,
    Declaration,
)


@dataclasses.dataclass(frozen=True)
class Settings:
    """Values of the parameters; units are in their descriptions."""

    mechanism: str
    drives: str
    rate: float
    goal: str
    friction: bool
    limits: bool
    bite_force_timeout: float
    bite_force_point_frame: str
    effort_limit_scale: float
    closure_tolerance: float
    publish_joint_states: bool
    visual_rate: float
    frame_prefix: str
    autostart: bool


DECLARATIONS = (
    MECHANISM,
    Declaration(
        'drives',
        '',
        'Drives file, by path or name in config/, whose rotors the efforts accelerate, too; '
        'empty: efforts of the mechanism alone.',
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
        'limits',
        False,
        "Efforts are chosen within the description's limits of efforts, powers, bearing and "
        'contact forces; where none keep them, for the nearest acceleration.',
    ),
    Declaration(
        'bite_force.timeout',
        0.1,
        'Age beyond which a bite force or an external wrench counts as zero, s.',
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
        'visual_rate',
        50.0,
        'Rate of joint_states, contact_force and joint_force, Hz.',
        interval=(0.1, 200.0),
    ),
    FRAME_PREFIX,
    AUTOSTART,
)
