# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Topics of a run and their message types."""

from collections.abc import Sequence

TRAJECTORY = '/joint_trajectory'
BITE_FORCE = '/bite_force'
EFFORT = '/feedforward_effort'
STATE = '/feedforward_state'
ACTUATED_TRAJECTORY = '/feedforward_trajectory'
JOINT_STATES = '/joint_states'
CONTACTS = '/contact_multipliers'
DIAGNOSTICS = '/diagnostics'
# In closed loop:
DRIVES = '/servo_drives/state'
TRUTH = '/twin/joint_states'
ENABLE = '/servo_drives/enable'
RESET = '/servo_drives/reset'

SENT = {
    TRAJECTORY: 'trajectory_msgs/msg/JointTrajectory',
    BITE_FORCE: 'geometry_msgs/msg/WrenchStamped',
}


def contact_topic(contact: str) -> str:
    """Topic of the force of a contact."""
    return f'/contact_force/{contact}'


def received_topics(contacts: Sequence[str]) -> dict[str, str]:
    """Everything that the node publishes and the demo records."""
    return {
        EFFORT: 'std_msgs/msg/Float64MultiArray',
        STATE: 'sensor_msgs/msg/JointState',
        ACTUATED_TRAJECTORY: 'trajectory_msgs/msg/JointTrajectory',
        JOINT_STATES: 'sensor_msgs/msg/JointState',
        CONTACTS: 'sensor_msgs/msg/JointState',
        DIAGNOSTICS: 'diagnostic_msgs/msg/DiagnosticArray',
        **{contact_topic(name): 'geometry_msgs/msg/WrenchStamped' for name in contacts},
    }


CLOSED_LOOP = {
    STATE: 'sensor_msgs/msg/JointState',
    DRIVES: 'sensor_msgs/msg/JointState',
    TRUTH: 'sensor_msgs/msg/JointState',
    BITE_FORCE: 'geometry_msgs/msg/WrenchStamped',
    DIAGNOSTICS: 'diagnostic_msgs/msg/DiagnosticArray',
}
