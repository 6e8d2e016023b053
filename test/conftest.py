# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests: which live by the clock; the same property tests in every run."""

import pathlib
import signal

import hypothesis
import pytest

# A shell that runs tests in the background has them ignore Ctrl-C, and their processes with them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

CLOCK = {'control', 'demo', 'drives', 'fuzz', 'nodes'}  # folders of tests with processes
# Files in them that only compute.
COMPUTING = {
    'control': 'controllers ros2_control_block',
    'demo': 'checks link_motion message_definitions script',
    'drives': (
        'can_frames command configuration emergency gate reference rotors scaling simulator_files '
        'servo_step simulator_motor simulator_servo state_machine supervisor supervisor_commands '
        'supervisor_requests trend'
    ),
    'nodes': (
        'added_effort cycle cycle_limits estimator_set executed_motion joint_state_input '
        'trajectory_cdr'
    ),
}


def pytest_collection_modifyitems(items):
    """Mark the tests that need the computer for themselves."""
    for item in items:
        folder, *_ = item.path.relative_to(pathlib.Path(__file__).parent).parts
        computes = item.path.stem.removeprefix('test_') in COMPUTING.get(folder, '').split()
        if folder in CLOCK and not computes:
            item.add_marker(pytest.mark.clock)


hypothesis.settings.register_profile(
    'masticator',
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile('masticator')
