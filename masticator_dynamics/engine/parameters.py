# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers of a description by name, and the same description with other numbers.

Of each body that has mass, named like the link that its joint carries and in the axes of that link,
about its origin: ``LINK.mass`` (kg), first moments ``LINK.mx`` ... (kg m), inertia ``LINK.ixx`` ...
(kg m^2), with all links that are fixed to it. Of joints: ``JOINT.rotor_inertia`` (motor side),
``armature``, ``stiffness``, ``reference``; friction as in the description (``coulomb`` of a motor's
bearing times its radius; ``gear_loss`` and ``stiction`` where the description has them). Of
geometry: ``JOINT.x`` ... ``yaw``, the placement in the parent link as in the URDF, and
``JOINT.zero``, by how much its encoder's zero is shifted; ``CLOSURE.length``, ``radius`` and
``offset``, ``CONTACT.nx`` ... and ``offset``.

A kind of parameters is a row of ``KINDS`` and stands among the values below. To be identified, it
needs a column in ``traced/regressor.py``, and in ``identification/unknowns.py`` how far it may err.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.description.checks import Bound
from masticator_dynamics.description.closures import KINDS as CLOSURES
from masticator_dynamics.description.data import (
    Actuator,
    Closure,
    Contact,
    JointPhysics,
)
from masticator_dynamics.description.urdf import Inertia, Joint
from masticator_dynamics.description.urdf_text import angles
from masticator_dynamics.engine.arrays import FloatArray, as_names
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.errors import InputError, meant
from masticator_dynamics.files.units import QUANTITIES

INERTIAL = ('mass', 'mx', 'my', 'mz', 'ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz')
PLACEMENT = ('x', 'y', 'z', 'roll', 'pitch', 'yaw')
_NORMAL = ('nx', 'ny', 'nz')
Values = dict[str, Any]


class ParameterKind(NamedTuple):
    """What parameters with an ending measure, of ``files.units.QUANTITIES``, and their bounds."""

    turning: str  # of what turns, or has no joint
    sliding: str = ''  # of what slides; empty: the same
    bound: Bound = Bound()
    brakes: bool = False  # friction, which only takes power


_NOT_NEGATIVE = Bound(ge=0.0)
KINDS: dict[str, ParameterKind] = {
    'mass': ParameterKind('mass', bound=_NOT_NEGATIVE),
    **dict.fromkeys(INERTIAL[1:4], ParameterKind('first moment of mass')),
    **dict.fromkeys(INERTIAL[4:], ParameterKind('moment of inertia')),
    **dict.fromkeys(PLACEMENT[:3], ParameterKind('length')),
    **dict.fromkeys(PLACEMENT[3:], ParameterKind('angle')),
    **dict.fromkeys(_NORMAL, ParameterKind('ratio')),
    'zero': ParameterKind('angle', 'length'),
    'reference': ParameterKind('angle', 'length'),
    **{key: ParameterKind(of) for kind in CLOSURES.values() for key, of in kind.dimensions.items()},
    'offset': ParameterKind('angle', 'length'),
    'length': ParameterKind('length', bound=Bound(gt=0.0)),
    'rotor_inertia': ParameterKind('moment of inertia', 'mass', _NOT_NEGATIVE),
    'armature': ParameterKind('moment of inertia', 'mass', _NOT_NEGATIVE),
    'stiffness': ParameterKind('angular stiffness', 'linear stiffness', _NOT_NEGATIVE),
    'damping': ParameterKind('angular damping', 'linear damping', _NOT_NEGATIVE, True),
    'viscous': ParameterKind('angular damping', 'linear damping', _NOT_NEGATIVE, True),
    'friction': ParameterKind('torque', 'force', _NOT_NEGATIVE, True),
    'stiction': ParameterKind('torque', 'force', _NOT_NEGATIVE, True),
    'coulomb': ParameterKind('ratio', bound=_NOT_NEGATIVE, brakes=True),
    'gear_loss': ParameterKind('ratio', bound=Bound(ge=0.0, lt=1.0), brakes=True),
}
BRAKES = tuple(ending for ending, kind in KINDS.items() if kind.brakes)


def bound_of(name: str) -> Bound:
    """What a parameter's value must keep, by its name."""
    kind = KINDS.get(name.rpartition('.')[2])
    return kind.bound if kind else Bound()


