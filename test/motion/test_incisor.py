# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Following a recorded incisor."""

import pathlib
import re

import numpy as np
import pytest
from scipy.optimize import minimize

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import InputError, LimitError, ReachError
from masticator_dynamics.motion import chewing_stroke, track_incisor
from masticator_dynamics.motion.least_contact_motion import LeastContactMotion

RECORDING = pathlib.Path(__file__).parents[3] / 'shared/data/chewing_cycle.csv'
STEP = 1e-5
CONDYLES = ('condyle_left', 'condyle_right')


@pytest.fixture(scope='module')
def follower(mechanism):
    return LeastContactMotion(mechanism, 'incisor')


@pytest.fixture(scope='module')
def recording(mechanism):
    """One stroke sampled at 250 Hz and rounded like a jaw tracker's data."""
    times = np.linspace(0.0, 1.0, 251)
    home = mechanism.frame_pose(mechanism.home, 'incisor').position
    poses = chewing_stroke().sample(times)[0]
    points = [mechanism.frame_pose(mechanism.solve(y), 'incisor').position for y in poses]
    return times, np.round((np.array(points) - home) / STEP) * STEP


@pytest.fixture(scope='module')
def track(mechanism, recording):
    return track_incisor(mechanism, *recording)


def incisor_at(mechanism, path, time):
    return mechanism.frame_pose(mechanism.solve(path(time)[0]), 'incisor').position


def condyle_motion(mechanism, y, axes=(1.0, 1.0, 1.0)):
    """Sum of squared condyle displacements from home, weighted by axis, m^2."""
    motion = mechanism.solve(y)
    return sum(
        np.sum((np.array(axes) * (mechanism.frame_pose(motion, c).position
                                  - mechanism.frame_pose(mechanism.home, c).position)) ** 2)
        for c in CONDYLES
    )  # fmt: skip


def platform_motion(mechanism, y):
    """Squared motion of the mandible: translation, and rotation by the incisor's distance, m^2."""
    lever = np.linalg.norm(mechanism.frame_pose(mechanism.home, 'incisor').position)
    twist = mechanism.frame_jacobian(mechanism.home, 'mandible')
    scale = np.hypot(np.linalg.norm(twist[:3], axis=0), lever * np.linalg.norm(twist[3:], axis=0))
    return np.sum((scale * y) ** 2)


CRITERIA = {
    'contacts': condyle_motion,
    'lateral': lambda mechanism, y: condyle_motion(mechanism, y, (0.1, 1.0, 0.1)),
    'coordinates': platform_motion,
}


def test_recording_is_followed_within_its_rounding(mechanism, recording, track):
    times, displacement = recording
    home = mechanism.frame_pose(mechanism.home, 'incisor').position
    found = np.array([incisor_at(mechanism, track.path, t) for t in times]) - home
    distance = np.linalg.norm(found - displacement, axis=1)
    assert distance.max() < 2 * STEP
    assert track.error_max == pytest.approx(distance.max())
    assert track.error_rms == pytest.approx(np.sqrt(np.mean(distance**2)))


def test_condyles_stay_inside_their_sockets_by_the_stated_margin(mechanism, track):
    margins = []
    for time in track.times:
        motion = mechanism.solve(*track.path(time))
        for condyle in CONDYLES:
            x, y, _ = mechanism.frame_pose(motion, condyle).position
            margins += [x + 0.010, 0.005 - x, abs(y) - 0.069, 0.075 - abs(y)]
    assert track.socket_margin == pytest.approx(min(margins), abs=1e-12)
    assert track.socket_margin > 0.0


def test_derivatives_belong_to_the_incisor_motion(mechanism, track):
    for time in (0.2, 0.431, 0.66):
        y, y_dot, _ = track.path(time)
        rate = mechanism.frame_jacobian(mechanism.solve(y), 'incisor')[:3] @ y_dot
        step = 1e-5
        difference = (incisor_at(mechanism, track.path, time + step)
                      - incisor_at(mechanism, track.path, time - step)) / (2 * step)  # fmt: skip
        assert np.allclose(rate, difference, atol=1e-6)


