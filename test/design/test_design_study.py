# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Studies of designs: known optima, files of the same geometry, workers, interruptions."""

import math
import os
import pathlib
import re
import signal
import textwrap

import linkages
import numpy as np
import pytest
import samples
import yaml
from numpy.testing import assert_allclose

from masticator_dynamics import Mechanism
from masticator_dynamics.cli import main
from masticator_dynamics.description.written import save
from masticator_dynamics.design import report_pictures
from masticator_dynamics.design import study as studies
from masticator_dynamics.design.judge import DesignStatus
from masticator_dynamics.design.study import Study
from masticator_dynamics.design.study_file import load_study
from masticator_dynamics.engine.evaluation.inertia_coupling import (
    actuated_inertia,
    inertia_coupling,
)
from masticator_dynamics.errors import DescriptionError, MasticatorError
from masticator_dynamics.robot.laboratory.experiment_run import Experiment

pytestmark = [pytest.mark.timeout(600), pytest.mark.early]
GEOMETRIES = int(os.environ.get('DESIGN_GEOMETRIES', '1'))
JAW = samples.ROOT / 'examples' / 'jaw_design.yaml'
FIVE_BAR = """
    schema: 1
    title: a five-bar
    mechanism: five_bar
    variables: {half: {range: [20 mm, 150 mm], given: 0.1}}
    parameters: {motor_1.x: -half, motor_2.x: half}
    motions: {home: {box: {}}}
    figures: {condition: {}}
    minimise: [condition]
    samples: {count: 40}
"""


def study(folder: pathlib.Path, text: str, name: str = 'study') -> Study:
    file = folder / f'{name}.yaml'
    file.write_text(textwrap.dedent(text), encoding='utf-8')
    return Study(file, folder / f'{name}_results')


def parts(of: Study) -> dict[str, bytes]:
    files = sorted(of.parts.folder.glob('*/*.parquet'))
    return {str(file.relative_to(of.parts.folder)): file.read_bytes() for file in files}


# Known optima


def test_a_five_bar_is_isotropic_where_its_rods_are_at_right_angles(tmp_path) -> None:
    # The pin stays where the archetype has it; motors move apart until the rods meet at 90 degrees.
    crank, rod = 0.2, 0.275
    pin = 0.16 + math.sqrt(rod**2 - 0.22**2)
    across = rod / math.sqrt(2.0)
    half = across - math.sqrt(crank**2 - (pin - across) ** 2)
    of = study(tmp_path, FIVE_BAR + '    search: {population: 16, generations: 60}\n')
    found = of.run(processes=1)
    assert abs(found.column(found.best, 'half') - half) < 1e-4 * half
    assert abs(found.column(found.best, 'condition') - 1.0) < 1e-4
    assert found.column(found.given, 'condition') > 1.2


def test_a_four_bar_has_the_best_transmission_angle_that_textbooks_give(tmp_path) -> None:
    # Over a turn, the angle between coupler b and rocker c is farthest from 90 degrees where the
    # crank a is along the ground d; both ends are equally far where b^2 + c^2 = a^2 + d^2.
    a, b, c, d = 0.05, 0.17, 0.15, 0.2
    far = math.hypot(d, a)  # crank at right angles to the ground
    between = math.acos((b * b + far * far - c * c) / (2 * b * far)) - math.atan2(a, d)
    rocker = math.atan2(a + b * math.sin(between), b * math.cos(between) - d)
    part = linkages.Part
    file = linkages.write(
        tmp_path,
        [
            part('crank', 'ground', mass=0.1, center=(a / 2, 0, 0)),
            part('coupler', 'crank', (a, 0, 0), mass=0.1, center=(b / 2, 0, 0)),
            linkages.frame('tip', 'coupler', (b, 0, 0)),
            part('rocker', 'ground', (d, 0, 0), mass=0.1, center=(c / 2, 0, 0)),
            linkages.frame('pin', 'rocker', (c, 0, 0)),
        ],
        independent=['crank_joint'],
        actuated=['crank_joint'],
        platform='rocker',
        home={
            'crank_joint': math.pi / 2,
            'coupler_joint': between - math.pi / 2,
            'rocker_joint': rocker,
        },
        closures=[{'name': 'loop', 'type': 'point', 'frames': ['tip', 'pin']}],
    )
    text = f"""
        schema: 1
        title: transmission angle
        mechanism: {file}
        variables: {{tip_joint.x: {{range: [125 mm, 180 mm]}}}}
        motions: {{turn: {{box: {{crank_joint: [0.0, {math.pi!r}, 61]}}}}}}
        figures:
          transmission:
            {{formula: abs(sin(crank_joint + coupler_joint - rocker_joint)), worst: least}}
        maximise: [transmission]
        samples: {{count: 20}}
        search: {{population: 16, generations: 60}}
    """
    found = study(tmp_path, text).run(processes=1)
    best = math.sqrt(a * a + d * d - c * c)
    cosine = (best**2 + c * c - (d - a) ** 2) / (2 * best * c)
    assert abs(found.column(found.best, 'tip_joint.x') - best) < 1e-4 * best
    assert abs(found.column(found.best, 'transmission') - math.sqrt(1 - cosine**2)) < 1e-4


