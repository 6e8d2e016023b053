# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inertia coupling, drawn between the motors: for RViz, while somebody looks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from rclpy.lifecycle import LifecycleNode
from visualization_msgs.msg import Marker

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.inertia_coupling import inertia_coupling
from masticator_dynamics.engine.evaluation.results import Motion
from masticator_dynamics.ros.common import markers

_LINE, _TEXT = 0.015, 0.05  # relative to the size of the mechanism
_LEAST = 0.02  # index below which there is no line


def pair_indices(inertia: FloatArray) -> FloatArray:
    """What the index of an actuator would be with but one other (..., n_u, n_u), from M_A.

    ln(1 + |M_ij| / M_ii), row i: how much actuator i feels of actuator j. The mean of the ratios in
    a row is that of its coupling index.
    """
    diagonal = np.abs(np.diagonal(inertia, axis1=-2, axis2=-1))
    ratios = np.abs(inertia) / diagonal[..., None]
    pairs = np.log1p(ratios)
    count = np.arange(inertia.shape[-1])
    pairs[..., count, count] = 0.0
    return np.asarray(pairs)


class CouplingMarkers:
    """Lines between motors that feel one another, and the coupling index at each motor.

    Parameters
    ----------
    frame_prefix : str
        Put before the names of frames.
    """

    def __init__(self, node: LifecycleNode, mechanism: Mechanism, frame_prefix: str):
        self._mechanism, self._frame = mechanism, frame_prefix + mechanism.description.base
        self._size = mechanism.structure.extent()
        self._rows = mechanism.tree_indices(mechanism.actuated)
        self._board = markers.Board(node)

    def show(self, time: int, motion: Motion, warn: float, error: float) -> None:
        """Draw a pose of a time (ns), if somebody looks and it is time for the next drawing.

        Parameters
        ----------
        warn, error : float
            Indices above which lines and texts are amber and red; below they are green.
        """
        if not self._board.is_due(time):
            return
        inertia = self._mechanism.actuated_inertia(motion)
        places = self._mechanism.structure.tree.poses(motion.q).origins[self._rows]
        drawn = [*self._lines(places, inertia, warn, error)]
        drawn += self._texts(places, inertia_coupling(inertia), warn, error)
        self._board.show(time, drawn)

    def destroy(self) -> None:
        """Destroy the topic."""
        self._board.destroy()

    def _lines(
        self, places: FloatArray, inertia: FloatArray, warn: float, error: float
    ) -> Iterator[Marker]:
        """One for each pair, by the one of both that feels more; none where both feel little."""
        pairs = pair_indices(inertia)
        for number, (i, j) in enumerate(itertools.combinations(range(len(places)), 2)):
            index = max(pairs[i, j], pairs[j, i])
            if index < _LEAST:
                continue
            colour = by_thresholds(index, warn, error)
            line = markers.marker(Marker.LINE_STRIP, 'pairs', number, self._frame, colour)
            line.scale.x = _LINE * self._size * min(0.3 + index / max(error, 1e-9), 2.0)
            line.points = [markers.point(places[i]), markers.point(places[j])]
            yield line

    def _texts(
        self, places: FloatArray, indices: FloatArray, warn: float, error: float
    ) -> Iterator[Marker]:
        for number, (joint, place, index) in enumerate(
            zip(self._mechanism.actuated, places, indices.tolist(), strict=True)
        ):
            colour = by_thresholds(index, warn, error)
            text = markers.marker(Marker.TEXT_VIEW_FACING, 'indices', number, self._frame, colour)
            above = place + [0.0, 0.0, 1.2 * _TEXT * self._size]
            markers.write(text, f'{joint}: {index:.2f}', above, _TEXT * self._size)
            yield text


def by_thresholds(index: float, warn: float, error: float) -> markers.Colour:
    """Green, amber or red, as the status of a joint is OK, WARN or ERROR."""
    if index > error:
        return markers.RED
    return markers.AMBER if index > warn else markers.GREEN
