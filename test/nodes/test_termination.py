# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A node that is told to end while it loads: no exception goes through code of others."""

import textwrap

import pytest
from processes import PYTHON, completed

pytestmark = pytest.mark.waiting

pytest.importorskip('rclpy', reason='rclpy is not installed')

PROGRAM = """
    import ctypes, os, signal, sys, time

    from masticator_dynamics.ros.common import process
    from masticator_dynamics.ros.common.managed_node import ManagedNode, NodeSettings, Runtime

    def called_back(given):  # as LLVM does, which needs the answer
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))
        time.sleep(float(sys.argv[2]))
        return 2 * given

    class Loading(Runtime):
        def __init__(self, node, settings):
            answer = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(called_back)(21)
            print('loaded', answer, flush=True)

        def activate(self):
            print('active', flush=True)
            return ''

        def deactivate(self):
            pass

        def destroy(self):
            print('destroyed', flush=True)

    sys.exit(process.run(lambda: ManagedNode('loading', NodeSettings, Loading), [], early=7))
"""


def run(name, seconds):
    return completed(*PYTHON, '-c', textwrap.dedent(PROGRAM), name, seconds)


@pytest.mark.parametrize('name', ['SIGINT', 'SIGTERM'])
def test_what_calls_back_gets_its_answer_and_the_node_ends_in_order(ros_domain, name):
    done = run(name, 0.2)
    assert (done.returncode, done.stdout.split()) == (7, ['loaded', '42', 'destroyed']), done
    assert 'Traceback' not in done.stderr and 'ignored' not in done.stderr


def test_what_takes_longer_is_not_waited_for(ros_domain):
    done = run('SIGTERM', 100.0)
    assert (done.returncode, done.stdout) == (7, '')
