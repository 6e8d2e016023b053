# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Results of a demo: written to a folder, all or none, and reported."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
from collections.abc import Callable, Mapping, Sequence

from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.files.folder import results_in
from masticator_dynamics.robot.acceptance.checks import TIMING
from masticator_dynamics.robot.acceptance.summary import Summary
from masticator_dynamics.robot.recording.processes import RunError, load_in_words
from masticator_dynamics.robot.recording.stages import Progress


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
    recording: pathlib.Path | None = None,
) -> int:
    """Produce results in a folder, and print their summary and location.

    What failed goes to standard error.

    Parameters
    ----------
    output : pathlib.Path
        See :func:`masticator_dynamics.files.folder.results_in`.
    names : sequence of str
        Files that are left.
    produce : callable
        Writes the files to the folder it is given; returns the summary of the run.
    progress : Progress
        Is closed before anything is printed.
    recording : pathlib.Path, optional
        What is read, and must not be replaced.

    Returns
    -------
    int
        0 when all checks passed, else 1.
    """
    try:
        with results_in(output, names, recording) as work:
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
    failed = [check.name for check in checks if check.passed is False]
    unknown = [check.name for check in checks if check.passed is None]
    told = []
    if failed:
        told.append(f'{len(failed)} of {len(checks)} checks failed: {", ".join(failed)}')
        if set(failed) <= TIMING:
            told[0] += f' (timing only: {load_in_words()}; is it busy?)'
    if unknown:
        told.append(f'{len(unknown)} of {len(checks)} were not judged: {", ".join(unknown)}')
    if told:
        print(f'demo: {"; ".join(told)}', file=sys.stderr)
    return 1 if told else 0
