# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Experiments from protocol to report, on the twin."""

import csv
import dataclasses
import importlib.metadata
import importlib.util
import math
import os
import re
import signal
import sys
import warnings
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest
from processes import PROGRAM, Process, wait_for

from masticator_dynamics.cli import main
from masticator_dynamics.commands.terminal import Stages
from masticator_dynamics.errors import DescriptionError, InputError
from masticator_dynamics.files.bag import METADATA, read_bag
from masticator_dynamics.files.bag_writer import bag_metadata
from masticator_dynamics.files.share import share_directory
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.motion.chewing import opened_pose
from masticator_dynamics.robot.laboratory import mouthful_bag, report, result_tables
from masticator_dynamics.robot.laboratory.experiment_run import Experiment
from masticator_dynamics.robot.laboratory.mouthful import motion_path
from masticator_dynamics.robot.laboratory.protocol import MouthfulMotion, Rest, load_protocol, plan
from masticator_dynamics.robot.laboratory.report import TABLES, effects_on_page, write_report
from masticator_dynamics.robot.laboratory.report_parts import Formats, mean_bite
from masticator_dynamics.robot.laboratory.result_tables import summary

pytestmark = pytest.mark.early

PROTOCOL = """
schema: 1
title: Nut & soft
food: nut
strokes: 2
motion: {period: 0.6}
factors: {food: [nut, soft]}
repetitions: 2
variation: {yield_force: 0.1}
order: random
seed: 4
metadata: {product: 'Nut & co', batch: 7}
"""


def written(folder, text):
    file = folder / 'protocol.yaml'
    file.write_text(text)
    return file


@pytest.fixture(scope='module')
def chewed(tmp_path_factory):
    folder = tmp_path_factory.mktemp('experiment')
    asked = Experiment(written(folder, PROTOCOL), folder / 'whole')
    asked.run(processes=1)
    parquet = importlib.util.find_spec('pyarrow') is not None
    xlsx = importlib.util.find_spec('xlsxwriter') is not None
    write_report(asked, Formats(parquet=parquet, xlsx=xlsx, curves=True))
    return asked


def rows_of(file):
    with open(file, newline='') as stream:
        return list(csv.DictReader(stream))


def test_a_nut_breaks_at_its_own_force_and_soft_food_is_softer(chewed) -> None:
    rows = rows_of(chewed.folder / 'mouthfuls.csv')
    assert len(rows) == 4 and {row['end'] for row in rows} == {'done'}
    for row, mouthful in zip(rows, chewed.mouthfuls, strict=True):
        # Damping adds to the yield force what it is worth at the speed of closing.
        most = mouthful.food.yield_force + 0.15 * mouthful.food.damping
        assert mouthful.food.yield_force <= float(row['hardness']) < most
    hardness = {(r['food'], r['repetition']): float(r['hardness']) for r in rows}
    assert hardness['nut', '1'] != hardness['nut', '2']  # the food varies
    assert min(hardness['nut', k] for k in '12') > max(hardness['soft', k] for k in '12')


def test_softening_of_the_food_is_the_decay_of_the_second_bite(chewed) -> None:
    for row, mouthful in zip(chewed.results(), chewed.mouthfuls, strict=True):
        first, second = (stroke.peak_force for stroke in row.strokes)
        assert second / first == pytest.approx(mouthful.food.softening, rel=0.03)


def test_every_stroke_lets_the_food_go(chewed) -> None:
    """All data of a bite soften together, so that each gives back the same part of its work."""
    for result, mouthful in zip(chewed.results(), chewed.mouthfuls, strict=True):
        series = mouthful_bag.read_recording(chewed.recording(mouthful))
        assert series.gap[-1] > mouthful.food.thickness and series.force[-1] == 0.0
        first, last = (1.0 - stroke.work / stroke.loading_work for stroke in result.strokes)
        assert first > 0.01 and last == pytest.approx(first, rel=0.1)


def test_foods_are_called_by_their_names(tmp_path) -> None:
    soft = (share_directory() / 'config/foods/soft.yaml').read_text()
    (tmp_path / 'batch_17.yaml').write_text(f'name: rye bread\n{soft}')
    file = written(tmp_path, PROTOCOL.replace('[nut, soft]', '[nut, batch_17.yaml]'))
    mouthfuls = plan(load_protocol(file), file)
    assert {m.levels['food'] for m in mouthfuls} == {'nut', 'rye bread'}
    assert {(m.food.name, m.food_name) for m in mouthfuls} == {
        ('nut', 'nut'), ('rye bread', 'batch_17.yaml')
    }  # fmt: skip


