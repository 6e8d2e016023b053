# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism as lines between its joints, and the sides from which these are more than a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.mechanism import Mechanism

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FLAT = 0.02  # of the largest extent: less is no view


class View(NamedTuple):
    """A side to look from: columns of base axes to the right and up."""

    across: int
    up: int
    name: str

    def plot(self, axes: Axes, points: FloatArray, *style: str, **options: Any) -> None:
        """Draw a line through points (N, 3), m in the base; axes are in mm."""
        axes.plot(1e3 * points[:, self.across], 1e3 * points[:, self.up], *style, **options)
        labels = {'xlabel': f'{"xyz"[self.across]}, mm', 'ylabel': f'{"xyz"[self.up]}, mm'}
        axes.set(aspect='equal', **labels)


_VIEWS = (View(1, 2, 'front'), View(0, 2, 'side'), View(0, 1, 'above'))


def views(lines: list[FloatArray]) -> list[View]:
    """Those that do not see lines of a planar mechanism edgeways; front, side, above."""
    spans = np.ptp(np.concatenate(lines), axis=0)
    wide = spans > _FLAT * spans.max()
    return [view for view in _VIEWS if wide[view.across] and wide[view.up]] or [*_VIEWS]


def body_lines(mechanism: Mechanism, q: FloatArray | None = None) -> list[FloatArray]:
    """Lines (2, 3) on moving bodies: from each body's joint to the next joints and loop ends.

    For positions (n,) of the tree's joints, by default home; m in the base.
    """
    structure = mechanism.structure.in_floats
    poses, lines = structure.tree.poses(structure.home if q is None else q), []
    for j, placement in enumerate(structure.tree.placements):
        if placement.body >= 0:
            lines.append(poses.origins[[placement.body, j]])
    for constraint in structure.constraints:
        for body, point in (
            (constraint.body_a, constraint.point_a),
            (constraint.body_b, constraint.point_b),
        ):
            if body >= 0 and not constraint.contact:
                lines.append(np.array([poses.origins[body], poses.point(body, point)]))
    return [line for line in lines if np.ptp(line, axis=0).any()]
