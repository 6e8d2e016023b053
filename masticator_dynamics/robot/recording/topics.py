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
DRIVES = '/servo_drives/state'
TRUTH = '/twin/joint_states'
ENABLE = '/servo_drives/enable'
RESET = '/servo_drives/reset'
DRAWINGS = '/dynamics/markers'  # for RViz

JOINT_TOPICS = (STATE, JOINT_STATES, CONTACTS, DRIVES, TRUTH)
_TYPES = {
    TRAJECTORY: 'trajectory_msgs/msg/JointTrajectory',
    ACTUATED_TRAJECTORY: 'trajectory_msgs/msg/JointTrajectory',
    EFFORT: 'std_msgs/msg/Float64MultiArray',
    BITE_FORCE: 'geometry_msgs/msg/WrenchStamped',
    DIAGNOSTICS: 'diagnostic_msgs/msg/DiagnosticArray',
    DRAWINGS: 'visualization_msgs/msg/MarkerArray',
} | dict.fromkeys(JOINT_TOPICS, 'sensor_msgs/msg/JointState')


def typed(*topics: str) -> dict[str, str]:
    """Message types by topic."""
    return {topic: _TYPES[topic] for topic in topics}


SENT = typed(TRAJECTORY, BITE_FORCE)
CLOSED_LOOP = typed(STATE, DRIVES, TRUTH, BITE_FORCE, DIAGNOSTICS, DRAWINGS)


def received_topics(contacts: Sequence[str]) -> dict[str, str]:
    """Everything that the node publishes and the demo records."""
    forces = [f'/contact_force/{name}' for name in contacts]
    from_node = typed(EFFORT, STATE, ACTUATED_TRAJECTORY, JOINT_STATES, CONTACTS)
    from_node |= typed(DIAGNOSTICS, DRAWINGS)
    return from_node | dict.fromkeys(forces, _TYPES[BITE_FORCE])
