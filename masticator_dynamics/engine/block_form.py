# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Finds which constraint determines which joint.

The constraint equations are brought to block-triangular form (a perfect matching of equations
and dependent joints, then strongly connected components): every block is a small square system
for its own joints, given the blocks before it. A platform on limbs decomposes into its limbs.
"""

import warnings

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.closed_home import check_home, extent, without_sideways
from masticator_dynamics.engine.closure_equations import Constraint, all_constraints, unit_names
from masticator_dynamics.engine.descent import Loops
from masticator_dynamics.engine.redundant_equations import Independent, without_redundancy
from masticator_dynamics.engine.structure import Block, Structure
from masticator_dynamics.engine.tree import SpanningTree, spanning_tree
from masticator_dynamics.errors import DescriptionError, DescriptionWarning

HOME_TOLERANCE = 1e-6  # m or rad; a larger gap at home means wrong data, a smaller is rounding
_EXACT = 1e-9  # m or rad; gaps up to this are not reported
ROUNDED_HOME = 2e-5  # of equations that follow from others up to rounding


def analyse(description: MechanismDescription) -> Structure:
    """Find blocks and their order, check that home closes, and refine it to rounding.

    Raises
    ------
    DescriptionError
        If equations and dependent joints do not match, a loop is open at home or home is
        singular; the message names closure or joint and the amount.

    Warns
    -----
    DescriptionWarning
        For equations that follow from others but for rounding.
    """
    tree = spanning_tree(description.tree)
    home = np.array([description.home.get(joint.name, 0.0) for joint in tree.joints])
    regular = _independent(description, tree, home)
    constraints = regular.constraints
    independent = {i for i, j in enumerate(tree.joints) if j.name in description.independent}
    dependent = [i for i in range(len(tree.joints)) if i not in independent]
    repeated = [left_out.name for left_out in regular.redundant if not left_out.independent]
    blocks = _blocks(description, tree, constraints, dependent, repeated)
    home = _refined_home(description, tree, constraints, dependent, home)
    for left_out in regular.redundant:
        if left_out.gap > _EXACT:
            unit = unit_names(tree, constraints, left_out.name)
            warnings.warn(
                f'{description.file}: {left_out.name}: '
                f'{left_out.equations - left_out.independent} of {left_out.equations} equations '
                'follow from others but for rounding: '
                f'{left_out.gap:.2g} {unit} stay open nearby',
                DescriptionWarning,
                stacklevel=2,
            )
    stages = _stages(tree, blocks)
    order = sorted(range(len(tree.joints)), key=lambda i: (stages[i], i))
    new = {old: i for i, old in enumerate(order)}
    moved = {-1: -1, **new}
    return Structure(
        tree.reordered(order),
        tuple(c.moved(moved) for c in constraints),
        tuple(Block(b.constraints, tuple(new[j] for j in b.joints)) for b in blocks),
        tuple(stages[i] for i in order),
        home[order],
        tuple(c.moved(moved) for c in regular.described),
        regular.redundant,
        regular.shared,
        regular.least_norm,
    )


def _independent(
    description: MechanismDescription, tree: SpanningTree, home: FloatArray
) -> Independent:
    """Equations that are independent of one another, closed at home."""
    described = all_constraints(description, tree)
    check_home(description, tree, described, home, ROUNDED_HOME)
    size = extent(tree, described, home)
    independent = without_redundancy(
        Loops(tree, tuple(described), size),
        Loops(tree, tuple(without_sideways(described, tree, home)), size),
        home,
    )
    rounded = {left_out.name for left_out in independent.redundant if left_out.gap > _EXACT}
    exact = [constraint for constraint in independent.constraints if constraint.name not in rounded]
    check_home(description, tree, exact, home, HOME_TOLERANCE)
    unknown = {left_out.name for left_out in independent.redundant} | independent.shared
    for index, contact in enumerate(description.contacts):
        if contact.name in unknown:
            raise DescriptionError(
                description.file, f'contacts[{index}] ({contact.name})',
                'what it says follows from other contacts or closures, so its force is not unique; '
                'leave one of them out',
            )  # fmt: skip
    return independent


def _blocks(
    description: MechanismDescription,
    tree: SpanningTree,
    constraints: tuple[Constraint, ...],
    dependent: list[int],
    repeated: list[str],
) -> tuple[Block, ...]:
    """Block-triangular form of the constraints over the dependent joints.

    ``repeated`` are closures that say nothing new, for the message where equations are missing.
    """
    owner = [c for c, constraint in enumerate(constraints) for _ in constraint.rows]
    incidence = np.zeros((2, len(owner), len(tree.joints)), dtype=bool)
    for row, c in enumerate(owner):
        incidence[0, row, list(constraints[c].moving_joints(tree))] = True
        incidence[1, row, list(constraints[c].supporting_joints(tree))] = True
    # A joint that carries both sides opens no gap, but both must be placed to see theirs.
    incidence, supported = incidence[:, :, dependent]
    match = _perfect_matching(incidence)
    unmatched = [j for k, j in enumerate(dependent) if k not in match.values()]
    if unmatched or len(match) < len(owner):
        loose = ', '.join(tree.joints[j].name for j in unmatched) or 'none'
        spare = sorted({constraints[owner[r]].name for r in range(len(owner)) if r not in match})
        follows = f'; what others say already: {", ".join(repeated)}' if repeated else ''
        raise DescriptionError(
            description.file, 'closures, contacts, independent',
            f'{len(owner)} constraint equations for {len(dependent)} dependent joints; '
            f'joints left undetermined: {loose}; constraints left over: '
            f'{", ".join(spare) or "none"}{follows}',
        )  # fmt: skip
    reach = np.eye(len(owner), dtype=bool)
    for row, c in enumerate(owner):
        for other, d in enumerate(owner):
            reach[row, other] |= supported[row, match[other]] or c == d
    for _ in range(max(len(owner), 1).bit_length()):
        reach = reach.astype(int) @ reach.astype(int) > 0
    order = sorted(range(len(owner)), key=lambda r: (reach[r].sum(), r))
    blocks, seen = [], set()
    for row in order:
        rows = [r for r in order if reach[row, r] and reach[r, row]]
        if row not in seen:
            seen.update(rows)
            names = dict.fromkeys(owner[r] for r in sorted(rows))
            blocks.append(Block(tuple(names), tuple(sorted(dependent[match[r]] for r in rows))))
    return tuple(blocks)


def _perfect_matching(incidence: np.ndarray) -> dict[int, int]:
    """Row to column of a largest matching (augmenting paths)."""
    taken: dict[int, int] = {}

    def augment(row: int, visited: set[int]) -> bool:
        for column in np.flatnonzero(incidence[row]).tolist():
            if column not in visited:
                visited.add(column)
                if column not in taken or augment(taken[column], visited):
                    taken[column] = row
                    return True
        return False

    for row in range(len(incidence)):
        augment(row, set())
    return {row: column for column, row in taken.items()}


def _stages(tree: SpanningTree, blocks: tuple[Block, ...]) -> list[int]:
    """Per joint, how many blocks must be closed before its body can be placed."""
    solved_in = {j: b + 1 for b, block in enumerate(blocks) for j in block.joints}
    return [max(solved_in.get(j, 0) for j in tree.supports(i)) for i in range(len(tree.joints))]


def _refined_home(
    description: MechanismDescription,
    tree: SpanningTree,
    constraints: tuple[Constraint, ...],
    dependent: list[int],
    home: FloatArray,
) -> FloatArray:
    """Home with the rounding of its file removed; refused if it is singular."""
    q = home.copy()
    if not dependent:
        return q
    for _ in range(3):
        poses = tree.poses(q)
        gap = np.concatenate([c.gaps(poses) for c in constraints])
        square = np.vstack([c.rates(poses) for c in constraints])[:, dependent]
        scale = np.linalg.norm(square, axis=0)
        conditioning = np.linalg.cond(square / np.where(scale > 0.0, scale, 1.0))
        if not conditioning < 1e8:
            weakest = np.linalg.svd(square / np.where(scale > 0.0, scale, 1.0))[2][-1]
            name = tree.joints[dependent[int(np.argmax(np.abs(weakest)))]].name
            raise DescriptionError(
                description.file, 'home',
                f'the constraints do not determine joint {name!r} at home '
                f'(condition number {conditioning:.3g})',
            )  # fmt: skip
        q[dependent] -= np.linalg.solve(square, gap)
    return q
