# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics of one mechanism as C files: for microcontrollers and other controllers.

The recorded graph becomes straight-line C99 that needs only math.h.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.derivatives import BestEfforts, with_derivatives
from masticator_dynamics.engine.traced.effort_distribution import Distribution
from masticator_dynamics.engine.traced.inverse_dynamics import InverseDynamics, LeastNorm
from masticator_dynamics.engine.traced.kernels import MOST_OPERATIONS
from masticator_dynamics.engine.traced.numbers import (
    Graph,
    Scalar,
    TooLargeError,
    arguments,
    lesser,
    reachable,
    slots,
)
from masticator_dynamics.errors import InputError

_OPERATORS = {'add': '+', 'sub': '-', 'mul': '*', 'div': '/'}
_FUNCTIONS = {'sqrt': 'sqrt', 'abs': 'fabs', 'round': 'rint', 'copysign': 'copysign'}


class Statements(NamedTuple):
    """The arithmetic of a function.

    Attributes
    ----------
    parts : list of str
        C lines; what a part needs of earlier ones is in the array ``kept``.
    values : list of str
        Expressions for what is wanted.
    kept : int
        Length of that array.
    """

    parts: list[str]
    values: list[str]
    kept: int


def statements(
    graph: Graph,
    wanted: Sequence[Scalar],
    inputs: Sequence[str],
    comments: Mapping[int, str],
    split: bool = True,
) -> Statements:
    """C that computes numbers.

    Parameters
    ----------
    inputs : sequence of str
        Expressions of the graph's inputs.
    comments : mapping of int to str
        Comment on the section that begins at a node.
    split : bool
        In parts if it is long.
    """
    results, pending = [graph.lift(x) for x in wanted], sorted(comments)
    leaves = ('constant', 'input')
    needed = [i for i in reachable(graph, results) if graph.nodes[i][0] not in leaves]
    size = PART if split and len(needed) > LONG else max(len(needed), 1)
    parts = [needed[first : first + size] for first in range(0, len(needed), size)]

    def on(index: int) -> Iterable[int]:
        return arguments(graph.nodes[index])

    places, count = slots(graph, parts, on, results) if len(parts) > 1 else ({}, 0)
    texts = []
    for part in parts:
        before = {j for index in part for j in on(index) if j in places} - {*part}
        lines = [f'  const double t{j} = kept[{places[j]}];' for j in sorted(before)]
        for index in part:
            while pending and pending[0] <= index:
                lines += ['', f'  /* {comments[pending.pop(0)]} */']
            value = _expression(graph, graph.nodes[index], inputs)
            lines.append(f'  const double t{index} = {value};')
            if index in places:
                lines.append(f'  kept[{places[index]}] = t{index};')
        texts.append('\n'.join(lines))
    values = [f'kept[{places[i]}]' if i in places else _operand(graph, i, inputs) for i in results]
    return Statements(texts, values, count)


def _operand(graph: Graph, index: int, inputs: Sequence[str]) -> str:
    operation, *rest = graph.nodes[index]
    if operation == 'constant':
        return literal(rest[0])
    return inputs[rest[0]] if operation == 'input' else f't{index}'


def literal(x: float) -> str:
    """A number, exactly; in parentheses if negative."""
    text = repr(float(x))
    return f'({text})' if text.startswith('-') else text


def _expression(graph: Graph, node: tuple[Any, ...], inputs: Sequence[str]) -> str:
    operation = node[0]
    parts = [_operand(graph, index, inputs) for index in node[1:]]
    if operation in _OPERATORS:
        return f'{parts[0]} {_OPERATORS[operation]} {parts[1]}'
    if operation == 'neg':
        return f'-{parts[0]}'
    if operation == 'select':
        return f'{parts[0]} > 0.0 ? {parts[1]} : {parts[2]}'
    return f'{_FUNCTIONS[operation]}({", ".join(parts)})'


PRECISE_IN_C = 0.025  # see `Closing.require`; nothing else takes over the rest
PART, LONG = 1000, 4000  # statements of a part, and of a function that has none
_WRENCH = ('force x', 'force y', 'force z', 'torque x', 'torque y', 'torque z')


