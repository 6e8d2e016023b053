# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests: which live by the clock; the same property tests in every run."""

import pathlib

import hypothesis
import pytest

CLOCK = {'control', 'demo', 'drives', 'fuzz', 'nodes'}  # folders of tests with processes


def pytest_collection_modifyitems(items):
    """Mark the tests that need the computer for themselves."""
    for item in items:
        if CLOCK & set(item.path.relative_to(pathlib.Path(__file__).parent).parts):
            item.add_marker(pytest.mark.clock)


hypothesis.settings.register_profile(
    'masticator',
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile('masticator')