def test_acceleration_is_continuous(track):
    """Left and right limits agree at every recorded time, compared with changes in between."""
    gap = 1e-9
    inner = track.times[1:-1]
    before, after = (track.path.sample(inner + side * gap) for side in (-1.0, 1.0))
    for left, right in zip(before, after, strict=True):
        assert np.abs(left - right).max() < 1e-5 * np.abs(np.diff(left, axis=0)).max()


def test_rounding_does_not_reach_the_acceleration(recording, track):
    times, _ = recording
    found = track.path.sample(times)[2]
    true = chewing_stroke().sample(times)[2]
    # The free coordinate is chosen differently; opening is what the incisor determines.
    assert np.abs(found[:, 3] - true[:, 3]).max() < 0.25 * np.abs(true[:, 3]).max()


def test_track_that_starts_at_rest_does_so_exactly(track):
    assert np.abs(track.path(track.path.start)[1:]).max() < 1e-12


def place(follower, offset):
    """Pose with the incisor displaced from home by an offset."""
    return follower.solve(follower.home_position + np.array([offset]), np.zeros(1))[0]


@pytest.mark.parametrize('criterion', CRITERIA)
@pytest.mark.parametrize('offset', [(-4e-3, 3e-3, -12e-3), (1e-3, -2e-3, -4e-3), (0, 5e-3, -1e-3)])
def test_what_the_criterion_says_is_least(mechanism, offset, criterion):
    judge = CRITERIA[criterion]
    best = place(LeastContactMotion(mechanism, 'incisor', criterion), offset)
    target = mechanism.frame_pose(mechanism.home, 'incisor').position + offset
    motion = mechanism.solve(best)
    assert np.allclose(mechanism.frame_pose(motion, 'incisor').position, target, atol=1e-9)
    null = np.linalg.svd(mechanism.frame_jacobian(motion, 'incisor')[:3])[2][3]
    least = judge(mechanism, best)
    for size in (-0.002, 0.002):
        other = best + size * null
        for _ in range(8):  # back to the target, staying away from the best pose
            motion = mechanism.solve(other)
            missing = target - mechanism.frame_pose(motion, 'incisor').position
            other += np.linalg.pinv(mechanism.frame_jacobian(motion, 'incisor')[:3]) @ missing
        assert np.linalg.norm(other - best) > 0.5 * abs(size)
        assert judge(mechanism, other) > least


def test_criteria_differ(mechanism):
    offset = (-4e-3, 3e-3, -12e-3)
    poses = {c: place(LeastContactMotion(mechanism, 'incisor', c), offset) for c in CRITERIA}
    for criterion, judge in CRITERIA.items():
        values = {c: judge(mechanism, pose) for c, pose in poses.items()}
        assert min(values, key=values.get) == criterion, values


def test_unknown_criterion_is_refused(mechanism):
    with pytest.raises(InputError, match=r"no criterion 'fun'.*contacts, lateral, coordinates"):
        LeastContactMotion(mechanism, 'incisor', 'fun')


def test_free_coordinate_keeps_the_condyles_inside(mechanism, follower):
    """8 mm sideways: the least condyle motion alone would leave the sockets."""

    def sideways(solver):
        motion = mechanism.solve(place(solver, (-1e-3, 8e-3, -8e-3)))
        y = [mechanism.frame_pose(motion, c).position[1] for c in CONDYLES]
        return np.abs(np.abs(y) - 0.072).max()

    unlimited = LeastContactMotion(mechanism, 'incisor')
    unlimited._ranges = [(np.full(3, -np.inf), np.full(3, np.inf))] * 2
    assert sideways(unlimited) > 3e-3 > sideways(follower)


