# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which constraint determines which joint, found once per mechanism.

The constraint equations are brought to block-triangular form (a perfect matching of equations
and dependent joints, then strongly connected components): every block is a small square system
for its own joints, given the blocks before it. A platform on limbs falls apart into its limbs.
"""

import dataclasses

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.tree import SpanningTree, TreePoses, spanning_tree
from masticator_dynamics.errors import DescriptionError

HOME_TOLERANCE = 1e-6  # m; a larger gap at home means wrong data, a smaller one is rounding
_NULL = 1e-9  # relative; a direction in which a closure never moves


@dataclasses.dataclass(frozen=True)
class Constraint:
    """``rows @ (point_b - point_a) + offset = 0`` with points fixed to bodies of the tree."""

    name: str
    body_a: int
    body_b: int
    point_a: FloatArray
    point_b: FloatArray
    rows: FloatArray  # (size, 3), base axes
    offset: FloatArray  # (size,), m


@dataclasses.dataclass(frozen=True)
class Block:
    """Constraints (by index) that determine as many dependent joints (by index)."""

    constraints: tuple[int, ...]
    joints: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Structure:
    """A mechanism ready to be packed: tree in block order, constraints, blocks, home."""

    tree: SpanningTree
    constraints: tuple[Constraint, ...]
    blocks: tuple[Block, ...]
    stages: tuple[int, ...]  # per joint: number of blocks to close before its body is placed
    home: FloatArray

    def index(self, joint: str) -> int:
        """Tree index of a joint."""
        return [j.name for j in self.tree.joints].index(joint)

    def rows(self, name: str) -> range:
        """Rows of a constraint among the multipliers, which stand in block order."""
        start = 0
        for block in self.blocks:
            for c in block.constraints:
                size = len(self.constraints[c].rows)
                if self.constraints[c].name == name:
                    return range(start, start + size)
                start += size
        raise KeyError(name)

    def constraint(self, name: str) -> Constraint:
        """A constraint by name."""
        return next(c for c in self.constraints if c.name == name)

    def jacobian(self, q: FloatArray) -> FloatArray:
        """Rates of all constraints (rows, n) per joint velocity, in block order."""
        ordered = [self.constraints[c] for block in self.blocks for c in block.constraints]
        poses = self.tree.poses(q)
        return np.vstack([jacobian(poses, c) for c in ordered])

    def home_tangent(self, independent: list[int]) -> FloatArray:
        """Joint velocities (n, k) at home per velocity of each independent joint."""
        dependent = [j for block in self.blocks for j in block.joints]
        tangent = np.zeros((len(self.home), len(independent)))
        tangent[independent] = np.eye(len(independent))
        if dependent:
            rates = self.jacobian(self.home)
            tangent[dependent] = -np.linalg.solve(rates[:, dependent], rates[:, independent])
        return tangent

    def extent(self) -> float:
        """Size of the mechanism at home, m: the yardstick for steps of sliding joints."""
        poses = self.tree.poses(self.home)
        points = [*poses.origins]
        for constraint in self.constraints:
            points += _points(poses, constraint)
        return float(np.ptp(points, axis=0).max()) or 1.0


def analyse(description: MechanismDescription) -> Structure:
    """Find blocks and their order, check that home closes, and refine it to rounding.

    Raises
    ------
    DescriptionError
        When equations and dependent joints do not match, a loop is open at home or home is
        singular; the message names closure or joint and the amount.
    """
    tree = spanning_tree(description.tree)
    home = np.array([description.home.get(joint.name, 0.0) for joint in tree.joints])
    constraints = tuple(_constraints(description, tree, home))
    independent = {i for i, j in enumerate(tree.joints) if j.name in description.independent}
    dependent = [i for i in range(len(tree.joints)) if i not in independent]
    blocks = _blocks(description, tree, constraints, dependent, home)
    home = _refined_home(description, tree, constraints, dependent, home)
    stages = _stages(tree, blocks)
    order = sorted(range(len(tree.joints)), key=lambda i: (stages[i], i))
    new = {old: i for i, old in enumerate(order)}
    moved = {-1: -1, **new}
    return Structure(
        tree.reordered(order),
        tuple(
            dataclasses.replace(c, body_a=moved[c.body_a], body_b=moved[c.body_b])
            for c in constraints
        ),
        tuple(Block(b.constraints, tuple(new[j] for j in b.joints)) for b in blocks),
        tuple(stages[i] for i in order),
        home[order],
    )


def moving_joints(tree: SpanningTree, constraint: Constraint) -> dict[int, float]:
    """Joints that move one side of a constraint only: +1 its point b, -1 its point a."""
    side_a, side_b = tree.supports(constraint.body_a), tree.supports(constraint.body_b)
    return {j: 1.0 for j in side_b - side_a} | {j: -1.0 for j in side_a - side_b}


def jacobian(poses: TreePoses, constraint: Constraint) -> FloatArray:
    """Rate (size, n) of a constraint's residual per joint velocity."""
    a, b = _points(poses, constraint)
    rates = poses.point_jacobian(constraint.body_b, b) - poses.point_jacobian(constraint.body_a, a)
    return constraint.rows @ rates


