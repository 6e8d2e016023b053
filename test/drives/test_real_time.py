# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where permitted, the memory of the process with the drives is locked."""

import os
import subprocess
import sys

import pytest
from processes import PYTHON, completed

resource = pytest.importorskip('resource', reason='no limits of this kind on this system')

PROGRAM = """
import resource, sys
from masticator_dynamics.drives import real_time
limit = int(sys.argv[1])
if limit:
    import os
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (limit, limit))
    os.geteuid = lambda: 1000  # as for a user, whom the limit binds
granted = real_time.lock_memory()
kept = bytearray(50_000_000)
kept[::4096] = bytes(len(kept[::4096]))  # touched
with open('/proc/self/status') as status:
    locked = next(line for line in status if line.startswith('VmLck'))
print(granted, int(locked.split()[1]))
"""


def lock(limit=0):
    """Whether the lock was granted, and locked kB after touching 50 MB more."""
    answer = completed(*PYTHON, '-c', PROGRAM, limit, check=True)
    granted, locked = answer.stdout.split()
    return granted == 'True', int(locked)


@pytest.mark.skipif(not os.path.exists('/proc/self/status'), reason='Linux only')
def test_what_is_touched_stays_in_memory_where_that_is_permitted():
    granted, locked = lock()
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if not granted:
        assert os.geteuid() != 0 or limit != resource.RLIM_INFINITY
        pytest.skip('locking memory is not permitted here')
    assert locked > 50_000


@pytest.mark.skipif(not os.path.exists('/proc/self/status'), reason='Linux only')
def test_a_limit_that_later_allocations_would_meet_is_not_used():
    assert lock(65_536) == (False, 0)


DENIED = """
import os
from masticator_dynamics.drives import real_time
def deny(*_):
    raise PermissionError
os.sched_setscheduler = deny
print(real_time.request(50))
with real_time.requested(50):
    print(os.sched_getscheduler(0) == os.SCHED_OTHER)
del os.sched_getscheduler
with real_time.requested(50):
    print('begun')
"""


def test_priority_that_is_not_permitted_is_told_and_all_goes_on():
    answer = completed(*PYTHON, '-c', DENIED)
    assert answer.stdout.split() == ['False', 'True', 'begun'], answer.stderr


AWAKE = """
from masticator_dynamics.drives import real_time
for period in (0.004, 0.001, 0.001):
    print(real_time.stay_awake(period))
    with open('/dev/cpu_dma_latency', 'rb') as file:
        print(int.from_bytes(file.read(4), 'little', signed=True))
"""


@pytest.mark.skipif(
    not os.access('/dev/cpu_dma_latency', os.R_OK | os.W_OK), reason='not permitted here'
)
def test_processors_sleep_lightly_or_not_at_all_where_that_is_permitted():
    answer = completed(*PYTHON, '-c', AWAKE)
    assert answer.stdout.split() == ['True', '2', 'True', '0', 'True', '0'], answer.stderr


NOT_AWAKE = """
import pathlib
from masticator_dynamics.drives import real_time
real_time._LONGEST_WAKE = pathlib.Path('/proc/nowhere')
print(real_time.stay_awake(0.001))
"""


def test_processors_that_must_sleep_are_no_reason_to_fail():
    answer = completed(*PYTHON, '-c', NOT_AWAKE)
    assert answer.stdout.split() == ['False'], answer.stderr


THROTTLED = """
import os, threading, time
from masticator_dynamics.drives import real_time
held_back = real_time.HeldBack()
print(held_back.take() == 0.0)
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
def spin():
    global granted, longest, taken
    granted, longest = real_time.request(1), 0.0
    held_back.begin()
    end, last = time.monotonic() + 1.5, time.monotonic()
    while last < end:
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    taken = held_back.take(), held_back.take()
thread = threading.Thread(target=spin)
thread.start()
thread.join()
print(granted, longest, *taken)
"""


@pytest.mark.clock
@pytest.mark.skipif(not os.path.exists('/proc/self/schedstat'), reason='Linux only')
def test_what_the_kernel_takes_from_a_real_time_thread_is_counted():
    """A thread that never sleeps has to wait, according to sched_rt_runtime_us."""
    answer = completed(*PYTHON, '-c', THROTTLED)
    first, granted, *numbers = answer.stdout.split()
    assert first == 'True', answer.stderr
    longest, held_back, again = map(float, numbers)
    if granted != 'True' or longest < 0.02:
        pytest.skip('real-time priority is not permitted here, or nothing is taken from it')
    assert held_back > 0.9 * longest
    assert again < 0.02


INHERITED = """
import os, subprocess, sys, threading
from masticator_dynamics.drives import real_time
print(real_time.request(1))
def policy():
    print(os.sched_getscheduler(0) == os.SCHED_OTHER, flush=True)
thread = threading.Thread(target=policy)
thread.start()
thread.join()
command = 'import os; print(os.sched_getscheduler(0) == os.SCHED_OTHER)'
subprocess.run([sys.executable, '-c', command])
"""


def test_nobody_inherits_real_time_priority():
    """Two processes that compute at it, one per processor, once starved everything else."""
    answer = completed(*PYTHON, '-c', INHERITED)
    granted, *others = answer.stdout.split()
    if granted != 'True':
        pytest.skip('real-time priority is not permitted here')
    assert others == ['True', 'True'], answer.stderr


COMPILING = """
import os, pathlib, sys
from masticator_dynamics.files import code_cache
from masticator_dynamics.drives import real_time
granted = real_time.request(1)
def urgent():
    return os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO
for file in (pathlib.Path(sys.argv[1], 'code'), pathlib.Path('/proc/none/code')):
    with code_cache.alone(file):
        print(granted, urgent())
    print(granted, urgent())
real_time.release()
print(granted, urgent())
"""


def test_nothing_is_compiled_at_real_time_priority(tmp_path):
    """Whether the lock is granted or not."""
    command = [sys.executable, '-c', COMPILING, str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    granted, urgent = zip(*(line.split() for line in answer.stdout.splitlines()), strict=True)
    if 'False' in granted:
        pytest.skip('real-time priority is not permitted here')
    assert urgent == ('False', 'True', 'False', 'True', 'False')
