# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A joint whose position follows from those of others: gears, belts, mimics, tendons."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np


@dataclasses.dataclass(frozen=True)
class JointCoupling:
    """A joint's position: an offset and polynomials of others' positions, rad or m.

    ``of`` has the coefficients of each other joint, from the first power up.
    """

    name: str
    joint: str
    of: Mapping[str, tuple[float, ...]]
    offset: float = 0.0

    @classmethod
    def mimic(cls, joint: str, leader: str, ratio: float, offset: float) -> JointCoupling:
        """A joint that follows another: ``ratio`` times its position plus ``offset``."""
        of = {leader: (ratio,)} if ratio else {}
        return cls(f'{joint}_mimic', joint, of, offset)

    @classmethod
    def tied(
        cls, name: str, first: Mapping[str, float], second: Mapping[str, float],
        powers: Sequence[float],
    ) -> JointCoupling | None:  # fmt: skip
        """The coupling that makes a weighted sum of joints a polynomial of another such sum.

        Parameters
        ----------
        name : str
            The coupling's.
        first, second : mapping
            Weights of joints.
        powers : sequence of float
            Coefficients of the polynomial, from the constant up.

        Returns
        -------
        coupling : JointCoupling or None
            None where no joint is a sum of polynomials of single others.
        """
        offset, *rest = powers
        if len(second) > 1 and any(rest[1:]):
            return None
        weights = {j: first.get(j, 0.0) - rest[0] * second.get(j, 0.0) for j in {**first, **second}}
        bent = [joint for joint in second if any(rest[1:])]
        straight = [joint for joint, weight in weights.items() if weight and joint not in bent]
        if not straight:
            return None
        joint = max(straight, key=lambda j: (j in first and j not in second, abs(weights[j])))
        of = {}
        for other, weight in weights.items():
            higher = rest[1:] if other in bent else []
            powers = [c * second[other] ** n for n, c in enumerate(higher, 2)]
            line = np.trim_zeros(np.array([-weight, *powers]) / weights[joint], 'b')
            if other != joint and line.size:
                of[other] = tuple(line.tolist())
        return cls(name, joint, of, offset / weights[joint])

    def linear(self) -> dict[str, float]:
        """Weights of the joints it couples, whose sum is the offset; none if it is no line."""
        if any(len(line) > 1 for line in self.of.values()):
            return {}
        return {self.joint: 1.0, **{other: -line[0] for other, line in self.of.items()}}

    def holding(self, name: str, position: float) -> JointCoupling | None:
        """The coupling of the other joints where one is held; None if that is no coupling."""
        if name in self.of:
            lines = {joint: line for joint, line in self.of.items() if joint != name}
            held = sum(c * position**n for n, c in enumerate(self.of[name], 1))
            return dataclasses.replace(self, of=lines, offset=self.offset + held)
        others = {joint: weight for joint, weight in self.linear().items() if joint != name}
        return self.tied(self.name, others, {}, (self.offset - position, 0.0))
