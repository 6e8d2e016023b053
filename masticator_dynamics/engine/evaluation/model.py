# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism before anything is computed: structure, names and indices."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.description.urdf import Joint
from masticator_dynamics.description.urdf_text import with_tree
from masticator_dynamics.engine.arrays import FloatArray, IntArray, as_names, as_slice, consecutive
from masticator_dynamics.engine.block_form import analyse
from masticator_dynamics.engine.evaluation.shown import of_mechanism
from masticator_dynamics.engine.parameters import with_inertia
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.errors import ActuationError

if TYPE_CHECKING:
    from masticator_dynamics.engine.traced.kernels import Kernels
    from masticator_dynamics.engine.traced.variable import Variable

_Key = TypeVar('_Key')
_Made = TypeVar('_Made')


class OnDemand(dict[_Key, _Made]):
    """What a function makes of keys, each made on first use and kept."""

    def __init__(self, make: Callable[[_Key], _Made]):
        super().__init__()
        self._make = make

    def __missing__(self, key: _Key) -> _Made:
        """Make it."""
        self[key] = self._make(key)
        return self[key]


@dataclasses.dataclass(frozen=True)
class JointLimits:
    """Ranges of the tree joints (n_q,): rad or m, their rates, N m or N; infinite where none."""

    lower: FloatArray
    upper: FloatArray
    velocity: FloatArray
    effort: FloatArray

    @classmethod
    def of(cls, joints: Sequence[Joint]) -> JointLimits:
        """From the URDF's ``<limit>`` elements."""
        columns = ('lower', 'upper', 'velocity', 'effort')
        return cls(*(np.array([getattr(j, c) for j in joints], dtype=float) for c in columns))


@dataclasses.dataclass(frozen=True, eq=False)
class VariableModel:
    """What a mechanism has of which some numbers are inputs of its code."""

    of: Model  # the mechanism with the numbers that its files say
    code_of: Variable  # what its machine code is made of

    @functools.cached_property
    def description(self) -> MechanismDescription:
        """With the present numbers."""
        of, code_of = self.code_of.of, self.code_of
        changed = with_inertia(code_of.present[0], of.structure, code_of.values)
        home = dict(zip(self.of.tree_joints, code_of.home.tolist(), strict=True))
        text = with_tree(of.description.urdf_xml, of.description.tree, changed.tree)
        return dataclasses.replace(changed, home=home, urdf_xml=text)


# What no number changes.
_SAME = (
    'name', 'independent', 'actuated', 'tree_joints', 'actuated_rows', 'actuated_part',
    'independent_rows', 'closures', 'contacts', 'frames', 'contact_rows', 'limits',
    'transmission_ratios', 'slices',
)  # fmt: skip


