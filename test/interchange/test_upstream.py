# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Robots published by others: imported, closed, and their efforts compared with Pinocchio.

The files are not part of the project: if they are missing, these tests skip. Of the robots that lie
beside this checkout three always, all with MASTICATOR_UPSTREAM=1. MASTICATOR_UPSTREAM_FILES names a
folder with `cassie.xml` and `2f85.xml` of google-deepmind/mujoco_menagerie (agility_cassie,
robotiq_2f85; without meshes) and `cassie_v2.sdf` of the wheel example-robot-data.

Of these 16 and 3, 16 give torques after one command, `disney_like` after a second, which the
first suggests (its foot turns on a joint without a motor); the two kangaroos never close.
"""

from __future__ import annotations

import os
import pathlib

import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import DescriptionError, ReachError
from masticator_dynamics.interchange.imported_description import import_robot

GEPETTO = samples.ROOT.parent / 'shared' / 'robots' / 'gepetto'
ALL = bool(os.environ.get('MASTICATOR_UPSTREAM'))
DRIVEN = {
    '5bar_linkage': 2, '5bar_linkage_iso3d': 2, '5bar_linkage_iso6d': 2, 'battobot_6d': 12,
    'cassie_like': 5, 'digit_like': 6, 'digit_like_2legs': 12, 'digit_like_2legs_6D': 12,
    'disney_like': 6, 'disney_robot': 12, 'robot_delta': 2, 'talos_like': 6,
    'true_talos_2_legs': 44, 'wl16_like': 6,
}  # fmt: skip
FILES = os.environ.get('MASTICATOR_UPSTREAM_FILES')
OTHERS = {'cassie.xml': 10, '2f85.xml': 1, 'cassie_v2.sdf': 10}  # drives
LOCKED = {'disney_like': 'ankle_universal_2_rev0'}  # as the first import says
ALWAYS = ('5bar_linkage', 'cassie_like', 'wl16_like')

beside = pytest.mark.skipif(not GEPETTO.is_dir(), reason=f'{GEPETTO} is not there')


@beside
@pytest.mark.parametrize('name', DRIVEN if ALL else ALWAYS)
def test_a_published_robot(tmp_path: pathlib.Path, name: str) -> None:
    check(tmp_path, GEPETTO / name / 'robot.yaml', DRIVEN[name], 30 if ALL else 5)


@pytest.mark.skipif(FILES is None, reason='MASTICATOR_UPSTREAM_FILES names no folder')
@pytest.mark.parametrize('file', OTHERS)
def test_a_robot_of_another_collection(tmp_path: pathlib.Path, file: str) -> None:
    check(tmp_path, pathlib.Path(str(FILES)) / file, OTHERS[file], 30)


def check(folder: pathlib.Path, source: pathlib.Path, drives: int, states: int) -> None:
    """Import a robot and compare its efforts at random states with a projection by Pinocchio."""
    samples.pinocchio()
    from oracles.pinocchio_oracle import PinocchioOracle

    lock = LOCKED.get(source.parent.name)
    if lock is not None:
        assert f'--lock {lock}' in import_robot(source, 'robot').notes[-1]
    made = import_robot(source, 'robot', locked=[lock] if lock else [])
    (folder / 'robot.urdf').write_text(made.urdf, encoding='utf-8')
    (folder / 'robot.yaml').write_text(made.yaml, encoding='utf-8')
    ours, oracle = (
        Mechanism.load(str(folder / 'robot.yaml')),
        PinocchioOracle(folder / 'robot.yaml'),
    )
    assert len(ours.independent) == drives == ours.actuation_rank()
    rng, slides = np.random.default_rng(3), [unit == 'N' for unit in ours.effort_units]
    done = 0
    while done < states:
        y = ours.home.y + rng.uniform(-0.05, 0.05, len(slides)) * np.where(slides, 0.1, 1.0)
        state = (y, *rng.normal(size=(2, len(y))), rng.normal(size=6))
        try:
            effort = ours.feedforward(*state)
        except ReachError:  # half of the states of disney_like, whose home is a stretched leg
            assert lock is not None
            with pytest.raises(ValueError, match='cannot be followed|singular'):
                oracle.solve(y)
            continue
        done += 1
        assert effort.closure_residual < 1e-9
        expected = oracle.inverse_dynamics(*state).actuated
        assert effort.actuated == pytest.approx(expected, rel=1e-8, abs=1e-8)


@beside
@pytest.mark.skipif(not ALL, reason='slow; set MASTICATOR_UPSTREAM=1')
@pytest.mark.parametrize('name', ['kangaroo_like', 'kangaroo_like_2legs'])
def test_loops_that_were_never_found_closed(name: str) -> None:
    with pytest.raises(DescriptionError, match='no pose was found that closes all; open stay'):
        import_robot(GEPETTO / name / 'robot.yaml', name)
