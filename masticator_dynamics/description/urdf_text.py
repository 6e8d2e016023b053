# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A URDF text with the numbers of another tree."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable
from xml.etree import ElementTree
from xml.parsers import expat

from masticator_dynamics.description.joints import PRISMATIC
from masticator_dynamics.description.urdf import UNLIMITED, Array, Inertia, Joint, Tree


def numbers(values: Iterable[float]) -> str:
    """Numbers as text, to the last digit."""
    return ' '.join(repr(float(value) + 0.0) for value in values)


def angles(rotation: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a rotation, rad, as in a URDF.

    Accurate to rounding even at a pitch of 90 degrees, where roll and yaw turn about the same axis.
    Whatever roll is chosen, pitch and yaw follow from R Rx(roll)^T = Rz(yaw) Ry(pitch).
    """
    (_, xy, xz), (_, yy, yz), (zx, zy, zz) = rotation.tolist()
    roll = math.atan2(zy, zz) if math.hypot(zy, zz) > 1e-15 else 0.0
    sine, cosine = math.sin(roll), math.cos(roll)
    pitch = math.atan2(-zx, sine * zy + cosine * zz)
    return roll, pitch, math.atan2(sine * xz - cosine * xy, cosine * yy - sine * yz)


def inertial(inertia: Inertia) -> ElementTree.Element:
    """``<inertial>`` of a body, in the axes of its link."""
    element = ElementTree.Element('inertial')
    ElementTree.SubElement(element, 'origin', xyz=numbers(inertia.center_of_mass))
    ElementTree.SubElement(element, 'mass', value=numbers([inertia.mass]))
    pairs = [(i, j) for i in range(3) for j in range(i, 3)]
    moments = {f'i{"xyz"[i]}{"xyz"[j]}': numbers([inertia.about_center[i, j]]) for i, j in pairs}
    ElementTree.SubElement(element, 'inertia', moments)
    return element


def with_tree(text: str, old: Tree, new: Tree) -> str:
    """The text with placements of joints and inertia of links that have changed; else as it was."""
    joints = {a.name: b for a, b in zip(old.joints, new.joints, strict=True) if _moved(a, b)}
    links = {name: body for name, body in new.links.items() if body is not old.links.get(name)}
    data = text.encode()
    for part in reversed(_parts(data)):  # from the end, so that earlier places stay right
        if part.tag == 'joint' and part.name in joints:
            joint = joints[part.name]
            place = {'xyz': numbers(joint.position), 'rpy': numbers(angles(joint.rotation))}
            data = part.with_child(data, 'origin', ElementTree.Element('origin', place))
        elif part.tag == 'link' and part.name in links:
            body = links[part.name]
            felt = body.mass or body.about_center.any()
            data = part.with_child(data, 'inertial', inertial(body) if felt else None)
    return data.decode()


def urdf_parts(joint: Joint) -> dict[str, float]:
    """Joints that stand for one where nothing both turns and slides: motion of each per its."""
    return {joint.name: 1.0} | ({f'{joint.name}_advance': joint.shift} if joint.screws else {})


def plain_urdf(text: str, tree: Tree) -> str:
    """The text for other programs: what turns and slides is a turn, and a slide that mimics it."""
    if not any(joint.screws for joint in tree.joints):
        return text
    robot = ElementTree.fromstring(text)
    for joint in [joint for joint in tree.joints if joint.screws]:
        turn, slide = urdf_parts(joint)
        element = robot.find(f"joint[@name='{turn}']")
        assert element is not None
        element.find('child').set('link', slide)  # type: ignore[union-attr]
        ElementTree.SubElement(robot, 'link', name=slide)
        element = ElementTree.SubElement(robot, 'joint', name=slide, type=PRISMATIC.name)
        ElementTree.SubElement(element, 'parent', link=slide)
        ElementTree.SubElement(element, 'child', link=joint.child)
        ElementTree.SubElement(element, 'axis', xyz=numbers(joint.axis))
        free = {'lower': -UNLIMITED, 'upper': UNLIMITED, 'effort': 0.0, 'velocity': UNLIMITED}
        ElementTree.SubElement(element, 'limit', {k: repr(v) for k, v in free.items()})
        ElementTree.SubElement(element, 'mimic', joint=turn, multiplier=numbers([joint.shift]))
    return ElementTree.tostring(robot, encoding='unicode')


def laid_out(text: str) -> str:
    """A text without line breaks, as xacro gives it, with a line for each element."""
    if text.count('\n') > text.count('<link'):
        return text
    root = ElementTree.fromstring(text, ElementTree.XMLParser(target=_WithComments()))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding='unicode').replace(' />', '/>') + '\n'


class _WithComments(ElementTree.TreeBuilder):
    def __init__(self) -> None:
        super().__init__(insert_comments=True)


def _moved(a: Joint, b: Joint) -> bool:
    return a.position is not b.position or a.rotation is not b.rotation


@dataclasses.dataclass
class _Part:
    """A joint or link of a robot: where it and its children are in the text, in bytes."""

    tag: str
    name: str
    begin: int
    end: int = 0
    children: dict[str, tuple[int, int]] = dataclasses.field(default_factory=dict)

    def with_child(self, data: bytes, tag: str, child: ElementTree.Element | None) -> bytes:
        """The text with another child of this tag, or without one."""
        begin, end = self.children.get(tag, (0, 0))
        if child is None:
            return data[:begin] + data[end:]
        at = begin or self.begin
        margin = data[data.rfind(b'\n', 0, at) + 1 : at].decode()
        broken = b'\n' in data[:at] and not margin.strip()  # it begins a line
        margin = (margin if end else f'{margin}  ') if broken else ''
        if broken:
            ElementTree.indent(child)
        text = ElementTree.tostring(child, encoding='unicode').replace(' />', '/>')
        text = text.replace('\n', f'\n{margin}')
        if end:
            return data[:begin] + text.encode() + data[end:]
        before, after = (f'\n{margin}', f'\n{margin[:-2]}') if broken else ('', '')
        if data[self.end - 2 : self.end] == b'/>':
            opened, closed = data[: self.end - 2].rstrip() + b'>', f'</{self.tag}>'.encode()
        else:
            closing = data.rindex(b'<', 0, self.end)
            opened, closed = data[:closing].rstrip(), data[closing : self.end]
        return opened + f'{before}{text}{after}'.encode() + closed + data[self.end :]


# A start tag; the group is the slash of one without content.
_START = re.compile(rb'<[^\s/>]+(?:\s+[^\s=/>]+\s*=\s*(?:"[^"]*"|\'[^\']*\'))*\s*(/?)>')

_UNREAD = re.compile(rb'<!--.*?-->|<\?.*?\?>|\xef\xbb\xbf', re.DOTALL)


def _parts(data: bytes) -> list[_Part]:
    """Joints, links and what else stands in a robot, in the order of the text."""
    parser, parts = expat.ParserCreate('utf-8'), list[_Part]()
    opened: list[int] = []  # where each element that is not closed begins

    def start(tag: str, attributes: dict[str, str]) -> None:
        opened.append(parser.CurrentByteIndex)
        if len(opened) == 2:
            parts.append(_Part(tag, attributes.get('name', ''), opened[-1]))

    def end(tag: str) -> None:
        begin = opened.pop()
        first = _START.match(data, begin)
        empty = first and first.group(1)
        last = first.end() if first and empty else data.index(b'>', parser.CurrentByteIndex) + 1
        if len(opened) == 1:
            parts[-1].end = last
        elif len(opened) == 2:
            parts[-1].children.setdefault(tag, (begin, last))

    parser.StartElementHandler, parser.EndElementHandler = start, end
    # Comments and declarations are read loosely elsewhere; here they only keep their place.
    parser.Parse(_UNREAD.sub(lambda unread: b' ' * len(unread[0]), data), True)
    return parts
