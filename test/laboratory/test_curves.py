# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One compression in the forms in which analysers and spreadsheets export it; refusals."""

import csv
import math
import re

import numpy as np
import pytest

from masticator_dynamics.cli import main
from masticator_dynamics.errors import InputError
from masticator_dynamics.robot.laboratory.curves import curve_files, read_curve
from masticator_dynamics.robot.twin.food import load_food

TIME = np.linspace(0.0, 7.0, 141)  # s, at 1 mm/s
DEPTH = 1e-3 * TIME  # m
FORCE = np.minimum(8000.0 * np.maximum(DEPTH - 0.001, 0.0), 20.0)  # N
GRAVITY = 9.80665


def lines(columns, separator=';', form='{:.6f}', comma=False):
    rows = [[form.format(v) for v in row] for row in zip(*columns, strict=True)]
    if comma:
        rows = [[cell.replace('.', ',') for cell in row] for row in rows]
    return '\n'.join(separator.join(row) for row in rows) + '\n'


MM, S, N = 1e3 * DEPTH, TIME, FORCE
FORMS = {
    'house': 'displacement,force,time\n' + lines([DEPTH, FORCE, TIME], ','),
    'mm and N': 'Distance (mm),Force (N),Time (s)\n' + lines([MM, N, S], ','),
    'grams': 'Force (g),Distance (mm),Time (sec)\n' + lines([1e3 * N / GRAVITY, MM, S], ','),
    'kilograms': 'Time (s)\tForce (kg)\tDistance (mm)\n' + lines([S, N / GRAVITY, MM], '\t'),
    'German': '\ufeff'
    'Prüfprotokoll\nProbe;Brot 12\n\nPrüfzeit [s];Weg [mm];Standardkraft [N]\n'
    + lines([S, MM, N], comma=True),
    'German, units below': '"Zeit";"Standardweg";"Kraft"\ns;mm;N\n'
    + lines([S, MM, N], comma=True),
    'in words': 'Zeit in s;Weg in mm;Kraft in N\n' + lines([S, MM, N], comma=True),
    'French': 'Temps (s);Déplacement (mm);Force (unités);Force (N)\n'
    + lines([S, MM, N / 10, N], comma=True),
    'units below, blank line': 'Specimen 1\nTime,Compressive extension,Load\n(s),(mm),(kN)\n\n'
    + lines([S, MM, 1e-3 * N], ',', '"{:.9f}"'),
    'compression is negative': 'Time (s),Extension (mm),Load (N)\n' + lines([S, -MM, -N], ','),
    'crosshead from above': 'Time (s),Position (mm),Load (N)\n' + lines([S, 120 - MM, N], ','),
    'absolute position': 'Time (s),Position (mm),Load (N)\n' + lines([S, 30 + MM, -N], ','),
    'names with units': 'Time_S\tDisplacement_um\tForce_mN\n' + lines([S, 1e3 * MM, 1e3 * N], '\t'),
    'spaces': 'Time (s)  Displacement (mm)  Load (N)\n' + lines([S, MM, N], '   '),
    'quoted commas': 'Time (s),Weg (mm),Kraft (N)\n'
    + '\n'.join('"' + row.replace(';', '","') + '"' for row in lines([S, MM, N]).splitlines())
    .replace('.', ','),
    'grouped digits': 'Zeit (s);Weg (um);Kraft (mN)\n'
    + ''.join(
        f'{s:.3f};{m:,.1f};{f:,.2f}\n'.translate(str.maketrans('.,', ',.'))
        for s, m, f in zip(S, 1e3 * MM, 1e3 * N, strict=True)
    ),
    'remarks, rates and more columns': 'Force threshold;0,05;N\n'
    'Phase;Time (s);Force rate (N/s);Distance (mm);Force (N);Strain (%);;\n'
    + ''.join(f'down;{row};12,5;;\n' for row in (
        lines([S, 0 * S, MM, N], comma=True).splitlines()))
    + '\nEnd of test\nMean;;;\n',
}  # fmt: skip
FORMS['sentence that names both'] = (
    '# Distance in mm, Force in N\nDistance (mm),Force (N),Time (s)\n' + lines([MM, N, S], ',')
)
FORMS['printed minus'] = FORMS['compression is negative'].replace('-', '\u2212')
FORMS['UTF-16'] = FORMS['German'].removeprefix('\ufeff')
FORMS['Windows'] = FORMS['German'].removeprefix('\ufeff')
ENCODINGS = {'UTF-16': 'utf-16', 'Windows': 'cp1252'}


@pytest.mark.parametrize('form', FORMS)
def test_one_curve_in_every_form(form, tmp_path) -> None:
    file = tmp_path / 'curve.csv'
    file.write_bytes(FORMS[form].encode(ENCODINGS.get(form, 'utf-8')))
    curve = read_curve(str(file), timed=True)
    np.testing.assert_allclose(curve.displacement, DEPTH, atol=2e-6)
    np.testing.assert_allclose(curve.force, FORCE, atol=2e-5)
    np.testing.assert_allclose(curve.time, TIME, atol=1e-6)


