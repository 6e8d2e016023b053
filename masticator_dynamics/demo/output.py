# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Results of a demo: written to a folder, all or none, and reported."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence

from masticator_dynamics.demo.checks import TIMING
from masticator_dynamics.demo.processes import RunError, load_in_words
from masticator_dynamics.demo.stages import Progress
from masticator_dynamics.demo.summary import Summary
from masticator_dynamics.errors import InputError, MasticatorError


def check_packages(needed: Mapping[str, Sequence[str]]) -> None:
    """Refuse early if packages are missing, naming what to install; packages are given by extra.

    Raises
    ------
    MasticatorError
        When one is missing.
    """
    for extra, packages in needed.items():
        missing = [name for name in packages if importlib.util.find_spec(name) is None]
        if missing:
            raise MasticatorError(
                f'the demo needs {", ".join(missing)}: source a ROS 2 installation that has it, or '
                f"pip install 'masticator_dynamics[{extra}]'"
            )


@contextlib.contextmanager
def results_in(output: pathlib.Path, names: Sequence[str]) -> Iterator[pathlib.Path]:
    """A folder to work in; its files of these names move to ``output`` when the block ends.

    Those of an earlier run stay if the block ends with an error. Other files in ``output`` stay.

    Raises
    ------
    InputError
        When the folder cannot be created or written to.
    """
    made = _make_folder(output)
    work = pathlib.Path(tempfile.mkdtemp(prefix='.run-', dir=output))
    try:
        yield work
        for name in names:
            os.replace(work / name, output / name)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        if made and not any(output.iterdir()):
            output.rmdir()


def loading() -> Progress:
    """Progress of a demo, which begins by loading what moves and what is played."""
    progress = Progress()
    progress.stage('Loading the mechanism (the first time, compiling may take some minutes)')
    return progress


def leave_results(
    output: pathlib.Path,
    names: Sequence[str],
    produce: Callable[[pathlib.Path], Summary],
    progress: Progress,
) -> int:
    """Produce results in a folder, and print their summary and location.

    What failed goes to standard error.

    Parameters
    ----------
    output : pathlib.Path
        See :func:`results_in`.
    names : sequence of str
        Files that are left.
    produce : callable
        Writes the files to the folder it is given; returns the summary of the run.
    progress : Progress
        Is closed before anything is printed.

    Returns
    -------
    int
        0 when all checks passed, else 1.
    """
    try:
        with results_in(output, names) as work:
            summary = produce(work)
    except RunError as failure:
        progress.close()
        print(f'demo: {failure}', file=sys.stderr)
        return 1
    finally:
        progress.close()
    print(summary.as_text())
    checks = summary.checks
    print(f'{output.resolve()}: {", ".join(names)}', flush=True)
    failed = [check.name for check in checks if not check.passed]
    if not failed:
        return 0
    message = f'demo: {len(failed)} of {len(checks)} checks failed: {", ".join(failed)}'
    if set(failed) <= TIMING:
        message += f' (timing only: {load_in_words()}; is it busy?)'
    print(message, file=sys.stderr)
    return 1


def _make_folder(output: pathlib.Path) -> bool:
    """Create the folder; return whether that was necessary."""
    made = not output.is_dir()
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f'{output}: cannot be made: {error.strerror}') from error
    if not os.access(output, os.W_OK | os.X_OK):
        raise InputError(f'{output}: no permission to write in it')
    return made
