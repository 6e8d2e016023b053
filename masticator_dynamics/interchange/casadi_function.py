# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism's recorded dynamics as a function of CasADi, for optimal control and estimation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

from masticator_dynamics.engine.evaluation.frames import check_frame
from masticator_dynamics.engine.evaluation.results import Evaluator
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.equations_of_motion import TracedEquationsOfMotion
from masticator_dynamics.engine.traced.forward_dynamics import ForwardDynamics
from masticator_dynamics.engine.traced.inverse_dynamics import LeastNorm
from masticator_dynamics.engine.traced.numbers import Graph, reachable
from masticator_dynamics.engine.traced.simulation_data import Setting
from masticator_dynamics.errors import InputError
from masticator_dynamics.optional import needed

Quantity = Literal['inverse_dynamics', 'forward_dynamics', 'equations_of_motion', 'frame_pose']
Parts = dict[str, tuple[tuple[int, ...], list[Any]]]  # by name: shape and numbers, row by row


def to_casadi(mechanism: Evaluator, quantity: Quantity, frame: str | None) -> Any:
    """See :meth:`Mechanism.to_casadi`."""
    ca = needed('casadi')
    if quantity not in get_args(Quantity):
        quantities = ', '.join(get_args(Quantity))
        raise InputError(f'quantity is {quantity!r}, expected one of {quantities}')
    if (frame is not None) != (quantity == 'frame_pose'):
        raise InputError('a frame is for frame_pose, which needs one')
    freedoms = len(mechanism.independent)
    if not freedoms:
        raise InputError(f'{mechanism.name} has no freedoms')
    lengths = {'y': freedoms, 'y_dot': freedoms, 'y_ddot': freedoms}
    lengths |= {'effort': len(mechanism.actuated), 'wrench': 6}
    names, outputs = _QUANTITIES[quantity]
    graph = Graph()
    numbers = iter(graph.inputs(sum(lengths[name] for name in names)))
    inputs = {name: [next(numbers) for _ in range(lengths[name])] for name in names}
    parts = outputs(mechanism, inputs, frame)
    symbols = [ca.SX.sym(name, lengths[name]) for name in names]
    flat = [x for _, part in parts.values() for x in part]
    values = _in_casadi(ca, graph, flat, ca.vertcat(*symbols))
    results, first = [], 0
    for shape, part in parts.values():
        column = values[first : first + len(part)]
        # CasADi stores columns one after the other.
        matrix = len(shape) == 2
        results.append(ca.reshape(column, *shape[::-1]).T if matrix else column)
        first += len(part)
    return ca.Function(
        f'{_identifier(mechanism.name)}_{quantity}', symbols, results, names, [*parts]
    )


def _inverse_dynamics(mechanism: Evaluator, inputs: dict[str, Any], frame: str | None) -> Parts:
    numbers = [x for part in inputs.values() for x in part]
    run = mechanism.kernels.run(numbers, False, False)
    efforts = LeastNorm(run).efforts()
    return {'effort': ((len(efforts),), efforts), 'valid': ((1,), [run.valid()])}


def _forward_dynamics(mechanism: Evaluator, inputs: dict[str, Any], frame: str | None) -> Parts:
    numbers = [*(x for part in inputs.values() for x in part), 1.0]
    run = ForwardDynamics(
        mechanism.description, mechanism.structure, numbers, Setting(), share=False
    )
    return {'y_ddot': ((len(run.y_ddot),), run.y_ddot), 'valid': ((1,), [run.valid()])}


def _equations_of_motion(mechanism: Evaluator, inputs: dict[str, Any], frame: str | None) -> Parts:
    y_dot, freedoms = inputs['y_dot'], len(inputs['y'])
    run = _evaluation(mechanism, inputs['y'], y_dot)
    mass, (kinetic, potential) = [x for row in run.mass for x in row], run.energy(y_dot)
    return {
        'mass': ((freedoms, freedoms), mass), 'bias': ((freedoms,), run.bias()),
        'kinetic': ((1,), [kinetic]), 'potential': ((1,), [potential]),
        'valid': ((1,), [run.valid()]),
    }  # fmt: skip


def _frame_pose(mechanism: Evaluator, inputs: dict[str, Any], frame: str | None) -> Parts:
    placement = check_frame(mechanism, str(frame))
    run = _evaluation(mechanism, inputs['y'], [0.0] * len(inputs['y']))
    body = run.plan.body(placement.body)
    axes = [vec.apply(body.rotation, column) for column in placement.rotation.T.tolist()]
    rotation = [x for row in zip(*axes, strict=True) for x in row]
    position = list(body.point(placement.position.tolist()))
    return {
        'position': ((3,), position), 'rotation': ((3, 3), rotation),
        'valid': ((1,), [run.valid()]),
    }  # fmt: skip


def _evaluation(
    mechanism: Evaluator, y: Sequence[Any], y_dot: Sequence[Any]
) -> TracedEquationsOfMotion:
    rest = [0.0] * len(y)
    return TracedEquationsOfMotion(
        mechanism.description, mechanism.structure, [*y, *y_dot], (y, y_dot, rest), [0.0] * 6,
        (), False,
    )  # fmt: skip


_Outputs = Callable[[Evaluator, dict[str, Any], 'str | None'], Parts]
_QUANTITIES: dict[str, tuple[list[str], _Outputs]] = {
    'inverse_dynamics': (['y', 'y_dot', 'y_ddot', 'wrench'], _inverse_dynamics),
    'forward_dynamics': (['y', 'y_dot', 'effort', 'wrench'], _forward_dynamics),
    'equations_of_motion': (['y', 'y_dot'], _equations_of_motion),
    'frame_pose': (['y'], _frame_pose),
}


def _in_casadi(ca: Any, graph: Graph, outputs: Sequence[Any], inputs: Any) -> Any:
    """The recorded numbers as expressions of the inputs, in one column."""
    operations: dict[str, Callable[..., Any]] = {
        'add': lambda a, b: a + b, 'sub': lambda a, b: a - b, 'mul': lambda a, b: a * b,
        'div': lambda a, b: a / b, 'neg': lambda a: -a, 'sqrt': ca.sqrt, 'abs': ca.fabs,
        'round': lambda a: ca.floor(a + 0.5), 'copysign': ca.copysign,
        'select': lambda c, a, b: ca.if_else(c > 0, a, b),
    }  # fmt: skip
    indices = [graph.lift(x) for x in outputs]
    expressions: dict[int, Any] = {}
    for i in reachable(graph, indices):
        operation, *arguments = graph.nodes[i]
        if operation == 'input':
            expressions[i] = inputs[arguments[0]]
        elif operation == 'constant':
            expressions[i] = ca.SX(arguments[0])
        else:
            expressions[i] = operations[operation](*(expressions[k] for k in arguments))
    return ca.vertcat(*(expressions[k] for k in indices))


def _identifier(name: str) -> str:
    """A name that CasADi takes: letters, digits and single underscores."""
    letters = ''.join(c if c.isascii() and c.isalnum() else ' ' for c in name)
    return '_'.join(('f ' + letters if not letters[:1].isalpha() else letters).split())
