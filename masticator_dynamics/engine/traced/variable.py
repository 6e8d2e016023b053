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


@dataclasses.dataclass(frozen=True, eq=False)
class Variable:
    """Parameters of a mechanism as inputs, then positions of the dependent joints at home."""

    description: MechanismDescription  # of the mechanism before anything is changed
    structure: Structure  # of the mechanism before anything is changed
    # The same with the parameters slightly changed, so that nothing in it is special by chance:
    # what it decides holds for others.
    numeric: Structure
    values: Mapping[str, float]  # of the parameters
    home: FloatArray  # (n_q,), tree positions with these

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters."""
        return tuple(self.values)

    @functools.cached_property
    def dependent(self) -> list[int]:
        """Joints whose positions the loops determine."""
        return [j for block in self.structure.blocks for j in block.joints]

    @property
    def numbers(self) -> FloatArray:
        """The inputs: parameters, then positions at home."""
        return np.array([*self.values.values(), *self.home[self.dependent]])

    @property
    def identity(self) -> list[Any]:
        """What the machine code depends on; its description and structure come first."""
        n = self.numeric
        return [self.description, self.structure, self.names, n.tree, n.constraints, n.home]

    def recorded(self, numbers: Sequence[Any]) -> tuple[MechanismDescription, Structure]:
        """Description and structure with recorded numbers as parameters."""
        count = len(self.values)
        values = dict(zip(self.names, numbers[:count], strict=True))
        home: list[Any] = self.structure.home.tolist()
        for joint, tree in enumerate(self.structure.tree.joints):
            home[joint] = home[joint] - values.get(f'{tree.name}.zero', 0.0)
        for joint, position in zip(self.dependent, numbers[count:], strict=True):
            home[joint] = position
        description = changed(self.description, values, sine_cosine)
        at = np.array(home, dtype=object)
        return description, rebuilt(self.structure, description, values, at, self.numeric)
