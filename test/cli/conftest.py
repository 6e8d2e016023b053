# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runs commands inside the test's process, so that a mechanism is loaded only once."""

import dataclasses
import functools
import pathlib
from collections.abc import Callable, Iterator, Sequence

import click
import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.cli import commands, main
from masticator_dynamics.files.tables import read_table, write_table


@dataclasses.dataclass(frozen=True)
class Answer:
    """Result of a command."""

    status: int
    out: str
    err: str


_load = Mechanism.load.__func__


@functools.cache
def _load_once(name: str, actuators: tuple[str, ...] | None) -> Mechanism:
    return _load(Mechanism, name, actuators)


@pytest.fixture(scope='module', autouse=True)
def quick_loading() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Mechanism,
            'load',
            # Descriptions that tests write are read anew.
            lambda name, actuators=None: (
                _load(Mechanism, name, actuators) if '/' in name else _load_once(name, actuators)
            ),
        )
        yield


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    def run(*words: object, command: click.Command = commands) -> Answer:
        capsys.readouterr()
        status = main([str(word) for word in words], command)
        return Answer(status, *capsys.readouterr())

    return run


@pytest.fixture
def write(tmp_path: pathlib.Path) -> Callable[..., pathlib.Path]:
    """Write a CSV file of columns and rows into the test's folder."""

    def write(columns: Sequence[str], rows: object, name: str = 'in.csv') -> pathlib.Path:
        file = tmp_path / name
        write_table(str(file), columns, np.atleast_2d(np.asarray(rows, dtype=float)))
        return file

    return write


@pytest.fixture
def read() -> Callable[[pathlib.Path], dict[str, np.ndarray]]:
    """Read a CSV file as columns by name."""

    def read(file: pathlib.Path) -> dict[str, np.ndarray]:
        table = read_table(str(file))
        return dict(zip(table.columns, table.numbers(table.columns).T, strict=True))

    return read
