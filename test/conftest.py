# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings for all tests: the phase of each; the same property tests in every run."""

import functools
import gc
import os
import re
import signal
import timeit

import hypothesis
import pytest

# Several tests share the processors: threads of BLAS, one for each, would wait for one another by
# turning in circles, which takes up to forty times as long. Before numpy is imported.
os.environ |= dict.fromkeys(('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'), '1')

# A shell that runs tests in the background has them ignore these, and their processes with them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)

PHASES = 'computing', 'waiting', 'clock'
MARK = r'pytest\.mark\.(waiting|clock)\b'
WHOLE_FILE = re.compile(rf'^pytestmark = \[?\s*{MARK}', re.MULTILINE)
# s for ten million additions on a processor that bears one robot with its tests
SPEED = 0.25


@functools.cache
def phases(path):
    """Phases of the tests in a file: those that it marks; what is not marked computes."""
    text = path.read_text(encoding='utf-8')
    return {*re.findall(MARK, text), *(() if WHOLE_FILE.search(text) else ['computing'])}


def requested(config):
    """The phase in the expression of `-m`, if one is its first word."""
    word, *_ = config.option.markexpr.split() or ['']
    return word if word in PHASES else None


def pytest_ignore_collect(collection_path, config):
    """Skip files outside the requested phase without importing them, which takes some seconds."""
    asked = requested(config)
    is_test = collection_path.suffix == '.py' and collection_path.name.startswith('test_')
    return True if asked and is_test and asked not in phases(collection_path) else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Workers for tests that wait: robots in real time take what the processors can do.

    On a slow computer a second robot beside the first leaves cycles late and tests starved.
    """
    if requested(config) != 'waiting':
        return None
    seconds = min(timeit.repeat('total += 1', 'total = 0', number=10_000_000, repeat=3))
    return min(4, max(1, int(SPEED * os.cpu_count() / seconds)))


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items):
    """What needs no clock computes; files that take long begin first, that none ends alone."""
    for item in items:
        if not any(item.iter_markers('waiting')) and not any(item.iter_markers('clock')):
            item.add_marker('computing')
    items.sort(key=lambda item: not any(item.iter_markers('early')))


def pytest_collection_finish():
    """Put modules and tests aside: Python's garbage collector looks through them for 0.5 s."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item):
    """The same for what earlier tests left: a sender held up for so long looks dead to drives."""
    if not any(item.iter_markers('computing')):
        gc.collect()
        gc.freeze()


def pytest_runtest_teardown():
    """No test leaves real-time priority to the next: it would keep processors from everybody."""
    if hasattr(os, 'sched_getscheduler') and os.sched_getscheduler(0) != os.SCHED_OTHER:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


# Where sweeps are left out, properties are tried with fewer examples; `make test-all` tries all.
for profile, examples in (('everyday', 20), ('whole', 100)):
    hypothesis.settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )


@pytest.fixture(scope='session')
def mechanism():
    """The masticator."""
    from masticator_dynamics import Mechanism

    return Mechanism.load('masticator')


def pytest_configure(config):
    """Choose how many examples of a property are tried, before tests are imported."""
    everyday = 'not sweep' in config.option.markexpr
    hypothesis.settings.load_profile('everyday' if everyday else 'whole')