def test_the_jaw_carries_its_load_in_both_sockets(chewed) -> None:
    for row in chewed.results():
        assert (row.jaw.peak > 0.0).all() and (row.jaw.wear > 0.0).all()
        # Energy from the motors goes into food and friction, and comes back from nowhere.
        assert row.jaw.energy > sum(stroke.work for stroke in row.strokes)


def test_going_on_after_an_interruption_gives_the_same_tables(chewed, tmp_path) -> None:
    asked = Experiment(written(tmp_path, PROTOCOL), tmp_path / 'parts')
    target = tmp_path / 'parts' / 'mouthfuls'
    target.mkdir(parents=True)
    (tmp_path / 'parts' / 'protocol.yaml').write_text(PROTOCOL)
    there = [chewed.recording(chewed.mouthfuls[k]) for k in (0, 2, 3)]
    for file in there:
        (target / file.parent.name).mkdir()
        (target / file.parent.name / file.name).write_bytes(file.read_bytes())
    (target / 'mouthful_0002').mkdir()
    (target / 'mouthful_0002' / '.run-x').write_bytes(b'half')  # as a kill leaves it
    assert [m.number for m in asked.missing()] == [2]
    asked.run(processes=1)
    for file in there:
        assert (target / file.parent.name / file.name).read_bytes() == file.read_bytes()
    write_report(asked)
    for name in TABLES:
        assert (asked.folder / f'{name}.csv').read_bytes() == (
            chewed.folder / f'{name}.csv'
        ).read_bytes(), name


def test_a_folder_of_another_protocol_is_left_alone(chewed, tmp_path) -> None:
    other = written(tmp_path, PROTOCOL.replace('seed: 4', 'seed: 5'))
    with pytest.raises(InputError, match='another protocol'):
        Experiment(other, chewed.folder)
    (tmp_path / 'full').mkdir()
    (tmp_path / 'full' / 'thesis.tex').write_text('')
    with pytest.raises(InputError, match='is no experiment'):
        Experiment(other, tmp_path / 'full')


def test_recordings_hold_settings_and_all_cycles(chewed) -> None:
    file = chewed.recording(chewed.mouthfuls[0])
    bag = read_bag(file.parent)  # its folder is a bag, with metadata beside it
    assert not bag.cut and sorted(f.name for f in file.parent.iterdir()) == [METADATA, file.name]
    assert (file.parent / METADATA).read_text() == bag_metadata(file)
    settings = mouthful_bag.read_settings(file)
    assert settings['seed'] == 4 and settings['food']['name'] in ('nut', 'soft')
    assert settings['versions']['masticator_dynamics']
    series = mouthful_bag.read_recording(file)
    assert len(series.time) == 0.6 * 2.5 * settings['rate'] + 1  # with the last opening
    assert np.allclose(np.diff(series.time), 1.0 / settings['rate'])


def test_the_report_is_one_page_that_loads_nothing(chewed) -> None:
    page = (chewed.folder / 'report.html').read_text()
    assert 'Nut &amp; soft' in page and 'hardness' in page and page.count('data:image/svg+xml') == 3
    assert 'http' not in page.split('<pre>')[0].replace('https://doi.org', '')


def test_the_report_fits_on_paper(chewed, monkeypatch) -> None:
    """Conditions stand in blocks that a page is wide enough for; every table repeats its header."""
    monkeypatch.setattr(report, '_ABREAST', 1)
    conditions = result_tables.conditions(chewed.results(), chewed.random)
    tables = report._conditions(chewed, conditions, {}).split('<table>')[1:]
    assert len(tables) == 2
    for table, food in zip(tables, ('nut', 'soft'), strict=True):
        head = table.partition('</thead>')[0]
        assert head.count('<th>') == 2 and f'<th>{food}</th>' in head
        assert table.count('hardness') == 1
    page = (chewed.folder / 'report.html').read_text()
    assert '@media print' in page and '@page { size: A4' in page


