# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of an evaluation by its inputs, along the closed loops.

Dependent joints follow the independent ones, so these are total derivatives. What is known of them
without differentiating, with W_k the twist of a body per unit velocity of coordinate k and w its
angular velocity: positions of dependent joints change with y by their tangent; velocities change
with y_dot, and accelerations with y_ddot, by W_k; and accelerations change with y_dot by twice as
much as velocities do with y, angular ones by w x W_k besides.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.bodies import Solved, TracedJoint
from masticator_dynamics.engine.traced.closed_motion import LARGEST_SQUARE, Evaluation
from masticator_dynamics.engine.traced.differentiation import (
    Rules,
    Slopes,
    add_rule,
    forward,
    reverse,
)
from masticator_dynamics.engine.traced.effort_distribution import Distribution, contact_signs
from masticator_dynamics.engine.traced.friction import (
    TracedContact,
    effort_lost,
    friction_of_actuators,
    gear_losses,
    losses,
    smoothness,
)
from masticator_dynamics.engine.traced.inverse_dynamics import InverseDynamics, LeastNorm
from masticator_dynamics.engine.traced.load_cases import LoadCases, bearing_forces
from masticator_dynamics.engine.traced.matrices import orthogonal, solve_triangle
from masticator_dynamics.engine.traced.numbers import (
    Number,
    Scalar,
    absolute,
    greatest,
    lane_pack,
    lane_pick,
    select,
)
from masticator_dynamics.engine.traced.sign_pattern import (
    PatternGoal,
    SignPattern,
    Terms,
    direction,
)
from masticator_dynamics.engine.traced.vectors import Vector

OPTIMAL, SMALL = 1e-12, 1e-18  # squares of a step from the optimum: over the efforts', and N^2


def loop_rules(run: Evaluation, inputs: int) -> Rules:
    """Derivatives of positions of joints that the loops determine, and of all bodies.

    Parameters
    ----------
    inputs : int
        How many there are, besides positions of all joints: y, y_dot, y_ddot, wrench.
    """
    rules = Rules()
    _solution_rules(run, rules)
    nothing: dict[int, Any] = dict.fromkeys(range(inputs), 0.0)
    for joint in (j for stage in run.plan.stages for j in stage.unknowns):
        _joint_rule(rules, joint, nothing | dict(enumerate(joint.tangent)))
    for body in (joint.body for joint in run.plan.joints):
        for x in range(3):
            linear = [velocity[x] for velocity, _ in body.twists]
            _of_result(rules, body.position[x], nothing | dict(enumerate(linear)))
            for i in range(3):
                turned = [
                    vec.cross(turn, vec.column(body.rotation, i))[x] for _, turn in body.twists
                ]
                _of_result(rules, body.rotation[x][i], nothing | dict(enumerate(turned)))
    return rules


def _solution_rules(run: Evaluation, rules: Rules) -> None:
    """How solutions of linear systems change with these: as solutions of the same systems."""
    for stage in run.plan.stages:
        for solved in stage.solved:
            on = [*solved.right, *vec.flat(solved.matrix)]
            for x, row in zip(solved.found, solved.inverse, strict=True):
                rules.add_implicit(x, on, functools.partial(_solution, solved, row))
    forces = run.forces
    rates = [motors.rates for motors in forces.motors]
    for freedoms, along, efforts_ in forces.chosen:
        multiples = solve_triangle(forces.triangle, along)

        def least_norm(i: int, slopes: Slopes, of: Any = (freedoms, multiples, efforts_)) -> Any:
            """Of B x with B^T B x = f, B = Q R: dB x + Q (R^-T (df - dB^T B x) - Q^T dB x)."""
            freedoms, multiples, efforts_ = of
            change = [[slopes(rate) for rate in row] for row in rates]
            moved = vec.apply(change, multiples)
            columns = zip(*change, strict=True)
            rest = [
                slopes(force) - forces.inner(column, efforts_)
                for force, column in zip(freedoms, columns, strict=True)
            ]
            along = vec.subtract(
                forces.onto_basis(rest), [forces.inner(b, moved) for b in forces.basis]
            )
            return moved[i] + vec.dot([b[i] for b in forces.basis], along)

        on = [*freedoms, *vec.flat(rates)]
        for i, x in enumerate(efforts_):
            rules.add_implicit(x, on, functools.partial(least_norm, i))