class Model:
    """A description, analysed; `Mechanism` is one that can be evaluated, and documents both.

    With ``variable``, the description is the one before anything was changed.
    """

    def __init__(
        self,
        description: MechanismDescription,
        actuators: Sequence[str] | None = None,
        variable: VariableModel | None = None,
    ):
        self.variable = variable
        self.kernels: Kernels  # its machine code
        self._made: dict[object, Any] = {}
        driving = description.actuated if actuators is None else actuators
        self.driving = as_names(driving, 'actuators')
        for name in self.driving:
            if name not in description.actuated:
                motors = ', '.join(description.actuated)
                raise ActuationError(f'no actuator {name!r}; there are: {motors}')
        if variable:  # the rest only when it is asked for
            self.__dict__ |= {key: getattr(variable.of, key) for key in _SAME}
            return
        self.description, self.structure = description, analyse(description)
        self.name = description.name
        self.independent = description.independent
        self.actuated = description.actuated
        self.tree_joints = tuple(joint.name for joint in self.structure.tree.joints)
        self.actuated_rows = np.array(self.tree_indices(self.actuated))
        self.actuated_part = as_slice(self.actuated_rows)
        self.independent_rows = self.tree_indices(self.independent)
        self.closures = tuple(closure.name for closure in description.closures)
        self.contacts = tuple(contact.name for contact in description.contacts)
        self.frames = tuple(self.structure.tree.frames)
        rows = [row for name in self.contacts for row in self.structure.rows(name)]
        self.contact_rows: IntArray = np.array(rows, dtype=np.int64)  # among the multipliers
        self.limits = JointLimits.of(self.structure.tree.joints)
        ratios = [description.actuators[name].ratio for name in description.actuated]
        self.transmission_ratios: FloatArray = np.array(ratios)  # of each motor to its joint

    def __repr__(self) -> str:
        """Name, freedoms, motors and what closes it."""
        return of_mechanism(self).text()

    def __reduce__(self) -> tuple[type[Model], tuple[object, ...]]:
        """For pickle: other processes load or make its code themselves."""
        description = self.variable.of.description if self.variable else self.description
        return type(self), (description, self.driving, self.variable)

    @functools.cached_property
    def description(self) -> MechanismDescription:
        """Contents of the description files, with the present numbers."""
        assert self.variable
        return self.variable.description

    @functools.cached_property
    def structure(self) -> Structure:
        """What is found in it."""
        assert self.variable
        return self.variable.code_of.present[1]

    @property
    def home_positions(self) -> FloatArray:
        """Tree positions (n_q,) at home, rad or m."""
        return self.variable.code_of.home if self.variable else self.structure.home

    @functools.cached_property
    def slices(self) -> dict[str, slice]:
        """Slice of each quantity in a row of the engine's output.

        ``report`` is status, block, amount, closure residual (m) and balance residual (N, N m).
        """
        n, k, u = len(self.tree_joints), len(self.independent), len(self.actuated)
        rows = sum(c.size for c in self.structure.constraints)
        return consecutive(
            {
                'report': 5, 'q': n, 'v': n, 'a': n, 'effort': u, 'multipliers': rows,
                'tangent': n * k,
            }
        )  # fmt: skip

    def made(self, make: Callable[[Any], _Made]) -> _Made:
        """Result of a class or function for this model, made on first use and kept."""
        if make not in self._made:
            self._made[make] = make(self)
        product: _Made = self._made[make]
        return product

    def tree_indices(self, joints: Sequence[str]) -> list[int]:
        """Indices of joints in tree vectors."""
        return [self.tree_joints.index(name) for name in joints]

    @property
    def effort_units(self) -> tuple[str, ...]:
        """Unit of each actuator's effort: the motor's where there is a transmission."""
        joints = self.structure.tree.joints
        slides = [joints[j].unit == 'm' for j in self.tree_indices(self.actuated)]
        geared = [self.description.actuators[n].transmission is not None for n in self.actuated]
        return tuple('N' if s and not g else 'N m' for s, g in zip(slides, geared, strict=True))

    @property
    def effort_limits(self) -> FloatArray:
        """Largest effort (n_u,) of each actuator, from the URDF; infinite where it has none."""
        bound = self.limits.effort[self.tree_indices(self.actuated)]
        return np.asarray(bound / np.abs(self.transmission_ratios))

    @property
    def effort_range(self) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest effort (n_u,) of each actuator: ``limits.effort`` and the URDF."""
        most = self.effort_limits
        limits = [self.description.actuators[name].limits.effort for name in self.actuated]
        low = np.array([-np.inf if low is None else low for low, _ in limits])
        high = np.array([np.inf if high is None else high for _, high in limits])
        return np.maximum(low, -most), np.minimum(high, most)

    def block_names(self, block: int) -> tuple[str, ...]:
        """Closures and contacts of one of the engine's blocks; the first has none."""
        constraints = self.structure.blocks[block - 1].constraints
        return tuple(dict.fromkeys(self.structure.constraints[c].name for c in constraints))

    def home_rank(self) -> int:
        """Number of degrees of freedom that the powered actuators control at home."""
        jacobian = self.structure.home_tangent(self.independent_rows)[self.actuated_rows]
        return self.rank(jacobian, jacobian)

    def rank(self, jacobian: FloatArray, at_home: FloatArray) -> int:
        """Rank of the powered actuators, from Jacobians (n_u, n_y) here and at home.

        Columns are scaled by their norms at home.
        """
        driving = [name in self.driving for name in self.actuated]
        usual = np.linalg.norm(at_home, axis=0)
        scale = np.where(usual > 0.0, usual, 1.0)
        return int(np.linalg.matrix_rank(jacobian[driving] / scale, tol=1e-6))
