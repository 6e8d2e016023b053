# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a mechanism file (YAML, schema 1) may say, as data types that check themselves."""

import math
from typing import Any, Literal

import pydantic

from masticator_dynamics.files.yaml_file import Finite, NotNegative, Positive, Strict

Vector3 = tuple[Finite, Finite, Finite]
Interval = tuple[Finite, Finite]
OpenInterval = tuple[Finite | None, Finite | None]


class Closure(Strict):
    """What closes a loop: how two links stand to one another, or a coupling of joints.

    ``point``: origins coincide. ``weld``: origins and axes do. ``hinge``: origins and Z.
    ``universal``: origins coincide, and Z of the two are at right angles. ``cylindrical``: the
    second origin stays on Z of the first, and Z of the two are parallel. ``slider``: the second
    origin stays on Z of the first, and all axes are parallel. ``distance``: a rod between two
    balls. ``coupling``: a joint's position is a sum of polynomials of other joints'.
    """

    name: str
    type: Literal[
        'point', 'weld', 'hinge', 'universal', 'cylindrical', 'slider', 'distance', 'coupling'
    ] = 'point'
    frames: tuple[str, ...] = pydantic.Field(
        (), description='two URDF links on the two sides; none for a coupling'
    )
    length: Positive | None = pydantic.Field(None, description='m, of a distance')
    joint: str | None = pydantic.Field(None, description='that a coupling moves')
    of: dict[str, tuple[Finite, ...]] = pydantic.Field(
        {}, description='of a coupling: joint: coefficients of its 1st, 2nd, ... power'
    )
    offset: Finite = pydantic.Field(0.0, description='of a coupling, rad or m')


class ContactRange(Strict):
    """Where on its plane a contact may be: origin of the frame, base axes, m."""

    x: Interval | None = None
    y: Interval | None = None
    z: Interval | None = None


class ContactFriction(Strict):
    """Friction force of the plane on the body: against its slip."""

    coulomb: NotNegative = pydantic.Field(0.0, description='per newton of normal force')
    viscous: NotNegative = pydantic.Field(0.0, description='N s/m')
    transition_velocity: NotNegative = pydantic.Field(
        0.0, description='m/s over which Coulomb friction grows; 0: at once'
    )


class JointFriction(Strict):
    """Effort that an actuated joint's bearing takes."""

    coulomb: NotNegative = pydantic.Field(0.0, description='per newton across the axis')
    radius: NotNegative = pydantic.Field(0.0, description='m, of the bearing of a turning joint')
    viscous: NotNegative = pydantic.Field(0.0, description='N m s (N s/m when sliding)')
    transition_velocity: NotNegative = pydantic.Field(
        0.0, description='rad/s or m/s over which Coulomb friction grows; 0: at once'
    )


class Height(Strict):
    """Height of a curved surface over a plane: a polynomial, or a spline through a grid."""

    polynomial: tuple[tuple[Finite, ...], ...] = pydantic.Field(
        (), description='rows by power of x, in them coefficients by power of y; m'
    )
    x: tuple[Finite, ...] = pydantic.Field(
        (), description='m, where heights are given; of a polynomial the two ends, if any'
    )
    y: tuple[Finite, ...] = pydantic.Field((), description='m, likewise')
    heights: tuple[tuple[Finite, ...], ...] = pydantic.Field(
        (), description='m, a row per x, in it one per y'
    )


class Contact(Strict):
    """The origin of a link stays on a plane or a curved surface, from both sides."""

    name: str
    type: Literal['plane', 'surface'] = 'plane'
    frame: str = pydantic.Field(description='URDF link whose origin touches the plane')
    carrier: str | None = pydantic.Field(
        None, description='URDF link that plane or surface is fixed to; default: the base'
    )
    normal: Vector3 = pydantic.Field(
        (0.0, 0.0, 1.0),
        description='of a plane, axes of the carrier, as written: force = normal * multiplier',
    )
    offset: Finite = pydantic.Field(0.0, description='m; a plane is normal . p + offset = 0')
    height: Height | None = pydantic.Field(
        None, description='of a surface: z over the XY plane of the carrier'
    )
    range: ContactRange = ContactRange()
    force_range: OpenInterval = pydantic.Field(
        (None, None), description='N, range of the multiplier; null: open on that side'
    )
    friction: ContactFriction = ContactFriction()


class Transmission(Strict):
    """How the motor moves its joint. Efforts are the motor's; positions stay the joint's."""

    ratio: Finite | None = pydantic.Field(
        None, description='motion of the motor per motion of the joint: rad/rad, or rad/m'
    )
    lead: Positive | None = pydantic.Field(
        None, description='of a screw, m that the joint slides per turn of the motor'
    )


class ActuatorLimits(Strict):
    """What motor and bearing may carry, besides the effort in the URDF; null: anything."""

    effort: OpenInterval = pydantic.Field(
        (None, None),
        description='N m or N of the motor, [lowest, highest], within those of the URDF; a cable '
        'pulls only: [null, 0] or [0, null]',
    )
    power: Positive | None = pydantic.Field(None, description='W, |effort * velocity|')
    axial_force: Positive | None = pydantic.Field(
        None, description='N, of the force that the joint transmits, along its axis'
    )
    radial_force: Positive | None = pydantic.Field(None, description='N, across the axis')


