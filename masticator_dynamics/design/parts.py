# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The folder of a study: tables in parts, each a Parquet file written whole, and none twice."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.design.judge import Status
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.folder import locked
from masticator_dynamics.files.tables import replacing, write_text
from masticator_dynamics.optional import needed

STUDY, IDENTITY = 'study.yaml', 'study.key'


class Parts:
    """Where the tables of a study are kept.

    Parameters
    ----------
    folder : pathlib.Path
        New, empty, or from an interrupted run of the same study.
    text : str
        Of the study file.
    identity : str
        Key of what tables depend on: files that the study names included.
    columns : sequence of str
        Of all tables.

    Raises
    ------
    InputError
        If the folder holds something else.
    """

    def __init__(self, folder: pathlib.Path, text: str, identity: str, columns: Sequence[str]):
        self.folder, self._text = folder, text
        self._identity, self._columns = identity, list(columns)
        kept = folder / STUDY
        if kept.exists():
            if kept.read_text(encoding='utf-8') != text:
                raise InputError(f'{folder} holds another study ({kept}); choose a new folder')
            if (folder / IDENTITY).read_text(encoding='utf-8').strip() != self._identity:
                raise InputError(
                    f'{folder}: files that the study names, or this package, have changed since '
                    'it began; choose a new folder'
                )
        elif folder.exists() and (
            not folder.is_dir() or {f.name for f in folder.iterdir()} - {IDENTITY}
        ):
            raise InputError(f'{folder} is there already and is no study; choose a new folder')

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Keep the folder for this process."""
        with locked(self.folder, 'study'):
            write_text(str(self.folder / IDENTITY), self._identity + '\n')
            write_text(str(self.folder / STUDY), self._text)
            yield

    def file(self, stage: str, number: int) -> pathlib.Path:
        """Of a part of a table."""
        return self.folder / stage / f'part-{number:06d}.parquet'

    def write(self, stage: str, number: int, table: FloatArray) -> None:
        """Write a part (rows, columns)."""
        arrow, parquet = needed('pyarrow'), needed('pyarrow.parquet')
        labels = np.array([status.label for status in Status])
        content: dict[str, Any] = {}
        for name, column in zip(self._columns, table.T, strict=True):
            content[name] = labels[column.astype(int)] if name == 'status' else column
        file = self.file(stage, number)
        file.parent.mkdir(exist_ok=True)
        with replacing(file, binary=True) as stream:
            parquet.write_table(arrow.table(content), stream)

    def read(self, stage: str, number: int) -> FloatArray | None:
        """A part, bit for bit, if it has been written."""
        file = self.file(stage, number)
        if not file.exists():
            return None
        found = needed('pyarrow.parquet').read_table(file)
        by_label = {status.label: float(status) for status in Status}
        columns = []
        for name in self._columns:
            column = found.column(name)
            if name == 'status':
                columns.append(np.array([by_label[x] for x in column.to_pylist()], dtype=float))
            else:
                columns.append(column.to_numpy())
        return np.column_stack(columns)