def test_the_report_says_what_is_put_in_and_what_is_tested(chewed) -> None:
    page = (chewed.folder / 'report.html').read_text()
    said = page.split('<h2>What is put in', 1)[1].split('<h2>Protocol', 1)[0]
    assert 'put in: the yield force' in said and 'computed with an assumed wear rate' in said
    assert '<b>nut</b>: ' in said and '<b>soft</b>: ' in said and said.count('assumed') >= 3
    assert 'SPDX' not in said
    tests = page.split('<h2>Effects of the factors', 1)[1]
    assert '(1, 2)' in tests  # two foods, two mouthfuls of each
    assert 'soft − nut' in tests
    (row,) = [r for r in rows_of(chewed.folder / 'effects.csv') if r['figure'] == 'hardness']
    assert (row['term'], row['df'], row['df_error'], row['note']) == ('food', '1.0', '2.0', '')


def test_a_report_without_a_mouthful_that_was_chewed(chewed, tmp_path) -> None:
    """As of a robot whose drives stop each time; nobody divides by the height of no pictures."""
    text = PROTOCOL.replace('repetitions: 2', 'repetitions: 1')
    asked = Experiment(written(tmp_path, text), tmp_path / 'out', robot=True)
    series = mouthful_bag.read_recording(chewed.recording(chewed.mouthfuls[0]))
    asked.run(robot=lambda mouthful, pause: dataclasses.replace(series, end='refused: too slow'))
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        write_report(asked)
    assert 'ended in a fault' in (asked.folder / 'report.html').read_text()


def test_what_is_not_random_has_no_p(tmp_path) -> None:
    text = PROTOCOL.replace('variation: {yield_force: 0.1}\n', '')
    asked = Experiment(written(tmp_path, text), tmp_path / 'out')
    assert not asked.random and 'No p-values: nothing' in effects_on_page(asked, {})
    varied = Experiment(written(tmp_path, PROTOCOL), tmp_path / 'out')
    assert varied.random and 'No p-values' not in effects_on_page(varied, {})
    assert Experiment(written(tmp_path, text), tmp_path / 'out', robot=True).random


def test_stop_conditions_end_a_mouthful(tmp_path) -> None:
    text = PROTOCOL.replace('repetitions: 2', 'repetitions: 1').replace('[nut, soft]', '[nut]')
    asked = Experiment(written(tmp_path, text + 'stop: {force: 20}'), tmp_path / 'out')
    asked.run(processes=1)
    (result,) = asked.results()
    assert result.end == 'force'
    series = mouthful_bag.read_recording(asked.recording(asked.mouthfuls[0]))
    assert series.force[-1] > 20.0 >= series.force[:-1].max()


def test_the_order_changes_no_food(tmp_path) -> None:
    file = written(tmp_path, PROTOCOL)
    shuffled = plan(load_protocol(file), file)
    given = written(tmp_path, PROTOCOL.replace('random', 'given'))
    ordered = plan(load_protocol(given), given)
    keys = [(m.levels['food'], m.repetition) for m in ordered]
    assert keys == [('nut', 1), ('nut', 2), ('soft', 1), ('soft', 2)]
    assert [(m.levels['food'], m.repetition) for m in shuffled] != keys
    foods = {(m.levels['food'], m.repetition): m.food for m in shuffled}
    assert all(foods[m.levels['food'], m.repetition] == m.food for m in ordered)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ('speed: 3', 'speed: unknown key'),
        ('factors: {motion.speed: [1]}', r'unknown factor; there are: food, strokes, motion\.side'),
        ('factors: {food: [nut, tofu]}', 'no such food; shipped are'),
        ('factors: {motion.period: [-1.0]}', r'factors: period: .*greater than 0'),
        ('factors: {food: [nut, nut]}', 'names a level twice'),
        ('samples: [0]', r'samples\[0\]'),
        ('limits: {time: 3}', '4 mouthfuls take 6 s of chewing, allowed are 3 s'),
        ('limits: {disk: 1000}', 'allowed are 0 MB'),
        ('repetitions: -1', 'repetitions'),
        ('repetitions: 100000', '200000 mouthfuls with repetitions; at most 9999'),
        ('rest: {gap: -0.001}', r'rest\.gap'),
        ('pause: -1', 'pause'),
        ('sockets: loose', 'sockets'),
        ('strokes: 9' + 400 * '9', 'a whole number of 1333 bits'),
        ('strokes: 9000000000000000000', 'mouthfuls take .* s of chewing, allowed are'),
        ('seed: -1', 'seed'),
        ('variation: {stiffness: 1e308}', r'variation\.stiffness: is above 0\.5'),
        ('factors: {food: [hardest.yaml]}', r'hardest\.yaml: yield_force: .*20000'),
        ('factors: {food: [nut, namesake.yaml]}', r"nut and namesake\.yaml are both called 'nut'"),
    ],
)
def test_protocols_that_make_no_sense_name_the_key(tmp_path, change, message) -> None:
    key = change.split(':')[0]
    nut = (share_directory() / 'config/foods/nut.yaml').read_text()
    hardest = re.sub('yield_force: .*', 'yield_force: 20000', nut)
    (tmp_path / 'hardest.yaml').write_text(hardest)  # the most, unless it varies
    (tmp_path / 'namesake.yaml').write_text(f'name: nut\n{nut}')
    kept = [line for line in PROTOCOL.splitlines() if not line.startswith(f'{key}:')]
    file = written(tmp_path, '\n'.join([*kept, change]))
    with pytest.raises(DescriptionError, match=message):
        plan(load_protocol(file), file)


