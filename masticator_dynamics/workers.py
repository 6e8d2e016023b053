# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Many calls of one function: here, in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import concurrent.futures
import contextlib
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.interrupt import held_back, starting_deaf
from masticator_dynamics.optional import needed

_WAITING = 2  # calls for each worker that are handed out at a time
_MOST_LOST = 3  # processes lost one after another with no result in between
_PATIENCE = 10.0  # s for a scheduler to answer

Result = TypeVar('Result')
Progress = Callable[[float], None]
Opened = contextlib.AbstractContextManager[tuple[concurrent.futures.Executor, int]]


def results(
    function: Callable[..., Result],
    tasks: Iterable[tuple[Any, ...]],
    processes: int | None = None,
    scheduler: str | None = None,
) -> Iterator[tuple[int, Result]]:
    """Results as they come, each with the number of its task, from 0.

    A few tasks are drawn at a time, so that there may be any number of them. A task whose worker
    dies is given to another one.

    Parameters
    ----------
    function : callable
        Of a module, so that other processes find it.
    tasks : iterable of tuple
        Its arguments.
    processes : int, optional
        How many of this machine; by default one for each processor. With 1, all is done here.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers are used instead.

    Raises
    ------
    InputError
        If the scheduler does not answer, or Dask is not installed.
    MasticatorError
        If workers die one after another.
    """
    count = processes or os.cpu_count() or 1
    numbered = enumerate(tasks)
    if scheduler is not None:
        yield from _handed_out(lambda: _cluster(scheduler), function, numbered)
    elif count > 1:
        yield from _handed_out(lambda: _processes(count), function, numbered)
    else:
        for number, task in numbered:
            yield number, function(*task)


def in_order(
    function: Callable[..., Result],
    tasks: Sequence[tuple[Any, ...]],
    processes: int | None = None,
    scheduler: str | None = None,
    progress: Progress = lambda share: None,
) -> list[Result]:
    """All results in the order of their tasks; ``progress`` is called with the share done."""
    done: dict[int, Result] = {}
    for number, result in results(function, tasks, processes, scheduler):
        done[number] = result
        progress(len(done) / len(tasks))
    return [done[number] for number in range(len(tasks))]


def _handed_out(
    opened: Callable[[], Opened],
    function: Callable[..., Result],
    tasks: Iterator[tuple[int, tuple[Any, ...]]],
) -> Iterator[tuple[int, Result]]:
    waiting: dict[concurrent.futures.Future[Result], tuple[int, tuple[Any, ...]]] = {}
    again: list[tuple[int, tuple[Any, ...]]] = []
    lost = 0
    while True:
        with opened() as (pool, count):
            try:
                while True:
                    while len(waiting) < _WAITING * count and (
                        task := again[-1] if again else next(tasks, None)
                    ):
                        again = again or [task]  # until it is handed out
                        waiting[pool.submit(function, *task[1])] = task
                        again.pop()
                    if not waiting:
                        return
                    done, _ = concurrent.futures.wait(
                        waiting, return_when=concurrent.futures.FIRST_COMPLETED
                    )
                    for future in done:
                        result = future.result()
                        number, _ = waiting.pop(future)
                        lost = 0
                        yield number, result
            except BrokenProcessPool:
                lost += 1
                if lost > _MOST_LOST:
                    raise MasticatorError(
                        f'{lost} worker processes died one after another: out of memory, perhaps'
                    ) from None
                again += waiting.values()
                waiting.clear()


@contextlib.contextmanager
def _processes(count: int) -> Iterator[tuple[concurrent.futures.Executor, int]]:
    # Fresh processes: their own compiled code and model, and no inherited threads.
    context = multiprocessing.get_context('spawn')
    pool = concurrent.futures.ProcessPoolExecutor(
        count, mp_context=context, initializer=_end_with_the_parent
    )
    try:
        with starting_deaf():  # Ctrl-C is for the parent, which ends them
            with held_back():  # one that is half started would print a stack trace
                started = [pool.submit(os.getpid) for _ in range(count)]
            concurrent.futures.wait(started)
        yield pool, count
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _end_with_the_parent() -> None:
    """End a worker with its parent: it must not run alongside one that takes over."""

    def wait() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextlib.contextmanager
def _cluster(address: str) -> Iterator[tuple[concurrent.futures.Executor, int]]:
    distributed = needed('distributed')
    try:
        client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f'--scheduler: no Dask scheduler answers at {address}') from error
    with client:
        count = sum(client.ncores().values())
        yield client.get_executor(pure=False), max(count, os.cpu_count() or 1)
