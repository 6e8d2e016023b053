# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Zeros of encoders, and dimensions, from the redundant encoders of a mechanism alone.

What the readings do not determine keeps its value, and is named. Dimensions that are not asked for
are known to a tolerance only, which limits what readings can tell, however many there are.

What readings of encoders do not tell, by name, and what measurement would.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, as_floats, rms
from masticator_dynamics.errors import InputError
from masticator_dynamics.identification.calibration_search import CalibrationSearch, Fixture
from masticator_dynamics.identification.encoder_equations import (
    EncoderEquations,
    EncoderUnknowns,
    LinearisedEquations,
    Poses,
)
from masticator_dynamics.identification.encoder_faults import (
    refuse_faulty_encoders,
    rounding_noise,
    shaking_noise,
)
from masticator_dynamics.identification.robot_log import exchanged_joints
from masticator_dynamics.mechanism import Mechanism

LEARNT = 0.5  # of the prior standard deviation: what may be left of it where something is learnt
_NAMED = 0.3  # of the largest share: what is named of a direction
_ROUNDING = 1e-12  # rad or m: of arithmetic, less than any encoder tells
_WRONG = 10.0  # times what noise explains, from which nothing is known
SUSPICIOUS = 2.0  # times what noise explains, from which something else is wrong
_IN_FIXTURE = 1e-5, 1e-4  # m and rad, to which a fixture holds a pose
_MOST_NAMED = 6


class Unseen(NamedTuple):
    """A direction in the unknowns that is not determined."""

    names: tuple[str, ...]  # what belongs to it, the largest share first
    text: str  # the same in words
    remedy: str  # what measurement would determine it


def unseen(
    unknowns: EncoderUnknowns,
    encoders: EncoderEquations,
    values: FloatArray,
    equations: Sequence[LinearisedEquations],
) -> tuple[tuple[Unseen, ...], FloatArray]:
    """Directions in what was asked for that equations leave nearly as unknown as they were.

    And the matrix (n, n) that takes them out of a change of what was asked for.

    Parameters
    ----------
    unknowns : EncoderUnknowns
    encoders : EncoderEquations
        To see what a known pose would tell.
    values : array, shape (n_p,)
        Of all unknowns.
    equations : sequence of LinearisedEquations
        All that there are.
    """
    spread = unknowns.spread[: len(unknowns.asked)]

    def of(measured: Sequence[LinearisedEquations]) -> FloatArray:
        asked = unknowns.covariance(measured)[: len(spread), : len(spread)]
        return np.asarray(asked / np.outer(spread, spread))

    shares, directions = np.linalg.eigh(of(equations))
    chosen = np.flatnonzero(shares > LEARNT**2)
    seen = directions[:, shares <= LEARNT**2]
    project = (seen @ seen.T) * np.outer(spread, 1.0 / spread)
    if not len(chosen):
        return (), project
    fixed = of([*equations, _in_fixture(unknowns, encoders, values)])
    return tuple(_named(unknowns, directions[:, k], fixed) for k in chosen[::-1]), project


def _in_fixture(
    unknowns: EncoderUnknowns, encoders: EncoderEquations, values: FloatArray
) -> LinearisedEquations:
    """Equations of one reading at home, held by a fixture."""
    mechanism = unknowns.mechanism
    home = mechanism.home.y[None]
    joints = mechanism.structure.tree.joints
    slides = np.array([joints[j].unit == 'm' for j in mechanism.independent_rows], bool)
    position = unknowns.batch.positions(values[None], home, derivatives=False).position[0]
    return encoders.linearised(values, Poses(position, home, home, np.where(slides, *_IN_FIXTURE)))


def _named(unknowns: EncoderUnknowns, direction: FloatArray, fixed: FloatArray) -> Unseen:
    share = np.abs(direction)
    order = [int(k) for k in np.argsort(-share) if share[k] >= _NAMED * share.max()]
    names = tuple(unknowns.asked[k] for k in order)
    shown = names[:_MOST_NAMED]
    text = ', '.join(shown) + (
        f' and {len(names) - len(shown)} more' if len(names) > len(shown) else ''
    )
    if len(names) > 1:
        text += ' together, in one combination'
    seen = float(direction @ fixed @ direction) < LEARNT**2
    remedy = 'one pose in a fixture, home for example' if seen else 'measuring it by other means'
    return Unseen(names, text, remedy)


_MOST, _LEAST = 6_000, 20  # poses
_GUESSED = 1e-3  # of the range of readings, noise at first
_BLOCKS, _HELD = 20, 5  # of the recording; every so many is held out
_SEPARATE = 4.0  # standard deviations by which some encoder must differ from the pose before