# Figures


@pytest.fixture(scope='module')
def jaw(tmp_path_factory) -> Study:
    folder = tmp_path_factory.mktemp('jaw')
    text = JAW.read_text(encoding='utf-8')
    more = 'joint_force load_inertia peak_power least_socket_force'.split()
    added = ''.join(f'  {name}: {{}}\n' for name in more)
    text = text.replace('  rms_torque: {}\n', f'  rms_torque: {{}}\n{added}')
    return study(folder, text)


def test_the_formulas_of_the_example_give_the_papers_geometry(jaw) -> None:
    given = jaw.judge.given()
    space = jaw.judge.space
    again = jaw.judge(space.fractions(space.given_values[None]))[0]
    assert np.isfinite(given[: 1 + len(jaw.judge.names)]).all()
    assert_allclose(again, given, rtol=1e-10)


def test_figures_are_those_of_mechanisms_loaded_from_files_of_that_geometry(jaw, tmp_path) -> None:
    judge, s = jaw.judge, jaw.judge.states
    units = judge.space.sample(jaw.content.samples, 5, 2 * GEOMETRIES)
    table = judge(units)
    sound = np.flatnonzero(table[:, len(judge.space.axes)] == DesignStatus.JUDGED)[:GEOMETRIES]
    assert len(sound) == GEOMETRIES
    for row in table[sound]:
        file = tmp_path / 'geometry.yaml'
        save(judge.mechanism_of(row[: len(judge.space.axes)]).description, file, 'a test')
        loaded = Mechanism.load(file)
        effort = loaded.feedforward_batch(s.y, s.y_dot, s.y_ddot, s.wrench)
        joints = loaded.tree_indices(loaded.description.force_joints)
        singles = zip(s.y, s.y_dot, s.y_ddot, s.wrench, strict=True)
        reactions = [loaded.feedforward(*state).joint_reaction[joints, :3] for state in singles]
        forces = np.linalg.norm(reactions, axis=-1)
        inertia = actuated_inertia(loaded, effort)
        rows = loaded.tree_indices(loaded.actuated)
        speeds, angles = effort.v[:, rows], effort.q[:, rows]
        normal = np.linalg.norm(loaded.description.contacts[0].normal)
        expected = {
            'coupling': inertia_coupling(inertia).max(),
            'peak_torque': np.abs(effort.actuated).max(),
            'rms_torque': np.sqrt(np.mean(effort.actuated**2, axis=0)).max(),
            'peak_power': np.abs(effort.actuated * speeds).max(),
            'joint_force': forces.max(),
            'load_inertia': np.diagonal(inertia, axis1=1, axis2=2).max(),
            'socket_force': normal * np.abs(effort.contact).max(),
            'least_socket_force': normal * effort.contact.min(),
            'joint_range': np.ptp(angles, axis=0).max(),
        }
        found = dict(zip(judge.columns, row, strict=True))
        for name in judge.names:
            assert_allclose(found[name], expected[name], rtol=1e-10, err_msg=name)
    state = int(found['peak_torque_state'])
    assert_allclose(np.abs(effort.actuated[state]).max(), found['peak_torque'], rtol=1e-10)


