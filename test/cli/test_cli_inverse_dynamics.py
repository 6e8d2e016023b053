# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""inverse-dynamics: input, output and refusals."""

import importlib.util
import pathlib
import re

import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.commands.along_motion import CHUNK
from masticator_dynamics.files.tables import write_table

Y = ['x', 'y', 'alpha', 'beta']
RATES = [*(f'{c}_dot' for c in Y), *(f'{c}_ddot' for c in Y)]
WRENCH = ['fx', 'fy', 'fz', 'tx', 'ty', 'tz']
CRANKS = [f'crank_{i}' for i in range(1, 7)]
HEADER = (
    'time,'
    + ','.join(
        f'position_{c},velocity_{c},acceleration_{c},effort_{c}' for c in CRANKS
    )
    + ',contact_condyle_left,contact_condyle_right,closure_residual'
)  # fmt: skip


def states(count, seed=0):
    """Rows time, y, y_dot, y_ddot, wrench inside the ranges, far apart from one another."""
    rng = np.random.default_rng(seed)
    low, high = [-1e-3, -1e-3, -0.02, 0.0], [3e-3, 1e-3, 0.02, 0.12]
    y = rng.uniform(low, high, (count, 4))
    rates = rng.normal(size=(count, 8)) * [0.01, 0.01, 0.1, 0.1, 0.1, 0.1, 1.0, 1.0]
    wrench = rng.normal(size=(count, 6)) * [5, 5, 5, 0.1, 0.1, 0.1]
    return np.column_stack([np.arange(count) * 0.01, y, rates, wrench])


@pytest.fixture
def inverse(run, tmp_path):
    def inverse(file, *options, mechanism='masticator'):
        out = tmp_path / 'out.csv'
        answer = run('inverse-dynamics', mechanism, '--motion', file, '--output', out, *options)
        return answer, out

    return inverse


def efforts(columns):
    return np.column_stack([columns[f'effort_{c}'] for c in CRANKS])


# What comes out


def test_header_is_literally_as_published_and_numbers_are_exact(inverse, write, read) -> None:
    rows = states(3)
    answer, out = inverse(write(['time', *Y, *RATES, *WRENCH], rows))
    assert (answer.status, answer.err) == (0, '')
    assert out.read_text().split('\n')[0] == HEADER
    columns = read(out)
    mechanism = Mechanism.load('masticator')
    effort = mechanism.feedforward_batch(*np.split(rows[:, 1:], [4, 8, 12], axis=1))
    for row in range(3):
        found = {name: values[row] for name, values in columns.items()}
        assert found['time'] == rows[row, 0]
        for j, crank in enumerate(CRANKS):
            assert found[f'position_{crank}'] == effort.position[row, j]
            assert found[f'velocity_{crank}'] == effort.velocity[row, j]
            assert found[f'acceleration_{crank}'] == effort.acceleration[row, j]
            assert found[f'effort_{crank}'] == effort.actuated[row, j]
        assert found['contact_condyle_left'] == effort.contact[row, 0]
        assert found['contact_condyle_right'] == effort.contact[row, 1]
        assert 0 <= found['closure_residual'] < 1e-10


def test_columns_may_stand_in_any_order_among_others(inverse, write, read, tmp_path) -> None:
    rows = states(2)
    names = ['time', *Y, *RATES, *WRENCH]
    inverse(write(names, rows))
    expected = (tmp_path / 'out.csv').read_text()
    text = ','.join([*names[::-1], 'note']) + '\r\n'
    text += ''.join(','.join(map(repr, row[::-1].tolist())) + ',chewing\r\n' for row in rows)
    other = tmp_path / 'other.csv'
    other.write_bytes(b'\xef\xbb\xbf' + text.encode() + b'\r\n')
    answer, out = inverse(other)
    assert answer.status == 0
    assert out.read_text() == expected


def test_rows_do_not_influence_one_another(inverse, write, tmp_path) -> None:
    rows = states(CHUNK + 3)  # two chunks
    names = ['time', *Y, *RATES, *WRENCH]
    options = ('--wrench-axes', 'incisor', '--wrench-point', 'molar_left')
    inverse(write(names, rows), *options)
    first = [line.split(',') for line in (tmp_path / 'out.csv').read_text().splitlines()[1:]]
    order = np.random.default_rng(1).permutation(len(rows))
    shuffled = rows[order]
    shuffled[:, 0] = rows[:, 0]
    inverse(write(names, shuffled), *options)
    second = [line.split(',') for line in (tmp_path / 'out.csv').read_text().splitlines()[1:]]
    assert [row[1:] for row in second] == [first[k][1:] for k in order]
    inverse(write(names, rows[[7]]), *options)
    alone = (tmp_path / 'out.csv').read_text().splitlines()[1]
    assert alone.split(',') == first[7]


