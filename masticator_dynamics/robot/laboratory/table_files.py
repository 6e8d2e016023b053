# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of an experiment as CSV, Parquet and a workbook, and its raw curves."""

from __future__ import annotations

import dataclasses
import importlib.util
import math
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from masticator_dynamics.errors import InputError
from masticator_dynamics.files.tables import replacing, write_table
from masticator_dynamics.robot.laboratory import recording
from masticator_dynamics.robot.laboratory.experiment_run import Experiment
from masticator_dynamics.robot.laboratory.result_tables import Table

WORKBOOK, CURVES = 'results.xlsx', 'curves'
_CURVE = ('time', 'gap', 'force')  # s, m, N


@dataclasses.dataclass(frozen=True)
class Formats:
    """What is written beside CSV files and the report.

    Attributes
    ----------
    parquet : bool
        Every table as Parquet, too; curves, if asked for, in one file.
    xlsx : bool
        All tables as a workbook.
    curves : bool
        Time, gap and force of every mouthful.
    """

    parquet: bool = False
    xlsx: bool = False
    curves: bool = False

    def check(self) -> None:
        """Check that what they need is installed, before any long work.

        Raises
        ------
        InputError
            Naming what is not.
        """
        for asked, module, extra in (
            (self.parquet, 'pyarrow', 'parquet'), (self.xlsx, 'xlsxwriter', 'xlsx'),
        ):  # fmt: skip
            if asked and importlib.util.find_spec(module) is None:
                raise InputError(
                    f"--{extra} needs {module}: pip install 'masticator_dynamics[{extra}]'"
                )


def write_tables(
    folder: pathlib.Path, tables: Mapping[str, Table], formats: Formats
) -> list[pathlib.Path]:
    """Write tables by name; return the files."""
    written = []
    for name, (columns, rows) in tables.items():
        file = folder / f'{name}.csv'
        write_table(str(file), columns, np.array(rows, dtype=object).reshape(-1, len(columns)))
        written.append(file)
        if formats.parquet:
            written.append(_write_parquet(file.with_suffix('.parquet'), columns, rows))
    if formats.xlsx:
        written.append(_write_workbook(folder / WORKBOOK, tables))
    return written


def write_curves(experiment: Experiment, formats: Formats) -> list[pathlib.Path]:
    """Write the curves of all existing recordings, one CSV each, and one Parquet file of all."""
    if not formats.curves:
        return []
    folder = experiment.folder / CURVES
    folder.mkdir(exist_ok=True)
    written = []
    for mouthful, values in _curves(experiment):
        file = folder / f'{mouthful.name}.csv'
        write_table(str(file), _CURVE, values)
        written.append(file)
    if formats.parquet:
        written.append(_write_curves_parquet(experiment))
    return written


def _curves(experiment: Experiment) -> Iterator[tuple[Any, np.ndarray]]:
    for mouthful in experiment.mouthfuls:
        file = experiment.recording(mouthful)
        if file.exists():
            series = recording.read_recording(file)
            yield mouthful, np.column_stack([series.time, series.gap, series.force])


def _write_parquet(file: pathlib.Path, columns: list[str], rows: list[list[Any]]) -> pathlib.Path:
    import pyarrow.parquet

    content = {name: [row[k] for row in rows] for k, name in enumerate(columns)}
    with replacing(file, binary=True) as stream:
        pyarrow.parquet.write_table(pyarrow.table(content), stream)
    return file


def _write_curves_parquet(experiment: Experiment) -> pathlib.Path:
    """One row group for each mouthful, with its levels: more would not fit into memory."""
    import pyarrow as pa
    import pyarrow.parquet

    factors = list(experiment.mouthfuls[0].levels)
    schema = pa.schema(
        [('mouthful', pa.int32()), *((name, pa.string()) for name in factors),
         ('repetition', pa.int32()), *((name, pa.float64()) for name in _CURVE)]
    )  # fmt: skip
    file = experiment.folder / f'{CURVES}.parquet'
    with replacing(file, binary=True) as stream, pa.parquet.ParquetWriter(stream, schema) as out:
        for mouthful, values in _curves(experiment):
            count = len(values)
            head = [mouthful.number, *map(str, mouthful.levels.values()), mouthful.repetition]
            columns = [[cell] * count for cell in head] + list(values.T)
            out.write_table(pa.table(dict(zip(schema.names, columns, strict=True)), schema))
    return file


def _write_workbook(file: pathlib.Path, tables: Mapping[str, Table]) -> pathlib.Path:
    """A sheet for each table; what is not a finite number is an empty cell."""
    import xlsxwriter

    with replacing(file, binary=True) as stream:
        # Texts of a protocol are texts, whatever they begin with.
        plain = {'strings_to_formulas': False, 'strings_to_urls': False, 'in_memory': True}
        book = xlsxwriter.Workbook(stream, plain)
        heading = book.add_format({'bold': True})
        for name, (columns, rows) in tables.items():
            sheet = book.add_worksheet(name)
            sheet.freeze_panes(1, 0)
            sheet.write_row(0, 0, columns, heading)
            for k, row in enumerate(rows, start=1):
                sheet.write_row(k, 0, [_cell(value) for value in row])
        book.close()
    return file


def _cell(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return value if math.isfinite(value) else None