def test_xacro_arguments_are_those_of_the_file(tmp_path) -> None:
    text = """
        schema: 1
        title: where are the condyles?
        mechanism: masticator
        variables: {back: {range: [0.0, 2.5 mm]}}
        xacro_arguments: {tx: -back}
        motions: {left: {chewing: {}, states: 5}}
        figures: {peak_torque: {}}
        samples: {method: grid}
        minimise: [peak_torque]
    """
    of = study(tmp_path, text)
    assert any(name.startswith('condyle_left_fixed') for name in of.judge.space.names)
    row = of.judge(np.array([[0.25]]))[0]
    s = of.judge.states
    file = tmp_path / 'other.yaml'
    source = samples.file_of('masticator')
    content = source.read_text(encoding='utf-8').replace(
        'urdf: ../../urdf/masticator.urdf.xacro',
        f"urdf: {samples.ROOT}/urdf/masticator.urdf.xacro\nxacro_arguments: {{tx: '-0.000625'}}",
    )
    file.write_text(content, encoding='utf-8')
    effort = Mechanism.load(file).feedforward_batch(s.y, s.y_dot, s.y_ddot, s.wrench)
    assert_allclose(row[2], np.abs(effort.actuated).max(), rtol=1e-9)


def test_a_figure_of_the_twin_is_that_of_the_laboratory(tmp_path) -> None:
    protocol = tmp_path / 'protocol.yaml'
    protocol.write_text(
        'schema: 1\ntitle: a bite\nfood: soft\nstrokes: 1\nmotion: {period: 0.4}\n',
        encoding='utf-8',
    )
    text = """
        schema: 1
        title: heat
        mechanism: masticator
        variables: {crank_1.x: {values: [23.65 mm]}}
        motions: {left: {chewing: {}, states: 5}}
        figures: {heat: {experiment: protocol.yaml, value: largest_effort_rms}}
    """
    row = study(tmp_path, text).judge(np.array([[0.5]]))[0]
    chewed = Experiment(protocol, tmp_path / 'chewed')
    chewed.run(processes=1)
    (result,) = chewed.results()
    assert_allclose(row[2], result.figures()['largest_effort_rms'], rtol=1e-6)


def test_fewer_motors_are_a_choice_among_others(tmp_path) -> None:
    text = """
        schema: 1
        title: which motors?
        mechanism: masticator
        actuators:
          all: [crank_1, crank_2, crank_3, crank_4, crank_5, crank_6]
          four: [crank_1, crank_2, crank_5, crank_6]
        motions: {left: {chewing: {}, states: 7}}
        figures: {peak_torque: {}}
        minimise: [peak_torque]
        samples: {method: grid}
    """
    of = study(tmp_path, text)
    found = of.run(processes=1)
    s = of.judge.states
    for row, motors in zip(found.shown, of.judge.motors, strict=True):
        driven = Mechanism.load('masticator', motors)
        effort = driven.feedforward_batch(s.y, s.y_dot, s.y_ddot, s.wrench)
        assert_allclose(row[2], np.abs(effort.actuated).max(), rtol=1e-10)


def test_geometries_that_cannot_close_are_counted_and_stay_in_the_table(tmp_path) -> None:
    text = FIVE_BAR.replace('[20 mm, 150 mm]', '[20 mm, 900 mm]')
    of = study(tmp_path, text)
    found = of.run(processes=1)
    table = np.concatenate(list(of.tables()))
    # Beyond both links stretched towards the pin nothing closes.
    pin = 0.16 + math.sqrt(0.275**2 - 0.22**2)
    reach = math.sqrt((0.2 + 0.275) ** 2 - pin**2)
    cannot = table[:, 0] > reach
    assert 5 < cannot.sum() < len(table) == 40
    assert (table[cannot, 1] == DesignStatus.OPEN_AT_HOME).all()
    assert np.isnan(table[cannot, 2]).all() and np.isfinite(table[~cannot, 2]).all()
    assert found.counts['open at home'] == cannot.sum()


