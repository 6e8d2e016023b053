# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
import processes
import pytest

from drives.supervised import Bench


@pytest.fixture
def free_port():
    return processes.free_port()


@pytest.fixture(scope='module')
def module_port():
    """One free port for all tests of a file."""
    return processes.free_port()


@pytest.fixture
def robot(running):
    """The simulated drives of a file of tests, as after a start."""
    running.restart()
    return running


@pytest.fixture
def bench(mechanism):
    return Bench(mechanism)


@pytest.fixture
def following(bench):
    bench.drives.run(0.2, bench.command)
    assert bench.report.phase.name == 'FOLLOWING'
    return bench
