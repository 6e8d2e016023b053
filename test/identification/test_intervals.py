# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether intervals hold the truth, direction by direction, with what files do not have.

INTERVAL_SEEDS robots (default 4) of each kind. Bodies differ from the file's by normal
distributions, as intervals assume; friction, rotors and offsets are as large as on real robots, and
errors of efforts are alike for 0.1 s. Mistakes are not looked for: `test_mistakes` judges that.
"""

import os
import pathlib
import re

import numpy as np
import pytest
import samples
from scipy import stats

from identification.hard_truths import arm, measured, sines
from masticator_dynamics import Mechanism
from masticator_dynamics.identification.identify import identify
from masticator_dynamics.identification.learning import Learnt, _spread
from masticator_dynamics.identification.mistakes import MistakeSearch

SEEDS = int(os.environ.get('INTERVAL_SEEDS', '4'))
MANY = 50  # robots that tell about a single direction
SECONDS = 30.0
KINDS = 'none in the file', 'a third in the file', 'redundant'


def _files(kind: str, folder: pathlib.Path) -> tuple[pathlib.Path, np.ndarray, np.ndarray]:
    """File, centre and reach of the motion."""
    if kind == 'redundant':
        box = samples.BOXES['rrr4']
        return samples.file_of('rrr4'), 0.5 * (box.lower + box.upper), 0.3 * (box.upper - box.lower)
    return arm(folder), np.array([0.0, 0.4, -0.6, 0.3]), np.array([1.2, 0.8, 1.0, 1.2])


@pytest.mark.parametrize('geared', [30.0, 10_000.0])
def test_a_rotor_behind_a_gear_that_is_much_more_than_the_wrist_is_found(geared, tmp_path) -> None:
    """As in a KUKA LWR: 0.39 kg m^2 where the flange has 0.00012."""
    file = arm(tmp_path)
    text = file.with_suffix('.urdf').read_text(encoding='utf-8')
    for axis in 'xyz':  # a flange
        text = re.sub(rf'(<mass value="1.0"/><inertia.*)i{axis}{axis}="[^"]*"',
                      rf'\1i{axis}{axis}="0.0002"', text)  # fmt: skip
    text = text.replace('xyz="0.01 0.02 0.05"/><mass value="1.0"', 'xyz="0 0 0"/><mass value="1.0"')
    file.with_suffix('.urdf').write_text(text, encoding='utf-8')
    mechanism = Mechanism.load(file)
    assert mechanism.mass_matrix(mechanism.home)[3, 3] == pytest.approx(2e-4, rel=0.01)
    centre, reach = np.array([0.0, 0.4, -0.6, 0.3]), np.array([1.2, 0.8, 1.0, 1.2])
    rows = sines(mechanism, centre, reach, SECONDS, 1)
    robot = measured(file, rows, 3, geared=geared)
    end = round(0.75 * len(robot.log.time))
    parts = robot.log.part(slice(0, end)), robot.log.part(slice(end, None))
    found = identify(robot.description, *parts, cutoff=10.0)
    name = f'{mechanism.actuated[-1]}.rotor_inertia'
    assert found.values[name] == pytest.approx(robot.truth[name], rel=0.1)
    plain = found.held_out.error_by_motor(found.plain)
    assert (found.held_out.error_by_motor(found.x) < 1.2 * plain).all()


class Directions:
    """How often intervals of 95 % hold the truth, by direction of the first robot's data."""

    def __init__(self, first: Learnt):
        self.axes = first.directions @ np.linalg.eigh(first.information)[1][:, ::-1]
        self.held = np.zeros((2, self.axes.shape[1]), dtype=int)  # and how many learnt it

    def add(self, learnt: Learnt, x: np.ndarray) -> None:
        """Count a robot whose true unknowns are x."""
        parts = learnt.directions.T @ self.axes
        known = (parts**2).sum(axis=0) > 0.9
        error = parts.T @ (learnt.amounts - learnt.directions.T @ x)
        size = np.sqrt(np.diag(parts.T @ learnt.covariance @ parts))
        half = stats.t.ppf(0.975, learnt.freedom) * size
        self.held += [known & (np.abs(error) < half), known]


@pytest.mark.parametrize('kind', samples.swept(KINDS, KINDS[1:2]))
def test_intervals_hold_the_truth(kind, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(MistakeSearch, 'found', lambda search: iter(()))
    file, centre, reach = _files(kind, tmp_path)
    rows = sines(Mechanism.load(file), centre, reach, SECONDS, 1)
    inside = np.zeros(2, dtype=int)
    by_direction = None
    for seed in range(SEEDS):
        robot = measured(file, rows, seed, friction=1.0 / 3.0 if kind.startswith('a') else 0.0)
        end = round(0.75 * len(robot.log.time))
        parts = robot.log.part(slice(0, end)), robot.log.part(slice(end, None))
        found = identify(robot.description, *parts, cutoff=10.0)
        names, learnt = found.unknowns.names, found.learnt
        real = np.array([robot.truth[name] for name in names]) - found.unknowns.values
        x = np.linalg.lstsq(found.unknowns.spread, real, rcond=None)[0]
        size = found.unknowns.deviation + np.abs(found.unknowns.values)
        assert np.abs(found.unknowns.spread @ x - real).max() < 1e-9 * size.max(), 'can be found'
        error = np.abs(learnt.amounts - learnt.directions.T @ x)
        half = stats.t.ppf(0.975, learnt.freedom) * np.sqrt(np.diag(learnt.covariance))
        inside += [(error < half).sum(), len(half)]
        by_direction = by_direction or Directions(learnt)
        by_direction.add(learnt, x)
        assert found.errors[1] < 1.2 * found.held_out.error(x), 'as good as the true numbers'
    shares = ' '.join(f'{held}/{count}' for held, count in by_direction.held.T)
    print(f'{kind}: {inside[0]} of {inside[1]} intervals hold the truth; by direction {shares}')
    assert inside[0] > 0.9 * inside[1]
    if SEEDS >= MANY:
        held, count = by_direction.held[:, by_direction.held[1] >= MANY]
        # Of a direction whose true share is 90 % fewer come up once in 1000.
        assert (held >= stats.binom.ppf(1e-3, count, 0.9)).all()


@pytest.mark.parametrize('belief', [0.0, 1e-4, 1.0])
def test_intervals_are_wider_only_by_what_few_parts_tell(belief) -> None:
    """One of ten blocks tells most: the variance that they show is uncertain, belief's is not."""
    information = np.array([300.0] + 9 * [20.0])[:, None, None]
    scores = 50.0 * np.random.default_rng(3).standard_normal((10, 1))
    precision = information.sum(axis=0) + 1.0
    axis, pulled = np.eye(1), np.full((1, 1), belief)
    changes = scores / (precision - information)[:, :, 0]
    shown = 0.9 * (changes**2).sum()
    (variance,) = _spread(information, scores, precision, pulled, axis).ravel()
    half = stats.t.ppf(0.975, 9) * np.sqrt(variance)
    share = shown / (shown + belief)
    equal = information.sum() ** 2 / (information**2).sum()
    freedom = np.clip((equal - 1.0) / share**2, 2.0, 9.0)
    assert half == pytest.approx(stats.t.ppf(0.975, freedom) * np.sqrt(shown + belief), rel=1e-12)