def test_impossible_numbers_are_a_status_and_not_an_error(tmp_path) -> None:
    text = FIVE_BAR.replace('motor_2.x: half}', 'motor_2.x: half, pin.mass: half - 0.1}')
    table = study(tmp_path, text).judge(np.linspace(0.0, 1.0, 9)[:, None])
    assert_allclose(table[:, 1] == DesignStatus.IMPOSSIBLE, table[:, 0] < 0.1)
    # A centre of mass so far out that nothing is left of the inertia about it.
    text = FIVE_BAR.replace('motor_2.x: half}', 'motor_2.x: half, pin.mx: half/10}')
    table = study(tmp_path, text, 'moments').judge(np.linspace(0.0, 1.0, 9)[:, None])
    mass, inertia = 0.5, 0.5 * (0.03**2 + 0.03**2) / 12
    far = (table[:, 0] / 10) ** 2 > mass * inertia
    assert 0 < far.sum() < 9
    assert_allclose(table[:, 1] == DesignStatus.IMPOSSIBLE, far)


# Workers and interruptions


@pytest.fixture
def small_parts(monkeypatch) -> None:
    monkeypatch.setattr(studies, '_LARGEST', 8)


@pytest.mark.sweep
def test_results_do_not_depend_on_who_judges_and_a_killed_worker_costs_nothing(
    tmp_path, small_parts
) -> None:
    distributed = pytest.importorskip('distributed')
    text = FIVE_BAR.replace('given: 0.1}}', 'given: 0.1}, motor_1.z: {range: [-5 mm, 5 mm]}}')
    text += '    search: {population: 16, generations: 3}\n    sensitivity: 8\n'
    alone, two, four = (study(tmp_path, text, name) for name in ('alone', 'two', 'four'))
    alone.run(processes=1)
    two.run(processes=2)
    with distributed.LocalCluster(
        4, threads_per_worker=1, processes=True, dashboard_address=None, host='127.0.0.1'
    ) as cluster:
        with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
            workers = list(client.run(os.getpid).values())
        killed = []

        def kill(stage: str, done: int, total: int) -> None:
            if not killed and done:
                killed.append(workers[0])
                os.kill(workers[0], signal.SIGKILL)

        four.run(kill, scheduler=cluster.scheduler_address)
    assert killed
    expected = parts(alone)
    assert len([name for name in expected if name.startswith('samples')]) == 5
    assert parts(two) == expected
    assert parts(four) == expected


def test_an_interrupted_study_goes_on_and_ends_like_one_that_was_not(tmp_path, small_parts) -> None:
    text = FIVE_BAR + '    search: {population: 16, generations: 3}\n'
    whole, stopped = study(tmp_path, text, 'whole'), study(tmp_path, text, 'stopped')
    whole.run(processes=1)
    for stage in ('samples', 'search'):

        def interrupt(now: str, done: int, total: int, stage: str = stage) -> None:
            if now == stage and 0 < done < total and done >= 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Study(stopped.file, stopped.parts.folder).run(interrupt, processes=1)
    before = {file: file.stat().st_mtime_ns for file in stopped.parts.folder.glob('*/*.parquet')}
    assert 0 < len(before) < len(parts(whole))
    found = Study(stopped.file, stopped.parts.folder).run(processes=1)
    assert parts(stopped) == parts(whole)
    assert {file: file.stat().st_mtime_ns for file in before} == before
    assert found.best is not None


def test_a_folder_of_another_study_is_refused(tmp_path) -> None:
    of = study(tmp_path, FIVE_BAR)
    of.run(processes=1)
    with pytest.raises(MasticatorError, match='holds another study'):
        study(tmp_path, FIVE_BAR.replace('count: 40', 'count: 41'))


# The command


