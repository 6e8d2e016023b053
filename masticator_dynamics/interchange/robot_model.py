# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What every reader produces: a tree of links and joints, and what closes, couples and drives it.

A coupling is a joint whose position follows from those of others: gears, belts, mimics, tendons.
"""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

from masticator_dynamics.description.closures import ClosureKind
from masticator_dynamics.description.joints import CONTINUOUS, FIXED
from masticator_dynamics.description.urdf import Array, Inertia, Joint, Tree
from masticator_dynamics.errors import DescriptionError


@dataclasses.dataclass(frozen=True)
class JointCoupling:
    """A joint's position: an offset and polynomials of others' positions, rad or m.

    ``of`` has the coefficients of each other joint, from the first power up.
    """

    name: str
    joint: str
    of: Mapping[str, tuple[float, ...]]
    offset: float = 0.0

    @classmethod
    def mimic(cls, joint: str, leader: str, ratio: float, offset: float) -> JointCoupling:
        """A joint that follows another: ``ratio`` times its position plus ``offset``."""
        of = {leader: (ratio,)} if ratio else {}
        return cls(f'{joint}_mimic', joint, of, offset)

    @classmethod
    def tied(
        cls, name: str, first: Mapping[str, float], second: Mapping[str, float],
        powers: Sequence[float],
    ) -> JointCoupling | None:  # fmt: skip
        """The coupling that makes a weighted sum of joints a polynomial of another such sum.

        Parameters
        ----------
        name : str
            The coupling's.
        first, second : mapping
            Weights of joints.
        powers : sequence of float
            Coefficients of the polynomial, from the constant up.

        Returns
        -------
        coupling : JointCoupling or None
            None where no joint is a sum of polynomials of single others.
        """
        offset, *rest = powers
        if len(second) > 1 and any(rest[1:]):
            return None
        weights = {j: first.get(j, 0.0) - rest[0] * second.get(j, 0.0) for j in {**first, **second}}
        bent = [joint for joint in second if any(rest[1:])]
        straight = [joint for joint, weight in weights.items() if weight and joint not in bent]
        if not straight:
            return None
        joint = max(straight, key=lambda j: (j in first and j not in second, abs(weights[j])))
        of = {}
        for other, weight in weights.items():
            higher = rest[1:] if other in bent else []
            powers = [c * second[other] ** n for n, c in enumerate(higher, 2)]
            line = np.trim_zeros(np.array([-weight, *powers]) / weights[joint], 'b')
            if other != joint and line.size:
                of[other] = tuple(line.tolist())
        return cls(name, joint, of, offset / weights[joint])

    def linear(self) -> dict[str, float]:
        """Weights of the joints it couples, whose sum is the offset; none if it is no line."""
        if any(len(line) > 1 for line in self.of.values()):
            return {}
        return {self.joint: 1.0, **{other: -line[0] for other, line in self.of.items()}}

    def holding(self, name: str, position: float) -> JointCoupling | None:
        """The coupling of the other joints where one is held; None if that is no coupling."""
        if name in self.of:
            lines = {joint: line for joint, line in self.of.items() if joint != name}
            held = sum(c * position**n for n, c in enumerate(self.of[name], 1))
            return dataclasses.replace(self, of=lines, offset=self.offset + held)
        others = {joint: weight for joint, weight in self.linear().items() if joint != name}
        return self.tied(self.name, others, {}, (self.offset - position, 0.0))


# Position (3,) in m and rotation (3, 3) of links by name.
Poses = Mapping[str, tuple[Array, Array]]
NO_MASS = Inertia(0.0, np.zeros(3), np.zeros((3, 3)))


@dataclasses.dataclass(frozen=True)
class Frame:
    """Axes fixed to a link: origin (3,) in m and rotation (3, 3) to the link's axes."""

    link: str
    position: Array
    rotation: Array

    @classmethod
    def of(cls, link: str) -> Frame:
        """The link's own frame."""
        return cls(link, np.zeros(3), np.eye(3))

    @classmethod
    def placed(cls, link: str, poses: Poses, position: Array, rotation: Array) -> Frame:
        """A frame of a link that stands somewhere in the world, as ``poses`` of links do."""
        origin, axes = poses[link]
        return cls(link, axes.T @ (position - origin), axes.T @ rotation)

    def after(self, position: Array, rotation: Array) -> tuple[Array, Array]:
        """Placement in the link of something placed in this frame."""
        return self.position + self.rotation @ position, self.rotation @ rotation