def unit_of(name: str) -> str:
    """SI unit of a parameter, by its name; empty where that depends on what has it."""
    kind = KINDS.get(name.rpartition('.')[2])
    return next(iter(QUANTITIES[kind.turning]), '') if kind and not kind.sliding else ''


def quantities(description: MechanismDescription, name: str) -> tuple[str, ...]:
    """What a parameter measures; several where a joint and a contact share its name."""
    owner, _, ending = name.rpartition('.')
    kind = KINDS[ending]
    measures = [c.kind.dimensions.get(ending) for c in description.closures if c.name == owner]
    if measures and measures[0]:
        return (measures[0],)
    units = {joint.name: joint.unit for joint in description.tree.joints}
    owners = [owner] if owner in units else []
    owners += [str(c.joint) for c in description.closures if c.name == owner and c.joint]
    slides = [units[joint] == 'm' for joint in owners]
    slides += [True for contact in description.contacts if contact.name == owner]
    if ending == 'rotor_inertia' and _actuator(description, owner).transmission is not None:
        slides = [False]  # of a motor that turns, whatever its joint does
    measured = [kind.sliding or kind.turning if s else kind.turning for s in slides or [False]]
    return tuple(dict.fromkeys(measured))


class Moments(NamedTuple):
    """Moments of mass of a body: what efforts are linear in."""

    mass: Any
    first: Any  # (3,), kg m
    second: Any  # (3, 3), inertia about the origin of the axes, kg m^2

    @classmethod
    def of(cls, inertia: Inertia) -> Moments:
        """From mass, centre of mass and inertia about it."""
        c, mass = inertia.center_of_mass, inertia.mass
        about = inertia.about_center + (np.eye(3) * (c @ c) - np.outer(c, c)) * mass
        return cls(mass, c * mass, about)

    @classmethod
    def from_numbers(cls, numbers: Any) -> Moments:
        """From ten numbers in the order of ``INERTIAL``."""
        mass, x, y, z, xx, yy, zz, xy, xz, yz = numbers
        return cls(mass, np.array([x, y, z]), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))

    def numbers(self) -> list[Any]:
        """Ten numbers in the order of ``INERTIAL``."""
        i = self.second
        return [self.mass, *self.first, i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]]

    def turned(self, rotation: FloatArray) -> Moments:
        """In axes to which a rotation leads from the present ones."""
        return Moments(self.mass, rotation @ self.first, rotation @ self.second @ rotation.T)

    def inertia(self) -> Inertia:
        """Mass, centre of mass and inertia about it."""
        c = self.first / self.mass if self.mass else np.zeros(3)
        about = self.second - (np.eye(3) * (c @ c) - np.outer(c, c)) * self.mass
        return Inertia(self.mass, c, about)


def bodies_with_mass(structure: Structure) -> dict[str, int]:
    """Bodies by the link that their joint carries."""
    tree = structure.tree
    return {
        joint.child: k
        for k, (joint, inertia) in enumerate(zip(tree.joints, tree.inertias, strict=True))
        if inertia.mass > 0.0 or inertia.about_center.any()
    }


def inertial(structure: Structure) -> Values:
    """Ten numbers of each body."""
    values: Values = {}
    for link, k in bodies_with_mass(structure).items():
        to_link = structure.tree.frames[link].rotation.T
        numbers = Moments.of(structure.tree.inertias[k]).turned(to_link).numbers()
        values |= {f'{link}.{name}': float(x) for name, x in zip(INERTIAL, numbers, strict=True)}
    return values


def of_joints(description: MechanismDescription) -> Values:
    """Rotors, armatures and springs: what efforts are linear in besides inertia."""
    values: Values = {}
    for name in description.actuated:
        values[f'{name}.rotor_inertia'] = _actuator(description, name).rotor_inertia
    for name, physics in description.joints.items():
        for key in ('armature', 'stiffness'):
            if getattr(physics, key):
                values[f'{name}.{key}'] = getattr(physics, key)
    return values