def test_the_example_runs_small_and_its_best_geometry_loads(tmp_path, capsys) -> None:
    text = JAW.read_text(encoding='utf-8')
    text = text.replace('count: 20000', 'count: 64').replace('sensitivity: 512', 'sensitivity: 4')
    text = text.replace('population: 100, generations: 150', 'population: 12, generations: 3')
    file, folder = tmp_path / 'jaw_design.yaml', tmp_path / 'jaw'
    file.write_text(text, encoding='utf-8')
    assert main(['design', str(file), '--output', str(folder), '--processes', '1']) == 0
    out = capsys.readouterr().out
    assert re.search(r'64 geometries: \d+ judged', out)
    names = {path.name for path in folder.iterdir()}
    assert names >= {'samples.csv', 'front.csv', 'sensitivity.csv', 'best.yaml', 'best.urdf'}
    page = (folder / 'report.html').read_text(encoding='utf-8')
    assert page.count('<img') == 4 and '<script' not in page
    best = Mechanism.load(folder / 'best.yaml')
    figure = re.search(r'peak_torque: \S+ N m as given, (\S+) N m best', out)
    file = tmp_path / 'again.yaml'
    of = Study(tmp_path / 'jaw_design.yaml', folder)
    s = of.judge.states
    effort = best.feedforward_batch(s.y, s.y_dot, s.y_ddot, s.wrench)
    assert_allclose(np.abs(effort.actuated).max(), float(figure[1]), rtol=1e-3)


