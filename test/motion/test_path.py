# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""MotionPath: continuity, consistency, boundary conditions, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masticator_dynamics.errors import InputError
from masticator_dynamics.motion import MotionPath


def random_points(seed, count, n=3):
    rng = np.random.default_rng(seed)
    times = 0.3 + np.cumsum(rng.uniform(0.05, 0.5, count))
    return times, rng.normal(size=(count, n)), rng.normal(size=(count, n)), rng


def jumps(path):
    """Largest relative jump of position, velocity, acceleration at inner knots."""
    inner = path.knots[1:-1]
    step = 1e-9
    before, after = path.sample(inner - step), path.sample(inner + step)
    rate = [*path.sample(inner)[1:], np.full((len(inner), path.dimension), np.inf)]
    largest = []
    for k in range(3):
        jump = np.abs(after[k] - before[k])
        # Over 2e-9 s a continuous function moves by its rate; jerk is bounded by differences.
        moved = 2 * step * np.abs(rate[k]) if k < 2 else 2 * step * jerk_bound(path)
        largest.append(np.max(jump - 2.0 * moved))
    return largest


def jerk_bound(path):
    grid = np.linspace(path.start, path.end, 20001)
    return np.abs(np.diff(path.sample(grid)[2], axis=0)).max() / (grid[1] - grid[0]) * 2.0


def all_constructors(seed, count):
    t, p, v, rng = random_points(seed, count)
    a = rng.normal(size=p.shape)
    rest = (np.zeros(3), np.zeros(3))
    return {
        'interpolate': MotionPath.interpolate(t, p),
        'positions': MotionPath.through(t, p),
        'clamped': MotionPath.through(t, p, start=(v[0], a[0]), end=rest),
        'velocities': MotionPath.through(t, p, v),
        'velocities, clamped': MotionPath.through(t, p, v, start=(v[1], a[0]), end=rest),
        'all': MotionPath.through(t, p, v, a),
    }


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(7, 12))
def test_every_constructor_gives_a_c2_motion_through_the_points(seed, count):
    t, p, _, _ = random_points(seed, count)
    for name, path in all_constructors(seed, count).items():
        assert np.allclose(path.sample(t)[0], p, rtol=0, atol=1e-10), name
        assert max(jumps(path)) < 1e-6, name


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(2, 9))
def test_derivatives_belong_to_one_function(seed, count):
    step = 1e-5
    for name, path in all_constructors(seed, count).items():
        inner = np.linspace(path.start, path.end, 37)[1:-1]
        ahead, here, behind = (path.sample(inner + d) for d in (step, 0.0, -step))
        for k in (0, 1):
            difference = (ahead[k] - behind[k]) / (2 * step)
            scale = 1.0 + np.abs(here[k + 1]).max()
            assert np.abs(difference - here[k + 1]).max() < 1e-4 * scale, (name, k)


def test_given_derivatives_are_honoured():
    t, p, v, rng = random_points(1, 8)
    a = rng.normal(size=p.shape)
    path = MotionPath.through(t, p, v, a)
    assert np.allclose(path.sample(t), [p, v, a], atol=1e-9)
    path = MotionPath.through(t, p, v)
    assert np.allclose(path.sample(t)[:2], [p, v], atol=1e-9)
    path = MotionPath.through(t, p, start=(v[0], a[0]), end=(v[1], a[1]))
    assert np.allclose(path(t[0]), [p[0], v[0], a[0]], atol=1e-9)
    assert np.allclose(path(t[-1]), [p[-1], v[1], a[1]], atol=1e-9)


def test_jerk_is_least():
    """Any other choice of the free derivatives gives more jerk."""
    t, p, v, rng = random_points(2, 6)

    def jerk(path):
        grid = np.linspace(t[0], t[-1], 40001)
        return np.sum(np.diff(path.sample(grid)[2], axis=0) ** 2)

    for best in (MotionPath.through(t, p), MotionPath.through(t, p, v)):
        _, velocities, accelerations = best.sample(t)
        least = jerk(best)
        for _ in range(5):
            moved = accelerations + 0.3 * rng.normal(size=p.shape)
            assert jerk(MotionPath.through(t, p, velocities, moved)) > least


def test_smooth_function_is_recovered():
    t = np.linspace(0.0, 2.0, 81)
    fine = np.linspace(0.0, 2.0, 999)
    path = MotionPath.interpolate(t, np.sin(3 * t)[:, None])
    exact = [np.sin(3 * fine), 3 * np.cos(3 * fine), -9 * np.sin(3 * fine)]
    for found, true, bar in zip(path.sample(fine), exact, (1e-7, 1e-5, 1e-3), strict=True):
        assert np.abs(found[:, 0] - true).max() < bar


@pytest.mark.parametrize('count', [2, 3, 4, 5, 6])
def test_few_points_give_the_polynomial_of_lowest_degree(count):
    t = np.array([0.0, 0.4, 0.5, 1.1, 1.3, 2.0])[:count]
    polynomial = np.polynomial.Polynomial(np.arange(1.0, count + 1.0))
    path = MotionPath.interpolate(t, polynomial(t)[:, None])
    fine = np.linspace(t[0], t[-1], 50)
    for k, found in enumerate(path.sample(fine)):
        true = polynomial.deriv(k)(fine) if k else polynomial(fine)
        assert np.allclose(found[:, 0], true, rtol=1e-9, atol=1e-9)