def frictional(description: MechanismDescription) -> Values:
    """Friction of motors' bearings, joints and contacts."""
    values: Values = {}
    for name in description.actuated:
        law = _actuator(description, name).friction
        values |= {f'{name}.viscous': law.viscous, f'{name}.coulomb': law.coulomb}
        if law.gear_loss is not None:
            values[f'{name}.gear_loss'] = law.gear_loss
    for name, physics in description.joints.items():
        values |= {
            f'{name}.damping': physics.damping or 0.0,
            f'{name}.friction': physics.friction or 0.0,
        }
        if physics.stiction is not None:
            values[f'{name}.stiction'] = physics.stiction
    for contact in description.contacts:
        law_c = contact.friction
        values |= {
            f'{contact.name}.viscous': law_c.viscous,
            f'{contact.name}.coulomb': law_c.coulomb,
        }
    return values


def geometric(description: MechanismDescription) -> Values:
    """Placements of joints, zeros of encoders, and dimensions of closures and contacts."""
    values: Values = {}
    for joint in description.tree.joints:
        numbers = [*joint.position, *angles(joint.rotation)]
        values |= {f'{joint.name}.{p}': float(x) for p, x in zip(PLACEMENT, numbers, strict=True)}
        if joint.moves:
            values[f'{joint.name}.zero'] = 0.0
    for name, physics in description.joints.items():
        if physics.stiffness:
            values[f'{name}.reference'] = physics.reference
    for closure in description.closures:
        values |= {f'{closure.name}.{d}': getattr(closure, d) for d in closure.kind.dimensions}
    for contact in description.contacts:
        if contact.height is None:
            parts = zip(_NORMAL, contact.normal, strict=True)
            values |= {f'{contact.name}.{n}': x for n, x in parts}
            values[f'{contact.name}.offset'] = contact.offset
    return values


def all_of(description: MechanismDescription, structure: Structure) -> Values:
    """Every parameter."""
    return (
        inertial(structure) | of_joints(description) | frictional(description)
        | geometric(description)
    )  # fmt: skip


def check_names(names: Iterable[str], parameters: Mapping[str, Any], mechanism: str) -> None:
    """Refuse names that are not parameters, with the closest that is."""
    for name in as_names(names, 'names'):
        if name not in parameters:
            near = meant(str(name), parameters, 0.0)
            raise InputError(f'{mechanism} has no parameter {name!r}{near}')


def changed(
    description: MechanismDescription, values: Mapping[str, Any], turn: Any
) -> MechanismDescription:
    """A description with other numbers; inertia of bodies is left as it is.

    Parameters
    ----------
    values : mapping
        Floats, or numbers that are recorded.
    turn : callable
        Gives sine and cosine of an angle.
    """

    def of(name: str, *fields: str) -> dict[str, Any]:
        """Values of those fields of an object that are given."""
        return {f: values[f'{name}.{f}'] for f in fields if f'{name}.{f}' in values}

    def contact(old: Contact) -> Contact:
        normal = [
            values.get(f'{old.name}.{n}', x) for n, x in zip(_NORMAL, old.normal, strict=True)
        ]
        law = of(old.name, 'viscous', 'coulomb')
        friction = dataclasses.replace(old.friction, **law) if law else old.friction
        return dataclasses.replace(
            old, normal=tuple(normal), friction=friction, **of(old.name, 'offset')
        )

    def actuator(name: str) -> Actuator:
        old = _actuator(description, name)
        law = of(name, 'viscous', 'coulomb', 'gear_loss')
        friction = dataclasses.replace(old.friction, **law) if law else old.friction
        return dataclasses.replace(old, friction=friction, **of(name, 'rotor_inertia'))

    def physics(name: str, old: JointPhysics) -> JointPhysics:
        fields = ('armature', 'stiffness', 'reference', 'damping', 'friction', 'stiction')
        return dataclasses.replace(old, **of(name, *fields))

    def closure(old: Closure) -> Closure:
        return dataclasses.replace(old, **of(old.name, *old.kind.dimensions))

    joints = tuple(_moved(joint, values, turn) for joint in description.tree.joints)
    named = {name.rpartition('.')[0] for name in values}
    motors = {n: actuator(n) for n in description.actuated if n in named}
    return dataclasses.replace(
        description,
        tree=dataclasses.replace(description.tree, joints=joints),
        closures=tuple(map(closure, description.closures)),
        contacts=tuple(map(contact, description.contacts)),
        actuators=description.actuators | motors,
        joints={
            name: physics(name, joint_physics) for name, joint_physics in description.joints.items()
        },
    )


def _actuator(description: MechanismDescription, name: str) -> Actuator:
    return description.actuators.get(name) or Actuator()


