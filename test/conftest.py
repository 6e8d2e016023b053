# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings for all tests: the phase of each file; the same property tests in every run."""

import os
import pathlib
import signal
import timeit

import hypothesis
import pytest

# A shell that runs tests in the background has them ignore Ctrl-C, and their processes with them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

CLOCK = {'control', 'demo', 'drives', 'fuzz', 'nodes'}  # folders of tests with processes
# Files in them that only compute.
COMPUTING = {
    'control': 'controllers ros2_control_block simulated_bus',
    'demo': 'any_robot checks link_motion power_balance script',
    'drives': (
        'can_frames command configuration emergency gate reference rotors scaling '
        'simulator_canopen simulator_cia402 simulator_faults simulator_files servo_step '
        'simulator_motor simulator_servo state_machine supervisor supervisor_commands '
        'supervisor_requests trend'
    ),
    'nodes': (
        'added_effort cycle cycle_limits estimator_set executed_motion goal_watch instant '
        'joint_state_input launch never_faster rejections robot_launch security_policy'
    ),
}
# Files in them that wait more than they work and bear neighbours.
WAITING = {
    'demo': 'documented processes run',
    'drives': (
        'can_bus escalation exchange network sdo simulator_process simulator_real_time watches'
    ),
    'fuzz': 'fuzz',
    'nodes': (
        'answers connections cycle_scheduler drive_requests dynamics_bad_input dynamics_limits '
        'dynamics_process dynamics_topics experiment_robot guard inertia_estimator keeping_up '
        'launch_processes middleware_joins node_processes ros2_control '
        'security_enforced servo_drives_process start_and_end status_reporter trajectory_action'
    ),
}
# The longest of them, which begin first: none is left to run alone at the end.
LONG = (
    'servo_drives_process', 'experiment_robot', 'network', 'dynamics_bad_input', 'exchange', 'run',
    'watches', 'dynamics_topics', 'dynamics_process', 'start_and_end', 'sdo',
)  # fmt: skip


PHASES = 'computing', 'waiting', 'clock'
# s for ten million additions on a processor that bears one robot with its tests
SPEED = 0.25


def phase(path):
    """Phase of `make test` in which a test file runs."""
    folder, *_ = path.relative_to(pathlib.Path(__file__).parent).parts
    file = path.stem.removeprefix('test_')
    if file in WAITING.get(folder, '').split():
        return 'waiting'
    computes = folder not in CLOCK or file in COMPUTING.get(folder, '').split()
    return 'computing' if computes else 'clock'


def pytest_ignore_collect(collection_path, config):
    """Skip files outside the requested phase without importing them, which takes some seconds."""
    asked = config.option.markexpr
    is_test = collection_path.suffix == '.py' and collection_path.name.startswith('test_')
    return True if is_test and asked in PHASES and phase(collection_path) != asked else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Workers for tests that wait: robots in real time take what the processors can do.

    On a slow computer a second robot beside the first leaves cycles late and tests starved.
    """
    if config.option.markexpr != 'waiting':
        return None
    seconds = min(timeit.repeat('total += 1', 'total = 0', number=10_000_000, repeat=3))
    return min(4, max(1, int(SPEED * os.cpu_count() / seconds)))


def pytest_collection_modifyitems(items):
    """Mark all tests of a file by its phase; the longest that wait come first."""
    for item in items:
        item.add_marker(phase(item.path))
    items.sort(key=place)


def pytest_runtest_teardown():
    """No test leaves real-time priority to the next: it would keep processors from everybody."""
    if hasattr(os, 'sched_getscheduler') and os.sched_getscheduler(0) != os.SCHED_OTHER:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def place(item):
    """Where the file of a test comes in its phase."""
    file = item.path.stem.removeprefix('test_')
    return LONG.index(file) if file in LONG and phase(item.path) == 'waiting' else len(LONG)


hypothesis.settings.register_profile(
    'masticator',
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile('masticator')