def test_no_wrench_is_a_wrench_of_zero(inverse, write, tmp_path) -> None:
    rows = states(3)
    rows[:, 13:] = 0.0
    inverse(write(['time', *Y, *RATES, *WRENCH], rows))
    expected = (tmp_path / 'out.csv').read_text()
    answer, out = inverse(write(['time', *Y, *RATES], rows[:, :13]))
    assert answer.status == 0
    assert out.read_text() == expected


def test_a_wrench_is_taken_along_axes_and_at_a_point(inverse, write, read) -> None:
    rows = states(4)
    names = ['time', *Y, *RATES, *WRENCH]
    mechanism = Mechanism.load('masticator')
    for options in (
        {'axes': 'mandible'},
        {'point': 'molar_left'},
        {'axes': 'crank_3_link', 'point': 'incisor'},
    ):
        words = [word for key, frame in options.items() for word in (f'--wrench-{key}', frame)]
        answer, out = inverse(write(names, rows), *words)
        assert answer.status == 0
        found = efforts(read(out))
        for row in range(4):
            state = np.split(rows[row, 1:], [4, 8, 12, 15])
            motion = mechanism.solve(*state[:3])
            wrench = mechanism.wrench_on_platform(motion, *state[3:], **options)
            expected = mechanism.inverse_dynamics(motion, wrench).actuated
            np.testing.assert_allclose(found[row], expected, rtol=1e-10, atol=1e-12)


# Motions without derivatives


def test_derivatives_come_from_a_smooth_function_of_time(inverse, write, read, tmp_path) -> None:
    time = np.linspace(0.0, 1.0, 201)
    size, rate = np.array([2e-3, 5e-4, 0.01, 0.05]), np.array([5.0, 6.0, 7.0, 6.0])
    phase = rate * time[:, None]
    y = size * (1.0 - np.cos(phase))
    motion = [y, size * rate * np.sin(phase), size * rate**2 * np.cos(phase)]
    inverse(write(['time', *Y, *RATES], np.column_stack([time, *motion])))
    expected = efforts(read(tmp_path / 'out.csv'))
    answer, out = inverse(write(['time', *Y], np.column_stack([time, y])))
    assert answer.status == 0
    scale = np.abs(expected).max()
    assert np.abs(efforts(read(out)) - expected).max() < 1e-5 * scale


@pytest.mark.parametrize('count', [1, 2, 3])
def test_few_rows_are_a_motion_too(inverse, write, read, count) -> None:
    """One row is at rest, two move at constant velocity, three on a parabola."""
    time = np.array([0.0, 0.1, 0.3])[:count, None]
    order = np.array([1.0, 0.3, 2.0])  # of 1, t, t^2
    order[count:] = 0.0
    size = np.array([1e-3, 1e-4, 0.01, 0.02])
    y = (order[0] + order[1] * time + order[2] * time**2) * size
    y_dot = (order[1] + 2.0 * order[2] * time) * size
    y_ddot = np.broadcast_to(2.0 * order[2] * size, y.shape)
    answer, out = inverse(write(['time', *Y], np.column_stack([time, y])))
    assert answer.status == 0
    effort = Mechanism.load('masticator').feedforward_batch(y, y_dot, y_ddot)
    columns = read(out)
    for j, crank in enumerate(CRANKS):
        for word, values in (('velocity', effort.velocity), ('effort', effort.actuated)):
            found = columns[f'{word}_{crank}']
            np.testing.assert_allclose(found, values[:, j], rtol=1e-9, atol=1e-12)


