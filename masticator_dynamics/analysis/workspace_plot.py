# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of a surveyed grid: classes, room in the ranges, singularities, conditioning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from masticator_dynamics.analysis.grid import Grid
from masticator_dynamics.analysis.pictures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    ShownCoordinates,
    png_figure,
)
from masticator_dynamics.analysis.workspace_map import PoseClass, Workspace
from masticator_dynamics.engine.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from masticator_dynamics.mechanism import Mechanism

_COLOURS = {
    PoseClass.USABLE: GREEN,
    PoseClass.OUT_OF_REACH: '#dddddd',
    PoseClass.OTHER_BRANCH: '#999999',
    PoseClass.SINGULAR: BLACK,
    PoseClass.OUT_OF_RANGE: ORANGE,
    PoseClass.NEAR_TYPE_2: RED,
    PoseClass.ACROSS_TYPE_2: PURPLE,
    PoseClass.NEAR_TYPE_1: BLUE,
}
TITLES = (
    'Class',
    'Room in the ranges (part of half width)',
    'Distance from singularities (0 to 1)',
    'Condition number of actuation',
)


class WorkspacePlot:
    """A figure: lines over one coordinate, maps over two, a row of maps for each slice of more.

    Parameters
    ----------
    slices : sequence of (Grid, Workspace)
        Surveyed grids over one or two coordinates.
    """

    def __init__(self, mechanism: Mechanism, slices: Sequence[tuple[Grid, Workspace]]):
        self._coordinates = ShownCoordinates(mechanism)
        self._title = f'Workspace of {mechanism.name}'
        self._slices = slices

    def write(self, stream: IO[Any]) -> None:
        """Write it as PNG."""
        with png_figure(stream, style='maps', resolution=110) as figure:
            grid, survey = self._slices[0]
            if len(grid.columns) == 1:
                self._lines(figure, grid, survey)
            elif len(self._slices) == 1:
                figure.set_size_inches(13.0, 9.0)
                figure.suptitle(
                    f'{self._title}{self._coordinates.elsewhere(grid)} (+: home)',
                    fontsize=13,
                )
                self._maps(figure, figure.subplots(2, 2).ravel(), grid, survey)
            else:
                self._rows(figure)

    def _rows(self, figure: Any) -> None:
        """Show slices below one another."""
        figure.set_size_inches(19.0, 3.6 * len(self._slices) + 0.5)
        figure.suptitle(f'{self._title} (+: home)', fontsize=13)
        parts = figure.subfigures(len(self._slices), 1)
        for part, (grid, survey) in zip(parts, self._slices, strict=True):
            part.suptitle(
                f'Slice{self._coordinates.elsewhere(grid)}',
                x=0.01,
                ha='left',
                fontsize=11,
            )
            self._maps(part, part.subplots(1, 4), grid, survey)

    def _lines(self, figure: Any, grid: Grid, survey: Workspace) -> None:
        figure.set_size_inches(9.0, 10.0)
        figure.suptitle(self._title + self._coordinates.elsewhere(grid), fontsize=13)
        (across,) = self._coordinates.along(grid)
        panels = figure.subplots(4, 1, sharex=True)
        present = _present(survey)
        places = np.searchsorted(present, survey.pose_class)
        colours = [_COLOURS[PoseClass(k)] for k in survey.pose_class]
        panels[0].scatter(across, places, c=colours, s=14)
        panels[0].set_yticks(range(len(present)), [_words(k) for k in present])
        panels[0].set_ylim(-0.5, len(present) - 0.5)
        panels[1].plot(across, survey.room)
        panels[1].axhline(0.0, color='black', linewidth=0.6)
        panels[2].plot(across, survey.type_1, label='type 1')
        panels[2].plot(across, survey.type_2, '--', label='type 2')
        panels[2].axhline(survey.clearance, color='black', linewidth=0.6, label='clearance')
        panels[2].legend()
        panels[3].semilogy(across, survey.condition_actuation)
        ticks = _log_ticks(*panels[3].get_ylim())
        panels[3].minorticks_off()
        panels[3].set_yticks(ticks, [f'{tick:g}' for tick in ticks])
        for panel, title in zip(panels, TITLES, strict=True):
            panel.set_title(title)
        panels[3].set_xlabel(self._coordinates.label(grid.columns[0]))

    def _maps(self, part: Any, panels: Any, grid: Grid, survey: Workspace) -> None:
        """Four maps over two coordinates."""
        least = np.fmin(survey.type_1, survey.type_2)
        show = _Map(part, self._coordinates.along(grid), grid.shape)
        show.classes(panels[0], survey)
        room = show.values(panels[1], survey.room, cmap='RdYlBu', vmin=-1.0, vmax=1.0)
        room.ax.axhline(0.0, color='black')
        show.contour(panels[1], survey.room, 0.0, 'black')
        distance = show.values(panels[2], least, cmap='viridis', vmin=0.0)
        distance.ax.axhline(survey.clearance, color='white')
        show.contour(panels[2], least, survey.clearance, 'white')
        show.logarithmic(panels[3], survey.condition_actuation, cmap='magma_r')
        base = [self._coordinates.value(column, grid.base[column]) for column in grid.columns]
        for panel, title in zip(panels, TITLES, strict=True):
            panel.set_title(title)
            panel.set_xlabel(self._coordinates.label(grid.columns[0]))
            panel.set_ylabel(self._coordinates.label(grid.columns[1]))
            panel.plot(*base, '+', color='black', markersize=9, scalex=False, scaley=False)


