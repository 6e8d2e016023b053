# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes, bodies and constraints as arrays for the kernels."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.constraint import Constraint
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.flexible.flexible_kernels import Arrays
from masticator_dynamics.flexible.links import Beam
from masticator_dynamics.flexible.nodes import NodeTree, pseudo_inertia

_RIGID_POINTS = np.vstack([np.zeros(3), np.eye(3)])  # origin and axes


def pack(
    description: MechanismDescription,
    structure: Structure,
    beams: dict[str, Beam],
    tree: NodeTree,
    coordinates: tuple[str, ...],
    stiffness: FloatArray,
) -> Arrays:
    """Arrays of a model; ``stiffness`` (n,) is that of the coordinates.

    Parameters
    ----------
    description : MechanismDescription
        For rotors and gravity.
    structure : Structure
        Its joints and loops.
    beams : dict
        Flexible links by name.
    tree : NodeTree
        Nodes of the model.
    coordinates : tuple of str
        Names of joints and modes, in order.
    stiffness : (n,) array
        Of the coordinates.
    """
    index = {name: i for i, name in enumerate(coordinates)}
    supports = _supports(tree, beams, index)
    terms = [
        (index[name], factor, supports[k].index(index[name]))
        for k, node in enumerate(tree.nodes)
        for name, factor in node.terms
    ]
    rotors = np.array([description.joint_inertia(name) for name in coordinates])
    free = [
        i
        for i, name in enumerate(coordinates)
        if name in description.independent or name not in structure_joints(structure)
    ]
    arrays: list[np.ndarray] = [
        *_node_arrays(tree),
        np.cumsum([0, *(len(node.terms) for node in tree.nodes)]),
        *map(np.array, zip(*terms, strict=True)),
        np.array([len(s) for s in supports]),
        _padded(supports),
        *_bodies(description, beams, tree, index, supports),
        *_constraint_arrays(description, structure, tree),
        np.array([i for i in range(len(coordinates)) if i not in free], dtype=np.int64),
        np.array(free, dtype=np.int64),
        np.array(description.gravity, dtype=float),
        stiffness,
        rotors,
    ]
    return Arrays(*arrays)


def structure_joints(structure: Structure) -> tuple[str, ...]:
    """Moving joints of a structure, in tree order."""
    return tuple(joint.name for joint in structure.tree.joints)


def _supports(tree: NodeTree, beams: dict[str, Beam], index: dict[str, int]) -> list[list[int]]:
    """Coordinates that move each node or what is attached to it; those of its parent come first."""
    modal = {tree.of_link[link]: beam.coordinates for link, beam in beams.items()}
    supports: list[list[int]] = []
    for k, node in enumerate(tree.nodes):
        known = supports[node.parent] if node.parent >= 0 else []
        # Shapes need not move the frame of their own link, but they do move its material.
        own = [index[name] for name in (*(name for name, _ in node.terms), *modal.get(k, ()))]
        supports.append(known + [c for c in dict.fromkeys(own) if c not in known])
    return supports


def _node_arrays(tree: NodeTree) -> tuple[np.ndarray, ...]:
    nodes = tree.nodes
    return (
        np.array([node.parent for node in nodes]),
        np.array([node.position for node in nodes]),
        np.array([node.rotation for node in nodes]),
        np.array([node.kind for node in nodes]),
        np.array([node.axis for node in nodes]),
    )


def _padded(rows: list[list[int]]) -> np.ndarray:
    out = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    for row, values in zip(out, rows, strict=True):
        row[: len(values)] = values
    return out


def _bodies(
    description: MechanismDescription,
    beams: dict[str, Beam],
    tree: NodeTree,
    index: dict[str, int],
    supports: list[list[int]],
) -> tuple[np.ndarray, ...]:
    """Links with mass that move: node, number of points, mass integrals and the points."""
    links = [
        link
        for link, inertia in description.tree.links.items()
        if tree.of_link[link] > 0 and (inertia.mass or inertia.about_center.any())
    ]
    most = max([4, *(len(beams[link].coordinates) + 4 for link in links if link in beams)])
    gram = np.zeros((len(links), most, most))
    coordinate = np.full((len(links), most), -1)
    column = np.zeros((len(links), most), dtype=np.int64)
    direction = np.zeros((len(links), most, 3))
    points = np.full(len(links), 4)
    for b, link in enumerate(links):
        direction[b, :4] = _RIGID_POINTS
        if link not in beams:
            gram[b, :4, :4] = pseudo_inertia(description.tree.links[link])
            continue
        beam, own = beams[link], supports[tree.of_link[link]]
        modal = [index[name] for name in beam.coordinates]
        points[b] = size = 4 + len(modal)
        gram[b, :size, :size] = beam.gram()
        coordinate[b, 4:size] = modal
        column[b, 4:size] = [own.index(c) for c in modal]
        direction[b, 4:size] = np.repeat(beam.directions, beam.modes, axis=0)
    nodes = np.array([tree.of_link[link] for link in links])
    return nodes, points, gram, coordinate, column, direction


def _in_base(description: MechanismDescription, structure: Structure, name: str) -> Constraint:
    """A closure or contact whose directions are constant in the base."""
    parts = [constraint for constraint in structure.constraints if constraint.name == name]
    if len(parts) == 1 and parts[0].kind == 'point' and not parts[0].carried:
        return parts[0]
    raise DescriptionError(
        description.file, name,
        'with flexible links only points on points and planes in the base are supported, '
        'none of whose equations follow from others',
    )  # fmt: skip


def _constraint_arrays(
    description: MechanismDescription, structure: Structure, tree: NodeTree
) -> tuple[np.ndarray, ...]:
    """Rows: two nodes, a direction and an offset each."""
    frames = {closure.name: closure.frames for closure in description.closures}
    frames |= {c.name: (description.base, c.frame) for c in description.contacts}
    rows: list[tuple[int, int, FloatArray, float]] = []
    for name, pair in frames.items():
        constraint = _in_base(description, structure, name)
        a, b = (tree.of_link[frame] for frame in pair)
        rows += [
            (a, b, row, float(offset))
            for row, offset in zip(constraint.rows, constraint.offset, strict=True)
        ]
    if not rows:
        none = np.zeros(0, dtype=np.int64)
        return none, none, np.zeros((0, 3)), np.zeros(0)
    node_a, node_b, row, offset = zip(*rows, strict=True)
    return np.array(node_a), np.array(node_b), np.array(row), np.array(offset)
