# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A node that cannot be configured or activated says why, whatever the reason; in a process."""

import textwrap

import pytest
from processes import PYTHON, completed

pytestmark = pytest.mark.waiting

pytest.importorskip('rclpy', reason='rclpy is not installed')

PROGRAM = """
    import sys

    from masticator_dynamics.ros.common import process
    from masticator_dynamics.ros.common.managed_node import ManagedNode, NodeSettings, Runtime

    class Faulty(Runtime):
        def __init__(self, node, settings):
            if sys.argv[1] == 'configured':
                raise KeyError('position')

        def activate(self):
            return f'{1 / 0}'

        def deactivate(self):
            pass

        def destroy(self):
            pass

    sys.exit(process.run(lambda: ManagedNode('faulty', NodeSettings, Faulty), []))
"""


@pytest.mark.parametrize(
    ('step', 'reason'),
    [
        ('configured', "KeyError: 'position'"),
        ('activated', 'ZeroDivisionError: division by zero'),
    ],
)
def test_an_error_of_ours_is_told_too(ros_domain, step, reason):
    done = completed(*PYTHON, '-c', textwrap.dedent(PROGRAM), step)
    assert done.returncode == 1
    assert f'cannot be {step}: {reason}' in done.stderr
