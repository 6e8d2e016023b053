# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Experiments with bites at a force: creep, relaxation, fracture, equal bites."""

import csv
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

from masticator_dynamics.cli import main
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.robot.laboratory import mouthful_bag
from masticator_dynamics.robot.laboratory.experiment_run import Experiment
from masticator_dynamics.robot.laboratory.force_figures import exponential
from masticator_dynamics.robot.laboratory.protocol import ForceBite, load_protocol, plan
from masticator_dynamics.robot.laboratory.report import write_report
from masticator_dynamics.robot.laboratory.report_parts import held_figure

pytestmark = pytest.mark.early

STIFFNESS, SHARE, RELAXATION = 20e3, 0.5, 0.3  # N/m, of which a part relaxes, in s
GUM = f"""
side: left
thickness: 0.008
stiffness: {STIFFNESS}
yield_force: 500.0
break_compression: 0.02
renewal_gap: 0.009
bites: 1
relaxing_share: {SHARE}
relaxation_time: {RELAXATION}
"""
BRITTLE = GUM.replace('0.02', '0.0016\nbroken_force: 0.25').replace('e: 0.5', 'e: 0.0')
CREEP = """
schema: 1
title: Creep and relaxation
food: gum.yaml
motion: {force: {level: 40, hold: 1.5, relaxation: 1.0}}
"""
BITES = """
schema: 1
title: Ten bites alike
food: nut
motion: {side: right, force: {level: 30, hold: 0.2, repetitions: 3}}
"""
CRACK = """
schema: 1
title: A bite to break
food: gum.yaml
motion: {force: {level: 100, rise: 1.0}}
factors: {motion.force.rise: [0.5, 1.0]}
variation: {stiffness: 0.1}
repetitions: 2
"""


def experiment(folder, text, food=GUM):
    (folder / 'gum.yaml').write_text(food)
    (folder / 'protocol.yaml').write_text(text)
    return Experiment(folder / 'protocol.yaml', folder / 'out')


def test_creep_and_relaxation_are_those_of_the_food(tmp_path) -> None:
    """By the law of the standard linear solid, not by the twin's arithmetic."""
    asked = experiment(tmp_path, CREEP)
    asked.run(processes=1)
    (result,) = asked.results()
    assert result.end == 'done'
    figures, hold, level = result.figures(), 1.5, 40.0
    retardation = RELAXATION / (1.0 - SHARE)
    soft = STIFFNESS * (1.0 - SHARE)
    compliance = 1.0 / soft - (1.0 / soft - 1.0 / STIFFNESS) * math.exp(-hold / retardation)
    assert figures['creep_compliance'] == pytest.approx(compliance, rel=0.01)
    assert figures['retardation_time'] == pytest.approx(retardation, rel=0.05)
    assert figures['relaxation_time'] == pytest.approx(RELAXATION, rel=0.05)
    # What the force still loses is what the damper still had: a part of the creep to come.
    to_come = level * (1.0 / soft - compliance) * soft / level
    assert figures['relaxed_share'] == pytest.approx(to_come, abs=0.01)
    assert figures['peak_error'] < 0.6
    series = mouthful_bag.read_recording(asked.recording(result.mouthful))
    deepest = series.gap.min()
    held = series.gap[series.gap < deepest + 3e-5]
    assert len(held) * 0.002 > 0.9  # the teeth stand still while the food relaxes


def test_bites_are_alike(tmp_path) -> None:
    asked = experiment(tmp_path, BITES)
    asked.run(processes=1)
    (result,) = asked.results()
    assert [stroke.peak_force for stroke in result.strokes] == pytest.approx([30.0] * 3, abs=0.5)
    assert np.isnan(result.figures()['relaxation_time'])
    # Below its yield the nut is elastic: the next bite finds the same.
    for stroke in result.strokes:
        assert stroke.stiffness == pytest.approx(result.mouthful.food.stiffness, rel=0.03)


def test_a_bite_breaks_the_food_and_the_report_says_where(tmp_path) -> None:
    asked = experiment(tmp_path, CRACK, BRITTLE)
    assert [m.motion.force.rise for m in asked.mouthfuls] == [0.5, 0.5, 1.0, 1.0]
    asked.run(processes=1)
    for result in asked.results():
        food = result.mouthful.food
        assert result.end == 'done'
        breaks = food.stiffness * food.break_compression
        assert result.figures()['break_force'] == pytest.approx(breaks, rel=0.02)
        deformation = result.figures()['break_deformation']
        assert deformation == pytest.approx(food.break_compression, abs=5e-5)
        assert math.isnan(result.figures()['creep_compliance'])
        assert math.isnan(result.figures()['peak_error'])  # it is not the level that ended it
    write_report(asked)
    page = (asked.folder / 'report.html').read_text()
    assert 'First bites over time' in page
    assert (asked.folder / 'figures' / 'held.pdf').exists()
    assert 'break force' in page and 'controlled force of 100 N' in page
    assert 'reached within 0.5 or 1 s' in page
    with open(asked.folder / 'conditions.csv', newline='') as stream:
        rows = [row for row in csv.DictReader(stream) if row['figure'] == 'break_force']
    assert len(rows) == 2
    assert all(float(row['ci_low']) < float(row['mean']) < float(row['ci_high']) for row in rows)