@dataclasses.dataclass(frozen=True)
class Loop:
    """Two frames that a joint connects as a closure of some kind would; axes are Z of the frames.

    ``length`` (m) is that between the origins, where the kind has one.
    """

    name: str
    kind: ClosureKind
    first: Frame
    second: Frame
    length: float = dataclasses.field(default=0.0, kw_only=True)


@dataclasses.dataclass(frozen=True)
class ImportedMotor:
    """The motor of a joint."""

    ratio: float = 1.0  # motion of the motor per motion of the joint
    effort: tuple[float, float] | None = None  # of the motor, if not symmetric


@dataclasses.dataclass(frozen=True)
class Spring:
    """Effort ``stiffness * (reference - position)`` on a joint, N m/rad or N/m; rad or m."""

    stiffness: float
    reference: float


@dataclasses.dataclass
class RobotModel:
    """A robot as read; ``notes`` say what was left out or decided, one sentence each.

    ``warnings`` are notes of what may be wrong. ``floating`` are joints of that type, by what the
    file calls them in a message; ``balls`` are joints in series that stand for a ball.

    ``reserved`` are names of joints that the file has, whether they were added yet or not;
    ``added`` are links that it does not have.

    By joint: ``damping``, N m s/rad or N s/m; ``dry`` friction, N m or N; ``armature``, kg m^2
    or kg; ``guess``, rad or m, where the search for a closed pose starts. ``shapes`` are the
    elements of each link that only RViz reads. ``untied`` are elements that tie links or joints and
    are not in the model, ``held`` the positions of joints that were made fixed, ``independent`` the
    joints that the file would choose as coordinates.
    """

    file: pathlib.Path
    name: str
    root: str
    links: dict[str, Inertia]
    joints: list[Joint]
    loops: list[Loop] = dataclasses.field(default_factory=list)
    couplings: list[JointCoupling] = dataclasses.field(default_factory=list)
    motors: dict[str, ImportedMotor] = dataclasses.field(default_factory=dict)
    springs: dict[str, Spring] = dataclasses.field(default_factory=dict)
    damping: dict[str, float] = dataclasses.field(default_factory=dict)
    dry: dict[str, float] = dataclasses.field(default_factory=dict)
    armature: dict[str, float] = dataclasses.field(default_factory=dict)
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.80665)
    guess: dict[str, float] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)
    shapes: dict[str, list[ElementTree.Element]] = dataclasses.field(default_factory=dict)
    warnings: list[str] = dataclasses.field(default_factory=list)
    reserved: frozenset[str] = frozenset()
    floating: dict[str, str] = dataclasses.field(default_factory=dict)
    balls: list[tuple[str, ...]] = dataclasses.field(default_factory=list)
    added: set[str] = dataclasses.field(default_factory=set)
    untied: list[str] = dataclasses.field(default_factory=list)
    held: dict[str, float] = dataclasses.field(default_factory=dict)
    independent: list[str] = dataclasses.field(default_factory=list)

    def tree(self) -> Tree:
        """The open tree, parents before children."""
        below: dict[str, list[int]] = {}
        for number, joint in enumerate(self.joints):
            below.setdefault(joint.parent, []).append(number)
        ordered: list[Joint] = []
        level = [self.root]
        while level:
            ready = sorted(number for link in level for number in below.get(link, ()))
            ordered += [self.joints[number] for number in ready]
            level = [self.joints[number].child for number in ready]
        assert len(ordered) == len(self.joints), 'some joints hang on nothing'
        return Tree(self.root, tuple(ordered), self.links)

    def joint(self, name: str) -> Joint:
        """A joint by name."""
        return next(joint for joint in self.joints if joint.name == name)

    def add_link(self, name: str) -> str:
        """Add a link without mass that the file does not have; return its name, made unique."""
        while name in self.links:
            name += '_'
        self.links[name] = NO_MASS
        self.added.add(name)
        return name

    def free_joint_name(self, name: str) -> str:
        """A name for a joint that the file does not have, made unique."""
        while name in self.reserved or any(joint.name == name for joint in self.joints):
            name += '_'
        return name

    def has_moving(self, name: str) -> bool:
        """Whether there is a moving joint with a name."""
        return any(joint.name == name and joint.moves for joint in self.joints)

    def above(self, link: str) -> Joint | None:
        """The joint that has a link as its child."""
        return next((joint for joint in self.joints if joint.child == link), None)

    def below(self, links: Iterable[str]) -> list[Joint]:
        """Joints whose parents are among some links."""
        return [joint for joint in self.joints if joint.parent in set(links)]

    def body(self, link: str) -> set[str]:
        """All links of the rigid body that a link belongs to, across fixed joints."""
        carriers = self.tree().carriers()
        return {name for name, carrier in carriers.items() if carrier == carriers[link]}

    def warn(self, sentence: str) -> None:
        """Note something that may be wrong."""
        self.notes.append(sentence)
        self.warnings.append(sentence)

    def warn_of_weight(self, link: str) -> None:
        """Note that a file takes the weight of a link away, which is here."""
        self.warn(f'link {link} has no weight in the file, and has it here: motors carry it')

    def owners(self) -> dict[str, str]:
        """For each link, the floating joint that carries it; empty for what does not float."""
        owners = {self.root: ''}
        for joint in self.tree().joints:
            floats = joint.name in self.floating
            owners[joint.child] = joint.name if floats else owners[joint.parent]
        return owners

    def in_carrier(self, frame: Frame, carrier: str) -> tuple[Array, Array]:
        """Placement of a frame in the first link of its rigid body."""
        position, rotation, link = frame.position, frame.rotation, frame.link
        while link != carrier:
            joint = self.above(link)
            assert joint is not None, f'{link} is part of the body of {carrier}'
            position = joint.position + joint.rotation @ position
            rotation = joint.rotation @ rotation
            link = joint.parent
        return position, rotation

    def change(self, name: str, **fields: Any) -> None:
        """Give a joint other data, such as the largest effort of its motor, at the joint."""
        old = self.joint(name)
        self.joints[self.joints.index(old)] = dataclasses.replace(old, **fields)

    def lock(self, name: str, position: float) -> None:
        """Make a moving joint fixed, at a position, rad or m; couplings hold what follows it.

        Raises
        ------
        DescriptionError
            Where a coupling does not say what that means for others.
        """
        old = self.joint(name)
        along = position * old.axis
        turned = Rotation.from_rotvec(old.spin * along).as_matrix()
        self.change(
            name, type=FIXED.name, position=old.position + old.rotation @ (old.shift * along),
            rotation=old.rotation @ turned,
        )  # fmt: skip
        for joints in (*self._at_joints(), self.guess):
            joints.pop(name, None)
        self.held[name] = position
        for coupling in [c for c in self.couplings if name in (c.joint, *c.of)]:
            self.couplings.remove(coupling)
            self.couple(coupling, f'coupling {coupling.name}')

    def couple(self, coupling: JointCoupling, place: str) -> None:
        """Add a coupling, if it is not there; one that is left with a single joint holds it.

        Raises
        ------
        DescriptionError
            For a joint that follows itself, another coupling of the same joints to each other, or
            where one joint is held and nothing says where that leaves the other.
        """
        if coupling.joint in coupling.of:
            raise DescriptionError(self.file, place, f'joint {coupling.joint} follows itself')
        for name in self.held.keys() & {coupling.joint, *coupling.of}:
            if not coupling.of:
                return
            reduced = coupling.holding(name, self.held[name])
            if reduced is None:
                reason = f'with {name} held, it does not say where its other joint is'
                raise DescriptionError(self.file, place, reason)
            coupling = reduced
        for other in self.couplings:
            if (other.joint, {*other.of}) == (coupling.joint, {*coupling.of}):
                if (other.of, other.offset) != (coupling.of, coupling.offset):
                    reason = f'{other.name} ties the same joints in another way'
                    raise DescriptionError(self.file, place, reason)
                return
        if coupling.of:
            self.couplings.append(coupling)
        elif self.has_moving(coupling.joint):
            self.notes.append(f'joint {coupling.joint} is held by {place}')
            self.lock(coupling.joint, coupling.offset)

    def _at_joints(self) -> tuple[dict[str, Any], ...]:
        return self.motors, self.springs, self.damping, self.dry, self.armature

    def acts(self, name: str) -> bool:
        """Whether a joint has a motor, spring, losses, armature or a coupling of its own."""
        coupled = any(name in (c.joint, *c.of) for c in self.couplings)
        return coupled or any(name in joints for joints in self._at_joints())


