# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How the inputs that S1 does not publish affect its indices."""

from __future__ import annotations

import dataclasses
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any

import yaml

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.mechanism import Mechanism
from papers.comparison.coupling import FORWARD
from papers.comparison.goal_indices import GOALS, fitted_bite, mean_indices
from papers.comparison.inputs import Inputs, built_in_motion


def variants(inputs: Inputs, wanted: float) -> Iterator[tuple[str, FloatArray]]:
    """Yield the name of each variant and its indices (7,) under G1.

    Parameters
    ----------
    inputs : Inputs
        Inputs with the built-in motion.
    wanted : float
        The mean |F_S| of rss6, N, to which the bite force of each is scaled.
    """
    masticator, motion = inputs.masticator, inputs.motion
    forward = FORWARD - motion.y.mean(axis=0)
    fast = dataclasses.replace(motion, y_dot=2.0 * motion.y_dot, y_ddot=4.0 * motion.y_ddot)

    def built_in(mechanism: Mechanism = masticator, **options: Any) -> Inputs:
        made = built_in_motion(mechanism, samples=len(motion.time), **options)
        return inputs.having(made, mechanism)

    choices = {
        'bite force straight down': built_in(straight_down=True),
        'strokes half as long': inputs.having(fast),
        'bite point 5 mm further left': built_in(_with(masticator, molar_y='0.030')),
        'condyle points tx = 0, not -2.5 mm': built_in(_with(masticator, tx='0.0')),
        'jaw forward, mean pose of S0': built_in(shift=forward),
    }
    for name, varied in choices.items():
        fitted = fitted_bite(varied, wanted)
        if fitted is not None:
            scaled = fitted[1]
            states = scaled.motion.states
            yield name, mean_indices(scaled, scaled.masticator, states, GOALS['G1'])


def _with(masticator: Mechanism, **arguments: str) -> Mechanism:
    """The masticator with other xacro arguments for its URDF."""
    description = masticator.description
    content = yaml.safe_load(pathlib.Path(description.file).read_text(encoding='utf-8'))
    content['urdf'] = str(pathlib.Path(description.urdf_file).resolve())
    content['xacro_arguments'] = content.get('xacro_arguments', {}) | arguments
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, 'masticator.yaml')
        file.write_text(yaml.safe_dump(content), encoding='utf-8')
        return Mechanism.load(file)