def test_a_spline_begins_and_ends_at_rest_if_asked(inverse, write, read) -> None:
    """Rows of the quintic from rest to rest, which is the one spline of its kind through them."""
    t, size = np.linspace(0.0, 1.0, 6)[:, None], np.array([1e-3, 1e-4, 0.01, 0.05])
    y = t**3 * (10.0 - 15.0 * t + 6.0 * t**2) * size
    y_dot = 30.0 * t**2 * (1.0 - t) ** 2 * size
    y_ddot = 60.0 * t * (1.0 - t) * (1.0 - 2.0 * t) * size
    wanted = Mechanism.load('masticator').feedforward_batch(y, y_dot, y_ddot).actuated
    file = write(['time', *Y], np.column_stack([t, y]))
    answer, out = inverse(file, '--at-rest')
    assert (answer.status, answer.err) == (0, '')
    np.testing.assert_allclose(efforts(read(out)), wanted, rtol=1e-9, atol=1e-9)
    moving = write(['time', *Y], np.column_stack([t[:3], y[:3]]))
    assert 'ends with x_dot=0.00' in inverse(moving)[0].err
    rates = write(['time', *Y, *RATES], np.column_stack([t, y, y_dot, y_ddot]))
    answer, _ = inverse(rates, '--at-rest')
    assert answer.status == 2 and 'it has rates' in answer.err


def test_noise_of_measured_positions_is_filtered_if_asked(inverse, write, read) -> None:
    """Rows at 500 Hz with noise, uneven in time; a filter that delays nothing."""
    rng = np.random.default_rng(4)
    time = np.linspace(0.0, 4.0, 2001) + 2e-4 * rng.uniform(-1.0, 1.0, 2001)
    size, rate = np.array([2e-3, 5e-4, 0.01, 0.05]), np.array([5.0, 6.0, 7.0, 6.0])
    phase = rate * time[:, None]
    y = size * (1.0 - np.cos(phase))
    rates = size * rate * np.sin(phase), size * rate**2 * np.cos(phase)
    wanted = Mechanism.load('masticator').feedforward_batch(y, *rates).actuated
    noisy = y + 3e-4 * size * rng.normal(size=y.shape)
    file = write(['time', *Y], np.column_stack([time, noisy]))

    def error(*options):
        answer, out = inverse(file, *options)
        assert answer.status == 0, answer.err
        inside = slice(100, -100)
        off = efforts(read(out))[inside] - wanted[inside]
        return np.sqrt((off**2).mean()) / np.sqrt((wanted**2).mean())

    assert error('--cutoff', '10') < 0.05 < 0.2 < error()
    answer, _ = inverse(file, '--cutoff', '200')
    assert answer.status == 2 and 'rows per second; a cutoff of 200 Hz needs 800' in answer.err
    short = write(['time', *Y], np.column_stack([time, noisy])[:40])
    answer, _ = inverse(short, '--cutoff', '10')
    assert answer.status == 2 and 'too short for a cutoff of 10 Hz' in answer.err
    told = write(['time', *Y, *RATES], np.column_stack([time, y, *rates]))
    answer, _ = inverse(told, '--cutoff', '10')
    assert answer.status == 2 and 'a cutoff is for positions alone' in answer.err


# What is refused


def bad(names, rows, row=None, column=None, cell=None):
    cells = [[repr(v) for v in r] for r in np.asarray(rows).tolist()]
    if row is not None:
        cells[row][names.index(column)] = cell
    return '\n'.join(','.join(line) for line in [names, *cells]) + '\n'


FULL = ['time', *Y, *RATES, *WRENCH]
GOOD = states(3)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('', 'the file is empty'),
        (','.join(FULL) + '\n', 'there are no rows'),
        (bad(FULL, GOOD, 1, 'beta', 'nan'), "row 2 (line 3), column 'beta': 'nan' is not finite"),
        (bad(FULL, GOOD, 2, 'fz', 'inf'), "row 3 (line 4), column 'fz': 'inf' is not finite"),
        (bad(FULL, GOOD, 0, 'x', 'far'), "row 1 (line 2), column 'x': 'far' is not a number"),
        (bad(FULL, GOOD, 2, 'time', '0.01'), "row 3 (line 4), column 'time': 0.01 does not incr"),
        (bad(FULL, GOOD) + '1,2\n', 'row 4 (line 5) has 2 cells, the header has 19 columns'),
        (bad(FULL, GOOD, 1, 'x', '0,0'), 'row 2 (line 3) has 20 cells, the header has 19 columns'),
        (bad(FULL[1:], GOOD[:, 1:]), 'missing column time'),
        (bad(['time', 'x', 'y', 'beta'], GOOD[:, [0, 1, 2, 4]]), 'missing column alpha'),
        (bad(['time', *Y, 'x'], GOOD[:, :6]), "column 'x' is there twice"),
        (
            bad(FULL[:9], GOOD[:, :9]),
            'missing columns x_ddot, y_ddot, alpha_ddot, beta_ddot, needed with columns x_dot,',
        ),
        (
            bad([*FULL[:5], 'x_ddot'], GOOD[:, :6]),
            'missing columns x_dot, y_dot, alpha_dot, beta_dot, y_ddot, alpha_ddot, beta_ddot,',
        ),
        (
            bad([*FULL[:13], 'fz'], GOOD[:, :14]),
            'missing columns fx, fy, tx, ty, tz, needed with column fz',
        ),
        (bad(FULL, GOOD, 1, 'x', '0.2'), 'row 2 (line 3): limb_'),
    ],
)
def test_bad_files_are_refused_in_one_line(inverse, tmp_path, text, message) -> None:
    file, out = tmp_path / 'in.csv', tmp_path / 'out.csv'
    file.write_text(text)
    out.write_text('precious')
    answer, _ = inverse(file)
    assert answer.status == 2
    assert answer.err.startswith(f'masticator: error: {file}: ')
    assert message in answer.err
    assert answer.err.count('\n') == 1
    assert answer.out == ''
    assert out.read_text() == 'precious'
    assert sorted(path.name for path in tmp_path.iterdir()) == ['in.csv', 'out.csv']


