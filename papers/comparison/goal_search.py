# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Cost of S1's own optimisation, a general SQP, for its three goals (S1 Sec. 4.5, Fig. 14)."""

from __future__ import annotations

import functools
import time as clock
from collections.abc import Callable

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.results import Effort
from masticator_dynamics.mechanism import Mechanism
from papers.comparison.comparison_table import Cell, ComparisonTable
from papers.comparison.goal_indices import F_S, F_Z, GOALS, TAU, norms
from papers.comparison.inputs import CONDYLES, POSE, ChewingMotion, Inputs

SAMPLES = 40  # of the motion, evenly spaced
INDEX = {'G1': TAU, 'G2': F_S, 'G3': F_Z}
# Of a search; the last relative to the minimum of the goal, or absolute if that is 0.
MEASURES = (
    'evaluations of Eq. 50 per sample', 'iterations per sample', 'CPU time per sample, ms',
    '|F_Z| found, mean, N', 'goal above the least, mean',
)  # fmt: skip


class Sample:
    """Eq. 50 at one instant: all torques as a function of the two contact forces, with friction.

    The contact and friction forces of the condyles act on the mandible of rss6, whose torques are
    then unique.

    Parameters
    ----------
    inputs : Inputs
    motion : ChewingMotion
    k : int
        Its sample.
    """

    def __init__(self, inputs: Inputs, motion: ChewingMotion, k: int):
        masticator = inputs.masticator
        solved = masticator.solve(motion.y[k], motion.y_dot[k], motion.y_ddot[k])
        columns = masticator.tree_indices(POSE)
        self.state = (solved.q[columns], solved.v[columns], solved.a[columns])
        self.food, self.rss6 = motion.wrench[k], inputs.rss6
        origin = masticator.frame_pose(solved, masticator.description.platform).position
        self.arms, self.speeds = [], []
        for name in CONDYLES:
            self.arms.append(masticator.frame_pose(solved, name).position - origin)
            self.speeds.append(masticator.frame_jacobian(solved, name)[:3] @ motion.y_dot[k])
        contact = masticator.description.contacts[0]
        self.normal = np.array(contact.normal)
        self.coulomb = contact.friction.coulomb * float(np.linalg.norm(self.normal))
        self.viscous = contact.friction.viscous

    def effort(self, contact: FloatArray) -> Effort:
        """Effort of rss6 with the food's force and contact forces F_Z (2,)."""
        wrench = self.food.copy()
        for arm, speed, force in zip(self.arms, self.speeds, contact, strict=True):
            size = float(np.linalg.norm(speed))
            slip = self.viscous + (self.coulomb * abs(force) / size if size > 0.0 else 0.0)
            push = self.normal * force - slip * speed
            wrench += np.append(push, np.cross(arm, push))
        return self.rss6.feedforward(*self.state, wrench, friction=True)


def compare(inputs: Inputs) -> list[ComparisonTable]:
    """Evaluations, iterations and time of the search, and what it finds, by goal."""
    motion = inputs.motion
    chosen = np.linspace(0, len(motion.time) - 1, min(SAMPLES, len(motion.time))).astype(int)
    means = []
    for name in GOALS:
        guess = np.zeros(8)  # as S1 starts; later samples start from the one before
        costs = []
        for k in inputs.progress(range(len(chosen)), f'search, {name}'):
            guess, cost = _search(inputs, motion, int(chosen[k]), name, guess)
            costs.append(cost)
        means.append([float(np.mean(column)) for column in zip(*costs, strict=True)])
    rows: tuple[tuple[Cell, ...], ...] = (
        *zip(MEASURES, *means, strict=True),
        ('engine, CPU time per sample, ms', *(_engine_time(inputs.masticator, motion, goal)
                                              for goal in GOALS.values())),
    )  # fmt: skip
    notes = (
        'S1 searches for eight unknowns, torques and F_Z, by a general SQP with Eq. 50 as a '
        'constraint, starting from the solution of the previous sample; here by SLSQP with '
        'gradients from differences. MATLAB counts differently, so only the order of the goals '
        'can be compared.',
        'At F_Z = 0, the norm of F_Z is least and has no gradient, and Eq. 50 has a kink: an SQP '
        'approaches this point in small steps, and the remainder is what S1 prints for G3 '
        '(5.28e-6 N).',
        'The engine solves the pieces between kinks exactly, without a search.',
    )
    return [
        ComparisonTable(
            f'Search for torques along {motion.name}, {len(chosen)} samples',
            'S1 Sec. 4.5, Fig. 14, Table 3', ('', *GOALS), rows, notes, digits=3,
        )
    ]  # fmt: skip


def _search(
    inputs: Inputs, motion: ChewingMotion, k: int, name: str, guess: FloatArray
) -> tuple[FloatArray, tuple[float, ...]]:
    """Solve one sample by SQP; returns the unknowns (8,), torques and then F_Z, and MEASURES."""
    from scipy.optimize import minimize  # only here: it takes long to import

    sample, count = Sample(inputs, motion, k), 0

    @functools.lru_cache(maxsize=64)
    def effort(left: float, right: float) -> Effort:
        nonlocal count
        count += 1
        return sample.effort(np.array([left, right]))

    feet = inputs.rss6.tree_indices(inputs.rss6.description.force_joints)
    goals: dict[str, Callable[[FloatArray], float]] = {
        'G1': lambda x: float(np.linalg.norm(x[:6])),
        'G2': lambda x: float(np.linalg.norm(effort(*x[6:]).joint_reaction[feet, :3])),
        'G3': lambda x: float(np.linalg.norm(x[6:])),
    }
    start = clock.process_time()
    answer = minimize(
        goals[name], guess, method='SLSQP', options={'maxiter': 400, 'ftol': 1e-9},
        constraints={'type': 'eq', 'fun': lambda x: x[:6] - effort(*x[6:]).actuated},
    )  # fmt: skip
    milliseconds = 1e3 * (clock.process_time() - start)
    best = inputs.masticator.feedforward(
        *(rows[k] for rows in motion.states), goal=GOALS[name], friction=True
    )
    least = float(norms(inputs.masticator, best)[INDEX[name]])
    contact = float(np.linalg.norm(answer.x[6:]))
    excess = (float(answer.fun) - least) / (least if least > 1e-9 else 1.0)
    return np.asarray(answer.x), (count, int(answer.nit), milliseconds, contact, excess)


def _engine_time(masticator: Mechanism, motion: ChewingMotion, goal: str) -> float:
    """CPU time of the engine per sample, ms, without the first call."""
    masticator.feedforward_batch(*motion.states, goal=goal, friction=True)
    start = clock.process_time()
    masticator.feedforward_batch(*motion.states, goal=goal, friction=True)
    return 1e3 * (clock.process_time() - start) / len(motion.time)
