# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""There are sliders only for the independent coordinates, within their limits."""

import math
from xml.etree import ElementTree

import pytest
import samples
import urdf_parser_py.urdf

from masticator_dynamics.ros.sliders import slider_urdf


@pytest.mark.parametrize('name', samples.NAMES)
def test_every_slider_is_an_independent_coordinate_of_the_same_range(name):
    description = samples.mechanism(name).description
    text = slider_urdf(description)
    robot = urdf_parser_py.urdf.URDF.from_xml_string(text)
    assert tuple(joint.name for joint in robot.joints) == description.independent
    assert robot.get_root() == 'slider_0'
    known = {joint.name: joint for joint in description.tree.joints}
    for joint in robot.joints:
        given, limit = known[joint.name], joint.limit
        assert joint.type == given.type
        home = description.home.get(joint.name, 0.0)
        assert limit.lower <= home <= limit.upper
        if math.isfinite(given.lower) and math.isfinite(given.upper):
            assert (limit.lower, limit.upper) == (given.lower, given.upper)
    # joint_state_publisher reads attributes of the direct children of the first element.
    for element in ElementTree.fromstring(text).findall('joint'):
        assert {'lower', 'upper'} <= set(element.find('limit').attrib)
