# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From a file of another tool to a description: read, close, choose coordinates, write.

A loop may come with a rod that is cut in the middle and welded there, and has a ball joint or a
hinge at each end. The rod is made whole and cut at one of these joints: at a ball joint, that takes
three equations instead of six.
"""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.description import MechanismDescription, description_from_text
from masticator_dynamics.description.closures import COUPLING, HINGE, POINT, WELD, ClosureKind
from masticator_dynamics.description.urdf import Array, Joint
from masticator_dynamics.engine.tree import rotation_to, spanning_tree
from masticator_dynamics.errors import DescriptionError, DescriptionWarning, MasticatorError
from masticator_dynamics.interchange.file_formats import read
from masticator_dynamics.interchange.free_bodies import hang_free_bodies, put_home_at_zero
from masticator_dynamics.interchange.freedoms import (
    choose_motors,
    coordinates,
    freedoms,
    hold_pressed_joints,
    hold_stiff_springs,
    hold_unmoved,
    idle_joints,
    lock,
    require_moving,
)
from masticator_dynamics.interchange.platform import likeliest_platform
from masticator_dynamics.interchange.pose_search import ROUNDING, LoopKinematics, closed_pose
from masticator_dynamics.interchange.robot_model import Frame, JointCoupling, Loop, RobotModel
from masticator_dynamics.interchange.write import urdf_text, with_loop_frames, yaml_text

_CONCURRENT = 1e-6  # m between the axes of a ball joint
_PARALLEL = (1e-5, 0.02)  # rad between axes that are probably meant to be parallel
_LIGHT = 1e-8  # kg; placeholders have at most this mass


def join_rods(model: RobotModel) -> None:
    """Move the cut of every weld to a ball joint at one end of the rod, else to a hinge."""
    for loop in list(model.loops):
        if loop.kind is not WELD:
            continue
        sides = [(loop.second, loop.first), (loop.first, loop.second)]
        joints = [_holding(model, loop, near) for near, _ in sides]
        for wanted in (POINT, HINGE):
            kinds = [_kind(model, chain) for chain in joints]
            if wanted in kinds:
                side = kinds.index(wanted)
                _move_cut(model, loop, *sides[side], joints[side], wanted)
                break


def _holding(model: RobotModel, loop: Loop, near: Frame) -> list[Joint]:
    """Joints that only guide a frame's body, the last first; none if it branches."""
    body = model.body(near.link)
    if any(joint.moves for joint in model.below(body)):
        return []
    if any({end.link for end in (o.first, o.second)} & body for o in model.loops if o is not loop):
        return []
    chain: list[Joint] = []
    while True:
        above = [j for j in model.joints if j.child in body and j.parent not in body]
        if not above or not above[0].moves or model.acts(above[0].name):
            return chain
        chain.append(above[0])
        body = model.body(above[0].parent)
        light = sum(model.links[link].mass for link in body) <= _LIGHT
        if model.root in body or not light or len(_moving_below(model, body)) != 1:
            return chain


def _moving_below(model: RobotModel, body: set[str]) -> list[Joint]:
    return [j for j in model.below(body) if j.child not in body and j.moves]


def _kind(model: RobotModel, chain: list[Joint]) -> ClosureKind | None:
    """The closure that the joints carrying a body form together."""
    turning = all(joint.turns for joint in chain)
    if len(chain) == 1 and turning:
        return HINGE
    if len(chain) == 3 and turning:
        # Concurrent axes: the inner joints are at the origin of the link before them.
        if all(np.linalg.norm(joint.position) < _CONCURRENT for joint in chain[:-1]):
            axes = np.array([joint.rotation @ joint.axis for joint in chain])
            if abs(np.linalg.det(axes)) > 0.5 or not model.guess:
                return POINT
    return None


def _move_cut(
    model: RobotModel, loop: Loop, near: Frame, far: Frame, chain: list[Joint], kind: ClosureKind
) -> None:
    """Attach the near body to the far one and cut at the joints that carried it."""
    outer, first = chain[-1], chain[0]
    carrier = next(
        link for link in model.body(near.link) if (above := model.above(link)) is first and above
    )
    for joint in chain:
        model.joints.remove(joint)
        model.guess.pop(joint.name, None)
        if joint is not first:
            del model.links[joint.child]
    position, rotation = model.in_carrier(near, carrier)
    place = far.after(-rotation.T @ position, rotation.T)
    model.joints.append(Joint(f'{loop.name}_weld', 'fixed', far.link, carrier, *place, np.zeros(3)))
    turned = rotation_to(outer.rotation @ outer.axis)
    held = Frame(outer.parent, outer.position, turned)
    inner = Frame(carrier, np.zeros(3), rotation_to(outer.axis))
    at = model.loops.index(loop)
    model.loops[at] = dataclasses.replace(loop, kind=kind, first=held, second=inner)


