# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From a URDF or xacro file to a plain kinematic tree with inertias."""

from __future__ import annotations

import dataclasses
import math
import pathlib
import re
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from masticator_dynamics.description.joints import FIXED, KINDS
from masticator_dynamics.description.joints import MOVING_TYPES as MOVING_TYPES
from masticator_dynamics.description.joints import Joint as Joint
from masticator_dynamics.description.millimetres import not_in_metres
from masticator_dynamics.description.urdf_element import UrdfElement, named_elements
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.files.text_file import LARGEST_DESCRIPTION, read_text

Array = npt.NDArray[np.float64]
UNLIMITED = 1e9  # a limit of this size or more, in any unit, counts as none
_NO_MOMENT = 1e-9  # kg m^2; of a moment below this, a thousand-millionth is rounding
FARTHEST = 1e6  # m; at larger distances, rounding opens loops by more than they may be
_NAMESPACE = re.compile(r"""(<robot\b[^>]*?)\s+xmlns\s*=\s*(?:"[^"]*"|'[^']*')""")


@dataclasses.dataclass(frozen=True)
class Inertia:
    """Mass (kg), centre of mass (3,) (m) and inertia about it (3, 3) (kg m^2), link axes."""

    mass: float
    center_of_mass: Array
    about_center: Array


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
            fixed = joint.kind is FIXED  # what floats is not
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
    from masticator_dynamics.description.foreign import what_moves

    plain = what_moves(text, file)
    links, above = dict[str, Inertia](), dict[str, Joint]()
    for link in named_elements(plain.robot, 'link', file):
        links[link.name] = _inertia(link)
    _refuse_negative_moments(links, file)
    elements = list(named_elements(plain.robot, 'joint', file))
    for element in elements:
        joint = _joint(element, links)
        if joint.child in above:
            reason = (
                'its child link has another parent joint; leave this joint out of the URDF and say '
                'it as a closure in the YAML file'
            )
            raise DescriptionError(file, f'joint {above[joint.child].name}', reason)
        above[joint.child] = joint
    joints = list(above.values())
    roots = [name for name in links if name not in above]
    if not links:
        reason = 'it has no link: is it a part that others include, as a xacro file of macros is?'
        raise DescriptionError(file, '', reason)
    if len(roots) != 1:
        raise DescriptionError(file, '', f'a URDF has one root link, this one has {roots}')
    moving = {joint.name for joint in joints if joint.moves}
    mimics = (mimic for element in elements for mimic in _mimics(element, moving))
    tree = Tree(roots[0], _outwards(roots[0], joints, file), links, (), tuple(mimics))
    doubts = (
        *plain.warnings, *_doubtful_inertias(links), *_forgotten_masses(tree, plain.shaped),
        *_empty_limits(tree), *_other_units(tree), *_mimics_in_rings(tree.mimics),
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
    joints = [j for j in tree.joints if j.moves]
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
        if joint.turns and 10.0 < far <= 360.0 and whole and far != 100.0:
            yield f'<limit> of joint {joint.name} is {low:g} to {high:g} rad: not in degrees?'
    yield from not_in_metres(
        {joint.name: float(np.linalg.norm(joint.position)) for joint in tree.joints},
        {name: _size(body) for name, body in tree.links.items() if body.mass > 0.0},
    )


def _size(body: Inertia) -> tuple[float, float]:
    """Distance of the centre of mass from the link's frame, and largest radius of gyration, m."""
    moment = max(float(np.linalg.eigvalsh(body.about_center)[-1]), 0.0)
    return float(np.linalg.norm(body.center_of_mass)), math.sqrt(moment / body.mass)


def _mimics(joint: UrdfElement, moving: set[str]) -> Iterator[Mimic]:
    """How a joint is coupled to another, if it is."""
    mimic = joint.part('mimic')
    if mimic.element is None:
        return
    other = mimic.text('joint')
    if joint.name not in moving or other not in moving - {joint.name}:
        raise joint.error(f'<mimic> of {other!r}: two moving joints are needed')
    ratio, offset = mimic.number('multiplier', '1'), mimic.number('offset', '0')
    if not (np.isfinite(ratio) and np.isfinite(offset) and ratio):
        raise joint.error(
            f'<mimic> multiplier {ratio} or offset {offset} is not finite, or couples nothing'
        )
    yield Mimic(joint.name, other, ratio, offset)


def _mimics_in_rings(mimics: Iterable[Mimic]) -> Iterator[str]:
    """Joints that follow one another in a ring, which leaves them one position only."""
    followed, seen = {mimic.joint: mimic for mimic in mimics}, set[str]()
    for name in followed:
        chain = list[str]()
        while name in followed and name not in seen:
            seen.add(name)
            chain.append(name)
            name = followed[name].other
        ring = chain[chain.index(name) :] if name in chain else []  # others may lead to it
        ratio = math.prod(followed[name].multiplier for name in ring)
        if abs(ratio - 1.0) > 1e-9:
            yield (
                f'<mimic> of joints {", ".join(ring)} makes a ring in which each follows itself '
                f'with the multiplier {ratio:g}: it holds them all at one position'
            )


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


def _joint(element: UrdfElement, links: dict[str, Inertia]) -> Joint:
    name, kind = element.name, element.text('type')
    joint_types = [name for name in (*MOVING_TYPES, FIXED.name) if not KINDS[name].urdf]
    if kind not in joint_types:
        raise element.error(f'type {kind!r} is not one of {", ".join(joint_types)}')
    for tag in ('parent', 'child'):
        if element.part(tag).element is None:
            raise element.error(f'has no <{tag}>')
    parent, child = (element.part(tag).text('link') for tag in ('parent', 'child'))
    for link in (parent, child):
        if link not in links:
            raise element.error(f'link {link!r} does not exist')
    axis = element.part('axis').vector('xyz', '1 0 0')
    length = float(np.linalg.norm(axis))
    if kind != FIXED.name and not 1e-9 < length < np.inf:
        raise element.error(f'axis {axis.tolist()} has no direction')
    position, rotation = _placement(element)
    if not (np.isfinite(position).all() and np.isfinite(rotation).all()):
        raise element.error('origin is not finite')
    _check_distance(position, element, 'origin')
    return Joint(
        name, kind, parent, child, position, rotation, axis / length if length else axis,
        *_limits(element, KINDS[kind].ranged), *_losses(element),
    )  # fmt: skip


def _limits(joint: UrdfElement, ranged: bool) -> tuple[float, float, float, float]:
    """Lowest and highest position, largest velocity and effort of a joint."""
    limit = joint.part('limit')
    if limit.element is None:
        return -math.inf, math.inf, math.inf, math.inf
    bounds = (limit.number('lower', '0'), limit.number('upper', '0'))
    lower, upper = map(_unlimited, bounds if ranged else (-math.inf, math.inf))
    velocity, effort = (_unlimited(limit.number(key)) for key in ('velocity', 'effort'))
    if not lower <= upper:
        raise joint.error(f'limit lower {lower} is not below upper {upper}')
    if not (velocity >= 0.0 and effort >= 0.0):
        raise joint.error(f'limit velocity {velocity} or effort {effort} is negative or no number')
    return lower, upper, velocity, effort


def _losses(joint: UrdfElement) -> tuple[float, float]:
    """Damping and dry friction of a joint."""
    damping, friction = (joint.part('dynamics').number(k, '0') for k in ('damping', 'friction'))
    if not (0.0 <= damping < np.inf and 0.0 <= friction < np.inf):
        raise joint.error(
            f'<dynamics> damping {damping} or friction {friction} is negative or no number'
        )
    return damping, friction


def _check_distance(position: Array, element: UrdfElement, what: str) -> None:
    away = float(np.abs(position).max())
    if away > FARTHEST:
        raise element.error(f'{what} is {away:.6g} m away; at most {FARTHEST:g} m')


def _unlimited(bound: float) -> float:
    """The bound, or infinity where it means none: other readers do not accept ``inf``."""
    return math.copysign(math.inf, bound) if abs(bound) >= UNLIMITED else bound


def _inertia(link: UrdfElement) -> Inertia:
    inertial = link.part('inertial')
    if inertial.element is None:
        return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))
    for tag in ('mass', 'inertia'):
        if inertial.part(tag).element is None:
            raise link.error(f'its <inertial> has no <{tag}>')
    mass, moments = inertial.part('mass').number('value'), inertial.part('inertia')
    tensor = np.array(
        [[moments.number(f'i{"".join(sorted(i + j))}') for j in 'xyz'] for i in 'xyz']
    )
    position, rotation = _placement(inertial)
    with np.errstate(invalid='ignore'):
        tensor = rotation @ tensor @ rotation.T
    numbers_of = {'mass': mass, 'inertia': tensor, 'origin': position}
    for tag, values in numbers_of.items():
        if not np.isfinite(values).all():
            raise link.error(f'its <inertial> has a <{tag}> that is not finite')
    _check_distance(position, link, 'centre of mass')
    if mass < 0.0:
        raise link.error(f'mass {mass} kg is negative')
    return Inertia(mass, position, tensor)


def _placement(element: UrdfElement) -> tuple[Array, Array]:
    """Position and rotation of a URDF ``<origin>``: fixed-axis roll, pitch, yaw."""
    origin = element.part('origin')
    xyz, (roll, pitch, yaw) = origin.vector('xyz'), origin.vector('rpy')
    with np.errstate(invalid='ignore'):  # callers refuse non-finite values
        (sr, cr), (sp, cp), (sy, cy) = ((np.sin(a), np.cos(a)) for a in (roll, pitch, yaw))
    rotation = np.array([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ])  # fmt: skip
    return xyz, rotation
