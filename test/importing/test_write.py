# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is written says what was meant, to rounding."""

from __future__ import annotations

import numpy as np
import pytest

from masticator_dynamics.importing.robot_model import turn
from masticator_dynamics.importing.write import roll_pitch_yaw


@pytest.mark.parametrize('off', [0.0, 1e-12, 1e-9, 1e-7, 1e-4, 0.5])
@pytest.mark.parametrize('side', [1.0, -1.0])
def test_angles_near_a_pitch_of_a_right_angle(off: float, side: float) -> None:
    x, y, z = np.eye(3)
    for roll, yaw in np.random.default_rng(1).uniform(-3.0, 3.0, (5, 2)):
        rotation = turn(z, yaw) @ turn(y, side * (np.pi / 2 - off)) @ turn(x, roll)
        a, b, c = roll_pitch_yaw(rotation)
        assert turn(z, c) @ turn(y, b) @ turn(x, a) == pytest.approx(rotation, abs=2e-15)
