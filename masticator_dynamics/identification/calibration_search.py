# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The search for parameters with which readings of encoders agree (Levenberg-Marquardt).

Incremental encoders count from zero wherever they are switched on, so zeros may be far off: the
search then begins at poses all over the range, each taken for that of the first reading.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.actuated_fit import ActuatedFit
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.identification.encoder_equations import (
    EncoderEquations,
    EncoderUnknowns,
    LinearisedEquations,
    Poses,
)

_COARSE, _STARTS = 40, 16  # poses of a first search, and places to begin at
_FITS = 3.0  # standard deviations that errors may have where a search may end
_FEW, _ITERATIONS, _SETTLED = (
    15,
    40,
    1e-3,
)  # steps of a first search, of the last, and the last one in prior standard deviations
_STIFFEST = 1e8  # damping with which no step helps
_POSES = 48  # that fitting one reading may solve
_AROUND = 0.3  # rad or m, of joints without a range


@dataclasses.dataclass(frozen=True)
class Fixture:
    """Readings in poses that are known by other means.

    Attributes
    ----------
    readings, y : arrays, shape (K, n_u) and (K, n_y)
        rad or m.
    sd : array, shape (n_y,)
        Standard deviation of these poses.
    """

    readings: FloatArray
    y: FloatArray
    sd: FloatArray


class CalibrationSearch:
    """Values of unknowns that fit readings.

    Parameters
    ----------
    unknowns : EncoderUnknowns
    noise : array, shape (n_u,)
        Standard deviation of a reading, rad or m.
    """

    def __init__(self, unknowns: EncoderUnknowns, noise: FloatArray):
        self._unknowns, self._mechanism = unknowns, unknowns.mechanism
        self.equations = EncoderEquations(unknowns.batch, noise)

    def found(
        self, readings: FloatArray, fixture: Fixture | None
    ) -> tuple[FloatArray, list[Poses]]:
        """Values (n_p,), and the poses that fit the readings then; those of a fixture come last.

        Raises
        ------
        InputError
            If no poses fit the readings at all.
        """
        fixed_poses = [] if fixture is None else [_known(fixture)]
        start = self._unknowns.start
        if not len(readings):
            return self._fitted(start, fixed_poses) if fixed_poses else (start, [])
        some = np.unique(np.linspace(0, len(readings) - 1, _COARSE).astype(int))
        best, least = None, np.inf
        redundancy = len(self._mechanism.actuated) - len(self._mechanism.independent)
        for first in self._starts(readings[0]):
            poses = self.poses(first, readings[some])
            if poses is None or len(poses.y) < 0.5 * len(some):
                continue
            values, parts = self._fitted(first, [poses, *fixed_poses], _FEW)
            error = self._cost(values, parts) / max(len(poses.y), 1)
            if error < least:
                best, least = values, error
            if least < _FITS**2 * (redundancy or 1):
                break
        poses = None if best is None else self.poses(best, readings)
        if best is None or poses is None:
            raise InputError(
                f'no poses of {self._mechanism.name} fit the readings: are they its joints, in '
                'rad or m?'
            )
        return self._fitted(best, [poses, *fixed_poses])

    def poses(self, values: FloatArray, readings: FloatArray) -> Poses | None:
        """Readings with the poses that fit them, without those that none fits; None: no reading."""
        shift = np.zeros(len(self._mechanism.actuated))
        for joint, name in enumerate(self._mechanism.actuated):
            with contextlib.suppress(ValueError):
                at = self._unknowns.names.index(f'{name}.zero')
                shift[joint] = values[at] - self._unknowns.start[at]
        fit, rows, positions = self._mechanism.made(ActuatedFit), [], []
        for row, reading in enumerate(readings):
            with contextlib.suppress(MasticatorError):
                positions.append(fit.closest(reading + shift, _POSES).y)
                rows.append(row)
        if not rows:
            return None
        return self.equations.with_poses(values, Poses(readings[rows], np.array(positions)))

    def _starts(self, reading: FloatArray) -> Iterator[FloatArray]:
        """Values to begin at: as they are, then with zeros for poses all over the range."""
        unknowns, mechanism = self._unknowns, self._mechanism
        yield unknowns.start
        zeros = [f'{name}.zero' for name in mechanism.actuated]
        if not set(zeros) <= set(unknowns.asked):
            return
        places = [unknowns.names.index(name) for name in zeros]
        rows, home = mechanism.independent_rows, mechanism.home.y
        low, high = mechanism.limits.lower[rows], mechanism.limits.upper[rows]
        low = np.where(np.isfinite(low), low, home - _AROUND)
        high = np.where(np.isfinite(high), high, home + _AROUND)
        tried = np.random.default_rng(0).uniform(low, high, (20 * _STARTS, len(rows)))
        attempts = mechanism.attempt(np.vstack([home, tried]))
        for position in attempts.motions.position[:_STARTS]:
            values = unknowns.start.copy()
            values[places] += position - reading
            yield values

    def _fitted(
        self, values: FloatArray, parts: Sequence[Poses], steps: int = _ITERATIONS
    ) -> tuple[FloatArray, list[Poses]]:
        """The least sum of squared errors and of what is known beforehand."""
        spread, damping = self._unknowns.spread, 1e-3
        poses = [self.equations.with_poses(values, part) for part in parts]
        cost = self._cost(values, poses)
        for _ in range(steps if np.isfinite(cost) else 0):
            linearised = [self.equations.linearised(values, part) for part in poses]
            matrix, slope = self._normal(linearised, values)
            while damping < _STIFFEST:
                stiff = matrix + damping * np.diag(np.diag(matrix))
                step = np.linalg.solve(stiff, slope) * spread
                ahead = [self.equations.with_poses(values + step, part) for part in poses]
                reached = self._cost(values + step, ahead)
                if reached <= cost:
                    break
                damping *= 10.0
            else:
                break
            values, poses, before, cost = values + step, ahead, cost, reached
            damping = max(0.1 * damping, 1e-12)
            if np.abs(step / spread).max() < _SETTLED and before - cost < _SETTLED * (1.0 + cost):
                break
        return values, poses

    def _normal(
        self, linearised: Sequence[LinearisedEquations], values: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Normal equations in prior standard deviations."""
        spread, start = self._unknowns.spread, self._unknowns.start
        matrix = sum((e.information for e in linearised), np.zeros((len(spread),) * 2))
        slope = sum((e.slope for e in linearised), np.zeros(len(spread)))
        return (
            matrix * np.outer(spread, spread) + np.eye(len(spread)),
            slope * spread - (values - start) / spread,
        )

    def _cost(self, values: FloatArray, parts: Sequence[Poses]) -> float:
        off = (values - self._unknowns.start) / self._unknowns.spread
        return sum(self.equations.cost(values, part) for part in parts) + float(off @ off)


def _known(fixture: Fixture) -> Poses:
    return Poses(fixture.readings, fixture.y, fixture.y, fixture.sd)