def test_two_bare_points_are_joined_by_a_line():
    position, velocity, acceleration = MotionPath.through([0.0, 2.0], [[1.0], [2.0]])(0.5)
    assert np.allclose([position, velocity, acceleration], [[1.25], [0.5], [0.0]], atol=1e-12)


def test_single_call_and_vector_sampling_agree():
    path = all_constructors(3, 9)['velocities']
    times = np.concatenate([np.linspace(path.start - 1, path.end + 1, 200), path.knots])
    together = np.stack(path.sample(times), axis=1)
    one_by_one = np.array([path(t) for t in times])
    # Summed in another order: rounding of the largest acceleration.
    assert np.allclose(together, one_by_one, rtol=0, atol=1e-14 * np.abs(together).max())


def test_outside_the_path_holds_at_rest():
    t, p, v, _ = random_points(4, 5)
    path = MotionPath.through(t, p, v)
    for time, point in ((t[0] - 0.1, p[0]), (t[-1] + 0.1, p[-1])):
        position, velocity, acceleration = path(time)
        assert np.allclose(position, point) and not velocity.any() and not acceleration.any()


def test_one_point_is_held():
    for path in (
        MotionPath.through([1.0], [[2.0, 3.0]]),
        MotionPath.constant([2.0, 3.0], time=1.0),
        MotionPath.interpolate([1.0], [[2.0, 3.0]]),
    ):
        for time in (0.0, 1.0, 2.0):
            assert np.array_equal(path(time), [[2, 3], [0, 0], [0, 0]])
        assert path.sample([0.0, 1.0, 2.0])[0].tolist() == [[2.0, 3.0]] * 3


def test_results_do_not_alias_the_path():
    path = MotionPath.constant([1.0, 2.0])
    path(0.0)[0][:] = 9.0
    assert path(0.0)[0].tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match='read-only'):
        path.knots[0] = 3.0


def test_points_far_apart_in_density_stay_finite():
    rng = np.random.default_rng(5)
    t = np.concatenate([[0.0], np.cumsum(10.0 ** (-6 * rng.random(20)))])
    path = MotionPath.through(t, np.sin(t)[:, None])
    assert np.abs(path.sample(t)[0][:, 0] - np.sin(t)).max() < 1e-12
    assert np.isfinite(path.sample(np.linspace(0, t[-1], 500))).all()


def test_joined_paths_keep_both_and_refuse_jumps():
    t, p, v, _ = random_points(6, 5)
    whole = MotionPath.through(t, p, v)
    state = whole.sample(t)
    parts = [MotionPath.through(t[i:j], *(row[i:j] for row in state)) for i, j in ((0, 3), (2, 5))]
    joined = MotionPath.joined(parts)
    fine = np.linspace(t[0], t[-1], 99)
    assert np.allclose(joined.sample(fine), whole.sample(fine), atol=1e-9)
    with pytest.raises(InputError, match='cannot be followed'):
        MotionPath.joined(parts[::-1])
    bent = MotionPath.through(t[2:], *(row[2:] for row in state[:2]), start=(v[2], p[0] + 100))
    with pytest.raises(InputError, match='acceleration jumps'):
        MotionPath.joined([parts[0], bent])


@pytest.mark.parametrize(
    ('times', 'positions', 'message'),
    [
        ([0, 1, 1], np.zeros((3, 2)), 'time 2 is 1 s after 1 s'),
        ([0, 2, 1], np.zeros((3, 2)), 'must increase'),
        ([0, np.nan, 1], np.zeros((3, 2)), 'time 1 is not finite'),
        ([0, 1, 2], [[0, 0], [0, np.nan], [0, 0]], 'position of beta at 1 s is nan'),
        ([0, 1, 2], [[0, 0], [0, 0], [np.inf, 0]], 'position of x at 2 s is inf'),
        ([0, 1, 2], [[0, 0], [0, -1e101], [0, 0]], 'position of beta at 1 s is -1e.101, too large'),
        ([0, 1], np.zeros((3, 2)), r'shape \(3, 2\), expected \(2, 2\)'),
        ([0, 1], np.zeros((2, 3)), r'shape \(2, 3\), expected \(2, 2\)'),
        ([], np.zeros((0, 2)), 'at least one'),
    ],
)
def test_malformed_points_are_refused(times, positions, message):
    for construct in (MotionPath.through, MotionPath.interpolate):
        with pytest.raises(InputError, match=message):
            construct(times, positions, names=('x', 'beta'))


def test_malformed_derivatives_are_refused():
    t, p = [0.0, 1.0], np.zeros((2, 2))
    with pytest.raises(InputError, match='velocity of y at 1 s'):
        MotionPath.through(t, p, [[0, 0], [0, np.nan]], names=('x', 'y'))
    with pytest.raises(InputError, match='without velocities'):
        MotionPath.through(t, p, None, p)
    with pytest.raises(InputError, match='velocity at an end'):
        MotionPath.through(t, p, start=(np.zeros(3), np.zeros(2)))
