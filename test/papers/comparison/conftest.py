# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The shipped mechanisms, loaded once, on motions with few samples."""

from collections.abc import Callable

import numpy as np
import pytest
import samples

from papers.comparison.inputs import ChewingMotion, Inputs, built_in_motion

SAMPLES = 20


@pytest.fixture(scope='module')
def chewing() -> Inputs:
    """Built-in chewing, coarsely sampled."""
    return on(built_in_motion(samples.mechanism('masticator'), samples=SAMPLES))


@pytest.fixture
def moving() -> Callable[..., Inputs]:
    """Inputs with a motion given by poses alone, or also by derivatives and wrench."""

    def moving(y, y_dot=None, y_ddot=None, wrench=None) -> Inputs:
        y = np.atleast_2d(np.asarray(y, dtype=float))
        rest = np.zeros_like(y)
        load = np.zeros((len(y), 6)) if wrench is None else np.asarray(wrench)
        y_dot, y_ddot = (rest if x is None else np.asarray(x) for x in (y_dot, y_ddot))
        return on(ChewingMotion('a test', np.arange(len(y)) * 0.01, y, y_dot, y_ddot, load))

    return moving


def on(motion: ChewingMotion) -> Inputs:
    inputs = Inputs(lambda _: motion)
    inputs.masticator, inputs.rss6 = samples.mechanism('masticator'), samples.mechanism('rss6')
    return inputs
