# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What pictures over a mechanism's coordinates have in common: style, units, labels."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from masticator_dynamics.analysis.grid import Grid
from masticator_dynamics.analysis.plot_style import png_figure
from masticator_dynamics.engine.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from masticator_dynamics.mechanism import Mechanism

_STYLE: dict[Any, Any] = {
    'font.size': 10,
    'axes.titlesize': 11,
    'axes.titleweight': 'bold',
    'axes.titlelocation': 'left',
    'legend.frameon': False,
}
_RESOLUTION = 110  # dots per inch


def picture(stream: IO[Any]) -> AbstractContextManager[Figure]:
    """A figure to draw in, written as PNG when the block ends without error."""
    return png_figure(stream, style=_STYLE, resolution=_RESOLUTION)


class ShownCoordinates:
    """Independent coordinates as people read them: mm and degrees."""

    def __init__(self, mechanism: Mechanism):
        self._names = mechanism.independent
        joints = mechanism.structure.tree.joints
        self._units = [joints[j].unit for j in mechanism.tree_indices(self._names)]

    def value(self, column: int, value: Any) -> Any:
        """A value, or an array of values, of a coordinate in m or rad."""
        return value * 1e3 if self._units[column] == 'm' else np.degrees(value)

    def unit(self, column: int) -> str:
        """Unit of :meth:`value`."""
        return 'mm' if self._units[column] == 'm' else '°'

    def label(self, column: int) -> str:
        """Label of an axis."""
        return f'{self._names[column]} ({self.unit(column)})'

    def along(self, grid: Grid) -> list[FloatArray]:
        """Values of the coordinates of a grid."""
        pairs = zip(grid.columns, grid.values, strict=True)
        return [np.asarray(self.value(column, values)) for column, values in pairs]

    def elsewhere(self, grid: Grid) -> str:
        """Where the coordinates are that a grid does not cover."""
        others = [
            f'{name} = {self.value(column, grid.base[column]):.4g} {self.unit(column)}'
            for column, name in enumerate(self._names)
            if column not in grid.columns
        ]
        return f' at {", ".join(others)}' if others else ''