@dataclasses.dataclass(frozen=True)
class Calibration:
    """Parameters from readings.

    Attributes
    ----------
    names : tuple of str
        Parameters that were asked for.
    values, before, sd : arrays, shape (n,)
        Now, as they were, and standard deviations, which hold for the given tolerance of all
        other dimensions; rad or m.
    learnt : array of bool, shape (n,)
        Whether the readings determine them, whatever the others are.
    unseen : tuple of Unseen
        Directions that the readings do not determine; along these, values stay as they were.
    poses : int
        How many differ.
    residual_before, residual_after : float
        Root mean square of what the redundant encoders disagree by in poses that were held out,
        rad or m: with the old values and with the new ones. NaN without redundancy.
    misfit : float
        The same in the poses that were used, over what noise explains, with other dimensions
        anywhere within their tolerance: about 1, much more if something else is wrong.
    units : tuple of str
    """

    names: tuple[str, ...]
    values: FloatArray
    before: FloatArray
    sd: FloatArray
    learnt: npt.NDArray[np.bool_]
    unseen: tuple[Unseen, ...]
    poses: int
    residual_before: float
    residual_after: float
    misfit: float
    units: tuple[str, ...] = ()

    @property
    def better(self) -> bool:
        """Whether held-out poses agree better with the values found than with those before.

        True where nothing is learnt, and without redundancy, with which poses could disagree. False
        where they agreed to the rounding of arithmetic: then chance decides which is nearer. Where
        more is left than noise and tolerance explain, half of the disagreement must be gone; where
        much more is left, nothing is known.
        """
        if np.isnan(self.misfit) or not self.learnt.any():
            return True
        if np.isnan(self.residual_before):  # no pose fitted
            return self.misfit < _WRONG
        allowed = 1.0 if self.misfit < SUSPICIOUS else 0.5
        agrees = self.residual_after < allowed * self.residual_before
        agreed = self.residual_before < _ROUNDING
        return bool(agrees and not agreed and self.misfit < _WRONG)

    @property
    def parameters(self) -> dict[str, float]:
        """The values by name, for :meth:`Mechanism.with_parameters`."""
        return dict(zip(self.names, self.values.tolist(), strict=True))


def calibrate(
    mechanism: Mechanism,
    readings: npt.ArrayLike,
    noise: npt.ArrayLike | None = None,
    names: Sequence[str] = (),
    *,
    tolerance: float = 0.0,
    fixture: Fixture | None = None,
) -> Calibration:
    """Find parameters for which readings of the encoders agree with one another.

    Parameters
    ----------
    mechanism : Mechanism
        With the numbers known so far.
    readings : array_like, shape (N, n_u)
        Of the encoders of the actuated joints in many poses, in order of time, rad or m.
    noise : array_like, shape (n_u,), optional
        Standard deviation of a reading: a count over the square root of 12, at least. By default
        what the readings show: rounding, noise of a smooth motion, or else what redundant encoders
        disagree by.
    names : sequence of str
        What is unknown: zeros of encoders or dimensions, by the names of
        ``mechanism.parameters(geometry=True)``; by default the zeros of all actuated joints.
    tolerance : float
        Standard deviation of each coordinate of all other joints, frames and contacts, m.
    fixture : Fixture, optional
        Readings in poses that are known.

    Raises
    ------
    InputError
        For readings that are too few, at rest, not finite, or of no pose at all, and for names
        that are unknown.
    """
    unknowns = EncoderUnknowns(mechanism, names, tolerance)
    table = _table(mechanism, readings)
    if noise is not None:
        noises = np.broadcast_to(np.asarray(noise, dtype=float), table.shape[1:])
        if not (noises > 0.0).all():
            raise InputError('noise of readings must be more than 0')
        return _calibrated(unknowns, table, noises, fixture)
    rounding, shaking = rounding_noise(table), shaking_noise(table)
    noises = np.fmax(rounding, shaking)
    untold = np.isnan(shaking) & (len(mechanism.actuated) > len(mechanism.independent))
    if not untold.any():
        return _calibrated(unknowns, table, noises, fixture)
    noises = np.where(untold, np.maximum(_GUESSED * np.ptp(table, axis=0), noises), noises)
    first = _calibrated(unknowns, table, noises, fixture)
    # What redundant encoders disagree by is then their noise.
    noises = np.where(untold, np.maximum(first.misfit * noises, rounding), noises)
    return _calibrated(unknowns, table, noises, fixture)


