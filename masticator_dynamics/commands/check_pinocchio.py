# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator check --pinocchio``: a second opinion on a mechanism, in ten random states."""

from __future__ import annotations

from collections.abc import Iterator

import click
import numpy as np

from masticator_dynamics.commands.terminal import Row, section
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.evaluation.failures import pose_text
from masticator_dynamics.evaluation.results import Effort
from masticator_dynamics.interchange.second_opinion import Disagreement, SecondOpinion
from masticator_dynamics.mechanism import Mechanism

STATES = 10
LARGEST = Disagreement(gap=1e-8, velocity=1e-8, acceleration=1e-5, effort=1e-7)


def second_opinion(mechanism: Mechanism) -> None:
    """Print what Pinocchio says; exit 1 where it differs."""
    opinion = SecondOpinion(mechanism.description, mechanism.tree_joints)
    efforts = [mechanism.feedforward(*state) for state in random_states(mechanism)]
    found = [opinion.of(effort, mechanism.driving) for effort in efforts]
    rows: list[Row] = [('', 'gap m, rad', 'opens by', 'accelerates by', 'efforts by', 'verdict')]
    rows += [
        (str(k), *(f'{x:.1e}' for x in one), ', '.join(_exceeded(one)) or 'agrees')
        for k, one in enumerate(found, 1)
    ]
    click.echo('\n' + section(f'Pinocchio, {len(found)} random states', rows))
    for effort, one in zip(efforts, found, strict=True):
        if _exceeded(one):
            click.echo(_sentence(mechanism, effort, one), err=True)
            raise click.exceptions.Exit(1)


def random_states(mechanism: Mechanism) -> Iterator[tuple[FloatArray, ...]]:
    """States anywhere around home: positions, velocities, accelerations and a wrench."""
    rng, home = np.random.default_rng(0), mechanism.home.y
    rows = mechanism.independent_rows
    slides = np.array([mechanism.structure.tree.joints[j].type == 'prismatic' for j in rows])
    span = np.where(slides, mechanism.structure.extent(), 1.0)
    half = 0.5 * (mechanism.limits.upper[rows] - mechanism.limits.lower[rows])
    span = np.where(np.isfinite(half) & (half > 0.0), np.minimum(half, span), span)
    for _ in range(STATES):
        direction = rng.uniform(-1.0, 1.0, len(home)) * span
        tries = home + np.geomspace(1.0, 1e-4, 30)[:, None] * direction
        y = tries[np.argmax(mechanism.attempt(tries).closed)]
        y_dot, y_ddot = rng.normal(size=(2, len(home))) * span
        yield y, y_dot, y_ddot, rng.normal(size=6)


def _exceeded(found: Disagreement) -> list[str]:
    """Names of what is beyond rounding."""
    pairs = zip(found._fields, found, LARGEST, strict=True)
    return [name for name, x, most in pairs if not x <= most]


def _sentence(mechanism: Mechanism, effort: Effort, found: Disagreement) -> str:
    amounts = [f'{name} by {getattr(found, name):.2g}' for name in _exceeded(found)]
    pose = pose_text(mechanism, effort.y)
    return f'{mechanism.name}: Pinocchio differs in {", ".join(amounts)} at {pose}'
