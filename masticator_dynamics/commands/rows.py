# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of single rows, located in the file that the rows came from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from masticator_dynamics.errors import ActuationError, MasticatorError
from masticator_dynamics.files.tables import Table


@contextlib.contextmanager
def errors_located(table: Table, first: int = 0) -> Iterator[None]:
    """Convert the row in an error of a batch that started at row ``first`` to the file's row."""
    try:
        yield
    except MasticatorError as error:
        if error.row is None:
            raise
        reason = str(error).removeprefix(f'row {error.row + 1}: ')
        if isinstance(error, ActuationError):  # not the fault of any row
            raise type(error)(reason) from error
        raise type(error)(f'{table.place(first + error.row)}: {reason}') from error