def test_columns_and_units_that_are_given(tmp_path) -> None:
    file = tmp_path / 'curve.csv'
    file.write_text('Channel, A;Channel B;Force (g)\n' + lines([MM, N, 0 * N]))
    curve = read_curve(
        str(file),
        {'displacement': 'Channel, A', 'force': '2'},
        {'displacement': 'mm', 'force': 'N'},
    )
    np.testing.assert_allclose(curve.displacement, DEPTH, atol=1e-9)
    np.testing.assert_allclose(curve.force, FORCE, atol=1e-6)
    file.write_text(lines([S, MM, N], '\t'))  # no header: the first row is a row
    curve = read_curve(
        str(file), {'displacement': '2', 'force': '3'}, {'displacement': 'mm', 'force': 'N'}
    )
    assert len(curve.force) == len(N)


def test_a_plunger_that_goes_up_farther_than_it_came_down(tmp_path) -> None:
    """The way back is longer, and a sticky sample pulls: still compression is what pushes."""
    depth = np.concatenate([np.linspace(0, 7, 71), np.linspace(7, -20, 271)[1:]])
    force = np.where(depth > 1, 8.0 * (depth - 1), 0.0)
    force[71:] = np.where(depth[71:] > 5, 24 * (depth[71:] - 5), -3.0 * (depth[71:] > 0))
    file = tmp_path / 'curve.csv'
    for sign in (1, -1):
        file.write_text('Position (mm);Load (N)\n' + lines([50 + sign * depth, sign * force]))
        curve = read_curve(str(file))
        np.testing.assert_allclose(curve.displacement, 1e-3 * depth, atol=1e-8)
        np.testing.assert_allclose(curve.force, force, atol=1e-6)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('displacement,force\n' + lines([MM, N], ','), 'would be read as 7 m; expected are'),
        ('displacement,force\n' + lines([DEPTH, 1e5 * N], ','), 'would be read as 2e.06 N'),
        (
            'Distance,Force (N)\n' + lines([MM, N], ','),
            "column 'Distance' has no unit; say --units",
        ),
        ('Distance (mm),Force (N),Load (N)\n' + lines([MM, N, N], ','), 'force could be each of'),
        ('Distance (mm),Force (stone)\n' + lines([MM, N], ','), "'stone' is no known unit"),
        ('Distance (mm),Force (N)\nmm,kN\n' + lines([MM, N], ','), 'two units, N and kN'),
        ('Distance (mm),Force (N)\n' + lines([MM, N], ',', comma=True), '4 cells.*decimal commas'),
        ('Weg (mm);Kraft (N)\n' + lines([MM, N]) + '7,1;19,0\n', 'before decimals cannot be told'),
        ('Weg (mm);Kraft (mN)\n1;250\n2;980\n3;"1,020"\n', "'1,020' could be 1020"),
        ('Weg (mm);Kraft (MN)\n' + lines([MM, N]), "'MN' is no known unit"),
        ('Weg (mm);Kraft (N)\n' + lines([MM, N]) + '7.1;broken\n', "line 143, column 'Kraft"),
        ('Weg (mm);Kraft (N)\n1.0;n/a\n' + lines([MM, N]), "line 2, column 'Kraft"),
        ('Weg (mm);Kraft (N)\n' + lines([MM, N]) + '7.1;nan\n', 'is not a finite number'),
        ('Weg (mm);Kraft (N)\n', 'no numbers stand below'),
        ('Weg (mm);Kraft (N)\nDatum;Probe\n' + 'a;b\n', 'no numbers stand below'),
        ('Strain (%),Stress (MPa)\n' + lines([MM, N], ','), 'no line names displacement, force'),
        ('Weg (mm);Kraft (N)\n' + lines([MM, 0 * N]), 'would be read as 0 N'),
        ('', 'the file is empty'),
    ],
)
def test_what_cannot_be_told_is_asked_about(text, message, tmp_path) -> None:
    file = tmp_path / 'curve.csv'
    file.write_text(text)
    with pytest.raises(InputError, match=message) as refused:
        read_curve(str(file))
    assert str(file) in str(refused.value) and '\n' not in str(refused.value)


def test_times_that_stand_still_are_refused(tmp_path) -> None:
    file = tmp_path / 'curve.csv'
    file.write_text('Zeit (s);Weg (mm);Kraft (N)\n' + lines([np.minimum(S, 3.0), MM, N]))
    with pytest.raises(InputError, match='line 63: the time, 3 s, does not increase'):
        read_curve(str(file), timed=True)