def c_files(
    description: MechanismDescription,
    structure: Structure,
    goal: str = 'torque',
    friction: bool = False,
    derivatives: bool = False,
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

    Raises
    ------
    InputError
        If the mechanism is of a kind or size that cannot be exported.
    """
    kinds = [False, True] if derivatives else [False]
    try:
        bodies = [_body(description, structure, goal, friction, kind) for kind in kinds]
    except TooLargeError as error:
        raise InputError(f'{description.name}: too large to be written out: {error}') from None
    name = identifier(description.name)
    return {
        f'{name}.h': _header(name, description, structure, _kind(goal, friction), derivatives),
        f'{name}.c': _source(name, description, bodies),
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


def _body(
    description: MechanismDescription,
    structure: Structure,
    goal: str,
    friction: bool,
    derivatives: bool,
) -> Statements:
    """Of the efforts, of their derivatives, of the guard and of the ranges."""
    largest = MOST_OPERATIONS * (2 if derivatives else 1)
    graph, count = Graph(largest), len(description.independent)
    given = graph.inputs(3 * count + 6)
    run = InverseDynamics(
        description, structure, given, description.actuated, share=False, thorough=True
    )
    for closing in run.closings:
        closing.require(PRECISE_IN_C)
    names = [f'{part}[{i}]' for part in ('y', 'y_dot', 'y_ddot') for i in range(count)]
    names += [f'wrench[{i}]' for i in range(6)]
    plain, goals = goal == 'torque' and not friction, {goal: 1.0}
    best = LeastNorm(run) if plain else Distribution(run, goals, friction)
    values, guard = best.efforts(), run.valid()
    if derivatives:
        if isinstance(best, LeastNorm):
            guard, *values = with_derivatives(run, values, len(given))
        else:
            amounts = vec.subtract(values, best.joint_friction())
            at_best = BestEfforts(run, goals, friction, amounts, best.signs())
            values = at_best.values(len(given), [])
            guard = functools.reduce(lesser, at_best.smooth(), run.valid())
    wanted = [*values, guard, run.within_ranges()]
    return statements(graph, wanted, names, run.comments)


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
    derivatives: bool,
) -> str:
    upper = name.upper()
    further = _DERIVATIVES.format(name=name, upper=upper) if derivatives else ''
    arrays = '\n'.join(_joint_lines(description, structure))
    return f"""\
/* Inverse dynamics of {description.name}, generated by masticator export-c.
 *
 * {kind}
 * for a motion of the closed-loop mechanism. Needs math.h alone; nothing is allocated, there are no
 * globals, and any number of threads may call at once.
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


def _source(name: str, description: MechanismDescription, bodies: Sequence[Statements]) -> str:
    functions = '\n'.join(_function(name, description, body) for body in bodies)
    return f"""\
/* Inverse dynamics of {description.name}, generated by masticator export-c. See {name}.h.
 *
 * The order is that of the recursive Newton-Euler algorithm on a spanning tree, with loops closed
 * block by block: positions, velocities and accelerations outwards, forces inwards.
 */
#include "{name}.h"

#include <math.h>
{_APART if any(body.kept for body in bodies) else ''}
{functions}"""


# Compilers take minutes for one long function, and put together what is called once.
_APART = """
#ifdef __GNUC__
#define APART __attribute__((noinline))
#else
#define APART
#endif
"""


def _function(name: str, description: MechanismDescription, body: Statements) -> str:
    """One function; with more results than efforts, the others are their derivatives."""
    *values, guard, within = body.values
    count = len(description.actuated)
    efforts, slopes = values[:count], values[count:]
    unused = ''.join(f'  (void){part};\n' for part in ('y', 'y_dot', 'y_ddot', 'wrench'))
    stores = ''.join(
        f'  effort[{i}] = {value}; /* {joint} */\n'
        for i, (value, joint) in enumerate(zip(efforts, description.actuated, strict=True))
    )
    stores += ''.join(f'  by_input[{i}] = {value};\n' for i, value in enumerate(slopes))
    suffix, further = ('_derivatives', ', double *by_input') if slopes else ('', '')
    given = 'const double *y, const double *y_dot, const double *y_ddot, const double *wrench'
    text, before = '\n'.join(body.parts), ''
    if body.kept:
        before = ''.join(
            f'static APART void part{suffix}_{i}({given}, double *kept)\n'
            f'{{\n{unused}  (void)kept;\n{part}\n}}\n\n'
            for i, part in enumerate(body.parts)
        )
        text = f'  double kept[{body.kept}];\n\n' + '\n'.join(
            f'  part{suffix}_{i}(y, y_dot, y_ddot, wrench, kept);' for i in range(len(body.parts))
        )
    return f"""{before}\
int {name}_inverse_dynamics{suffix}(const double *y, const double *y_dot, const double *y_ddot,
                            const double *wrench, double *effort{further})
{{
{unused}{text}

  if (!({guard} > 0.0)) {{
    return 1;
  }}
{stores}  return {within} > 0.0 ? 0 : 2;
}}
"""


def _example(name: str, description: MechanismDescription, structure: Structure) -> str:
    home = [literal(structure.home[structure.index(joint)]) for joint in description.independent]
    count = len(description.actuated)
    printed = ''.join(
        f'  printf("{joint} %.17g\\n", effort[{i}]);\n'
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
