# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The masticator and its drives file."""

import pytest

from masticator_dynamics import Mechanism


@pytest.fixture(scope='session')
def mechanism():
    return Mechanism.load('masticator')
