# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Load inertia over poses: TriMule by hand (S4), nets of poses, plots."""

import io

import numpy as np
import pytest
import samples
from oracles import trimule_oracle

from masticator_dynamics.analysis.grid import Axis, PoseNet, make_grid
from masticator_dynamics.analysis.load_inertia.sampling import (
    load_inertia,
)
from masticator_dynamics.engine.evaluation.inertia_coupling import inertia_units
from masticator_dynamics.errors import InputError, ReachError

STILL = np.zeros(3)


def test_trimules_is_that_of_virtual_work() -> None:
    mechanism = samples.mechanism('trimule')
    poses = np.array([state.y for state in samples.states('trimule', 10, seed=101)])
    for pose, inertia in zip(poses, load_inertia(mechanism, poses), strict=True):
        expected = trimule_oracle.inverse_dynamics(pose, STILL, STILL).load_inertia
        assert inertia == pytest.approx(np.diag(expected), rel=1e-10)
        # Off the diagonal, too, through the transmissions.
        whole = mechanism.actuated_inertia(mechanism.solve(pose))
        assert np.abs(whole - expected).max() < 1e-10 * expected.max()


@pytest.mark.parametrize('name', ['trimule', 'rcid', 'five_bar'])
def test_it_is_what_a_motor_feels_that_alone_accelerates(name: str) -> None:
    """Difference of efforts at rest with and without acceleration of one motor alone."""
    mechanism = samples.mechanism(name)
    y = samples.states(name, 1, seed=102)[0].y
    motion = mechanism.solve(y)
    jacobian = mechanism.jacobian_actuated_from_independent(motion)
    jacobian = mechanism.transmission_ratios[:, None] * jacobian
    rest = mechanism.feedforward(y).actuated
    for k, inertia in enumerate(load_inertia(mechanism, y[None])[0]):
        alone = np.linalg.solve(jacobian, np.eye(len(jacobian))[k])
        felt = mechanism.feedforward(y, None, alone).actuated[k] - rest[k]
        assert inertia == pytest.approx(felt, rel=1e-8)


def test_units_are_those_of_motors() -> None:
    assert inertia_units(samples.mechanism('trimule')) == ('kg m^2',) * 3
    assert inertia_units(samples.mechanism('rcid')) == ('kg',) * 6


def test_poses_out_of_reach_are_nan_or_refused_with_their_row() -> None:
    mechanism = samples.mechanism('trimule')
    poses = np.array([[0.0, 0.0, 1.2], [0.0, 0.1, -1.2]])
    values = load_inertia(mechanism, poses, where_possible=True)
    assert np.isfinite(values[0]).all() and np.isnan(values[1]).all()
    with pytest.raises(ReachError) as failure:
        load_inertia(mechanism, poses)
    assert failure.value.row == 1


def test_a_disc_is_rings_and_spokes_in_the_ellipse() -> None:
    mechanism = samples.mechanism('trimule')
    grid = make_grid(mechanism, [Axis('x', -0.6, 0.6, 4), Axis('y', -0.5, -0.1, 8)], {'z': 1.2})
    net = PoseNet.disc(grid)
    assert net.poses.shape == (32, 3) and net.shape == (4, 8)
    part = (net.poses - [0.0, -0.3, 1.2]) / [0.6, 0.2, 1.0]
    assert part[:, 2] == pytest.approx(np.zeros(32), abs=1e-15)
    radius = np.hypot(part[:, 0], part[:, 1]).reshape(4, 8)
    assert radius == pytest.approx(np.tile([[0.0], [1 / 3], [2 / 3], [1.0]], (1, 8)), abs=1e-12)
    turns = np.unwrap(np.arctan2(part[8:16, 1], part[8:16, 0]))
    assert np.diff(turns) == pytest.approx(np.full(7, np.pi / 4.0))
    table = net.table(np.arange(32.0))
    assert table.shape == (4, 9) and np.array_equal(table[:, 0], table[:, 8])
    with pytest.raises(InputError, match='a disc is over two coordinates, not 1'):
        PoseNet.disc(make_grid(mechanism, [Axis('x', -0.6, 0.6, 4)]))


@pytest.mark.parametrize(
    'axes',
    [
        [Axis('x', -0.6, 0.6, 4)],
        [Axis('x', -0.6, 0.6, 4), Axis('y', -0.5, -0.1, 3)],
        [Axis('x', -0.6, 0.6, 4), Axis('z', -1.2, 1.2, 5)],  # half of it out of reach
        [Axis('x', -0.1, 0.1, 3), Axis('z', -1.2, -1.0, 3)],  # all of it
    ],
)
def test_pictures_are_drawn_of_what_there_is(axes) -> None:
    pytest.importorskip('matplotlib', reason='pictures need matplotlib, which is not installed')
    from masticator_dynamics.analysis.load_inertia.plot import LoadInertiaPlot

    mechanism = samples.mechanism('trimule')
    net = PoseNet.over(make_grid(mechanism, axes))
    stream = io.BytesIO()
    values = load_inertia(mechanism, net.poses, where_possible=True)
    LoadInertiaPlot(mechanism, net, values).write(stream)
    assert stream.getvalue().startswith(b'\x89PNG')