def numbers_in(text: str, count: int, file: pathlib.Path, place: str) -> list[float]:
    """Numbers of a text.

    Parameters
    ----------
    text : str
        Numbers and white space.
    count : int
        How many there must be.
    file, place
        Where the text is, for messages.

    Raises
    ------
    DescriptionError
        When there are more, fewer, or any that is not finite.
    """
    words = text.split()
    try:
        numbers = [float(word) for word in words if '_' not in word]
    except ValueError:
        numbers = []
    if len(numbers) != count or not np.isfinite(numbers).all():
        wanted = 'a finite number' if count == 1 else f'{count} finite numbers'
        raise DescriptionError(file, place, f'{" ".join(words)!r} is not {wanted}')
    return numbers


def number_in(text: str, file: pathlib.Path, place: str) -> float:
    """The only number of a text; raises as ``numbers_in`` does."""
    return numbers_in(text, 1, file, place)[0]


def is_true(text: str | None, file: pathlib.Path, place: str) -> bool:
    """A boolean of SDF: true or 1, in any case; nothing is false.

    Raises
    ------
    DescriptionError
        When it is neither that nor false or 0.
    """
    word = (text or 'false').strip().lower()
    if word not in ('true', '1', 'false', '0'):
        raise DescriptionError(file, place, f'{word!r} is neither true nor false')
    return word in ('true', '1')


