# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Written files mean what was intended, to rounding."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from masticator_dynamics.description.urdf_text import angles


@pytest.mark.parametrize('off', [0.0, 1e-12, 1e-9, 1e-7, 1e-4, 0.5])
@pytest.mark.parametrize('side', [1.0, -1.0])
def test_angles_near_a_pitch_of_a_right_angle(off: float, side: float) -> None:
    for roll, yaw in np.random.default_rng(1).uniform(-3.0, 3.0, (5, 2)):
        pitch = side * (np.pi / 2 - off)
        rotation = Rotation.from_euler('xyz', [roll, pitch, yaw]).as_matrix()
        again = Rotation.from_euler('xyz', angles(rotation)).as_matrix()
        assert again == pytest.approx(rotation, abs=2e-15)
