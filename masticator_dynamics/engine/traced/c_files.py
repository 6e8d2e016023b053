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
from masticator_dynamics.engine.traced.c_statements import CFunction, literal
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
    declared = _DERIVATIVES.format(name=name, upper=name.upper()) if derivatives else ''
    contacts = [contact.name for contact in description.contacts] if of else []
    if contacts:
        declared += _CONTACTS.format(
            name=name, upper=name.upper(), count=len(contacts), names=', '.join(contacts)
        )
    declared += of.header(further) if of else ''
    source = _source(name, description, [*functions, *further])
    source += _WITHOUT_CONTACTS.format(name=name, count=len(contacts)) if contacts else ''
    source += of.source() if of else ''
    return {
        f'{name}.h': _header(name, description, structure, _kind(goal, friction), declared, source),
        f'{name}.c': source,
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
            at_best = BestEfforts(run, goals, friction, amounts, best.signs())
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
    upper = name.upper()
    operations = len(re.findall(r'const double t\d+ = (?!kept)', source))
    arrays = '\n'.join(_joint_lines(description, structure))
    return f"""\
/* Inverse dynamics of {description.name}, generated by masticator export-c.
 *
 * {kind}
 * for a motion of the closed-loop mechanism. Needs math.h alone; nothing is allocated, there are no
 * globals, and any number of threads may call at once. {operations} operations in all functions,
 * {len(source) // 1000} kB of source.
 */
#ifndef {upper}_H
#define {upper}_H

#define {upper}_FREEDOMS {len(description.independent)}
#define {upper}_ACTUATORS {len(description.actuated)}

#ifdef __cplusplus
extern "C" {{
#endif

/* Efforts for a motion. Arrays:
{arrays}
 *
 * Returns 0 when the efforts count.
 * 1: effort is left as it was. The pose is out of reach, too near a singularity or on a branch
 *    other than home's, Newton's iteration did not converge, or an argument is not finite. Keep
 *    the last efforts or stop; the Python package tells why.
 * 2: efforts were written, but coordinates or motors are outside the ranges of their joints. Are
 *    all angles in rad and all lengths in m? Home's branch may not lead here: stop.
 */
int {name}_inverse_dynamics(const double *y, const double *y_dot, const double *y_ddot,
                            const double *wrench, double *effort);
{further}
#ifdef __cplusplus
}}
#endif

#endif
"""


_DERIVATIVES = """
#define {upper}_INPUTS (3 * {upper}_FREEDOMS + 6)

/* The same, with the derivatives of the efforts along the closed loops:
 * by_input[{upper}_INPUTS * i + k] is that of effort i by number k of y, y_dot, y_ddot
 * and wrench, one after the other.
 */
int {name}_inverse_dynamics_derivatives(const double *y, const double *y_dot,
                                        const double *y_ddot, const double *wrench,
                                        double *effort, double *by_input);
"""


_CONTACTS = """
#define {upper}_CONTACTS {count}

/* The same, with the force of each contact on its body along the normal, N: {names}.
 * Positive where it pushes.
 */
int {name}_inverse_dynamics_with_contacts(
    const double *y, const double *y_dot, const double *y_ddot, const double *wrench,
    double *effort, double *contact);
"""

_WITHOUT_CONTACTS = """
int {name}_inverse_dynamics(const double *y, const double *y_dot, const double *y_ddot,
                            const double *wrench, double *effort)
{{
  double contact[{count}];

  return {name}_inverse_dynamics_with_contacts(y, y_dot, y_ddot, wrench, effort, contact);
}}
"""


def _source(name: str, description: MechanismDescription, functions: Sequence[CFunction]) -> str:
    bodies = [function.body() for function in functions]
    texts = [function.text(body) for function, body in zip(functions, bodies, strict=True)]
    text = '\n'.join(texts)
    return f"""\
/* Inverse dynamics of {description.name}, generated by masticator export-c. See {name}.h.
 *
 * The order is that of the recursive Newton-Euler algorithm on a spanning tree, with loops closed
 * block by block: positions, velocities and accelerations outwards, forces inwards.
 */
#include "{name}.h"

#include <math.h>
{_APART if any(body.kept for body in bodies) else ''}
{text}"""


# Compilers take minutes for one long function, and put together what is called once.
_APART = """
#ifdef __GNUC__
#define APART __attribute__((noinline))
#else
#define APART
#endif
"""


def _quoted(text: str) -> str:
    """A string of C; names may have any letters."""
    return '"' + re.sub(r'[\\"?]', r'\\\g<0>', text) + '"'


def _example(name: str, description: MechanismDescription, structure: Structure) -> str:
    home = [literal(structure.home[structure.index(joint)]) for joint in description.independent]
    count = len(description.actuated)
    printed = ''.join(
        f'  printf("%s %.17g\\n", {_quoted(joint)}, effort[{i}]);\n'
        for i, joint in enumerate(description.actuated)
    )
    zeros = ', '.join(['0.0'] * len(home))
    return f"""\
/* Efforts that hold {description.name} at home: cc -std=c99 {name}_example.c {name}.c -lm */
#include <stdio.h>

#include "{name}.h"

int main(void)
{{
  const double y[] = {{{', '.join(home)}}};
  const double y_dot[] = {{{zeros}}};
  const double y_ddot[] = {{{zeros}}};
  const double wrench[] = {{0.0, 0.0, 0.0, 0.0, 0.0, 0.0}};
  double effort[{count}];

  if ({name}_inverse_dynamics(y, y_dot, y_ddot, wrench, effort) != 0) {{
    fprintf(stderr, "no efforts for this pose\\n");
    return 1;
  }}
{printed}  return 0;
}}
"""
