# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Outputs of machine code for a row, recorded: lists of numbers for ``kernels.py``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from masticator_dynamics.engine.status import OUTSIDE_RANGES
from masticator_dynamics.engine.traced.effort_distribution import Distribution
from masticator_dynamics.engine.traced.evaluation import Evaluation
from masticator_dynamics.engine.traced.from_home import ClosedFromHome
from masticator_dynamics.engine.traced.inverse_dynamics import InverseDynamics, LeastNorm
from masticator_dynamics.engine.traced.numbers import Scalar, select


def efforts(run: InverseDynamics, forces: Any = None) -> list[Scalar]:
    """Outputs of :attr:`Kernels.evaluate` for a row."""
    forces = forces or LeastNorm(run)
    valid = run.valid()
    return [
        select(run.within_ranges(), valid, OUTSIDE_RANGES * valid),
        run.closure_residual(), forces.balance_residual(),
        *forces.efforts(), *forces.multipliers(),
    ]  # fmt: skip


def best_efforts(goals: Mapping[str, float], friction: bool, run: InverseDynamics) -> list[Scalar]:
    """The same with the best efforts for a goal.

    Parameters
    ----------
    goals : mapping
        Weights of what is minimised.
    friction : bool
        Whether joints and contacts have friction.
    run : InverseDynamics
        The evaluation.
    """
    return efforts(run, Distribution(run, goals, friction))


def whole_row(run: Any, forces: Any = None) -> list[Scalar]:
    """Outputs of :attr:`Kernels.everything`: whether it is valid, then a whole row.

    Parameters
    ----------
    run : Evaluation
        Of the motion.
    forces : LeastNorm, Distribution or ForwardDynamics, optional
        Gives the efforts; by default those of least norm.
    """
    forces = forces or LeastNorm(run)
    report = [0.0, -1.0, 0.0, run.closure_residual(), forces.balance_residual()]
    return [
        run.valid(), *report, *_rates(run), *forces.efforts(), *forces.multipliers(),
        *run.tangent(),
    ]  # fmt: skip


def closed(run: ClosedFromHome) -> list[Scalar]:
    """Outputs of :attr:`Kernels.from_home`: a whole row without forces."""
    nothing = [0.0] * (len(run.plan.actuated) + run.rows)
    return [
        run.valid(), *run.report, run.closure_residual(), 0.0, *_rates(run), *nothing,
        *run.tangent(),
    ]  # fmt: skip


def motion(run: Evaluation) -> list[Scalar]:
    """Outputs of :attr:`Kernels.motion`; whether they are valid is known with the efforts."""
    return [*_rates(run), *run.tangent()]


def _rates(run: Evaluation) -> list[Scalar]:
    """Positions, velocities and accelerations of all joints."""
    return [*run.positions(), *run.velocities(), *run.accelerations()]


def distributed(
    goals: Mapping[str, float], friction: bool, exhaustive: bool, run: InverseDynamics
) -> list[Scalar]:
    """Outputs of :meth:`Kernels.distribution`, see ``effort_goals.py``.

    Parameters
    ----------
    goals : mapping
        Weights of what is minimised.
    friction : bool
        Whether joints and contacts have friction.
    exhaustive : bool
        As in :class:`Distribution`.
    run : InverseDynamics
        The evaluation.
    """
    best = Distribution(run, goals, friction, exhaustive)
    return [
        *whole_row(run, best), best.optimality, *best.joint_friction(), *best.contact_friction(),
        *best.bearing_force(), *[0.0] * len(run.plan.independent),
    ]  # fmt: skip


def bodies(run: InverseDynamics) -> list[Scalar]:
    """Whether it is valid, failure report, and the bodies: poses, and what each needs by itself.

    Rotation, origin (m), force (N) and moment (N m) about the origin, base axes, for the body's own
    acceleration, less what the environment supplies.
    """
    run.forces.inertial()
    return [run.valid(), 0.0, -1.0, 0.0, *run.bodies()]
