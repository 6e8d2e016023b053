# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism's structure to the flat records that kernels read."""

import dataclasses

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine import layout, seen
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.constraint import Constraint, jacobian, moving_joints
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.engine.universal_limb import limb_of

LARGEST_TURN = 0.3  # rad per Newton step: with it the iteration never left the branch of home
LARGEST_SLIDE = 0.3  # of the mechanism's size


@dataclasses.dataclass(frozen=True)
class Model:
    """A mechanism as ``evaluate`` takes it."""

    memory: np.ndarray  # bytes; the state of the bodies included, so one call at a time
    scratch: FloatArray
    sizes: layout.Sizes


def pack(description: MechanismDescription, structure: Structure) -> Model:
    """Records of a mechanism."""
    tree = structure.tree
    independent = [structure.index(name) for name in description.independent]
    actuated = [structure.index(name) for name in description.actuated]
    dependent = [j for block in structure.blocks for j in block.joints]
    sizes = layout.Sizes(len(tree.joints), len(independent), len(actuated), len(dependent))
    constraints, entries, numbers = _constraints(structure)
    sections = {
        'joints': _joints(structure),
        'constraints': constraints,
        'entries': entries,
        'blocks': _blocks(structure),
        'bodies': _bodies(sizes.tree, description.gravity),
        'independent': np.array(independent, dtype=np.int64),
        'actuated': np.array(actuated, dtype=np.int64),
        'dependent': np.array(dependent, dtype=np.int64),
        'numbers': np.array(numbers),
        'answer': np.array([0, *(part.stop for part in sizes.answer_slices().values())]),
    }
    return Model(layout.assemble(sections), sizes.scratch(), sizes)


def _joints(structure: Structure) -> np.ndarray:
    tree = structure.tree
    extent = structure.extent()
    records = np.zeros(len(tree.joints), layout.JOINT)
    for i, (record, joint) in enumerate(zip(records, tree.joints, strict=True)):
        slides = joint.type == 'prismatic'
        record['parent'] = tree.placements[i].body
        record['prismatic'] = slides
        record['rotation'] = tree.placements[i].rotation
        record['position'] = tree.placements[i].position
        record['largest_step'] = LARGEST_SLIDE * extent if slides else LARGEST_TURN
        record['home'] = structure.home[i]
    return records


def _constraints(structure: Structure) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Constraints in block order, the joints that move them, numbers of surfaces and couplings."""
    records = np.zeros(len(structure.constraints), layout.CONSTRAINT)
    entries: list[tuple[int, float, int]] = []
    numbers: list[float] = []
    owners = [block for block in structure.blocks for _ in block.constraints]
    for record, block, (constraint, rows) in zip(records, owners, structure.ordered(), strict=True):
        size = constraint.size
        record['kind'] = _kind(constraint)
        record['body_a'], record['body_b'] = constraint.body_a, constraint.body_b
        record['point_a'], record['point_b'] = constraint.point_a, constraint.point_b
        record['rows'][:size], record['offset'][:size] = constraint.rows, constraint.offset
        record['partners'][: len(constraint.partners)] = constraint.partners
        record['length'], record['first_number'] = constraint.length, len(numbers)
        record['size'], record['first_row'] = size, rows.start
        record['whole'] = not constraint.carried and np.array_equal(constraint.rows, np.eye(3))
        if constraint.surface is not None:
            numbers += constraint.surface.numbers.tolist()
        polynomials = {}
        for joint, coefficients in constraint.terms:
            polynomials[joint] = len(numbers)
            numbers += [len(coefficients), *coefficients]
        moving = sorted(moving_joints(structure.tree, constraint).items())
        moving.sort(key=lambda entry: entry[0] not in block.joints)  # the block's own come first
        record['first_entry'] = len(entries)
        entries += [(joint, sign, polynomials.get(joint, 0)) for joint, sign in moving]
        record['last_unknown'] = record['first_entry'] + sum(j in block.joints for j, _ in moving)
        record['last_entry'] = len(entries)
    return records, np.array(entries, layout.ENTRY), numbers or [0.0]


def _kind(constraint: Constraint) -> int:
    """Which kernel evaluates a constraint."""
    if constraint.kind == 'point':
        return seen.CARRIED if constraint.carried else seen.IN_BASE
    kinds = {
        'turn': seen.TURN, 'distance': seen.DISTANCE, 'surface': seen.SURFACE,
        'coupling': seen.COUPLING,
    }  # fmt: skip
    return kinds[constraint.kind]


def _blocks(structure: Structure) -> np.ndarray:
    """One record per block; a first record without rows places what needs no closing."""
    records = np.zeros(len(structure.blocks) + 1, layout.BLOCK)
    at_home = structure.tree.poses(structure.home)
    row = constraint = 0
    for b, record in enumerate(records):
        record['first_row'], record['first_constraint'] = row, constraint
        record['first_body'] = sum(stage < b for stage in structure.stages)
        record['last_body'] = sum(stage <= b for stage in structure.stages)
        if b > 0:
            block = structure.blocks[b - 1]
            row += len(block.joints)
            constraint += len(block.constraints)
            rates = [jacobian(at_home, structure.constraints[c]) for c in block.constraints]
            square = np.vstack(rates)[:, list(block.joints)]
            record['home_sign'] = np.sign(np.linalg.det(square))
            for field, value in limb_of(structure, block, at_home).items():
                record[field] = value
        record['last_row'], record['last_constraint'] = row, constraint
    return records


def _bodies(count: int, gravity: tuple[float, float, float]) -> np.ndarray:
    """Scratch of the bodies; the base comes last and accelerates against gravity."""
    bodies = np.zeros(count + 1, layout.BODY)
    bodies[-1]['rotation'] = np.eye(3)
    bodies[-1]['acceleration'] = -np.array(gravity)
    return bodies
