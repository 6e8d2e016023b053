# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of one mechanism as C files: for microcontrollers and other controllers.

The recorded graph becomes straight-line C99 that needs only math.h.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.c_controller import PRECISE_IN_C, Controller
from masticator_dynamics.engine.traced.c_statements import CFunction, c_text, literal, quoted
from masticator_dynamics.engine.traced.derivatives import BestEfforts, with_derivatives
from masticator_dynamics.engine.traced.effort_distribution import Distribution
from masticator_dynamics.engine.traced.inverse_dynamics import InverseDynamics, LeastNorm
from masticator_dynamics.engine.traced.kernels import MOST_OPERATIONS
from masticator_dynamics.engine.traced.numbers import Graph, TooLargeError, lesser
from masticator_dynamics.errors import InputError

_WRENCH = ('force x', 'force y', 'force z', 'torque x', 'torque y', 'torque z')


def c_files(
    description: MechanismDescription,
    structure: Structure,
    goal: str = 'torque',
    friction: bool = False,
    derivatives: bool = False,
    effort_range: tuple[FloatArray, FloatArray] | None = None,
    name: str = '',
) -> dict[str, str]:
    """Contents of header, source and example by file name.

    Parameters
    ----------
    goal : str
        What redundant actuators minimise.
    friction : bool
        Include friction of contacts and actuated joints.
    derivatives : bool
        A second function, of efforts and their derivatives.
    effort_range : pair of array, shape (n_u,), optional
        Lowest and highest effort of each motor: writes what a controller needs, too, see
        :class:`Controller`, and the forces of contacts.
    name : str
        Of the mechanism in C; by default its own.

    Raises
    ------
    InputError
        If the mechanism is of a kind or size that cannot be exported.
    """
    kinds = [False, True] if derivatives else [False]
    name = identifier(name or description.name)
    of = Controller(name, description, structure, effort_range) if effort_range else None
    try:
        functions = [
            _function(name, description, structure, goal, friction, kind, bool(of))
            for kind in kinds
        ]
        further = of.functions() if of else []
    except TooLargeError as error:
        raise InputError(f'{description.name}: too large to be written out: {error}') from None
    source = [_source(name, description.name, [*functions, *further])]
    declared = [c_text('derivatives.h', name)] if derivatives else []
    contacts = [contact.name for contact in description.contacts] if of else []
    if contacts:
        values = {'count': len(contacts), 'names': ', '.join(contacts)}
        declared.append(c_text('contacts.h', name, **values))
        source.append(c_text('contacts.c', name, **values))
    if of:
        declared.append(of.header(further))
        source.append(of.source())
    text, kind = '\n'.join(source), _kind(goal, friction)
    return {
        f'{name}.h': _header(name, description, structure, kind, '\n'.join(declared), text),
        f'{name}.c': text,
        f'{name}_example.c': _example(name, description, structure),
    }


def identifier(name: str) -> str:
    """A name as a C identifier."""
    text = re.sub(r'\W', '_', name, flags=re.ASCII).lower()
    return f'm_{text}' if not text or text[0].isdigit() else text


def _kind(goal: str, friction: bool) -> str:
    """Description of the efforts."""
    least = 'Efforts of least norm' if goal == 'torque' else f'Efforts of least {goal}'
    return f'{least}, {"friction of joints and contacts included" if friction else "frictionless"},'


def _function(
    name: str, description: MechanismDescription, structure: Structure, goal: str, friction: bool,
    derivatives: bool, forces: bool,
) -> CFunction:  # fmt: skip
    """The efforts, and their derivatives or the forces of contacts."""
    largest = MOST_OPERATIONS * (2 if derivatives else 1)
    graph, count = Graph(largest), len(description.independent)
    inputs = graph.inputs(3 * count + 6)
    run = InverseDynamics(
        description, structure, inputs, description.actuated, share=False, thorough=True
    )
    for closing in run.closings:
        closing.require(PRECISE_IN_C)
    plain, goals = goal == 'torque' and not friction, {goal: 1.0}
    best = LeastNorm(run) if plain else Distribution(run, goals, friction)
    values, guard = best.efforts(), run.valid()
    if derivatives:
        if isinstance(best, LeastNorm):
            guard, *values = with_derivatives(run, values, len(inputs))
        else:
            amounts = vec.subtract(values, best.joint_friction())
            at_best = BestEfforts(run, goals, friction, amounts, best.contacts())
            values = at_best.values(len(inputs), [])
            guard = functools.reduce(lesser, at_best.smooth(), run.valid())
    motors, suffix = len(description.actuated), '_derivatives' if derivatives else ''
    results = {'effort': values[:motors]}
    if derivatives:
        results['by_input'] = values[motors:]
    elif forces and description.contacts:
        rows = [row for contact in description.contacts for row in structure.rows(contact.name)]
        multipliers, suffix = best.multipliers(), '_with_contacts'
        results['contact'] = [multipliers[row] for row in rows]
    return CFunction(
        f'{name}_inverse_dynamics{suffix}', graph,
        {'y': count, 'y_dot': count, 'y_ddot': count, 'wrench': 6}, results, guard,
        run.within_ranges(), run.comments, {'effort': description.actuated}, suffix,
    )  # fmt: skip


def _joint_lines(description: MechanismDescription, structure: Structure) -> list[str]:
    """What the elements of the arrays are."""
    joints = {joint.name: joint for joint in structure.tree.joints}
    lines = [' *   y, y_dot, y_ddot: positions, velocities, accelerations']
    for i, name in enumerate(description.independent):
        lines.append(f' *     [{i}] {name}, {joints[name].unit}, per s, per s^2')
    lines.append(' *   wrench: of the environment on the platform, base axes, torque about the')
    lines.append(f' *     origin of frame {description.platform}')
    for i, name in enumerate(_WRENCH):
        lines.append(f' *     [{i}] {name}, {"N" if i < 3 else "N m"}')
    lines.append(' *   effort: of the motors')
    for i, name in enumerate(description.actuated):
        geared = description.actuators[name].transmission is not None
        unit = 'N' if joints[name].unit == 'm' and not geared else 'N m'
        lines.append(f' *     [{i}] {name}, {unit}')
    return lines


def _header(
    name: str,
    description: MechanismDescription,
    structure: Structure,
    kind: str,
    further: str,
    source: str,
) -> str:
    operations = len(re.findall(r'const double t\d+ = (?!kept)', source))
    arrays = '\n'.join(_joint_lines(description, structure))
    return c_text(
        'inverse_dynamics.h', name, mechanism=description.name, kind=kind, operations=operations,
        kilobytes=len(source) // 1000, freedoms=len(description.independent),
        actuators=len(description.actuated), arrays=arrays, further=further,
    )  # fmt: skip


def _source(name: str, mechanism: str, functions: Sequence[CFunction]) -> str:
    texts = '\n'.join(function.text() for function in functions)
    return c_text('inverse_dynamics.c', name, mechanism=mechanism, functions=texts.rstrip('\n'))


def _example(name: str, description: MechanismDescription, structure: Structure) -> str:
    home = [literal(structure.home[structure.index(joint)]) for joint in description.independent]
    printed = (
        f'  printf("%s %.17g\\n", {quoted(joint)}, effort[{i}]);\n'
        for i, joint in enumerate(description.actuated)
    )
    return c_text(
        'example.c', name, mechanism=description.name, home=', '.join(home),
        zeros=', '.join(['0.0'] * len(home)), count=len(description.actuated),
        printed=''.join(printed),
    )  # fmt: skip
