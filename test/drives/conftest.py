# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
import socket

import pytest

from drives.supervised import Bench
from masticator_dynamics import Mechanism


@pytest.fixture
def free_port():
    """A UDP port that is free, as is the one above it."""
    return find_port()


@pytest.fixture(scope='module')
def module_port():
    """One free port for all tests of a file."""
    return find_port()


def find_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(('', 0))
        port = probe.getsockname()[1]
    return port if port < 65535 else port - 2


@pytest.fixture(scope='session')
def mechanism():
    return Mechanism.load('masticator')


@pytest.fixture
def bench(mechanism):
    return Bench(mechanism)


@pytest.fixture
def following(bench):
    bench.drives.run(0.2, bench.command)
    assert bench.report.phase.name == 'FOLLOWING'
    return bench
