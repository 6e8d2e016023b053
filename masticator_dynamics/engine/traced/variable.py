# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers of a mechanism that machine code takes as inputs, so that others need no compiling."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.parameters import changed
from masticator_dynamics.engine.rebuilt import rebuilt
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.engine.traced.functions import sine_cosine
from masticator_dynamics.engine.traced.identity import Identity


@dataclasses.dataclass(frozen=True, eq=False)
class Variation:
    """A mechanism, before anything is changed, of which some parameters are inputs of code."""

    description: MechanismDescription
    structure: Structure
    # The same with the parameters slightly changed, so that nothing in it is special by chance:
    # what it decides holds for others.
    numeric: Structure
    names: tuple[str, ...]  # of the parameters

    @functools.cached_property
    def dependent(self) -> list[int]:
        """Joints whose positions the loops determine."""
        return [j for block in self.structure.blocks for j in block.joints]

    @functools.cached_property
    def identity(self) -> Identity:
        """What the machine code depends on."""
        n = self.numeric
        return Identity(self.description, self.structure, self.names, n.tree, n.constraints, n.home)

    def recorded(self, numbers: Sequence[Any]) -> tuple[MechanismDescription, Structure]:
        """Description and structure with recorded numbers, as in :attr:`Variable.numbers`."""
        count = len(self.names)
        values = dict(zip(self.names, numbers[:count], strict=True))
        home: list[Any] = self.structure.home.tolist()
        for joint, tree in enumerate(self.structure.tree.joints):
            home[joint] = home[joint] - values.get(f'{tree.name}.zero', 0.0)
        for joint, position in zip(self.dependent, numbers[count:], strict=True):
            home[joint] = position
        description = changed(self.description, values, sine_cosine)
        at = np.array(home, dtype=object)
        return description, rebuilt(self.structure, description, values, at, self.numeric)


@dataclasses.dataclass(frozen=True, eq=False)
class Variable:
    """Parameters of a mechanism as inputs, then positions of the dependent joints at home."""

    of: Variation
    values: Mapping[str, float]  # of the parameters
    home: FloatArray  # (n_q,), tree positions with these

    @property
    def numbers(self) -> FloatArray:
        """The inputs: parameters, then positions at home."""
        return np.array([*self.values.values(), *self.home[self.of.dependent]])

    @functools.cached_property
    def present(self) -> tuple[MechanismDescription, Structure]:
        """Description and structure with these numbers; inertia is the structure's alone."""
        of, values = self.of, self.values
        description = changed(of.description, values, sine_cosine)
        return description, rebuilt(of.structure, description, values, self.home)