class _Map:
    """Maps over the same two coordinates, each with its scale."""

    def __init__(self, part: Any, across: Sequence[FloatArray], shape: tuple[int, ...]):
        self._part, self._across, self._shape = part, across, shape

    def classes(self, panel: Axes, survey: Workspace) -> None:
        """Colours for the classes that occur, named on the scale."""
        from matplotlib.colors import BoundaryNorm, ListedColormap

        present = _present(survey)
        colours = ListedColormap([_COLOURS[k] for k in present])
        places = np.searchsorted(present, survey.pose_class)
        norm = BoundaryNorm(np.arange(len(present) + 1) - 0.5, len(present))
        bar = self.values(panel, places, cmap=colours, norm=norm)
        bar.set_ticks(range(len(present)), labels=[_words(k) for k in present])
        bar.ax.tick_params(length=0)

    def values(self, panel: Axes, values: npt.NDArray[Any], **style: Any) -> Any:
        """Colours for numbers; returns the scale."""
        panel.set_facecolor('#eeeeee')
        shown = values.reshape(self._shape).T
        mesh = panel.pcolormesh(*self._across, shown, shading='nearest', rasterized=True, **style)
        return self._part.colorbar(mesh, ax=panel)

    def logarithmic(self, panel: Axes, values: FloatArray, **style: Any) -> None:
        """Colours for numbers above 1, the same one for the largest hundredth."""
        from matplotlib.colors import LogNorm

        finite = values[np.isfinite(values)]
        low, high = np.quantile(finite, [0.0, 0.99]) if finite.size else (1.0, 10.0)
        high = max(high, 1.05 * low)
        bar = self.values(panel, values, norm=LogNorm(low, high), **style)
        ticks = _log_ticks(low, high)
        bar.minorticks_off()
        bar.set_ticks(ticks, labels=[f'{tick:g}' for tick in ticks])

    def contour(self, panel: Axes, values: FloatArray, level: float, colour: str) -> None:
        """Draw one level, if it occurs."""
        finite = values[np.isfinite(values)]
        if finite.size and finite.min() < level < finite.max():
            panel.contour(*self._across, values.reshape(self._shape).T, [level], colors=colour)


def _log_ticks(low: float, high: float) -> list[float]:
    """Round numbers; those of a decade that is not the only one are few."""
    steps = [1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0] if high < 30.0 * low else [1.0, 3.0]
    if high > 1e4 * low:
        steps = [1.0]
    ticks = [step * 10.0**decade for decade in range(16) for step in steps]
    ticks = [tick for tick in ticks if low <= tick <= high]
    return ticks if len(ticks) > 2 else [float(f'{x:.3g}') for x in np.geomspace(low, high, 4)]


def _present(survey: Workspace) -> list[PoseClass]:
    return [PoseClass(k) for k in np.unique(survey.pose_class)]


def _words(pose_class: PoseClass) -> str:
    return pose_class.label.replace('_', ' ')