def test_rows_do_not_influence_one_another(follower):
    offsets = np.array([(-3e-3, 2e-3, -10e-3), (0.0, 0.0, 0.0), (1e-3, 6e-3, -2e-3)])
    together = follower.solve(follower.home_position + offsets, np.arange(3.0))
    for offset, pose in zip(offsets, together, strict=True):
        assert np.allclose(place(follower, offset), pose, rtol=0, atol=1e-14)


def test_mirrored_targets_have_mirrored_poses(follower):
    left, right = (place(follower, (-3e-3, side * 4e-3, -9e-3)) for side in (1, -1))
    assert np.allclose(left, right * [1, -1, -1, 1], atol=1e-8)


def ramp_to(point, count=41):
    times = np.linspace(0.0, 0.4, count)
    return times, np.linspace(0, 1, count)[:, None] ** 2 * np.array(point)


def test_leaving_the_socket_is_refused_with_time_and_condyle(mechanism):
    with pytest.raises(LimitError, match=r'at t = 0\.4 s.*condyle_(left|right) x'):
        track_incisor(mechanism, *ramp_to([0.014, 0.0, -0.002]))


def stroke_to(point, count=501):
    """There and back within a second, rounded like a recording."""
    times = np.linspace(0.0, 1.0, count)
    course = np.sin(np.pi * times)[:, None] ** 4
    return times, np.round(course * np.array(point) / STEP) * STEP


def in_sockets(mechanism, pose):
    """Smallest distance of a condyle to the ends of its ranges in x and y, m."""
    margins = []
    for condyle in CONDYLES:
        x, y, _ = mechanism.frame_pose(mechanism.solve(pose), condyle).position
        margins += [x + 0.010, 0.005 - x, abs(y) - 0.069, 0.075 - abs(y)]
    return min(margins)


def test_a_pose_inside_is_taken_where_there_is_one(mechanism, follower):
    """The criterion alone leaves a socket by some micrometres; the free coordinate avoids that."""
    point = (0.00909, 0.00374, -0.00385)
    assert -2e-5 < in_sockets(mechanism, place(follower, point)) < 0.0
    track = track_incisor(mechanism, *stroke_to(point))
    assert 0.0 < track.deviation.max() < 2e-7
    assert min(in_sockets(mechanism, y) for y in track.path.sample(track.times)[0]) > 0.0
    assert track.error_max < 2 * STEP
    test_acceleration_is_continuous(track)


def test_the_smallest_deviation_is_taken_where_no_pose_is_inside(mechanism):
    times, points = stroke_to((0.00475, 0.007125, -0.007125))
    track = track_incisor(mechanism, times, points)
    assert min(in_sockets(mechanism, y) for y in track.path.sample(times)[0]) > 0.0
    test_acceleration_is_continuous(track)
    # A second search at the middle, from elsewhere and without derivatives.
    home = mechanism.frame_pose(mechanism.home, 'incisor').position

    def distance(y):
        return 1e3 * np.linalg.norm(incisor_of(mechanism, y) - home - points[250])

    scale, start = np.array([1e-3, 1e-3, 1e-2, 1e-2]), track.path(0.45)[0]
    found = minimize(
        lambda z: distance(start + z * scale) ** 2, np.zeros(4), method='SLSQP',
            bounds=[(-10.0, 10.0)] * 4,
        constraints={
            'type': 'ineq', 'fun': lambda z: 1e3 * in_sockets(mechanism, start + z * scale)
        },
        options={'ftol': 1e-10, 'maxiter': 300},
    )  # fmt: skip
    least = 1e-3 * np.sqrt(found.fun)
    assert 5e-5 < least < 2e-4
    assert track.deviation.max() == pytest.approx(least, abs=1.5 * STEP)


def incisor_of(mechanism, y):
    return mechanism.frame_pose(mechanism.solve(y), 'incisor').position