@pytest.mark.parametrize('constant', [0.4, 1e3])
def test_first_bites_are_drawn_over_time_with_what_was_fitted(constant) -> None:
    """The dashed lines are the law that made the curves; without a fit there are none."""
    pytest.importorskip('matplotlib', reason='pictures need matplotlib')
    time, height = np.arange(0.0, 4.0, 0.002), 0.008
    since = time - 1.0  # touched, held for 2 s, then the teeth stay for 0.8 s
    deformation = 0.002 - 0.001 * np.exp(-np.clip(since, 0.0, 2.0) / constant)
    force = 30.0 + 10.0 * np.exp(-np.maximum(since - 2.0, 0.0) / constant)
    under = (since >= 0.0) & (since <= 2.8)
    bite = ForceBite(level=40.0, hold=2.0, relaxation=0.8)
    result = SimpleNamespace(
        mouthful=SimpleNamespace(levels={}, motion=SimpleNamespace(force=bite)),
        strokes=[SimpleNamespace(height=height, peak_force=40.0)],
        first_bite=np.array([time, height - under * deformation, under * force]),
    )
    travel, load = held_figure([result]).axes
    for axes, values, begin in ((travel, 1e3 * deformation, 0.0), (load, force, 2.0)):
        solid, *dashed = axes.lines
        assert solid.get_xdata() == pytest.approx(since[under])
        assert solid.get_ydata() == pytest.approx(values[under])
        known = [line for line in dashed if np.isfinite(line.get_ydata()).all()]
        assert len(known) == (constant < 1.0)
        for line in known:
            x, y = line.get_data()
            assert line.get_linestyle() == '--' and begin < x[0] < begin + 0.16
            assert y == pytest.approx(np.interp(x, since, values), rel=1e-3)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ('strokes: 3', 'strokes: are those of motion.force, 1; leave it out'),
        ('rest: {gap: 0.003}', 'rest: is for strokes'),
        ('motion: {period: 0.5, force: {level: 40}}', 'motion.period: is for strokes'),
        ('motion: {recording: x.csv, force: {level: 40}}', 'motion.recording: is for strokes'),
        ('motion: {force: {hold: 1.0}}', 'motion.force.level: is missing'),
        ('motion: {force: {level: .nan}}', 'motion.force.level'),
        ('motion: {force: {level: 40, hold: 0}}', 'motion.force.hold'),
        ('motion: {force: {level: 40, speed: 3}}', 'motion.force.speed: unknown key'),
        ('factors: {motion.force.speed: [1, 2]}', 'speed'),
        ('samples: [1, 2]', 'strokes: are those of motion.force'),
    ],
)
def test_bites_that_make_no_sense_name_the_key(tmp_path, change, message) -> None:
    key = change.partition(':')[0]
    lines = [line for line in CREEP.splitlines() if not line.startswith(f'{key}:')]
    file = tmp_path / 'protocol.yaml'
    (tmp_path / 'gum.yaml').write_text(GUM)
    file.write_text('\n'.join([*lines, change]))
    with pytest.raises(DescriptionError, match=message.replace('.', r'\.')):
        plan(load_protocol(file), file)


@pytest.mark.parametrize(
    ('force', 'food', 'message'),
    [
        ('level: 900', GUM, r'900 N at molar_left are beyond the motors: .*N m'),
        ('level: 40', GUM.replace('0.009', '0.19'), r'mouthful_0001 \(left, 40 N\): '),
    ],
)
def test_bites_that_cannot_be_made_are_refused_before_anything_moves(
    tmp_path, capsys, force, food, message
) -> None:
    (tmp_path / 'gum.yaml').write_text(food)
    file = tmp_path / 'protocol.yaml'
    file.write_text(CREEP.replace('level: 40, hold: 1.5, relaxation: 1.0', force))
    assert main(['experiment', str(file), '--output', str(tmp_path / 'out')]) != 0
    assert re.search(message, capsys.readouterr().err)


def test_an_exponential_that_cannot_be_told_has_no_time_constant() -> None:
    time = np.linspace(0.0, 1.0, 500)
    constant, final, change = exponential(time, 10.0 + 5.0 * np.exp(-time / 0.3))
    assert (constant, final, change) == pytest.approx((0.3, 10.0, 5.0), rel=1e-3)
    assert math.isnan(exponential(time, 10.0 + 0.01 * np.exp(-time / 0.3))[0])
    assert math.isnan(exponential(time, 10.0 - time)[0])  # slower than can be told
