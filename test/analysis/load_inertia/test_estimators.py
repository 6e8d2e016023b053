# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Estimators that are built and those that ship: errors as stated, refusals, files."""

import dataclasses
import json
import pathlib

import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism
from masticator_dynamics.analysis.load_inertia import storage
from masticator_dynamics.analysis.load_inertia.build import BuildOptions, build_estimator
from masticator_dynamics.analysis.load_inertia.estimator import (
    FITTED,
    FittedEstimator,
    ModelEstimator,
    matrices,
)
from masticator_dynamics.analysis.load_inertia.sampling import element_indices, inertia_elements
from masticator_dynamics.analysis.load_inertia.storage import fingerprint
from masticator_dynamics.description import load_description
from masticator_dynamics.errors import InputError, LimitError, ReachError

RANGES = {'x': (-0.08, 0.08), 'y': (0.2, 0.35)}
QUICK = BuildOptions(RANGES, reached=300, samples=200, held_out=400, nodes=9)


@pytest.fixture(scope='module')
def five_bar() -> Mechanism:
    return samples.mechanism('five_bar')


@pytest.fixture(scope='module')
def built(five_bar: Mechanism) -> dict[str, FittedEstimator]:
    return {kind: build_estimator(five_bar, kind, QUICK) for kind in FITTED}


def truth(mechanism: Mechanism, poses: np.ndarray) -> np.ndarray:
    """Inertia matrices by single calls, which estimators do not use."""
    return np.array([mechanism.actuated_inertia(mechanism.solve(y)) for y in poses])


@pytest.mark.parametrize('kind', FITTED)
def test_built_estimator_is_as_good_as_it_says(
    five_bar: Mechanism, built: dict[str, FittedEstimator], kind: str
) -> None:
    found = built[kind]
    poses = found.region.sample(200, np.random.default_rng(99))
    estimate = found.estimate_batch(poses, off_diagonals=True)
    assert estimate.inside.all()
    error = np.abs(estimate.inertia - truth(five_bar, poses))
    # The largest of 400 errors is no bound, but few others are larger.
    assert (error > estimate.expected_error).mean() < 0.01
    stated = matrices(found.error.mean, 2)
    assert error.mean(axis=0) == pytest.approx(stated, rel=0.3)
    assert (stated < 0.2 * matrices(found.error.inertia, 2)).all()


@pytest.mark.parametrize('kind', FITTED)
@pytest.mark.parametrize(
    ('name', 'options'),
    [
        ('archetype scissor_lift', {'ranges': {}}),  # one coordinate: a box is all there is
        ('archetype slider_crank', {'ranges': {'crank': (-1.0, 1.0)}}),
        ('five_bar', {'planes': 0}),
    ],
)
def test_a_region_that_no_plane_cuts_is_written_and_read(name, options, kind) -> None:
    model = samples.mechanism(name)
    found = build_estimator(model, kind, dataclasses.replace(QUICK, **options))
    assert not found.region.normals.size
    read = storage.from_text(storage.as_text(found), 'file')
    poses = found.region.sample(20, np.random.default_rng(0))
    before, after = (e.estimate_batch(poses).inertia for e in (found, read))
    assert np.array_equal(before, after, equal_nan=True)


@pytest.mark.parametrize('kind', FITTED)
def test_one_configuration_and_many_diagonal_and_matrix_agree(
    built: dict[str, FittedEstimator], five_bar: Mechanism, kind: str
) -> None:
    for estimator in (built[kind], ModelEstimator(five_bar)):
        poses = built[kind].region.sample(3, np.random.default_rng(1))
        batch = estimator.estimate_batch(poses, off_diagonals=True)
        diagonals = estimator.estimate_batch(poses)
        assert diagonals.inertia == pytest.approx(np.diagonal(batch.inertia, axis1=1, axis2=2))
        for k, y in enumerate(poses):
            inertia, expected = estimator.estimate(y, off_diagonals=True)
            assert inertia == pytest.approx(batch.inertia[k], rel=1e-12)
            assert np.array_equal(expected, batch.expected_error)
        assert np.array_equal(batch.inertia, batch.inertia.swapaxes(1, 2))