@pytest.mark.parametrize(
    ('old', 'new', 'said'),
    [
        ('[20 mm, 150 mm]', '[150 mm, 20 mm]', 'the range from 0.15 to 0.02 is empty'),
        ('[20 mm, 150 mm]', '[20 furlongs, 1]', "no unit 'furlongs'"),
        ('motor_1.x: -half', 'motor_1.w: -half', "no parameter 'motor_1.w'; is 'motor_1"),
        ('motor_1.x: -half', 'motor_1.x: -hall', "nothing is called 'hall'.*is 'half' meant"),
        ('motor_1.x: -half', 'motor_1.x: open(half)', "no function 'open'"),
        ('motor_1.x: -half', 'motor_1.x: 3 deg', 'is a length, and deg measures an angle'),
        ('motor_1.x: -half', 'elbow_1.roll: half', 'the structure of five_bar depends on elbow_1'),
        ('{home: {box: {}}}', '{}', 'motions: none are given'),
        ('{box: {}}', '{chewing: {}}', 'motions.home: chewing moves x, y, alpha, beta'),
        ('motor_1.x: -half', 'motor_1.zero: 3mm', 'motor_1.zero is an angle, and mm measures'),
        ('motor_1.x: -half', 'motor_1.rotor_inertia: 3 deg', 'is a moment of inertia, and deg'),
        ('motor_1.x: -half', 'x.zero: 3 deg', 'x.zero is a length, and deg measures an angle'),
        ('{box: {}}', '{box: {x: [0 deg, 3 deg]}}', 'box.x is a length, and deg measures an angle'),
        ('{box: {}}', '{box: {q: [0, 1]}}', 'box.q: no such coordinate; there are: x, z'),
        ('{condition: {}}', '{conditions: {}}', "no figure is called 'conditions'; is 'condition'"),
        ('minimise: [condition]', 'minimise: [torque]', "no figure 'torque' in this study"),
        ('minimise: [condition]', 'maximize: [condition]', "maximize: unknown key; is 'maximise'"),
        ('half: {range: [20 mm, 150 mm], given: 0.1}', '', 'variables: nothing is varied'),
        ('samples:', 'sensitivity: 16\n    samples:', 'sensitivity: with one variable there is'),
        ('samples:', 'sensitivity: 12\n    samples:', 'sensitivity: 12 is not a power of 2'),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(tmp_path, old, new, said) -> None:
    assert old in FIVE_BAR
    with pytest.raises(MasticatorError, match=said) as error:
        study(tmp_path, FIVE_BAR.replace(old, new))
    assert 'study.yaml' in str(error.value) and '\n' not in str(error.value)


@pytest.mark.parametrize(
    ('key', 'value', 'form'),
    [
        ('figures', ['peak_torque'], 'figures: {peak_torque: {}}'),
        ('figures', 'peak_torque', 'figures: {peak_torque: {}}'),
        ('figures', {'peak_torque': None}, 'peak_torque: {}'),
        ('figures', {'worst': {'motions': 'm'}}, 'motions: [m]'),
        ('minimise', 'peak_torque', 'minimise: [peak_torque]'),
        ('variables', {'crank.x': ['1 mm', '2 mm']}, 'crank.x: {range: [1 mm, 2 mm]}'),
        ('constraints', {'coupling': 3}, 'coupling: {at_least: 3}'),
        ('samples', 100, 'samples: {count: 100}'),
        ('motions', ['chewing'], 'motions: {chewing: {}}'),
    ],
)
def test_a_list_or_a_mapping_is_asked_for_in_its_form(tmp_path, key, value, form) -> None:
    """And what is asked for is read."""
    start = {'schema': 1, 'title': 'x', 'mechanism': 'masticator'}
    file = tmp_path / 'study.yaml'
    file.write_text(yaml.safe_dump({**start, key: value}))
    with pytest.raises(DescriptionError) as refused:
        load_study(file)
    assert str(refused.value).endswith(f'; write {form}')
    inner = yaml.safe_load(form)
    again = inner if form.startswith(f'{key}:') else {key: inner}
    if key == 'figures' and not form.startswith('figures') and 'motions' in form:
        again = {key: {'worst': inner}}
    file.write_text(yaml.safe_dump({**start, **again}))
    load_study(file)


def test_what_cannot_be_written_in_one_way_has_no_form(tmp_path) -> None:
    file = tmp_path / 'study.yaml'
    for text in ('motions: {m: {wrench: 3}}', 'figures: [{a: 1}]', 'figures: 3'):
        file.write_text(f'schema: 1\ntitle: x\nmechanism: masticator\n{text}\n')
        with pytest.raises(DescriptionError) as refused:
            load_study(file)
        assert 'should be a' in str(refused.value) and 'write' not in str(refused.value)


def test_a_grid_has_no_count(tmp_path) -> None:
    file = tmp_path / 'study.yaml'
    head = 'schema: 1\ntitle: x\nmechanism: masticator\n'
    file.write_text(head + 'samples: {method: grid, count: 10}\n')
    with pytest.raises(DescriptionError, match=r'samples\.count: a grid has as many .* steps'):
        load_study(file)
    for text in ('{method: grid}', '{method: halton, count: 10}', '{count: 10}'):
        file.write_text(head + f'samples: {text}\n')
        load_study(file)


def test_the_small_study_of_the_page_runs(tmp_path, capsys) -> None:
    """A grid of 5 by 4 geometries, as it stands there."""
    page = pathlib.Path(__file__).parents[2] / 'docs' / 'design-study.md'
    text = page.read_text(encoding='utf-8').partition('```yaml\n')[2].partition('```')[0]
    file = tmp_path / 'small.yaml'
    file.write_text(text)
    assert main(['design', str(file), '--output', str(tmp_path / 'small'), '--processes', '1']) == 0
    out = capsys.readouterr().out
    printed = page.read_text(encoding='utf-8').partition('output small    #')[2].splitlines()[1:4]
    assert out.splitlines()[:3] == printed


def test_units_are_those_of_the_motors_and_their_joints(tmp_path) -> None:
    figures = '{peak_torque: {}, joint_range: {}, joint_speed: {}, load_inertia: {}, condition: {}}'
    expected = {
        'five_bar': ('N m', 'rad', 'rad/s', 'kg m^2', ''),
        'stewart': ('N', 'm', 'm/s', 'kg', ''),
        'trimule': ('N m', 'm', 'm/s', 'kg m^2', ''),  # by screws
        'excavator': ('N m or N', 'rad or m', 'rad/s or m/s', 'kg m^2 or kg', ''),
    }
    for name, units in expected.items():
        text = f"""
            schema: 1
            title: units
            mechanism: {name}
            variables: {{part: {{range: [0.0, 1.0], given: 0.5}}}}
            motions: {{home: {{box: {{}}}}}}
            figures: {figures}
            samples: {{count: 2}}
        """
        assert tuple(study(tmp_path, text, name).judge.units.values()) == units, name


@pytest.mark.parametrize(('name', 'titles'), [
    ('five_bar', ['side']), ('rrr4', ['above']), ('delta', ['front', 'side', 'above']),
])  # fmt: skip
def test_a_planar_mechanism_is_not_drawn_edgeways(name, titles) -> None:
    mechanism = Mechanism.load(name)
    panels = report_pictures.beside(mechanism, mechanism).axes
    assert [axes.get_title() for axes in panels] == titles
