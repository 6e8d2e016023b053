# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A closed-loop mechanism with flexible links: assumed modes in a floating frame (S3 Secs. 2-3).

Coordinates are the joints of the tree and, per flexible link, modal coordinates. The independent
joints and the modal coordinates are free (S3 Eqs. 31-33); the other joints follow from the loops,
solved to rounding wherever the equations are evaluated, so that nothing drifts. The null space of
the loops' Jacobian, whose rate of change is included in full, eliminates the loop forces.

Nodes, bodies and constraints as arrays for ``flexible_equations.py``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import scipy.linalg

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.block_form import analyse
from masticator_dynamics.engine.closure_equations import Constraint
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.errors import DescriptionError, ReachError, SingularityError
from masticator_dynamics.flexible.elementary_motions import NodeTree, node_tree, pseudo_inertia
from masticator_dynamics.flexible.flexible_equations import Arrays, Equations, nodes_at
from masticator_dynamics.flexible.links import Beam, beams

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
    terms = [(index[name], factor) for node in tree.nodes for name, factor in node.terms]
    rotors = np.array([description.joint_inertia(name) for name in coordinates])
    free = [
        i
        for i, name in enumerate(coordinates)
        if name in description.independent or name not in structure_joints(structure)
    ]
    arrays: list[np.ndarray] = [
        *(
            np.array([getattr(node, field) for node in tree.nodes])
            for field in ('parent', 'position', 'rotation', 'kind', 'axis')
        ),
        np.cumsum([0, *(len(node.terms) for node in tree.nodes)]),
        *map(np.array, zip(*terms, strict=True)),
        *_bodies(description, beams, tree, index),
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


def _bodies(
    description: MechanismDescription,
    beams: dict[str, Beam],
    tree: NodeTree,
    index: dict[str, int],
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
    direction = np.zeros((len(links), most, 3))
    points = np.full(len(links), 4)
    for b, link in enumerate(links):
        direction[b, :4] = _RIGID_POINTS
        if link not in beams:
            gram[b, :4, :4] = pseudo_inertia(description.tree.links[link])
            continue
        beam = beams[link]
        modal = [index[name] for name in beam.coordinates]
        points[b] = size = 4 + len(modal)
        gram[b, :size, :size] = beam.gram()
        coordinate[b, 4:size] = modal
        direction[b, 4:size] = np.repeat(beam.directions, beam.modes, axis=0)
    nodes = np.array([tree.of_link[link] for link in links])
    return nodes, points, gram, coordinate, direction


def _in_base(description: MechanismDescription, structure: Structure, name: str) -> Constraint:
    """A closure or contact whose directions are constant in the base."""
    parts = [constraint for constraint in structure.constraints if constraint.name == name]
    if len(parts) == 1 and parts[0].in_base:
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


_NULL = 1e-9  # relative; a direction in which a closure never moves
_SINGULAR = 1e8  # condition number of the loops over the dependent joints


@dataclasses.dataclass(frozen=True)
class FlexibleState:
    """Positions and velocities (n,) of all coordinates, loops closed."""

    q: FloatArray
    v: FloatArray


class FlexibleModel:
    """Equations of motion of a mechanism with flexible links.

    Parameters
    ----------
    description : MechanismDescription
        Links under ``flexible`` bend; without any the mechanism is rigid.
    springs : mapping of joint to stiffness, optional
        N m/rad or N/m about the joint's zero.

    Attributes
    ----------
    coordinates : tuple of str
        All n: joints of the tree, then modal coordinates ``<link>_<direction><mode>`` (m).
    free : tuple of str
        The f that loops leave free: independent joints and modal coordinates, in that order.
    beams : dict of Beam
        By link.
    code : Equations
        Its machine code.

    Raises
    ------
    DescriptionError
        When a flexible link or its place in the mechanism cannot be as declared.
    """

    def __init__(
        self, description: MechanismDescription, springs: Mapping[str, float] | None = None
    ):
        self.description = description
        self.beams = beams(description)
        self._structure = analyse(description)
        joints = structure_joints(self._structure)
        modal = [name for beam in self.beams.values() for name in beam.coordinates]
        self.coordinates = (*joints, *modal)
        stiffness = np.zeros(len(self.coordinates))
        for joint, value in (springs or {}).items():
            stiffness[self.index(joint)] = value
        if modal:
            stiffness[len(joints) :] = np.concatenate(
                [beam.modal_stiffness() for beam in self.beams.values()]
            )
        self._nodes = node_tree(description, self.beams)
        self.arrays = pack(
            description, self._structure, self.beams, self._nodes, self.coordinates, stiffness
        )
        self.free = tuple(self.coordinates[i] for i in self.arrays.free)
        self.home = np.concatenate([self._structure.home, np.zeros(len(modal))])
        self.code = Equations(self.arrays, self.home)
        self._refuse_bending_that_opens_loops(len(joints))

    def index(self, coordinate: str) -> int:
        """Index of a coordinate among all."""
        return self.coordinates.index(coordinate)

    def state(
        self, guess: FloatArray, free: npt.ArrayLike, free_rate: npt.ArrayLike | None = None
    ) -> FlexibleState:
        """Close the loops at positions and velocities (f,) of the free coordinates.

        Parameters
        ----------
        guess : array, shape (n,)
            A nearby closed pose, which determines the branch.
        free, free_rate : array_like, shape (f,)
            Positions of the free coordinates, m and rad, and their rates; omitted rates are zero.

        Raises
        ------
        ReachError
            When the loops do not close near the guess.
        SingularityError
            When they do not determine the dependent joints.
        """
        q = np.array(guess, dtype=float)
        q[self.arrays.free] = free
        closed, parts = self.code.closed(q)
        if self.condition_number_loops(parts['q'] if closed else q) > _SINGULAR:
            raise SingularityError('the loops do not determine the dependent joints')
        if not closed:
            raise ReachError('the loops do not close near the pose before')
        rates = np.zeros(len(self.free)) if free_rate is None else np.asarray(free_rate)
        return FlexibleState(parts['q'], parts['null'] @ rates)

    def condition_number_loops(self, q: FloatArray) -> float:
        """Condition number of the loops' Jacobian over the dependent joints."""
        if not len(self.arrays.dependent):
            return 1.0
        return float(np.linalg.cond(self.code.pose(q)['jacobian'][:, self.arrays.dependent]))

    def closure_residual(self, q: FloatArray) -> FloatArray:
        """Largest gap of the loops (...), m, at positions (..., n)."""
        return np.asarray(np.abs(self.code.pose(q)['gap']).max(axis=-1, initial=0.0))

    def null_space(self, q: FloatArray) -> FloatArray:
        """Rates of all coordinates per rate of the free ones (n, f), at a closed pose."""
        return self.code.closed(q)[1]['null']

    def equations(self, state: FlexibleState, effort: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mass matrix (f, f) and force (f,): ``mass @ acceleration = force`` of the free ones.

        ``effort`` (n,) acts on all coordinates.
        """
        free = self.arrays.free
        closed, mass, force, _ = self.code.equations(state.q, state.q[free], state.v[free], effort)
        if not closed:
            raise ReachError('the loops do not close at this state')
        return mass, force

    def free_stiffness(self, null: FloatArray) -> FloatArray:
        """Stiffness (f, f) of the elastic members in the free coordinates, by the null space."""
        return np.asarray(null.T @ (self.arrays.stiffness[:, None] * null))

    def energies(self, state: FlexibleState) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Kinetic (rotors included), elastic and potential energy (0 at the base's origin), J.

        Of a state, or of states (..., n), each (...).
        """
        q, arrays, pose = state.q, self.arrays, self.code.pose(state.q, state.v)
        potential = np.zeros(q.shape[:-1])
        for b, node in enumerate(arrays.body_node):
            for x, weight in enumerate(arrays.gram[b, 0, : arrays.points[b]]):
                coordinate = arrays.point_coordinate[b, x]
                amount = 1.0 if coordinate < 0 else q[..., coordinate, None]
                part = pose['rotation'][..., node, :, :] @ arrays.point_direction[b, x] * amount
                part = pose['origin'][..., node, :] if x == 0 else part
                potential -= weight * (part @ arrays.gravity)
        return pose['kinetic'], 0.5 * (q * q) @ arrays.stiffness, potential

    def frame_pose(self, q: FloatArray, link: str) -> tuple[FloatArray, FloatArray]:
        """Origin (..., 3), m, and rotation (..., 3, 3) of a URDF link's frame in the base.

        The frame moves with the material at its origin, even if shapes have a slope there.
        """
        node, pose = self._nodes.material[link], self.code.pose(q)
        return pose['origin'][..., node, :], pose['rotation'][..., node, :, :]

    def angular_velocity(self, state: FlexibleState, link: str) -> FloatArray:
        """Angular velocity (..., 3) of a link's frame, rad/s, base axes."""
        rates = self.code.pose(state.q, state.v)['rate']
        return rates[..., self._nodes.material[link], :]

    def frequencies(self, q: FloatArray, held: tuple[str, ...] = ()) -> FloatArray:
        """Natural frequencies of small vibrations about a pose at rest, Hz, ascending.

        Parameters
        ----------
        q : array, shape (n,)
            Closed pose; its stiffness is that of the elastic members alone.
        held : tuple of str
            Coordinates that are locked, joints or free ones; otherwise all motors are free.
        """
        still = np.zeros(len(self.coordinates))
        state = self.state(q, q[self.arrays.free])
        mass, _ = self.equations(FlexibleState(state.q, still), still)
        null = self.null_space(state.q)
        stiffness = self.free_stiffness(null)
        if held:
            basis = scipy.linalg.null_space(null[[self.index(name) for name in held]])
            mass, stiffness = (basis.T @ matrix @ basis for matrix in (mass, stiffness))
        squares = scipy.linalg.eigh(stiffness, mass, eigvals_only=True)
        return np.sqrt(np.maximum(squares, 0.0)) / (2.0 * np.pi)

    def _refuse_bending_that_opens_loops(self, joints: int) -> None:
        """Refuse bending out of the plane of a planar loop, which no joint can follow."""
        rng = np.random.default_rng(0)
        for constraint in self._structure.constraints:
            closure = {c.name: c for c in self.description.closures}.get(constraint.name)
            if closure is None or len(constraint.rows) == 3:
                continue
            sideways = scipy.linalg.null_space(constraint.rows).T
            a, b = (self._nodes.of_link[frame] for frame in closure.frames)
            for _ in range(4):
                pose = self.home + rng.uniform(-0.3, 0.3, len(self.home))
                nodes = nodes_at(self.arrays, pose.tolist())
                for node in (a, b):
                    for coordinate, linear in nodes[node].linear.items():
                        if coordinate >= joints and np.abs(sideways @ linear).max() > _NULL:
                            raise DescriptionError(
                                self.description.file,
                                f'flexible: {self.coordinates[coordinate]}',
                                f'bends out of the plane of closure {closure.name!r}, where no '
                                'joint can follow',
                            )