@dataclasses.dataclass(frozen=True)
class Imported:
    """Texts of a description, and the decisions made on the way, one sentence each.

    ``warnings`` are those notes that say what may be wrong.
    """

    urdf: str
    yaml: str
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def import_robot(
    path: pathlib.Path,
    name: str,
    *,
    actuated: Sequence[str] = (),
    independent: Sequence[str] = (),
    locked: Sequence[str] = (),
    recorded: Mapping[str, tuple[float, float]] | None = None,
    platform: str = '',
    arguments: Mapping[str, str] | None = None,
    ignore: Collection[str] = (),
) -> Imported:
    """Read a robot that another tool described and make a description of it.

    Parameters
    ----------
    path : pathlib.Path
        URDF, xacro, MJCF, SDF, or Gepetto's YAML.
    name : str
        Name of the mechanism; its URDF file is called ``name.urdf``.
    actuated, independent : sequence of str
        Joints; default: those with motors in the file, and a well-conditioned choice.
    locked : sequence of str
        Joints to hold at the closed pose.
    recorded : mapping, optional
        Least and greatest position of joints in a recording, rad or m, by name: those that rest in
        it, or that it does not have, are held.
    platform : str
        Link; default: one named like a tool, or the one that most freedoms lead to.
    arguments : mapping, optional
        Values of a xacro file's arguments.
    ignore : collection of str
        Names or types of elements that tie parts of the robot and would be refused, to leave out.

    Raises
    ------
    DescriptionError
        For a file that cannot be read, elements in it that tie parts of the robot and are not
        understood, or loops that cannot be closed.
    """
    with _absurd_numbers_refused(path):
        model = read(path, {*actuated, *independent, *locked}, arguments, ignore)
        model.name = name
        hang_free_bodies(model)
        if not any(joint.moves for joint in model.joints):
            raise DescriptionError(path, 'joints', 'nothing with mass moves in it')
        choose_motors(model, actuated)
        require_moving(model, 'independent', independent)
        require_moving(model, 'lock', locked)
        if recorded is not None:
            hold_unmoved(model, recorded)
            locked = [joint for joint in locked if model.has_moving(joint)]
        hold_stiff_springs(model)
        join_rods(model)
        positions = _closed(model)
        put_home_at_zero(model, positions)
        for joint in locked:
            lock(model, joint, positions, 'as asked')
        hold_pressed_joints(model, positions)
        kinematics, motions, q = _motions(model, positions)
        chosen = platform or likeliest_platform(kinematics, q, motions)
        if chosen not in model.links:
            raise DescriptionError(path, 'platform', f'link {chosen!r} does not exist')
        positions = dict(zip(kinematics.names, q.tolist(), strict=True))
        for joint in idle_joints(kinematics, q, motions, chosen):
            lock(
                model, joint, positions, 'it would spin idly, with no effect on motors and platform'
            )
        _drop_rigid_loops(model)
        _hinges_to_points(model, positions)
        names = list(independent) or _independent(model, positions)
        if not names:
            reason = f'they leave it no freedom to move{_held(model)}'
            raise DescriptionError(path, 'loops', reason)
        return _described(model, positions, names, chosen)


@contextlib.contextmanager
def _absurd_numbers_refused(path: pathlib.Path) -> Iterator[None]:
    """Numbers that nothing can be computed with are a fault of the file."""
    try:
        with np.errstate(all='ignore'):  # they lead to errors further down
            yield
    except MasticatorError:
        raise
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise DescriptionError(path, '', f'cannot be used: {error}') from error


def import_description(path: pathlib.Path, ignore: Collection[str] = ()) -> MechanismDescription:
    """Import a robot and describe it without writing files; for ``ignore`` see `import_robot`.

    Raises
    ------
    DescriptionError
        As :func:`import_robot`.
    """
    # Gepetto calls every one of its files robot.
    name = path.absolute().parent.name if path.stem == 'robot' else path.stem
    made = import_robot(path, name, ignore=ignore)
    for warning in made.warnings:
        warnings.warn(f'{path}: {warning}', DescriptionWarning, stacklevel=3)
    return description_from_text(path.with_name(f'{name}.yaml'), made.yaml, made.urdf)