def test_a_row_of_a_later_chunk_is_named_by_its_place_in_the_file(inverse, write) -> None:
    rows = states(CHUNK + 5)
    rows[CHUNK + 2, 1] = 0.2
    for options in ((), ('--wrench-axes', 'incisor')):
        answer, out = inverse(write(FULL, rows), *options)
        assert answer.status == 2
        assert f': row {CHUNK + 3} (line {CHUNK + 4}): limb_' in answer.err
        assert 'cannot close' in answer.err
        assert not out.exists()


LINKS = ('incisor', 'crank_2_link')
ON_LINKS = [f'{part}@{link}' for link in LINKS for part in WRENCH]


@pytest.mark.parametrize('axes', ['', 'molar_left'])
def test_wrenches_on_links_add_up_along_the_axes_asked_for(inverse, write, read, axes) -> None:
    rows, links = states(4), np.random.default_rng(8).normal(size=(4, 12))
    options = ('--wrench-axes', axes) if axes else ()
    answer, out = inverse(write([*FULL, *ON_LINKS], np.hstack([rows, links])), *options)
    assert answer.status == 0
    found, mechanism = efforts(read(out)), Mechanism.load('masticator')
    for row in range(4):
        motion = mechanism.solve(*np.split(rows[row, 1:13], 3))
        turn = mechanism.frame_pose(motion, axes).rotation if axes else np.eye(3)
        given = np.concatenate([rows[row, 13:], links[row]]).reshape(-1, 3) @ turn.T
        platform, *others = given.reshape(3, 6)
        asked = dict(zip(LINKS, others, strict=True))
        expected = mechanism.inverse_dynamics(motion, platform, link_wrenches=asked).actuated
        np.testing.assert_allclose(found[row], expected, rtol=1e-10, atol=1e-12)


def test_wrenches_on_links_must_be_whole_and_of_links_that_there_are(inverse, write) -> None:
    for names, words in (
        ([f'{part}@molar' for part in WRENCH], "column 'fx@molar': no frame 'molar'"),
        (['fz@incisor'], 'missing columns fx@incisor, fy@incisor'),
    ):
        rows = np.hstack([states(2), np.zeros((2, len(names)))])
        answer, out = inverse(write([*FULL, *names], rows))
        assert answer.status == 2 and words in answer.err and not out.exists()


@pytest.mark.parametrize('option', ['--wrench-axes', '--wrench-point'])
@pytest.mark.parametrize('columns', [13, 19])
def test_an_unknown_frame_is_refused_naming_the_known(inverse, write, option, columns) -> None:
    answer, out = inverse(write(FULL[:columns], GOOD[:, :columns]), option, 'jaw')
    assert answer.status == 2
    assert "no frame 'jaw'" in answer.err
    assert 'molar_left' in answer.err
    assert not out.exists()


def test_an_output_that_cannot_be_written_is_refused(run, write, tmp_path) -> None:
    file = write(FULL, GOOD)
    for target in (tmp_path / 'none' / 'out.csv', tmp_path, file / 'out.csv'):
        answer = run('inverse-dynamics', 'masticator', '--motion', file, '--output', target)
        assert answer.status == 2
        assert answer.err.startswith(f'masticator: error: {target}: cannot be written: ')
        assert answer.err.count('\n') == 1


