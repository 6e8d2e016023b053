# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion of a flexible mechanism under given efforts, by scipy's integrators.

Radau IIA of order 5 is the default: implicit and L-stable, so stiff rods (large E, many modes)
do not force small steps once their vibrations are below the tolerance. Its Newton iterations use
the elastic part of the Jacobian, which costs one evaluation. DOP853 is faster for soft rods, but at
the same tolerance damps the highest vibrations. BDF is not offered: it damps vibrations fifty times
more than Radau, while the model has no damping.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate
import scipy.linalg

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.flexible.flexible_model import FlexibleModel, FlexibleState

METHODS = {
    'radau': scipy.integrate.Radau,
    'dop853': scipy.integrate.DOP853,
}
RTOL = 3e-6  # energy is balanced to about 1e-6
MOST_EXACT, LEAST_EXACT = 1e-12, 1e-2
LARGEST_DEFLECTION = 0.1  # of the length: beyond it the theory of small deflections does not hold
_SINGULAR = 1e6  # condition number (1-norm) of the loops: above it digits are lost
_POSITION_TOLERANCE = 1e-3  # of rtol, m and rad: what counts as zero
_RATE_TOLERANCE = 1.0  # of rtol, m/s and rad/s

Effort = Callable[[float], FloatArray]


@dataclasses.dataclass(frozen=True)
class FlexibleTrajectory:
    """Coordinates at N times, loops closed."""

    time: FloatArray  # (N,): s; fewer than requested when the run is partial
    # (N, n): positions and velocities of all coordinates of the model.
    q: FloatArray
    v: FloatArray
    work: FloatArray  # (N,) of the efforts since the start, J
    stopped: str  # empty when the run is complete; otherwise why and when it ended


def simulate(
    model: FlexibleModel,
    start: FlexibleState,
    effort: Effort,
    times: FloatArray,
    *,
    method: str = 'radau',
    rtol: float = RTOL,
    progress: Callable[[float], None] | None = None,
) -> FlexibleTrajectory:
    """Integrate from ``start`` at ``times[0]`` to ``times[-1]``; give the motion at all times.

    Parameters
    ----------
    start : FlexibleState
        Positions and velocities at ``times[0]``.
    effort : function of time
        Efforts (n,) on all coordinates, N m or N.
    times : array, shape (N,)
        s, increasing.
    method : str
        One of ``METHODS``.
    rtol : float
        Relative tolerance of a step; absolute tolerances follow from it.
    progress : function of time, optional
        Called after every step.

    Raises
    ------
    InputError
        For an unknown method, or times that do not increase.
    SingularityError, ReachError
        When the start is singular or open.
    """
    if method not in METHODS:
        raise InputError(f'method {method!r} is not one of {", ".join(METHODS)}')
    if not MOST_EXACT <= rtol <= LEAST_EXACT:
        raise InputError(f'rtol {rtol:g} is not between {MOST_EXACT:g} and {LEAST_EXACT:g}')
    if len(times) < 2 or not (np.diff(times) > 0.0).all():
        raise InputError('two times or more are needed, increasing')
    return _Run(model, start, effort, times, method, rtol).go(progress)


def _factored(matrix: FloatArray) -> tuple[Any, Any, Any]:
    """LU factors, and LAPACK's function that solves with them.

    Radau's own checks of small matrices take several times as long as what they check.
    """
    factor, solve = scipy.linalg.get_lapack_funcs(('getrf', 'getrs'), (matrix,))
    lu, pivots, _ = factor(matrix)
    return lu, pivots, solve


def _solved(factored: tuple[Any, Any, Any], right: FloatArray) -> FloatArray:
    lu, pivots, solve = factored
    return np.asarray(solve(lu, pivots, right)[0])


