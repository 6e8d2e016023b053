# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Elements of a file that no reader understands: errors, if they tie two parts of the robot.

What ties links, frames or joints to each other and is not read makes another robot of it, whose
efforts are wrong without a word. Such an element can be left out on purpose, by its name or type.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Collection, Iterator
from xml.etree import ElementTree

from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.interchange.robot_model import RobotModel

_NAMESPACE = re.compile(r'\{[^}]*?(\w+)(?:\.mit\.edu)?/?\}')
# What names several links or joints and ties none.
_HARMLESS = re.compile(
    r'(controller|sensor|interface|geom|body):.*|(.*[:_])?(visual|collision|sensor|camera|light|'
    r'material|contact|gripper|group|group_state|end_effector|virtual_joint|passive_joint|'
    r'(dis|en)able_collisions|collision_filter_group|self_collide|topic|param|parameters|projector|'
    r'audio_\w+|battery|physics|gui|scene)',
    re.IGNORECASE,
)
# Words in the file names of plugins that control, publish or measure, or push single bodies.
_APART = frozenset(
    'publisher state states control controller controllers sensor sensors imu camera odom '
    'odometry drive steering ackermann thruster hydrodynamics buoyancy lift liftdrag drag grasp '
    'gripper wind ft contact contacts bumper laser lidar gps ray battery trajectory '
    'disable wheel wheels pose p3d velocity effort propeller rotor multicopter mavlink '
    'teleop planar logical optical tracked touchplugin'.split()
)
# What ties parts, whatever it calls them.
_TIE = re.compile(
    r'.*(loop|closure|constraint|coupling|bushing|mimic|gearbox|weld|tendon|linear_spring_damper|'
    r'equality|linkage|belt|spring)(_rpy|s)?',
    re.IGNORECASE,
)
_TIES = re.compile(
    r'loop|clos(ed|ing|ure)|chain|mimic|gear|coupl|constrain|attach|weld|belt|linkage|parallel|'
    r'four_?bar|sync|follow|tendon|cable|rope|spring',
    re.IGNORECASE,
)
# Plugins that may say in a file of their own what they tie.
_CLOSES = re.compile(
    r'loop|clos(ed|ing|ure)|mimic|coupl|constrain|linkage|parallel|four_?bar', re.IGNORECASE
)


class Unread:
    """Elements that a reader does not understand.

    Parameters
    ----------
    ignore : collection of str
        Names or types of elements to leave out.
    """

    def __init__(self, file: pathlib.Path, ignore: Collection[str] = ()):
        self.file, self.ignore = file, ignore
        self.left_out: list[str] = []
        self._applied: set[str] = set()

    def refuse(self, kind: str, name: str, reason: str, read: str) -> None:
        """Refuse an element, unless it is to be left out.

        Parameters
        ----------
        kind, name : str
            Its type and its name, if it has one.
        reason : str
            What it does, or which parts it names.
        read : str
            What would be understood.

        Raises
        ------
        DescriptionError
            If it is not to be left out.
        """
        label = f'{kind} {name}'.strip()
        ignored = {kind, *kind.split(), name, label}.intersection(self.ignore)
        if not ignored:
            raise DescriptionError(
                self.file, label, f'{reason}: not understood. {read}. '
                f'--ignore {_quoted(name or kind)} leaves it out',
            )  # fmt: skip
        self._applied |= ignored
        self.left_out.append(label)

    def refuse_mimic(self, name: str, reason: str) -> None:
        """Refuse that a joint follows another, unless that is to be left out."""
        read = 'Read are mimics of one hinge or slide by another, neither of which closes a loop'
        self.refuse('mimic', name, reason, read)

    def refuse_ties(
        self, element: ElementTree.Element, names: Collection[str], read: str, holder: str = ''
    ) -> None:
        """Refuse an element that names two parts of the robot, or one besides its holder.

        Parameters
        ----------
        element : xml.etree.ElementTree.Element
            What the reader does not read. The innermost element that names two parts is blamed.
        names : collection of str
            Links, frames and joints of the robot.
        read : str
            What would be understood.
        holder : str
            The link or joint that the element is part of.
        """
        if is_harmless(element):
            return
        named = [name for name in names_in(element, names) if name != holder]
        kind, name = tag_of(element), element.get('name') or ''
        two = bool(named) and len(named) + bool(holder) > 1
        closes = kind != 'plugin' or bool(_CLOSES.search(_library(element)))
        if not two and not (_ties(element) and (named or closes)):
            return
        for inner in element:
            if len([name for name in names_in(inner, names) if name != holder]) == len(named) > 1:
                self.refuse_ties(inner, names, read, holder)
                return
        if kind == 'plugin' and (library := element.get('filename')):
            name = name or library
        of = f'{holder}: ' if holder else ''
        what = f'it names {" and ".join(named[:3])}' if named else 'it ties parts of the robot'
        self.refuse(kind, name, of + what, read)

    def account(self, model: RobotModel) -> None:
        """Note in a model what was left out.

        Raises
        ------
        DescriptionError
            If something that was to be left out was not found.
        """
        for name in self.ignore:
            if name not in self._applied:
                reason = f'{name!r} is no element that would be refused'
                raise DescriptionError(self.file, 'ignore', reason)
        model.untied += self.left_out
        model.notes[:0] = [f'{label} is left out, as asked' for label in self.left_out]


def _quoted(text: str) -> str:
    return f"'{text}'" if re.search(r'[^\w./:-]', text) else text


def tag_of(element: ElementTree.Element) -> str:
    """Tag of an element, with the last word of its namespace, if any, as its prefix."""
    return _NAMESPACE.sub(r'\1:', str(element.tag))


def is_harmless(element: ElementTree.Element) -> bool:
    """Whether an element may name several parts and ties none: sensors, shapes, controllers."""
    tag = tag_of(element)
    if tag == 'plugin':
        words = {word.lower() for word in re.findall('[A-Z]?[a-z0-9]+|[A-Z]+', _library(element))}
        return bool(words & _APART) and not _ties(element)
    return not isinstance(element.tag, str) or bool(_HARMLESS.fullmatch(tag))


def _library(plugin: ElementTree.Element) -> str:
    return plugin.get('filename') or plugin.get('name') or ''


def _ties(element: ElementTree.Element) -> bool:
    """Whether an element ties parts by what it is called; whether it names them or not."""
    if tag_of(element) == 'plugin':
        return bool(_TIES.search(_library(element)))
    return bool(_TIE.fullmatch(tag_of(element)))


def names_in(element: ElementTree.Element, names: Collection[str]) -> list[str]:
    """Which of some names stand in an element's attributes and texts, in their order.

    Numbers are none, though some links are called 1, 2, 3.
    """
    words = (word for word in _words(element) if not re.fullmatch(r'[-+.\d]+', word))
    return [name for name in dict.fromkeys(words) if name in names]


def _words(element: ElementTree.Element) -> Iterator[str]:
    for part in element.iter():
        for text in (*part.attrib.values(), part.text or ''):
            yield text.strip()
            for word in re.split(r'[\s,;]+', text):
                yield word
                yield word.rpartition('::')[2]
