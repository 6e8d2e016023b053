# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of node ``dynamics``."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from masticator_dynamics.engine.evaluation.goals import GOALS
from masticator_dynamics.ros.common.managed_node import (
    Autostart,
    Declaration,
    FramePrefix,
    MechanismName,
)


@dataclasses.dataclass(frozen=True)
class DynamicsSettings:
    """Values of the parameters; units are in their descriptions."""

    mechanism: MechanismName = 'masticator'
    drives: Annotated[
        str,
        Declaration(
            'Drives file, by path or name in config/, whose rotors the efforts accelerate, too; '
            'empty: efforts of the mechanism alone.'
        ),
    ] = ''
    rate: Annotated[
        float, Declaration('Control cycles per second, Hz.', interval=(1.0, 2000.0))
    ] = 500.0
    goal: Annotated[
        str, Declaration('How redundant actuators share the load.', constraints=', '.join(GOALS))
    ] = 'torque'
    friction: Annotated[
        bool, Declaration('Efforts overcome the friction in joints and contacts, too.')
    ] = False
    limits: Annotated[
        bool,
        Declaration(
            "Efforts are chosen within the description's limits of efforts, powers, bearing and "
            'contact forces; where none keep them, for the nearest acceleration.'
        ),
    ] = False
    bite_force_timeout: Annotated[
        float,
        Declaration(
            'Age beyond which a bite force or an external wrench counts as zero, s.',
            read_only=False,
            interval=(0.001, 60.0),
            name='bite_force.timeout',
        ),
    ] = 0.1
    bite_force_point_frame: Annotated[
        str,
        Declaration(
            'URDF frame at whose origin the bite force acts; empty: the frame of the message.',
            read_only=False,
            constraints='a link of the URDF, or empty',
            name='bite_force.point_frame',
        ),
    ] = ''
    effort_limit_scale: Annotated[
        float,
        Declaration(
            "Part of the URDF's effort limits that may be used.",
            read_only=False,
            interval=(0.001, 1.0),
        ),
    ] = 1.0
    closure_tolerance: Annotated[
        float,
        Declaration(
            'Largest gap of a loop in trajectories of actuated joints, m.',
            read_only=False,
            interval=(1e-9, 1e-2),
        ),
    ] = 1e-4
    start_horizon: Annotated[
        float,
        Declaration(
            'How far ahead of the clock of this node a trajectory may start, s.',
            read_only=False,
            interval=(0.1, 86400.0),
        ),
    ] = 60.0
    publish_joint_states: Annotated[
        bool,
        Declaration(
            "Publish all joints; switch off when a robot's measured states are completed instead.",
            read_only=False,
        ),
    ] = True
    visual_rate: Annotated[
        float,
        Declaration(
            'Rate of joint_states, contact_force and joint_force, Hz.', interval=(0.1, 200.0)
        ),
    ] = 50.0
    frame_prefix: FramePrefix = ''
    autostart: Autostart = True