def test_model_estimator_is_the_model(five_bar: Mechanism) -> None:
    poses = np.array([[0.0, 0.3], [0.05, 0.25], [9.0, 9.0]])
    found = ModelEstimator(five_bar).estimate_batch(poses, off_diagonals=True)
    assert found.inside.tolist() == [True, True, False]
    assert np.isnan(found.inertia[2]).all()
    assert found.inertia[:2] == pytest.approx(truth(five_bar, poses[:2]), rel=1e-12)
    assert not found.expected_error.any()
    with pytest.raises(ReachError):
        ModelEstimator(five_bar).estimate([9.0, 9.0])


@pytest.mark.parametrize('kind', FITTED)
def test_outside_the_region_nothing_is_extrapolated(
    built: dict[str, FittedEstimator], kind: str
) -> None:
    found = built[kind]
    inside = found.region.center
    outside = found.region.center + [0.0, 1.1 * found.region.half_width[1]]
    batch = found.estimate_batch([inside, outside, [np.nan, 0.0]])
    assert batch.inside.tolist() == [True, False, False]
    assert np.isnan(batch.inertia[1:]).all()
    with pytest.raises(LimitError, match=r'y = .* is outside the region.* by 0.1\d* of its half'):
        found.estimate(outside)
    for bad in ([1.0], [[0.0, 0.0]], [0.0, np.nan]):
        with pytest.raises(InputError):
            found.estimate(bad)
    with pytest.raises(InputError, match='needed is'):
        found.estimate_batch([[0.0, 0.0, 0.0]])
    assert found.estimate_batch(np.empty((0, 2))).inertia.shape == (0, 2)


def test_files_hold_everything(
    built: dict[str, FittedEstimator], five_bar: Mechanism, tmp_path: pathlib.Path
) -> None:
    for kind, found in built.items():
        file = tmp_path / f'{kind}.json'
        file.write_text(storage.as_text(found))
        again = storage.read_estimator(file, five_bar)
        poses = found.region.sample(20, np.random.default_rng(0))
        assert np.array_equal(
            again.estimate_batch(poses).inertia, found.estimate_batch(poses).inertia
        )
        assert again.error.maximum == pytest.approx(found.error.maximum, rel=1e-6)
        assert again.built == found.built


def test_a_grid_with_unreachable_nodes_comes_back(
    built: dict[str, FittedEstimator], five_bar: Mechanism
) -> None:
    grid = built['grid']
    nodes = grid.elements.nodes.copy()
    nodes[0, 0] = np.nan
    holed = dataclasses.replace(grid, elements=type(grid.elements)(nodes))
    again = storage.from_text(storage.as_text(holed), 'file')
    assert np.array_equal(np.isnan(again.elements.nodes), np.isnan(nodes))
    # Between nodes that are all unreachable there is no estimate.
    everywhere = dataclasses.replace(grid, elements=type(grid.elements)(nodes * np.nan))
    found = everywhere.estimate_batch(grid.region.center[None])
    assert not found.inside.any() and np.isnan(found.inertia).all()
    with pytest.raises(LimitError, match='no node of the grid around it'):
        everywhere.estimate(grid.region.center)


DAMAGE = {
    'not JSON': lambda c: None,
    'not an estimator': lambda c: c.update(format='something else'),
    'format version 2': lambda c: c.update(version=2),
    'is missing': lambda c: c.pop('region'),
    "kind 'cube'": lambda c: c.update(kind='cube'),
    'another number of coordinates': lambda c: c['region'].update(center=[0.0]),
    'there are 2 elements': lambda c: c['elements'].update(
        {k: v[:2] for k, v in c['elements'].items()}
    ),
    'not finite': lambda c: c['error'].update(maximum=[None, 1.0, 1.0]),
    'damaged': lambda c: c['elements'].update(centers='far'),
}


@pytest.mark.parametrize('reason', DAMAGE)
def test_damaged_files_are_refused(
    built: dict[str, FittedEstimator], five_bar: Mechanism, tmp_path: pathlib.Path, reason: str
) -> None:
    content = json.loads(storage.as_text(built['ellipse']))
    DAMAGE[reason](content)
    file = tmp_path / 'damaged.json'
    file.write_text('{' if reason == 'not JSON' else json.dumps(content))
    with pytest.raises(InputError, match=reason) as caught:
        storage.read_estimator(file, five_bar)
    assert str(file) in str(caught.value)


