# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What pictures have in common: colours, style, the file; units and labels of coordinates."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.files.share import share_directory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from masticator_dynamics.analysis.grid import Grid
    from masticator_dynamics.mechanism import Mechanism

# Okabe and Ito's colours, which colour-blind readers tell apart.
BLUE, ORANGE, GREEN = '#0072B2', '#E69F00', '#009E73'
RED, PURPLE, SKY, BLACK = '#D55E00', '#CC79A7', '#56B4E9', '#000000'
COLOURS = BLUE, ORANGE, GREEN, RED, PURPLE, SKY
_DASHES = '-', '--', ':', '-.'


@contextlib.contextmanager
def png_figure(
    target: IO[Any] | pathlib.Path,
    size: tuple[float, float] | None = None,
    style: str = 'curves',
    resolution: int = 125,
    settings: dict[Any, Any] | None = None,
) -> Iterator[Figure]:
    """A figure to draw in, written as PNG when the block ends without error.

    Parameters
    ----------
    size : tuple of float, optional
        Width and height, inches.
    style : str
        Settings of matplotlib while the block runs: a file of ``config/view/``.
    resolution : int
        Dots per inch.
    settings : dict, optional
        Those that differ from the style.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    file = share_directory() / f'config/view/{style}.mplstyle'
    with matplotlib.rc_context(settings, file):
        figure = Figure(figsize=size, layout='constrained')
        FigureCanvasAgg(figure)
        yield figure
        figure.savefig(target, dpi=resolution, format='png', pil_kwargs={'optimize': True})


def plot_lines(axes: Axes, times: FloatArray, names: Sequence[str], rows: FloatArray) -> None:
    """Lines of the columns of ``rows`` (N, k), each other one dashed, with a legend beside."""
    for k, (name, values) in enumerate(zip(names, rows.T, strict=True)):
        lap, colour = divmod(k, len(COLOURS))
        dash = _DASHES[(2 * lap + k) % len(_DASHES)]
        axes.plot(times, values, dash, color=COLOURS[colour], label=name)
    legend_beside(axes)


def legend_beside(axes: Axes) -> None:
    """A legend on the right of a panel that has lines."""
    if axes.lines:
        axes.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), handlelength=1.8)


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
