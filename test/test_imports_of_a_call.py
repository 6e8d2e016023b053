# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A process that only calls machine code imports little."""

import subprocess
import sys

FIRST_TORQUE = """
import sys
from masticator_dynamics import Mechanism
mechanism = Mechanism.load('masticator')
assert abs(mechanism.feedforward([0.0, 0.0, 0.0, 0.05]).actuated).max() > 1e-3
assert mechanism.kernels.available, mechanism.kernels.reason
slow = {'scipy', 'pydantic', 'yaml', 'xacro', 'difflib'}
print(*sorted({name.split('.')[0] for name in sys.modules} & slow))
print(*('llvmlite.binding',) * ('llvmlite.binding' in sys.modules))
"""


def test_a_process_that_only_calls_imports_little() -> None:
    command = [sys.executable, '-W', 'ignore', '-c', FIRST_TORQUE]
    for _ in range(2):  # the first one may have to make what is kept
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == []
