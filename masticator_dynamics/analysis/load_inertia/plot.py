# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of load inertia over one or two coordinates, as S4 Fig. 5."""

from __future__ import annotations

import itertools
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from masticator_dynamics.analysis.grid import PoseNet
from masticator_dynamics.analysis.pictures import ShownCoordinates, png_figure
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.inertia_coupling import inertia_units

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from masticator_dynamics.mechanism import Mechanism

_PANEL = (4.8, 3.7)  # inches
_LEVELS = 16
_FAR_ABOVE = 3.0  # times the 95th percentile: near a singularity


class LoadInertiaPlot:
    """A map with contours for every actuator, or its line over a single coordinate.

    Parameters
    ----------
    values : array, shape (N, n_u)
        Load inertia at the net's poses, SI; NaN is left blank.
    """

    def __init__(self, mechanism: Mechanism, net: PoseNet, values: FloatArray):
        self._name, self._joints = mechanism.name, mechanism.actuated
        self._coordinates = ShownCoordinates(mechanism)
        self._net = net
        largest = float(np.nanmax(values)) if np.isfinite(values).any() else 0.0
        # Thousandths, millionths ... of the unit, so that numbers are short.
        power = 3 * int(np.floor(np.log10(largest) / 3.0)) if largest > 0.0 else 0
        self._values = values / 10.0**power
        factor = f'$10^{{{power}}}$ ' if power else ''
        self._units = [factor + unit.replace('^2', '²') for unit in inertia_units(mechanism)]

    def write(self, stream: IO[Any]) -> None:
        """Write it as PNG."""
        grid = self._net.grid
        with png_figure(stream, style='maps', resolution=110) as figure:
            figure.suptitle(f'Load inertia of {self._name}{self._coordinates.elsewhere(grid)}')
            if len(grid.columns) == 1:
                self._lines(figure)
            else:
                self._maps(figure)

    def _lines(self, figure: Figure) -> None:
        figure.set_size_inches(8.0, 5.0)
        panel = figure.subplots()
        (across,) = self._coordinates.along(self._net.grid)
        # Dashes, because mirrored limbs feel the same.
        for joint, values, dashes in zip(
            self._joints, self._values.T, itertools.cycle(('-', '--', ':', '-.')), strict=False
        ):
            panel.plot(across, values, dashes, label=joint.replace('_', ' '))
        units = ', '.join(dict.fromkeys(self._units))
        panel.set_xlabel(self._coordinates.label(self._net.grid.columns[0]))
        panel.set_ylabel(f'load inertia ({units})')
        panel.grid(color='#dddddd', linewidth=0.6)
        panel.legend()

    def _maps(self, figure: Figure) -> None:
        across = min(3, len(self._joints))
        down = -(-len(self._joints) // across)
        figure.set_size_inches(_PANEL[0] * across, _PANEL[1] * down + 0.4)
        panels = figure.subplots(down, across, squeeze=False).ravel()
        for panel in panels[len(self._joints) :]:
            panel.set_visible(False)
        for k, joint in enumerate(self._joints):
            self._map(figure, panels[k], joint.replace('_', ' '), k)

    def _map(self, figure: Figure, panel: Axes, title: str, k: int) -> None:
        columns = self._net.grid.columns
        labels = [self._coordinates.label(column) for column in columns]
        panel.set(xlabel=labels[0], ylabel=labels[1], facecolor='#eeeeee')
        if len({self._coordinates.unit(column) for column in columns}) == 1:
            panel.set_aspect('equal')
        x, y = (
            self._net.table(self._coordinates.value(column, self._net.poses[:, column]))
            for column in columns
        )
        values = self._net.table(self._values[:, k])
        if not np.isfinite(values).any():
            panel.set_title(f'{title}: out of reach')
            return
        least, most = float(np.nanmin(values)), float(np.nanmax(values))
        panel.set_title(f'{title}: {least:.3g} to {most:.3g}')
        if most - least < 1e-9 * most:  # a constant has no contours
            panel.pcolormesh(x, y, values, shading='nearest')
            return
        filled = panel.contourf(
            x, y, np.ma.masked_invalid(values), levels=_levels(values), cmap='viridis',
            extend='max' if most > _levels(values)[-1] else 'neither',
        )  # fmt: skip
        lines = panel.contour(filled, colors='white', linewidths=0.7)
        panel.clabel(lines, np.asarray(lines.levels)[1:-1:2], fontsize=8)
        for index, mark in ((np.nanargmin(values), 'v'), (np.nanargmax(values), '^')):
            at = np.unravel_index(index, values.shape)
            panel.plot(x[at], y[at], mark, color='#D55E00', markersize=7, clip_on=False)
        figure.colorbar(filled, ax=panel, label=self._units[k], shrink=0.8)


def _levels(values: FloatArray) -> FloatArray:
    """Round levels of contours, below values that a singularity makes far larger than the rest."""
    from matplotlib.ticker import MaxNLocator

    most, usual = float(np.nanmax(values)), float(np.nanquantile(values, 0.95))
    top = most if most <= _FAR_ABOVE * usual else usual
    return np.asarray(MaxNLocator(_LEVELS).tick_values(float(np.nanmin(values)), top))
