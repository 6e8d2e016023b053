# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Foods fitted to compression curves, which are generated from the numbers to be found."""

import numpy as np
import pytest
from scipy.integrate import trapezoid

from masticator_dynamics.cli import main
from masticator_dynamics.errors import InputError
from masticator_dynamics.robot.laboratory.curves import fit_figure, fit_food, predicted
from masticator_dynamics.robot.laboratory.relaxing_food import fit_relaxing_food
from masticator_dynamics.robot.twin.food import load_food

DISPLACEMENT = np.linspace(0.0, 0.007, 351)
START = 0.0012  # m, until the plunger touches


def curve(stiffness, most, breaks=None, left=1.0):
    depth = np.maximum(DISPLACEMENT - START, 0.0)
    force = np.minimum(stiffness * depth, most)
    return force if breaks is None else np.where(depth >= breaks, left * force, force)


def test_a_brittle_food_comes_back() -> None:
    fit = fit_food(DISPLACEMENT, curve(30000.0, 52.0, 0.0025, 0.3), thickness=0.008)
    assert fit.breaks and fit.residual < 0.02
    assert fit.food.stiffness == pytest.approx(30000.0, rel=1e-6)
    assert fit.food.yield_force == pytest.approx(52.0, rel=1e-6)
    assert fit.food.break_compression == pytest.approx(0.0025, abs=3e-5)
    assert fit.food.broken_force == pytest.approx(0.3, rel=1e-2)


def test_a_food_that_flows_never_breaks() -> None:
    random = np.random.default_rng(5)
    force = curve(9000.0, 20.0) + 0.05 * random.standard_normal(len(DISPLACEMENT))
    fit = fit_food(DISPLACEMENT, force, thickness=0.008)
    assert not fit.breaks
    assert fit.food.break_compression > fit.food.thickness
    assert fit.food.stiffness == pytest.approx(9000.0, rel=0.02)
    assert fit.food.yield_force == pytest.approx(20.0, rel=0.02)


def test_what_only_rises_does_not_yield() -> None:
    fit = fit_food(DISPLACEMENT, curve(9000.0, 1e3), thickness=0.008)
    assert not fit.yields and not fit.breaks and fit.residual < 1e-6
    assert fit.food.yield_force == pytest.approx(9000.0 * (0.007 - START))
    assert 'no yield up to 52.2 N' in fit.notes[0]
    assert fit_food(DISPLACEMENT, curve(9000.0, 20.0), thickness=0.008).yields


def test_a_fracture_is_kept_where_the_force_rises_again() -> None:
    """A crust of 20 N over a crumb that is pressed together with seven times the force."""
    depth = DISPLACEMENT - START
    force = curve(30000.0, 20.0, 0.001, 0.3) + 6e4 * np.maximum(depth - 0.0035, 0.0)
    assert force.max() > 7.0 * 20.0
    fit = fit_food(DISPLACEMENT, force, thickness=0.008)
    assert fit.breaks and fit.food.yield_force == pytest.approx(20.0, rel=1e-6)
    assert fit.food.break_compression == pytest.approx(0.001, abs=3e-5)
    assert fit.food.broken_force == pytest.approx(0.3, rel=0.05)
    assert 'the fracture at 20 N the force rises again, to 144 N' in fit.notes[0]


def test_only_the_first_of_two_bites_is_fitted() -> None:
    force = curve(30000.0, 52.0, 0.0025, 0.3)
    once = fit_food(DISPLACEMENT, force, thickness=0.008)
    back = np.zeros(len(force))
    way = np.concatenate([DISPLACEMENT, DISPLACEMENT[::-1], 1.02 * DISPLACEMENT])  # deeper
    twice = fit_food(way, np.concatenate([force, back, 0.5 * force]), thickness=0.008)
    assert twice.food == once.food and not once.notes
    assert twice.notes == ('only the first of 2 compressions is fitted',)


@pytest.mark.parametrize(
    ('force', 'thickness', 'message'),
    [
        (-curve(9000.0, 20.0), 0.008, 'compression must be positive'),
        (curve(9000.0, 20.0), 0.003, 'its thickness is said to be 3 mm'),
        (curve(9000.0, 20.0), 0.0, 'expected a positive number'),
        (np.where(DISPLACEMENT > START, 20.0, 0.0), 0.008, 'record it finer'),
    ],
)
def test_curves_that_make_no_sense_are_refused(force, thickness, message) -> None:
    with pytest.raises(InputError, match=message):
        fit_food(DISPLACEMENT, force, thickness=thickness)


