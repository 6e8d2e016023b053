# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The spiral of S3."""

import numpy as np
import pytest

from masticator_dynamics.errors import InputError
from masticator_dynamics.motion import Spiral


def test_it_ends_where_the_paper_prints() -> None:
    """S3 Sec. 4: from (0, 0) to (1.2, -17.5) mm in 0.4 s, phi = 2 pi / 3."""
    position, velocity, _ = Spiral().sample([0.0, 0.4])
    assert position[0] == pytest.approx([0.0, 0.0, 2.0 * np.pi / 3.0], abs=1e-15)
    assert position[1, :2] * 1e3 == pytest.approx([1.2, -17.5], abs=0.005)
    assert np.abs(velocity[0]).max() == 0.0


def test_radius_grows_with_the_square_of_time_and_the_angle_evenly() -> None:
    times = np.linspace(0.01, 0.4, 40)
    path = Spiral()
    position = path.sample(times)[0]
    assert np.hypot(*position[:, :2].T) == pytest.approx(path.radius * (times / 0.4) ** 2)
    angle = np.unwrap(np.arctan2(position[:, 1], position[:, 0]))
    assert np.diff(angle) == pytest.approx(np.full(39, np.diff(times)[0] / 0.4 * path.turn))


def test_derivatives_are_those_of_the_path() -> None:
    path, step = Spiral(), 1e-4
    times = np.linspace(0.05, 0.35, 7)
    _, velocity, acceleration = path.sample(times)
    rows = [path.sample(times + k * step) for k in (-2, -1, 1, 2)]
    for order, expected in ((0, velocity), (1, acceleration)):
        far = rows[0][order] - rows[3][order]
        near = rows[2][order] - rows[1][order]
        assert (8.0 * near + far) / (12.0 * step) == pytest.approx(expected, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'duration': 0.0}, 'duration of the spiral is 0.0 s, not positive'),
        ({'radius': np.nan}, 'radius of the spiral is nan'),
    ],
)
def test_numbers_that_make_no_sense_are_refused(arguments, message) -> None:
    with pytest.raises(InputError, match=message):
        Spiral(**arguments)


@pytest.mark.parametrize('time', [-0.01, 0.41, np.nan])
def test_times_off_the_path_are_refused(time) -> None:
    with pytest.raises(InputError, match='between 0 and 0.4 s'):
        Spiral().sample([0.1, time])
