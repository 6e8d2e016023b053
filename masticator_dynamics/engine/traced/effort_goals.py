# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Goals by which efforts are chosen where more motors drive than there are freedoms.

Command line, nodes, launch files and limits take them from :data:`GOALS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.traced.numbers import largest, select, total
from masticator_dynamics.errors import ActuationError, InputError

if TYPE_CHECKING:
    from masticator_dynamics.engine.traced.forces import Motors
    from masticator_dynamics.engine.traced.inverse_dynamics import InverseDynamics

MOST_CONTACTS = 5  # with friction; their signs make patterns
Goal = str | Mapping[str, float]  # a name, or weights of the squares of several


class EffortGoal(NamedTuple):
    """What a goal adds to the sum of squares that is minimised, for a weight of 1.

    ``of_motor`` gives how much the square of a motor's effort counts; its other arguments are the
    fastest rate of a motor's joint, and a thousandth of that.
    """

    of_motor: Callable[[Motors, Any, Any], Any] | None = None
    of_joints: bool = False  # squares of the forces that ``force_joints`` transmit
    of_contacts: bool = False  # squares of the contacts' multipliers

    def terms(self, description: MechanismDescription) -> float:
        """How many forces it looks at; infinite where it determines all efforts."""
        if self.of_motor is not None:
            return math.inf
        joints, contacts = len(description.force_joints), len(description.contacts)
        return 3 * joints * self.of_joints + contacts * self.of_contacts


def _power(motors: Motors, fastest: Any, slow: Any) -> Any:
    """Its squared velocity; where all are at rest, that of motors that turn their joints alike."""
    rate = motors.joint.velocity
    return motors.ratio * motors.ratio * select(fastest, rate * rate + slow * slow, 1.0)


GOALS = {
    'torque': EffortGoal(lambda motors, fastest, slow: 1.0),
    'power': EffortGoal(_power),
    'joint-force': EffortGoal(of_joints=True),
    'contact-force': EffortGoal(of_contacts=True),
}


def goal_weights(goal: Goal) -> tuple[str, dict[str, float]]:
    """A goal's unique name, and the weights of the squares that it minimises."""
    if isinstance(goal, str):
        return goal, {goal: 1.0}
    if isinstance(goal, Mapping):
        return repr(sorted(goal.items(), key=str)), dict(goal)
    raise InputError(f'goal is {goal!r:.60}, neither a name nor weights by name')


def check_goals(
    description: MechanismDescription, goals: Mapping[str, float], driving: int, friction: bool
) -> None:
    """Refuse goals that a mechanism cannot serve.

    Parameters
    ----------
    goals : mapping of str to float
        Weights of the squares of the goals' norms.
    driving : int
        Number of powered actuators.

    Raises
    ------
    InputError
        For an unknown goal or an invalid weight.
    ActuationError
        If a goal does not determine the efforts of this mechanism.
    """
    _check_weights(goals)
    if friction and driving < len(description.actuated):
        raise ActuationError(
            f'{description.name}: friction with {driving} of {len(description.actuated)} actuators '
            'driving is not covered: idle joints would have to be dragged along'
        )
    if friction and len(description.contacts) > MOST_CONTACTS:
        raise ActuationError(
            f'{description.name}: friction of {len(description.contacts)} contacts is not covered, '
            f'at most {MOST_CONTACTS} are: their signs make too many patterns'
        )
    free = driving - len(description.independent)
    _check_terms(description, goals, free)


def _check_weights(goals: Mapping[str, float]) -> None:
    for name, weight in goals.items():
        if name not in GOALS:
            raise InputError(f'no goal {name!r}; there are: {", ".join(GOALS)}')
        number = isinstance(weight, int | float) and math.isfinite(weight)
        if not (number and weight >= 0.0):
            raise InputError(
                f'goal {name!r} has weight {weight!r}; a number of 0 or more is needed'
            )
    if not any(goals.values()):
        raise InputError('a goal needs a weight above 0')


def _check_terms(description: MechanismDescription, goals: Mapping[str, float], free: int) -> None:
    """Refuse goals that leave efforts undetermined."""
    terms = sum(GOALS[goal].terms(description) for goal, weight in goals.items() if weight)
    if terms < free:
        names = ', '.join(goal for goal, weight in goals.items() if weight)
        raise ActuationError(
            f'{description.name}: goal {names} looks at {terms} forces and cannot choose '
            f'among {free} free efforts'
        )


def motor_weights(run: InverseDynamics, goals: Mapping[str, float]) -> list[Any]:
    """How much the square of each motor's effort counts; empty where none does.

    Parameters
    ----------
    goals : mapping
        Weights of the goals.
    """
    motors = run.forces.motors
    fastest = largest([m.joint.velocity for m in motors])
    slow = 1e-3 * fastest
    chosen = [
        (goal.of_motor, weight)
        for name, goal in GOALS.items()
        if (weight := goals.get(name)) and goal.of_motor
    ]
    if not chosen:
        return []
    return [total(weight * of(m, fastest, slow) for of, weight in chosen) for m in motors]


def force_weights(goals: Mapping[str, float]) -> tuple[float, float]:
    """How much the squares of joint forces and of contact forces count."""
    weights = [(GOALS[name], weight) for name, weight in goals.items() if name in GOALS]
    return (
        math.fsum(weight for goal, weight in weights if goal.of_joints),
        math.fsum(weight for goal, weight in weights if goal.of_contacts),
    )
