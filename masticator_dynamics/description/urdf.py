# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From a URDF or xacro file to a plain kinematic tree with inertias."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import io
import math
import pathlib
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from masticator_dynamics.description.likely_units import not_in_metres
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.files.text_file import LARGEST_DESCRIPTION, read_text

if TYPE_CHECKING:
    import urdf_parser_py.urdf

Array = npt.NDArray[np.float64]
UNLIMITED = 1e9  # a limit of this size or more, in any unit, counts as none
_NO_MOMENT = 1e-9  # kg m^2; of a moment below this, a thousand-millionth is rounding
FARTHEST = 1e6  # m; at larger distances, rounding opens loops by more than they may be
_NAMESPACE = re.compile(r"""(<robot\b[^>]*?)\s+xmlns\s*=\s*(?:"[^"]*"|'[^']*')""")
MOVING_TYPES = ('revolute', 'continuous', 'prismatic')


@dataclasses.dataclass(frozen=True)
class Inertia:
    """Mass (kg), centre of mass (3,) (m) and inertia about it (3, 3) (kg m^2), link axes."""

    mass: float
    center_of_mass: Array
    about_center: Array


@dataclasses.dataclass(frozen=True)
class Joint:
    """A URDF joint; ``position`` and ``rotation`` place the joint frame in the parent link."""

    name: str
    type: str
    parent: str
    child: str
    position: Array
    rotation: Array
    axis: Array
    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    damping: float = 0.0  # N m s/rad or N s/m
    friction: float = 0.0  # dry, N m or N

    @property
    def unit(self) -> str:
        """Unit of the joint's position."""
        return 'm' if self.type == 'prismatic' else 'rad'


@dataclasses.dataclass(frozen=True)
class Mimic:
    """A joint whose position is ``multiplier`` times that of another plus ``offset``, rad or m."""

    joint: str
    other: str
    multiplier: float
    offset: float


@dataclasses.dataclass(frozen=True)
class Tree:
    """Links and joints of a URDF, joints ordered from the root outwards.

    ``warnings`` name what was ignored or looks wrong, one sentence each. ``mimics`` are joints
    that ``<mimic>`` couples to others.
    """

    root: str
    joints: tuple[Joint, ...]
    links: dict[str, Inertia]
    warnings: tuple[str, ...] = ()
    mimics: tuple[Mimic, ...] = ()

    def carriers(self) -> dict[str, str]:
        """For each link, the first link of its rigid body, across fixed joints."""
        carriers = {self.root: self.root}
        for joint in self.joints:
            fixed = joint.type == 'fixed'
            carriers[joint.child] = carriers[joint.parent] if fixed else joint.child
        return carriers


def expansion(path: pathlib.Path, arguments: dict[str, str]) -> tuple[str, list[pathlib.Path]]:
    """URDF text of a file, and all files that it was read from.

    ``.xacro`` is processed with the given arguments. A namespace without a prefix is left out.

    Raises
    ------
    DescriptionError
        When the file cannot be read or expanded.
    """
    try:
        text = read_text(path, LARGEST_DESCRIPTION)
    except OSError as error:
        raise DescriptionError(path, '', error.strerror or 'cannot be read') from error
    except UnicodeDecodeError as error:
        raise DescriptionError(path, '', f'not UTF-8 text: {error.reason}') from error
    if path.suffix != '.xacro':
        return _NAMESPACE.sub(r'\1', text, count=1), [path]
    # Imported here, like the parser below: cached descriptions need neither.
    from masticator_dynamics.description.xacro_file import expand_xacro

    text, included = expand_xacro(path, arguments)
    return _NAMESPACE.sub(r'\1', text, count=1), [path, *included]


_LIGHT = 1e-5  # of the robot's mass
_UNFELT = 1e-3  # of its largest moment of inertia, that a light link may have wrong


