# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The papers' own methods next to the engine: agreement and time (S0 Sec. 7, S1 Sec. 5)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.mechanism import Mechanism
from papers.comparison.comparison_table import ComparisonTable
from papers.comparison.inputs import ChewingMotion, Inputs, PlatformMotion
from papers.formulations import (
    FORMULATIONS,
    NewtonEulerAngles,
    NewtonEulerParameters,
)
from papers.formulations.euler_angles import motion_by_angles
from papers.formulations.euler_parameters import motion_by_parameters

# Timed in addition to FORMULATIONS: the engine; Newton-Euler from a motion given in Euler
# parameters and in Euler angles, without conversion or checks of input; and the end effector's
# motion alone in both, without the dynamics.
ENGINE, IN_PARAMETERS, IN_ANGLES = 'engine', 'in parameters', 'in angles'
MOTION_IN_PARAMETERS, MOTION_IN_ANGLES = 'motion in parameters', 'motion in angles'
GIVEN = (IN_PARAMETERS, IN_ANGLES, MOTION_IN_PARAMETERS, MOTION_IN_ANGLES)
METHODS = (ENGINE, *FORMULATIONS, *GIVEN)
QUANTITIES = ('torque', 'contact', 'pin')


def compare(inputs: Inputs) -> list[ComparisonTable]:
    """Agreement and time of all formulations on one motion, and the papers' claims about time."""
    motion = inputs.motion
    constrained = FormulationFigures(inputs.masticator, motion, motion.wrench)
    free = FormulationFigures(inputs.rss6, inputs.platform_motion, motion.wrench)
    # In turns, so that other load on the machine affects all methods alike.
    for k in inputs.progress(range(len(motion.time)), 'formulations'):
        constrained.evaluate(k)
        free.evaluate(k)
    return [
        _agreement(f'masticator along {motion.name}', constrained),
        _agreement(f'rss6, the same motion of the mandible: {motion.name}', free),
        _claims(constrained, free),
    ]


class FormulationFigures:
    """All methods on one mechanism along a motion, sample by sample.

    Parameters
    ----------
    mechanism : Mechanism
    motion : ChewingMotion or PlatformMotion
        The samples.
    wrench : array, shape (N, 6)
        On the platform, N and N m, base axes.

    Attributes
    ----------
    seconds : dict
        Times (N,) of all samples, s, by method.
    differences : dict
        Largest difference from the engine over the largest value of the sample, by formulation
        and quantity; absent where the method does not give the quantity.
    twist : float
        Largest difference between the rates of twist computed with Euler parameters and with
        Euler angles, over the largest rate.
    multipliers : float
        Largest difference between the torques of Hessian matrices and of Lagrange's equations,
        over the largest torque.
    """

    def __init__(
        self, mechanism: Mechanism, motion: ChewingMotion | PlatformMotion, wrench: FloatArray
    ):
        self.motion, self.wrench = motion, wrench
        description = mechanism.description
        self.parameters = NewtonEulerParameters(description)
        sockets = self.parameters.geometry.sockets
        self.calls: dict[str, Callable[..., Any]] = {
            ENGINE: mechanism.feedforward,
            **{key: kind(description).inverse_dynamics for key, kind in FORMULATIONS.items()},
            IN_PARAMETERS: self.parameters.of_coordinates,
            IN_ANGLES: NewtonEulerAngles(description).of_coordinates,
            MOTION_IN_PARAMETERS: functools.partial(motion_by_parameters, sockets),
            MOTION_IN_ANGLES: functools.partial(motion_by_angles, sockets),
        }
        self.pins = mechanism.tree_indices(description.force_joints)
        self.seconds = {key: np.empty(len(motion.y)) for key in METHODS}
        self.differences: dict[tuple[str, str], float] = {}
        self.twist = self.multipliers = 0.0

    def evaluate(self, k: int) -> None:
        """Run every method on a sample."""
        motion = self.motion
        row = (motion.y[k], motion.y_dot[k], motion.y_ddot[k], self.wrench[k])
        own = self.parameters.coordinates(*row[:3])
        arguments: dict[str, tuple[FloatArray, ...]] = dict.fromkeys(METHODS, row)
        arguments |= {IN_PARAMETERS: (*own, row[3])}
        arguments |= {MOTION_IN_PARAMETERS: own, MOTION_IN_ANGLES: row[:3]}
        found = {}
        for key in METHODS:
            found[key], self.seconds[key][k] = _timed(self.calls[key], arguments[key])
        effort = found[ENGINE]
        expected = (effort.actuated, effort.contact, effort.joint_reaction[self.pins, :3])
        for key in FORMULATIONS:
            given = (found[key].actuated, found[key].contact, found[key].pin_force)
            for name, ours, theirs in zip(QUANTITIES, given, expected, strict=True):
                if ours is not None and len(ours):
                    known = self.differences.get((key, name), 0.0)
                    self.differences[key, name] = max(known, _difference(ours, theirs))
        rates = found[MOTION_IN_PARAMETERS].t_dot, found[MOTION_IN_ANGLES].t_dot
        self.twist = max(self.twist, _difference(*rates))
        pair = found['hessian'].actuated, found['lagrange'].actuated
        self.multipliers = max(self.multipliers, _difference(*pair))

    def median(self, method: str) -> float:
        """Median time per sample, s."""
        return float(np.median(self.seconds[method]))


def _timed(call: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float]:
    """Result and time (s) of the second of two calls: the first fills the caches again."""
    call(*arguments)
    start = perf_counter()
    result = call(*arguments)
    return result, perf_counter() - start


