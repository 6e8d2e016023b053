# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motors of URDF: ``<transmission>`` and ``<ros2_control>``."""

from __future__ import annotations

import dataclasses
import pathlib
from xml.etree import ElementTree

from masticator_dynamics.errors import meant
from masticator_dynamics.interchange.robot_model import (
    ImportedMotor,
    JointCoupling,
    RobotModel,
    number_in,
)
from masticator_dynamics.interchange.unread import Unread, names_in, tag_of

_READ = (
    'Read are transmissions of one joint, with its mechanicalReduction; without this one, name '
    'joints with motors by --actuated'
)

_REDUCTIONS = ('mechanicalReduction', 'mechanical_reduction')
_JOINTS = 'Read are motors of hinges and slides that close no loop'


def named_by_motors(root: ElementTree.Element) -> set[str]:
    """Joints for which ``<ros2_control>`` or a transmission says anything."""
    named = {str(joint.get('name')) for joint in root.findall('ros2_control/joint')}
    for transmission in root.iterfind('.//transmission'):
        named |= set(_joints_of(transmission))
    return named


def _joints_of(transmission: ElementTree.Element) -> list[str]:
    """Joints that a transmission names: ``<joint name="...">``, ``<gap_joint>`` and their like."""
    parts = (part for part in transmission if str(part.tag).endswith('joint'))
    return [part.get('name') or (part.text or '').strip() for part in parts]


def moves(name: str, label: tuple[str, str], model: RobotModel, unread: Unread) -> bool:
    """Whether a joint that something drives can move; refuse names that are none, note others.

    Parameters
    ----------
    name : str
        Of the joint, as the file has it.
    label : (str, str)
        Type and name of the element that names it.
    model : RobotModel
        Its joints and loops are read.
    unread : Unread
        Refuses the element, unless it is to be left out.

    Raises
    ------
    DescriptionError
        If nothing is called so, or a loop.
    """
    if model.has_moving(name):
        return True
    joints = [joint.name for joint in model.joints]
    if any(loop.name == name for loop in model.loops):
        reason = f'joint {name} closes a loop, and is no joint of the tree'
        unread.refuse(*label, reason, _JOINTS)
    elif name not in joints:
        near = meant(name, filter(model.has_moving, joints))
        unread.refuse(*label, f'there is no joint {name}{near}', _JOINTS)
    elif name in model.held:
        model.notes.append(f'{" ".join(label)}: joint {name} is held, and has no motor')
    else:
        model.warn(f'{" ".join(label)}: joint {name} does not move, and has no motor')
    return False


def read_motors(
    root: ElementTree.Element, model: RobotModel, unread: Unread, transmissions: bool
) -> None:
    """Add motors to a model whose joints and couplings are read, and mimics of ros2_control.

    Joints have one if they have a command interface and follow no other, or a transmission, if
    these are to be read.

    Raises
    ------
    DescriptionError
        For a transmission between several joints, unless it is to be left out.
    """
    for joint in root.findall('ros2_control/joint'):
        name = str(joint.get('name'))
        label = ('ros2_control joint', name)
        if _mimic(joint, name, model, unread):
            continue
        if joint.find('command_interface') is None:
            if all(name != other.name for other in model.joints):
                model.notes.append(f'{" ".join(label)}: it is not in the tree, and only measured')
        elif moves(name, label, model, unread):
            model.motors[name] = ImportedMotor()
    if not transmissions:
        return
    for transmission in root.findall('transmission'):
        _transmission(transmission, model, unread, True)
    for transmission in root.findall('ros2_control/transmission'):
        _transmission(transmission, model, unread, False)


