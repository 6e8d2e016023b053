# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""flexible: what the command writes, plots and refuses."""

import re

import numpy as np
import pytest
from flexible import beams

QUICK = ('--method', 'dop853', '--samples', '31')


def short_motion(write) -> str:
    t = np.linspace(0.0, 0.02, 21)
    x = 0.002 * (1.0 - np.cos(np.pi * t / 0.02))
    rows = np.column_stack([t, x, -x, np.full(21, 2.0 * np.pi / 3.0)])
    return write(['time', 'x', 'y', 'phi'], rows)


@pytest.mark.parametrize('mode', ['a', 'b', 'c'])
def test_columns_are_consistent(mode, run, write, read, tmp_path) -> None:
    out = tmp_path / 'out.csv'
    answer = run(
        'flexible', 'rrr4', '--mode', mode, '--motion', short_motion(write), '--output', out, *QUICK
    )
    assert answer.status == 0, answer.err
    columns = read(out)
    assert len(columns['time']) == 31 and not columns['partial'].any()
    assert columns['closure_residual'].max() < 1e-13
    energy = columns['kinetic_energy'] + columns['elastic_energy'] + columns['potential_energy']
    assert np.abs(energy - energy[0] - columns['work']).max() < 1e-4 * np.abs(energy).max()
    error = np.hypot(columns['error_x'], columns['error_y'])
    assert columns['end_point_error'] == pytest.approx(error, abs=1e-12)
    assert columns['error_motor_1'] == pytest.approx(columns['angle_error_rod_1'], abs=1e-9)
    if mode == 'a':
        assert not columns['effort_motor_4'].any()


def test_shapes_can_be_chosen_and_runs_drawn(run, write, read, tmp_path) -> None:
    out, picture = tmp_path / 'out.csv', tmp_path / 'out.png'
    words = ['--boundary', 'fixed-free', '--shapes', '1', '--plot', picture, '--against', 'a']
    answer = run(
        'flexible', 'rrr4', '--motion', short_motion(write), '--output', out, *QUICK, *words
    )
    assert answer.status == 0, answer.err
    assert picture.read_bytes()[:4] == b'\x89PNG'


def soft_rods(folder) -> str:
    """A copy of rrr4's description with rubber rods."""
    from masticator_dynamics.files.share import share_directory

    text = (share_directory() / 'config/mechanisms/rrr4.yaml').read_text()
    text = text.replace('../../urdf', str(share_directory() / 'urdf'))
    text = re.sub(r'youngs_modulus: [0-9.e+]+', 'youngs_modulus: 1.0e+5', text)
    file = folder / 'soft.yaml'
    file.write_text(text)
    return str(file)


def test_a_run_that_ends_early_is_kept_and_marked(run, write, read, tmp_path) -> None:
    out = tmp_path / 'out.csv'
    answer = run(
        'flexible', soft_rods(tmp_path), '--motion', short_motion(write), '--output', out, *QUICK
    )
    assert answer.status == 1
    assert 'the run is partial' in answer.err and 'bends by' in answer.err
    columns = read(out)
    assert 0 < len(columns['time']) < 31 and columns['partial'].all()


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['rrr4', '--shapes', '0'], 'rod_1.modes: 0 is not between 1 and'),
        (['rrr4', '--shapes', '99'], 'rod_1.modes: 99 is not between 1 and'),
        (['rrr4', '--rtol', '-1'], 'rtol -1 is not between'),
        (['rrr4', '--samples', '1'], 'two samples or more'),
        (['rrr4', '--against', 'd', '--plot', 'x.png'], "'d': drive modes are a, b, c"),
        (['rrr4', '--against', 'a'], 'needs --plot'),
        (['rcid'], 'give its --motion'),
    ],
)
def test_what_cannot_be_is_refused(words, message, run, tmp_path) -> None:
    out = tmp_path / 'out.csv'
    answer = run('flexible', *words, '--output', out)
    assert answer.status == 2 and message in answer.err, answer.err
    assert not out.exists()


def test_missing_section_and_material_are_named(run, tmp_path) -> None:
    for key in ('section', 'material'):
        text = open(soft_rods(tmp_path)).read()
        text = re.sub(rf'\n    {key}: &\w+ ', '\n    # ', text, count=1)
        text = re.sub(rf'\n    {key}: \*\w+', '', text)
        file = tmp_path / 'wrong.yaml'
        file.write_text(text)
        answer = run('flexible', file, '--output', tmp_path / 'out.csv')
        assert answer.status == 2
        assert f'flexible.rod_1.{key}: is missing' in answer.err, answer.err


def test_a_mechanism_without_flexible_links_is_refused(run, write, tmp_path) -> None:
    rows = [[0.0, 0.0, 0.0, 0.11, 0.0, 0.0, 0.0], [0.1, 0.0, 0.0, 0.111, 0.0, 0.0, 0.0]]
    motion = write(['time', 'x', 'y', 'z', 'psi', 'theta', 'phi'], rows)
    answer = run('flexible', 'rcid', '--motion', motion, '--output', tmp_path / 'out.csv')
    assert answer.status == 2 and 'has no flexible links' in answer.err


def test_a_path_out_of_reach_is_refused(run, write, tmp_path) -> None:
    rows = [[0.0, 0.0, 0.0, 2.0944], [0.1, 0.3, 0.0, 2.0944]]
    motion = write(['time', 'x', 'y', 'phi'], rows)
    out = tmp_path / 'out.csv'
    answer = run('flexible', 'rrr4', '--motion', motion, '--output', out)
    assert answer.status == 2 and 'leg_' in answer.err and ' s: ' in answer.err
    assert not out.exists()


def test_names_of_tests_and_shapes_agree() -> None:
    """The command's choices are the schema's and the package's own."""
    import typing

    from masticator_dynamics.commands import flexible as command
    from masticator_dynamics.description.data import FlexibleLink
    from masticator_dynamics.flexible import METHODS, MODES
    from masticator_dynamics.flexible.flexible_simulation import RTOL

    hints = typing.get_type_hints(FlexibleLink)
    assert command.BOUNDARIES == typing.get_args(hints['boundary'])
    assert command.DRIVE_MODES == tuple(MODES)
    options = {option.name: option for option in command.flexible.params}
    assert tuple(options['method'].type.choices) == tuple(METHODS)
    assert options['rtol'].default == RTOL
    assert beams.MOTORS == ('motor_1', 'motor_2', 'motor_3', 'motor_4')
