# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Estimators of a node: shipped ones and the user's, but none that are stale."""

import dataclasses
import pathlib

import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.analysis.load_inertia import storage
from masticator_dynamics.analysis.load_inertia.storage import EstimatorSet
from masticator_dynamics.errors import InputError


def doubled(mechanism: Mechanism, kind: str, file: pathlib.Path) -> None:
    """A user's file: a shipped estimator with doubled expected errors."""
    found = storage.read_estimator(storage.shipped_file('masticator', kind), mechanism)
    error = dataclasses.replace(found.error, maximum=2.0 * found.error.maximum)
    file.write_text(storage.as_text(dataclasses.replace(found, error=error)))


def test_files_of_the_user_come_before_shipped_ones(
    mechanism: Mechanism, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / 'own.json'
    doubled(mechanism, 'circle', file)
    shipped, own = EstimatorSet(mechanism), EstimatorSet(mechanism, ['', str(file)])
    assert set(shipped.kinds) == set(own.kinds) == {'model', 'ellipse', 'circle', 'grid'}
    for kind, factor in (('ellipse', 1.0), ('circle', 2.0), ('model', 1.0)):
        before, after = (s[kind].estimate(mechanism.home.y)[1] for s in (shipped, own))
        assert after == pytest.approx(factor * np.asarray(before))
    with pytest.raises(InputError, match="two files of kind 'circle'"):
        EstimatorSet(mechanism, [str(file), str(file)])


def test_shipped_files_of_another_machine_with_the_same_name_are_told_when_asked_for() -> None:
    five_bar = Mechanism.load(pathlib.Path(__file__).parents[1] / 'mechanisms/five_bar.yaml')
    found = EstimatorSet(Mechanism(dataclasses.replace(five_bar.description, name='masticator')))
    assert found.kinds == ('model',)
    with pytest.raises(InputError, match='built for another version of it'):
        found['ellipse']
    with pytest.raises(InputError, match='there is no grid estimator of five_bar'):
        EstimatorSet(five_bar)['grid']
