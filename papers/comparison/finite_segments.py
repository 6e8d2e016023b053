# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Finite segments: flexible links as rigid pieces on torsion springs, from the same description.

A different kind of model, to check assumed modes against. Springs of stiffness E I / h represent
the bending of a length h. S3 cuts a link into n equal pieces of h = L / n, which leaves half a
piece at either end without a spring; with n springs and end pieces of half the length every spring
is in the middle of the length that it represents.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.description.urdf import Inertia, Joint, Tree
from masticator_dynamics.errors import InputError
from masticator_dynamics.flexible.links import Beam, beams


@dataclasses.dataclass(frozen=True)
class Segments:
    """A rigid mechanism with springs.

    Attributes
    ----------
    description : MechanismDescription
        Every flexible link is a chain of links; its cuts are independent joints, 0 when straight.
        The first piece keeps the link's name.
    springs : dict
        Stiffness by joint, N m/rad: ``<link>_cut_<direction><k>``, from the link's near end on.
    """

    description: MechanismDescription
    springs: dict[str, float]


def segmented(
    description: MechanismDescription, springs_per_link: int = 9, half_ends: bool = True
) -> Segments:
    """Cut the flexible links of a description.

    Parameters
    ----------
    description : MechanismDescription
        With flexible links.
    springs_per_link : int
        Cuts of every flexible link.
    half_ends : bool
        Whether end pieces have half the length; otherwise all are equal: S3's nine pieces are
        ``segmented(description, 8, False)``.

    Raises
    ------
    InputError
        For less than one cut.
    """
    if springs_per_link < 1:
        raise InputError(f'{springs_per_link} cuts per link: one or more are needed')
    out = Segments(dataclasses.replace(description, flexible={}), {})
    for beam in beams(description).values():
        out = _cut(out, beam, springs_per_link, half_ends)
    return out


def _cut(segments: Segments, beam: Beam, cuts: int, half_ends: bool) -> Segments:
    pieces = cuts if half_ends else cuts + 1
    spacing = beam.length / pieces
    first = 0.5 if half_ends else 1.0
    stations = beam.start + spacing * (first + np.arange(cuts))
    edges = np.array([beam.start, *stations, beam.end])
    description = segments.description
    links, tree = dict(description.tree.links), description.tree
    # Origins: the first piece keeps the link's frame, the others start at their cut.
    names = [beam.link, *(f'{beam.link}_piece_{k + 1}' for k in range(1, cuts + 1))]
    origins = np.array([0.0, *stations])
    for name, origin, a, b in zip(names, origins, edges, edges[1:], strict=False):
        links[name] = beam.rigid(a - origin, b - origin)
    axes = [np.cross(beam.axis, direction) for direction in beam.directions]
    cut_names = [[f'{beam.link}_cut_{d}{k + 1}' for d in beam.names] for k in range(cuts)]
    joints: list[Joint] = []
    for joint in tree.joints:
        if joint.parent == beam.link:
            s = float(joint.position @ beam.axis)
            piece = int(np.searchsorted(stations, s))
            position = joint.position - origins[piece] * beam.axis
            joint = dataclasses.replace(joint, parent=names[piece], position=position)
        joints.append(joint)
        if joint.child != beam.link:
            continue
        for k in range(cuts):
            parent, position = names[k], (origins[k + 1] - origins[k]) * beam.axis
            for d, axis in enumerate(axes):
                last = d == len(axes) - 1
                child = names[k + 1] if last else f'{names[k + 1]}_{beam.names[d]}'
                links.setdefault(child, Inertia(0.0, np.zeros(3), np.zeros((3, 3))))
                joints.append(
                    Joint(cut_names[k][d], 'continuous', parent, child, position, np.eye(3), axis)
                )
                parent, position = child, np.zeros(3)
    stiffness = beam.stiffness / spacing
    springs = {
        name: float(value) for row in cut_names for name, value in zip(row, stiffness, strict=True)
    }
    changed = dataclasses.replace(
        description,
        tree=Tree(tree.root, tuple(joints), links),
        independent=(*description.independent, *springs),
    )
    return Segments(changed, {**segments.springs, **springs})
