# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads URDF with ``<mimic>`` and the elements that other tools add to close loops.

Loops: ``<constraint>``, ``<loop_joint>`` and ``<loop>`` (``urdf_constraints.py``), joints that form
no tree (``urdf_cuts.py``), ``<gazebo><joint>``, ``<drake:ball_constraint>``, plugins, and frames
``closing_*`` of onshape-to-robot.
"""

from __future__ import annotations

import pathlib
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

from masticator_dynamics.description import urdf
from masticator_dynamics.description.closures import POINT
from masticator_dynamics.description.foreign import KNOWN
from masticator_dynamics.errors import DescriptionError, meant
from masticator_dynamics.files.text_file import root_element
from masticator_dynamics.interchange.added_ties import (
    DRAKE,
    ball_constraint,
    closing_pairs,
    read_plugins,
)
from masticator_dynamics.interchange.robot_model import (
    Frame,
    JointCoupling,
    Loop,
    RobotModel,
    Spring,
    is_true,
    number_in,
)
from masticator_dynamics.interchange.sdf_frames import SdfFrames
from masticator_dynamics.interchange.sdf_joints import SdfJoints
from masticator_dynamics.interchange.transmissions import named_by_motors, read_motors
from masticator_dynamics.interchange.unread import Unread, tag_of
from masticator_dynamics.interchange.urdf_constraints import (
    COUPLINGS,
    LOOPS,
    read_couplings,
    take_loops,
    turn_opposite_axes,
)
from masticator_dynamics.interchange.urdf_cuts import cut_into_tree

_READ_APART = (
    *LOOPS, COUPLINGS, 'drake:ball_constraint', 'transmission', 'ros2_control', 'frame',
)  # fmt: skip
_READ = (
    'Read are <mimic>, <constraint>, <loop_joint>, <loop>, <coupling>, <gazebo><joint>, '
    'drake:ball_constraint and frames closing_NAME_1 and _2'
)
_OF_GAZEBO = ('springStiffness', 'springReference', 'gravity', 'turnGravityOff')
# Sections of MuJoCo's extension that tie and drive nothing.
_MUJOCO = ('compiler', 'option', 'size', 'visual', 'statistic', 'default', 'asset', 'contact')


class _Held(NamedTuple):
    """A joint that follows none, the fixed one of itself and its leader, and its position."""

    joint: str
    fixed: str
    position: float


def read_urdf(
    file: pathlib.Path, unread: Unread, arguments: Mapping[str, str] | None = None,
    transmissions: bool = True, wanted: Collection[str] = (),
) -> RobotModel:  # fmt: skip
    """Model of a URDF or xacro file.

    Parameters
    ----------
    unread : Unread
        Refuses what ties parts of the robot and is not read; leaves some out on purpose.
    arguments : mapping, optional
        Values of the xacro file's arguments.
    transmissions : bool
        Whether to read transmissions; another file may name the joints with motors.
    wanted : collection of str
        Joints at which loops are not to be cut if they can be cut elsewhere.

    Raises
    ------
    DescriptionError
        For anything unreadable or probably misspelt.
    """
    text, _ = urdf.expansion(file, dict(arguments or {}))
    root = root_element(text, file, 'URDF')
    _refuse_unread(root, unread)
    implied = _add_world(root)
    loops, left_out = take_loops(root, unread)
    cuts = cut_into_tree(root, {*wanted, *named_by_motors(root)}, unread)
    floating = [joint for joint in root.findall('joint') if joint.get('type') == 'floating']
    for joint in floating:
        joint.set('type', 'fixed')
    held = list(_mimics_of_fixed_joints(root, unread))
    tree = urdf.parse(ElementTree.tostring(root, encoding='unicode'), file)
    model = RobotModel(
        file, str(root.get('name') or file.stem), tree.root, dict(tree.links), list(tree.joints),
        [*loops, *cuts.loops, *_balls(root, unread)], added=set(cuts.added),
    )  # fmt: skip
    model.notes += [*tree.warnings, *implied, *cuts.notes]
    for sentence in (*left_out, *cuts.warnings):
        model.warn(sentence)
    for name in (str(joint.get('name')) for joint in floating):
        model.change(name, type='floating')
        model.floating[name] = f'joint {name}'
    model.couplings = [
        JointCoupling.mimic(m.joint, m.other, m.multiplier, m.offset) for m in tree.mimics
    ]
    for name, fixed, position in held:
        if model.has_moving(name):
            model.lock(name, position)
            name = f'{name} is held at {position:g}: it'
        model.notes.append(f'joint {name} follows no other, since {fixed} is fixed')
    _read_gazebo(root, tree, model, unread)
    _close_frames(tree, model, unread)
    model.shapes = {
        str(link.get('name')): [*link.findall('visual'), *link.findall('collision')]
        for link in root_element(text, file, 'URDF').findall('link')
    }
    for loop in model.loops:
        for frame in (loop.first, loop.second):
            if frame.link not in model.links:
                near = meant(frame.link, model.links)
                reason = f'link {frame.link!r} does not exist in the URDF{near}'
                raise DescriptionError(file, loop.name, reason)
    turn_opposite_axes(model, {loop.name for loop in loops})
    read_couplings(root, model, unread)
    moving = [joint for joint in tree.joints if joint.moves]
    model.damping = {joint.name: joint.damping for joint in moving if joint.damping}
    model.dry = {joint.name: joint.friction for joint in moving if joint.friction}
    _read_independent(root, model)
    read_motors(root, model, unread, transmissions)
    return model


def _add_world(root: ElementTree.Element) -> list[str]:
    """Add the link ``world``, which Drake knows although no element describes it; say so."""
    links = {str(link.get('name')) for link in root.findall('link')}
    parents = {str(parent.get('link')) for parent in root.iterfind('joint/parent')}
    if 'world' in links or 'world' not in parents:
        return []
    ElementTree.SubElement(root, 'link', name='world')
    return ["link world is named by joints alone, as Drake's is: it is the base"]


def _mimics_of_fixed_joints(root: ElementTree.Element, unread: Unread) -> Iterator[_Held]:
    """Remove every ``<mimic>`` in or of a fixed joint; yield which it is and where it holds one."""
    joints = {str(joint.get('name')): joint for joint in root.findall('joint')}
    for name, joint in joints.items():
        mimic = joint.find('mimic')
        leader = '' if mimic is None else str(mimic.get('joint'))
        rigid = [k for k in (name, leader) if k in joints and joints[k].get('type') == 'fixed']
        if mimic is not None and rigid:
            joint.remove(mimic)
            offset = mimic.get('offset', '0')
            place = f'joint {name} mimic offset'
            yield _Held(name, rigid[0], number_in(offset, unread.file, place))


def _names(root: ElementTree.Element) -> set[str]:
    """Names of links, joints and frames."""
    parts = (*root, *root.findall('gazebo/frame'))
    return {str(part.get('name')) for part in parts if part.tag in ('link', 'joint', 'frame')}


def _refuse_unread(root: ElementTree.Element, unread: Unread) -> None:
    """Refuse elements that tie links or joints and are not read."""
    names = _names(root)
    for element in root:
        tag, name = tag_of(element), str(element.get('name'))
        if tag in ('link', 'joint'):
            ends = {str(end.get('link')) for end in element if end.tag in ('parent', 'child')}
            for part in element:
                if part.tag not in KNOWN[tag]:
                    links_named = set() if tag_of(part).startswith('drake:') else ends
                    unread.refuse_ties(part, names - links_named, _READ, name)
        elif tag == 'mujoco':
            for part in (p for section in element if section.tag not in _MUJOCO for p in section):
                reason = 'it is for MuJoCo, which does not read it in a URDF either'
                unread.refuse(f'mujoco {tag_of(part)}', part.get('name') or '', reason, _READ)
        elif tag == 'drake:joint':
            reason = f'its type {element.get("type")!r} is of Drake alone'
            unread.refuse(tag, name, reason, DRAKE)
        elif tag == 'gazebo':
            for part in element:
                if part.tag not in ('joint', 'frame', 'plugin'):
                    unread.refuse_ties(part, names, _READ, element.get('reference') or '')
        elif tag not in _READ_APART:
            unread.refuse_ties(element, names, DRAKE if tag.startswith('drake:') else _READ)


def _balls(root: ElementTree.Element, unread: Unread) -> Iterator[Loop]:
    """Remove Drake's balls from the robot, and yield the loops that they close."""
    for element in list(root):
        if tag_of(element) == 'drake:ball_constraint':
            root.remove(element)
            yield ball_constraint(element, unread)


