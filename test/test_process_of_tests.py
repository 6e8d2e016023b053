# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What tests start ends, whatever it leaves behind."""

import os
import signal
import threading

import processes
from processes import PYTHON, Process, runs, wait_for

LEAVES_A_CHILD = """
import subprocess, sys
child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])
print(child.pid, flush=True)
"""


def test_a_child_that_holds_the_output_holds_up_nobody(monkeypatch) -> None:
    monkeypatch.setattr(processes, 'PATIENCE', 0.2)
    parent = Process(*PYTHON, '-c', LEAVES_A_CHILD)
    (child,) = map(int, wait_for(lambda: parent.lines, 'the number of its child', 60.0))
    try:
        ended = threading.Thread(target=parent.kill, daemon=True)
        ended.start()
        ended.join(30.0)
        assert not ended.is_alive() and runs(child)
    finally:
        os.kill(child, signal.SIGKILL)