def parse(text: str, file: pathlib.Path) -> Tree:
    """Kinematic tree of a URDF text.

    Raises
    ------
    DescriptionError
        For broken XML, unknown joint types, links outside the tree, bad inertias.
    """
    import urdf_parser_py.urdf
    import urdf_parser_py.xml_reflection.core as urdf_reflection

    from masticator_dynamics.description.foreign import what_moves

    plain = what_moves(text, file)
    urdf_reflection.on_error = lambda _: None  # of attributes that `what_moves` lets pass
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            robot = urdf_parser_py.urdf.URDF.from_xml_string(plain.xml)
    except Exception as error:  # the parser raises many types, AssertionError among them
        raise DescriptionError(file, '', f'URDF: {_one_line(error)}') from error
    _refuse_namesakes(robot, file)
    links = {link.name: _inertia(link, file) for link in robot.links}
    _refuse_negative_moments(links, file)
    joints = {joint.child: _joint(joint, links, file) for joint in robot.joints}
    if len(joints) != len(robot.joints):
        twice = [j.name for j in robot.joints if joints[j.child].name != j.name]
        reason = (
            'its child link has another parent joint; leave this joint out of the URDF and say it '
            'as a closure in the YAML file'
        )
        raise DescriptionError(file, f'joint {twice[0]}', reason)
    roots = [name for name in links if name not in joints]
    if len(roots) != 1:
        raise DescriptionError(file, '', f'a URDF has one root link, this one has {roots}')
    outwards = _outwards(roots[0], list(joints.values()), file)
    tree = Tree(roots[0], outwards, links, (), tuple(_mimics(robot, file)))
    doubts = (
        *plain.warnings, *_doubtful_inertias(links), *_forgotten_masses(tree, plain.shaped),
        *_empty_limits(tree), *_other_units(tree),
    )  # fmt: skip
    return dataclasses.replace(tree, warnings=doubts)


def _refuse_negative_moments(links: dict[str, Inertia], file: pathlib.Path) -> None:
    """Refuse inertias with a negative principal moment, but of links that nobody feels."""
    moments = {name: np.linalg.eigvalsh(link.about_center) for name, link in links.items()}
    largest = max((principal[2] for principal in moments.values()), default=0.0)
    mass = sum(link.mass for link in links.values())
    for name, principal in moments.items():
        unfelt = links[name].mass < _LIGHT * mass and principal[0] > -_UNFELT * largest
        if principal[0] < -1e-9 * max(principal[2], _NO_MOMENT) and not unfelt:
            reason = f'inertia has the principal moment {principal[0]} kg m^2'
            raise DescriptionError(file, f'link {name}', reason)


def _doubtful_inertias(links: dict[str, Inertia]) -> Iterator[str]:
    """Inertias that no rigid body can have: a principal moment above the sum of the others."""
    for name, inertia in links.items():
        first, second, third = np.linalg.eigvalsh(inertia.about_center)
        if third > (first + second) * (1.0 + 1e-3) + 1e-15:
            yield (
                f'link {name}: its principal moments are {first:.4g}, {second:.4g} and '
                f'{third:.4g} kg m^2; no body has one above the sum of the others'
            )


def _forgotten_masses(tree: Tree, shaped: Iterable[str]) -> Iterator[str]:
    """Moving bodies with a shape and no mass."""
    carriers = tree.carriers()
    heavy = {carriers[name] for name, inertia in tree.links.items() if inertia.mass > 0.0}
    for name in shaped:
        if carriers[name] not in heavy | {tree.root}:
            yield f'link {name} has a shape but no <inertial>: its body counts as massless'


def _empty_limits(tree: Tree) -> Iterator[str]:
    """Joints all of whose limits are 0."""
    joints = [j for j in tree.joints if j.type in MOVING_TYPES]
    named = [j.name for j in joints if not any((j.lower, j.upper, j.velocity, j.effort))]
    if named:
        yield (
            f'<limit> of joints {", ".join(named)} is all 0, as exporters write it where nobody '
            'filled it in: positions other than 0, all speeds and all efforts count as beyond the '
            'limits; write the true ones, or inf for none'
        )


def _other_units(tree: Tree) -> Iterator[str]:
    """Limits that look like degrees, whole numbers of some turns; places that look like mm."""
    for joint in tree.joints:
        low, high = joint.lower, joint.upper
        far, whole = max(-low, high), not (low % 1.0 or high % 1.0)
        # 100 is what some write for no limit.
        if joint.type == 'revolute' and 10.0 < far <= 360.0 and whole and far != 100.0:
            yield f'<limit> of joint {joint.name} is {low:g} to {high:g} rad: not in degrees?'
    yield from not_in_metres(
        {joint.name: float(np.linalg.norm(joint.position)) for joint in tree.joints},
        {name: _size(body) for name, body in tree.links.items() if body.mass > 0.0},
    )


def _size(body: Inertia) -> tuple[float, float]:
    """Distance of the centre of mass from the link's frame, and largest radius of gyration, m."""
    moment = max(float(np.linalg.eigvalsh(body.about_center)[-1]), 0.0)
    return float(np.linalg.norm(body.center_of_mass)), math.sqrt(moment / body.mass)


def _refuse_namesakes(robot: urdf_parser_py.urdf.URDF, file: pathlib.Path) -> None:
    for kind, items in (('link', robot.links), ('joint', robot.joints)):
        for name, count in collections.Counter(item.name for item in items).items():
            if count > 1:
                raise DescriptionError(file, f'{kind} {name}', 'appears twice')


def _mimics(robot: urdf_parser_py.urdf.URDF, file: pathlib.Path) -> Iterator[Mimic]:
    """Joints that are coupled to others."""
    moving = {joint.name for joint in robot.joints if joint.type in MOVING_TYPES}
    for joint in robot.joints:
        if joint.mimic is None:
            continue
        key, other = f'joint {joint.name}', joint.mimic.joint
        if joint.name not in moving or other not in moving - {joint.name}:
            raise DescriptionError(file, key, f'<mimic> of {other!r}: two moving joints are needed')
        ratio, offset = joint.mimic.multiplier, joint.mimic.offset
        ratio, offset = 1.0 if ratio is None else float(ratio), float(offset or 0.0)
        if not (np.isfinite(ratio) and np.isfinite(offset) and ratio):
            reason = (
                f'<mimic> multiplier {ratio} or offset {offset} is not finite, or couples nothing'
            )
            raise DescriptionError(file, key, reason)
        yield Mimic(joint.name, other, ratio, offset)


def _outwards(root: str, joints: list[Joint], file: pathlib.Path) -> tuple[Joint, ...]:
    """Depth-first order from the root, children in the order of the file."""
    children: dict[str, list[Joint]] = {}
    for joint in joints:
        children.setdefault(joint.parent, []).append(joint)
    ordered: list[Joint] = []
    stack = list(reversed(children.get(root, [])))
    while stack:
        joint = stack.pop()
        ordered.append(joint)
        stack.extend(reversed(children.get(joint.child, [])))
    if len(ordered) != len(joints):
        ring = _ring({j.child: j for j in joints if j not in ordered})
        links = ' on '.join([*(joint.child for joint in ring), ring[0].child])
        reason = (
            f'not connected to the root link {root!r}: its links hang in a ring, {links}; leave '
            'this joint out of the URDF and say it as a closure in the YAML file'
        )
        raise DescriptionError(file, f'joint {ring[0].name}', reason)
    return tuple(ordered)


def _ring(above: dict[str, Joint]) -> list[Joint]:
    """Joints around a ring, from child to parent, among joints (by child) without a root."""
    link, passed = next(iter(above)), []
    while link not in passed:
        passed.append(link)
        link = above[link].parent
    return [above[name] for name in passed[passed.index(link) :]]


