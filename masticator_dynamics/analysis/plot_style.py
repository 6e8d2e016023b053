# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Colours, settings of matplotlib and the file that all pictures share."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
