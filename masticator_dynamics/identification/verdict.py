# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether what was identified is good enough to be used, and what may be wrong if it is not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from masticator_dynamics.identification.conditioning import change_of_branch
from masticator_dynamics.identification.identify import UNEXPLAINED, Identified

_WORSE = 1.2  # times what least squares leaves
NEGLIGIBLE = 1e-3  # likewise: below, nothing is worth a word
_CAUSES = (
    'a gain or unit of its efforts, friction of another kind than constant and viscous, the sign '
    'of a motor, efforts that lag, or links that are not those of the file'
)


def doubts(identified: Identified) -> Iterator[str]:
    """Sentences, each of which begins with the motor that it is about; none if all is well.

    Where something is wrong and the motion came near a singularity, the first is about the branch.
    """
    sentences, measured = [*_of_motors(identified)], identified.measured
    if sentences:
        branch = change_of_branch(identified.mechanism, measured.time, measured.motion)
        sentences = [branch, *sentences] if branch else sentences
    yield from sentences


def _of_motors(identified: Identified) -> Iterator[str]:
    if identified.mistakes:  # which explain what else would be said
        yield from identified.mistakes
        return
    names, held = identified.mechanism.actuated, identified.held_out
    after, plain = (100.0 * held.error(x) for x in (identified.x, identified.plain))
    of_motor, by_plain = (100.0 * held.error_by_motor(x) for x in (identified.x, identified.plain))
    squares = (held.errors(identified.x) / held.usual) ** 2
    more = squares - (held.errors(identified.plain) / held.usual) ** 2
    if after > 100.0 * UNEXPLAINED:
        k = int(np.argmax(squares.mean(axis=0)))
        yield (
            f'{names[k]}: {of_motor[k]:.0f} % of its efforts are left unexplained, and '
            f'{after:.0f} % of all; likely causes: {_CAUSES}'
        )
    if after > _WORSE * plain and after > 100.0 * NEGLIGIBLE:
        k = int(np.argmax(more.mean(axis=0)))
        yield (
            f'{names[k]}: {of_motor[k]:.1f} % of its efforts are left where least squares leaves '
            f'{by_plain[k]:.1f} % ({after:.1f} and {plain:.1f} % of all), with bodies that cannot '
            f'be; likely causes: {_CAUSES}'
        )
