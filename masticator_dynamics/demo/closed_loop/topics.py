# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Topics of a run in closed loop and their message types."""

from masticator_dynamics.demo.topics import BITE_FORCE, DIAGNOSTICS, STATE, TRAJECTORY

__all__ = [
    'BITE_FORCE',
    'DIAGNOSTICS',
    'DRIVES',
    'ENABLE',
    'RECEIVED',
    'RESET',
    'SENT',
    'STATE',
    'TRAJECTORY',
    'TRUTH',
]

DRIVES = '/servo_drives/state'
TRUTH = '/twin/joint_states'
ENABLE = '/servo_drives/enable'
RESET = '/servo_drives/reset'

SENT = {TRAJECTORY: 'trajectory_msgs/msg/JointTrajectory'}
RECEIVED = {
    STATE: 'sensor_msgs/msg/JointState',
    DRIVES: 'sensor_msgs/msg/JointState',
    TRUTH: 'sensor_msgs/msg/JointState',
    BITE_FORCE: 'geometry_msgs/msg/WrenchStamped',
    DIAGNOSTICS: 'diagnostic_msgs/msg/DiagnosticArray',
}