def leaning_axes(description: MechanismDescription) -> str:
    """Joints whose axes are nearly parallel at home, for a message; empty if there are none."""
    tree = spanning_tree(description.tree)
    poses = tree.poses(tree.start(description.home))
    turning = [i for i, joint in enumerate(tree.joints) if joint.turns]
    axes = np.array([poses.axis(i) for i in turning]).reshape(-1, 3)
    sines = np.linalg.norm(np.cross(axes[:, None], axes[None]), axis=-1)
    near = np.argwhere(np.triu((sines > _PARALLEL[0]) & (sines < _PARALLEL[1])))
    if not near.size:
        return ''
    first, second = near[0]
    names = [tree.joints[turning[i]].name for i in (first, second)]
    return (
        f'; axes of {" and ".join(names)} are {sines[first, second]:.2g} rad off being parallel, '
        'as those of planar loops must be'
    )


def _closed(model: RobotModel) -> dict[str, float]:
    """Positions of all joints in a closed pose."""
    kinematics = LoopKinematics(model)
    q, gap = closed_pose(kinematics)
    if gap > ROUNDING:
        still = ', '.join(
            f'{tie.name} by {kinematics.gap_text(q, tie)}'
            for tie, _ in kinematics.ties()
            if kinematics.gap(q, tie) > ROUNDING
        )
        reason = f'no pose was found that closes all; open stay {still}{_contradiction(model)}'
        raise DescriptionError(model.file, 'loops', reason)
    _tell_open_loops(kinematics, q)
    return dict(zip(kinematics.names, q.tolist(), strict=True))


def _tell_open_loops(kinematics: LoopKinematics, q: Array) -> None:
    """Note loops that are open where the search for a pose started: a length may be mistyped."""
    start = kinematics.guess()
    gaps = {loop.name: kinematics.gap(start, loop) for loop in kinematics.model.loops}
    still = [loop for loop in kinematics.model.loops if gaps[loop.name] > ROUNDING]
    if still:
        widest = max(still, key=lambda loop: gaps[loop.name])
        others = f' and {len(still) - 1} more' if still[1:] else ''
        moved = int(np.abs(q - start).argmax())
        joint = kinematics.tree.joints[moved]
        kinematics.model.notes.append(
            f'as drawn, loops are open by up to {kinematics.gap_text(start, widest)} '
            f'({widest.name}{others}): home closes them; joint {joint.name} moves most, by '
            f'{q[moved] - start[moved]:.3g} {joint.unit}'
        )


def _straight(model: RobotModel) -> tuple[list[JointCoupling], list[str], Array]:
    """Couplings of constant ratios, joints in them, and the ratios (couplings, joints)."""
    straight = [c for c in model.couplings if not any(any(k[1:]) for k in c.of.values())]
    joints = sorted({joint for c in straight for joint in (c.joint, *c.of)})
    rows = np.zeros((len(straight), len(joints)))
    for row, coupling in zip(rows, straight, strict=True):
        row[joints.index(coupling.joint)] += 1.0
        for joint, coefficients in coupling.of.items():
            row[joints.index(joint)] -= sum(coefficients)
    return straight, joints, rows


def _contradiction(model: RobotModel) -> str:
    """Couplings that no positions satisfy together, as mimics in a ring with an offset."""
    straight, _, rows = _straight(model)
    offsets = np.array([coupling.offset for coupling in straight])
    missed = rows @ np.linalg.lstsq(rows, offsets)[0] - offsets
    wrong = [c.name for c, miss in zip(straight, missed, strict=True) if abs(miss) > ROUNDING]
    return f': {", ".join(wrong)} contradict one another, whatever the pose' if wrong else ''


def _held(model: RobotModel) -> str:
    """Joints that couplings alone hold, as mimics in a ring whose ratios do not cancel."""
    straight, joints, rows = _straight(model)
    moved = np.eye(len(joints)) - np.linalg.pinv(rows) @ rows
    held = {j for j, row in zip(joints, moved, strict=True) if np.abs(row).max() < ROUNDING}
    names = [c.name for c in straight if {c.joint, *c.of} <= held]
    if not held:
        return ''
    return f': {", ".join(names)} hold {", ".join(sorted(held))} at one position'


def _motions(model: RobotModel, positions: dict[str, float]) -> tuple[LoopKinematics, Array, Array]:
    """The model's kinematics, its motions, and a pose where these are not singular."""
    kinematics = LoopKinematics(model)
    q = np.array([positions[name] for name in kinematics.names])
    motions, q = freedoms(kinematics, q)
    return kinematics, motions, q


