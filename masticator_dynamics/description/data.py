# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The description of a mechanism as plain data; ``reading.py`` checks files against it."""

import dataclasses
import math
import pathlib
from typing import Annotated, Any, Literal

from masticator_dynamics.description.checks import (
    Finite,
    NotNegative,
    OpenInterval,
    PartOfOne,
    Positive,
)
from masticator_dynamics.description.closures import Closure as Closure
from masticator_dynamics.description.contacts import Contact as Contact
from masticator_dynamics.description.urdf import Tree


@dataclasses.dataclass(frozen=True)
class JointFriction:
    """Effort that an actuated joint's bearing and the gear of its motor take."""

    coulomb: Annotated[NotNegative, 'per newton across the axis'] = 0.0
    radius: Annotated[NotNegative, 'm, of the bearing of a turning joint'] = 0.0
    viscous: Annotated[NotNegative, 'N m s (N s/m when sliding)'] = 0.0
    gear_loss: Annotated[
        PartOfOne | None,
        'effort that the gear takes per effort that the motor passes on; null: it takes none, and '
        'it is no parameter',
    ] = None
    transition_velocity: Annotated[
        NotNegative, 'rad/s or m/s over which Coulomb friction and gear loss grow; 0: at once'
    ] = 0.0


@dataclasses.dataclass(frozen=True)
class Transmission:
    """How the motor moves its joint. Efforts are the motor's; positions stay the joint's."""

    ratio: Annotated[
        Finite | None, 'motion of the motor per motion of the joint: rad/rad, or rad/m'
    ] = None
    lead: Annotated[
        Positive | None, 'of a screw, m that the joint slides per turn of the motor'
    ] = None


@dataclasses.dataclass(frozen=True)
class ActuatorLimits:
    """What motor and bearing may carry, besides the effort in the URDF; null: anything."""

    effort: Annotated[
        OpenInterval,
        'N m or N of the motor, [lowest, highest], within those of the URDF; a cable pulls '
        'only: [null, 0] or [0, null]',
    ] = (None, None)
    power: Annotated[Positive | None, 'W, |effort * velocity|'] = None
    axial_force: Annotated[
        Positive | None, 'N, of the force that the joint transmits, along its axis'
    ] = None
    radial_force: Annotated[Positive | None, 'N, across the axis'] = None


@dataclasses.dataclass(frozen=True)
class Actuator:
    """A motor, its transmission and the bearing of its joint."""

    transmission: Annotated[Transmission | None, 'without one the motor sits on the joint'] = None
    rotor_inertia: Annotated[NotNegative, 'of the motor, kg m^2 (kg when it slides)'] = 0.0
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
        """Inertia of the motor reflected to the joint, kg m^2 or kg."""
        return self.rotor_inertia * self.ratio**2


@dataclasses.dataclass(frozen=True)
class JointPhysics:
    """What a joint does by itself, driven or not: its spring, losses and armature."""

    lead: Annotated[
        Finite | None,
        'm per turn by which a turning joint of the URDF advances along its axis: it is a screw, '
        'right-handed above 0',
    ] = None
    stiffness: Annotated[NotNegative, 'of its spring, N m/rad or N/m'] = 0.0
    reference: Annotated[Finite, 'where the spring is slack, rad or m'] = 0.0
    damping: Annotated[
        NotNegative | None, 'N m s/rad or N s/m; null: as <dynamics> in the URDF says'
    ] = None
    friction: Annotated[
        NotNegative | None, 'N m or N, whatever the joint carries; null: as the URDF says'
    ] = None
    transition_velocity: Annotated[
        NotNegative, 'rad/s or m/s over which dry friction grows; 0: at once'
    ] = 0.0
    stiction: Annotated[
        NotNegative | None,
        'N m or N, by which dry friction is larger near rest; null: by nothing, and it is no '
        'parameter',
    ] = None
    stiction_velocity: Annotated[NotNegative, 'rad/s or m/s, at which half of this is left'] = 0.0
    armature: Annotated[
        NotNegative,
        'inertia of what turns with the joint besides links, as it feels it, and besides '
        'rotor_inertia of its actuator; kg m^2 or kg',
    ] = 0.0


@dataclasses.dataclass(frozen=True)
class Section:
    """Cross section of a beam."""

    area: Annotated[Positive, 'm^2']
    second_moment: Annotated[
        dict[Literal['x', 'y', 'z'], Positive],
        'm^4, by the direction in which the beam bends: link axes across the beam',
    ]


@dataclasses.dataclass(frozen=True)
class Material:
    """Linear elastic material."""

    youngs_modulus: Annotated[Positive, 'Pa']
    density: Annotated[Positive, 'kg/m^3']


@dataclasses.dataclass(frozen=True)
class FlexibleLink:
    """A link that is a straight uniform beam, for the dynamics with flexible links."""

    axis: Annotated[Literal['x', 'y', 'z'], "axis of the link's frame that the beam lies on"]
    ends: Annotated[
        tuple[Finite | str, Finite | str],
        'm along the axis, or links joined to this one; the first is the near end',
    ]
    section: Section
    material: Material
    modes: Annotated[int, 'shapes per direction of bending, 1 or more']
    boundary: Annotated[
        Literal['fixed-free', 'pinned-pinned', 'clamped-pinned'],
        'what the near and the far end of the assumed shapes are',
    ]

    def changed(self, **fields: Any) -> 'FlexibleLink':
        """Return the same link with some fields replaced."""
        return dataclasses.replace(self, **fields)


@dataclasses.dataclass(frozen=True)
class MechanismDescription:
    """A closed-loop mechanism as described by its files; every name in it resolves."""

    file: pathlib.Path  # files that it was read from
    name: str
    summary: str
    urdf_file: pathlib.Path  # files that it was read from
    urdf_xml: str  # the expanded URDF, as robot_state_publisher needs it
    tree: Tree  # links and joints of the spanning tree
    base: str
    platform: str
    gravity: tuple[float, float, float]
    independent: tuple[str, ...]  # joint names
    actuated: tuple[str, ...]  # joint names
    home: dict[str, float]
    closures: tuple[Closure, ...]
    contacts: tuple[Contact, ...]
    actuators: dict[str, Actuator]
    force_joints: tuple[str, ...]
    flexible: dict[str, FlexibleLink]
    # Joints with a spring, losses or armature, from YAML and URDF; no value is None.
    joints: dict[str, JointPhysics] = dataclasses.field(default_factory=dict)
    doubts: tuple[str, ...] = ()  # warnings about the files

    def joint_inertia(self, joint: str) -> float:
        """What a joint feels of its motor's rotor and its armature, kg m^2 or kg."""
        motor, physics = self.actuators.get(joint), self.joints.get(joint)
        return (motor.joint_inertia if motor else 0.0) + (physics.armature if physics else 0.0)
