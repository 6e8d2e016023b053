# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Object files loaded without LLVM, against loading them by LLVM."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from masticator_dynamics.engine.traced import linking, machine_code, rows_ir
from masticator_dynamics.engine.traced.machine_code import Library, object_code, this_processor
from masticator_dynamics.engine.traced.numbers import Graph, absolute, square_root
from masticator_dynamics.engine.traced.row_code import RowCode
from masticator_dynamics.engine.traced.rows_ir import rows_function
from masticator_dynamics.files import file_cache

pytestmark = pytest.mark.skipif(not linking.supported(), reason='left to LLVM on this computer')

ELSEWHERE = (
    'declare void @elsewhere()\ndefine void @here() {\n  call void @elsewhere()\n  ret void\n}\n'
)


def made_by() -> list[str]:
    """What kept code depends on."""
    return [file_cache.sources('engine/traced')]


def polynomials() -> str:
    """Two functions with many constants, one of which calls the other."""
    graph = Graph()
    x, y = graph.inputs(2)
    outputs = [square_root(absolute(x)) * (0.3 + k) + y / (k + 7.1) for k in range(20)]
    return rows_function(graph, outputs, 'rows', this_processor().rows, 2)


def answers(library: Library) -> np.ndarray:
    given = np.random.default_rng(3).normal(size=(4 * this_processor().rows, 2))
    outputs = np.empty((len(given), 20))
    library.rows(len(given), given.ctypes.data, outputs.ctypes.data)
    return outputs


def test_the_code_is_what_llvm_makes_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    code = object_code(polynomials(), this_processor())
    found = answers(Library(code))
    monkeypatch.setattr(linking, 'supported', lambda: False)
    np.testing.assert_array_equal(found, answers(Library(code)))


def test_a_long_function_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that later parts need are handed on: the last ones need all of them."""

    def chain() -> str:
        graph = Graph()
        x, y = graph.inputs(2)
        found = [x, y]
        for k in range(58):
            found.append((found[-1] - found[k // 2] * x) / (2.0 + absolute(found[k])))
        return rows_function(graph, found[::-3], 'rows', this_processor().rows, 2)

    whole = answers(Library(object_code(chain(), this_processor())))
    assert len(np.unique(whole[0])) > 15
    monkeypatch.setattr(rows_ir, 'PART', 7)
    text = chain()
    assert text.count('define void @rows_group_') > 20
    found = answers(Library(object_code(text, this_processor())))
    np.testing.assert_allclose(found, whole, rtol=1e-13, atol=1e-15)


def test_a_function_of_more_inputs_than_a_part_has_operations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rows_ir, 'PART', 7)
    graph = Graph()
    x = graph.inputs(30)
    outputs = [x[k] * x[29 - k] for k in range(20)]
    text = rows_function(graph, outputs, 'rows', this_processor().rows, 30)
    assert text.count('define void @rows_group_') > 1
    library = Library(object_code(text, this_processor()))
    rows = np.random.default_rng(4).normal(size=(16, 30))
    products = np.empty((16, 20))
    library.rows(16, rows.ctypes.data, products.ctypes.data)
    np.testing.assert_array_equal(products, rows[:, :20] * rows[:, :9:-1])


@pytest.mark.parametrize('rows', [1, 5, 16])
def test_tables_compute_once_what_their_rows_share(rows: int) -> None:
    """Against the same arithmetic on floats; some outputs depend on the constants alone."""

    def function(given: list, share: bool) -> list:
        x, y, a, b = given
        c = a * b + a
        d = c * c - b
        return [x * c, a, y + d, d, x / d + y * c, 3.0]

    constants = np.random.default_rng(5).uniform(1.0, 2.0, (3, 2))
    code = RowCode('a table', 2, 6, function, made_by, constants=constants[0])
    own = np.random.default_rng(6).normal(size=(3, rows, 2))
    for given in (own, own[0]):  # rows of each table, and the same for all
        found = code.of_tables(given, constants)
        for table, row in np.ndindex(found.shape[:2]):
            inputs = np.broadcast_to(given, own.shape)[table, row]
            expected = function([*inputs.tolist(), *constants[table].tolist()], False)
            np.testing.assert_allclose(found[table, row], expected, rtol=1e-12)


@pytest.mark.parametrize('rows', [0, 1, 5, 16])
def test_numbers_that_all_rows_have_in_common(rows: int) -> None:
    """Against the same arithmetic on floats, with constants of the code after them."""

    def function(given: list, share: bool) -> list:
        x, y, a, b, c = given
        return [x * (a * b + a) / c, y - b * c, c * b]

    given, common = np.random.default_rng(8).normal(size=(rows, 2)), np.array([0.7, -1.3])
    constants = np.array([2.5])
    code = RowCode('in common', 4, 3, function, made_by, constants=constants, common=2)
    answers = code.with_common(given, common)
    expected = [function([*row, *common, *constants], False) for row in given.tolist()]
    np.testing.assert_allclose(answers, np.array(expected).reshape(rows, 3), rtol=1e-12)


@pytest.mark.parametrize('outputs', [1, 7, 8, 21])
def test_rows_past_the_caches_are_the_same(outputs: int) -> None:
    given = np.random.default_rng(7).normal(size=(30, 2))
    found = [
        RowCode(
            f'past the caches {streamed}, {outputs}', 2, outputs,
            lambda row, share: [row[0] * k + row[1] for k in range(outputs)], made_by,
            streamed=streamed,
        )(given)
        for streamed in (False, True)
    ]  # fmt: skip
    np.testing.assert_array_equal(*found)
    expected = given[:, :1] * np.arange(outputs) + given[:, 1:]
    np.testing.assert_allclose(found[1], expected, rtol=1e-12, atol=1e-12)


def test_code_can_be_run_and_not_be_written() -> None:
    library = Library(object_code(polynomials(), this_processor()))
    at = library.address('rows')
    for line in pathlib.Path('/proc/self/maps').read_text().splitlines():
        area, rights, *_ = line.split()
        begin, end = (int(part, 16) for part in area.split('-'))
        if begin <= at < end:
            assert rights == 'r-xp'
            return
    raise AssertionError('it is not in memory')


@pytest.mark.parametrize('model', ['jitdefault', 'small'])
def test_what_is_not_understood_is_left_to_llvm(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code far from its constants, as older versions stored it, or calls to other functions."""
    monkeypatch.setattr(machine_code, 'MODEL', model)
    text = polynomials() if model == 'jitdefault' else ELSEWHERE
    code = object_code(text, this_processor())
    with pytest.raises(ValueError, match='relocation|elsewhere'):
        linking.linked(code)
    if model == 'jitdefault':
        library = Library(code)
        monkeypatch.setattr(machine_code, 'MODEL', 'small')
        expected = answers(Library(object_code(text, this_processor())))
        np.testing.assert_array_equal(answers(library), expected)
