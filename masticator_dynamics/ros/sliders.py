# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A robot made of a mechanism's independent coordinates, for programs with sliders."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.description.urdf import Joint

# joint_state_publisher_gui listens to robot_description whatever file it is given: it must not hear
# that of the mechanism, or all joints get sliders.
REMAPPINGS = [('joint_states', 'joint_states_in'), ('robot_description', 'sliders_description')]
_TURN, _TRAVEL = np.pi, 0.5  # rad and m either side of home, for joints without limits


def slider_urdf(description: MechanismDescription) -> str:
    """URDF with the independent coordinates in series, types and limits as in the mechanism.

    It moves nothing and is never shown: joint_state_publisher_gui reads names and limits.
    """
    robot = ElementTree.Element('robot', name=f'{description.name}_sliders')
    ElementTree.SubElement(robot, 'link', name='slider_0')
    joints = {joint.name: joint for joint in description.tree.joints}
    for index, name in enumerate(description.independent, start=1):
        joint = joints[name]
        lower, upper = _limits(joint, float(description.home.get(name, 0.0)))
        element = ElementTree.SubElement(robot, 'joint', name=name, type=joint.urdf_type)
        ElementTree.SubElement(element, 'parent', link=f'slider_{index - 1}')
        ElementTree.SubElement(element, 'child', link=f'slider_{index}')
        limits = {'lower': lower, 'upper': upper, 'velocity': 1.0, 'effort': 0.0}
        ElementTree.SubElement(element, 'limit', {k: repr(v) for k, v in limits.items()})
        ElementTree.SubElement(robot, 'link', name=f'slider_{index}')
    return ElementTree.tostring(robot, encoding='unicode')


def _limits(joint: Joint, home: float) -> tuple[float, float]:
    reach = _TRAVEL if joint.slides else _TURN
    lower = float(joint.lower) if np.isfinite(joint.lower) else home - reach
    upper = float(joint.upper) if np.isfinite(joint.upper) else home + reach
    return lower, upper
