# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""inverse-dynamics --limits: efforts within limits, refusals, and rows that are counted."""

import re

import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism
from masticator_dynamics.limits.load_limits import load_ranges

Y = ['x', 'y', 'alpha', 'beta']
COLUMNS = ['time', *Y, *(f'{c}_dot' for c in Y), *(f'{c}_ddot' for c in Y)]
COLUMNS += ['fx', 'fy', 'fz', 'tx', 'ty', 'tz']
CRANKS = [f'crank_{i}' for i in range(1, 7)]
PLACE = re.compile(r'(\w+) by (\S+) (\S+) in row (\d+) \(line (\d+)\)')


def states(count=20, force=35.0, seed=3):
    """Rows whose biting forces grow."""
    rng = np.random.default_rng(seed)
    y = rng.uniform([-1e-3, -1e-3, -0.02, 0.0], [3e-3, 1e-3, 0.02, 0.12], (count, 4))
    rates = rng.normal(size=(count, 8)) * [0.01, 0.01, 0.1, 0.1, 0.1, 0.1, 1.0, 1.0]
    wrench = np.zeros((count, 6))
    wrench[:, 2] = -np.linspace(0.0, force, count)
    wrench[:, 3] = 0.08 * wrench[:, 2]  # on the left side
    return np.column_stack([np.arange(count) * 0.01, y, rates, wrench])


def split(rows):
    return np.split(rows[..., 1:], [4, 8, 12], axis=-1)


@pytest.fixture
def inverse(run, write, read, tmp_path, file):
    """Run the command with --friction on rows; returns its result and the columns, if any."""

    def inverse(rows, *options):
        out = tmp_path / 'out.csv'
        out.unlink(missing_ok=True)
        words = ('--motion', write(COLUMNS, rows), '--output', out, '--friction', *options)
        answer = run('inverse-dynamics', file, *words)
        return answer, read(out) if out.exists() else None

    return inverse


@pytest.fixture(scope='module')
def file(tmp_path_factory):
    return samples.tight_masticator(tmp_path_factory.mktemp('limits'))


@pytest.fixture(scope='module')
def mechanism(file):
    return Mechanism.load(str(file))


def outside(mechanism, rows):
    """Rows whose best efforts without limits exceed them."""
    batch = mechanism.feedforward_batch(*split(rows), friction=True)
    groups = load_ranges(mechanism, batch, mechanism.load_limits)
    return np.any([group.outside().any(axis=1) for group in groups], axis=0)


def test_efforts_keep_limits_and_rows_at_them_are_counted(inverse, mechanism) -> None:
    rows = states()
    bound = outside(mechanism, rows)
    assert 2 < bound.sum() < len(rows)
    answer, columns = inverse(rows, '--limits')
    assert answer.status == 0, answer.err
    names = []
    for row in range(len(rows)):
        effort = mechanism.feedforward(*split(rows[row]), friction=True, limits=True)
        found = np.array([columns[f'effort_{c}'][row] for c in CRANKS])
        assert samples.relative_error(found, effort.actuated) < 1e-12
        assert np.abs(found).max() <= 0.4 * (1.0 + 1e-8)
        contacts = [columns[f'contact_condyle_{side}'][row] for side in ('left', 'right')]
        assert np.abs(contacts).max() <= 20.0 * (1.0 + 1e-8)
        names += [f'{load.name} {load.quantity}' for load in mechanism.binding_loads(effort)]
    # Nothing else is said: efforts at their limits are not outside ranges.
    line = rf'limits bind in {bound.sum()} of {len(rows)} rows; most often: (.+), in (\d+)\n'
    load, count = re.fullmatch(rf'masticator: warning: .*/in\.csv: {line}', answer.err).groups()
    assert names.count(load) == int(count) == max(names.count(name) for name in names)


def test_limits_that_are_far_away_change_nothing(inverse) -> None:
    rows = states(force=10.0)
    _, expected = inverse(rows)
    answer, columns = inverse(rows, '--limits', '--nearest')
    assert (answer.status, answer.err) == (0, '')
    for name, values in expected.items():  # by other code, which rounds otherwise
        if name.endswith('_residual'):  # nothing but rounding
            assert max(np.abs(values).max(), np.abs(columns[name]).max()) < 1e-12
            continue
        assert columns[name] == pytest.approx(values, 1e-13, 1e-14 * np.abs(values).max()), name


def hopeless():
    """Rows, the third and fifth of which cannot be driven within limits."""
    rows = states(6, force=20.0)
    rows[2, 12], rows[4, 12] = 2.0e5, -3.0e5  # rad/s^2 of beta
    return rows


def test_a_row_that_no_efforts_drive_is_refused_with_limits_and_excess(inverse) -> None:
    answer, columns = inverse(hopeless(), '--limits')
    assert (answer.status, columns) == (2, None)
    assert answer.err.count('\n') == 1
    assert '/in.csv: row 3 (line 4): no efforts keep the limits at x = ' in answer.err
    excess = float(re.search(r'at the least, (\S+) of a limit too much: ', answer.err)[1])
    assert excess > 0.1
    assert re.search(r'crank_\d (effort|power|axial force|radial force) ', answer.err)


def test_nearest_counts_rows_that_give_way_and_tells_the_most(inverse, mechanism) -> None:
    rows = hopeless()
    answer, columns = inverse(rows, '--limits', '--nearest')
    assert answer.status == 0, answer.err
    assert 'outside ranges' not in answer.err
    (line,) = [line for line in answer.err.splitlines() if 'gives way' in line]
    assert ': the motion gives way in 2 of 6 rows; most: ' in line
    batch = mechanism.feedforward_batch(*split(rows), friction=True, limits=True, nearest=True)
    assert np.flatnonzero(batch.shortfall.any(axis=1)).tolist() == [2, 4]
    told = PLACE.findall(line)
    assert [unit for *_, unit, _, _ in told] == ['m/s^2', 'rad/s^2']
    for (name, value, _, row, text_line), kind in zip(told, ('xy', 'ab'), strict=True):
        of_kind = [k for k, c in enumerate(Y) if c[0] in kind]
        largest = np.abs(batch.shortfall[:, of_kind]).max()
        assert abs(batch.shortfall[int(row) - 1, Y.index(name)]) == largest
        assert float(value) == pytest.approx(largest, rel=6e-3)
        assert int(text_line) == int(row) + 1
    # The output is the motion that is left: its accelerations need just these efforts.
    y, y_dot, y_ddot, wrench = split(rows)
    left = mechanism.feedforward_batch(y, y_dot, y_ddot - batch.shortfall, wrench, friction=True)
    for j, crank in enumerate(CRANKS):
        found = columns[f'acceleration_{crank}']
        np.testing.assert_allclose(found, left.acceleration[:, j], rtol=1e-9, atol=1e-6)
        assert np.abs(columns[f'effort_{crank}']).max() <= 0.4 * (1.0 + 1e-8)


def test_nearest_without_limits_is_bad_usage(inverse) -> None:
    answer, columns = inverse(states(2), '--nearest')
    assert (answer.status, columns) == (2, None)
    assert '--nearest needs --limits' in answer.err
    assert answer.err.count('\n') == 1