def test_files_of_other_mechanisms_are_refused(
    built: dict[str, FittedEstimator], tmp_path: pathlib.Path
) -> None:
    file = tmp_path / 'one.json'
    file.write_text(storage.as_text(built['circle']))
    with pytest.raises(InputError, match='built for five_bar, not for masticator'):
        storage.read_estimator(file, samples.mechanism('masticator'))
    with pytest.raises(InputError, match='No such file'):
        storage.read_estimator(tmp_path / 'none.json', samples.mechanism('masticator'))


def test_fingerprint_sees_what_inertia_depends_on_and_nothing_else() -> None:
    description = load_description('masticator')
    link, inertia = next((n, i) for n, i in description.tree.links.items() if i.mass > 0.0)
    heavier = dataclasses.replace(inertia, mass=inertia.mass * 1.001)
    tree = dataclasses.replace(description.tree, links={**description.tree.links, link: heavier})
    before = fingerprint(description)
    assert fingerprint(dataclasses.replace(description, tree=tree)) != before
    hair = dataclasses.replace(inertia, mass=inertia.mass * (1.0 + 1e-14))
    tree = dataclasses.replace(description.tree, links={**description.tree.links, link: hair})
    other = dataclasses.replace(description, tree=tree, gravity=(0.0, 0.0, 1.0), urdf_xml='<x/>')
    assert fingerprint(other) == before


def test_a_coordinate_without_limits_is_told_how_to_give_it_a_range() -> None:
    with pytest.raises(
        InputError, match=r'crank has no limits in the URDF; .*--range crank=LOW:HI'
    ):
        build_estimator(samples.mechanism('archetype slider_crank'), 'grid', BuildOptions())


def test_hardly_reachable_ranges_and_bad_names_are_told(five_bar: Mechanism) -> None:
    for ranges, reason in (
        ({'x': (5.0, 6.0), 'y': (5.0, 6.0)}, 'only 0 of .* poses drawn can be reached'),
        ({'z': (0.0, 1.0)}, "'z' is no independent coordinate; there are: x, y"),
        ({'x': (1.0, 0.0)}, 'the range of x, 1 to 0, is empty'),
    ):
        with pytest.raises(InputError, match=reason):
            build_estimator(five_bar, 'circle', BuildOptions(ranges))
    with pytest.raises(InputError, match="no kind 'cube'"):
        build_estimator(five_bar, 'cube', QUICK)


@pytest.mark.parametrize('kind', FITTED)
def test_shipped_estimators_of_the_masticator_are_as_good_as_they_say(kind: str) -> None:
    mechanism = samples.mechanism('masticator')
    found = storage.read_estimator(storage.shipped_file('masticator', kind), mechanism)
    poses = found.region.sample(500, np.random.default_rng(2026))
    model = inertia_elements(mechanism, poses)
    closed = np.isfinite(model[:, 0])
    poses, model = poses[closed], model[closed]
    assert abs(closed.mean() - 0.01 * found.built['percent_closed']) < 0.04
    estimate = found.estimate_batch(poses, off_diagonals=True)
    rows, columns = element_indices(6)
    error = np.abs(estimate.inertia[:, rows, columns] - model)[estimate.inside]
    assert estimate.inside.mean() > 0.98
    # Of poses that nobody has looked at, hardly any is worse than the worst of thousands.
    assert (error > found.error.maximum).mean() < 1e-3
    assert error.mean(axis=0) == pytest.approx(found.error.mean, rel=0.35)
    assert found.estimate_batch(mechanism.home.y[None]).inside.all()


@pytest.mark.parametrize('kind', FITTED)
def test_stated_errors_are_exceeded_as_rarely_as_the_manual_says(kind) -> None:
    """The largest errors are not bounds: 0.2 to 0.35 % of new poses are worse, up to 2.3 times."""
    mechanism = samples.mechanism('masticator')
    estimator = storage.read_estimator(storage.shipped_file('masticator', kind), mechanism)
    poses = estimator.region.sample(20000, np.random.default_rng(1107))
    inertia = inertia_elements(mechanism, poses)
    closed = np.isfinite(inertia[:, 0])
    values = estimator.elements.values(estimator.region.scaled(poses[closed]), slice(None))
    error = np.abs(values - inertia[closed])
    error = error[np.isfinite(error).all(axis=1)]
    ratio = error / estimator.error.maximum
    assert 0.001 < (ratio > 1.0).any(axis=1).mean() < 0.005
    assert 1.0 < ratio.max() < 2.4
    assert error.mean(axis=0) == pytest.approx(estimator.error.mean, rel=0.05)
