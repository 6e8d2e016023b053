# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""robot_description as RViz needs it: a colour per link, colours for all, bodies that can be."""

from xml.etree import ElementTree

import numpy as np
import pytest

from masticator_dynamics.description import archetypes, load_description
from masticator_dynamics.description.urdf import parse
from masticator_dynamics.description.visuals import shapes
from masticator_dynamics.engine.tree import spanning_tree
from masticator_dynamics.ros.shown_urdf import for_rviz

SHIPPED = ['masticator', 'rss6', 'rcid', 'rrr4', 'trimule', 'trimule_five_axis']
ALL = [*SHIPPED, *(str(archetype) for archetype in archetypes())]
VISUAL = '<visual><geometry><sphere radius="{}"/></geometry>{}</visual>'
RED, BLUE = '<material name="red"/>', '<material name="blue"/>'
NAMELESS = '<material><color rgba="{} 0 0 1"/></material>'


def robot(*visuals, more=''):
    drawn = ''.join(VISUAL.format(k + 1, visual) for k, visual in enumerate(visuals))
    colours = ''.join(
        f'<material name="{name}"><color rgba="{rgba} 1"/></material>'
        for name, rgba in (('red', '1 0 0'), ('blue', '0 0 1'))
    )
    return f'<robot name="r">{colours}<link name="a">{drawn}</link>{more}</robot>'


def links(urdf):
    """Radii of the spheres of each link."""
    found = {}
    for link in ElementTree.fromstring(urdf).findall('link'):
        spheres = link.findall('visual/geometry/sphere')
        found[link.get('name')] = [float(sphere.get('radius')) for sphere in spheres]
    return found


@pytest.mark.parametrize('name', ALL)
def test_every_link_has_one_colour_and_all_shapes_stay(name):
    description = load_description(name)
    text = for_rviz(description.urdf_xml)
    materials = []
    for link in ElementTree.fromstring(text).findall('link'):
        of_link = {visual.find('material').get('name') for visual in link.findall('visual')}
        assert len(of_link) <= 1, link.get('name')
        materials += of_link
    assert materials and None not in materials

    def drawn(urdf):
        tree = spanning_tree(parse(urdf, description.urdf_file))
        seen, doubts = shapes(urdf, description.urdf_file.parent)
        assert not doubts
        return sorted(
            (shape.kind, shape.size, shape.colour, tree.frames[shape.link].body,
             *np.round(tree.frames[shape.link].rotation @ shape.position
                       + tree.frames[shape.link].position, 12))
            for shape in seen
        ), tree  # fmt: skip

    (before, tree), (after, split) = drawn(description.urdf_xml), drawn(text)
    assert after == before
    assert [joint.name for joint in split.joints] == [joint.name for joint in tree.joints]
    assert [b.mass for b in split.inertias] == [b.mass for b in tree.inertias]


@pytest.mark.parametrize(
    ('visuals', 'wanted'),
    [
        ([RED, RED], {'a': [1, 2]}),
        ([RED, BLUE, RED], {'a': [1, 3], 'a_blue': [2]}),
        ([BLUE, '', RED, ''], {'a': [1], 'a_grey': [2, 4], 'a_red': [3]}),
        ([NAMELESS.format(0.1), NAMELESS.format(0.2)], {'a': [1], 'a_colour': [2]}),
        ([], {'a': []}),
    ],
)
def test_what_has_another_colour_gets_a_link_of_its_own(visuals, wanted):
    text = for_rviz(robot(*visuals))
    assert links(text) == wanted
    assert for_rviz(text) == text
    joints = ElementTree.fromstring(text).findall('joint')
    assert {joint.find('parent').get('link') for joint in joints} <= {'a'}


def test_names_that_are_taken_are_left_alone():
    more = (
        '<link name="a_blue"/><joint name="a_blue_2_fixed" type="fixed">'
        '<parent link="a"/><child link="a_blue"/></joint>'
    )
    assert links(for_rviz(robot(RED, BLUE, more=more))) == {'a': [1], 'a_blue': [], 'a_blue_3': [2]}


@pytest.mark.parametrize('name', ALL)
def test_shapes_of_shipped_files_have_colours(name):
    """RViz shows in signal red what has none."""
    visuals = ElementTree.fromstring(load_description(name).urdf_xml).findall('link/visual')
    assert all(visual.find('material') is not None for visual in visuals)


@pytest.mark.parametrize('name', ALL)
def test_shipped_bodies_can_be(name):
    """RViz reports an unrealistic inertia for every other, at each start."""
    shown = for_rviz(load_description(name).urdf_xml)
    for link in ElementTree.fromstring(shown).findall('link'):
        inertia = link.find('inertial/inertia')
        if inertia is None:
            continue
        xx, yy, zz, xy, xz, yz = (float(inertia.get(f'i{k}')) for k in 'xx yy zz xy xz yz'.split())
        least, middle, most = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        assert float(link.find('inertial/mass').get('value')) > 0.0
        assert least > 0.0 and least + middle >= most * (1 - 1e-12), link.get('name')
