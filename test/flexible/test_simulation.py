# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runs in time: energy, the rigid limit, early ends and refusals."""

import dataclasses
import functools

import numpy as np
import pytest

from flexible import beams
from masticator_dynamics.errors import (
    ActuationError,
    InputError,
    ReachError,
    SingularityError,
)
from masticator_dynamics.flexible import FlexibleModel, run_flexible, simulate
from masticator_dynamics.flexible.flexible_run import driven_mechanism, feedforward
from masticator_dynamics.flexible.flexible_simulation import RTOL
from masticator_dynamics.motion.path import MotionPath
from masticator_dynamics.motion.spiral import Spiral

SHORT = 0.02  # s


def short_spiral(duration: float = SHORT) -> MotionPath:
    """Beginning of S3's spiral, four times as fast."""
    return Spiral(radius=0.5e-3, turn=2.0, duration=duration).path()


@functools.cache
def short_run(mode: str, modulus: float = beams.MODULUS, method: str = 'dop853'):
    rtol = 1e-6 if method == 'dop853' else RTOL
    return run_flexible(
        beams.rrr4(modulus=modulus), short_spiral(), mode, samples=61, method=method, rtol=rtol
    )


@pytest.mark.parametrize(('mode', 'method'), [('a', 'radau'), ('b', 'dop853'), ('c', 'dop853')])
def test_energy_balances(mode, method) -> None:
    run = short_run(mode, method=method)
    assert not run.stopped and len(run.time) == 61
    assert run.energy[:, 1].max() > 1e-9  # elastic: something has bent
    assert run.energy_balance() < 1e-5
    assert run.closure_residual.max() < 1e-13


def test_work_is_that_of_the_motors_torques() -> None:
    run = short_run('b')
    columns = [run.model.index(name) for name in run.desired.mechanism.actuated]
    fine = run_flexible(beams.rrr4(), short_spiral(), 'b', samples=1201, method='dop853', rtol=1e-6)
    power = np.sum(fine.desired.actuated * fine.v[:, columns], axis=1)
    step = fine.time[1]
    work = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * step)])
    assert np.abs(work - fine.work).max() < 1e-3 * np.abs(fine.work).max()


def test_without_bending_the_mechanism_follows_its_path() -> None:
    """The rigid engine's torques, integrated by these equations, reproduce the path."""
    description, path = dataclasses.replace(beams.rrr4(), flexible={}), Spiral().path()
    model = FlexibleModel(description)
    mechanism, goal = driven_mechanism(description, 'b')
    effort = feedforward(model, mechanism, goal, path)
    times = np.linspace(0.0, 0.4, 21)
    start = model.state(model.home, path(0.0)[0])
    run = simulate(model, start, effort, times, method='dop853', rtol=1e-9)
    wanted = path.sample(times)[0]
    actual = run.q[:, [model.index(name) for name in beams.PLATFORM]]
    assert np.abs(actual - wanted).max() < 1e-8


def test_deflections_and_errors_go_as_one_over_stiffness() -> None:
    """With 16 E, rods bend a sixteenth; means are compared, as the initial torque step vibrates."""
    soft, stiff = short_run('b'), short_run('b', 16 * beams.MODULUS)

    def mean(run) -> np.ndarray:
        return np.mean(np.abs(run.tip_deflection[:, :4]), axis=0)

    assert mean(soft) / mean(stiff) == pytest.approx(np.full(4, 16.0), rel=0.25)
    assert soft.end_point_error[-1] / stiff.end_point_error[-1] == pytest.approx(16.0, rel=0.25)


def test_static_deflection_goes_exactly_as_one_over_stiffness() -> None:
    """With a held platform and constant torques, eta = K^-1 f, from the equations at rest."""
    tips = []
    for factor in (1.0, 10.0, 1000.0):
        model = FlexibleModel(beams.rrr4(modulus=factor * beams.MODULUS))
        torques = dict(zip(beams.MOTORS, (1e-4, 2e-4, -1e-4, 3e-4), strict=True))
        effort = beams.efforts(model, torques)
        state = model.state(model.home, model.home[model.arrays.free])
        _, force = model.equations(state, effort)
        stiffness = model.free_stiffness(model.null_space(state.q))
        tips.append(np.linalg.solve(stiffness[3:, 3:], force[3:]) * factor)
    assert tips[1] == pytest.approx(tips[0], rel=1e-9)
    assert tips[2] == pytest.approx(tips[0], rel=1e-9)


