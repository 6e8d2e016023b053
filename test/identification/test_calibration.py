# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Zeros and dimensions of hidden plants from quantised readings of their encoders.

``CALIBRATIONS`` sets how many plants are drawn where intervals are judged.
"""

import functools
import os

import numpy as np
import pytest
import samples
import small_robots

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import InputError
from masticator_dynamics.identification.calibration import calibrate, refuse_worse
from masticator_dynamics.identification.calibration_search import Fixture
from masticator_dynamics.identification.encoder_equations import (
    EncoderEquations,
    EncoderUnknowns,
    Poses,
    dimensions,
)
from masticator_dynamics.identification.encoder_faults import refuse_faulty_encoders

pytestmark = pytest.mark.early

CALIBRATIONS = int(os.environ.get('CALIBRATIONS', '4'))
COUNT = 2.0 * np.pi / (4096 * 4.8)
NOISE = COUNT / np.sqrt(12.0)


@functools.cache
def mechanism(name: str) -> Mechanism:
    return samples.mechanism(name) if name in samples.NAMES else Mechanism.load(name)


def wandering(name, seed, count, reach=1.0):
    """Smooth independent positions (count, n_y) through the box of a mechanism, as by hand."""
    rng, time = np.random.default_rng(seed), np.linspace(0.0, 20.0, count)
    if name == 'masticator':
        low, high = np.array([[-0.004, -0.002, -0.05, 0.0], [0.001, 0.002, 0.05, 0.25]])
    elif name in samples.BOXES:
        low, high = samples.BOXES[name].lower, samples.BOXES[name].upper
    else:
        home, size = mechanism(name).home.y, np.array(samples.ARCHETYPES[name])
        low, high = home - 0.6 * size, home + 0.6 * size
    columns = []
    for a, b in zip(low, high, strict=True):
        waves = rng.uniform(0.5, 1.0, 5) * np.sin(
            2.0 * np.pi * rng.uniform(0.1, 0.8, 5) * time[:, None] + rng.uniform(0.0, 6.3, 5)
        )
        wave = waves.sum(axis=1)
        share = (wave - wave.min()) / np.ptp(wave)
        columns.append(0.5 * (a + b) + reach * (share - 0.5) * (b - a))
    return np.column_stack(columns)


def positions(plant, y):
    """Of the actuated joints, where the mechanism can be there."""
    return plant.attempt(y).motions.position


def quantised(shown, count=COUNT):
    return np.round(shown / count) * count


def readings(name, zeros, seed=0, count=800, changes=None, step=COUNT):
    """What encoders with these zeros show on a plant with other dimensions."""
    plant = mechanism(name).with_parameters(changes) if changes else mechanism(name)
    return quantised(positions(plant, wandering(name, seed, count)) - zeros, step)


def test_zeros_that_agree_to_rounding_are_kept_whatever_poses_are_read() -> None:
    """Chance decides which zeros are nearer in the sixteenth digit."""
    shown = positions(mechanism('masticator'), wandering('masticator', 0, 600))
    rng = np.random.default_rng(0)
    for _ in range(6):
        rows = np.sort(rng.choice(len(shown), 236, replace=False))
        assert not calibrate(mechanism('masticator'), shown[rows], NOISE, tolerance=1e-5).better


@pytest.mark.parametrize('seed', range(3))
def test_exact_readings_leave_standard_deviations_of_a_number(seed) -> None:
    """A simulation's: what is told of some directions is 1e16 times what is known beforehand."""
    shown = positions(mechanism('masticator'), wandering('masticator', seed, 400, reach=0.4))
    found = calibrate(mechanism('masticator'), shown, 1e-15, tolerance=1e-4)
    assert np.isfinite(found.sd).all() and found.sd.min() > 0.0


@pytest.mark.parametrize(
    ('name', 'size', 'step'),
    [('masticator', 0.03, COUNT), ('rrr4', 0.03, COUNT), ('jaw_6pus', 0.001, 1e-6)],
)
def test_zeros_from_redundant_encoders(name, size, step) -> None:
    zeros = np.random.default_rng(5).uniform(-size, size, len(mechanism(name).actuated))
    noise = step / np.sqrt(12.0)
    found = calibrate(mechanism(name), readings(name, zeros, step=step), noise)
    assert found.learnt.all() and not found.unseen
    assert (np.abs(found.values - zeros) < 4.0 * found.sd).all()
    assert found.sd.max() < 20.0 * noise
    # What is left is what quantisation leaves, and the redundant readings say so by themselves.
    assert found.residual_before > 10.0 * noise
    assert found.residual_after < 1.2 * noise
    assert 0.8 < found.misfit < 1.2