def _moved(joint: Joint, values: Mapping[str, Any], turn: Any) -> Joint:
    """A joint placed by its parameters."""
    keys = [f'{joint.name}.{part}' for part in PLACEMENT]
    position, rotation = joint.position, joint.rotation
    if any(key in values for key in keys[:3]):
        position = np.array([values.get(k, x) for k, x in zip(keys[:3], position, strict=True)])
    if any(key in values for key in keys[3:]):
        was = angles(rotation)
        x, y, z = (turn(values.get(k, a)) for k, a in zip(keys[3:], was, strict=True))
        rotation = _about(2, *z) @ _about(1, *y) @ _about(0, *x)
    zero = values.get(f'{joint.name}.zero')
    if zero is not None:
        if joint.shift:
            position = position + rotation @ (joint.axis * (joint.shift * zero))
        if joint.spin:
            sine, cosine = turn(zero)
            x, y, z = joint.axis
            cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
            rotation = rotation @ (np.eye(3) + cross * sine + cross @ cross * (1.0 - cosine))
    return dataclasses.replace(joint, position=position, rotation=rotation)


def _about(axis: int, sine: Any, cosine: Any) -> Any:
    """A rotation about one of the axes."""
    j, k = (axis + 1) % 3, (axis + 2) % 3
    rotation: list[list[Any]] = np.eye(3).tolist()
    rotation[j][j] = rotation[k][k] = cosine
    rotation[j][k], rotation[k][j] = -sine, sine
    return np.array(rotation)


def with_inertia(
    description: MechanismDescription, structure: Structure, values: Mapping[str, Any]
) -> MechanismDescription:
    """A description whose bodies have other moments of mass: all of it in the links that carry.

    Raises
    ------
    InputError
        For moments that no body has.
    """
    links = dict(description.tree.links)
    carriers = description.tree.carriers()
    for link, moments in changed_moments(structure, values).items():
        if not moments.mass >= 0.0:
            raise InputError(f'{link}.mass is {moments.mass:.6g} kg; 0 or more is needed')
        if not moments.mass and np.abs(moments.first).max() > 0.0:
            raise InputError(f'{link} has first moments but no mass')
        inertia = moments.inertia()
        least = float(np.linalg.eigvalsh(inertia.about_center)[0])
        if not _positive(inertia.about_center):
            raise InputError(
                f'{link} would have a negative moment of inertia about its centre of mass, '
                f'{least:.3g} kg m^2: mass, first moments and inertia do not go together'
            )
        for other, carrier in carriers.items():
            if carrier == link:
                links[other] = Inertia(0.0, np.zeros(3), np.zeros((3, 3)))
        links[link] = inertia
    return dataclasses.replace(description, tree=dataclasses.replace(description.tree, links=links))


def consistent(numbers: FloatArray) -> Any:
    """Whether a body can have moments of mass (..., 10), in the order of ``INERTIAL``."""
    mass, first = numbers[..., 0], numbers[..., 1:4]
    xx, yy, zz, xy, xz, yz = np.moveaxis(numbers[..., 4:], -1, 0)
    second = np.stack([np.stack(row, -1) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))], -2)
    centre = first / np.where(mass > 0.0, mass, 1.0)[..., None]
    square = np.einsum('...i,...i->...', centre, centre)[..., None, None] * np.eye(3)
    outer = centre[..., :, None] * centre[..., None, :]
    about = second - (square - outer) * mass[..., None, None]
    return (mass >= 0.0) & ((mass > 0.0) | ~first.any(axis=-1)) & _positive(about)


def _positive(about_center: FloatArray) -> Any:
    """Whether inertia (..., 3, 3) about centres of mass is not negative, but for rounding."""
    least = np.linalg.eigvalsh(about_center)[..., 0]
    return least >= -1e-9 * np.maximum(np.abs(about_center).max(axis=(-2, -1)), 1e-12)


def changed_moments(structure: Structure, values: Mapping[str, Any]) -> dict[str, Moments]:
    """Moments of mass, in link axes, of the bodies of which any number is given."""
    present, moments = inertial(structure), {}
    for link in bodies_with_mass(structure):
        keys = [f'{link}.{name}' for name in INERTIAL]
        if any(key in values for key in keys):
            moments[link] = Moments.from_numbers([values.get(key, present[key]) for key in keys])
    return moments