# Actuators, goals


def test_idle_actuators_have_no_effort_and_the_others_balance(inverse, write, read) -> None:
    rows = states(5)
    answer, out = inverse(write(FULL, rows), '--actuators', 'crank_6, crank_1,crank_2,crank_5')
    assert answer.status == 0
    found = efforts(read(out))
    assert (found[:, 2:4] == 0.0).all()
    assert np.abs(found[:, [0, 1, 4, 5]]).min() > 0.0
    mechanism = Mechanism.load('masticator')
    for row in range(5):
        everyone = mechanism.feedforward(*np.split(rows[row, 1:], [4, 8, 12]))
        motion = mechanism.solve(rows[row, 1:5])
        jacobian = mechanism.jacobian_actuated_from_independent(motion)
        # Either way the same generalised force moves the jaw.
        np.testing.assert_allclose(
            jacobian.T @ found[row], jacobian.T @ everyone.actuated, rtol=1e-7, atol=1e-9
        )


@pytest.mark.parametrize(
    ('names', 'message'),
    [
        ('crank_1,crank_2,crank_3', 'control 3 of 4 degrees of freedom'),
        ('crank_1,crank_9', "no actuator 'crank_9'; there are: crank_1, "),
        ('crank_1,,crank_2', 'has an empty name'),
        ('crank_1,crank_1', "'crank_1' is there twice"),
    ],
)
def test_actuators_that_cannot_drive_are_refused(inverse, write, names, message) -> None:
    answer, out = inverse(write(FULL, GOOD), '--actuators', names)
    assert answer.status == 2
    assert message in answer.err
    assert 'row' not in answer.err
    assert answer.err.count('\n') == 1
    assert not out.exists()


def test_goals_and_friction_reach_the_core(inverse, write, monkeypatch) -> None:
    asked = []
    original = Mechanism.feedforward_batch

    def feedforward_batch(self, *arguments, link_wrenches, goal, friction, limits, nearest):
        asked.append((goal, friction))
        assert not link_wrenches and not limits and not nearest
        return original(self, *arguments)

    monkeypatch.setattr(Mechanism, 'feedforward_batch', feedforward_batch)
    file = write(FULL, GOOD)
    for options in ((), ('--goal', 'power'), ('--goal', 'contact-force', '--friction')):
        assert inverse(file, *options)[0].status == 0
    assert asked == [('torque', False), ('power', False), ('contact-force', True)]


def test_an_unknown_goal_is_refused_naming_the_known(inverse, write) -> None:
    answer, _ = inverse(write(FULL, GOOD), '--goal', 'comfort')
    assert answer.status == 2
    for goal in ('torque', 'joint-force', 'contact-force', 'power'):
        assert goal in answer.err
    assert answer.err.count('\n') == 1


# Ranges


def out_of_range():
    rows = states(4)
    rows[1, 1] = 0.0078  # condyles 0.3 mm beyond the end of their sockets
    rows[3, 12] = 0.0
    rows[3, 8] = 60.0  # rad/s
    return rows


def test_ranges_do_not_refuse_but_are_counted(inverse, write, read) -> None:
    answer, out = inverse(write(FULL, out_of_range()))
    assert answer.status == 0
    assert len(read(out)['time']) == 4
    assert answer.err.count('\n') == 1
    assert ': 2 of 4 rows outside ranges; worst: row 4 (line 5), ' in answer.err


def test_strict_refuses_them(inverse, write) -> None:
    answer, out = inverse(write(FULL, out_of_range()), '--strict')
    assert answer.status == 2
    assert ': 2 of 4 rows outside ranges; worst: row 4 (line 5), ' in answer.err
    assert answer.err.count('\n') == 1
    assert not out.exists()
    assert inverse(write(FULL, GOOD), '--strict')[0].status == 0


def test_rows_outside_ranges_are_counted_over_all_chunks(inverse, write) -> None:
    rows = states(CHUNK + 5)
    rows[[3, CHUNK + 1], 1] = [0.0076, 0.0078]
    answer, _ = inverse(write(FULL, rows))
    assert answer.status == 0
    place = f'row {CHUNK + 2} (line {CHUNK + 3}), condyle_'
    assert f': 2 of {CHUNK + 5} rows outside ranges; worst: {place}' in answer.err


# Other mechanisms


