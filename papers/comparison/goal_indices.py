# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""S1's seven performance indices (Eqs. 73, 74), computed along a motion."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.results import Effort
from masticator_dynamics.mechanism import Mechanism
from papers.comparison.inputs import Inputs

TAU, F_S, F_Z, M_C, TAU_F, F_G, F_T = range(7)
GOALS = {'G1': 'torque', 'G2': 'joint-force', 'G3': 'contact-force'}  # S1 Eqs. 52 to 54
RSS6 = 'rss6'


def all_indices(inputs: Inputs) -> dict[str, FloatArray]:
    """Indices (7,) of the masticator for G1, G2 and G3, and of rss6, with friction."""
    motion = inputs.motion
    found = {
        name: mean_indices(inputs, inputs.masticator, motion.states, goal)
        for name, goal in GOALS.items()
    }
    states = (*inputs.platform_motion, motion.wrench)
    return found | {RSS6: mean_indices(inputs, inputs.rss6, states, 'torque')}


def mean_indices(
    inputs: Inputs, mechanism: Mechanism, states: tuple[FloatArray, ...], goal: str
) -> FloatArray:
    """Means (7,) of the norms over the samples.

    Parameters
    ----------
    states : tuple of arrays
        y, y_dot, y_ddot, each (N, n_y), and the wrench (N, 6).
    """
    rows = [
        norms(mechanism, mechanism.feedforward(*(s[k] for s in states), goal=goal, friction=True))
        for k in inputs.progress(range(len(states[0])), f'{mechanism.name}, {goal}')
    ]
    return np.asarray(np.mean(rows, axis=0))


@dataclasses.dataclass(frozen=True)
class ConstraintForces:
    """Forces of one sample, N and N m, base axes; rows are cranks 1 to 6.

    Attributes
    ----------
    torque : array, shape (6,)
        Torques of the cranks.
    foot : array, shape (6, 3)
        F_S, on the couplers at S_i.
    bearing : array, shape (6, 3)
        F_G, on the cranks at G_i.
    moment : array, shape (6, 3)
        M^C, on the cranks at G_i, across their shafts.
    """

    torque: FloatArray
    foot: FloatArray
    bearing: FloatArray
    moment: FloatArray

    @classmethod
    def of(cls, mechanism: Mechanism, effort: Effort) -> ConstraintForces:
        """Forces of a single effort."""
        reaction = effort.joint_reaction
        feet = mechanism.tree_indices(mechanism.description.force_joints)
        cranks = mechanism.tree_indices(mechanism.actuated)
        axes = mechanism.structure.tree.poses(effort.q).rotations[cranks, :, 2]
        moments = reaction[cranks, 3:]
        across = moments - axes * np.sum(axes * moments, axis=1)[:, None]
        return cls(effort.actuated, reaction[feet, :3], reaction[cranks, :3], across)


def norms(mechanism: Mechanism, effort: Effort) -> FloatArray:
    """Norms (7,) of one sample, each over all cranks, limbs or contacts together, N and N m.

    Torques tau, forces F_S at the couplers' feet, contact multipliers F_Z, constraint moments M^C
    of the cranks, friction torques tau_f, forces F_G of the cranks' bearings, and friction forces
    f_T of the condyles.
    """
    forces = ConstraintForces.of(mechanism, effort)
    vectors = (
        forces.torque, forces.foot, effort.contact, forces.moment, effort.friction,
        forces.bearing, effort.contact_friction,
    )  # fmt: skip
    return np.array([np.linalg.norm(vector) for vector in vectors])


def fitted_bite(inputs: Inputs, wanted: float) -> tuple[float, Inputs] | None:
    """Scale of the bite force that gives rss6 a mean |F_S| (N), and inputs with that bite force.

    None if no scale does: there is no bite force, or the motion alone gives more.
    """
    from scipy.optimize import brentq  # only here: it takes long to import

    motion = inputs.motion
    if not motion.wrench.any():
        return None
    # Forces at S_i are affine in the wrench: no friction acts between the two.
    without, with_bite = _feet_of_rss6(inputs, 0.0), _feet_of_rss6(inputs, 1.0)

    def excess(scale: float) -> float:
        mixed = without + scale * (with_bite - without)
        return float(np.mean(np.linalg.norm(mixed, axis=(1, 2)))) - wanted

    if excess(0.0) > 0.0:
        return None
    high = 1.0
    while excess(high) < 0.0:
        high *= 2.0
    scale = float(brentq(excess, 0.0, high, xtol=1e-12))
    return scale, inputs.having(dataclasses.replace(motion, wrench=scale * motion.wrench))


def _feet_of_rss6(inputs: Inputs, scale: float) -> FloatArray:
    """Forces (N, 6, 3) at the couplers' feet of rss6, base axes."""
    free, platform = inputs.rss6, inputs.platform_motion
    feet = free.tree_indices(free.description.force_joints)
    states = (*platform, scale * inputs.motion.wrench)
    rows = [
        free.feedforward(*(s[k] for s in states)).joint_reaction[feet, :3]
        for k in inputs.progress(range(len(platform.y)), 'bite force')
    ]
    return np.array(rows)
