# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Random states well inside each mechanism's workspace, on which all methods are timed."""

import dataclasses

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
LARGEST_WRENCH = np.array([50.0, 50.0, 50.0, 2.0, 2.0, 2.0])  # N, N m
_RATES_6 = ([0.05] * 3 + [0.5] * 3, [1.0] * 3 + [20.0] * 3)
# Per mechanism: lowest and highest pose, typical velocities and accelerations.
_RANGES = {
    'masticator': (
        ([-0.0025, -0.002, -0.025, 0.0], [0.0025, 0.002, 0.025, 0.15]),
        ([0.05, 0.05, 0.5, 0.5], [1.0, 1.0, 20.0, 20.0]),
    ),
    'rss6': (
        ([-0.001, -0.001, -0.0005, -0.008, 0, -0.008], [0.001, 0.001, 0.0002, 0.008, 0.05, 0.008]),
        _RATES_6,
    ),
    'rcid': (
        ([-0.015, -0.015, 0.095, -0.2, -0.2, -0.2], [0.015, 0.015, 0.125, 0.2, 0.2, 0.2]),
        _RATES_6,
    ),
}
MECHANISMS = tuple(_RANGES)


@dataclasses.dataclass(frozen=True)
class States:
    """Independent positions, velocities, accelerations (N, n_y) and wrenches (N, 6)."""

    y: Array
    y_dot: Array
    y_ddot: Array
    wrench: Array

    def rows(self) -> list[tuple[Array, ...]]:
        """The states one by one, as separate arrays."""
        columns = (self.y, self.y_dot, self.y_ddot, self.wrench)
        return [tuple(column[i].copy() for column in columns) for i in range(len(self.y))]

    def columns(self, count: int | None = None) -> tuple[Array, ...]:
        """Arguments of a batch over all or the first ``count`` states."""
        return self.y[:count], self.y_dot[:count], self.y_ddot[:count], self.wrench[:count]


def random_states(mechanism: str, count: int, seed: int = 1) -> States:
    """Reproducible moving, loaded states; successive ones are unrelated."""
    (lower, upper), (rates, accelerations) = _RANGES[mechanism]
    rng = np.random.default_rng(seed)
    shape = (count, len(lower))
    return States(
        rng.uniform(lower, upper, shape),
        rng.normal(size=shape) * rates,
        rng.normal(size=shape) * accelerations,
        rng.uniform(-1.0, 1.0, (count, 6)) * LARGEST_WRENCH,
    )