def test_a_motion_that_cannot_be_made_is_refused_before_anything_moves(tmp_path, capsys) -> None:
    file = written(tmp_path, PROTOCOL.replace('period: 0.6', 'period: 0.02'))
    assert main(['experiment', str(file), '--output', str(tmp_path / 'out')]) == 2
    assert 'its limit is' in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()


def test_what_cannot_be_chewed_is_named_with_stroke_and_limit(tmp_path, capsys) -> None:
    for change, message in (
        ('{period: 0.02}', 'mouthful_0001 (left, 0.02 s, 0.15 rad): stroke 1, after'),
        ('{period: 0.6, opening: 0.05}', 'is served beyond'),
        ('{period: 0.6, opening: 0.3}', 'at most 0.18 rad'),
    ):
        file = written(tmp_path, PROTOCOL.replace('{period: 0.6}', change))
        assert main(['experiment', str(file), '--output', str(tmp_path / 'out')]) == 2
        assert message in capsys.readouterr().err
    resting = written(tmp_path, PROTOCOL + 'rest: {gap: 0.008}')
    assert main(['experiment', str(resting), '--output', str(tmp_path / 'out')]) == 2
    assert 'could not be told from a stroke' in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()


def test_the_jaw_rests_before_the_strokes() -> None:
    jaw = Mechanism.load('masticator')
    motion, rest = MouthfulMotion(period=0.6), Rest(gap=0.002, time=0.5)
    path, usual = motion_path(jaw, motion, 2, rest), motion_path(jaw, motion, 2)
    times = np.linspace(0.3, 0.8, 20)
    y = path.sample(times)[0]
    assert np.ptp(y, axis=0).max() < 1e-12
    height = [
        jaw.frame_pose(jaw.solve(row), 'molar_left').position[2] for row in (0.0 * y[0], y[0])
    ]
    assert height[0] - height[1] == pytest.approx(0.002, rel=1e-3)
    later = path.end - usual.end
    times = np.linspace(0.0, usual.end, 50)
    assert np.allclose(path.sample(times + later)[0], usual.sample(times)[0], atol=1e-12)


@pytest.fixture
def subject(tmp_path):
    """Two strokes of an incisor, 12 mm deep, as a camera would record them."""
    time = np.linspace(0.0, 2.0, 201)
    open_ = 0.006 * (1.0 - np.cos(2.0 * np.pi * time))
    rows = np.column_stack([time, -0.4 * open_, 0.0 * time, -open_])
    header = 'time,incisor_x,incisor_y,incisor_z'
    np.savetxt(tmp_path / 'subject.csv', rows, delimiter=',', header=header, comments='')
    return rows


def test_a_recorded_subject_is_chewed(tmp_path, subject) -> None:
    text = PROTOCOL.replace('strokes: 2\n', '').replace('{period: 0.6}', '{recording: subject.csv}')
    file = written(tmp_path, text)
    (mouthful, *_) = plan(load_protocol(file), file)
    assert mouthful.strokes == 2 and mouthful.duration == pytest.approx(2.5)
    jaw = Mechanism.load('masticator')
    path = motion_path(jaw, mouthful.motion, mouthful.strokes)
    heights = [
        jaw.frame_pose(jaw.solve(y), 'incisor').position[2]
        for y in path.sample(np.linspace(path.start, path.end - 0.5, 300))[0]
    ]
    assert np.ptp(heights) == pytest.approx(0.012, abs=2e-4)
    with pytest.raises(DescriptionError, match='those of the recording, 2; leave it out'):
        plan(load_protocol(written(tmp_path, text + 'strokes: 5')), file)
    both = text.replace('subject.csv', 'subject.csv, opening: 0.1')
    with pytest.raises(DescriptionError, match=r'motion\.opening: is what the recording says'):
        plan(load_protocol(written(tmp_path, both)), file)
    still = np.column_stack([subject[:, 0], 0.0 * subject[:, 1:]])
    header = 'time,incisor_x,incisor_y,incisor_z'
    np.savetxt(tmp_path / 'still.csv', still, delimiter=',', header=header, comments='')
    with pytest.raises(InputError, match='there is no stroke'):
        plan(load_protocol(written(tmp_path, text.replace('subject', 'still'))), file)


