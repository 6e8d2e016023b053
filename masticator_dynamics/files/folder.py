# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Folders of results: written all or none, or by one process at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence

from masticator_dynamics.errors import InputError
from masticator_dynamics.files.tables import check_writable


@contextlib.contextmanager
def results_in(
    output: pathlib.Path, names: Sequence[str] | None = None, *sources: str | pathlib.Path | None
) -> Iterator[pathlib.Path]:
    """A folder to work in, whose files move to ``output`` when the block ends.

    If it ends with an error, files of an earlier run stay, and folders made for it are removed.
    Other files in ``output`` stay.

    Parameters
    ----------
    output : pathlib.Path
        Made if it is missing.
    names : sequence of str, optional
        Files that move; default: all.
    sources : path or None
        Files that the work reads, which must not be replaced by one of these names.

    Raises
    ------
    InputError
        When the folder cannot be made or written to, or a source would be lost.
    OSError
        When writing fails; names the file in ``output``.
    """
    made = [folder for folder in (output, *output.parents) if not folder.exists()]
    work = None
    try:
        try:
            output.mkdir(parents=True, exist_ok=True)
            work = pathlib.Path(tempfile.mkdtemp(prefix='.run-', dir=output))
        except OSError as error:
            raise InputError(f'{output}: cannot be written: {error.strerror}') from error
        for name in names or ():
            check_writable(str(output / name), *sources)
        yield work
        for name in sorted(file.name for file in work.iterdir()) if names is None else names:
            os.replace(work / name, os.path.realpath(output / name))
    except OSError as error:
        if error.filename is None:  # of a full disk
            error.filename = str(output)
        elif work in pathlib.Path(error.filename).parents:
            error.filename = str(output / pathlib.Path(error.filename).name)
        raise
    finally:
        if work is not None:
            shutil.rmtree(work, ignore_errors=True)
        for folder in made:
            with contextlib.suppress(OSError):  # it was not made, or holds what was asked for
                folder.rmdir()


@contextlib.contextmanager
def locked(folder: pathlib.Path, what: str) -> Iterator[None]:
    """Keep a folder, made if it is missing, from others that lock it.

    The lock ends with the process, however that ends. File systems that cannot lock folders (NFS)
    give no protection.

    Parameters
    ----------
    what : str
        What runs in it, for the message.

    Raises
    ------
    InputError
        If it is locked.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f'{folder}: another {what} is running in this folder; wait for its end, or choose '
                'a new folder'
            ) from None
        except OSError:
            pass
        yield
    finally:
        os.close(lock)