def _drop_rigid_loops(model: RobotModel) -> None:
    """Leave out loops within one rigid body: closed as they are, they say nothing."""
    carriers = model.tree().carriers()
    for loop in list(model.loops):
        if carriers[loop.first.link] == carriers[loop.second.link]:
            model.loops.remove(loop)
            ends = f'{loop.first.link} and {loop.second.link}'
            model.notes.append(f'{loop.name} is left out: {ends} are parts of one rigid body')


def _hinges_to_points(model: RobotModel, positions: dict[str, float]) -> None:
    """Make hinges of planar loops points: their other equations follow from the rest."""
    for index, loop in enumerate(model.loops):
        if loop.kind is HINGE:
            needed = _motions(model, positions)[1].shape[1]
            model.loops[index] = dataclasses.replace(loop, kind=POINT)
            if _motions(model, positions)[1].shape[1] != needed:
                model.loops[index] = loop


def _independent(model: RobotModel, positions: dict[str, float]) -> list[str]:
    """One joint per degree of freedom; adds a note where motors do not drive all of them."""
    kinematics, motions, _ = _motions(model, positions)
    names = coordinates(kinematics, motions)
    undriven = [name for name in names if name not in model.motors]
    if not model.motors:
        model.notes.append('the file names no motors: each independent joint counts as one')
        choose_motors(model, names)
    elif undriven:
        model.notes.append(
            f'{len(names)} freedoms, of which motors drive {len(names) - len(undriven)}; without: '
            f'{", ".join(undriven)}. Kinematics work, efforts are refused. '
            f'{_remedy(model, undriven)}'
        )
    return names


def _remedy(model: RobotModel, undriven: list[str]) -> str:
    """What helps where joints move freely. Held, a joint that a loop moves gives wrong efforts."""
    if model.untied:
        left_out = ', '.join(model.untied)
        return f'What was left out may tie them, as a closure or coupling would: {left_out}'
    return (
        'If the file has all loops and couplings of the machine, name motors with --actuated, or '
        f'hold joints: --lock {",".join(undriven)}'
    )


def _described(
    model: RobotModel, positions: dict[str, float], independent: list[str], platform: str
) -> Imported:
    """The two texts of the description."""
    loops = with_loop_frames(model)
    content: dict[str, Any] = {
        'schema': 1,
        'name': model.name,
        'urdf': f'{model.name}.urdf',
        'base': model.root,
        'platform': platform,
        'gravity': [float(value) for value in model.gravity],
        'independent': independent,
        'actuated': list(model.motors),
        'home': {
            name: value for name, value in positions.items() if model.has_moving(name) and value
        },
    }
    closures: list[dict[str, Any]] = [
        {'name': name, 'type': kind, 'frames': list(frames), **length}
        for name, kind, frames, length in loops
    ]
    closures += [_coupling(coupling) for coupling in model.couplings]
    if closures:
        content['closures'] = closures
    actuators = {name: _actuator(model, name) for name in model.motors}
    if any(actuators.values()):
        content['actuators'] = {name: value for name, value in actuators.items() if value}
    if joints := _joints(model):
        content['joints'] = joints
    return Imported(
        urdf_text(model), yaml_text(model, content), tuple(model.notes), tuple(model.warnings)
    )


def _coupling(coupling: JointCoupling) -> dict[str, Any]:
    made = {'name': coupling.name, 'type': COUPLING.name, 'joint': coupling.joint}
    of = {other: list(powers) for other, powers in coupling.of.items()}
    return {**made, 'of': of, 'offset': coupling.offset}


def _joints(model: RobotModel) -> dict[str, dict[str, float]]:
    """Springs, losses and armature of joints."""
    physics: dict[str, dict[str, float]] = {}
    for name, spring in model.springs.items():
        physics[name] = {'stiffness': spring.stiffness, 'reference': spring.reference}
    values = {'damping': model.damping, 'friction': model.dry, 'armature': model.armature}
    for joint in model.joints:
        for key in joint.kind.dimensions:
            values.setdefault(key, {})[joint.name] = getattr(joint, key)
    for key, by_joint in values.items():
        for name, value in by_joint.items():
            physics.setdefault(name, {})[key] = value
    return physics


def _actuator(model: RobotModel, name: str) -> dict[str, Any]:
    motor = model.motors[name]
    actuator: dict[str, Any] = {}
    if motor.ratio != 1.0:
        actuator['transmission'] = {'ratio': motor.ratio}
    if motor.effort is not None:
        actuator['limits'] = {'effort': list(motor.effort)}
    return actuator
