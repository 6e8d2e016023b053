# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Double compressions generated with offset, drift and noise; their figures are known by hand."""

import csv

import numpy as np
import pytest

from masticator_dynamics.cli import main
from masticator_dynamics.errors import InputError
from masticator_dynamics.robot.laboratory.baseline import baseline
from masticator_dynamics.robot.laboratory.curves import Curve
from masticator_dynamics.robot.laboratory.two_bites import judge

RATE, SPEED = 200.0, 1e-3  # Hz, m/s
BACK, STUCK = 0.4, 0.03  # share of a bite over which the food springs back; adhesion over the peak


def compressed(peak=15.0, first=3e-3, second=3.8e-3, deepest=8e-3, pause=5.0, again=0.7):
    """Time, displacement and force of linear rises; the second begins and ends lower.

    The sample pushes back over 40 % of the first deformation, then holds the plunger over 1 mm.
    """
    down = np.arange(0.0, deepest, SPEED / RATE)
    rest = np.zeros(int(pause * RATE))
    x = np.concatenate([down, deepest - down, rest, down, deepest - down, [0.0]])
    closing = np.concatenate([down >= 0.0, down < 0.0, rest == 0.0, down >= 0.0, down < 0.0, [0]])
    later = np.arange(len(x)) >= 2 * len(down) + len(rest)
    touch, top = np.where(later, second, first), np.where(later, again * peak, peak)
    loose = np.where(later, deepest - BACK * (deepest - second), deepest - BACK * (deepest - first))
    force = top * np.maximum(x - touch, 0.0) / (deepest - touch)
    force[closing == 0] = (top * np.maximum(x - loose, 0.0) / (deepest - loose))[closing == 0]
    pulls = (closing == 0) & ~later & (x < loose) & (x > loose - 1e-3)
    force[pulls] = -STUCK * peak
    return np.arange(len(x)) / RATE, x, force


def judged(time, displacement, force, touch=None):
    return judge(Curve(displacement, force, time, 'curve'), touch).figures


def check(figures, peak, noise=0.0):
    springy = 4.2 / 5.0  # of 8 mm, from 3.8 and from 3 mm on
    # A reading is noise, so is the largest: some deviations. A touch is five of a median of 17.
    assert figures['hardness'] == pytest.approx(peak, rel=5e-3 + 5.0 * noise)
    assert figures['springiness'] == pytest.approx(springy, rel=0.01 + 3.0 * noise)
    assert figures['cohesiveness'] == pytest.approx(0.7 * springy, rel=0.01 + noise)
    assert figures['chewiness'] == pytest.approx(peak * 0.7 * springy**2, rel=0.02 + 5.0 * noise)
    assert figures['analyser_springiness'] == pytest.approx(springy, rel=0.01 + 4.0 * noise)
    assert figures['adhesiveness'] == pytest.approx(STUCK * peak * 1e-3, rel=0.05 + 20.0 * noise)


@pytest.mark.parametrize('peak', [0.3, 15.0, 300.0])
@pytest.mark.parametrize('pause', [0.0, 5.0])
@pytest.mark.parametrize('noise', [0.0, 3e-4, 3e-3])
def test_offset_and_drift_change_no_figure(peak, pause, noise) -> None:
    time, x, force = compressed(peak, pause=pause)
    random = np.random.default_rng(8)
    for offset in (0.0, 0.01, 0.05, -0.05):
        for drift in (0.0, 0.05, -0.05):
            wrong = peak * (offset + drift * time / time[-1])
            read = force + wrong + noise * peak * random.standard_normal(len(time))
            figures = judged(time, x, read)
            check(figures, peak, noise)
            assert figures['drift'] == pytest.approx(drift * peak / time[-1], abs=2e-4 * peak)
            assert figures['baseline'] == pytest.approx(offset * peak, abs=1e-3 * peak)


@pytest.mark.parametrize('drift', [0.0, 0.05, -0.05])
@pytest.mark.parametrize('noise', [0.0, 3e-3, 1e-2])
def test_a_recording_that_begins_on_the_sample(drift, noise) -> None:
    """There the baseline is that of pause and way back; the first contact is at the first row."""
    time, x, force = compressed(first=0.0, second=0.8e-3, deepest=5e-3)
    read = force + 0.75 + 15.0 * drift * time / time[-1]
    read += 15.0 * noise * np.random.default_rng(3).standard_normal(len(time))
    zero = baseline(time, x, read)
    assert zero.free.any() and not zero.free[time < 5.0].any()
    check(judged(time, x, read), 15.0, noise)


def test_spikes_in_the_air_are_no_touch_and_no_baseline() -> None:
    time, x, force = compressed()
    force[[100, 3700]] += 4.0, -4.0
    check(judged(time, x, force + 0.3), 15.0)