def _read_independent(root: ElementTree.Element, model: RobotModel) -> None:
    """Which joints are coordinates, as URDF+ marks them; tell marks that nothing explains."""
    marks = {str(joint.get('name')): joint.get('independent') for joint in root.findall('joint')}
    if not any(marks.values()):
        return
    free = [name for name, mark in marks.items() if str(mark).lower() not in ('false', '0')]
    model.independent = [name for name in free if model.has_moving(name)]
    if not model.loops and not model.couplings:
        named = ', '.join(name for name in marks if name not in free and model.has_moving(name))
        if named:
            model.warn(f'joints {named} are marked as dependent, and nothing says on what')


def _read_gazebo(
    root: ElementTree.Element, tree: urdf.Tree, model: RobotModel, unread: Unread
) -> None:
    """Add loops and couplings that are told to Gazebo: its joints are those of SDF."""
    for gazebo in root.findall('gazebo'):
        _read_reference(gazebo, model)
    elements = [(part, g.get('reference') or '') for g in root.findall('gazebo') for part in g]
    if not any(part.tag in ('joint', 'plugin') for part, _ in elements):
        return
    frames = SdfFrames(_as_sdf(tree, [part for part, _ in elements]), unread)
    poses = {name: frames.pose(name) for name in tree.links}
    joints = SdfJoints(frames, unread)
    edges = joints.edges()
    for edge in edges:
        missing = {edge.parent, edge.child}.difference(poses)
        if missing:
            reason = f'link {missing.pop()!r} does not exist in the URDF'
            raise DescriptionError(unread.file, f'gazebo joint {edge.name}', reason)
        model.loops.append(edge.loop(poses, unread.file))
        if edge.acts():
            model.warn(f'joint {edge.name} closes a loop: its losses and spring are left out')
    list(joints.couplings(edges, set()))  # refuses all: each closes a loop
    plugins = [(part, link) for part, link in elements if part.tag == 'plugin']
    read_plugins(plugins, model, unread, _names(root), poses)


