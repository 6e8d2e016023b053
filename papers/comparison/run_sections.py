# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runs sections in parallel where possible; those that measure time run one after another."""

from __future__ import annotations

import concurrent.futures
import itertools
import multiprocessing
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from masticator_dynamics.interrupt import held_back, starting_deaf
from papers.comparison.comparison_table import ComparisonTable
from papers.comparison.inputs import ChewingMotion, Inputs
from papers.comparison.sections import TIMED, cases, section

Job = tuple[Callable[[Any], Any], Hashable]

_inputs = Inputs()  # shared by all sections of a worker process


def run_sections(
    inputs: Inputs, names: Sequence[str], processes: int
) -> dict[str, list[ComparisonTable]]:
    """Tables by section.

    Parameters
    ----------
    inputs : Inputs
        Inputs for this process; shows the progress of all processes.
    names : sequence of str
        Sections, in the order of the result.
    processes : int
        Maximum number of processes.
    """
    jobs = _jobs(names)
    if min(processes, len(jobs)) > 1:
        _in_parallel(inputs, jobs, min(processes, len(jobs)))
    return {
        name: inputs.known.get((_tables, name)) or section(name)(inputs)
        for name in dict.fromkeys(names)
    }


def _jobs(names: Sequence[str]) -> list[Job]:
    """Jobs that may run in parallel; cases first, since the longest jobs are among them."""
    divided = {name: cases(name) for name in dict.fromkeys(names) if name not in TIMED}
    whole: list[Job] = [(_tables, name) for name, parts in divided.items() if not parts]
    return [*itertools.chain(*divided.values()), *whole]


def _in_parallel(inputs: Inputs, jobs: Sequence[Job], processes: int) -> None:
    """Compute in advance the results that sections will ask their inputs for."""
    with concurrent.futures.ProcessPoolExecutor(
        processes,
        multiprocessing.get_context('spawn'),
        initializer=_begin,
        initargs=(inputs.given_motion,),
    ) as pool:
        try:
            with held_back(), starting_deaf():
                futures = {pool.submit(function, case): (function, case) for function, case in jobs}
            done = concurrent.futures.as_completed(futures)
            for future in inputs.show(done, 'all sections', len(jobs)):
                inputs.known[futures[future]] = future.result()
        except BaseException:
            for process in multiprocessing.active_children():
                process.terminate()  # its result is no longer needed, and the pool ends with it
            raise  # not before the pool has ended: at exit Python 3.11 may wake one that is closing


def _begin(motion: ChewingMotion | None) -> None:
    """Set up a worker process."""
    global _inputs
    _inputs = Inputs(None if motion is None else lambda _: motion)


def _tables(name: str) -> list[ComparisonTable]:
    """Tables of a section, computed in a worker process."""
    return section(name)(_inputs)
