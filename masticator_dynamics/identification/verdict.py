# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether what was identified is good enough to be used, and what may be wrong if it is not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from masticator_dynamics.identification.identify import Identified

_WORSE = 1.2  # times what least squares leaves
_UNEXPLAINED = 0.2  # part of the efforts
_CAUSES = (
    'a gain or unit of its efforts, friction of another kind than constant and viscous, the sign '
    'of a motor, efforts that lag, or links that are not those of the file'
)


def doubts(identified: Identified) -> Iterator[str]:
    """Sentences, each of which begins with the motor that it is about; none if all is well."""
    held = identified.held_out
    after, plain = held.error(identified.x), held.error(identified.plain)
    errors, usual = held.errors(identified.x), held.usual
    if after > _UNEXPLAINED:
        worst = int(np.argmax((errors**2).mean(axis=0) / usual**2))
        share = held.error_by_motor(identified.x)[worst]
        yield (
            f'{identified.mechanism.actuated[worst]}: {100.0 * share:.0f} % of its efforts are left '
            f'unexplained, and {100.0 * after:.0f} % of all; likely causes: {_CAUSES}'
        )
    if after > _WORSE * plain:
        more = (errors**2).mean(axis=0) - (held.errors(identified.plain) ** 2).mean(axis=0)
        worst = int(np.argmax(more / usual**2))
        share, by_plain = (
            held.error_by_motor(x)[worst] for x in (identified.x, identified.plain)
        )
        yield (
            f'{identified.mechanism.actuated[worst]}: {100.0 * share:.1f} % of its efforts are left '
            f'where least squares leaves {100.0 * by_plain:.1f} % ({100.0 * after:.1f} and '
            f'{100.0 * plain:.1f} % of all): bodies that can be do not explain what bodies that '
            f'cannot be do; likely causes: {_CAUSES}'
        )
