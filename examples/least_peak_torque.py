#!/usr/bin/env python3
# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Optimal control: a chewing stroke of least peak torque, with exact derivatives and without.

The stroke keeps its duration, its ends at rest and its widest pose; smooth bumps in each degree
of freedom are free within bounds. The peak is the 20-norm of all torques, whose
gradient follows from those of the torques by positions, velocities and accelerations.
"""

from time import process_time

import numpy as np
from scipy.interpolate import BSpline
from scipy.optimize import minimize

from masticator_dynamics import Mechanism
from masticator_dynamics.motion import chewing_stroke

PERIOD, ROWS, BUMPS = 0.25, 81, 8  # s
BOUND = np.array([1e-3, 1e-3, 0.01, 0.02])  # m, m, rad, rad: how far a bump may go
NORM = 20.0


def bumps(times: np.ndarray, widest: float) -> np.ndarray:
    """Bumps and their derivatives (3, N, BUMPS), at rest at both ends and zero at one time."""
    knots = np.linspace(0.0, PERIOD, BUMPS + 7)  # degree 5: four derivatives are continuous
    splines = [BSpline.basis_element(knots[k : k + 7], extrapolate=False) for k in range(BUMPS + 1)]
    at_widest = np.nan_to_num([spline(widest) for spline in splines])
    table = np.nan_to_num([[s.derivative(n)(times) for s in splines] for n in range(3)])
    highest = at_widest.argmax()  # takes from every other bump what it is at that time
    share = np.delete(at_widest, highest) / at_widest[highest]
    rest, one = np.delete(table, highest, axis=1), table[:, highest]
    return (rest - share[:, None] * one[:, None]).swapaxes(1, 2)


class Stroke:
    """Peak torque of a stroke, as a function of the sizes of its bumps (BUMPS * 4,)."""

    def __init__(self, jaw: Mechanism):
        self._jaw = jaw
        self._path = chewing_stroke(strokes=1, period=PERIOD, opening=0.15)
        times = np.linspace(0.0, PERIOD, ROWS)
        self._motion = np.array(self._path.sample(times))
        widest = times[self._motion[0, :, 3].argmax()]
        self._bumps = bumps(times, widest)

    def motion(self, sizes: np.ndarray) -> np.ndarray:
        """Positions, velocities and accelerations (3, N, 4)."""
        return self._motion + self._bumps @ (sizes.reshape(-1, 4) * BOUND)

    def peak(self, sizes: np.ndarray) -> float:
        """Smooth peak, N m."""
        efforts = self._jaw.feedforward_batch(*self.motion(sizes)).actuated
        return float((np.abs(efforts) ** NORM).sum() ** (1.0 / NORM))

    def peak_and_gradient(self, sizes: np.ndarray) -> tuple[float, np.ndarray]:
        """The same, and its gradient, exact."""
        found = self._jaw.feedforward_derivatives_batch(*self.motion(sizes))
        size = np.abs(found.actuated)
        peak = (size**NORM).sum() ** (1.0 / NORM)
        weights = np.sign(found.actuated) * (size / peak) ** (NORM - 1.0)  # of each torque
        gradient = sum(
            np.einsum('nu,nuy,nk->ky', weights, by, bump)
            for by, bump in zip(
                (found.by_y, found.by_y_dot, found.by_y_ddot), self._bumps, strict=True
            )
        )
        return float(peak), (gradient * BOUND).ravel()


def main() -> None:
    """Print peaks before and after, and what each way of differentiating takes."""
    jaw = Mechanism.load('masticator')
    stroke, nothing = Stroke(jaw), np.zeros(BUMPS * 4)
    stroke.peak_and_gradient(nothing), stroke.peak(nothing)  # compiled, once
    before = np.abs(jaw.feedforward_batch(*stroke.motion(nothing)).actuated).max()
    print(f'as given             peak {before:.4f} N m')
    ways = {
        'exact derivatives': (stroke.peak_and_gradient, True),
        'finite differences': (stroke.peak, None),
    }
    for name, (function, gradient) in ways.items():
        begin = process_time()
        found = minimize(
            function, nothing, jac=gradient, method='L-BFGS-B', bounds=[(-1.0, 1.0)] * len(nothing),
            options={'maxiter': 200, 'maxfun': 100_000},
        )  # fmt: skip
        spent = process_time() - begin
        effort = jaw.feedforward_batch(*stroke.motion(found.x))
        peak, inside = np.abs(effort.actuated).max(), np.all(effort.in_ranges)
        print(
            f'{name:20} peak {peak:.4f} N m, {found.nit} iterations, {found.nfev} evaluations, '
            f'{1e3 * spent:.0f} ms of CPU, within all ranges: {inside}'
        )


if __name__ == '__main__':
    main()