def _solution(solved: Solved, row: Vector, slopes: Slopes) -> Any:
    right = [
        slopes(b) - vec.dot([slopes(x) for x in line], solved.found)
        for b, line in zip(solved.right, solved.matrix, strict=True)
    ]
    return vec.dot(row, right)


def _joint_rule(rules: Rules, joint: TracedJoint, slopes: dict[int, Any]) -> None:
    """A rule for the position of a joint that a loop determines."""
    if joint.turn is not None:
        sine, cosine = joint.turn
        add_rule(rules, sine, {k: cosine * t for k, t in slopes.items()})
        add_rule(rules, cosine, {k: -(sine * t) for k, t in slopes.items()})
    else:
        add_rule(rules, joint.position, slopes)


def motion_rules(run: Evaluation, inputs: int) -> Rules:
    """The same, and derivatives of all rates by rates of the independent joints."""
    rules = loop_rules(run, inputs)
    freedoms = len(run.plan.independent)
    joints = [joint for joint in run.plan.joints if joint.independent is None]
    bodies = [joint.body for joint in run.plan.joints]
    moving = [(joint.velocity, joint.acceleration, joint.tangent) for joint in joints]
    moving += [
        (body.velocity[x], body.acceleration[x], [linear[x] for linear, _ in body.twists])
        for body in bodies
        for x in range(3)
    ]
    moving += [
        (first[x], second[x], [vec.cross(turn, swing.axis(i))[x] for _, turn in body.twists])
        for body, swing in run.forces.swings.items()
        for i, (first, second) in swing.rates.items()
        for x in range(3)
    ]
    turning = [
        (b.angular_velocity[x], b.angular_acceleration[x], [turn[x] for _, turn in b.twists])
        for b in bodies
        for x in range(3)
    ]
    bends = forward([v for v, _, _ in [*moving, *turning]], range(freedoms), rules)
    across = [
        [vec.cross(body.angular_velocity, turn)[x] for _, turn in body.twists]
        for body in bodies
        for x in range(3)
    ]
    across = [[0.0] * freedoms for _ in moving] + across
    triples = zip([*moving, *turning], bends, across, strict=True)
    for (velocity, acceleration, twist), bend, cross in triples:
        by_rate = {freedoms + k: 2.0 * bend[k] + cross[k] for k in range(freedoms)}
        add = {2 * freedoms + k: x for k, x in enumerate(twist)} | by_rate
        _of_result(rules, velocity, {freedoms + k: x for k, x in enumerate(twist)})
        _of_result(rules, acceleration, add)
    return rules


def _of_result(rules: Rules, x: Scalar, slopes: dict[int, Any]) -> None:
    """A rule for a number unless it is an input, whose derivatives need none."""
    if isinstance(x, Number) and x.graph.nodes[x.index][0] != 'input':
        add_rule(rules, x, slopes)


def with_derivatives(run: InverseDynamics, wanted: Sequence[Scalar], inputs: int) -> list[Scalar]:
    """Whether a row is valid, numbers, and their derivatives by all inputs, row by row."""
    rows = forward(wanted, range(inputs), motion_rules(run, inputs))
    outputs = [*wanted, *vec.flat(rows)]
    return [_bounded(run.valid(), outputs), *outputs]


def _bounded(valid: Any, numbers: Sequence[Any]) -> Any:
    """Whether a row is valid and all numbers are finite."""
    return select(LARGEST_SQUARE - vec.dot(numbers, numbers), valid, 0.0)


def efforts(run: InverseDynamics, inputs: int) -> list[Scalar]:
    """Efforts of least norm with their derivatives."""
    return with_derivatives(run, LeastNorm(run).efforts(), inputs)


def contacts(run: InverseDynamics, inputs: int, rows: Sequence[int]) -> list[Scalar]:
    """The multipliers of some rows with these efforts, and their derivatives."""
    multipliers = LeastNorm(run).multipliers()
    return with_derivatives(run, [multipliers[row] for row in rows], inputs)


