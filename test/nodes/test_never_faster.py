# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What passes the checks never moves a joint faster than its limit, nor a late motion hurry.

Random trajectories, delays and replacements, each made as fast as the checks let pass; looked at on
a grid a hundred times finer than theirs.
"""

import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import LimitError, MasticatorError
from masticator_dynamics.motion import MotionPath, path_from_state

pytest.importorskip('rclpy', reason='rclpy is not installed')

from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from masticator_dynamics.ros.dynamics import trajectory_checks
from masticator_dynamics.ros.dynamics.settings import DynamicsSettings
from masticator_dynamics.ros.dynamics.trajectory_checks import TrajectoryPoints, to_independent
from nodes.harness import nanoseconds

S = 10**9
STAMP = 100 * S
FINER = 100
STRONG = DynamicsSettings(effort_limit_scale=1e3)  # motors: joints are too fast before
CASES = 8
MECHANISMS = ('masticator', 'delta', 'trimule', 'rcid')  # motors turn in two, slide in two
OFTEN = ('masticator', 'trimule')
# m and rad: what is well within reach around a pose, which is home but for the jaw, open there
SIZES = {'masticator': (0.001, 0.001, 0.02, 0.06), 'delta': 0.05, 'trimule': 0.1, 'rcid': 0.01}


class Sender:
    """Random trajectories for a mechanism: any number of points, derivatives and joints."""

    def __init__(self, name, seed):
        self.random = np.random.default_rng([MECHANISMS.index(name), seed])
        self.mechanism = mechanism = Mechanism.load(name)
        self.size = np.broadcast_to(SIZES[name], len(mechanism.independent))
        middle = (0.004, 0.0, 0.0, 0.1) if name == 'masticator' else mechanism.home.y
        self.rest = np.array(middle), *np.zeros((2, len(self.size)))

    def trajectory(self):
        """Times (N,) of a duration of one second, and one to three rows (N, n) of derivatives."""
        random = self.random
        times = np.cumsum(random.uniform(0.05, 1.0, random.choice([1, 1, 2, 3, 6, 20])))
        times /= times[-1]
        values = random.normal(0.0, 0.3, (3, len(times), len(self.size)))
        values[0] = self.rest[0] + self.size * np.clip(values[0], -1.0, 1.0)
        values[1:] *= self.size
        values[2] *= 3.0
        return times, tuple(values[: random.integers(1, 4)])


def points(mechanism, times, rows, seconds, actuated):
    """Points of a trajectory that lasts so long, in degrees of freedom or actuated joints."""
    rows = [row / seconds**k for k, row in enumerate(rows)]
    if actuated:
        y = np.zeros((3, *rows[0].shape))
        y[: len(rows)] = rows
        motion = mechanism.feedforward_batch(*y)
        columns = motion.position, motion.velocity, motion.acceleration
        sent = TrajectoryPoints(mechanism.actuated, seconds * times, columns[: len(rows)])
        return to_independent(sent, mechanism, 1e-4)
    return TrajectoryPoints(mechanism.independent, seconds * times, tuple(rows))


def prepare(mechanism, sent, motion, late):
    """What is followed from ``late`` after the stamp on, or None; until then a motion is."""
    at_start, at_stamp = motion(late), motion(0.0)
    start = STAMP + round(late * S)
    try:
        return trajectory_checks.prepare(mechanism, sent, at_start, at_stamp, STAMP, start, STRONG)
    except MasticatorError:
        return None


def shortest(attempt):
    """What an attempt returns for about the shortest time for which that is not None."""
    low, high = 3e-4, 10.0
    best = attempt(high)
    for _ in range(10):
        middle = np.sqrt(low * high)
        if (answer := attempt(middle)) is None:
            low = middle
        else:
            best, high = answer, middle
    return best


def moving(sender):
    """A motion that is replaced somewhere on its way, as a function of the time since then."""
    mechanism, prepared = sender.mechanism, None
    while prepared is None:
        times, rows = sender.trajectory()

        def attempt(seconds, times=times, rows=rows):
            sent = points(mechanism, times, rows, seconds, False)
            return prepare(mechanism, sent, lambda _: sender.rest, 0.0)

        prepared = shortest(attempt)
    path = prepared.piece.path
    taken = sender.random.uniform(path.start, path.end)
    return lambda seconds: path(taken + seconds)


def finely(prepared):
    """Path and message, and times (N,) of the path a hundred times finer than the checks'."""
    message, path = deserialize_message(prepared.message, JointTrajectory), prepared.piece.path
    after = np.array([nanoseconds(point.time_from_start) * 1e-9 for point in message.points])
    parts = 8 * FINER  # 20 ms of a message are checked in no more parts than that
    grid = np.interp(np.arange(parts * (len(after) - 1) + 1) / parts, np.arange(len(after)), after)
    return path, message, after, path.start + grid


def rates(mechanism, path, times):
    """Positions, velocities and accelerations (N, n_q) of all joints on a path."""
    motion = mechanism.feedforward_batch(*path.sample(times))
    return motion.q, motion.v, motion.a