def test_the_worst_is_named_with_what_it_would_take(mechanism):
    times, points = stroke_to((0.0048, 0.0072, -0.0072))
    message = (
        r'at t = 0\.5 s: condyle_right x .* the worst of \d\d samples; the nearest .* (0\.2\d+) mm'
    )
    with pytest.raises(LimitError, match=message) as refused:
        track_incisor(mechanism, times, points)
    needed = float(re.search(message, str(refused.value))[1]) * 1e-3
    track = track_incisor(mechanism, times, points, largest_deviation=1.01 * needed)
    assert track.deviation.max() == pytest.approx(needed, rel=0.01)


def test_out_of_reach_is_refused_with_the_time(mechanism):
    with pytest.raises((ReachError, LimitError), match=r'at t = 0\.\d+ s'):
        track_incisor(mechanism, *ramp_to([0.3, 0.0, 0.3]))


def test_malformed_recordings_are_refused(mechanism):
    times, points = ramp_to([0, 0, -0.01])
    broken = points.copy()
    broken[7, 2] = np.nan
    with pytest.raises(InputError, match='incisor_z at 0.07 s is nan'):
        track_incisor(mechanism, times, broken)
    with pytest.raises(InputError, match='must increase'):
        track_incisor(mechanism, times[::-1], points)
    with pytest.raises(InputError, match='shape'):
        track_incisor(mechanism, times, points[:, :2])
    with pytest.raises(InputError, match='tolerance'):
        track_incisor(mechanism, times, points, tolerance=-1.0)


def test_joints_too_fast_for_their_limits_are_slowed_down_nearby(mechanism):
    """The incisor closes at 0.49 m/s and stops within a sample, as teeth do."""
    times = np.linspace(0.0, 0.4, 401)
    opening = 0.004 * np.minimum(1.0, times / 0.2) ** 3 * (10 - 9 * np.minimum(1.0, times / 0.2))
    closing = np.maximum(0.0, 0.49 * (0.3 - times))
    points = np.zeros((401, 3))
    points[:, 2] = -np.minimum(opening, closing)
    track = track_incisor(mechanism, times, np.round(points / STEP) * STEP)
    wide = track.times[track.tolerance > STEP]
    assert 0.28 < wide[0] and wide[-1] < 0.32
    fine = np.linspace(0.28, 0.32, 401)
    speeds = [np.abs(mechanism.solve(*track.path(t)).velocity).max() for t in fine]
    assert 38.0 < max(speeds) < 40.2
    assert np.sqrt(3) * STEP < track.error_max < np.sqrt(3) * track.tolerance.max()


@pytest.mark.skipif(not RECORDING.exists(), reason='the recording is not beside this checkout')
def test_recorded_human_stroke(mechanism):
    table = np.genfromtxt(RECORDING, delimiter=',', names=True)
    points = np.column_stack([table[f'incisor_{axis}'] for axis in 'xyz'])
    track = track_incisor(mechanism, table['time'], points)
    assert track.error_max < 1e-4  # where the teeth meet
    assert track.error_rms < 2e-5
    assert track.socket_margin > 0.0
    assert len(track.path.knots) == len(table)
    motions = [mechanism.solve(*track.path(t)) for t in track.times]
    assert not any(mechanism.range_violations(motion) for motion in motions)


def test_without_contacts_the_platform_turns_only_as_far_as_it_must():
    """A platform with six degrees of freedom whose origin is given need not turn."""
    mechanism = Mechanism.load('rcid')
    times = np.linspace(0.0, 1.0, 51)
    points = np.sin(np.pi * times)[:, None] ** 2 * [0.010, 0.005, -0.012]
    track = track_incisor(mechanism, times, points, frame='platform')
    poses = track.path.sample(times)[0]
    assert np.allclose(poses[:, 3:], 0.0, atol=1e-9)
    assert np.abs(poses[:, :3] - mechanism.home.y[:3] - points).max() < 1.01 * STEP
    assert track.socket_margin == np.inf
