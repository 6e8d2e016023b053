# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Robots that others published, as they are: imported, closed, and driven as Pinocchio says.

The folder is no part of the project: where it is not, these tests skip. Three robots always, all
of them with MASTICATOR_UPSTREAM=1.
"""

from __future__ import annotations

import os
import pathlib

import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.importing import import_robot

GEPETTO = samples.ROOT.parent / 'shared' / 'robots' / 'gepetto'
ALL = bool(os.environ.get('MASTICATOR_UPSTREAM'))
DRIVEN = {
    '5bar_linkage': 2, '5bar_linkage_iso3d': 2, '5bar_linkage_iso6d': 2, 'battobot_6d': 12,
    'cassie_like': 5, 'digit_like': 6, 'digit_like_2legs': 12, 'digit_like_2legs_6D': 12,
    'disney_robot': 12, 'robot_delta': 2, 'talos_like': 6, 'true_talos_2_legs': 44,
    'wl16_like': 6,
}  # fmt: skip
ALWAYS = ('5bar_linkage', 'cassie_like', 'wl16_like')

pytestmark = pytest.mark.skipif(not GEPETTO.is_dir(), reason=f'{GEPETTO} is not there')


@pytest.mark.parametrize('name', DRIVEN if ALL else ALWAYS)
def test_a_published_robot(tmp_path: pathlib.Path, name: str) -> None:
    samples.pinocchio()
    from oracles.pinocchio_oracle import PinocchioOracle

    made = import_robot(GEPETTO / name / 'robot.yaml', name)
    (tmp_path / f'{name}.urdf').write_text(made.urdf, encoding='utf-8')
    (tmp_path / f'{name}.yaml').write_text(made.yaml, encoding='utf-8')
    ours = Mechanism.load(str(tmp_path / f'{name}.yaml'))
    oracle = PinocchioOracle(tmp_path / f'{name}.yaml')
    assert len(ours.independent) == DRIVEN[name] == ours.actuation_rank()
    rng, slides = np.random.default_rng(3), [unit == 'N' for unit in ours.effort_units]
    for _ in range(30 if ALL else 5):
        y = ours.home.y + rng.uniform(-0.05, 0.05, len(slides)) * np.where(slides, 0.1, 1.0)
        state = (y, *rng.normal(size=(2, len(y))), rng.normal(size=6))
        effort, expected = ours.feedforward(*state), oracle.inverse_dynamics(*state).actuated
        assert effort.closure_residual < 1e-9
        assert effort.actuated == pytest.approx(expected, rel=1e-8, abs=1e-8)


@pytest.mark.skipif(not ALL, reason='slow; set MASTICATOR_UPSTREAM=1')
@pytest.mark.parametrize('name', ['kangaroo_like', 'kangaroo_like_2legs'])
def test_loops_that_were_never_found_closed(name: str) -> None:
    with pytest.raises(DescriptionError, match='no pose was found that closes all; open stay'):
        import_robot(GEPETTO / name / 'robot.yaml', name)
