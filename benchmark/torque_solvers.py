# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contact multipliers of least torque by general solvers: scipy's SLSQP, and QPs by daqp.

All solvers get the same terms and exact derivatives, and return the multipliers (2,).
"""

from __future__ import annotations

import daqp
import numpy as np
import scipy.optimize

from benchmark.friction_terms import FrictionTerms, torques_of_pattern
from benchmark.states import Array

# Best settings for SLSQP, by measurement: with F_Z in N, or stopped later, it takes up to ten times
# as long and misses about as many optima. 100 N times a lever of a centimetre is 1 N m.
UNIT_OF_FORCE = 100.0  # N
FINE = {'ftol': 1e-13, 'maxiter': 200}
STEP = 1e-6  # relative, of the multipliers; gives the torques' norm to about twice the digits
LINEARISATIONS = 30
QUADRANTS = tuple(np.array([left, right]) for left in (1.0, -1.0) for right in (1.0, -1.0))
_NO_ROWS, _LOWER, _UPPER = np.zeros((0, 2)), np.zeros(2), np.full(2, 1e30)
_EYE = np.eye(6)
_INEQUALITIES = np.zeros(2, dtype=np.int32)


def slsqp_multipliers(terms: FrictionTerms) -> Array:
    """Minimise half the square of |tau| over F_Z of both contacts, starting from zero."""

    def goal(unknowns: Array) -> tuple[float, Array]:
        torque, slope = terms.torques(UNIT_OF_FORCE * unknowns)
        return 0.5 * float(torque @ torque), UNIT_OF_FORCE * (torque @ slope)

    found = scipy.optimize.minimize(goal, np.zeros(2), jac=True, method='SLSQP', options=FINE)
    return np.asarray(UNIT_OF_FORCE * found.x)


def slsqp_papers_form(terms: FrictionTerms) -> Array:
    """As S1 Sec. 4.5: torques and F_Z unknown, Eq. 50 as a constraint, starting from zeros."""

    def goal(unknowns: Array) -> tuple[float, Array]:
        gradient = unknowns.copy()
        gradient[6:] = 0.0
        return 0.5 * float(gradient @ gradient), gradient

    def defect(unknowns: Array) -> Array:
        return unknowns[:6] - terms.torques(UNIT_OF_FORCE * unknowns[6:])[0]

    def defect_slope(unknowns: Array) -> Array:
        slope = terms.torques(UNIT_OF_FORCE * unknowns[6:])[1]
        return np.hstack([_EYE, -UNIT_OF_FORCE * slope])

    found = scipy.optimize.minimize(
        goal, np.zeros(8), jac=True, method='SLSQP', options=FINE,
        constraints={'type': 'eq', 'fun': defect, 'jac': defect_slope},
    )  # fmt: skip
    return np.asarray(UNIT_OF_FORCE * found.x[6:])


def qp_multipliers(terms: FrictionTerms) -> Array:
    """One QP per quadrant of signs; the cranks' friction is linearised until it converges."""
    best, chosen = np.inf, np.zeros(2)
    for signs in QUADRANTS:
        pattern = terms.pattern(signs)
        amounts = np.zeros(2)
        for _ in range(LINEARISATIONS):
            torque, slope = torques_of_pattern(*pattern, terms.friction_arm, amounts)
            before = amounts
            hessian, linear = slope.T @ slope, slope.T @ (torque - slope @ before)
            amounts, *_ = daqp.solve(hessian, linear, _NO_ROWS, _UPPER, _LOWER, _INEQUALITIES)
            # The solver keeps its bounds only to a tolerance.
            amounts = np.maximum(amounts, 0.0)
            if np.abs(amounts - before).max() <= STEP * amounts.max():
                break
        torque, _ = torques_of_pattern(*pattern, terms.friction_arm, amounts)
        value = float(torque @ torque)
        if value < best:
            best, chosen = value, signs * amounts
    return chosen