def imbalance(run: InverseDynamics, unknowns: Sequence[Any], first: int) -> list[Scalar]:
    """Whether it is valid, whether friction is smooth, and derivatives of the accelerations.

    (n_y, n_y) by y and by y_dot, (n_y, n_u) by efforts and (n_y, 6) by the wrench. Nothing is left
    open: what efforts leave unbalanced in the independent coordinates and, with friction, by how
    much its amounts are not those of the loads that they cause. Where that stays zero,
    accelerations and amounts follow the other inputs (implicit functions)::

        dF = F_x dx + F_z dz = 0,    dz/dx = -F_z^-1 F_x    z: accelerations and amounts

    Parameters
    ----------
    unknowns : sequence of number
        The last inputs, from number ``first`` on: efforts of the actuators; with friction, its
        amounts, as :meth:`ForwardDynamics.friction` has them.
    """
    count, motors = len(run.plan.actuated), run.forces.motors
    amounts, pressed = unknowns[count : 2 * count], unknowns[2 * count :]
    rubs = bool(amounts)
    contacts = [TracedContact(run, contact, rubs) for contact in run.plan.description.contacts]
    drag, per_newton = friction_of_actuators(run, rubs)
    run.forces.inertial()
    for contact, amount in zip(contacts, pressed, strict=False):
        contact.resist(vec.add(vec.scale(contact.coulomb, amount), contact.viscous))
    actuators = [m.joint.actuator[0] for m in motors]
    supplied = [unknowns[j] - amounts[j] if rubs else unknowns[j] for j in actuators]
    balance = run.forces.balance(run.forces.on_joints(supplied, losses(run) if rubs else {}))
    open_loads, smooth = [*balance.freedoms], []
    if rubs:
        multipliers = balance.multipliers
        bearing = bearing_forces(run, multipliers)
        across = [direction(*force[:2])[0] for force in bearing]
        gears = gear_losses(run, True)
        open_loads += [
            amounts[j] - (drag[i] + per_newton[i] * across[i] + effort_lost(gears[i], supplied[i]))
            for i, j in enumerate(actuators)
        ]
        loads = [lane_pick(multipliers[c.stage][c.row], c.lane) for c in contacts]
        open_loads += [x - absolute(load) for x, load in zip(pressed, loads, strict=True)]
        smooth = smoothness(run, contacts, per_newton, across, gears, supplied)
    n, inputs = len(run.plan.independent), 3 * len(run.plan.independent) + 6
    wanted = [*range(inputs), *range(first, first + len(unknowns))]
    rows = forward(open_loads, wanted, motion_rules(run, inputs))
    last = inputs + count
    basis, triangle = orthogonal([[*row[2 * n : 3 * n], *row[last:]] for row in rows])
    columns = [*zip(*rows, strict=True)]
    parts = columns[:n], columns[n : 2 * n], columns[inputs:last], columns[3 * n : inputs]
    # Rows of the inverse, of accelerations alone.
    inverted = [solve_triangle(triangle, [b[i] for b in basis]) for i in range(n)]
    slopes = [-vec.dot(row, column) for part in parts for row in inverted for column in part]
    return [run.valid(), *smooth, *slopes]


def _closed_by_parameters(
    run: Evaluation, inputs: Sequence[int]
) -> tuple[Rules, dict[TracedJoint, dict[int, Any]]]:
    """Derivatives by parameters of positions that the loops determine: as rules, and by joint.

    With dependent joints held, parameters open gaps; these joints close them (implicit functions).
    """
    rules = Rules()
    _solution_rules(run, rules)
    slopes: dict[TracedJoint, dict[int, Any]] = {}
    for stage in run.plan.stages:
        if not stage.unknowns:
            continue
        for joint in stage.unknowns:
            _joint_rule(rules, joint, dict.fromkeys(inputs, 0.0))
        opened = forward([equation.gap for equation in stage.equations], inputs, rules)
        for joint, row in zip(stage.unknowns, stage.inverse, strict=True):
            columns = zip(inputs, zip(*opened, strict=True), strict=True)
            slopes[joint] = {k: -vec.dot(row, column) for k, column in columns}
            _joint_rule(rules, joint, slopes[joint])
    return rules, slopes