def test_zeros_to_a_few_thousandths_of_a_degree_with_exact_geometry() -> None:
    zeros = np.random.default_rng(1).uniform(-0.02, 0.02, 6)
    found = calibrate(mechanism('masticator'), readings('masticator', zeros, count=5000), NOISE)
    assert np.degrees(np.abs(found.values - zeros)).max() < 0.006
    assert np.degrees(found.sd).max() < 0.004


@pytest.mark.parametrize('seed', samples.swept([0, 1], [0]))
def test_encoders_that_were_switched_on_anywhere(seed) -> None:
    true = positions(mechanism('masticator'), wandering('masticator', seed, 800))
    shown = quantised(true - true[0])  # they count from 0 wherever they are
    found = calibrate(mechanism('masticator'), shown, NOISE)
    assert np.abs(true[0]).max() > 0.1
    assert (np.abs(found.values - true[0]) < 4.0 * found.sd).all()
    assert found.sd.max() < np.radians(0.01)


def test_standard_deviations_hold_for_a_tolerance_of_the_geometry() -> None:
    tolerance, scores, exact = 1e-5, [], []
    model = mechanism('masticator')
    known = model.parameters(geometry=True)
    for seed in range(CALIBRATIONS):
        rng = np.random.default_rng(100 + seed)
        changes = {n: known[n] + rng.normal(0.0, tolerance) for n in dimensions(model)}
        zeros = rng.uniform(-0.02, 0.02, 6)
        shown = readings('masticator', zeros, seed, 600, changes)
        found = calibrate(model, shown, NOISE, tolerance=tolerance)
        # Encoders alone cannot do better, however many readings there are.
        assert (np.degrees(found.sd) > 0.02).all() and (np.degrees(found.sd) < 0.2).all()
        assert 0.8 < found.misfit < 1.2
        scores.append((found.values - zeros) / found.sd)
        exact.append(calibrate(model, shown, NOISE).misfit)
    # Where a geometry is taken for exact that is not, the errors say so.
    assert min(exact) > 1.2 and np.mean(exact) > 1.5
    assert np.abs(scores).max() < 4.0
    assert 0.3 < np.sqrt(np.mean(np.square(scores))) < 1.6


def test_a_length_is_found_beside_a_zero() -> None:
    model, name = mechanism('masticator'), 'coupler_3_tip_fixed.x'
    length = model.parameters(geometry=True)[name]
    shown = readings(
        'masticator', np.array([0.0, 0.01, 0.0, 0.0, 0.0, 0.0]), changes={name: length + 2e-4}
    )
    asked = [name, 'crank_2.zero']
    found = calibrate(model, shown, NOISE, asked)
    assert found.learnt.all()
    assert found.parameters[name] == pytest.approx(length + 2e-4, abs=4.0 * found.sd[0])
    assert found.sd[0] < 5e-5
    assert found.parameters['crank_2.zero'] == pytest.approx(0.01, abs=4.0 * found.sd[1])


def test_a_common_shift_across_all_symmetric_parts_is_named_and_left() -> None:
    """The mechanism may stand anywhere along y: both contact planes are parallel to it."""
    model = mechanism('masticator')
    asked = [f'{joint}.y' for joint in model.actuated]
    found = calibrate(model, readings('masticator', np.zeros(6)), NOISE, asked)
    (hidden,) = found.unseen
    assert set(hidden.names) == set(asked)
    assert 'fixture' in hidden.remedy
    assert np.abs(np.mean(found.values - found.before)) < 1e-9  # where it was


@pytest.mark.parametrize('name', ['rcid', 'five_bar'])
def test_without_redundancy_nothing_is_learnt_but_from_a_fixture(name) -> None:
    model = mechanism(name)
    zeros = np.random.default_rng(3).uniform(-0.01, 0.01, len(model.actuated))
    shown = readings(name, zeros, count=100)
    found = calibrate(model, shown, NOISE)
    assert not found.learnt.any() and len(found.unseen) == len(zeros)
    assert (found.values == found.before).all()
    assert np.isnan(found.residual_after)
    assert all('fixture' in hidden.remedy for hidden in found.unseen)
    home = model.home
    sd = np.full(len(home.y), 1e-5)
    fixture = Fixture(quantised(home.position - zeros)[None], home.y[None], sd)
    found = calibrate(model, shown, NOISE, fixture=fixture)
    assert found.learnt.all() and not found.unseen
    assert (np.abs(found.values - zeros) < 4.0 * found.sd).all()