def test_balls_leave_open_sockets_and_the_report_says_how_often(tmp_path) -> None:
    text = PROTOCOL.replace('repetitions: 2', 'repetitions: 1').replace('[nut, soft]', '[nut]')
    asked = Experiment(written(tmp_path, text + 'sockets: open'), tmp_path / 'out')
    asked.run(processes=1)
    (result,) = asked.results()
    assert result.end == 'done' and len(result.jaw.lifts) == 2
    series = mouthful_bag.read_recording(asked.recording(asked.mouthfuls[0]))
    # Sockets that only push do; what slots pull in the same mouthful, these leave.
    assert series.contact.min() >= 0.0 and not result.jaw.pulled.any()
    left = (series.contact[:-1] > 0.0) & (series.contact[1:] == 0.0)
    assert (np.array(result.jaw.lifts) >= left.sum(axis=0)).all()
    write_report(asked)
    assert 'condyle left lifts' in (tmp_path / 'out' / 'report.html').read_text()


def test_a_robot_is_asked_for_nothing_that_only_the_twin_has(chewed, tmp_path, capsys) -> None:
    file = written(tmp_path, PROTOCOL + 'sockets: open')
    assert main(['experiment', str(file), '--output', str(tmp_path / 'o'), '--robot']) == 2
    assert 'a robot has those that it has' in capsys.readouterr().err
    with pytest.raises(InputError, match='was chewed by the simulated robot'):
        Experiment(written(tmp_path, PROTOCOL), chewed.folder, robot=True)


def test_an_occlusal_gap_keeps_the_teeth_apart() -> None:
    jaw = Mechanism.load('masticator')
    motion = MouthfulMotion(side='right', occlusal_gap=0.003)
    closed = opened_pose(jaw, 'molar_right', 0.003)[3]
    height = [
        jaw.frame_pose(jaw.solve([0.0, 0.0, 0.0, beta]), 'molar_right').position[2]
        for beta in (0.0, closed)
    ]
    assert height[0] - height[1] == pytest.approx(0.003, rel=1e-9)
    path = motion_path(jaw, motion, 2)
    beta = path.sample(np.linspace(0.4, path.end, 500))[0][:, 3]
    assert beta.min() > 0.99 * closed
    usual = chewing_stroke(strokes=2, opening=motion.opening - closed)
    widest = usual.sample(np.linspace(0.0, usual.end, 2001))[0][:, 3].max()
    assert beta.max() == pytest.approx(closed + widest, rel=1e-3)


def test_statistics_are_students() -> None:
    """For 1, 2, 3, 4: mean 2.5, SD sqrt(5/3), t(0.975, 3) = 3.182446."""
    count, mean, sd, cv, low, high, *_ = summary(np.array([1.0, 2.0, 3.0, 4.0]))
    assert (count, mean) == (4, 2.5)
    assert sd == pytest.approx(math.sqrt(5.0 / 3.0)) and cv == pytest.approx(sd / 2.5)
    half = 3.182446305 * sd / 2.0
    assert (low, high) == pytest.approx((2.5 - half, 2.5 + half))


def test_tables_as_parquet_hold_what_the_csv_files_hold(chewed) -> None:
    parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow is not installed')
    for name in TABLES:
        file = chewed.folder / f'{name}.csv'
        rows = parquet.read_table(file.with_suffix('.parquet')).to_pylist()
        assert [{k: str(v) for k, v in row.items()} for row in rows] == rows_of(file), name


