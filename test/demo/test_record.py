# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What was recorded of a run, where another robot published as well."""

from __future__ import annotations

import types

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='recordings of nodes need rclpy')

from masticator_dynamics.errors import InputError
from masticator_dynamics.robot.recording.record import _efforts


def messages(*rows: list[float]) -> list:
    return [types.SimpleNamespace(content=types.SimpleNamespace(data=row)) for row in rows]


def test_efforts_of_another_robot_are_refused() -> None:
    np.testing.assert_array_equal(_efforts(messages([1.0, 2.0], [3.0, 4.0])), [[1, 2], [3, 4]])
    with pytest.raises(InputError, match='have 2 and 6 numbers: another robot publishes there'):
        _efforts(messages([1.0, 2.0], [0.0] * 6, [3.0, 4.0]))