def test_rods_that_bend_too_far_end_the_run_and_what_was_valid_stays() -> None:
    run = run_flexible(beams.rrr4(modulus=2e6), short_spiral(), 'a', samples=61)
    assert 1 < len(run.time) < 61
    assert 'bends by' in run.stopped and 'which small deflections are not' in run.stopped
    names, rows = run.table()
    assert (rows[:, names.index('partial')] == 1.0).all() and len(rows) == len(run.time)
    assert np.isfinite(rows).all()


def test_a_step_that_the_integrator_cannot_take_ends_the_run() -> None:
    """Efforts become NaN halfway."""
    model = FlexibleModel(beams.rrr4())
    still = np.zeros(len(model.coordinates))
    start = model.state(model.home, model.home[model.arrays.free])

    def effort(time: float) -> np.ndarray:
        return still if time < 0.5e-3 else still * np.nan

    run = simulate(model, start, effort, np.linspace(0.0, 1e-3, 11))
    assert 'the integrator cannot go on' in run.stopped
    assert 4 <= len(run.time) <= 6 and np.isfinite(run.q).all()


def line(start: tuple[float, ...], end: tuple[float, ...]) -> MotionPath:
    return MotionPath.through([0.0, 0.1], [start, end], names=beams.PLATFORM)


def test_a_path_out_of_reach_is_refused_with_its_time() -> None:
    home = (0.0, 0.0, 2.0 * np.pi / 3.0)
    with pytest.raises((ReachError, SingularityError), match=r'at 0\.\d+ s: .*leg_'):
        run_flexible(beams.rrr4(), line(home, (0.3, 0.0, home[2])))


def test_a_singular_start_is_refused() -> None:
    """Leg 1 is stretched: C1 is 0.2 m from A1."""
    angle, towards = 2.0 * np.pi / 3.0, np.array([np.cos(0.9), np.sin(0.9)])
    centre = np.array([-0.12, 0.12]) - 0.2 * towards * np.array([-1, 1])
    centre = centre - 0.035 * np.array([np.cos(angle), np.sin(angle)])
    start = (*centre, angle)
    with pytest.raises((SingularityError, ReachError), match='at 0 s'):
        run_flexible(beams.rrr4(), line(start, (0.0, 0.0, angle)))


def test_wrong_requests_are_refused() -> None:
    rigid = dataclasses.replace(beams.rrr4(), flexible={})
    with pytest.raises(InputError, match='has no flexible links'):
        run_flexible(rigid, short_spiral())
    with pytest.raises(InputError, match='drive mode'):
        run_flexible(beams.rrr4(), short_spiral(), 'd')
    with pytest.raises(InputError, match="method 'euler'"):
        run_flexible(beams.rrr4(), short_spiral(), method='euler')
    with pytest.raises(InputError, match='rtol'):
        run_flexible(beams.rrr4(), short_spiral(), rtol=0.0)
    with pytest.raises(InputError, match='samples'):
        run_flexible(beams.rrr4(), short_spiral(), samples=1)
    with pytest.raises((ActuationError, InputError)):
        few = dataclasses.replace(beams.rrr4(), actuated=beams.MOTORS[:2])
        run_flexible(few, short_spiral(), samples=2)


def test_rows_do_not_depend_on_how_many_are_asked_for() -> None:
    """Two rows of a long way are no less closed than many."""
    mechanism, _ = driven_mechanism(beams.rrr4(), 'b')
    times = np.linspace(0.0, 6.0, 121)
    far = np.array([0.0, 0.0, 0.55])
    way = 0.5 - 0.5 * np.cos(np.pi * times / 6.0)
    path = MotionPath.through(
        times, mechanism.home.y + np.outer(way, far),
        np.outer(np.pi / 12.0 * np.sin(np.pi * times / 6.0), far),
    )  # fmt: skip
    few, many = (run_flexible(beams.rrr4(), path, samples=count) for count in (2, 61))
    assert not few.stopped and len(few.time) == 2
    assert np.array_equal(few.q, many.q[[0, -1]]) and np.array_equal(few.work, many.work[[0, -1]])