class _Run:
    """One integration: the state is free positions, free rates and the work done."""

    def __init__(
        self,
        model: FlexibleModel,
        start: FlexibleState,
        effort: Effort,
        times: FloatArray,
        method: str,
        rtol: float,
    ):
        self.model, self.effort, self.times = model, effort, times
        self.count = len(model.free)
        free = model.arrays.free
        closed = model.state(start.q, start.q[free], start.v[free])
        self.near = closed.q
        self.null = model.null_space(closed.q)
        self.modal = [
            np.array([model.index(name) for name in beam.coordinates]).reshape(-1, beam.modes)
            for beam in model.beams.values()
        ]
        state = np.concatenate([start.q[free], start.v[free], [0.0]])
        tolerance = np.full(len(state), _RATE_TOLERANCE * rtol)
        tolerance[: self.count] = _POSITION_TOLERANCE * rtol
        options = {'jac': self.elastic_jacobian} if method == 'radau' else {}
        self.solver = METHODS[method](
            self.rates, times[0], state, times[-1], rtol=rtol, atol=tolerance, **options
        )

        if method == 'radau':
            self.solver.lu, self.solver.solve_lu = _factored, _solved

    def go(self, progress: Callable[[float], None] | None) -> FlexibleTrajectory:
        """Step to the end, or as far as possible."""
        states, guesses, done, stopped = [self.solver.y.copy()], [self.near], 1, ''
        while self.solver.status == 'running' and not stopped:
            message = self.solver.step()
            if self.solver.status == 'failed':
                stopped = f'at {self.solver.t:.6g} s the integrator cannot go on: {message}'
                break
            reason = self.move_to(self.solver.y[: self.count])
            if reason:
                stopped = f'at {self.solver.t:.6g} s {reason}'
                break
            inside = self.times[done:][self.times[done:] <= self.solver.t]
            if len(inside):
                rows = self.solver.dense_output()(inside).T
                states.extend(rows)
                # From the pose of their step: requested times may be far from one another.
                guesses.extend(self.guess(row[: self.count]) for row in rows)
                done += len(inside)
            if progress:
                progress(self.solver.t)
        return self.collect(np.array(states), guesses, stopped)

    def rates(self, time: float, state: FloatArray) -> FloatArray:
        """Time derivative of the state; NaN where the loops do not close."""
        free = state[: self.count]
        # Where it is NaN, the integrator takes a smaller step.
        return self.model.code.rates(
            np.concatenate([self.guess(free), state[:-1], self.effort(time)])
        )

    def elastic_jacobian(self, time: float, state: FloatArray) -> FloatArray:
        """Derivative of the rates with respect to the state, without velocity-dependent forces."""
        jacobian, count = np.zeros((len(state), len(state))), self.count
        free, effort = state[:count], self.effort(time)
        _, mass, _, null = self.model.code.equations(
            self.guess(free), free, state[count:-1], effort
        )
        jacobian[:count, count:-1] = np.eye(count)
        jacobian[count:-1, :count] = -np.linalg.solve(mass, self.model.free_stiffness(null))
        jacobian[-1, count:-1] = effort @ null
        return jacobian

    def guess(self, free: FloatArray) -> FloatArray:
        """A nearly closed pose: along the tangent from the pose after the last step.

        So no result depends on what the integrator tried in between.
        """
        return np.asarray(self.near + self.null @ (free - self.near[self.model.arrays.free]))

    def move_to(self, free: FloatArray) -> str:
        """Close the loops after a step; returns why that pose is invalid, or an empty text."""
        guess = self.guess(free)
        guess[self.model.arrays.free] = free
        closed, parts = self.model.code.closed(guess)
        norms = [np.abs(parts[m]).sum(axis=0).max(initial=0.0) for m in ('jacobian', 'inverse')]
        if norms[0] * norms[1] > _SINGULAR:
            return f'the loops are singular: condition number {norms[0] * norms[1]:.3g}'
        if not closed:
            return 'the loops do not close'
        q = self.near = parts['q']
        self.null = parts['null']
        for beam, modal in zip(self.model.beams.values(), self.modal, strict=True):
            largest = float(np.abs(q[modal]).sum(axis=1).max()) / beam.length
            if largest > LARGEST_DEFLECTION:
                return (
                    f'{beam.link} bends by {100.0 * largest:.3g} % of its length, which small '
                    'deflections are not'
                )
        return ''

    def collect(
        self, states: FloatArray, guesses: list[FloatArray], stopped: str
    ) -> FlexibleTrajectory:
        """Close the loops at the requested times, from poses near to them."""
        rows = [
            self.model.state(guess, state[: self.count], state[self.count : -1])
            for guess, state in zip(guesses, states, strict=True)
        ]
        return FlexibleTrajectory(
            self.times[: len(rows)],
            np.array([row.q for row in rows]),
            np.array([row.v for row in rows]),
            states[:, -1],
            stopped,
        )
