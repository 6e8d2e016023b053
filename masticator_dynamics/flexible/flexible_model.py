# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A closed-loop mechanism with flexible links: assumed modes in a floating frame (S3 Secs. 2-3).

Coordinates are the joints of the tree and, per flexible link, modal coordinates. The independent
joints and the modal coordinates are free (S3 Eqs. 31-33); the other joints follow from the loops,
solved to rounding wherever the equations are evaluated, so that nothing drifts. The null space of
the loops' Jacobian, whose rate of change is included in full, eliminates the loop forces.

Nodes, bodies and constraints as arrays for the kernels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import scipy.linalg

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.analysis import analyse
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.constraint import Constraint
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.errors import DescriptionError, ReachError, SingularityError
from masticator_dynamics.flexible import flexible_kernels as kernels
from masticator_dynamics.flexible.elementary_motions import NodeTree, node_tree, pseudo_inertia
from masticator_dynamics.flexible.flexible_kernels import Arrays
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
        *(
            np.array([getattr(node, field) for node in tree.nodes])
            for field in ('parent', 'position', 'rotation', 'kind', 'axis')
        ),
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
        try:
            status, _, jacobian = kernels.close(self.arrays, q)
            if status != kernels.SOLVED:
                raise ReachError('the loops do not close near the pose before')
            if self.condition_number_loops(q) > _SINGULAR:
                raise np.linalg.LinAlgError
            null, _ = kernels.tangent(self.arrays, jacobian)
        except np.linalg.LinAlgError:
            raise SingularityError('the loops do not determine the dependent joints') from None
        rates = np.zeros(len(self.free)) if free_rate is None else np.asarray(free_rate)
        return FlexibleState(q, null @ rates)

    def condition_number_loops(self, q: FloatArray) -> float:
        """Condition number of the loops' Jacobian over the dependent joints."""
        if not len(self.arrays.dependent):
            return 1.0
        _, jacobian = kernels.constraints(self.arrays, kernels.poses(self.arrays, q), len(q))
        return float(np.linalg.cond(jacobian[:, self.arrays.dependent]))

    def closure_residual(self, q: FloatArray) -> float:
        """Largest gap of the loops, m."""
        gap, _ = kernels.constraints(self.arrays, kernels.poses(self.arrays, q), len(q))
        return float(np.abs(gap).max(initial=0.0))

    def null_space(self, q: FloatArray) -> FloatArray:
        """Rates of all coordinates per rate of the free ones (n, f), at a closed pose."""
        _, jacobian = kernels.constraints(self.arrays, kernels.poses(self.arrays, q), len(q))
        null, _ = kernels.tangent(self.arrays, jacobian)
        return np.asarray(null)

    def equations(self, state: FlexibleState, effort: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mass matrix (f, f) and force (f,): ``mass @ acceleration = force`` of the free ones.

        ``effort`` (n,) acts on all coordinates.
        """
        free = self.arrays.free
        status, mass, force, _, _ = kernels.equations(
            self.arrays, state.q, state.q[free], state.v[free], effort
        )
        if status != kernels.SOLVED:
            raise ReachError('the loops do not close at this state')
        return mass, force

    def free_stiffness(self, null: FloatArray) -> FloatArray:
        """Stiffness (f, f) of the elastic members in the free coordinates, by the null space."""
        return np.asarray(null.T @ (self.arrays.stiffness[:, None] * null))

    def energies(self, state: FlexibleState) -> tuple[float, float, float]:
        """Kinetic (rotors included), elastic and potential energy (0 at the base's origin), J."""
        q, v, arrays = state.q, state.v, self.arrays
        pose = kernels.poses(arrays, q)
        mass, _ = kernels.dynamics(arrays, pose, kernels.bias(arrays, pose, v), q, v)
        potential = 0.0
        for b, node in enumerate(arrays.body_node):
            parts = np.zeros((arrays.points[b], 3))
            for x in range(len(parts)):
                coordinate = arrays.point_coordinate[b, x]
                amount = 1.0 if coordinate < 0 else q[coordinate]
                parts[x] = pose[1][node] @ arrays.point_direction[b, x] * amount
            parts[0] = pose[0][node]
            potential -= float(arrays.gram[b, 0, : len(parts)] @ parts @ arrays.gravity)
        elastic = 0.5 * float(q @ (arrays.stiffness * q))
        return 0.5 * float(v @ mass @ v), elastic, float(potential)

    def frame_pose(self, q: FloatArray, link: str) -> tuple[FloatArray, FloatArray]:
        """Origin (3,), m, and rotation (3, 3) of a URDF link's frame in the base.

        The frame moves with the material at its origin, even if shapes have a slope there.
        """
        origin, rotation, _, _ = kernels.poses(self.arrays, q)
        node = self._nodes.material[link]
        return origin[node], rotation[node]

    def angular_velocity(self, state: FlexibleState, link: str) -> FloatArray:
        """Angular velocity (3,) of a link's frame, rad/s, base axes."""
        pose = kernels.poses(self.arrays, state.q)
        rate, _, _ = kernels.bias(self.arrays, pose, state.v)
        return np.asarray(rate[self._nodes.material[link]])

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
                pose = kernels.poses(
                    self.arrays, self.home + rng.uniform(-0.3, 0.3, len(self.home))
                )
                for node in (a, b):
                    size = self.arrays.support_size[node]
                    rates = np.abs(pose[2][node, :size] @ sideways.T).max(axis=1)
                    for c in np.flatnonzero(rates > _NULL):
                        coordinate = int(self.arrays.support[node, c])
                        if coordinate >= joints:
                            raise DescriptionError(
                                self.description.file,
                                f'flexible: {self.coordinates[coordinate]}',
                                f'bends out of the plane of closure {closure.name!r}, where no '
                                'joint can follow',
                            )
