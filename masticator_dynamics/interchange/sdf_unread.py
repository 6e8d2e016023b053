# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Elements of SDF that tie parts of a robot and are not read."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree

from masticator_dynamics.interchange.added_ties import DRAKE, PLUGINS
from masticator_dynamics.interchange.sdf_frames import SdfFrames
from masticator_dynamics.interchange.unread import Unread, tag_of

READ = {
    'link', 'joint', 'pose', 'static', 'self_collide', 'frame', 'gripper', 'enable_wind', 'model',
    'include', 'plugin', 'drake:ball_constraint',
}  # fmt: skip
_WORLD = 'Read are joints within a model: put the models into one'


def refuse_unread(
    frames: SdfFrames, names: set[str], unread: Unread, around: Iterable[ElementTree.Element]
) -> None:
    """Refuse what ties parts and is not read, in a model and in the world around it.

    Parameters
    ----------
    frames : SdfFrames
        All parts of the model.
    names : set of str
        What they are called, with and without the models that they are in.
    unread : Unread
        Refuses, or notes what is to be left out.
    around : iterable of xml.etree.ElementTree.Element
        Elements of the world.

    Raises
    ------
    DescriptionError
        For elements that are not to be left out.
    """
    for _, part in frames.of('model'):
        for element in part.element:
            tag = tag_of(element)
            if tag == 'drake:joint':
                reason = f'its type {element.get("type")!r} is of Drake alone'
                unread.refuse(tag, element.get('name') or '', reason, DRAKE)
            elif tag not in READ:
                unread.refuse_ties(element, names, DRAKE)
    for link, part in frames.of('link'):
        for element in part.element:
            if element.tag not in ('pose', 'inertial'):
                unread.refuse_ties(element, names, DRAKE, link.rpartition('::')[2])
    for element in around:
        if element.tag == 'joint':
            reason = 'it ties models to each other or to the world'
            unread.refuse('world joint', element.get('name') or '', reason, _WORLD)
        elif element.tag not in ('model', 'include', 'frame'):
            unread.refuse_ties(element, names, PLUGINS)