def _calibrated(
    unknowns: EncoderUnknowns, table: FloatArray, noise: FloatArray, fixture: Fixture | None
) -> Calibration:
    mechanism = unknowns.mechanism
    distinct = _distinct(table, noise)
    redundant = len(mechanism.actuated) - len(mechanism.independent)
    if redundant:
        refuse_faulty_encoders(mechanism, table, noise)
    if redundant and len(distinct) < _LEAST and fixture is None:
        raise InputError(
            f'the readings show {len(distinct)} different poses; {_LEAST} or more are needed, from '
            'all over the range of motion'
        )
    search = CalibrationSearch(unknowns, noise)
    held = np.arange(len(distinct)) * _BLOCKS // max(len(distinct), 1) % _HELD == _HELD - 1
    values, parts = search.found(distinct[~held] if redundant else distinct[:0], fixture)
    equations = [search.equations.linearised(values, part) for part in parts]
    covariance = unknowns.covariance(equations)
    count = len(unknowns.asked)
    sd = np.sqrt(np.diag(covariance)[:count])
    hidden, seen = unseen(unknowns, search.equations, values, equations)
    named = {name for direction in hidden for name in direction.names}
    learnt = [name not in named for name in unknowns.asked]
    now = unknowns.start.copy()
    now[:count] += seen @ (values - now)[:count]
    errors = equations[0].errors if redundant else np.zeros((0, 0))
    return Calibration(
        unknowns.asked, now[:count], unknowns.start[:count], sd, np.array(learnt, dtype=bool),
        hidden, len(distinct),
        _disagreement(search, unknowns.start, distinct[held]),
        _disagreement(search, now, distinct[held]), _size(errors), unknowns.units,
    )  # fmt: skip


def refuse_worse(mechanism: Mechanism, readings: npt.ArrayLike, result: Calibration) -> None:
    """Refuse values with which held-out poses agree no better than with those before.

    Parameters
    ----------
    mechanism, readings
        What :func:`calibrate` was given.
    result : Calibration
        What it found.

    Raises
    ------
    InputError
        Saying by how much poses disagree, and why if that is known.
    """
    suspicious = result.misfit > SUSPICIOUS
    if result.better and (result.learnt.any() or not suspicious):
        return
    pair = exchanged_joints(mechanism, _table(mechanism, readings)) if suspicious else None
    if result.better and pair is None:  # nothing is changed, and nobody knows what is wrong
        return
    reason = 'an encoder slips or counts the other way, or a part is off by more than that'
    if pair is not None:
        reason = f'{pair[0]} and {pair[1]} seem to be swapped'
    times = f'; errors are {result.misfit:.2g} times what noise and tolerance explain: {reason}'
    raise InputError(
        'the values found are no better than those before: redundant encoders disagree by '
        f'{result.residual_after:.3g} in held-out poses, and disagreed by '
        f'{result.residual_before:.3g} (root mean square, rad or m){times if suspicious else ""}'
    )


def _table(mechanism: Mechanism, readings: npt.ArrayLike) -> FloatArray:
    table = as_floats(readings, 'readings')
    if table.ndim != 2 or table.shape[1] != len(mechanism.actuated):
        needed = f'(N, {len(mechanism.actuated)})'
        raise InputError(f'readings have shape {table.shape}, needed is {needed}')
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        name = mechanism.actuated[column]
        raise InputError(f'row {row + 1}: {name} reads {table[row, column]}, not a finite number')
    return table


def _distinct(readings: FloatArray, noise: FloatArray) -> FloatArray:
    """Readings of poses that differ from those kept before: at rest nothing is learnt."""
    rows: list[int] = []
    for row, reading in enumerate(readings):
        if not rows or (np.abs(reading - readings[rows[-1]]) > _SEPARATE * noise).any():
            rows.append(row)
    if len(rows) > _MOST:
        rows = [rows[i] for i in np.linspace(0, len(rows) - 1, _MOST).astype(int)]
    return readings[rows]


def _disagreement(search: CalibrationSearch, values: FloatArray, readings: FloatArray) -> float:
    """Root mean square of what redundant encoders disagree by, rad or m."""
    poses = search.poses(values, readings)
    if poses is None:
        return float('nan')
    scale = rms(search.equations.noise)
    return scale * _size(search.equations.errors(values, poses))


def _size(errors: FloatArray) -> float:
    good = errors[np.isfinite(errors).all(axis=1)] if errors.size else errors
    return rms(good) if good.size else float('nan')