def test_a_force_that_steps_between_the_bites() -> None:
    """A piece of 30 g that stuck to the plunger weighs on it ever after."""
    time, x, force = compressed()
    figures = judged(time, x, force + np.where(time > 16.5, 0.3, 0.0))
    assert figures['springiness'] == pytest.approx(0.84, rel=0.02)
    assert figures['hardness'] == pytest.approx(15.0, rel=0.02)


def test_an_elastic_sample_has_a_springiness_of_one() -> None:
    for first in (0.0, 3e-3):
        time, x, force = compressed(first=first, second=first, again=1.0)
        for seed in range(5):
            noise = 0.05 * np.random.default_rng(seed).standard_normal(len(time))
            assert judged(time, x, force + noise)['springiness'] == pytest.approx(1.0, abs=0.02)


def test_what_no_sample_does_is_refused_with_its_cause() -> None:
    time, x, force = compressed(second=2e-3)
    with pytest.raises(InputError, match=r'springiness would be 1\.20.*0\.98 mm earlier.*lifted'):
        judged(time, x, force)
    time, x, force = compressed()
    deeper = np.where(time > 18.5, 1.3 * x, x)
    with pytest.raises(InputError, match=r'second bite goes 2\.4 mm deeper than the first'):
        judged(time, deeper, force)
    elastic = np.maximum(x - 3e-3, 0.0) * 3000.0
    # A force that arrives late gives back more than it took; an early one looks like a soft sample.
    late = np.interp(time - 0.3, time, elastic)
    with pytest.raises(InputError, match='resilience would be 1.*one of them is late'):
        judged(time, x, late)


def test_nothing_but_an_offset_is_no_bite() -> None:
    time, x, force = compressed()
    for noise in (0.0, 0.01):
        read = 1.0 + noise * np.random.default_rng(2).standard_normal(len(time))
        assert judge(Curve(x, read, time, 'curve')).bites == 0


def test_a_gel_breaks_below_a_newton() -> None:
    time, x, force = compressed(0.3, again=0.5)
    force = np.where((x > 6e-3) & (np.gradient(x) > 0.0), 0.5 * force, force)
    assert judged(time, x, force)['break_force'] == pytest.approx(0.3 * 3.0 / 5.0, rel=0.01)


def test_the_shared_curve_that_drifts() -> None:
    """15 N, then a springiness of 0.84, with a drift of 5 mN/s as of a real load cell."""
    time, x, force = compressed()
    noise = 0.003 * np.random.default_rng(1).standard_normal(len(time))
    figures = judged(time, x, force + 0.005 * time + noise)
    assert figures['drift'] == pytest.approx(0.005, rel=0.01)
    assert figures['springiness'] == pytest.approx(0.84, abs=0.005)


def written(file, time, x, force, header='Time (s);Distance (mm);Force (N)'):
    rows = [f'{t:.4f};{1e3 * d:.5f};{f:.6f}' for t, d, f in zip(time, x, force, strict=True)]
    file.write_text('\n'.join([header, *rows]) + '\n')


def test_a_folder_is_judged_whole(tmp_path, capsys) -> None:
    """Every file that has figures is in the table, every other one is named; the status is 1."""
    written(tmp_path / 'a.csv', *compressed())
    written(tmp_path / 'b.csv', *compressed(second=2e-3))
    written(tmp_path / 'c.csv', *compressed(), 'Time (s);Distance (mm);Froce (N)')
    written(tmp_path / 'd.csv', *compressed(30.0))
    (tmp_path / 'e.csv').write_text('')
    target = tmp_path / 'table' / 'profile.csv'
    target.parent.mkdir()
    assert main(['texture', str(tmp_path), '--output', str(target)]) == 1
    rows = list(csv.DictReader(target.open()))
    assert [row['curve'] for row in rows] == [str(tmp_path / name) for name in ('a.csv', 'd.csv')]
    for row, peak in zip(rows, (15.0, 30.0), strict=True):
        check({name: float(v) for name, v in row.items() if name != 'curve'}, peak)
    said = capsys.readouterr().err
    refused = [line for line in said.splitlines() if line.startswith('refused: ')]
    assert len(refused) == 3 and '3 of 5 files have no figures' in said
    assert 'b.csv: springiness would be' in refused[0]
    assert "'Froce (N)' meant? --columns force='Froce (N)'" in refused[1]
    assert 'e.csv: no line names' in refused[2]
    assert main(['texture', str(tmp_path / 'e.csv'), '--output', str(tmp_path / 'no.csv')]) == 1
    assert not (tmp_path / 'no.csv').exists()


def test_a_curve_without_times_is_refused() -> None:
    """As `read_curve` gives it unless times are asked for; it was an IndexError of numpy."""
    time, displacement, force = compressed()[:3]
    with pytest.raises(InputError, match='no times, which its figures need'):
        judge(Curve(displacement, force, time[:0], ''))