def _joint(
    joint: urdf_parser_py.urdf.Joint, links: dict[str, Inertia], file: pathlib.Path
) -> Joint:
    key = f'joint {joint.name}'
    if joint.type not in (*MOVING_TYPES, 'fixed'):
        allowed = ', '.join((*MOVING_TYPES, 'fixed'))
        raise DescriptionError(file, key, f'type {joint.type!r} is not one of {allowed}')
    for link in (joint.parent, joint.child):
        if link not in links:
            raise DescriptionError(file, key, f'link {link!r} does not exist')
    axis = np.array(joint.axis if joint.axis is not None else (1.0, 0.0, 0.0), dtype=float)
    length = float(np.linalg.norm(axis))
    if joint.type != 'fixed' and not 1e-9 < length < np.inf:
        raise DescriptionError(file, key, f'axis {axis.tolist()} has no direction')
    position, rotation = _placement(joint.origin)
    if not (np.isfinite(position).all() and np.isfinite(rotation).all()):
        raise DescriptionError(file, key, 'origin is not finite')
    _check_distance(position, file, key, 'origin')
    limit = joint.limit
    ranged = limit is not None and joint.type in ('revolute', 'prismatic')
    lower, upper = (limit.lower or 0.0, limit.upper or 0.0) if ranged else (-np.inf, np.inf)
    velocity = float(limit.velocity) if limit is not None else np.inf
    effort = float(limit.effort) if limit is not None else np.inf
    lower, upper, velocity, effort = (_unlimited(v) for v in (lower, upper, velocity, effort))
    if not lower <= upper:
        raise DescriptionError(file, key, f'limit lower {lower} is not below upper {upper}')
    if not (velocity >= 0.0 and effort >= 0.0):
        raise DescriptionError(
            file, key, f'limit velocity {velocity} or effort {effort} is negative or no number'
        )
    dynamics = joint.dynamics
    damping, friction = (
        float((getattr(dynamics, loss, None) if dynamics is not None else None) or 0.0)
        for loss in ('damping', 'friction')
    )
    if not (0.0 <= damping < np.inf and 0.0 <= friction < np.inf):
        raise DescriptionError(
            file,
            key,
            f'<dynamics> damping {damping} or friction {friction} is negative or no number',
        )
    return Joint(
        joint.name, joint.type, joint.parent, joint.child, position, rotation,
        axis / length if length else axis, lower, upper, velocity, effort, damping, friction,
    )  # fmt: skip


def _check_distance(position: Array, file: pathlib.Path, key: str, what: str) -> None:
    away = float(np.abs(position).max())
    if away > FARTHEST:
        raise DescriptionError(file, key, f'{what} is {away:.6g} m away; at most {FARTHEST:g} m')


def _unlimited(bound: float) -> float:
    """The bound, or infinity where it means none: other readers do not accept ``inf``."""
    return math.copysign(math.inf, bound) if abs(bound) >= UNLIMITED else bound


def _inertia(link: urdf_parser_py.urdf.Link, file: pathlib.Path) -> Inertia:
    if link.inertial is None:
        return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))
    key = f'link {link.name}'
    if link.inertial.inertia is None:
        raise DescriptionError(file, key, 'its <inertial> has no <inertia>')
    position, rotation = _placement(link.inertial.origin)
    with np.errstate(invalid='ignore'):
        tensor = rotation @ np.array(link.inertial.inertia.to_matrix(), dtype=float) @ rotation.T
    mass = float(link.inertial.mass)
    if not (np.isfinite(mass) and np.isfinite(tensor).all() and np.isfinite(position).all()):
        raise DescriptionError(file, key, 'inertial is not finite')
    _check_distance(position, file, key, 'centre of mass')
    if mass < 0.0:
        raise DescriptionError(file, key, f'mass {mass} kg is negative')
    return Inertia(mass, position, tensor)


def _placement(origin: urdf_parser_py.urdf.Pose | None) -> tuple[Array, Array]:
    """Position and rotation of a URDF ``<origin>``: fixed-axis roll, pitch, yaw."""
    xyz = np.array((origin.xyz if origin is not None else None) or (0, 0, 0), dtype=float)
    roll, pitch, yaw = (origin.rpy if origin is not None else None) or (0.0, 0.0, 0.0)
    with np.errstate(invalid='ignore'):  # callers refuse non-finite values
        (sr, cr), (sp, cp), (sy, cy) = ((np.sin(a), np.cos(a)) for a in (roll, pitch, yaw))
    rotation = np.array([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ])  # fmt: skip
    return xyz, rotation


def _one_line(error: Exception) -> str:
    return ' '.join(f'{type(error).__name__}: {error}'.split())