def check_limits(mechanism, prepared):
    """Check all joints, and motors as a controller interpolates them; return the part of limits."""
    path, message, after, times = finely(prepared)
    limits = mechanism.limits
    q, v, _ = rates(mechanism, path, times)
    assert (np.abs(v) <= limits.velocity + 1e-9).all()
    step = np.diff(times)[:, None]
    assert (np.abs(np.diff(q, axis=0)) <= limits.velocity * step + 1e-11).all()
    assert (q >= limits.lower - 1e-6).all() and (q <= limits.upper + 1e-6).all()
    if len(after) > 1:
        fields = ('positions', 'velocities', 'accelerations')
        rows = ([getattr(point, field) for point in message.points] for field in fields)
        velocity = MotionPath.through(after, *map(np.array, rows)).sample(times - path.start)[1]
        fastest = limits.velocity[mechanism.tree_indices(mechanism.actuated)]
        assert (np.abs(velocity) <= fastest + 1e-6).all()  # a message has whole ns
    return float((np.abs(v) / limits.velocity).max())


def check_no_faster(mechanism, prepared, sent, motion, late):
    """Check every joint that a sender can name against the motion as it was meant."""
    own = path_from_state(motion(0.0), sent.times, *sent.rows)
    meant = rates(mechanism, own, np.linspace(own.start, own.end, 20_001))
    path, *_, times = finely(prepared)
    followed = rates(mechanism, path, times[times <= sent.times[-1]])
    joints = mechanism.tree_indices([*mechanism.independent, *mechanism.actuated])
    for rows, other in zip(followed[1:], meant[1:], strict=True):
        allowed = np.maximum(np.abs(other).max(axis=0), np.abs(rows[0]))[joints]
        assert (np.abs(rows[:, joints]).max(axis=0) <= 1.002 * allowed + 1e-3).all()
    for row, wanted in zip(path(path.start), motion(late), strict=True):
        assert np.abs(row - wanted).max() < 1e-9


@pytest.mark.filterwarnings('ignore::masticator_dynamics.errors.RangeWarning')
@pytest.mark.parametrize('name', samples.swept(MECHANISMS, OFTEN))
@pytest.mark.parametrize('actuated', [False, True])
def test_no_joint_is_faster_than_its_limit_between_any_two_instants(name, actuated):
    """Of motions that are nearly too fast for the checks, most are nearly too fast for a joint."""
    used = []
    for seed in range(CASES):
        sender = Sender(name, seed)
        mechanism, (times, rows) = sender.mechanism, sender.trajectory()
        motion = moving(sender) if seed % 2 else lambda _, rest=sender.rest: rest

        def attempt(seconds, mechanism=mechanism, times=times, rows=rows, motion=motion):
            try:
                sent = points(mechanism, times, rows, seconds, actuated)
            except MasticatorError:
                return None  # rates that do not fit the loops
            return prepare(mechanism, sent, motion, 0.0)

        if (prepared := shortest(attempt)) is not None:
            used.append(check_limits(mechanism, prepared))
    assert len(used) >= CASES // 2 and np.median(used) > 0.98


def test_efforts_of_the_shortest_motions_are_seen():
    """Over in 0.12 ms, no crank is faster than its limit, but accelerations are beyond motors."""
    mechanism = Mechanism.load('masticator')
    at_home = mechanism.home.y, *np.zeros((2, 4))
    point = TrajectoryPoints(
        mechanism.independent, np.array([1.2e-4]), (np.array([[0, 0, 0, 1.5e-4]]),)
    )
    for scale, expected in ((2.0, None), (1.0, r'at \S+ s: crank_\d effort')):
        settings = DynamicsSettings(effort_limit_scale=scale)
        given = mechanism, point, at_home, at_home, STAMP, STAMP, settings
        if expected is None:
            prepared = trajectory_checks.prepare(*given)
            assert check_limits(mechanism, prepared) > 0.8
        else:
            with pytest.raises(LimitError, match=expected):
                trajectory_checks.prepare(*given)


@pytest.mark.filterwarnings('ignore::masticator_dynamics.errors.RangeWarning')
@pytest.mark.parametrize('name', samples.swept(MECHANISMS, ['masticator']))
def test_what_comes_late_is_joined_no_faster_than_it_was_meant(name):
    joined = refused = 0
    for seed in range(5 * CASES):
        sender = Sender(name, seed)
        random, mechanism, (times, rows) = sender.random, sender.mechanism, sender.trajectory()
        seconds = 10.0 ** random.uniform(-0.7, 0.2)
        late = random.choice([0.002, 0.01, 0.05, 0.3, 0.9]) * random.uniform(0.5, 1.0) * seconds
        motion = moving(sender) if seed % 3 == 0 else lambda _, rest=sender.rest: rest
        try:
            sent = points(mechanism, times, rows, seconds, bool(seed % 2 and len(rows) == 1))
        except MasticatorError:
            continue  # out of reach
        prepared = prepare(mechanism, sent, motion, late)
        if prepared is None:
            refused += 1
            continue
        joined += 1
        check_limits(mechanism, prepared)
        check_no_faster(mechanism, prepared, sent, motion, late)
    assert joined >= CASES and refused >= CASES
