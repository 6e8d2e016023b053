# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Calls on processes and on a real Dask cluster: results are all there, whoever dies."""

import functools
import os
import pickle
import signal

import numpy as np
import pytest
from processes import PYTHON, ROOT, Process, runs, wait_for
from worker_tasks import dies_always, dies_once, refuses, square

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.workers import results

pytestmark = pytest.mark.timeout(120)
SQUARES = {k: k * k for k in range(10)}


@pytest.mark.parametrize('processes', [1, 2])
def test_every_task_has_its_result(processes) -> None:
    assert dict(results(square, ((k,) for k in range(10)), processes)) == SQUARES


def test_the_task_of_a_killed_process_is_done_by_another(tmp_path) -> None:
    tasks = ((k, str(tmp_path)) for k in range(10))
    found = list(results(dies_once, tasks, 2))
    assert (tmp_path / 'died').exists()
    assert sorted(found) == sorted(SQUARES.items())  # each once


def test_processes_end_with_a_parent_that_is_killed(tmp_path) -> None:
    """As by SIGKILL, of which it hears nothing: no worker goes on beside one that takes over."""
    code = (
        'import sys; from worker_tasks import waits; '
        'from masticator_dynamics.workers import results; '
        '[*results(waits, 2 * [(sys.argv[1],)], 2)]'
    )
    path = {'PYTHONPATH': str(ROOT / 'test')}
    with Process(*PYTHON, '-c', code, tmp_path, env=os.environ | path) as parent:
        wait_for(lambda: len([*tmp_path.iterdir()]) == 2 or not parent.runs(), 'both at work')
        assert parent.runs(), parent.text
        workers = [int(file.name) for file in tmp_path.iterdir()]
        assert all(runs(worker) for worker in workers)
        parent.process.kill()
        try:
            wait_for(lambda: not any(runs(worker) for worker in workers), 'the end of both')
        finally:
            for worker in filter(runs, workers):
                os.kill(worker, signal.SIGKILL)


def test_tasks_that_kill_every_process_end_in_an_error() -> None:
    with pytest.raises(MasticatorError, match='4 worker processes died'):
        list(results(dies_always, [(1,)], 2))


def test_errors_of_a_task_are_its_own() -> None:
    with pytest.raises(InputError, match='7 is refused'):
        list(results(refuses, [(7,)], 2))


def test_tasks_are_drawn_as_they_are_needed() -> None:
    drawn = []

    def tasks():
        for k in range(1000):
            drawn.append(k)
            yield (k,)

    found = results(square, tasks(), 2)
    next(found)
    assert len(drawn) < 10
    found.close()


def test_a_dask_cluster_loses_a_worker_and_no_result(tmp_path) -> None:
    distributed = pytest.importorskip('distributed')
    with distributed.LocalCluster(
        2, threads_per_worker=1, processes=True, dashboard_address=None, host='127.0.0.1'
    ) as cluster:
        address = cluster.scheduler_address
        tasks = ((k, str(tmp_path)) for k in range(10))
        found = dict(results(dies_once, tasks, scheduler=address))
        assert (tmp_path / 'died').exists()
        assert found == SQUARES


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch) -> None:
    pytest.importorskip('distributed')
    monkeypatch.setattr('masticator_dynamics.workers._PATIENCE', 0.5)
    with pytest.raises(InputError, match='no Dask scheduler answers at tcp://127.0.0.1:9'):
        list(results(square, [(1,)], scheduler='tcp://127.0.0.1:9'))


@functools.cache
def rcid() -> Mechanism:
    return Mechanism.load('rcid')


def test_mechanisms_go_to_other_processes() -> None:
    joint = rcid().actuated[0]
    changed = rcid().with_parameters({f'{joint}.rotor_inertia': 0.3})
    for mechanism in (rcid(), changed):
        y = mechanism.home.y
        sent = pickle.loads(pickle.dumps(mechanism))
        effort = sent.feedforward(y, 0.1 * np.ones_like(y), np.ones_like(y)).actuated
        np.testing.assert_array_equal(
            effort, mechanism.feedforward(y, 0.1 * np.ones_like(y), np.ones_like(y)).actuated
        )
