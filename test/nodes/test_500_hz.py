# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint states at 500 Hz: each node answers them, also behind another node.

Runs before the other node tests: node `dynamics` would load half of a small computer.
"""

import contextlib
import subprocess
import sys

import pytest
import samples

pytest.importorskip('rclpy', reason='rclpy is not installed')

from processes import ROOT, START

from nodes.harness import NodeProcess, Peer

pytestmark = pytest.mark.clock

LOAD = ROOT / 'test/nodes/joint_state_load.py'
ANSWERED = 0.998
STRETCHES = 3  # of which the best counts: other programs may keep a node from running for a while
ESTIMATORS = ('model', 'ellipse', 'circle', 'grid')
LOAD_INERTIA = ('joint_states', 'inertia_estimator/load_inertia')


@contextlib.contextmanager
def running(*names):
    processes = [NodeProcess(name, namespace='fast', wait=False) for name in names]
    try:
        for process in processes:
            process.wait_until_ready()
        yield
    finally:
        codes = [process.end() for process in processes]
    assert not any(codes)


def check_answered(source, *targets):
    """Check that nearly all states of a second are answered on every topic."""
    shares = []
    while len(shares) < STRETCHES and max(shares, default=0.0) < ANSWERED:
        command = [sys.executable, LOAD, 'fast', '1', source, *targets]
        load = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=START)
        sent, *answered = map(int, load.stdout.split())
        assert sent == 500 and max(answered) <= sent
        shares.append(min(answered) / sent)
    print(source, *targets, shares)
    assert max(shares) >= ANSWERED, shares


@pytest.fixture(scope='module')
def chain(ros_domain):
    with running('joint_state_completion', 'inertia_coupling'):
        yield


def test_completion_and_coupling_behind_it(chain):
    """Cranks to all joints to coupling, as on a robot: the answers of both nodes count."""
    check_answered('joint_states_in', 'joint_states', 'inertia_coupling/mci')


def test_coupling(chain):
    """Of the cranks alone."""
    check_answered('joint_states', 'inertia_coupling/mci')


@pytest.fixture(scope='module')
def estimator(ros_domain):
    with running('inertia_estimator'):
        peer = Peer('inertia_estimator', 'fast')
        yield peer
        peer.close()


@pytest.mark.parametrize('kind', samples.swept(ESTIMATORS, ['model']))
def test_estimator(estimator, kind):
    assert estimator.set_parameter('estimator', kind) == (True, '')
    check_answered(*LOAD_INERTIA)
