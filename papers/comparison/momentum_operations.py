# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Operations needed for the velocity matrices V of the 6-PUS mechanism (S2 Table 2)."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from papers.comparison.comparison_table import ComparisonTable
from papers.comparison.operation_count import COUNTED, Tracer, elements
from papers.formulations import (
    GeneralizedMomentum,
    LagrangeKoditschek,
    PusFormulation,
)
from papers.formulations.generalized_momentum import PartsOf
from papers.formulations.momentum_parts import (
    actuators,
    all_parts,
    platform,
    rotating_link,
    translating_link,
)
from papers.formulations.pus_geometry import PusGeometry

Count = collections.Counter[str]
Both = tuple[Count, Count]
METHODS: tuple[type[PusFormulation], ...] = (LagrangeKoditschek, GeneralizedMomentum)


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of S2 Table 2, and how many times it counts in the total.

    ``printed`` holds additions, multiplications and divisions: Lagrange's, then the momentum's.
    """

    name: str
    parts_of: PartsOf
    times: int
    printed: tuple[int, ...]


TABLE_2 = (
    Line('platform', lambda g, at: [platform(g, at)], 1, (310, 590, 0, 94, 226, 0)),
    Line('six actuators', lambda g, at: [actuators(g, at)], 1, (3028, 4403, 30, 724, 940, 18)),
    Line('translating link', lambda g, at: [translating_link(g, at, 0)], 6,
         (751, 1579, 6, 131, 279, 4)),
    Line('rotating link', lambda g, at: [rotating_link(g, at, 0)], 6,
         (2180, 3711, 7, 355, 664, 7)),
)  # fmt: skip
PRINTED_TOTAL = (20924, 36733, 108, 3734, 6824, 84)
COLUMNS = (
    '', 'Lagrange: add.', 'mult.', 'div.', 'momentum: add.', 'mult.', 'div.', 'Lagrange / momentum'
)  # fmt: skip
NOTES = (
    'Counted by running the formulations on symbols. Structural zeros and ones, changes of sign '
    'and operations between parameters are free; a subtraction is an addition; operations that no '
    'element of V needs do not count; roots, sines and cosines are left out, as in S2. Each line '
    'starts from x_P and its rate. P_i have z = 0 in {P}, I_P is diagonal, links are identical.',
    "'ours': operations on the same operands count once. 'each time': they count as often as the "
    "matrix expressions contain them. 'turning square': with I_L J_D = I_Lyy J_D, which holds for "
    'a link whose angular velocity is normal to it; I_Lxx and the derivative of I_L drop out, and '
    'V is the same.',
    'Both methods share one set of derivatives, by the product rule for matrices: the momentum '
    'needs them once, along the velocity, and Lagrange six times, along the coordinates, using '
    'the symmetry of the inertia matrix. S2 used Maple to differentiate, and does not say what '
    'was simplified or shared, nor in which form the Jacobians were given; its counts of '
    "additions and multiplications exceed even those of 'each time'.",
    'Divisions: ours are by the height of a link, two for J_C and two for each of its '
    'derivatives; division by a parameter counts as a multiplication. S2 also has those of the '
    'frames {L_i} (Eqs. 57-61), which our links do not need, and fewer for the derivatives.',
    "For actuators and links, both methods give the same matrix, so Lagrange's additional "
    'operations there are spent on derivatives that cancel.',
    "S2's totals are the sums of the lines, with those of links taken six times: nothing is "
    "shared between parts, and adding up their matrices is not counted. 'all at once' is V of the "
    'whole mechanism with both sharing and addition.',
)


def operations() -> ComparisonTable:
    """Printed counts next to ours."""
    rows: list[tuple[str | float | None, ...]] = []
    totals: dict[str, Both] = {}
    for line in TABLE_2:
        ours = {'ours': _count(line.parts_of), 'each time': _count(line.parts_of, share=False)}
        rows.append((f'{line.name}, printed', *map(str, line.printed), _ratio(line.printed)))
        for counting, both in ours.items():
            rows.append(_row(f'{line.name}, {counting}', both))
            known = totals.get(counting, (Count(), Count()))
            totals[counting] = (_plus(known[0], both[0], line), _plus(known[1], both[1], line))
    rows.append(_row('rotating link, turning square', _count(TABLE_2[-1].parts_of, square=True)))
    rows.append(('total, printed', *map(str, PRINTED_TOTAL), _ratio(PRINTED_TOTAL)))
    rows += [_row(f'total, {counting}', both) for counting, both in totals.items()]
    rows.append(_row('all at once, ours', _count(all_parts)))
    return ComparisonTable(
        'Arithmetic operations of the matrices V of Coriolis and centripetal terms',
        'S2 Table 2', COLUMNS, tuple(rows), NOTES, 3,
    )  # fmt: skip


def _count(parts_of: PartsOf, share: bool = True, square: bool = False) -> Both:
    """Operations for the parts' matrix V by Lagrange and by the generalized momentum."""
    found = []
    for method in METHODS:
        tracer = Tracer(share)
        matrix = method.velocity_matrix(
            symbolic_geometry(tracer, square),
            parts_of,
            tracer.variables('x', 6),
            tracer.variables('x_dot', 6),
        )
        found.append(tracer.count(elements(matrix)))
    return found[0], found[1]


def symbolic_geometry(tracer: Tracer, square: bool = False) -> PusGeometry:
    """Dimensions as symbols: S2's mechanism with six identical links.

    With ``square``, I_Lxx is I_Lyy, so that I_L is the same in all directions.
    """
    named: Callable[[str], Any] = tracer.parameter

    def alike(name: str) -> FloatArray:
        return np.array([named(name)] * 6)

    def level(name: str) -> FloatArray:
        return np.array([[named(f'{name}_x{i}'), named(f'{name}_y{i}'), 0.0] for i in range(6)])

    return PusGeometry(
        b=level('b'), p=level('p'), L=alike('L'), kappa=alike('kappa'), branch=np.ones(6),
        m_P=named('m_P'), I_P=np.diag([named('I_Pxx'), named('I_Pyy'), named('I_Pzz')]),
        m_A=alike('m_A'), m_rotor=np.zeros(6), m_L=alike('m_L'),
        I_Lxx=alike('I_Lyy' if square else 'I_Lxx'), I_Lyy=alike('I_Lyy'), g=np.zeros(3), names=(),
    )  # fmt: skip


def _plus(total: Count, one: Count, line: Line) -> Count:
    return total + Count({kind: number * line.times for kind, number in one.items()})


def _row(name: str, both: Both) -> tuple[str | float, ...]:
    numbers = tuple(method[kind] for method in both for kind in COUNTED)
    return (name, *numbers, _ratio(numbers))


def _ratio(numbers: tuple[int, ...]) -> float:
    """Total of Lagrange's operations over that of the momentum's."""
    return sum(numbers[:3]) / sum(numbers[3:])