def test_a_fixture_adds_to_encoders_alone() -> None:
    model = mechanism('masticator')
    shown, home = readings('masticator', np.zeros(6), count=300), model.home
    fixture = Fixture(quantised(home.position)[None], home.y[None], np.full(4, 1e-5))
    alone = calibrate(model, shown, NOISE, tolerance=1e-5)
    held = calibrate(model, shown, NOISE, tolerance=1e-5, fixture=fixture)
    assert (held.sd < alone.sd).all()


@pytest.mark.parametrize(
    ('table', 'names', 'words'),
    [
        (np.zeros((500, 6)), (), 'show 1 different poses; 20 or more'),
        (np.full((30, 6), np.nan), (), 'row 1: crank_1 reads nan'),
        (np.zeros((30, 5)), (), r'shape \(30, 5\), needed is \(N, 6\)'),
        (None, ('crank_9.zero',), 'no parameter'),
        (None, ('mandible.mass',), 'mandible.mass is neither a zero nor a dimension'),
    ],
)
def test_readings_that_tell_nothing(table, names, words) -> None:
    table = readings('masticator', np.zeros(6), count=50) if table is None else table
    with pytest.raises(InputError, match=words):
        calibrate(mechanism('masticator'), table, NOISE, names)


@pytest.mark.parametrize(
    ('robot', 'units'),
    [
        ('rack', {'below.radius': 'm', 'above.offset': 'm'}),
        ('coupling', {'screw.offset': 'm', 'cam.offset': 'rad'}),
    ],
)
def test_dimensions_of_every_closure_can_be_asked_for(tmp_path, robot, units) -> None:
    """Of what turns in radians, and all that are lengths have the tolerance of lengths."""
    small = Mechanism.load(small_robots.CLOSURES[robot](tmp_path))
    unknowns = EncoderUnknowns(small, tuple(units), 1e-4)
    assert unknowns.units == tuple(units.values())
    lengths = {name for name, unit in units.items() if unit == 'm'}
    assert lengths <= set(dimensions(small)) and not {'cam.offset'} & set(dimensions(small))


def test_degrees_are_told_apart() -> None:
    shown = np.degrees(readings('masticator', np.zeros(6), count=200))
    with pytest.raises(InputError, match='no poses of masticator fit the readings'):
        calibrate(mechanism('masticator'), shown, NOISE)


ZEROS = np.array([0.01, -0.02, 0.015, 0.0, -0.01, 0.02])


@functools.cache
def moved():
    return readings('masticator', ZEROS, count=400)


@pytest.mark.parametrize('motor', samples.swept(range(6), [0, 3]))
@pytest.mark.parametrize('since', [0, 200])
def test_a_stuck_encoder_is_named(motor, since) -> None:
    shown = moved().copy()
    shown[since:, motor] = shown[since, motor]
    where = 'in any row' if not since else 'in rows 201 to 400'
    with pytest.raises(InputError, match=f'crank_{motor + 1} does not move {where}.* is stuck'):
        calibrate(mechanism('masticator'), shown)


def test_an_encoder_may_rest_with_the_others() -> None:
    shown = np.concatenate([np.tile(moved()[0], (300, 1)), moved()])
    assert calibrate(mechanism('masticator'), shown).better
    # and where the others say nothing of it
    alone = mechanism('trimule_five_axis')
    still = readings('trimule_five_axis', np.zeros(len(alone.actuated)), count=200)
    still[:, -1] = 0.0
    refuse_faulty_encoders(alone, still, np.full(still.shape[1], NOISE))


@pytest.mark.parametrize('motor', samples.swept(range(6), [1, 4]))
@pytest.mark.parametrize(('reading', 'said'), [(1e300, 'no encoder does'), (3.0, 'is wrong')])
def test_a_reading_that_is_wrong_is_named(motor, reading, said) -> None:
    shown = moved().copy()
    shown[100, motor] = reading
    with pytest.raises(InputError, match=f'row 101: crank_{motor + 1} reads .*{said}'):
        calibrate(mechanism('masticator'), shown)


@pytest.mark.parametrize('swapped', samples.swept([(0, 2), (4, 5), (0, 1)], [(0, 2)]))
def test_swapped_encoders_are_refused(swapped) -> None:
    shown = moved().copy()
    shown[:, swapped] = shown[:, swapped[::-1]]
    first, second = (f'crank_{k + 1}' for k in swapped)
    try:
        found = calibrate(mechanism('masticator'), shown, tolerance=1e-5)
    except InputError:
        return
    assert found.misfit > 3.0
    with pytest.raises(InputError, match=f'{first} and {second} seem to be swapped'):
        refuse_worse(mechanism('masticator'), shown, found)


