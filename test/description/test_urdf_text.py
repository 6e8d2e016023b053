# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A URDF with other numbers: what has not changed stays as its author wrote it."""

import dataclasses
import difflib
import pathlib

import numpy as np
import pytest
import samples

from masticator_dynamics.description import urdf
from masticator_dynamics.description.urdf_text import laid_out, with_tree

FILE = pathlib.Path('robot.urdf')
TEXT = """<?xml version="1.0"?>
<!-- measured -- by hand -->
<robot name='r'>
  <link name="base"/>
  <!-- the arm -->
  <link name="arm"  >
    <inertial>
      <mass value="1.50"/> <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <visual><geometry><box size="1 1 1"/></geometry></visual>
  </link>
  <link name="hand" />
  <joint name="j" type="revolute">
    <parent link="base"/> <child link="arm"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
  </joint>
  <joint name="k" type="fixed"><parent link="arm"/><child link="hand"/><origin xyz="1 2 3"/></joint>
</robot>
"""


def moved(tree: urdf.Tree, joints: set[str], links: set[str]) -> urdf.Tree:
    """With other places of some joints, and other bodies of some links."""
    places = np.array([0.1, 0.2, 0.3])
    body = urdf.Inertia(2.0, np.array([0.0, 0.1, 0.0]), np.diag([1.0, 2.0, 2.5]))
    return dataclasses.replace(
        tree,
        joints=tuple(
            dataclasses.replace(j, position=places) if j.name in joints else j for j in tree.joints
        ),
        links={name: body if name in links else link for name, link in tree.links.items()},
    )


@pytest.mark.parametrize('text', [TEXT, TEXT.replace('\n', ' '), '\n' + TEXT])
def test_new_numbers_are_read_back(text: str) -> None:
    old = urdf.parse(text, FILE)
    new = moved(old, {'j', 'k'}, {'arm', 'hand'})
    read = urdf.parse(with_tree(text, old, new), FILE)
    for joint, wanted in zip(read.joints, new.joints, strict=True):
        np.testing.assert_array_equal(joint.position, wanted.position)
    for name in ('arm', 'hand'):
        assert read.links[name].mass == 2.0
        np.testing.assert_array_equal(read.links[name].about_center, np.diag([1.0, 2.0, 2.5]))


def test_a_difference_shows_what_has_changed() -> None:
    old = urdf.parse(TEXT, FILE)
    text = with_tree(TEXT, old, moved(old, {'j'}, {'arm'}))
    lines = difflib.ndiff(TEXT.splitlines(), text.splitlines())
    gone = [line[2:].strip() for line in lines if line.startswith('- ')]
    assert gone == [
        '<mass value="1.50"/> <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    ]
    assert with_tree(TEXT, old, old) == TEXT


def test_what_xacro_gives_in_one_line_gets_a_line_for_each_element() -> None:
    description = samples.mechanism('five_bar').description
    assert description.urdf_xml.count('\n') < 3
    text = laid_out(description.urdf_xml)
    assert text.count('\n') > 50 and max(map(len, text.splitlines())) < 200
    read = urdf.parse(text, FILE)
    for name, link in description.tree.links.items():
        np.testing.assert_array_equal(read.links[name].about_center, link.about_center)
    assert laid_out(TEXT) == TEXT
