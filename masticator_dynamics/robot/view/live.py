# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The robot as reported by ROS topics: joint_states, bite_force and contact forces."""

from __future__ import annotations

from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.evaluation.frames import frame_poses
from masticator_dynamics.robot.view.played_run import FRAME_RATE
from masticator_dynamics.robot.view.scene import LENGTH, Scene

FULL_ARROW = 100.0  # N, for a third of the robot's size


def show_topics(scene: Scene) -> None:
    """Follow the topics until Ctrl-C.

    Messages are only stored on arrival, and drawn 25 times a second: a slow viewer delays no one
    else.

    Raises
    ------
    InputError
        If rclpy is not installed.
    """
    try:
        import rclpy
        from geometry_msgs.msg import WrenchStamped
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState
    except ImportError as error:
        raise InputError(
            "--ros needs rclpy: ROS 2, or pip install 'masticator_dynamics[ros]'"
        ) from error
    mechanism = scene.mechanism
    latest: dict[str, Any] = {}
    rclpy.init()
    node = rclpy.create_node('masticator_view')

    def remember(topic: str) -> Any:
        return lambda message: latest.__setitem__(topic, message)

    node.create_subscription(
        JointState, 'joint_states', remember('joint_states'), qos_profile_sensor_data
    )
    for topic in ('bite_force', *(f'contact_force/{name}' for name in mechanism.contacts)):
        node.create_subscription(WrenchStamped, topic, remember(topic), qos_profile_sensor_data)
    q = mechanism.home.q.copy()

    node.create_timer(1.0 / FRAME_RATE, lambda: _draw(scene, q, latest))
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
        pass
    finally:
        node.destroy_node()
        rclpy.utilities.try_shutdown()


def _draw(scene: Scene, q: FloatArray, latest: dict[str, Any]) -> None:
    """Draw the newest messages; joints that none names stay where they are in ``q``."""
    mechanism = scene.mechanism
    message = latest.get('joint_states')
    if message is not None:
        known = dict(zip(message.name, message.position, strict=False))
        for j, name in enumerate(mechanism.tree_joints):
            if np.isfinite(known.get(name, np.nan)):
                q[j] = known[name]
        scene.pose(q)
    for topic, load in latest.items():
        if topic == 'joint_states' or load.header.frame_id not in mechanism.frames:
            continue
        force = load.wrench.force
        point, turn = frame_poses(mechanism, q, load.header.frame_id)
        vector = turn @ np.array([force.x, force.y, force.z])
        shown = vector * LENGTH * scene.extent / FULL_ARROW
        if np.isfinite(shown).all():
            scene.arrow(topic.replace('/', '_'), point, shown)
