# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Outputs of machine code for a row, recorded: lists of numbers for ``kernels.py``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from masticator_dynamics.engine.status import OUTSIDE_RANGES
from masticator_dynamics.engine.traced.best_pattern import best_of
from masticator_dynamics.engine.traced.closed_motion import Evaluation
from masticator_dynamics.engine.traced.effort_distribution import Distribution
from masticator_dynamics.engine.traced.from_home import ClosedFromHome
from masticator_dynamics.engine.traced.inverse_dynamics import InverseDynamics, LeastNorm
from masticator_dynamics.engine.traced.limited_efforts import LimitedChoice
from masticator_dynamics.engine.traced.load_bounds import LoadBounds
from masticator_dynamics.engine.traced.numbers import Scalar, greatest, select
from masticator_dynamics.engine.traced.proven_pattern import proven
from masticator_dynamics.engine.traced.sign_pattern import direction


def efforts(run: InverseDynamics, forces: Any = None) -> list[Scalar]:
    """Outputs of :attr:`Kernels.evaluate` for a row."""
    forces = forces or LeastNorm(run)
    return [
        _valid(run), run.closure_residual(), forces.balance_residual(), *forces.efforts(),
        *forces.multipliers(),
    ]  # fmt: skip


def _valid(run: Any) -> Scalar:
    valid = run.valid()
    return select(run.within_ranges(), valid, OUTSIDE_RANGES * valid)


def best_efforts(
    goals: Mapping[str, float], friction: bool, run: InverseDynamics, is_proven: bool = False
) -> list[Scalar]:
    """The same with the best efforts for a goal.

    Parameters
    ----------
    goals : mapping
        Weights of what is minimised.
    friction : bool
        Whether joints and contacts have friction.
    is_proven : bool
        Valid only where few operations prove that there are none better.
    """
    best = proven if is_proven else best_of
    return efforts(run, Distribution(run, goals, friction, best=best))


def solved(run: InverseDynamics) -> list[Scalar]:
    """Outputs of :attr:`Kernels.everything`."""
    return [_valid(run), *whole_row(run)[1:]]


def whole_row(run: Any, forces: Any = None) -> list[Scalar]:
    """Whether it is valid, then a whole row.

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
    """Outputs of :meth:`Kernels.distribution`, see ``row_kinds.py``.

    Parameters
    ----------
    goals : mapping
        Weights of what is minimised.
    friction : bool
        Whether joints and contacts have friction.
    exhaustive : bool
        As in :class:`Distribution`.
    """
    chosen = Distribution(run, goals, friction, exhaustive)
    return _with_choice(run, chosen, [0.0] * len(run.plan.independent))


def _with_choice(run: InverseDynamics, chosen: Distribution, shortfall: list[Any]) -> list[Scalar]:
    return [
        *whole_row(run, chosen), chosen.optimality, *chosen.joint_friction(),
        *chosen.contact_friction(), *chosen.bearing_force(), *shortfall,
    ]  # fmt: skip


def limited(
    goals: Mapping[str, float], friction: bool, whole: bool, run: InverseDynamics,
    choice: LimitedChoice, shortfall: list[Any] | None = None,
) -> list[Scalar]:  # fmt: skip
    """Outputs of :meth:`Kernels.limited`: -1 where it is certain that nothing keeps the limits.

    Parameters
    ----------
    goals, friction, run
        As for :func:`best_efforts`.
    whole : bool
        A whole row, or efforts.
    choice : LimitedChoice
        Chooses among these.
    shortfall : list of number, optional
        What the accelerations give up; by default nothing.
    """
    best = Distribution(run, goals, friction, False, choice)
    if whole:
        valid, *rest = _with_choice(run, best, shortfall or [0.0] * len(run.plan.independent))
    else:
        valid, *rest = efforts(run, best)
    return [select(choice.contradicted, select(valid, -1.0, 0.0), valid), *rest]


def efforts_within(
    goals: Mapping[str, float], friction: bool, is_proven: bool, bounds: LoadBounds,
    run: InverseDynamics,
) -> list[Scalar]:  # fmt: skip
    """Outputs of :attr:`Kernels.evaluate` for the best efforts, valid where they keep limits.

    Parameters
    ----------
    goals, friction, is_proven, run
        As for :func:`best_efforts`.
    """
    plain = goals == {'torque': 1.0} and not friction and not bounds.on_bearings
    best = proven if is_proven else best_of
    forces: Any = LeastNorm(run) if plain else Distribution(run, goals, friction, best=best)
    multipliers, structure = forces.multipliers(), run.plan.structure
    contacts = [
        multipliers[row] for c in run.plan.description.contacts for row in structure.rows(c.name)
    ]
    rates = run.per_actuator([m.ratio * m.joint.velocity for m in run.forces.motors])
    bearing = forces.bearing_force() if bounds.on_bearings else []
    radial = [direction(*bearing[i : i + 2])[0] for i in range(0, len(bearing), 3)]
    excesses = bounds.excesses(forces.efforts(), rates, contacts, bearing[2::3], radial)
    run.forces.conditions.append(bounds.slack - greatest([-1.0, *excesses]))
    return efforts(run, forces)


def bodies(run: InverseDynamics) -> list[Scalar]:
    """Whether it is valid, failure report, and the bodies: poses, and what each needs by itself.

    Rotation, origin (m), force (N) and moment (N m) about the origin, base axes, for the body's own
    acceleration, less what the environment supplies.
    """
    run.forces.inertial()
    return [run.valid(), 0.0, -1.0, 0.0, *run.bodies()]