def test_zeros_that_are_right_are_not_made_worse() -> None:
    model = mechanism('masticator')
    exact = positions(model, wandering('masticator', 3, 150))
    found = calibrate(model, exact, tolerance=1e-5)
    with pytest.raises(InputError, match='no better than those before'):
        refuse_worse(model, exact, found)


@pytest.mark.sweep
def test_what_counts_the_other_way_makes_no_zeros() -> None:
    model = mechanism('masticator')
    counted = -moved()[:, 1]  # another sign
    odd = np.column_stack([moved()[:, 0], counted, moved()[:, 2:]])
    try:
        found = calibrate(model, odd)
    except InputError:
        return
    with pytest.raises(InputError, match='counts the other way'):
        refuse_worse(model, odd, found)


def test_nothing_that_closes_is_no_traceback() -> None:
    model = mechanism('masticator')
    unknowns = EncoderUnknowns(model, (), 0.0)
    equations = EncoderEquations(unknowns.batch, np.full(6, NOISE))
    poses = Poses(np.full((3, 6), 2.0), np.full((3, 4), 9.0))  # far outside
    with pytest.raises(InputError, match='no pose that fits the readings closes the loops'):
        equations.linearised(unknowns.start, poses)


SHOWN = {
    'quantised': quantised,
    'continuous': lambda true: true + np.random.default_rng(0).normal(0.0, NOISE, true.shape),
    'written with six decimals': lambda true: np.round(
        true + np.random.default_rng(0).normal(0.0, NOISE, true.shape), 6
    ),
}


@pytest.mark.parametrize('smooth', [True, False])
@pytest.mark.parametrize('kind', samples.swept(SHOWN, ['quantised']))
def test_noise_is_told_by_the_readings(kind, smooth) -> None:
    true = positions(mechanism('masticator'), wandering('masticator', 3, 400)) - ZEROS
    if not smooth:  # poses one by one, in any order
        true = true[np.random.default_rng(1).permutation(len(true))]
    found = calibrate(mechanism('masticator'), SHOWN[kind](true))
    known = calibrate(mechanism('masticator'), SHOWN[kind](true), NOISE)
    assert found.sd == pytest.approx(known.sd, rel=0.35)
    assert 0.8 < found.misfit < 1.2
    assert (np.abs(found.values - ZEROS) < 4.0 * found.sd).all()


@pytest.mark.parametrize('kind', samples.swept(['quantised', 'continuous'], ['quantised']))
def test_intervals_hold(kind) -> None:
    """Of 95 %; ``CALIBRATIONS=100`` for figures."""
    model, inside = mechanism('masticator'), []
    known = model.parameters(geometry=True)
    for seed in range(CALIBRATIONS):
        rng = np.random.default_rng(500 + seed)
        changes = {n: known[n] + rng.normal(0.0, 1e-5) for n in dimensions(model)}
        zeros = rng.uniform(-0.02, 0.02, 6)
        y = wandering('masticator', seed, 400)
        true = positions(model.with_parameters(changes), y) - zeros
        noisy = true + rng.normal(0.0, NOISE, true.shape)
        shown = quantised(true) if kind == 'quantised' else noisy
        found = calibrate(model, shown, tolerance=1e-5)
        inside.append(np.abs(found.values - zeros) < 1.96 * found.sd)
    share, count = np.mean(inside), np.size(inside)
    print(f'{kind}: {100.0 * share:.1f} % of {count} intervals hold')
    # Six zeros of a plant err together: as many independent ones as plants.
    assert abs(share - 0.95) < 3.0 * np.sqrt(0.95 * 0.05 / CALIBRATIONS)


@pytest.mark.parametrize(('name', 'step'), [('cable_planar', 1e-5), ('rrr4', COUNT)])
def test_a_planar_mechanism_has_no_tolerance_across_its_plane(name, step) -> None:
    """Its loops could not close with it."""
    zeros = np.array([0.004, -0.003, 0.002, 0.005])
    shown = readings(name, zeros, step=step)
    found = calibrate(mechanism(name), shown, step / np.sqrt(12.0), tolerance=1e-6)
    assert found.better and (np.abs(found.values - zeros) < 5.0 * found.sd).all()
    assert (found.sd < 1e-3).all()
