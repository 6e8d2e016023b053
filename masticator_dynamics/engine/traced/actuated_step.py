# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From actuated positions to independent ones: a step of Gauss-Newton, and the loop of such steps.

What a controller needs as C (``c_controller.py``), and `Mechanism.forward_kinematics`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.closed_motion import LARGEST_SQUARE
from masticator_dynamics.engine.traced.control_flow import graph_of, repeat
from masticator_dynamics.engine.traced.equations_of_motion import TracedEquationsOfMotion
from masticator_dynamics.engine.traced.numbers import lesser, reciprocal, select
from masticator_dynamics.engine.traced.row_code import RowCode
from masticator_dynamics.engine.traced.small_functions import conditioning_of, fitted, travels
from masticator_dynamics.engine.traced.vectors import Vector

if TYPE_CHECKING:
    from masticator_dynamics.engine.traced.kernels import Kernels

LARGEST_CHANGE = 0.3  # of an actuated joint in one step, rad; part of its travel when sliding
CONVERGED = 1e-12  # likewise, of the last step
MOST_STEPS = 50
MOST_OPERATIONS = 60_000


def fitted_step(run: TracedEquationsOfMotion, errors: Vector) -> tuple[Any, Vector]:
    """How far a step moves the actuators, -1 where it is undetermined, and the step (n_y,).

    Parameters
    ----------
    errors : sequence of number
        What the actuated joints (n_u,) lack.
    """
    scale, usual = _units(run)
    change, *step = fitted(run.of_actuated(run.tangent()), errors, scale, usual)
    return change, step


def conditioning(run: TracedEquationsOfMotion) -> Any:
    """How well the motors determine the pose: 1 as at home, 0 at a singularity.

    The least, of all coordinates, of the part of its column of the actuated Jacobian that is not
    along those before it.
    """
    return conditioning_of(run.of_actuated(run.tangent()), *_units(run))


def _units(run: TracedEquationsOfMotion) -> tuple[list[float], list[float]]:
    """What is equally far of actuated joints, and how far coordinates move them at home."""
    plan = run.plan
    scale = travels(plan.structure.tree.joints[j] for j in plan.actuated)
    at_home = plan.structure.in_floats.home_tangent(plan.independent)[plan.actuated]
    usual = [sum((x / s) ** 2 for x, s in zip(column, scale, strict=True)) ** 0.5
             for column in at_home.T.tolist()]  # fmt: skip
    return scale, usual


def fit_code(kernels: Kernels) -> RowCode:
    """From actuated positions (n_u,) and a largest gap, m: whether it is valid, the gap, y (n_y,).

    From home, as ``evaluation/actuated_fit.py``, which takes over where a step leads nowhere.
    """
    motors, n = kernels.actuators, kernels.freedoms

    def function(inputs: Sequence[Any], _: bool) -> list[Any]:
        of = kernels.recorded(inputs[motors + 1 :])
        structure, still = of[1], [0.0] * n
        target = inputs[:motors]

        def run(y: Vector, positions: Vector | None = None) -> TracedEquationsOfMotion:
            motion, numbers = (y, still, still), [*y, *(positions or [])]
            return TracedEquationsOfMotion(*of, numbers, motion, [0.0] * 6, (), False, positions)

        def step(state: list[Any]) -> tuple[Any, list[Any]]:
            here = run(state[1:])
            off = vec.subtract(target, here.of_actuated(here.positions()))
            change, step_ = fitted_step(here, off)
            part = lesser(LARGEST_CHANGE * reciprocal(change), 1.0)
            valid = select(here.valid() - 0.5, select(change + 0.5, 1.0, 0.0), 0.0)
            moved = vec.add(state[1:], vec.scale(step_, part))
            goes_on = select(valid, change - CONVERGED, 0.0)
            arrived = select(valid, select(goes_on, 0.0, 1.0), 0.0)
            y = [select(goes_on, a, b) for a, b in zip(moved, state[1:], strict=True)]
            return goes_on, [arrived, *y]

        home = [
            float(structure.in_floats.home[structure.index(x)])
            for x in kernels.description.independent
        ]
        arrived, *y = repeat(graph_of(inputs), MOST_STEPS, [0.0, *home], step)
        end = run(y)
        positions = end.positions()
        for place, x in zip(end.plan.actuated, target, strict=True):
            positions[place] = x
        apart = run(y, positions)
        finite = LARGEST_SQUARE - vec.dot(target, target)  # comparisons leave NaN out
        valid = select(finite, select(arrived, end.valid(), 0.0), 0.0)
        gap = apart.closure_residual()
        return [select(inputs[motors] - gap, valid, 0.0), gap, *y]

    return RowCode(
        'actuated fit', motors + 1, 2 + n, function, lambda: kernels.identity[:-1],
        largest=MOST_OPERATIONS, constants=kernels.constants,
        impossible='' if n and motors else 'it has no freedoms, or no actuators',
    )  # fmt: skip
