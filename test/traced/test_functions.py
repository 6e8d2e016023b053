# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Functions built from arithmetic against those of the C library."""

import math

import numpy as np
import pytest

from masticator_dynamics.engine.traced import functions
from masticator_dynamics.engine.traced.llvm_ir import row_function
from masticator_dynamics.engine.traced.matrices import orthogonal
from masticator_dynamics.engine.traced.numbers import (
    Graph,
    Lanes,
    lane_least,
    lane_pick,
    lane_sum,
    select,
)
from masticator_dynamics.engine.traced.row_code import address, library

CASES = {
    'hyperbolic_tangent': (math.tanh, (-30.0, 30.0)),
    'exponential': (math.exp, (-2.0, 2.0)),
    'whole_below': (math.floor, (-1e9, 1e9)),
}


@pytest.mark.parametrize('name', CASES)
def test_on_floats_and_as_machine_code(name):
    expected, (low, high) = CASES[name]
    function, graph = getattr(functions, name), Graph()
    (x,) = graph.inputs(1)
    text = row_function(graph, [function(x)], 'row')
    code = library(name, lambda: text, [text])
    given, found = np.zeros(1), np.zeros(1)
    around = [0.0, 1e-300, 1e-9, -1e-9, 1.0, -1.0, 0.3125, low, high, math.nextafter(1.0, 0.0)]
    for value in [*around, *np.random.default_rng(3).uniform(low, high, 2000)]:
        given[0] = value
        code.row(address(given), address(found))
        assert found[0] == pytest.approx(expected(value), rel=4e-15, abs=0.0), value
        assert function(float(value)) == pytest.approx(expected(value), rel=4e-15, abs=0.0)


def test_lanes_of_any_number_beside_one_another_in_machine_code() -> None:
    """Sums, minima and single lanes, also if the same number is in several lanes."""
    rng = np.random.default_rng(4)
    tables = [rng.normal(size=count) for count in range(2, 13)]

    def outputs(x):
        found = []
        for table in tables:
            wide = select(x - Lanes(table), x * Lanes(table), Lanes(table))
            last = len(table) - 1
            found += [lane_sum(wide, len(table)), lane_least(wide), lane_pick(wide, last)]
        return found

    graph = Graph()
    text = row_function(graph, outputs(*graph.inputs(1)), 'row')
    code = library('lanes', lambda: text, [text])
    given, numbers = np.zeros(1), np.zeros(3 * len(tables))
    for given[0] in (-3.0, -0.1, 0.2, 3.0):
        code.row(address(given), address(numbers))
        np.testing.assert_allclose(numbers, outputs(float(given[0])), rtol=1e-13, atol=1e-14)
        wide = [np.where(given[0] > t, given[0] * t, t) for t in tables]
        expected = [x for t in wide for x in (t.sum(), t.min(), t[-1])]
        np.testing.assert_allclose(numbers, expected, rtol=1e-13, atol=1e-14)


def test_an_orthogonal_basis_keeps_its_digits_where_columns_are_nearly_alike() -> None:
    rng = np.random.default_rng(8)
    matrix = rng.normal(size=(6, 4))
    matrix[:, 3] = matrix[:, :3] @ [0.3, -2.0, 1.0] + 1e-7 * matrix[:, 3]
    basis, triangle = (np.array(part) for part in orthogonal(matrix.T.tolist()))
    assert np.abs(basis @ basis.T - np.eye(4)).max() < 1e-14
    assert np.abs(basis.T @ triangle - matrix).max() < 1e-14
    assert not np.tril(triangle, -1).any()
    # Least efforts for a force lose as many digits as the condition has, not twice as many.
    lost = 10.0 * np.finfo(float).eps * np.linalg.cond(matrix)
    force = rng.normal(size=4)
    least = np.linalg.lstsq(matrix.T, force, rcond=None)[0]
    along = np.linalg.solve(triangle.T, force)
    assert np.abs(along @ basis - least).max() < lost * np.abs(least).max()