def positions_by_parameters(run: Evaluation, inputs: Sequence[int]) -> list[Scalar]:
    """Actuated positions, their rates per independent velocity, and derivatives by parameters.

    Independent positions are held.
    """
    _, slopes = _closed_by_parameters(run, inputs)
    none = dict.fromkeys(inputs, 0.0)
    rates = run.per_joint(lambda joint: list(slopes.get(joint, none).values()))
    return [
        run.valid(),
        *run.of_actuated(run.positions()),
        *run.of_actuated(run.tangent()),
        *run.of_actuated(rates),
    ]


def by_parameters(run: InverseDynamics, inputs: Sequence[int]) -> list[Scalar]:
    """Efforts of least norm, and their derivatives by parameters."""
    efforts_ = LeastNorm(run).efforts()
    rows = forward(efforts_, inputs, _closed_by_parameters(run, inputs)[0])
    return [run.valid(), *efforts_, *vec.flat(rows)]


def gradient(run: InverseDynamics, weights: Sequence[Any], inputs: Sequence[int]) -> list[Scalar]:
    """Derivatives of a weighted sum of these efforts by parameters."""
    total = vec.dot(weights, LeastNorm(run).efforts())
    return [run.valid(), *reverse(total, inputs, _closed_by_parameters(run, inputs)[0])]


def best_efforts(
    run: InverseDynamics, goals: Mapping[str, float], friction: bool, inputs: int,
    rows: Sequence[int],
) -> list[Scalar]:  # fmt: skip
    """:meth:`BestEfforts.outputs` at the best efforts, which are found first."""
    best = Distribution(run, goals, friction)
    amounts = vec.subtract(best.efforts(), best.joint_friction())
    return BestEfforts(run, goals, friction, amounts, best.contacts()).outputs(inputs, rows)


class BestEfforts:
    """The best efforts for a goal with their derivatives, where these efforts are known.

    A Newton step from the optimum leads nowhere, but its end moves with the inputs as the optimum
    does (implicit function theorem).

    Parameters
    ----------
    goals, friction
        As for :class:`Distribution`.
    amounts : sequence of number
        Efforts of the actuators less the friction of their joints.
    contacts : sequence of number
        Multipliers of the contacts.
    """

    def __init__(
        self,
        run: InverseDynamics,
        goals: Mapping[str, float],
        friction: bool,
        amounts: Sequence[Any],
        contacts: Sequence[Any],
    ):
        self._run = run
        self._signs = contact_signs(run.plan.description, friction, contacts)
        motors = run.forces.motors
        self._amounts = [lane_pack([amounts[i] for i in m.joint.actuator]) for m in motors]
        self._held: list[Any] = []
        self._found = Distribution(run, goals, friction, best=self._stepped)

    def _stepped(self, cases: LoadCases, goal: PatternGoal, conditions: list[Any], *_: bool) -> Any:
        pattern = SignPattern(Terms.of(cases, goal), self._signs)
        inner = self._run.forces.inner
        self._held = [inner(case.efforts, self._amounts) for case in cases.free]
        step, _ = pattern.newton(self._held)
        allowed = OPTIMAL * inner(self._amounts, self._amounts) + SMALL
        conditions.append(allowed - vec.dot(step, step))
        free = vec.subtract(self._held, step)
        return free, pattern.contacts(free), 0.0

    def outputs(self, inputs: int, rows: Sequence[int]) -> list[Scalar]:
        """Whether it is valid and smooth, :meth:`smooth` and :meth:`values`."""
        margins, values = self.smooth(), self.values(inputs, rows)
        valid = select(-greatest([-x for x in margins]), self._run.valid(), 0.0)
        return [_bounded(valid, values), *margins, *values]

    def smooth(self) -> list[Any]:
        """See :meth:`Distribution.smooth`."""
        return self._found.smooth()

    def values(self, inputs: int, rows: Sequence[int]) -> list[Scalar]:
        """Efforts and their derivatives, then those of some constraints' multipliers."""
        multipliers, outputs = self._found.multipliers(), []
        rules = motion_rules(self._run, inputs)
        for x in (*self._held, *self._signs):
            _of_result(rules, x, dict.fromkeys(range(inputs), 0.0))
        for wanted in (self._found.efforts(), [multipliers[row] for row in rows]):
            outputs += [*wanted, *vec.flat(forward(wanted, range(inputs), rules))]
        return outputs
