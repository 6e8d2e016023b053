# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction and constraint forces of the masticator while chewing (S1 Sec. 5.3, Figs. 10 to 13)."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import wrenches_on_platform
from masticator_dynamics.engine.evaluation.results import Effort
from papers.comparison.comparison_table import ComparisonTable, rows_of
from papers.comparison.goal_indices import GOALS, ConstraintForces
from papers.comparison.inputs import (
    CONDYLES,
    CRANKS,
    ChewingMotion,
    Inputs,
    built_in_motion,
)

FINER = 10  # times the samples, to check whether a largest value converges
SMALL = 5.0  # per cent, S1's limit under G3


def compare(inputs: Inputs) -> list[ComparisonTable]:
    """Contact forces, shares of friction, forces at S_i and moments at G_i."""
    motion = inputs.motion
    efforts = {name: _effort(inputs, motion, goal) for name, goal in GOALS.items()}
    return [
        _contacts(motion, efforts['G1']),
        _shares(inputs, efforts),
        *_constraints(inputs),
    ]


def _effort(inputs: Inputs, motion: ChewingMotion, goal: str) -> Effort:
    return inputs.masticator.feedforward_batch(*motion.states, goal=goal, friction=True)


def _contacts(motion: ChewingMotion, effort: Effort) -> ComparisonTable:
    force = effort.contact
    slip = np.linalg.norm(effort.contact_friction, axis=2)
    food = np.linalg.norm(motion.wrench[:, :3], axis=1)
    biting = food > 0.1 * food.max()
    rows = {
        'F_Z positive, % of the time': 100.0 * (force > 0.0).mean(axis=0),
        'F_Z positive while the food resists, % of the time':
            100.0 * (force[biting] > 0.0).mean(axis=0) if biting.any() else (None, None),
        'F_Z, largest magnitude, N': np.abs(force).max(axis=0),
        'F_Z, least, N': force.min(axis=0),
        'F_Z, greatest, N': force.max(axis=0),
        'friction, largest, N': slip.max(axis=0),
    }  # fmt: skip
    note = (
        'Positive: the lower surface of the socket carries the ball. The food counts as resisting '
        'while its force is more than a tenth of the largest.'
    )
    return ComparisonTable(
        f'Contact forces of the condyles along {motion.name}, goal G1', 'S1 Fig. 10',
        ('', 'left', 'right'), rows_of(rows), (note,),
    )  # fmt: skip


def friction_shares(inputs: Inputs, motion: ChewingMotion, effort: Effort) -> FloatArray:
    """P_i (N, 6) of S1 Eq. 75: the share of all friction together in each torque.

    The frictionless rest is the torques that rss6 needs with the same contact forces.

    Parameters
    ----------
    inputs : Inputs
        Mechanisms to compare.
    motion : ChewingMotion
        N rows.
    effort : Effort
        Effort of the masticator along the motion, with friction.
    """
    masticator = inputs.masticator
    normal = np.array(masticator.description.contacts[0].normal)  # (p1, 0, 1), of both condyles
    platform = inputs.having(motion).platform_motion
    wrench = motion.wrench.copy()
    for k, condyle in enumerate(CONDYLES):
        push = np.zeros((len(motion.time), 6))
        push[:, :3] = effort.contact[:, k, None] * normal
        wrench += wrenches_on_platform(masticator, effort.q, push, point=condyle)
    without = inputs.rss6.feedforward_batch(*platform, wrench)
    return np.asarray((effort.actuated - without.actuated) / effort.actuated)


def _shares(inputs: Inputs, efforts: dict[str, Effort]) -> ComparisonTable:
    motion = inputs.motion
    rows = {}
    for name, effort in efforts.items():
        share = np.abs(100.0 * friction_shares(inputs, motion, effort))
        rows[f'{name}, largest |P|'] = share.max(axis=0)
        rows[f'{name}, median |P|'] = np.median(share, axis=0)
        rows[f'{name}, within 5 %, % of the time'] = 100.0 * (share <= SMALL).mean(axis=0)
        changes = np.diff(np.sign(effort.actuated), axis=0) != 0.0
        rows[f'{name}, torque changes sign, times'] = changes.sum(axis=0)
    if motion.built_in:
        fine = built_in_motion(inputs.masticator, samples=FINER * len(motion.time))
        for name, goal in GOALS.items():
            share = 100.0 * friction_shares(inputs, fine, _effort(inputs, fine, goal))
            largest = np.abs(share).max(axis=0)
            rows[f'{name}, largest |P|, {FINER} times the samples'] = largest
    notes = (
        'P_i of Eq. 75: the torque due to all friction, of condyles and cranks, over the whole '
        'torque of the crank.',
        'Where a torque passes through zero, P_i has a pole: its largest value only shows how '
        'near to the zero a sample happens to be, and grows without bound with finer samples.',
    )
    return ComparisonTable(
        f'Shares of friction in the torques along {motion.name}, %', 'S1 Eq. 75, Fig. 11',
        ('', *CRANKS), rows_of(rows), notes,
    )  # fmt: skip


def _constraints(inputs: Inputs) -> list[ComparisonTable]:
    """Components of F_S, its difference from F_G, and moments M^C next to torques, under G1."""
    motion, masticator = inputs.motion, inputs.masticator
    found = [
        ConstraintForces.of(
            masticator,
            masticator.feedforward(*(s[k] for s in motion.states), goal=GOALS['G1'], friction=True),
        )
        for k in inputs.progress(range(len(motion.time)), 'constraint forces')
    ]
    feet = np.abs([one.foot for one in found]).max(axis=0)
    torques = np.abs([one.torque for one in found]).max(axis=0)
    foot, bearing, moment = (
        np.linalg.norm([getattr(one, field) for one in found], axis=2).max(axis=0)
        for field in ('foot', 'bearing', 'moment')
    )
    forces = {f'F_S along {axis}, largest': feet[:, k] for k, axis in enumerate('XYZ')}
    forces |= {'F_S, largest norm': foot, 'F_G, largest norm': bearing}
    moments = {
        'M^C, largest norm': 1e3 * moment,
        'torque, largest': 1e3 * torques,
        'torque / M^C': torques / moment,
    }
    columns = ('', *CRANKS)
    return [
        ComparisonTable(
            f'Forces at S_i along {motion.name}, goal G1, base axes, N', 'S1 Fig. 12',
            columns, rows_of(forces),
        ),
        ComparisonTable(
            f'Moments at G_i next to torques along {motion.name}, goal G1, mN m', 'S1 Fig. 13',
            columns, rows_of(moments),
        ),
    ]  # fmt: skip