def _mimic(joint: ElementTree.Element, name: str, model: RobotModel, unread: Unread) -> bool:
    """Add what ``<ros2_control>`` says of a joint that follows another; tell whether it does."""
    if (joint.get('mimic') or '').lower() in ('false', '0'):
        for coupling in [c for c in model.couplings if c.name == f'{name}_mimic']:
            model.couplings.remove(coupling)
            model.notes.append(f'joint {name} moves by itself, as ros2_control says')
        return False
    parameters = {str(p.get('name')): (p.text or '').strip() for p in joint.findall('param')}
    leader = parameters.get('mimic')
    if not leader:  # then <mimic> holds, whatever its interfaces
        return any(c.name == f'{name}_mimic' for c in model.couplings)
    ratio, offset = (
        number_in(parameters.get(key) or default, unread.file, f'ros2_control joint {name} {key}')
        for key, default in (('multiplier', '1'), ('offset', '0'))
    )
    if not model.has_moving(name) or not model.has_moving(leader):
        reason = f'joint {name} is to follow {leader}, and not both are moving joints'
        unread.refuse('ros2_control mimic', name, reason, 'Read are mimics of hinges and slides')
        return False
    coupling = JointCoupling.mimic(name, leader, ratio, offset)
    model.couple(coupling, f'ros2_control joint {name}')
    return True


def _transmission(
    element: ElementTree.Element, model: RobotModel, unread: Unread, drives: bool
) -> None:
    """Give the joint of a transmission its reduction, and a motor if the element says so."""
    name = str(element.get('name') or '')
    if not all([moves(j, ('transmission', name), model, unread) for j in _joints_of(element)]):
        return
    moving = {joint.name for joint in model.joints if model.has_moving(joint.name)}
    joints = list(dict.fromkeys(joint for part in element for joint in names_in(part, moving)))
    if len(joints) > 1:
        types = (element.findtext('type'), element.findtext('plugin'), element.get('type'))
        kind = next((t.strip().rpartition('/')[2] for t in types if t), 'it')
        unread.refuse('transmission', name, f'{kind} mixes {" and ".join(joints)}', _READ)
    elif joints and (drives or joints[0] in model.motors):
        ratio, inertia = (
            _reduction(element, name, unread),
            rotor_inertia(element, f'transmission {name}', unread.file),
        )
        motor = model.motors.get(joints[0], ImportedMotor())
        if ratio != 1.0:
            model.notes.append(
                f'transmission {name}: efforts of {joints[0]} are those of its motor, through a '
                f'reduction of {ratio:.6g}'
            )
            motor = dataclasses.replace(motor, ratio=ratio)
        model.motors[joints[0]] = motor
        if drives and any(c.name == f'{joints[0]}_mimic' for c in model.couplings):
            model.warn(f'joint {joints[0]} follows another and has a motor of its own')
        if inertia:
            model.armature[joints[0]] = model.armature.get(joints[0], 0.0) + inertia
    elif not joints:
        model.warn(f'transmission {name} names no joint')


def _reduction(element: ElementTree.Element, name: str, unread: Unread) -> float:
    """Motion of the motor per motion of the joint; tools say it at the joint or the actuator."""
    place = f'transmission {name}'
    ratios = {
        number_in(text, unread.file, f'{place} reduction')
        for part in element.iter()
        for text in (
            part.get('mechanicalReduction'),
            part.get('mechanical_reduction'),
            (part.text or part.get('value') or '1') if part.tag in _REDUCTIONS else None,
        )
        if text is not None
    } - {1.0}
    if len(ratios) > 1 or 0.0 in ratios:
        values = ', '.join(f'{value:g}' for value in sorted(ratios))
        unread.refuse('transmission', name, f'its reductions are {values}', _READ)
        return 1.0
    return next(iter(ratios), 1.0)


def rotor_inertia(element: ElementTree.Element, place: str, file: pathlib.Path) -> float:
    """Inertia of the rotor as the joint feels it, kg m^2 or kg: Drake's tags in an element."""
    texts = {tag_of(part): part.get('value') or part.text or '' for part in element.iter()}
    inertia, gear = (
        number_in(texts.get(f'drake:{key}', default), file, f'{place} {key}')
        for key, default in (('rotor_inertia', '0'), ('gear_ratio', '1'))
    )
    return inertia * gear**2
