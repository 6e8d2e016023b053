# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code of the equations of motion at given tree positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from masticator_dynamics.engine.arrays import consecutive
from masticator_dynamics.traced.equations_of_motion import EquationsOfMotion
from masticator_dynamics.traced.kernels import MOST_OPERATIONS, Kernels
from masticator_dynamics.traced.row_code import RowCode
from masticator_dynamics.traced.vectors import Vector


def parts(freedoms: int) -> dict[str, slice]:
    """Slice of each output of :func:`equations_code`, after its first four numbers."""
    return consecutive(
        {'mass': freedoms * freedoms, 'bias': freedoms, 'gravity': freedoms, 'energy': 2}
    )


def equations_code(kernels: Kernels) -> RowCode:
    """From y_dot and the tree positions of a closed mechanism: its equations of motion.

    Outputs are whether they are valid, status, block and amount of a failure, then :func:`parts`.
    """

    def found(run: EquationsOfMotion, y_dot: Vector) -> list[Any]:
        mass = [x for row in run.mass for x in row]
        return [*mass, *run.bias(), *run.gravity(), *run.energy(y_dot)]

    return _code('equations of motion', kernels, parts(kernels.freedoms)['energy'].stop, found)


def tree_accelerations_code(kernels: Kernels) -> RowCode:
    """The same, with the accelerations of all joints where the independent ones have none."""
    return _code('tree accelerations', kernels, kernels.tree, lambda run, _: run.accelerations())


def _code(
    kind: str,
    kernels: Kernels,
    outputs: int,
    found: Callable[[EquationsOfMotion, Vector], list[Any]],
) -> RowCode:
    freedoms, inputs = kernels.freedoms, kernels.freedoms + kernels.tree

    def function(given: Vector, share: bool) -> list[Any]:
        description, structure = kernels.recorded(given[inputs:])
        y_dot, q = given[:freedoms], given[freedoms:inputs]
        y = [q[structure.index(name)] for name in description.independent]
        motion, wrench = (y, y_dot, [0.0] * freedoms), [0.0] * 6
        run = EquationsOfMotion(description, structure, given, motion, wrench, (), False, q)
        numbers = found(run, y_dot)
        return [run.valid(), 0.0, -1.0, 0.0, *numbers]

    return RowCode(
        kind, inputs, 4 + outputs, function, lambda: kernels.identity[:-1],
        largest=MOST_OPERATIONS, constants=kernels.constants,
        impossible='' if freedoms else 'it has no freedoms',
    )  # fmt: skip
