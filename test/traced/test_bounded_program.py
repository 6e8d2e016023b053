# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Minima within bounds against all sets of active ones, on floats and as machine code."""

from __future__ import annotations

import itertools
import pathlib

import numpy as np
import pytest

from masticator_dynamics.engine.traced.bounded_program import Bound, minimum
from masticator_dynamics.engine.traced.numbers import lane_pack, lane_pick
from masticator_dynamics.engine.traced.row_code import RowCode
from masticator_dynamics.files.file_cache import sources

BOUNDS = 7


def quadratic(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    root = rng.normal(size=(size, size)) + 0.5 * np.eye(size)
    return root @ root.T + 0.1 * np.eye(size), 3.0 * rng.normal(size=size)


def lowest(hessian, gradient, normals, offsets) -> tuple[float, np.ndarray | None]:
    """The least value of a quadratic function within planes, by trying all sets of active ones."""
    size = len(gradient)
    best, where = np.inf, None
    for count in range(size + 1):
        for active in itertools.combinations(range(len(offsets)), count):
            rows, right = normals[list(active)], -offsets[list(active)]
            matrix = np.block([[hessian, rows.T], [rows, np.zeros((count, count))]])
            if np.linalg.cond(matrix) > 1e10:
                continue
            x = np.linalg.solve(matrix, np.concatenate([-gradient, right]))[:size]
            value = 0.5 * x @ hessian @ x + gradient @ x
            if (normals @ x + offsets <= 1e-9).all() and value < best:
                best, where = value, x
    return best, where


def program(size: int, lanes: int = 1):
    """Status and point from Hessian, gradient, and normals and offsets of planes, in each lane."""
    inputs = size * size + size + BOUNDS * (1 + size)

    def function(given, _):
        numbers = iter([lane_pack(given[i::inputs]) for i in range(inputs)])

        def take(*shape):
            if not shape:
                return next(numbers)
            return [take(*shape[1:]) for _ in range(shape[0])]

        hessian, gradient = take(size, size), take(size)
        rows = take(BOUNDS, 1 + size)

        def derivatives(x):
            slope = [sum(h * a for h, a in zip(row, x, strict=True)) for row in hessian]
            return [s + g for s, g in zip(slope, gradient, strict=True)], hessian

        answer = minimum([0.0] * size, [Bound(row, 0.0, []) for row in rows], derivatives, 1e-6)
        return [lane_pick(x, i) for i in range(lanes) for x in (answer.status, *answer.x)]

    return RowCode(
        f'test program {size} {lanes}', lanes * inputs, lanes * (1 + size), function,
        lambda: [sources('engine/traced'), pathlib.Path(__file__).read_bytes()],
    )  # fmt: skip


def test_lanes_of_a_loop_end_by_themselves() -> None:
    size, lanes = 3, 4
    rng, alone, together = np.random.default_rng(9), program(size), program(size, lanes)
    mixed = 0
    for _ in range(60):
        rows = []
        for _ in range(lanes):
            hessian, gradient = quadratic(rng, size)
            planes = np.column_stack([rng.normal(size=BOUNDS) - 0.4, rng.normal(size=(BOUNDS, 3))])
            rows.append(np.concatenate([hessian.ravel(), gradient, planes.ravel()]))
        answers = together(np.concatenate(rows)).reshape(lanes, -1)
        mixed += len({*answers[:, 0]}) > 1
        np.testing.assert_allclose(answers, [alone(row) for row in rows], rtol=1e-9, atol=1e-9)
    assert mixed > 10


@pytest.mark.parametrize('size', [1, 2, 3, 4])
def test_no_set_of_active_bounds_is_better(size: int) -> None:
    rng, code = np.random.default_rng(size), program(size)
    ends = {1.0: 0, -1.0: 0}
    for _ in range(150):
        hessian, gradient = quadratic(rng, size)
        normals, offsets = rng.normal(size=(BOUNDS, size)), rng.normal(size=BOUNDS) - 0.4
        rows = np.column_stack([offsets, normals])
        given = np.concatenate([hessian.ravel(), gradient, rows.ravel()])
        best, where = lowest(hessian, gradient, normals, offsets)
        for status, *x in (code(given), code.on_floats(given)):
            assert status == (-1.0 if where is None else 1.0)
            if where is not None:
                point = np.array(x)
                value = 0.5 * point @ hessian @ point + gradient @ point
                assert (normals @ point + offsets).max() < 1e-9
                assert value <= best + 1e-9 * (1.0 + abs(best))
        ends[status] += 1
    assert min(ends.values()) > 5


def test_a_length_bends_a_bound() -> None:
    """The nearest point of a circle."""
    bound = Bound([-2.0, 0.0, 0.0], 1.0, [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    away = np.array([3.0, 4.0])

    def derivatives(x):
        return [a - b for a, b in zip(x, away, strict=True)], np.eye(2).tolist()

    answer = minimum([0.1, 0.0], [bound], derivatives, 1.0)
    assert answer.status == 1.0
    assert answer.x == pytest.approx(2.0 * away / 5.0, abs=1e-8)
