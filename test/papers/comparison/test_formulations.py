# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The section ``formulations`` of ``python -m papers``."""

from __future__ import annotations

import dataclasses
import types

import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism
from papers.comparison import formulations
from papers.comparison.inputs import ChewingMotion, Inputs
from papers.formulations import FORMULATIONS, HessianMatrix

COUNT = 5


def short_motion(_: Mechanism) -> ChewingMotion:
    rows = zip(*samples.states('masticator', COUNT, 96), strict=True)
    return ChewingMotion('five states', np.arange(float(COUNT)), *(np.array(r) for r in rows))


@pytest.fixture(scope='module')
def tables():
    return formulations.compare(Inputs(short_motion))


def test_every_method_has_a_row_for_each_mechanism(tables) -> None:
    for name, table in zip(('masticator', 'rss6'), tables[:2], strict=True):
        assert table.title.startswith(name)
        assert 'five states' in table.title
        titles = [row[0] for row in table.rows]
        assert titles[0] == 'engine'
        assert set(titles[1:]) == {
            '  motion given in them', *(kind.title for kind in FORMULATIONS.values())
        }  # fmt: skip


def test_differences_are_rounding_and_times_are_there(tables) -> None:
    for table in tables[:2]:
        for row in table.rows:
            for difference in row[2:5]:
                assert difference is None or 0.0 < difference < 1e-10
            assert row[5] > 0.0
            assert row[6] > 0.0
        assert table.rows[0][6] == 1.0
    torques = [row[2] for row in tables[0].rows]
    assert torques.count(None) == 2  # the engine's, and Euler parameters a second time


def test_a_wrong_formulation_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The difference shown is that of torques, over the largest torque of the sample."""
    right = HessianMatrix.inverse_dynamics

    def wrong(self, *state):
        solution = right(self, *state)
        torque = solution.actuated.copy()
        torque[2] += 1e-3 * np.abs(torque).max()
        return dataclasses.replace(solution, actuated=torque)

    monkeypatch.setattr(HessianMatrix, 'inverse_dynamics', wrong)
    for table in formulations.compare(Inputs(short_motion))[:2]:
        found = {row[0]: row[2] for row in table.rows}
        assert found[HessianMatrix.title] == pytest.approx(1e-3, rel=1e-6)


def test_claims_about_time_are_the_right_ratios() -> None:
    def figures(factor: float) -> types.SimpleNamespace:
        primes = (2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0)
        costs = dict(zip(formulations.METHODS, primes, strict=True))
        seconds = {key: factor * np.array([1.0, 2.0, 3.0]) * c for key, c in costs.items()}
        return types.SimpleNamespace(seconds=seconds, twist=1e-15, multipliers=2e-15)

    # engine, hessian, liang, lagrange, euler-parameters, euler-angles, then what is given
    claims = formulations._claims(figures(4.0), figures(2.0))
    ours = {row[0].strip(): row[3::2] for row in claims.rows}
    assert ours['time, Hessian / Liang'] == (3.0 / 5.0, 3.0 / 5.0)
    assert ours['time, Euler parameters / angles'] == (17.0 / 19.0, 17.0 / 19.0)
    assert ours['motion given in angles for both'] == (11.0 / 13.0, 11.0 / 13.0)
    assert ours["of the end effector's motion alone"] == (23.0 / 29.0, 23.0 / 29.0)
    share = "time of the end effector's motion / all, angles"
    assert ours[share] == (29.0 / 19.0, 29.0 / 19.0)
    for method in ('Hessian', 'Liang', 'Euler angles', 'Euler parameters'):
        assert ours[f'time, masticator / rss6, {method}'] == (2.0, None)


def test_methods_and_descriptions_agree_with_one_another(tables) -> None:
    exact = {row[0]: row[3::2] for row in tables[2].rows[-2:]}
    for differences in exact.values():
        assert max(differences) < 1e-12