def test_a_thickness_has_a_unit_or_is_in_metres(tmp_path, capsys) -> None:
    source, target = tmp_path / 'curve.csv', tmp_path / 'food.yaml'
    source.write_text(FORMS['German'], encoding='utf-8')
    arguments = ['fit-food', str(source), '--output', str(target), '--thickness']
    assert main([*arguments, '8']) == 2 and not target.exists()
    assert (
        '--thickness would be read as 8 m; expected are 0.0001 to 0.2 m' in capsys.readouterr().err
    )
    for thickness in ('8mm', '8 mm', '0.8cm', '0.008', '0.008m'):
        assert main([*arguments, thickness]) == 0
        assert "displacement from 'Weg [mm]' in mm, force from 'Standardkraft [N]' in N" in (
            capsys.readouterr().err
        )
        assert load_food(target).thickness == pytest.approx(0.008)
        assert load_food(target).stiffness == pytest.approx(8000.0, rel=1e-3)
    for bad in ('8N', 'thick', '8 mm mm'):
        assert main([*arguments, bad]) == 2
        assert 'is no size such as 8mm or 0.008 (m)' in capsys.readouterr().err


def two_bites():
    """Springs of 5 N/mm over 4 mm, then 3 N/mm over 3 mm, with nothing lost in either."""
    way = np.concatenate([np.arange(0, 80), np.arange(80, 0, -1)]) * 0.1  # mm
    depth = np.concatenate([way, way, [0.0]])
    rate, start = np.repeat([5.0, 3.0], [160, 161]), np.repeat([4.0, 5.0], [160, 161])
    return 0.1 * np.arange(321), depth, rate * np.maximum(depth - start, 0.0)


def test_texture_makes_a_table_of_files_and_folders(tmp_path, capsys) -> None:
    time, depth, force = two_bites()
    folder = tmp_path / 'measured'
    folder.mkdir()
    (folder / 'b.txt').write_text('Time (s)\tDistance (mm)\tForce (g)\n' + lines(
        [time, depth, 1e3 * force / GRAVITY], '\t'))  # fmt: skip
    (folder / 'a.csv').write_text('Zeit [s];Weg [mm];Kraft [N]\n' + lines(
        [time, 200 - depth, -force], comma=True))  # fmt: skip
    (folder / 'notes.md').write_text('nothing')
    one = tmp_path / 'one.csv'
    one.write_text('time,displacement,force\n' + lines([TIME, DEPTH, FORCE], ',').rstrip() + '\n'
                   + lines([TIME + 7.1, DEPTH[::-1], FORCE[::-1]], ','))  # fmt: skip
    target = tmp_path / 'table.csv'
    assert main(['texture', str(folder), str(one), '--output', str(target)]) == 0
    said = capsys.readouterr().err
    assert 'bites: 1, not two' in said and "force from 'Force (g)' in g" in said
    rows = list(csv.DictReader(target.open()))
    assert [row['curve'] for row in rows] == [
        str(folder / 'a.csv'),
        str(folder / 'b.txt'),
        str(one),
    ]
    for row in rows[:2]:
        assert float(row['hardness']) == pytest.approx(20.0, rel=1e-5)
        # Areas: 5 * 4^2 / 2 = 40 mJ and 3 * 3^2 / 2 = 13.5 mJ, the way back as large.
        assert float(row['cohesiveness']) == pytest.approx(13.5 / 40.0, rel=2e-3)
        assert float(row['analyser_cohesiveness']) == pytest.approx(13.5 / 40.0, rel=2e-2)
        assert float(row['springiness']) == pytest.approx(3.0 / 4.0, abs=0.03)
        assert float(row['resilience']) == pytest.approx(1.0, abs=1e-6)
    assert math.isnan(float(rows[2]['cohesiveness'])) and float(rows[2]['strokes']) == 1.0


def test_texture_shows_means_and_deviations_with_units(tmp_path, capsys) -> None:
    """Of peaks of 20 and 10 N: 15 N, and 5 N times the root of two."""
    time, depth, force = two_bites()
    for name, size in (('a', 1.0), ('b', 0.5)):
        text = 'Time (s);Distance (mm);Force (N)\n' + lines([time, depth, size * force])
        (tmp_path / f'{name}.csv').write_text(text)
    assert main(['texture', str(tmp_path), '--output', '-']) == 0
    said = capsys.readouterr().err
    assert 'hardness, N: 15.0\u00a0±\u00a07.1\n' in said
    assert re.search('mean stiffness, N/mm: 3\\.0\u00a0±\u00a01\\.4\n', said)  # of 4 and 2


def test_texture_refuses_what_is_asked_wrongly(tmp_path, capsys) -> None:
    good, target = tmp_path / 'good.csv', tmp_path / 'table.csv'
    good.write_text('Zeit [s];Weg [mm];Kraft [N]\n' + lines(two_bites()))
    (tmp_path / 'empty').mkdir()
    with pytest.raises(InputError, match='no file in this folder'):
        curve_files([str(tmp_path / 'empty')])
    assert main(['texture', str(good), '--touch', '0', '--output', str(target)]) == 2
    assert main(['texture', str(good), '--units', 'force=stone', '--output', str(target)]) == 2
    assert "'stone' is no unit of force" in capsys.readouterr().err
    assert main(['texture', str(good), '--units', 'mm', '--output', str(target)]) == 2
    assert main(['texture', str(good), '--output', str(good)]) == 2
