# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What pictures have in common: colours, style, the file; units and labels of coordinates."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from masticator_dynamics.analysis.grid import Grid
    from masticator_dynamics.mechanism import Mechanism

# Okabe and Ito's colours, which colour-blind readers tell apart.
BLUE, ORANGE, GREEN = '#0072B2', '#E69F00', '#009E73'
RED, PURPLE, SKY, BLACK = '#D55E00', '#CC79A7', '#56B4E9', '#000000'
STYLE: dict[Any, Any] = {
    'font.size': 11,
    'axes.titlesize': 12,
    'axes.titleweight': 'bold',
    'axes.titlelocation': 'left',
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.grid': True,
    'grid.color': '#dddddd',
    'grid.linewidth': 0.6,
    'lines.linewidth': 1.3,
    'legend.frameon': False,
    'legend.fontsize': 10,
}
# Of maps: lines of a grid would cross them.
MAP_STYLE: dict[Any, Any] = {
    'font.size': 10,
    'axes.titlesize': 11,
    'axes.titleweight': 'bold',
    'axes.titlelocation': 'left',
    'legend.frameon': False,
}


@contextlib.contextmanager
def png_figure(
    target: IO[Any] | pathlib.Path,
    size: tuple[float, float] | None = None,
    style: dict[Any, Any] = STYLE,
    resolution: int = 125,
) -> Iterator[Figure]:
    """A figure to draw in, written as PNG when the block ends without error.

    Parameters
    ----------
    target : stream or path
        The PNG.
    size : tuple of float, optional
        Width and height, inches.
    style : dict
        Settings of matplotlib while the block runs.
    resolution : int
        Dots per inch.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(style):
        figure = Figure(figsize=size, layout='constrained')
        FigureCanvasAgg(figure)
        yield figure
        figure.savefig(target, dpi=resolution, format='png', pil_kwargs={'optimize': True})


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