def test_a_description_by_path(inverse, write, tmp_path) -> None:
    file = write(FULL, GOOD)
    by_name = inverse(file)[1].read_text()
    path = pathlib.Path(Mechanism.load('masticator').description.file)
    answer, out = inverse(file, mechanism=path)
    assert answer.status == 0
    assert out.read_text() == by_name


def test_rcid_has_its_own_columns(inverse, write, read) -> None:
    names = ['x', 'y', 'z', 'psi', 'theta', 'phi']
    answer, out = inverse(write(['time', *names], [[0, 0, 0, 0.11, 0, 0, 0]]), mechanism='rcid')
    assert answer.status == 0
    words = ('position', 'velocity', 'acceleration', 'effort')
    sliders = [f'{word}_slider_{i}' for i in range(1, 7) for word in words]
    assert list(read(out)) == ['time', *sliders, 'closure_residual']


@pytest.mark.parametrize(
    ('old', 'new', 'meant'),
    [
        ('_dot$', ' dot [m/s]', "is 'x_dot' meant?"),
        ('_ddot$', 'DDot', "is 'x_ddot' meant?"),
        ('_dot$', '_vel', "is 'x_dot' meant?"),
        ('^(.*)_ddot$', r'Acceleration \1 [m/s^2]', "is 'x_ddot' meant?"),
        ('^f', 'F', "is 'fx' meant?"),
        ('^([ft][xyz])$', r'\1 @mandible', 'is fx@LINK meant?'),
    ],
)
def test_columns_with_other_marks(inverse, write, old, new, meant) -> None:
    """Rates and wrenches that would be left out without a word."""
    names = [re.sub(old, new, name) for name in ['time', *Y, *RATES, *WRENCH]]
    answer, out = inverse(write(names, states(3)))
    assert answer.status == 2 and meant in answer.err
    assert not out.exists()


def test_a_table_does_not_replace_a_robot(run, write, tmp_path) -> None:
    """The URDF of a mechanism, which it reads, among others."""
    target = tmp_path / 'robot.urdf.xacro'
    target.write_text('<robot/>')
    motion = write(['time', *Y], [[0.0] * 5])
    answer = run('inverse-dynamics', 'masticator', '--motion', motion, '--output', target)
    assert answer.status == 2 and 'robot.urdf.xacro is a file of a robot' in answer.err
    assert target.read_text() == '<robot/>'


def test_efforts_are_drawn_over_time(run, tmp_path, monkeypatch) -> None:
    """A curve for each motor, named; torques and forces have panels of their own."""
    pytest.importorskip('matplotlib', reason='pictures need matplotlib')
    from matplotlib.figure import Figure

    drawn = []
    monkeypatch.setattr(Figure, 'savefig', lambda figure, *a, **k: drawn.append(figure))
    for name, unit in (('masticator', 'N m'), ('cable_planar', 'N')):
        mechanism = Mechanism.load(name)
        names, count = mechanism.independent, 5
        rows = np.column_stack([0.1 * np.arange(count), np.tile(mechanism.home.y, (count, 1))])
        rates = [f'{c}{suffix}' for suffix in ('_dot', '_ddot') for c in names]
        rows = np.column_stack([rows, np.zeros((count, len(rates)))])
        motion, table = tmp_path / f'{name}.csv', tmp_path / f'{name}_efforts.csv'
        write_table(str(motion), ['time', *names, *rates], rows)
        words = ['--motion', motion, '--output', table, '--plot', tmp_path / f'{name}.png']
        assert run('inverse-dynamics', name, *words).status == 0
        (axes,) = drawn.pop().axes
        assert axes.get_ylabel().endswith(f'({unit})')
        curves = {line.get_label(): line for line in axes.lines}
        written = np.genfromtxt(table, delimiter=',', names=True)
        for joint in mechanism.actuated:
            drawn_effort = curves[joint].get_ydata()
            np.testing.assert_allclose(drawn_effort, written[f'effort_{joint}'], rtol=1e-9)


def test_a_plot_without_matplotlib_is_refused_first(run, tmp_path, monkeypatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, 'find_spec', lambda name: None if name == 'matplotlib' else find(name)
    )
    answer = run(
        'inverse-dynamics', 'rcid', '--motion', tmp_path / 'no.csv', '--output', tmp_path / 't.csv',
        '--plot', tmp_path / 't.png',
    )  # fmt: skip
    assert answer.status == 2 and '--plot needs matplotlib' in answer.err
    assert "pip install '.[demo]' in a checkout" in answer.err and 'else is done' not in answer.err
