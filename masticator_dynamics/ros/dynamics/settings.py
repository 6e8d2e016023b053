# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of node ``dynamics``."""

from __future__ import annotations

import dataclasses

from masticator_dynamics.engine.traced.effort_goals import GOALS
from masticator_dynamics.ros.common.managed_node import FRAME_PREFIX, NodeSettings, parameter


def effort_topic(joint: str) -> str:
    """Topic of the effort of an actuated joint alone: rqt_plot names curves by topics.

    Not below ``feedforward_effort``: rqt_plot would take their names for fields of that topic.
    """
    return f'joint_effort/{joint}'


SENSOR, OBSERVER = 'sensor', 'observer'  # of a force that is controlled


@dataclasses.dataclass(frozen=True)
class DynamicsSettings(NodeSettings):
    """Values of the parameters; units are in their descriptions."""

    drives: str = parameter(
        '',
        'Drives file, by path or name in config/, whose rotors the efforts accelerate, too; '
        'empty: efforts of the mechanism alone.',
    )
    rate: float = parameter(500.0, 'Control cycles per second, Hz.', interval=(1.0, 2000.0))
    goal: str = parameter(
        'torque', 'How redundant actuators share the load.', constraints=', '.join(GOALS)
    )
    friction: bool = parameter(False, 'Efforts overcome the friction in joints and contacts, too.')
    limits: bool = parameter(
        False,
        "Efforts are chosen within the description's limits of efforts, powers, bearing and "
        'contact forces; where none keep them, for the nearest acceleration.',
    )
    bite_force_timeout: float = parameter(
        0.1,
        'Age beyond which a bite force or an external wrench counts as zero, s.',
        interval=(0.001, 60.0),
        read_only=False,
        name='bite_force.timeout',
    )
    bite_force_point_frame: str = parameter(
        '',
        'URDF frame at whose origin the bite force acts; empty: the frame of the message.',
        constraints='a link of the URDF, or empty',
        read_only=False,
        name='bite_force.point_frame',
    )
    effort_limit_scale: float = parameter(
        1.0,
        "Part of the URDF's effort limits that may be used.",
        interval=(0.001, 1.0),
        read_only=False,
    )
    closure_tolerance: float = parameter(
        1e-4,
        'Largest gap of a loop in trajectories of actuated joints, m.',
        interval=(1e-9, 1e-2),
        read_only=False,
    )
    start_horizon: float = parameter(
        60.0,
        'How far ahead of the clock of this node a trajectory may start, s.',
        interval=(0.1, 86400.0),
        read_only=False,
    )
    late_scale: float = parameter(
        1.0,
        'How many times its own largest velocity and acceleration, joint by joint, a trajectory '
        'that comes late may take to be joined.',
        interval=(1.0, 100.0),
        read_only=False,
    )
    trajectory_efforts: bool = parameter(
        True,
        'Points on feedforward_trajectory have efforts; a trajectory controller that does not '
        'command efforts refuses them.',
    )
    publish_joint_states: bool = parameter(
        True,
        "Publish all joints; switch off when a robot's measured states are completed instead.",
        read_only=False,
    )
    visual_rate: float = parameter(
        50.0,
        'Rate of joint_states, contact_force, joint_force and effort topics, Hz.',
        interval=(0.1, 200.0),
    )
    marker_closures: bool = parameter(
        False,
        'Forces in closures are among the drawings on ~/markers, too.',
        read_only=False,
        name='markers.closures',
    )
    effort_topics: bool = parameter(
        False,
        'Publish each effort on a topic named by its joint, joint_effort/<joint>, too: plots '
        'then have names.',
    )
    force_most: float = parameter(
        120.0, 'Largest force that a goal of ~/apply_force may want, N.', interval=(0.1, 1e5),
        read_only=False, name='force.most',
    )  # fmt: skip
    force_lateral: float = parameter(
        60.0, 'Force across the pressing direction at which it lets go, N.', interval=(0.1, 1e5),
        read_only=False, name='force.lateral',
    )  # fmt: skip
    force_torque: float = parameter(
        3.0, 'Torque about the pressing point at which it lets go, N m.', interval=(0.001, 1e5),
        read_only=False, name='force.torque',
    )  # fmt: skip
    force_source: str = parameter(
        SENSOR,
        'Where the force comes from that ~/apply_force controls: topic bite_force, or topic '
        'bite_force_estimate of node bite_observer, where that tells it well enough at rest.',
        constraints=f'{SENSOR}, {OBSERVER}', read_only=False, name='force.source',
    )  # fmt: skip
    force_sensor_noise: float = parameter(
        0.2,
        "Standard deviation of the force sensor's noise, N; 0: simulated, it may stand still.",
        interval=(0.0, 100.0), read_only=False, name='force.sensor_noise',
    )  # fmt: skip
    force_sensor_delay: float = parameter(
        0.002, 'Least age of a measured force when it comes, s; stamps may show more.',
        interval=(0.0, 0.012), read_only=False, name='force.sensor_delay',
    )  # fmt: skip
    frame_prefix: str = FRAME_PREFIX
