# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The tree with flexible links as elementary motions, each linear in the coordinates.

Bending is written as joints: what is fixed to a beam at ``s`` slides across it by
``sum psi_k(s) eta_k`` and turns by ``sum psi_k'(s) eta_k``. A motion therefore has a fixed
placement, one axis, and an amount that is a linear form of the coordinates; a moving joint of the
URDF is a form with one term. Beyond assuming transverse modes nothing is neglected: rotations are
finite, and positions and velocities follow exactly from the coordinates.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.description.urdf import Inertia, Joint
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.flexible.links import WITHIN, Beam

FIXED, TURN, SLIDE = 0, 1, 2
NO_EFFECT = 1e-12  # a shape that is zero there, apart from rounding


@dataclasses.dataclass(frozen=True)
class Node:
    """A frame: placed in its parent's by ``position`` and ``rotation``, then moved along an axis.

    ``terms`` are (coordinate, factor) of the amount, rad or m.
    """

    parent: int
    position: FloatArray
    rotation: FloatArray
    kind: int
    axis: FloatArray
    terms: tuple[tuple[str, float], ...]


@dataclasses.dataclass(frozen=True)
class NodeTree:
    """Nodes from the base (0) outwards.

    ``of_link`` are the frames of the URDF's links, for a beam the one that its shapes are measured
    in; ``material`` the same, but for a beam the frame that moves with the material at the origin.
    """

    nodes: tuple[Node, ...]
    of_link: dict[str, int]
    material: dict[str, int]


def node_tree(description: MechanismDescription, beams: dict[str, Beam]) -> NodeTree:
    """Write a description with its beams as elementary motions.

    Raises
    ------
    DescriptionError
        When a joint is beyond an end of a beam.
    """
    builder = _Builder(description, beams)
    for joint in description.tree.joints:
        builder.add(joint)
    return NodeTree(tuple(builder.nodes), builder.of_link, builder.material)


def pseudo_inertia(inertia: Inertia) -> FloatArray:
    """Integrals (4, 4) over the mass of the products of 1, x, y, z of a rigid link."""
    second = 0.5 * np.trace(inertia.about_center) * np.eye(3) - inertia.about_center
    first = inertia.mass * inertia.center_of_mass
    out = np.zeros((4, 4))
    out[0, 0] = inertia.mass
    out[0, 1:] = out[1:, 0] = first
    out[1:, 1:] = second + np.outer(first, inertia.center_of_mass)
    return out


class _Builder:
    """Grows the list of nodes joint by joint."""

    def __init__(self, description: MechanismDescription, beams: dict[str, Beam]):
        self.description = description
        self.beams = beams
        still = Node(-1, np.zeros(3), np.eye(3), FIXED, np.zeros(3), ())
        self.nodes = [still]
        self.of_link = {description.base: 0}
        self.material = {description.base: 0}

    def add(self, joint: Joint) -> None:
        """Add a joint, with the bending before and after it."""
        parent, position = self.of_link[joint.parent], joint.position
        if joint.parent in self.beams:
            beam = self.beams[joint.parent]
            s = self._station(beam, joint.name, float(position @ beam.axis))
            parent = self._bend(parent, s * beam.axis, beam, s, 1.0)
            position = position - s * beam.axis
        place, motions = (position, joint.rotation), ((SLIDE, joint.shift), (TURN, joint.spin))
        for what, factor in [m for m in motions if m[1]] or [(FIXED, 0.0)]:
            terms = ((joint.name, factor),) if factor else ()
            parent = self._append(Node(parent, *place, what, joint.axis, terms))
            place = np.zeros(3), np.eye(3)
        self.material[joint.child] = parent
        if joint.child in self.beams:
            # The joint holds the material at the link's origin; shapes are seen from the frame
            # that they are measured in. So a joint's position stays that of its two bodies.
            beam = self.beams[joint.child]
            s = self._station(beam, joint.name, 0.0)
            parent = self._bend(parent, np.zeros(3), beam, s, -1.0)
        self.of_link[joint.child] = parent

    def _append(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _bend(self, parent: int, position: FloatArray, beam: Beam, s: float, sign: float) -> int:
        """Slide and turn with the material at ``s``; sign -1 is the way back."""
        value, slope = beam.shape(s)
        motions = []
        for what, factors in ((SLIDE, value), (TURN, slope)):
            for d, direction in enumerate(beam.directions):
                names = beam.coordinates[d * beam.modes : (d + 1) * beam.modes]
                terms = tuple(
                    (name, sign * float(factor))
                    for name, factor in zip(names, factors, strict=True)
                    if abs(factor) * (beam.length if what == TURN else 1.0) > NO_EFFECT
                )
                axis = np.cross(beam.axis, direction) if what == TURN else direction
                if terms:
                    motions.append((what, axis, terms))
        for what, axis, terms in motions if sign > 0 else reversed(motions):
            parent = self._append(Node(parent, position, np.eye(3), what, axis, terms))
            position = np.zeros(3)
        if position.any():
            parent = self._append(Node(parent, position, np.eye(3), FIXED, beam.axis, ()))
        return parent

    def _station(self, beam: Beam, joint: str, s: float) -> float:
        """A place on the beam, rounding removed."""
        beyond = max(beam.start - s, s - beam.end)
        if beyond > WITHIN * beam.length:
            raise DescriptionError(
                self.description.file,
                f'flexible.{beam.link}.ends',
                f'joint {joint!r} is {beyond * 1e3:.6g} mm beyond the end',
            )
        return min(max(s, beam.start), beam.end)
