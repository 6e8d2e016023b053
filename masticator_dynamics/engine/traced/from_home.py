# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closing all loops from home in as many steps as it takes, for rows that ``closing.py`` leaves.

Block by block, Newton's iteration goes on until it converges or cannot continue. A result that may
have jumped to another branch (a determinant of the other sign, a joint turned far) is not trusted:
the pose is then approached from home in small steps, along which the branch cannot change
unnoticed. It starts from home whatever was computed before. Recorded, this becomes loops of machine
code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.status import (
    CLOSED,
    OTHER_BRANCH,
    OUT_OF_REACH,
    SINGULAR,
    RefusedError,
)
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.engine.traced.bodies import Plan, TracedJoint
from masticator_dynamics.engine.traced.closed_motion import Evaluation
from masticator_dynamics.engine.traced.closing import (
    FAR_FROM_HOME,
    SMALLEST_SINE,
    STEP_TOLERANCE,
    Closing,
    largest_step,
)
from masticator_dynamics.engine.traced.control_flow import graph_of, repeat
from masticator_dynamics.engine.traced.numbers import (
    Number,
    absolute,
    greater,
    lesser,
    select,
    total,
)
from masticator_dynamics.engine.traced.vectors import Vector

ITERATIONS = 60
NEGLIGIBLE_GAP = 1e-15  # m; rounding in coordinates of a metre is 1e-16
LARGEST_GAP = 1e300  # m; beyond it, and for NaN, no step leads back
TRIALS, FINER = 3, 8.0  # 1 step, 8 and 64 from home
MOST_STEPS = 64
LARGEST_JUMP = 2.0  # in units of the largest Newton step, per step from home
_NOTHING_FAILED = (float(CLOSED), -1.0, 0.0)  # status, block and amount


class FromHome:
    """The loops at independent positions.

    Parameters
    ----------
    y : vector
        The positions.

    Attributes
    ----------
    status : number
        ``CLOSED``, or of the direct trial: ``OUT_OF_REACH``, or ``OTHER_BRANCH`` where every path
        from home meets a singularity.
    block : number
        The one that failed, counted from 1.
    amount : number
        Its smallest gap, m.
    positions : list
        Of all joints (n_q,); valid where the loops are closed.
    """

    def __init__(self, description: MechanismDescription, structure: Structure, y: Vector):
        self._plan, self._y = Plan(description, structure, share=False), y
        home = structure.home.tolist()
        self._independent = [self._plan.joint(j)[0] for j in self._plan.independent]
        self._home = [home[j] for j in self._plan.independent]
        self._unknowns = [joint for stage in self._plan.stages for joint in stage.unknowns]
        self._unknown_home = [joint.home for joint in self._unknowns]
        self._graph = graph_of(y)
        start = [1.0, 0.0, *_NOTHING_FAILED, *self._unknown_home]
        _, closed, *report = repeat(self._graph, TRIALS, start, self._trial)
        whole = zip(_NOTHING_FAILED, report[:3], strict=True)
        self.status, self.block, self.amount = (select(closed, x, failed) for x, failed in whole)
        self.positions: list[Any] = home
        for joint, position in zip(self._unknowns, report[3:], strict=True):
            self.positions[joint.joints[0]] = position
        for j, position in zip(self._plan.independent, y, strict=True):
            self.positions[j] = position

    def _trial(self, state: list[Any]) -> tuple[Any, list[Any]]:
        """Go from home in as many steps as the state says; keep what failed in the first trial."""
        steps, _, *first = state
        start = [0.0, 1.0, *_NOTHING_FAILED, *self._unknown_home]

        def step(state: list[Any]) -> tuple[Any, list[Any]]:
            done, before = state[0] + 1.0, state[5:]
            closed, *after = self._step(steps, done, before)
            return select(closed, steps - done, 0.0), [done, closed, *after]

        _, closed, *outcome = repeat(self._graph, MOST_STEPS, start, step)
        direct = 1.5 - steps
        report = [select(direct, new, old) for new, old in zip(outcome[:3], first[:3], strict=True)]
        return select(closed, 0.0, 1.0), [steps * FINER, closed, *report, *outcome[3:]]

    def _step(self, steps: Any, done: Any, before: Vector) -> list[Any]:
        """Whether all is closed after a step, what failed, and the positions."""
        y = [h + (x - h) * done / steps for x, h in zip(self._y, self._home, strict=True)]
        along_a_path = steps - 1.5
        near_enough = LARGEST_JUMP - self._jump(self._independent, self._y, self._home, steps)
        closed: Any = select(along_a_path, near_enough, 1.0)
        report: list[Any] = [*_NOTHING_FAILED]
        after: list[Any] = []
        for b, stage in enumerate(self._plan.stages):
            closing = Closing(stage, self._plan, y)
            if not stage.blocks:
                continue
            first = len(after)
            last = first + len(stage.unknowns)
            status, amount = self._close(closing, before[first:last], closed, steps)
            after += [joint.position for joint in stage.unknowns]
            news = (status, float(b), amount)
            report = [select(closed, new, old) for new, old in zip(news, report, strict=True)]
            closed = select(closed, 0.5 - status, 0.0)
        jump = self._jump(self._unknowns, after, before)
        closed = select(closed, select(along_a_path, LARGEST_JUMP - jump, 1.0), 0.0)
        return [closed, *report, *after]

    def _jump(
        self, joints: Sequence[TracedJoint], after: Vector, before: Vector, steps: Any = 1.0
    ) -> Any:
        """How far joints go in each of some steps, over the largest Newton step."""
        largest: Any = 0.0
        for joint, new, old in zip(joints, after, before, strict=True):
            far = absolute(new - old) / steps * (1.0 / largest_step(joint, self._plan))
            largest = greater(far, largest)
        return largest

    def _close(self, closing: Closing, start: Vector, so_far: Any, steps: Any) -> list[Any]:
        """Close a block, if all are closed so far; return its status and amount."""
        closing.put(start)
        by_formula = all(closing.stage.limbs)
        if by_formula:
            closing.guess_limb()
        unknowns = closing.stage.unknowns
        start = [joint.position for joint in unknowns]

        def step(state: list[Any]) -> tuple[Any, list[Any]]:
            last, smallest, *_ = state[:5]
            closing.put(state[5:])
            determinant, moved, longest = closing.newton_step()
            gaps = [absolute(equation.gap) for equation in closing.stage.equations]
            gap: Any = 0.0
            for equation_gap in gaps:
                gap = greater(equation_gap, gap)
            finite = LARGEST_GAP - total(gaps)
            arrived = select(finite, select(last, 1.0, NEGLIGIBLE_GAP - gap), 0.0)
            far = select(so_far, select(finite, absolute(determinant), 0.0), 0.0)
            goes_on = select(arrived, 0.0, far)
            margin = STEP_TOLERANCE - longest
            # A last short step: near a singularity a gap of rounding alone costs six digits.
            moves = select(arrived, select(far, margin, 0.0), far)
            after = [select(moves, x, old) for x, old in zip(moved, state[5:], strict=True)]
            smallest = select(finite, lesser(gap, smallest), smallest)
            return goes_on, [
                margin,
                smallest,
                arrived,
                closing.orientation(determinant),
                gap,
                *after,
            ]

        state = [0.0, math.inf, 0.0, 0.0, 0.0, *start]
        _, smallest, arrived, oriented, gap, *closed = repeat(self._graph, ITERATIONS, state, step)
        closing.put(closed)
        closing.place()
        near: Any = 1.0
        for joint, position in zip(unknowns, closed, strict=True):
            if not (joint.slides or by_formula):
                near = select(FAR_FROM_HOME - absolute(position - joint.home), near, 0.0)
        certain = select(oriented, select(steps - 1.5, 1.0, near), 0.0)
        status = select(certain, float(CLOSED), float(OTHER_BRANCH))
        status = select(arrived, status, float(OUT_OF_REACH))
        return [status, select(arrived, gap, smallest)]