def test_a_workbook_holds_what_the_csv_files_hold(chewed) -> None:
    """Read back without the library that wrote it: a workbook is XML in a zip."""
    pytest.importorskip('xlsxwriter', reason='xlsxwriter is not installed')
    space = '{http://schemas.openxmlformats.org/spreadsheetml/2006/main}'
    with zipfile.ZipFile(chewed.folder / 'results.xlsx') as book:
        shared = [
            ''.join(text.itertext())
            for text in ElementTree.fromstring(book.read('xl/sharedStrings.xml'))
        ]
        for number, name in enumerate(TABLES, start=1):
            sheet = ElementTree.fromstring(book.read(f'xl/worksheets/sheet{number}.xml'))
            rows = []
            for row in sheet.iter(f'{space}row'):
                cells = {}
                for cell in row:
                    value = cell.findtext(f'{space}v')
                    column = re.match('[A-Z]+', cell.get('r'))[0]
                    is_text = cell.get('t') == 's'
                    cells[column] = shared[int(value)] if is_text else float(value or 'nan')
                rows.append(cells)
            header, *body = rows
            expected = rows_of(chewed.folder / f'{name}.csv')
            assert len(body) == len(expected) and list(header.values()) == list(expected[0])
            for cells, wanted in zip(body, expected, strict=True):
                for column, key in header.items():
                    found, want = cells.get(column, ''), wanted[key]
                    try:
                        number = float(want)
                    except ValueError:
                        assert found == want
                        continue
                    if math.isfinite(number):
                        assert found == pytest.approx(number, rel=1e-14)  # a number, not its text
                    else:
                        assert found == '' or math.isnan(found)


def test_raw_curves_are_the_recordings(chewed) -> None:
    parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow is not installed')
    whole = parquet.read_table(chewed.folder / 'curves.parquet').to_pydict()
    assert set(whole['food']) == {'nut', 'soft'}
    for mouthful in chewed.mouthfuls:
        series = mouthful_bag.read_recording(chewed.recording(mouthful))
        rows = rows_of(chewed.folder / 'curves' / f'{mouthful.name}.csv')
        for name in ('time', 'gap', 'force'):
            values = getattr(series, name)
            assert [float(row[name]) for row in rows] == values.tolist()
            kept = [
                v for v, n in zip(whole[name], whole['mouthful'], strict=True)
                if n == mouthful.number
            ]  # fmt: skip
            assert kept == values.tolist()


def figures_of(experiment):
    """Contents of its figures, by name."""
    return {file.name: file.read_bytes() for file in (experiment.folder / 'figures').iterdir()}


@pytest.mark.sweep
def test_the_same_figures_are_drawn_again(chewed) -> None:
    before = figures_of(chewed)
    files = write_report(chewed)
    assert before == figures_of(chewed)
    assert {file.name for file in files if file.parent.name == 'figures'} == {*before}


def test_the_report_can_be_published(chewed) -> None:
    """Samples, methods and citation, figures as files, and intervals that do not break."""
    kept = figures_of(chewed)
    assert {*kept} == {
        f'{name}.{suffix}'
        for name in ('force', 'texture', 'residuals') for suffix in ('svg', 'pdf')
    }  # fmt: skip
    assert all(content.startswith((b'%PDF', b'<?xml')) for content in kept.values())
    page = (chewed.folder / 'report.html').read_text()
    samples_part = page.split('<h2>Samples', 1)[1].split('<h2>Force', 1)[0]
    assert 'Nut &amp; co' in samples_part and '<td>7</td>' in samples_part
    methods = page.split('<h2>Methods', 1)[1].split('<h2>Protocol', 1)[0]
    version = importlib.metadata.version('masticator_dynamics')
    for told in (
        'the simulated robot', '2 strokes per mouthful', 'a period of 0.6\u00a0s',
        'food (nut, soft)', '2 repetitions', 'seed 4', 'yield force 0.1',
        f'masticator_dynamics {version}', 'To cite',
    ):  # fmt: skip
        assert told in methods, told
    table = page.split('95 % confidence interval of the mean', 1)[1].split('</table>', 1)[0]
    cells = re.findall(r'<td>([^<]*)<br>\(([^<]*)\)</td>', table)
    assert len(cells) > 10 and all(' ' not in part for cell in cells for part in cell)
    for told, reach in cells:  # mean, deviation and bounds end at the same decimal
        numbers = re.findall(r'[\d.]+', f'{told} {reach}')
        assert len({len(number.partition('.')[2]) for number in numbers}) == 1, (told, reach)
    (row,) = [
        r for r in rows_of(chewed.folder / 'conditions.csv')
        if r['figure'] == 'hardness' and r['food'] == 'nut'
    ]  # fmt: skip
    told, reach = next(
        c for c in re.findall(r'hardness, N(?: \(log\))?</td><td>([^<]*)<br>\(([^<]*)\)', table)
    )
    half = 0.5 * (float(row['ci_high']) - float(row['ci_low']))
    assert abs(float(told.split('\u00a0')[0]) - float(row['mean'])) < 0.06 * half
    assert abs(float(reach.split('\u00a0')[0]) - float(row['ci_low'])) < 0.06 * half