def _ratio(above: FloatArray, below: FloatArray) -> float:
    """Median of the ratios of two times, sample by sample."""
    return float(np.median(above / below))


def _difference(ours: FloatArray, theirs: FloatArray) -> float:
    """Largest difference over the largest value."""
    largest = float(np.abs(theirs).max())
    return float(np.abs(ours - theirs).max()) / max(largest, 1e-12)


def _agreement(title: str, figures: FormulationFigures) -> ComparisonTable:
    columns = (
        '', 'source', 'torques', 'contact forces', 'forces at S_i', 'median, µs', 'times the engine'
    )  # fmt: skip

    def time(method: str) -> tuple[float, float]:
        ratio = _ratio(figures.seconds[method], figures.seconds[ENGINE])
        return 1e6 * figures.median(method), ratio

    rows: list[tuple[str | float | None, ...]] = [
        ('engine', 'Mechanism.feedforward', None, None, None, *time(ENGINE))
    ]
    for key, kind in FORMULATIONS.items():
        differences = (figures.differences.get((key, name)) for name in QUANTITIES)
        rows.append((kind.title, kind.source, *differences, *time(key)))
        if kind is NewtonEulerParameters:
            rows.append(('  motion given in them', '', None, None, None, *time(IN_PARAMETERS)))
    notes = (
        'Torques, contact forces, forces at S_i: largest difference from the engine over the '
        "largest value of the sample. '-': the method does not give them.",
        'The formulations are written in numpy, for clarity rather than speed: most of their time '
        'is the overhead of numpy on small arrays. The engine is compiled, and also checks '
        'branches, closes all loops and computes residuals.',
    )
    return ComparisonTable(title, 'S0 Secs. 4-5, S1 Secs. 3-4', columns, tuple(rows), notes, 3)


def _claims(constrained: FormulationFigures, free: FormulationFigures) -> ComparisonTable:
    def both(above: str, below: str) -> tuple[float, float]:
        return (
            _ratio(constrained.seconds[above], constrained.seconds[below]),
            _ratio(free.seconds[above], free.seconds[below]),
        )

    def of_constraint(method: str) -> float:
        return _ratio(constrained.seconds[method], free.seconds[method])

    columns = ('', 'source', 'masticator, printed', 'masticator', 'rss6, printed', 'rss6')
    rows: list[tuple[str | float | None, ...]] = []

    def add(
        name: str, source: str, printed: tuple[str | None, str | None], ours: tuple[float, float]
    ) -> None:
        rows.append((name, source, printed[0], ours[0], printed[1], ours[1]))

    hessian = ('27.87 s / 21.79 s = 1.279', '2.64 s / 2.44 s = 1.082')
    add('time, Hessian / Liang', 'S0 Sec. 7', hessian, both('hessian', 'liang'))
    chart = both(IN_PARAMETERS, IN_ANGLES)
    add('time, Euler parameters / angles', 'S1 Sec. 5', ('about 0.23', 'about 0.60'), chart)
    add('  motion given in angles for both', '', (None, None),
        both('euler-parameters', 'euler-angles'))  # fmt: skip
    add(
        "  of the end effector's motion alone",
        '',
        (None, None),
        both(MOTION_IN_PARAMETERS, MOTION_IN_ANGLES),
    )
    add("time of the end effector's motion / all, angles", '', (None, None),
        both(MOTION_IN_ANGLES, IN_ANGLES))  # fmt: skip
    rows += [
        ('time, masticator / rss6, Hessian', 'S0 Sec. 7.3',
         '10.56 ("9.56 times larger")', of_constraint('hessian'), None, None),
        ('time, masticator / rss6, Liang', 'S0 Sec. 7.3',
         '8.93 ("7.93 times larger")', of_constraint('liang'), None, None),
        ('time, masticator / rss6, Euler angles', 'S1 Fig. 14',
         '"sharply raise"', of_constraint(IN_ANGLES), None, None),
        ('time, masticator / rss6, Euler parameters', 'S1 Fig. 14',
         '"sharply raise"', of_constraint(IN_PARAMETERS), None, None),
    ]  # fmt: skip
    tiny = (constrained.multipliers, free.multipliers)
    add('torques, Hessian and Lagrange', 'S0 Fig. 6', ('"very tiny"', None), tiny)
    add('rate of twist, Euler parameters and angles', 'S1 Sec. 5.2',
        ('"cannot be realised"', 'equal'), (constrained.twist, free.twist))  # fmt: skip
    return ComparisonTable(
        "The papers' claims", 'S0 Sec. 7, S1 Secs. 5.2-5.4', columns, tuple(rows), _NOTES, 3
    )


_NOTES = (
    'Times are medians over the samples, for one machine and one implementation; they say little '
    "about the methods. The authors used MATLAB, and S1's time for the masticator includes a "
    'general optimiser (SQP), which rss6 does not need; here contact forces are a least-squares '
    'problem.',
    'S0 calls 27.87 s "21.82 % slower" than 21.79 s; it is 27.9 % slower.',
    'S0 explains the factor between its mechanisms by the expressions for Z and gamma and by the '
    'pseudo-inverse. With differentiation by the chain rule, and with two coordinates fewer, '
    'contacts do not multiply the time.',
    "Euler parameters can save time only in the end effector's motion, which is a small part of "
    'the dynamics: cranks, couplers and the linear system are the same for both.',
    'The last two rows are largest differences over the largest value of a sample. S1 claims '
    'that, with the contacts, Euler parameters and angles cannot share twists; they do.',
)