class Actuator(Strict):
    """A motor, its transmission and the bearing of its joint."""

    transmission: Transmission | None = pydantic.Field(
        None, description='without one the motor sits on the joint'
    )
    rotor_inertia: NotNegative = pydantic.Field(
        0.0, description='of the motor, kg m^2 (kg when it slides)'
    )
    friction: JointFriction = JointFriction()
    limits: ActuatorLimits = ActuatorLimits()

    @property
    def ratio(self) -> float:
        """Motion of the motor per motion of the joint."""
        if self.transmission is None:
            return 1.0
        if self.transmission.lead is not None:
            return 2.0 * math.pi / self.transmission.lead
        return 1.0 if self.transmission.ratio is None else self.transmission.ratio

    @property
    def joint_inertia(self) -> float:
        """Inertia of the motor as the joint feels it, kg m^2 or kg."""
        return self.rotor_inertia * self.ratio**2


class JointPhysics(Strict):
    """What a joint does by itself, driven or not: its spring, damping and dry friction."""

    stiffness: NotNegative = pydantic.Field(0.0, description='of its spring, N m/rad or N/m')
    reference: Finite = pydantic.Field(0.0, description='where the spring is slack, rad or m')
    damping: NotNegative | None = pydantic.Field(
        None, description='N m s/rad or N s/m; null: as <dynamics> in the URDF says'
    )
    friction: NotNegative | None = pydantic.Field(
        None, description='N m or N, whatever the joint carries; null: as the URDF says'
    )
    transition_velocity: NotNegative = pydantic.Field(
        0.0, description='rad/s or m/s over which dry friction grows; 0: at once'
    )


class Section(Strict):
    """Cross section of a beam."""

    area: Positive = pydantic.Field(description='m^2')
    second_moment: dict[Literal['x', 'y', 'z'], Positive] = pydantic.Field(
        description='m^4, by the direction in which the beam bends: link axes across the beam'
    )


class Material(Strict):
    """Linear elastic material."""

    youngs_modulus: Positive = pydantic.Field(description='Pa')
    density: Positive = pydantic.Field(description='kg/m^3')


class FlexibleLink(Strict):
    """A link that is a straight uniform beam, for the dynamics with flexible links."""

    axis: Literal['x', 'y', 'z'] = pydantic.Field(
        description="axis of the link's frame that the beam lies on"
    )
    ends: tuple[Finite | str, Finite | str] = pydantic.Field(
        description='m along the axis, or links joined to this one; the first is the near end'
    )
    section: Section
    material: Material
    modes: int = pydantic.Field(description='shapes per direction of bending, 1 or more')
    boundary: Literal['fixed-free', 'pinned-pinned', 'clamped-pinned'] = pydantic.Field(
        description='what the near and the far end of the assumed shapes are'
    )

    def changed(self, **fields: Any) -> 'FlexibleLink':
        """Return the same link with some fields replaced."""
        return FlexibleLink(**{**{name: getattr(self, name) for name in _FLEXIBLE}, **fields})


_FLEXIBLE = ('axis', 'ends', 'section', 'material', 'modes', 'boundary')


class MechanismFile(Strict):
    """A closed-loop mechanism: a URDF tree plus what closes and drives it (schema 1)."""

    version: Literal[1] = pydantic.Field(alias='schema', description='version of this format')
    name: str
    description: str = ''
    urdf: str = pydantic.Field(description='URDF or xacro file, relative to this file')
    xacro_arguments: dict[str, str] = {}
    base: str = pydantic.Field(description='root link of the URDF')
    platform: str = pydantic.Field(description='link that the external wrench acts on')
    gravity: Vector3 = pydantic.Field((0.0, 0.0, -9.80665), description='m/s^2, base axes')
    independent: tuple[str, ...] = pydantic.Field(description='joints: degrees of freedom')
    actuated: tuple[str, ...] = pydantic.Field(description='joints driven by motors')
    home: dict[str, Finite] = pydantic.Field({}, description='joint: position; others are 0')
    closures: tuple[Closure, ...] = ()
    contacts: tuple[Contact, ...] = ()
    actuators: dict[str, Actuator] = {}
    joints: dict[str, JointPhysics] = pydantic.Field({}, description='springs and losses of joints')
    force_joints: tuple[str, ...] = pydantic.Field(
        (), description='joints whose transmitted forces the goal joint-force keeps small'
    )
    flexible: dict[str, FlexibleLink] = pydantic.Field({}, description='links that bend')


def json_schema() -> dict[str, Any]:
    """JSON Schema of a mechanism file, for editors and other languages."""
    if pydantic.VERSION.startswith('1.'):
        return MechanismFile.schema()
    draft = 'https://json-schema.org/draft/2020-12/schema'
    return {'$schema': draft, **MechanismFile.model_json_schema()}