def _read_reference(gazebo: ElementTree.Element, model: RobotModel) -> None:
    """Add the spring of a joint that ``<gazebo reference>`` names; note a link without weight."""
    name, stiffness = gazebo.get('reference') or '', gazebo.findtext('springStiffness')
    place = f'gazebo {name}'
    for tag in {part.tag for part in gazebo if isinstance(part.tag, str)} - {*_OF_GAZEBO}:
        if near := meant(tag, _OF_GAZEBO, 0.85):
            raise DescriptionError(model.file, place, f'unknown element <{tag}>{near}')
    names = {*model.links, *(joint.name for joint in model.joints)}
    if name and name not in names:
        note = f'{place}: there is no such link or joint{meant(name, names)}'
        read = any(part.tag in _OF_GAZEBO for part in gazebo)
        (model.warn if read else model.notes.append)(note)
    on, off = gazebo.findtext('gravity') or 'true', gazebo.findtext('turnGravityOff')
    if not is_true(on, model.file, place) or is_true(off, model.file, place):
        model.warn_of_weight(name)
    if stiffness and model.has_moving(name):
        texts = (stiffness, gazebo.findtext('springReference') or '0')
        values = [number_in(text, model.file, f'gazebo {name} spring') for text in texts]
        if values[0]:
            model.springs[name] = Spring(*values)


def _as_sdf(tree: urdf.Tree, added: list[ElementTree.Element]) -> ElementTree.Element:
    """A model of SDF with the links of a tree, where they are at zero, and what is added to it."""
    model = ElementTree.Element('model', name='urdf')
    poses = {tree.root: (np.zeros(3), np.eye(3))}
    for joint in tree.joints:
        at, turned = poses[joint.parent]
        poses[joint.child] = (at + turned @ joint.position, turned @ joint.rotation)
    for name, (at, turned) in poses.items():
        link = ElementTree.SubElement(model, 'link', name=name)
        numbers = (*at.tolist(), *Rotation.from_matrix(turned).as_quat().tolist())
        pose = ElementTree.SubElement(link, 'pose', rotation_format='quat_xyzw')
        pose.text = ' '.join(map(repr, numbers))
    for joint in tree.joints:
        if joint.name not in poses:
            ElementTree.SubElement(model, 'frame', name=joint.name, attached_to=joint.child)
    model.extend(part for part in added if part.tag in ('joint', 'frame'))
    return model


def _close_frames(tree: urdf.Tree, model: RobotModel, unread: Unread) -> None:
    """Add loops of frames ``closing_*``, unless something else ties the same two bodies."""
    carriers = tree.carriers()

    def bodies(loop: Loop) -> set[str]:
        return {carriers.get(frame.link, frame.link) for frame in (loop.first, loop.second)}

    pairs = [bodies(loop) for loop in model.loops]
    for stem, first, second in closing_pairs(tree.links, unread):
        loop = Loop(stem, POINT, Frame.of(first), Frame.of(second))
        if bodies(loop) not in pairs:
            model.loops.append(loop)