def test_the_command_writes_a_food_that_loads(tmp_path, capsys) -> None:
    source, target = tmp_path / 'curve.csv', tmp_path / 'food.yaml'
    rows = np.column_stack([DISPLACEMENT, curve(30000.0, 52.0, 0.0025, 0.3)])
    np.savetxt(source, rows, delimiter=',', header='displacement,force', comments='')
    arguments = ['fit-food', str(source), '--output', str(target)]
    assert main([*arguments, '--thickness', '0.008']) == 0
    assert load_food(target).yield_force == pytest.approx(52.0, rel=1e-6)
    assert '30 N/mm, yields at 52 N, breaks, residual' in capsys.readouterr().err
    refusals = {
        'inf': "'inf' is no size such as 8mm",
        '1.7e308': 'would be read as 1.7e+308 m',
        '0.008 --softening nan': "'--softening': nan is not a finite number",
    }
    for bad, refusal in refusals.items():
        capsys.readouterr()
        assert main([*arguments, '--thickness', *bad.split()]) == 2
        said = capsys.readouterr().err
        assert refusal in said and said.count('\n') == 1
    assert main([*arguments, '--thickness', '0.001']) == 2
    assert 'its thickness is said to be 1 mm' in capsys.readouterr().err


@pytest.mark.parametrize('suffix', ['png', 'svg', 'pdf'])
def test_the_fit_is_drawn_over_the_curve(suffix, tmp_path, capsys) -> None:
    source, plot = tmp_path / 'curve.csv', tmp_path / f'fit.{suffix}'
    rows = np.column_stack([DISPLACEMENT, curve(30000.0, 52.0, 0.0025, 0.3)])
    np.savetxt(source, rows, delimiter=',', header='displacement,force', comments='')
    asked = ['fit-food', str(source), '--thickness', '8mm', '--output', str(tmp_path / 'f.yaml')]
    assert main([*asked, '--plot', str(plot)]) == 0
    heads = {'png': b'\x89PNG', 'svg': b'<?xml', 'pdf': b'%PDF'}
    assert plot.read_bytes().startswith(heads[suffix])
    assert main([*asked, '--plot', str(tmp_path / 'fit.docx')]) == 2
    assert 'pictures are .png, .svg or .pdf' in capsys.readouterr().err


def test_the_drawn_law_lies_on_the_drawn_curve() -> None:
    fit = fit_food(DISPLACEMENT, curve(30000.0, 52.0, 0.0025, 0.3), thickness=0.008)
    assert fit.touch == pytest.approx(START, abs=1e-6)
    figure = fit_figure(fit)
    measured, fitted = figure.axes[0].lines
    away = np.abs(measured.get_ydata() - fitted.get_ydata())
    assert np.median(away) < 0.01 and np.count_nonzero(away > 1.0) <= 2  # at the break itself
    assert fitted.get_xdata()[-1] == pytest.approx(1e3 * (0.007 - START), abs=1e-3)


def test_a_food_that_hardens_as_it_flows_is_fitted_by_least_squares() -> None:
    """No yield leaves less: neither the peak, nor any other force."""
    depth = np.maximum(DISPLACEMENT - START, 0.0)
    force = np.minimum(9000.0 * depth, 20.0 + 1000.0 * (depth - 20.0 / 9000.0))
    fit = fit_food(DISPLACEMENT, force, thickness=0.008)
    assert fit.yields and 20.0 < fit.food.yield_force < force.max()
    x = DISPLACEMENT - fit.touch
    begin = np.argmax(force > 0.02 * force.max())

    def left(food):
        return np.sqrt(np.mean((predicted(food, x) - force)[begin:] ** 2)) / force.max()

    assert fit.residual == pytest.approx(left(fit.food), rel=1e-9)
    for factor in (0.97, 0.999, 1.001, 1.03):
        changed = fit.food.yield_force * factor
        assert left(fit.food.copy(update={'yield_force': changed})) > fit.residual
    assert left(fit.food.copy(update={'yield_force': force.max()})) > 1.5 * fit.residual


