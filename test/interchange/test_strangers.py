# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Small robots of others that were once read as other robots; they are not part of the project."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
import samples

from interchange.mujoco_oracle import assert_as_in_mujoco
from masticator_dynamics import Mechanism
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.interchange.imported_description import import_robot

STRANGERS = samples.ROOT.parent / 'shared' / 'robots' / 'strangers'
pytestmark = pytest.mark.skipif(not STRANGERS.is_dir(), reason=f'{STRANGERS} is not there')
# Efforts at home, at rest: virtual work by hand for the fingers, whose joints turn by 1, -1, -1, 1.
FINGERS = 0.1 * 9.80665 * 0.04
RIGHT = {
    's_onshape.sdf': (0.21057, -0.21057),
    'g_mimicplugin.urdf': (-FINGERS,),
    'g_r2param.urdf': (-FINGERS,),
}


@pytest.mark.parametrize('file', RIGHT)
def test_efforts_at_home(file: str) -> None:
    mechanism = Mechanism.load(STRANGERS / file)
    rest = np.zeros(len(mechanism.independent))
    effort = mechanism.feedforward(mechanism.home.y, rest, rest).actuated
    assert effort == pytest.approx(RIGHT[file], abs=5e-6)


@pytest.mark.parametrize(
    ('file', 'freedoms'), [('tt.xml', 1), ('boom_crank.xml', 2), ('fb_onshape.xml', 2)]
)
def test_efforts_of_mujoco(file: str, freedoms: int) -> None:
    assert_as_in_mujoco(STRANGERS / file, freedoms, reach=0.05)


def test_a_loop_that_a_plugin_closes() -> None:
    path: pathlib.Path = STRANGERS / 'n_plugin.urdf'
    with pytest.raises(DescriptionError, match=r'plugin loop: it names rod_l and rod_r'):
        import_robot(path, 'a')
