# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Exciting motions stay where the robot may be, are smooth, and tell more than the first try."""

import dataclasses
import functools
import warnings

import numpy as np
import pytest
import samples

from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.identification import excitation
from masticator_dynamics.identification.excitation import exciting_motion
from masticator_dynamics.limits.load_limits import load_ranges
from masticator_dynamics.limits.ranges import range_room
from masticator_dynamics.mechanism import Mechanism

MECHANISMS = ['masticator', 'rcid', 'five_bar']
DEFAULTS = {'duration': 8.0, 'tries': 6}


@functools.cache
def excited_by_default(name):
    """A mechanism and the motion that most tests look at."""
    mechanism = Mechanism.load(name)
    return mechanism, exciting_motion(mechanism, **DEFAULTS)


@pytest.fixture(params=samples.swept(MECHANISMS))
def excited(request):
    return excited_by_default(request.param)


def test_ranges_and_limits_are_kept(excited):
    """By the file's own ranges, without the search's."""
    mechanism, found = excited
    with warnings.catch_warnings():
        warnings.simplefilter('error')  # a range that is left is a warning
        effort = mechanism.feedforward_batch(*found.rows, friction=True)
    assert np.all(mechanism.in_ranges(effort))
    low, high = mechanism.load_limits.effort_range
    assert (effort.actuated >= low - 1e-9).all() and (effort.actuated <= high + 1e-9).all()
    assert effort.closure_residual.max() < 1e-9


def test_teeth_stay_below_where_they_meet():
    """Links that would rise above their height at home stop there; nothing else says so."""
    mechanism, free = excited_by_default('masticator')
    teeth = ['incisor', 'molar_left', 'molar_right']

    def heights(motion_rows):
        motion = mechanism.solve_batch(motion_rows.y)
        at = [mechanism.frame_pose(motion, link).position[:, 2].max() for link in teeth]
        home = [mechanism.frame_pose(mechanism.home, link).position[2] for link in teeth]
        return np.subtract(at, home)

    apart = 0.009 * mechanism.structure.extent()
    stopped = exciting_motion(mechanism, **DEFAULTS, below=teeth)
    assert heights(free).max() > -apart > heights(stopped).max()


def test_it_is_large(excited):
    """As far as something allows: a motion a twentieth larger comes too near a range or limit."""
    mechanism, found = excited
    rows = 1.05 * found.y - 0.05 * found.y[0], 1.05 * found.y_dot, 1.05 * found.y_ddot
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        try:
            effort = mechanism.feedforward_batch(*rows, friction=True)
        except MasticatorError:  # it does not even close
            return
    loads = load_ranges(mechanism, effort, mechanism.load_limits)
    beyond = any(group.outside().any() for group in loads)
    assert beyond or range_room(mechanism, effort).room.min() < 0.05


def test_derivatives_are_those_of_the_positions(excited):
    _, found = excited
    y, y_dot, y_ddot = found.rows
    step = found.time[1] - found.time[0]
    for values, slopes in ((y, y_dot), (y_dot, y_ddot)):
        differences = (values[2:] - values[:-2]) / (2.0 * step)
        assert np.abs(differences - slopes[1:-1]).max() < 3e-3 * np.abs(slopes).max()


def test_it_begins_and_ends_at_rest_at_one_place(excited):
    _, found = excited
    for rates in (found.y_dot, found.y_ddot):
        assert np.abs(rates[[0, -1]]).max() < 1e-12
    assert found.y[0] == pytest.approx(found.y[-1], abs=1e-12)


def test_internal_efforts_move_nothing_and_load_bearings():
    """By forward dynamics: motors that also work against one another move the jaw all the same."""
    mechanism, without = excited_by_default('masticator')
    found = exciting_motion(mechanism, **DEFAULTS, internal=0.2)
    assert np.abs(found.internal).max() == pytest.approx(0.2)
    assert np.abs(found.internal[[0, -1]]).max() < 1e-12
    y, y_dot, y_ddot = (rows[::50] for rows in found.rows)
    alone = mechanism.feedforward_batch(y, y_dot, y_ddot)
    moved = mechanism.forward_dynamics_batch(y, y_dot, alone.actuated + found.internal[::50])
    assert moved == pytest.approx(y_ddot, rel=1e-6, abs=1e-6 * np.abs(y_ddot).max())
    # With friction that grows with loads they do not: that is what they tell.
    moved = mechanism.forward_dynamics_batch(
        y, y_dot, alone.actuated + found.internal[::50], friction=True
    )
    same = mechanism.forward_dynamics_batch(y, y_dot, alone.actuated, friction=True)
    assert np.abs(moved - same).max() > 0.01 * np.abs(y_ddot).max()
    assert not without.internal.any() and np.array_equal(without.time, found.time)


def test_internal_efforts_that_cannot_be():
    with pytest.raises(InputError, match='five_bar has no redundant motors'):
        exciting_motion(Mechanism.load('five_bar'), duration=6.0, internal=0.1)
    with pytest.raises(InputError, match='internal efforts of 50 are too much for crank_'):
        exciting_motion(Mechanism.load('masticator'), duration=6.0, tries=2, internal=50.0)


def test_a_chosen_motion_tells_more_than_the_first_and_another_seed_gives_another_motion():
    mechanism, first = excited_by_default('five_bar')
    again, other = (exciting_motion(mechanism, **DEFAULTS, **o) for o in ({}, {'seed': 2}))
    assert np.array_equal(first.rows, again.rows) and not np.array_equal(first.rows, other.rows)
    for motion in (first, other):
        assert motion.learnt[1] >= motion.learnt[0]
        assert motion.condition[1] < motion.condition[0]


def test_a_velocity_limit_of_0_is_named():
    """Beside the limits of motors, which are not to blame."""
    mechanism = Mechanism.load('five_bar')
    tree, still = mechanism.description.tree, mechanism.tree_joints[-1]
    joints = [dataclasses.replace(j, velocity=0.0) if j.name == still else j for j in tree.joints]
    tree = dataclasses.replace(tree, joints=tuple(joints))
    stopped = Mechanism(dataclasses.replace(mechanism.description, tree=tree))
    with pytest.raises(InputError, match=f'motors: the velocity limit of {still} is 0$'):
        exciting_motion(stopped, duration=6.0, tries=2)


def test_a_motion_that_is_too_short_is_refused():
    with pytest.raises(InputError, match='3 s are too short for 2 Hz; needed are 6 s'):
        exciting_motion(Mechanism.load('five_bar'), duration=3.0)


def test_it_keeps_away_from_singularities():
    """Of a fully actuated mechanism: what its motors hold least, over the same at home."""
    mechanism, steps = Mechanism.load('three_rrs'), []
    found = exciting_motion(
        mechanism, duration=6.0, tries=2, rate=50.0, conditioning=0.3, progress=steps.append
    )
    assert sum(steps) == excitation.steps(mechanism, 2)
    poses = mechanism.solve_batch(found.y)
    jacobians = mechanism.jacobian_actuated_from_independent(poses)
    home = mechanism.jacobian_actuated_from_independent(mechanism.home)
    held = np.linalg.svd(jacobians @ np.linalg.inv(home), compute_uv=False)[:, -1]
    assert found.conditioning >= 0.3
    assert held.min() > 0.2  # 0.06 without
