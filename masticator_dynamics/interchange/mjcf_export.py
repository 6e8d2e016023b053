# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism as MJCF, for MuJoCo: bodies, loops as stiff equalities, contacts, motors, home.

MuJoCo's equalities are soft: with the settings written here a loop opens by some micrometres
under load. Bodies need inertia there: those without get a negligible amount.
"""

from __future__ import annotations

import dataclasses
from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.description.data import Closure, Contact
from masticator_dynamics.description.urdf import Array, Inertia, Joint
from masticator_dynamics.description.urdf_text import numbers, urdf_parts
from masticator_dynamics.engine.tree import spanning_tree

LEAST_MASS = 1e-6  # kg, of a body that has none
LEAST_MOMENT = 1e-9  # kg m^2, likewise
_HINGE_ARM = 0.05  # m between the two points that make a hinge
_BALL = 0.002  # m, radius of a ball that touches a plane
_PRESSED = 1e-6  # m that it is squeezed, so that both plates touch it
# By default MuJoCo's joints creep under dry friction, and efforts err by a sixth.
_DRY = {'solreffriction': '0.002 1', 'solimpfriction': '0.999 0.9999 0.001 0.5 2'}
_STIFF = {'solref': '0.002 1', 'solimp': '0.9999 0.9999 0.001'}


@dataclasses.dataclass(frozen=True)
class Exported:
    """The text of an MJCF file, and what MuJoCo has no equivalent for, one sentence each."""

    text: str
    left_out: tuple[str, ...]


def export_mjcf(description: MechanismDescription) -> Exported:
    """Write a mechanism as MJCF.

    Joint names, positions and signs are those of the description. Efforts of ``<motor>`` are the
    motors', as in :class:`masticator_dynamics.Effort`. A contact is a ball between two plates:
    two-sided, as in the engine.
    """
    return _MjcfWriter(description).exported()


class _MjcfWriter:
    def __init__(self, description: MechanismDescription):
        self.description, self.left_out = description, list[str]()
        self.root = ElementTree.Element('mujoco', model=description.name)
        ElementTree.SubElement(
            self.root, 'compiler', angle='radian', autolimits='true', balanceinertia='true'
        )
        ElementTree.SubElement(
            self.root, 'option', gravity=numbers(description.gravity), timestep='0.0005',
            integrator='implicitfast',
        )  # fmt: skip
        self.world = ElementTree.SubElement(self.root, 'worldbody')
        self.equality = ElementTree.Element('equality')
        self.tendons: ElementTree.Element | None = None
        self.ahead: dict[str, float] = {}  # home of slides of joints that also turn

    def exported(self) -> Exported:
        tree = self.description.tree
        bodies = {tree.root: self.world}
        self._site(self.world, tree.root)
        for joint in tree.joints:
            bodies[joint.child] = self._body(bodies[joint.parent], joint)
        for contact in self.description.contacts:
            self._contact(contact)
        for closure in self.description.closures:
            self._closure(closure)
        self.root.append(self.equality)
        self._actuators()
        self._home()
        ElementTree.indent(self.root)
        comments = [f'<!-- Made by `masticator export-mjcf` from {self.description.file.name}. -->']
        comments += [f'<!-- Left out: {sentence} -->' for sentence in self.left_out]
        text = ElementTree.tostring(self.root, encoding='unicode')
        return Exported('\n'.join([*comments, text, '']), tuple(self.left_out))

    # Bodies

    def _body(self, parent: ElementTree.Element, joint: Joint) -> ElementTree.Element:
        body = ElementTree.SubElement(
            parent,
            'body',
            name=joint.child,
            pos=numbers(joint.position),
            quat=_quat(joint.rotation),
        )
        moves = joint.moves
        inertia = self.description.tree.links[joint.child]
        if moves or inertia.mass > 0.0 or inertia.about_center.any():
            body.append(_inertial(inertia))
        if moves:
            body.append(self._joint(joint))
            if joint.screws:
                body.append(self._advance(joint))
        self._site(body, joint.child)
        return body

    def _advance(self, joint: Joint) -> ElementTree.Element:
        """The slide of a joint that also turns, tied to its turn."""
        _, slide = urdf_parts(joint)
        self.ahead[slide] = joint.shift * self.description.home.get(joint.name, 0.0)
        ElementTree.SubElement(
            self.equality, 'joint', _STIFF, name=slide, joint1=slide, joint2=joint.name,
            polycoef=numbers([0.0, joint.shift, 0.0, 0.0, 0.0]),
        )  # fmt: skip
        return ElementTree.Element('joint', name=slide, type='slide', axis=numbers(joint.axis))

    def _joint(self, joint: Joint) -> ElementTree.Element:
        element = ElementTree.Element(
            'joint', name=joint.name, type='slide' if joint.slides else 'hinge',
            axis=numbers(joint.axis),
        )  # fmt: skip
        if np.isfinite([joint.lower, joint.upper]).all():
            element.set('range', numbers([joint.lower, joint.upper]))
        physics = self.description.joints.get(joint.name)
        damping = 0.0
        if physics is not None:
            damping = physics.damping or 0.0
            element.set('stiffness', numbers([physics.stiffness]))
            element.set('springref', numbers([physics.reference]))
            element.set('frictionloss', numbers([physics.friction or 0.0]))
            if physics.friction:
                element.attrib.update(_DRY)
            if physics.stiction:
                self.left_out.append(f'stiction of joint {joint.name}')
        if inertia := self.description.joint_inertia(joint.name):
            element.set('armature', numbers([inertia]))
        actuator = self.description.actuators.get(joint.name)
        if actuator is not None:
            friction = actuator.friction
            damping += friction.viscous
            if friction.coulomb:
                self.left_out.append(
                    f'Coulomb friction of joint {joint.name}, which grows with the bearing force'
                )
            if friction.gear_loss:
                self.left_out.append(f'gear loss of joint {joint.name}')
        if damping:
            element.set('damping', numbers([damping]))
        return element

    def _site(self, body: ElementTree.Element, link: str) -> None:
        """Add a link's frame as a site, so that loops can refer to it."""
        ElementTree.SubElement(body, 'site', name=f'{link}:origin', size='0.002')

    # Loops and contacts

    def _connect(self, kind: str, name: str, first: str, second: str) -> None:
        ElementTree.SubElement(self.equality, kind, _STIFF, name=name, site1=first, site2=second)

    def _closure(self, closure: Closure) -> None:
        name, way = closure.name, closure.kind.mjcf
        frames = [f'{link}:origin' for link in closure.frames]
        if way in ('connect', 'weld'):
            self._connect(way, name, frames[0], frames[1])
        elif way == 'two points':
            self._connect('connect', name, frames[0], frames[1])
            ends = [self._along_axis(frame) for frame in frames]
            self._connect('connect', f'{name}:axis', ends[0], ends[1])
        elif way == 'tendon':
            self._distance(closure)
        elif way != 'joints' or not self._coupling(closure):
            self.left_out.append(f'closure {name}: MuJoCo has no equality for type {closure.type}')

    def _distance(self, closure: Closure) -> None:
        """Add a tendon of fixed length; MuJoCo counts from its length at zero positions."""
        tree, name, links = spanning_tree(self.description.tree), closure.name, closure.frames
        poses = tree.poses(np.zeros(len(tree.joints)))
        ends = [poses.point(tree.frames[link].body, tree.frames[link].position) for link in links]
        longer = (closure.length or 0.0) - float(np.linalg.norm(ends[1] - ends[0]))
        rod = self._tied_tendon('spatial', name, longer)
        for link in links:
            ElementTree.SubElement(rod, 'site', site=f'{link}:origin')

    def _along_axis(self, origin: str) -> str:
        """Add a second point on the axis of a hinge."""
        name = f'{origin}:axis'
        for parent in self.root.iter():
            if any(site.get('name') == origin for site in parent.findall('site')):
                if not any(site.get('name') == name for site in parent.findall('site')):
                    position = numbers([0.0, 0.0, _HINGE_ARM])
                    ElementTree.SubElement(parent, 'site', name=name, pos=position, size='0.002')
                break
        return name

    def _coupling(self, closure: Closure) -> bool:
        """Add a coupling, if MuJoCo has such.

        These are a polynomial of one joint, of degree four at most, and a line of several.
        """
        (other, coefficients), *more = closure.of.items()
        if more:
            return self._differential(closure)
        polynomial = [closure.offset, *coefficients]
        if len(polynomial) > 5:
            return False
        polynomial += [0.0] * (5 - len(polynomial))
        ElementTree.SubElement(
            self.equality, 'joint', _STIFF, name=closure.name, joint1=str(closure.joint),
            joint2=other, polycoef=numbers(polynomial),
        )  # fmt: skip
        return True

    def _differential(self, closure: Closure) -> bool:
        """Add a fixed tendon, a sum of joints, if a coupling has constant ratios."""
        if any(any(coefficients[1:]) for coefficients in closure.of.values()):
            return False
        tendon = self._tied_tendon('fixed', closure.name, closure.offset)
        ratios = {str(closure.joint): 1.0} | {name: -c[0] for name, c in closure.of.items()}
        for name, ratio in ratios.items():
            ElementTree.SubElement(tendon, 'joint', joint=name, coef=numbers([ratio]))
        return True

    def _tied_tendon(self, kind: str, name: str, longer: float) -> ElementTree.Element:
        """Add a tendon that is held, longer than at zero positions, m or rad."""
        if self.tendons is None:
            self.tendons = ElementTree.SubElement(self.root, 'tendon')
        ElementTree.SubElement(
            self.equality, 'tendon', _STIFF, name=name, tendon1=name,
            polycoef=numbers([longer, 0.0, 0.0, 0.0, 0.0]),
        )  # fmt: skip
        return ElementTree.SubElement(self.tendons, kind, name=name)

    def _contact(self, contact: Contact) -> None:
        """Add a small ball between two plates: two-sided, as in the engine; no friction."""
        if contact.type != 'plane' or contact.carrier not in (None, self.description.base):
            self.left_out.append(
                f'contact {contact.name}: only planes fixed to the base are written'
            )
            return
        length = float(np.linalg.norm(contact.normal))
        normal = np.array(contact.normal) / length
        bit = str(2 << self.description.contacts.index(contact) % 29)
        touch = {'condim': '1', 'contype': bit, 'conaffinity': bit, **_STIFF}
        for side, name in ((1.0, 'under'), (-1.0, 'over')):
            place = (-contact.offset / length - side * (_BALL - _PRESSED)) * normal
            ElementTree.SubElement(
                self.world, 'geom', touch, name=f'{contact.name}:{name}', type='plane',
                pos=numbers(place), zaxis=numbers(side * normal), size='0.01 0.01 0.001',
            )  # fmt: skip
        body = next(b for b in self.root.iter('body') if b.get('name') == contact.frame)
        ElementTree.SubElement(
            body, 'geom', touch, name=contact.name, type='sphere', size=numbers([_BALL])
        )
        if contact.friction.coulomb or contact.friction.viscous:
            self.left_out.append(f'friction of contact {contact.name}')

    # Motors and home

    def _actuators(self) -> None:
        element = ElementTree.SubElement(self.root, 'actuator')
        efforts = {joint.name: joint.effort for joint in self.description.tree.joints}
        for name, actuator in self.description.actuators.items():
            motor = ElementTree.SubElement(
                element, 'motor', name=name, joint=name, gear=numbers([actuator.ratio])
            )
            bound = efforts[name] / abs(actuator.ratio) or np.inf
            low, high = actuator.limits.effort
            low = -bound if low is None else max(low, -bound)
            high = bound if high is None else min(high, bound)
            if np.isfinite([low, high]).all():
                motor.set('ctrlrange', numbers([low, high]))

    def _home(self) -> None:
        """Add a keyframe, in the order in which MuJoCo numbers joints: depth first."""
        names = [str(joint.get('name')) for joint in self.world.iter('joint')]
        home = self.description.home | self.ahead
        positions = [home.get(name, 0.0) for name in names]
        frame = ElementTree.SubElement(self.root, 'keyframe')
        ElementTree.SubElement(frame, 'key', name='home', qpos=numbers(positions))


def _inertial(inertia: Inertia) -> ElementTree.Element:
    moments, axes = np.linalg.eigh(inertia.about_center)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    moments = np.maximum(moments, LEAST_MOMENT)
    return ElementTree.Element(
        'inertial', pos=numbers(inertia.center_of_mass), quat=_quat(axes),
        mass=numbers([max(inertia.mass, LEAST_MASS)]), diaginertia=numbers(moments),
    )  # fmt: skip


def _quat(rotation: Array) -> str:
    x, y, z, w = Rotation.from_matrix(rotation).as_quat()
    return numbers([w, x, y, z])
