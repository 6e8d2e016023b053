# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loops and couplings that other tools add to URDF and SDF alike: by plugins, frames, Drake's tags.

onshape-to-robot marks the ends of a loop by two frames ``closing_NAME_1`` and ``closing_NAME_2``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from xml.etree import ElementTree

import numpy as np

from masticator_dynamics.description.closures import POINT, WELD
from masticator_dynamics.errors import DescriptionError, meant
from masticator_dynamics.interchange.robot_model import (
    Frame,
    JointCoupling,
    Loop,
    Poses,
    RobotModel,
    number_in,
    numbers_in,
)
from masticator_dynamics.interchange.unread import Unread, tag_of

PLUGINS = (
    'Read are plugins with <joint>, <mimicJoint>, <multiplier>, <offset>, and DetachableJoint '
    'within one model'
)
DRAKE = 'Of the elements of Drake that tie bodies, ball_constraint and mimic are read'
_DETACHABLE = re.compile('detachable-?_?joint', re.IGNORECASE)
_CLOSING = re.compile(r'((?:.*::)?closing_.+)_([12])')


def closing_pairs(names: Iterable[str], unread: Unread) -> Iterator[tuple[str, str, str]]:
    """Names of loops and of the two frames that coincide in each.

    Raises
    ------
    DescriptionError
        For a frame whose partner is not there, unless it is to be left out.
    """
    ends: dict[str, dict[str, str]] = {}
    for name in sorted(names):
        if name_parts := _CLOSING.fullmatch(name):
            ends.setdefault(name_parts[1], {})[name_parts[2]] = name
    for stem, pair in ends.items():
        if len(pair) == 2:
            yield stem, pair['1'], pair['2']
        else:
            reason = 'it is one end of a loop, and the other is not there'
            read = f'Read are frames {stem}_1 and {stem}_2, which coincide'
            unread.refuse('frame', next(iter(pair.values())), reason, read)


def mimic_of(
    plugin: ElementTree.Element, unread: Unread, absolute: Callable[[str], str]
) -> JointCoupling | None:
    """The coupling that a plugin makes, if it is of the kind that names a ``<mimicJoint>``."""
    texts = {re.sub('_', '', str(e.tag)).lower(): (e.text or '').strip() for e in plugin}
    follower, leader = texts.get('mimicjoint'), texts.get('joint') or texts.get('jointname')
    if not follower or not leader:
        return None
    place = f'plugin {plugin.get("name")}'
    ratio, offset = (
        number_in(texts.get(key) or default, unread.file, f'{place} {key}')
        for key, default in (('multiplier', '1'), ('offset', '0'))
    )
    return JointCoupling.mimic(absolute(follower), absolute(leader), ratio, offset)


def _is_detachable(plugin: ElementTree.Element) -> bool:
    return bool(_DETACHABLE.search(f'{plugin.get("name")} {plugin.get("filename")}'))


def detachable_of(
    plugin: ElementTree.Element, model: str, absolute: Callable[[str], str]
) -> tuple[str, str] | None:
    """Links of a model of some name that a DetachableJoint of Gazebo holds together."""
    if not _is_detachable(plugin):
        return None
    first, holder, second = (
        (plugin.findtext(tag) or '').strip() for tag in ('parent_link', 'child_model', 'child_link')
    )
    inside = holder in (model, '__model__', '')
    return (absolute(first), absolute(second)) if inside else None


def read_plugins(
    plugins: Iterable[tuple[ElementTree.Element, str]], model: RobotModel, unread: Unread,
    names: set[str], poses: Poses, absolute: Callable[[str], str] = str,
) -> None:  # fmt: skip
    """Add what plugins tie to a model.

    Parameters
    ----------
    plugins : iterable of (xml.etree.ElementTree.Element, str)
        ``<plugin>`` elements, each with the link or joint that it is part of, or ''.
    model : RobotModel
        Receives loops and couplings.
    unread : Unread
        Refuses all others that tie two parts.
    names : set of str
        Links, joints and frames.
    poses : mapping
        Position (3,) and rotation (3, 3) of links in the world, at zero positions.
    absolute : callable
        From a name as plugins use it to the model's.

    Raises
    ------
    DescriptionError
        For a plugin that is not read and names two parts of the robot, unless it is to be left out.
    """
    for plugin, holder in plugins:
        coupling = mimic_of(plugin, unread, absolute)
        held = detachable_of(plugin, model.name, absolute)
        name = plugin.get('name') or plugin.get('filename') or ''
        if coupling is not None and all(map(model.has_moving, (coupling.joint, *coupling.of))):
            model.couple(coupling, f'plugin {name}')
        elif coupling is not None:
            reason = f'joint {coupling.joint} is to follow {next(iter(coupling.of))}'
            unread.refuse('plugin', name, f'{reason}, and not both are moving joints', PLUGINS)
        elif held is not None and (missing := [k for k in held if k not in model.links]):
            near = meant(missing[0], model.links)
            unread.refuse('plugin', name, f'there is no link {missing[0]!r}{near}', PLUGINS)
        elif held is not None:
            first, second = held
            ends = Frame.placed(first, poses, *poses[second]), Frame.of(second)
            model.loops.append(Loop(f'{first}_{second}_held', WELD, *ends))
            model.notes.append(f'plugin {name}: {first} and {second} are welded as they stand')
        else:
            other = (plugin.findtext('child_model') or '').strip()
            called = f'; its <child_model> is {other!r}, and this model is called {model.name!r}'
            read = PLUGINS + called if _is_detachable(plugin) else PLUGINS
            unread.refuse_ties(plugin, names, read, holder)
            if _is_detachable(plugin):
                model.notes.append(f'plugin {name}: the model that it holds is left out')


def ball_constraint(
    element: ElementTree.Element, unread: Unread, absolute: Callable[[str], str] = str
) -> Loop:
    """``<drake:ball_constraint>``: values are attributes in URDF and texts in SDF.

    Raises
    ------
    DescriptionError
        For missing or senseless values.
    """
    place = 'drake:ball_constraint'
    texts = {
        tag_of(part).removeprefix(f'{place}_'): part.get('name') or part.get('value') or part.text
        for part in element
    }
    frames = []
    for body, point in (('body_A', 'p_AP'), ('body_B', 'p_BQ')):
        if not texts.get(body) or not texts.get(point):
            raise DescriptionError(unread.file, place, f'has no {body} or no {point}')
        offset = np.array(numbers_in(str(texts[point]), 3, unread.file, f'{place} value'))
        frames.append(Frame(absolute(str(texts[body]).strip()), offset, np.eye(3)))
    return Loop(str(element.get('name') or 'ball_constraint'), POINT, *frames)
