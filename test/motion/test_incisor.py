# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Following a recorded incisor."""

import pathlib

import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import InputError, LimitError, ReachError
from masticator_dynamics.motion import chewing_stroke, track_incisor
from masticator_dynamics.motion.least_contact_motion import LeastContactMotion

RECORDING = pathlib.Path(__file__).parents[3] / 'shared/data/chewing_cycle.csv'
STEP = 1e-5
CONDYLES = ('condyle_left', 'condyle_right')


@pytest.fixture(scope='module')
def masticator():
    return Mechanism.load('masticator')


@pytest.fixture(scope='module')
def follower(masticator):
    return LeastContactMotion(masticator, 'incisor')


@pytest.fixture(scope='module')
def recording(masticator):
    """One stroke sampled at 250 Hz and rounded like a jaw tracker's."""
    times = np.linspace(0.0, 1.0, 251)
    home = masticator.frame_pose(masticator.home, 'incisor').position
    poses = chewing_stroke().sample(times)[0]
    points = [masticator.frame_pose(masticator.solve(y), 'incisor').position for y in poses]
    return times, np.round((np.array(points) - home) / STEP) * STEP


@pytest.fixture(scope='module')
def track(masticator, recording):
    return track_incisor(masticator, *recording)


def incisor_at(mechanism, path, time):
    return mechanism.frame_pose(mechanism.solve(path(time)[0]), 'incisor').position


def condyle_motion(mechanism, y):
    """Sum of squared condyle displacements from home, m^2."""
    motion = mechanism.solve(y)
    return sum(
        np.sum((mechanism.frame_pose(motion, c).position
                - mechanism.frame_pose(mechanism.home, c).position) ** 2)
        for c in CONDYLES
    )  # fmt: skip


def test_recording_is_followed_within_its_rounding(masticator, recording, track):
    times, displacement = recording
    home = masticator.frame_pose(masticator.home, 'incisor').position
    found = np.array([incisor_at(masticator, track.path, t) for t in times]) - home
    distance = np.linalg.norm(found - displacement, axis=1)
    assert distance.max() < 2 * STEP
    assert track.error_max == pytest.approx(distance.max())
    assert track.error_rms == pytest.approx(np.sqrt(np.mean(distance**2)))


def test_condyles_stay_inside_their_sockets_by_the_stated_margin(masticator, track):
    margins = []
    for time in track.times:
        motion = masticator.solve(*track.path(time))
        for condyle in CONDYLES:
            x, y, _ = masticator.frame_pose(motion, condyle).position
            margins += [x + 0.010, 0.005 - x, abs(y) - 0.069, 0.075 - abs(y)]
    assert track.socket_margin == pytest.approx(min(margins), abs=1e-12)
    assert track.socket_margin > 0.0


def test_derivatives_belong_to_the_incisor_motion(masticator, track):
    for time in (0.2, 0.431, 0.66):
        y, y_dot, _ = track.path(time)
        rate = masticator.frame_jacobian(masticator.solve(y), 'incisor')[:3] @ y_dot
        step = 1e-5
        difference = (incisor_at(masticator, track.path, time + step)
                      - incisor_at(masticator, track.path, time - step)) / (2 * step)  # fmt: skip
        assert np.allclose(rate, difference, atol=1e-6)


def test_rounding_does_not_reach_the_acceleration(recording, track):
    times, _ = recording
    found = track.path.sample(times)[2]
    true = chewing_stroke().sample(times)[2]
    # The free coordinate is chosen differently; opening is what the incisor determines.
    assert np.abs(found[:, 3] - true[:, 3]).max() < 0.25 * np.abs(true[:, 3]).max()


def test_track_that_starts_at_rest_does_so_exactly(track):
    assert np.abs(track.path(track.path.start)[1:]).max() < 1e-12


@pytest.mark.parametrize('offset', [(-4e-3, 3e-3, -12e-3), (1e-3, -2e-3, -4e-3), (0, 5e-3, -1e-3)])
def test_condyles_move_least(masticator, follower, offset):
    target = follower.home_position + offset
    best = follower.solve(target, follower.home)
    motion = masticator.solve(best)
    assert np.allclose(masticator.frame_pose(motion, 'incisor').position, target, atol=1e-9)
    null = np.linalg.svd(masticator.frame_jacobian(motion, 'incisor')[:3])[2][3]
    least = condyle_motion(masticator, best)
    for size in (-0.02, 0.02):
        other = best + size * null
        for _ in range(8):  # back to the target, staying away from the best pose
            motion = masticator.solve(other)
            missing = target - masticator.frame_pose(motion, 'incisor').position
            other += np.linalg.pinv(masticator.frame_jacobian(motion, 'incisor')[:3]) @ missing
        assert np.linalg.norm(other - best) > 0.5 * abs(size)
        assert condyle_motion(masticator, other) > 1.05 * least


def test_free_coordinate_keeps_the_condyles_inside(masticator, follower):
    """Sideways by 8 mm: the least condyle motion alone would leave the sockets."""
    target = follower.home_position + [-1e-3, 8e-3, -8e-3]

    def sideways(solver):
        motion = masticator.solve(solver.solve(target, solver.home))
        y = [masticator.frame_pose(motion, c).position[1] for c in CONDYLES]
        return np.abs(np.abs(y) - 0.072).max()

    unlimited = LeastContactMotion(masticator, 'incisor')
    unlimited._ranges = [(np.full(3, -np.inf), np.full(3, np.inf))] * 2
    assert sideways(unlimited) > 3e-3 > sideways(follower)


def test_pose_does_not_depend_on_where_the_search_starts(follower):
    target = follower.home_position + [-3e-3, 2e-3, -10e-3]
    near = follower.solve(target, follower.home)
    far = follower.solve(target, near + [2e-3, -2e-3, 0.02, -0.05])
    assert np.allclose(near, far, atol=1e-8)


def ramp_to(point, count=41):
    times = np.linspace(0.0, 0.4, count)
    return times, np.linspace(0, 1, count)[:, None] ** 2 * np.array(point)


def test_leaving_the_socket_is_refused_with_time_and_condyle(masticator):
    with pytest.raises(LimitError, match=r'at t = 0\.[23]\d* s.*condyle_(left|right)'):
        track_incisor(masticator, *ramp_to([0.014, 0.0, -0.002]))


def test_out_of_reach_is_refused_with_the_time(masticator):
    with pytest.raises((ReachError, LimitError), match=r'at t = 0\.\d+ s'):
        track_incisor(masticator, *ramp_to([0.3, 0.0, 0.3]))


def test_malformed_recordings_are_refused(masticator):
    times, points = ramp_to([0, 0, -0.01])
    broken = points.copy()
    broken[7, 2] = np.nan
    with pytest.raises(InputError, match='incisor_z at 0.07 s is nan'):
        track_incisor(masticator, times, broken)
    with pytest.raises(InputError, match='must increase'):
        track_incisor(masticator, times[::-1], points)
    with pytest.raises(InputError, match='shape'):
        track_incisor(masticator, times, points[:, :2])
    with pytest.raises(InputError, match='tolerance'):
        track_incisor(masticator, times, points, tolerance=-1.0)


@pytest.mark.skipif(not RECORDING.exists(), reason='the recording is not beside this checkout')
def test_recorded_human_stroke(masticator):
    table = np.genfromtxt(RECORDING, delimiter=',', names=True)
    points = np.column_stack([table[f'incisor_{axis}'] for axis in 'xyz'])
    track = track_incisor(masticator, table['time'], points)
    assert track.error_max < 2e-5
    assert track.socket_margin > 0.0
    assert len(track.path.knots) == len(table)