class ClosedFromHome(Evaluation):
    """Loops closed from home, and the motion; no forces.

    Parameters
    ----------
    inputs : sequence, length 3 n_y + 6
        y, y_dot, y_ddot, and a wrench, which does not matter.

    Attributes
    ----------
    report : list of number
        Status, block and amount, of loops that do not close or are singular.
    rows : int
        Of the constraints.

    Raises
    ------
    RefusedError
        On floats, if loops do not close or are singular.
    """

    def __init__(self, description: MechanismDescription, structure: Structure, inputs: Vector):
        count = len(description.independent)
        y, y_dot, y_ddot = (inputs[i * count : (i + 1) * count] for i in range(3))
        loops = FromHome(description, structure, y)
        self.report = [loops.status, loops.block, loops.amount]
        self.rows = sum(c.size for c in structure.constraints)
        if not isinstance(loops.status, Number) and loops.status != CLOSED:
            raise RefusedError(int(loops.status), int(loops.block), float(loops.amount))
        super().__init__(
            description, structure, inputs, (y, y_dot, y_ddot), inputs[3 * count :], (),
            share=False, positions=loops.positions,
        )  # fmt: skip
        for b, closing in enumerate(self.closings):
            if not closing.stage.blocks:
                continue
            # The first block with fewer than about ten correct digits is reported.
            sine = closing.regularity()
            fine = select(self.report[0], 1.0, select(sine - SMALLEST_SINE, 1.0, 0.0))
            singular = [float(SINGULAR), float(b), sine]
            reports = zip(self.report, singular, strict=True)
            self.report = [select(fine, x, new) for x, new in reports]

    def valid(self) -> Any:
        """1 where this is the answer or the loops do not close; 0 where floats must decide."""
        valid = select(self.report[0], 1.0, select(self._size_condition(), 1.0, 0.0))
        for condition in self.angle_conditions():
            valid = select(condition, valid, 0.0)
        return valid