def residual(poses: TreePoses, constraint: Constraint) -> FloatArray:
    """Gap (size,) of a constraint, m."""
    a, b = _points(poses, constraint)
    return constraint.rows @ (b - a) + constraint.offset


def _points(poses: TreePoses, constraint: Constraint) -> tuple[FloatArray, FloatArray]:
    return (
        poses.point(constraint.body_a, constraint.point_a),
        poses.point(constraint.body_b, constraint.point_b),
    )


def _constraints(description: MechanismDescription, tree: SpanningTree, home: FloatArray):
    """Closures, reduced to the directions in which they can open, then contacts."""
    rng = np.random.default_rng(0)
    nearby = [tree.poses(home + rng.uniform(-0.3, 0.3, len(home))) for _ in range(4)]
    at_home = tree.poses(home)
    for index, closure in enumerate(description.closures):
        a, b = (tree.frames[name] for name in closure.frames)
        full = Constraint(
            closure.name, a.body, b.body, a.position, b.position, np.eye(3), np.zeros(3)
        )
        gap = float(np.abs(residual(at_home, full)).max())
        if gap > HOME_TOLERANCE:
            raise DescriptionError(
                description.file, f'closures[{index}] ({closure.name})',
                f'the loop does not close at home: gap {gap * 1e3:.6g} mm between '
                f'{closure.frames[0]!r} and {closure.frames[1]!r}',
            )  # fmt: skip
        rates = np.hstack([jacobian(poses, full) for poses in nearby])
        directions, strengths, _ = np.linalg.svd(rates)
        rows = directions[:, strengths > _NULL * max(strengths[0], 1e-300)].T
        if len(rows) < 3:
            full = dataclasses.replace(full, rows=rows, offset=np.zeros(len(rows)))
        yield full
    for index, contact in enumerate(description.contacts):
        frame = tree.frames[contact.frame]
        touch = Constraint(
            contact.name, -1, frame.body, np.zeros(3), frame.position,
            np.array([contact.normal]), np.array([contact.offset]),
        )  # fmt: skip
        gap = abs(float(residual(at_home, touch)[0])) / float(np.linalg.norm(contact.normal))
        if gap > HOME_TOLERANCE:
            raise DescriptionError(
                description.file, f'contacts[{index}] ({contact.name})',
                f'{contact.frame!r} is {gap * 1e3:.6g} mm off its plane at home',
            )  # fmt: skip
        yield touch


def _blocks(
    description: MechanismDescription,
    tree: SpanningTree,
    constraints: tuple[Constraint, ...],
    dependent: list[int],
    home: FloatArray,
) -> tuple[Block, ...]:
    """Block-triangular form of the constraints over the dependent joints."""
    owner = [c for c, constraint in enumerate(constraints) for _ in constraint.rows]
    incidence = np.zeros((len(owner), len(tree.joints)), dtype=bool)
    for row, c in enumerate(owner):
        incidence[row, list(moving_joints(tree, constraints[c]))] = True
    incidence = incidence[:, dependent]
    match = _perfect_matching(incidence)
    unmatched = [j for k, j in enumerate(dependent) if k not in match.values()]
    if unmatched or len(match) < len(owner):
        loose = ', '.join(tree.joints[j].name for j in unmatched) or 'none'
        spare = sorted({constraints[owner[r]].name for r in range(len(owner)) if r not in match})
        raise DescriptionError(
            description.file, 'closures, contacts, independent',
            f'{len(owner)} constraint equations for {len(dependent)} dependent joints; '
            f'joints left undetermined: {loose}; constraints left over: '
            f'{", ".join(spare) or "none"}',
        )  # fmt: skip
    reach = np.eye(len(owner), dtype=bool)
    for row, c in enumerate(owner):
        for other, d in enumerate(owner):
            reach[row, other] |= incidence[row, match[other]] or c == d
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
    """Home with the rounding of its file removed; refused where it is singular."""
    q = home.copy()
    if not dependent:
        return q
    for _ in range(3):
        poses = tree.poses(q)
        gap = np.concatenate([residual(poses, c) for c in constraints])
        square = np.vstack([jacobian(poses, c) for c in constraints])[:, dependent]
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
