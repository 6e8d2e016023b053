# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""There are sliders only for the independent coordinates, within their limits."""

import math
from xml.etree import ElementTree

import pytest
import samples

from masticator_dynamics.ros.sliders import REMAPPINGS, slider_urdf


@pytest.mark.parametrize('name', samples.NAMES)
def test_every_slider_is_an_independent_coordinate_of_the_same_range(name):
    description = samples.mechanism(name).description
    text = slider_urdf(description)
    robot = ElementTree.fromstring(text)
    # joint_state_publisher reads attributes of the direct children of the first element.
    joints = {element.get('name'): element for element in robot.findall('joint')}
    assert tuple(joints) == description.independent
    children = {element.find('child').get('link') for element in joints.values()}
    assert {link.get('name') for link in robot.findall('link')} - children == {'slider_0'}
    for joint in (joint for joint in description.tree.joints if joint.name in joints):
        element = joints[joint.name]
        lower, upper = (float(element.find('limit').get(key)) for key in ('lower', 'upper'))
        assert element.get('type') == joint.type
        assert lower <= description.home.get(joint.name, 0.0) <= upper
        if math.isfinite(joint.lower) and math.isfinite(joint.upper):
            assert (lower, upper) == (joint.lower, joint.upper)


def test_sliders_hear_no_description_but_their_own():
    """joint_state_publisher_gui takes robot_description as soon as it comes, whatever its file."""
    assert dict(REMAPPINGS) == {
        'joint_states': 'joint_states_in',
        'robot_description': 'sliders_description',
    }
    assert 'remappings=REMAPPINGS' in (samples.ROOT / 'launch/view.launch.py').read_text()