def relaxed(time, depth, stiffness, share, constant):
    """Force of a standard linear solid, as an integral over its past (Boltzmann), by trapezoids."""
    fine = np.linspace(time[0], time[-1], 20 * len(time))
    rate = np.gradient(np.interp(fine, time, depth), fine)
    force = []
    for now in time:
        past = fine <= now
        memory = (1.0 - share) + share * np.exp(-(now - fine[past]) / constant)
        force.append(stiffness * trapezoid(memory * rate[past], fine[past]))
    return np.array(force)


@pytest.mark.parametrize(('share', 'constant'), [(0.5, 1.0), (0.2, 0.3), (0.9, 4.0)])
@pytest.mark.parametrize('noise', [0.0, 0.1])
def test_what_relaxes_comes_back(share, constant, noise) -> None:
    """A ramp of 0.5 s, held for 5 s, and back."""
    time = np.arange(0.0, 6.2, 0.01)
    way = np.interp(time, [0.1, 0.6, 5.6, 6.1], [0.0, 0.003, 0.003, -0.001])
    force = relaxed(time, np.maximum(way, 0.0), 20e3, share, constant)
    force = np.maximum(force, 0.0) + noise * np.random.default_rng(1).standard_normal(len(time))
    fit = fit_relaxing_food(time, way, force, thickness=0.008)
    most = 0.02 if noise == 0.0 else 0.05
    assert fit.food.stiffness == pytest.approx(20e3, rel=most)
    assert fit.food.relaxing_share == pytest.approx(share, rel=most)
    assert fit.food.relaxation_time == pytest.approx(constant, rel=2.0 * most)
    assert fit.residual < 0.02


def test_creep_under_a_force_tells_the_same() -> None:
    """The other way round: the law of creep of the same solid, under 40 N from 0.2 s on."""
    time = np.arange(0.0, 5.0, 0.01)
    share, constant, stiffness, force = 0.5, 0.8, 20e3, 40.0
    soft, late = stiffness * (1.0 - share), constant / (1.0 - share)

    def crept(t):
        """Response to a ramp of the force by 1 N/s."""
        t = np.maximum(t, 0.0)
        return t / soft - (1.0 / soft - 1.0 / stiffness) * late * (1.0 - np.exp(-t / late))

    depth = force / 0.2 * (crept(time - 0.1) - crept(time - 0.3))
    felt = np.interp(time, [0.1, 0.3], [0.0, force])
    fit = fit_relaxing_food(time, depth, felt, thickness=0.012)
    assert fit.food.stiffness == pytest.approx(stiffness, rel=0.03)
    assert fit.food.relaxing_share == pytest.approx(share, rel=0.03)
    assert fit.food.relaxation_time == pytest.approx(constant, rel=0.05)


def test_relaxation_is_refused_where_there_is_none(tmp_path, capsys) -> None:
    time = np.arange(0.0, 3.0, 0.01)
    way = np.minimum(time, 1.0) * 0.003
    with pytest.raises(InputError, match='nothing is seen to relax within'):
        fit_relaxing_food(time, way, 20e3 * way, thickness=0.008)
    broken = np.where(time > 0.6, 10.0, 20e3 * way)
    with pytest.raises(InputError, match='it breaks at .* N'):
        fit_relaxing_food(time, way, broken, thickness=0.008)
    with pytest.raises(InputError, match='its thickness is said to be 2 mm'):
        fit_relaxing_food(time, way, relaxed(time, way, 2e4, 0.5, 0.5), thickness=0.002)
    source = tmp_path / 'curve.csv'
    table = np.column_stack([time, way, relaxed(time, way, 2e4, 0.5, 0.5)])
    np.savetxt(source, table, delimiter=',', header='time,displacement,force', comments='')
    out, plot = tmp_path / 'gum.yaml', tmp_path / 'fit.png'
    asked = ['fit-food', str(source), '--thickness', '8mm', '--output', str(out), '--relaxation']
    assert main([*asked, '--plot', str(plot)]) == 0
    assert plot.read_bytes().startswith(b'\x89PNG')
    assert '% of it relax in 0.5' in capsys.readouterr().err
    food = load_food(out)
    assert food.relaxing_share == pytest.approx(0.5, rel=0.02)
    np.savetxt(source, table[:, 1:], delimiter=',', header='displacement,force', comments='')
    assert main(asked) == 2
    assert 'time' in capsys.readouterr().err
