# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What readings of encoders do not tell, by name, and what measurement would."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.identification.encoder_equations import (
    EncoderEquations,
    Equations,
    Poses,
)
from masticator_dynamics.identification.encoder_unknowns import EncoderUnknowns

LEARNT = 0.5  # of the prior standard deviation: what may be left of it where something is learnt
_NAMED = 0.3  # of the largest share: what is named of a direction
_IN_FIXTURE = 1e-5, 1e-4  # m and rad, to which a fixture holds a pose
_MOST_NAMED = 6


class Unseen(NamedTuple):
    """A direction in the unknowns that is not determined.

    Attributes
    ----------
    names : tuple of str
        What belongs to it, the largest share first.
    text : str
        The same in words.
    remedy : str
        What measurement would determine it.
    """

    names: tuple[str, ...]
    text: str
    remedy: str


def unseen(
    unknowns: EncoderUnknowns,
    encoders: EncoderEquations,
    values: FloatArray,
    equations: Sequence[Equations],
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
    equations : sequence of Equations
        All that there are.
    """
    spread = unknowns.spread[: len(unknowns.asked)]

    def of(known: Sequence[Equations]) -> FloatArray:
        asked = unknowns.covariance(known)[: len(spread), : len(spread)]
        return np.asarray(asked / np.outer(spread, spread))

    left, directions = np.linalg.eigh(of(equations))
    chosen = np.flatnonzero(left > LEARNT**2)
    seen = directions[:, left <= LEARNT**2]
    project = (seen @ seen.T) * np.outer(spread, 1.0 / spread)
    if not len(chosen):
        return (), project
    fixed = of([*equations, _in_fixture(unknowns, encoders, values)])
    return tuple(_named(unknowns, directions[:, k], fixed) for k in chosen[::-1]), project


def _in_fixture(
    unknowns: EncoderUnknowns, encoders: EncoderEquations, values: FloatArray
) -> Equations:
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