def test_the_mean_bite_is_over_gaps_that_all_reached() -> None:
    gap = np.concatenate([np.linspace(0.01, 0.002, 81), np.linspace(0.002, 0.01, 81)])
    other = np.concatenate([np.linspace(0.009, 0.001, 81), np.linspace(0.001, 0.009, 81)])
    first, second = np.array([gap, 1000.0 * gap]), np.array([other, 3000.0 * other])
    second[1, 81:] = -1e6  # the way back does not count
    along, mean, spread = mean_bite([first, second])
    assert along[[0, -1]] == pytest.approx([0.002, 0.009])
    assert mean == pytest.approx(2000.0 * along)
    assert spread == pytest.approx(2000.0 * along / math.sqrt(2.0))


def test_parquet_without_pyarrow_is_refused_before_anything_moves(
    tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.setitem(sys.modules, 'pyarrow', None)
    asked = ['experiment', str(written(tmp_path, PROTOCOL)), '--output', str(tmp_path / 'o')]
    assert main([*asked, '--parquet']) == 2
    assert '--parquet needs pyarrow: pip install' in capsys.readouterr().err
    assert not (tmp_path / 'o').exists()


def test_mouthfuls_have_lines_where_there_is_no_terminal(capsys) -> None:
    stages = Stages(lines=True)
    stages('mouthfuls', 0, 2)
    stages('mouthfuls', 2, 2)
    assert capsys.readouterr().err == 'mouthfuls: 0 of 2\nmouthfuls: 2 of 2, 0 s left\n'
    Stages()('mouthfuls', 1, 2)
    assert not capsys.readouterr().err


def test_a_second_experiment_in_a_folder_is_refused(chewed, tmp_path, capsys) -> None:
    folder = tmp_path / 'shared'
    protocol = written(tmp_path, PROTOCOL)
    with Experiment(protocol, folder).alone():
        for more in ([], ['--robot']):
            assert main(['experiment', str(protocol), '--output', str(folder), *more]) == 2
            assert f'{folder}: another experiment is running' in capsys.readouterr().err
        with pytest.raises(InputError, match='another experiment is running'):
            Experiment(protocol, folder).run()
        assert not any(folder.iterdir())
    with Experiment(protocol, folder).alone():  # nothing stale is left
        pass


@pytest.mark.sweep  # workers that lose their parent are tested in test_workers.py
def test_killed_in_the_middle_it_goes_on_to_the_same_tables(chewed, tmp_path) -> None:
    """SIGKILL to the command's process: its workers also end, and no results are lost."""
    protocol, folder = written(tmp_path, PROTOCOL), tmp_path / 'killed'
    asked = ['experiment', str(protocol), '--output', str(folder), '--processes']
    with Process(*PROGRAM, *asked, 2, start_new_session=True) as process:
        try:
            mouthful = 'mouthfuls/*/*.mcap'
            wait_for(lambda: any(folder.glob(mouthful)) or not process.runs(), 'a mouthful', 300)
            process.process.kill()
            assert process.process.wait() == -signal.SIGKILL
            wait_for(lambda: not group_lives(process.pid), 'the end of its workers', 300)
        finally:
            if group_lives(process.pid):
                os.killpg(process.pid, signal.SIGKILL)
    kept = {file: file.read_bytes() for file in folder.glob('mouthfuls/*/*.mcap')}
    assert 0 < len(kept) < 4 and not (folder / 'report.html').exists()
    assert main([*asked, '1']) == 0
    assert all(file.read_bytes() == content for file, content in kept.items())
    for name in TABLES:
        assert (folder / f'{name}.csv').read_bytes() == (
            chewed.folder / f'{name}.csv'
        ).read_bytes(), name


def group_lives(group):
    """Whether any process of a group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
