# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The URDF as RViz shows it well: RViz gives a link one colour, that of its first visual.

(ros2/rviz issue 1293.) It also reports the inertia of bodies that turn about some axis for nothing,
such as slender rods, at each start. Only robot_description is changed; nothing computes with it.
"""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

_SLENDER = 1e-4  # of a body's largest moment: what RViz is told where one is zero
_GREY = '0.6 0.6 0.6 1'  # RViz shows what has no material in signal red


def for_rviz(urdf_xml: str) -> str:
    """The same robot with a link for each colour.

    What has another colour than the first visual of its link moves to a link of its own, fixed to
    it and without mass. Visuals without a material become grey. Links of one colour stay as they
    are, but for moments of inertia that are zero: they become small ones.
    """
    robot = ElementTree.fromstring(urdf_xml)
    named = [*robot.findall('link'), *robot.findall('joint')]
    taken = {str(element.get('name')) for element in named}
    for link in robot.findall('link'):
        _thicken(link.find('inertial/inertia'))
        by_colour: dict[str, ElementTree.Element] = {}
        for visual in link.findall('visual'):
            colour = _colour(visual)
            if not by_colour:
                by_colour[colour] = link
            elif colour not in by_colour:
                by_colour[colour] = _fixed_link(robot, link, visual, taken)
            if by_colour[colour] is not link:
                link.remove(visual)
                by_colour[colour].append(visual)
    return ElementTree.tostring(robot, encoding='unicode')


def _thicken(inertia: ElementTree.Element | None) -> None:
    """Give a body that has none about some axis a little about all."""
    if inertia is None:
        return
    tensor = [[float(inertia.get(f'i{"".join(sorted(i + j))}', 0.0)) for j in 'xyz'] for i in 'xyz']
    least, _, most = np.linalg.eigvalsh(tensor)
    if least <= 1e-9 * most:
        for k, axis in enumerate('xyz'):
            inertia.set(f'i{axis}{axis}', repr(float(tensor[k][k] + _SLENDER * most)))


def _fixed_link(
    robot: ElementTree.Element,
    parent: ElementTree.Element,
    visual: ElementTree.Element,
    taken: set[str],
) -> ElementTree.Element:
    """A new link fixed to another, named after it and the material of a visual."""
    material = str(visual.find('material').get('name', '')) or 'colour'  # type: ignore[union-attr]
    base = name = f'{parent.get("name")}_{material}'
    number = 1
    while name in taken or f'{name}_fixed' in taken:
        number += 1
        name = f'{base}_{number}'
    taken |= {name, f'{name}_fixed'}
    link = ElementTree.SubElement(robot, 'link', name=name)
    joint = ElementTree.SubElement(robot, 'joint', name=f'{name}_fixed', type='fixed')
    ElementTree.SubElement(joint, 'parent', link=str(parent.get('name')))
    ElementTree.SubElement(joint, 'child', link=name)
    return link


def _colour(visual: ElementTree.Element) -> str:
    """What tells its material from others; a visual without one gets one."""
    material = visual.find('material')
    if material is None:
        material = ElementTree.SubElement(visual, 'material', name='grey')
        ElementTree.SubElement(material, 'color', rgba=_GREY)
    inside = ' '.join(f'{e.tag} {sorted(e.attrib.items())}' for e in material)
    return f'{material.get("name", "")} {inside}'