def axis_in(text: str, file: pathlib.Path, place: str) -> Array:
    """Unit vector (3,) along an axis.

    Parameters
    ----------
    text : str
        Three numbers.
    file, place
        Where they stand, for messages.

    Raises
    ------
    DescriptionError
        If they are no numbers, or no direction.
    """
    axis = np.array(numbers_in(text, 3, file, place))
    length = float(np.linalg.norm(axis))
    if not length > 1e-9:
        raise DescriptionError(file, place, f'axis {axis.tolist()} has no direction')
    return np.asarray(axis / length)


def turning_joints(
    model: RobotModel,
    name: str,
    parent: str,
    child: str,
    position: Array,
    rotation: Array,
    axes: Array,
    kind: str = CONTINUOUS.name,
) -> tuple[str, ...]:
    """Add turning or sliding joints in series, one per row of ``axes`` (n, 3); return their names.

    Massless links connect them. Turning through one point they are a universal or ball joint.

    Parameters
    ----------
    model : RobotModel
        Receives the joints and the links between them.
    name : str
        Prefix of the joints' names.
    parent, child : str
        Links.
    position, rotation : (3,) and (3, 3) array
        The first joint's frame in the parent's, m.
    axes : (n, 3) array
        In that frame, at zero positions.
    kind : str
        Type of the joints.
    """
    before, names = parent, []
    for index, axis in enumerate(axes):
        last = index == len(axes) - 1
        link = child if last else model.add_link(f'{name}_{"xyz"[index]}_link')
        turning = model.free_joint_name(f'{name}_{"xyz"[index]}')
        model.joints.append(Joint(turning, kind, before, link, position, rotation, axis))
        names.append(turning)
        position, rotation, before = np.zeros(3), np.eye(3), link
    return tuple(names)
