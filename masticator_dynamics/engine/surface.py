# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Curved surfaces as heights over a plane: polynomials, and splines through a grid of heights."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray


@dataclasses.dataclass(frozen=True, eq=False)
class Surface:
    """Height h(x, y) over a plane, m, with two continuous derivatives."""

    # Piecewise polynomials: numbers of cells and of coefficients along x and y; the lower ends of
    # the cells, followed by the last one's upper end, along x, then y; and the coefficients of each
    # cell, powers of y fastest, in coordinates from its lower ends (from 0 where there is none).
    numbers: FloatArray

    @classmethod
    def polynomial(
        cls, coefficients: npt.ArrayLike, x: npt.ArrayLike, y: npt.ArrayLike
    ) -> 'Surface':
        """The surface of one polynomial.

        Parameters
        ----------
        coefficients : array_like, 2-D
            ``coefficients[i][j]`` is that of x^i y^j, with x, y and the height in m.
        x, y : array_like, shape (2,)
            Where it begins and ends along each axis, m; may be infinite.
        """
        table = np.array(coefficients, dtype=float)
        # Coordinates of a cell count from its lower end, where it has one.
        for axis, (lower, _) in enumerate(np.array([x, y], dtype=float)):
            if math.isfinite(lower):
                table = np.apply_along_axis(_shifted, axis, table, lower)
        return cls(np.concatenate([[1, 1, *table.shape], x, y, table.ravel()]))

    @classmethod
    def spline(cls, x: npt.ArrayLike, y: npt.ArrayLike, heights: npt.ArrayLike) -> 'Surface':
        """The bicubic spline through points of a grid.

        Parameters
        ----------
        x, y : array_like, shapes (m,) and (n,)
            Increasing coordinates of the grid's lines, m.
        heights : array_like, shape (m, n)
            At ``x[i]``, ``y[j]``, m.
        """
        from scipy.interpolate import CubicSpline  # takes a third of a second, rarely needed

        x, y = np.array(x, dtype=float), np.array(y, dtype=float)
        along_y = CubicSpline(y, np.array(heights, dtype=float), axis=1)
        # (4, cells of y, points of x), then each of these a spline along x.
        along_x = CubicSpline(x, along_y.c, axis=2)
        table = along_x.c[::-1, :, ::-1]  # (power of x, cell of x, power of y, cell of y)
        cells = np.transpose(table, (1, 3, 0, 2))
        return cls(np.concatenate([[len(x) - 1, len(y) - 1, 4, 4], x, y, cells.ravel()]))

    def pieces(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Ends of the cells along x and y, coefficients (cells x, cells y, powers x, powers y)."""
        cells_x, cells_y, *orders = (int(n) for n in self.numbers[:4])
        ends_x, ends_y, table = np.split(self.numbers[4:], np.cumsum([cells_x + 1, cells_y + 1]))
        return ends_x, ends_y, table.reshape(cells_x, cells_y, *orders)

    def height(self, x: float, y: float) -> tuple[float, ...]:
        """Height, slopes h_x, h_y and curvatures h_xx, h_xy, h_yy; NaN outside."""
        ends_x, ends_y, table = self.pieces()
        (i, x), (j, y) = _in_cell(ends_x, x), _in_cell(ends_y, y)
        return polynomial_2(table[i, j].tolist(), x, y)


def _shifted(coefficients: FloatArray, origin: float) -> FloatArray:
    """Coefficients of the same polynomial in x - origin."""
    series = np.polynomial.Polynomial(coefficients)(np.polynomial.Polynomial([origin, 1.0]))
    return np.concatenate([series.coef, np.zeros(len(coefficients) - len(series.coef))])


def _in_cell(ends: FloatArray, x: float) -> tuple[int, float]:
    """The cell in which a coordinate lies, and the coordinate there; NaN outside of all."""
    cell = int((x >= ends[1:-1]).sum())
    if not ends[0] <= x <= ends[-1]:
        return cell, math.nan
    return cell, float(x - (ends[cell] if math.isfinite(ends[cell]) else 0.0))


def polynomial(coefficients: Sequence[Any], x: Any) -> tuple[Any, Any, Any]:
    """Value, first and second derivative of a polynomial, constant coefficient first."""
    value = slope = bend = 0.0
    for coefficient in reversed(coefficients):
        bend = bend * x + 2.0 * slope
        slope = slope * x + value
        value = value * x + coefficient
    return value, slope, bend


def polynomial_2(rows: Sequence[Sequence[Any]], x: Any, y: Any) -> tuple[Any, ...]:
    """Value, slopes (x, y) and curvatures (xx, xy, yy) of a polynomial in two numbers.

    Parameters
    ----------
    rows : sequence
        Coefficients: for each power of x, from the constant on, those of the powers of y.
    x, y : number
        Floats, or recorded numbers of `traced/`.
    """
    h = hx = hy = hxx = hxy = hyy = 0.0
    for row in reversed(rows):
        value, slope, bend = polynomial(row, y)
        hxx, hxy, hyy = hxx * x + 2.0 * hx, hxy * x + hy, hyy * x + bend
        hx, hy = hx * x + h, hy * x + slope
        h = h * x + value
    return h, hx, hy, hxx, hxy, hyy
