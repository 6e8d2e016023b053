# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code of a mechanism's forward dynamics, and of a step in time with it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import consecutive
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.engine.traced.control_flow import call, graph_of, recorded_call
from masticator_dynamics.engine.traced.forward_dynamics import ForwardDynamics
from masticator_dynamics.engine.traced.identity import Identity
from masticator_dynamics.engine.traced.kernels import MOST_OPERATIONS, Kernels
from masticator_dynamics.engine.traced.llvm_ir import row_function
from masticator_dynamics.engine.traced.machine_code import Library
from masticator_dynamics.engine.traced.numbers import Graph, Scalar, TooLargeError, lesser, select
from masticator_dynamics.engine.traced.outputs import whole_row
from masticator_dynamics.engine.traced.row_code import RowCode, library
from masticator_dynamics.engine.traced.simulation_data import Given, Setting
from masticator_dynamics.engine.traced.vectors import Vector

# Gives, for the inputs, whether they are valid, then the rates: y_ddot and the food's state.
Rates = Callable[[list[Any]], list[Any]]


def rates_of(run: ForwardDynamics) -> list[Scalar]:
    """Whether it is valid, independent accelerations, state of the food."""
    return [run.valid(), *run.y_ddot, *run.outside.bolus]


def report_of(run: ForwardDynamics) -> list[Scalar]:
    """Whether it is valid, state of the food, a whole row, `simulation_data.reported`."""
    run.solve_forces()
    valid, *row = whole_row(run, run)
    return [valid, *run.outside.bolus, *row, *run.report()]


def step(rates: Rates, inputs: Vector, sizes: list[int], length: Any) -> list[Any]:
    """One step of the classical Runge-Kutta method: whether it is valid, state, food's state.

    Parameters
    ----------
    inputs : sequence
        As ``simulation_data.Given``, except for efforts at the step's start, middle and end, one
        after the other. Food yields and breaks for good at the start.
    length : number
        Of the step, s.
    """
    freedoms, state, actuated = sizes[0], sizes[2], sizes[3]
    start = list(inputs[: 2 * freedoms])
    efforts = inputs[2 * freedoms + state :]
    rest = list(efforts[3 * actuated :])
    bolus = list(inputs[2 * freedoms : 2 * freedoms + state])
    at, valid, total = start, 1.0, [0.0] * (2 * freedoms)
    for stage, (row, weight, ahead) in enumerate(
        ((0, 1.0, 0.5), (1, 2.0, 0.5), (1, 2.0, 1.0), (2, 1.0, 0.0))
    ):
        effort = list(efforts[row * actuated : (row + 1) * actuated])
        settle = 1.0 if stage == 0 else 0.0
        now_valid, *results = rates([*at, *bolus, *effort, *rest, settle])
        valid = lesser(valid, now_valid)
        if stage == 0:
            bolus = results[freedoms:]
        slope = [*at[freedoms:], *results[:freedoms]]
        total = [t + weight * s for t, s in zip(total, slope, strict=True)]
        at = [x + s * (length * ahead) for x, s in zip(start, slope, strict=True)]
    end = [x + t * (length * (1.0 / 6.0)) for x, t in zip(start, total, strict=True)]
    return [valid, *end, *bolus]


def acceleration_code(kernels: Kernels, setting: Setting, at_positions: bool = False) -> RowCode:
    """From y, y_dot, efforts and wrench: whether it is valid, then independent accelerations.

    With friction, :meth:`ForwardDynamics.friction` follows.

    Parameters
    ----------
    setting : Setting
        Without stops and food.
    at_positions : bool
        Tree positions of the closed mechanism follow the inputs.
    """
    first = 2 * kernels.freedoms + kernels.actuators + 6
    inputs = first + kernels.tree * at_positions

    def function(row: Vector, share: bool) -> list[Any]:
        numbers = [*row[:first], 1.0, *row[first:inputs]]
        of = kernels.recorded(row[inputs:])
        share = share and not kernels.variable
        run = ForwardDynamics(*of, numbers, setting, share, at_positions)
        return [*rates_of(run), *(run.friction() if setting.friction else [])]

    amounts = kernels.actuators + len(kernels.description.contacts)
    return RowCode(
        f'accelerations, at positions: {at_positions}', inputs,
        1 + kernels.freedoms + amounts * setting.friction, function,
        lambda: [*kernels.identity[:-1], setting], largest=MOST_OPERATIONS,
        constants=kernels.constants, impossible='' if kernels.freedoms else 'it has no freedoms',
    )  # fmt: skip


def derivatives_code(kernels: Kernels, setting: Setting) -> RowCode:
    """As :func:`acceleration_code`; derivatives as in `derivatives.imbalance` follow.

    Rows count where friction, if any, has derivatives.
    """
    n, first = kernels.freedoms, 2 * kernels.freedoms + kernels.actuators + 6
    places = consecutive({'y': n, 'y_dot': n, 'effort': kernels.actuators, 'wrench': 6})
    imbalance = kernels.imbalance_derivatives(setting.friction)
    table = n * first

    def function(row: Vector, share: bool) -> list[Any]:
        state, constants = row[:first], row[first:]
        y, y_dot, efforts, wrench = (state[place] for place in places.values())
        run = ForwardDynamics(*kernels.recorded(constants), [*state, 1.0], setting, False)
        amounts = run.friction() if setting.friction else []
        valid, *y_ddot = rates_of(run)
        inputs = [*y, *y_dot, *y_ddot, *wrench, *run.positions(), *efforts, *amounts, *constants]
        solved, *outputs = call(
            graph_of(row), 'imbalance', lambda numbers: imbalance.function(numbers, False), inputs
        )
        smooth, slopes = outputs[:-table], outputs[-table:]
        for margin in (valid, *smooth):
            solved = select(margin, solved, 0.0)
        return [solved, *y_ddot, *slopes]

    return RowCode(
        'derivatives of accelerations', first, 1 + n + table, function,
        lambda: [*kernels.identity, setting], largest=2 * MOST_OPERATIONS,
        constants=kernels.constants,
    )  # fmt: skip


class Simulation:
    """Forward dynamics of a mechanism with a setting, as machine code where there is any.

    Parameters
    ----------
    setting : Setting
        Friction, stops and food.

    Attributes
    ----------
    sizes : list of int
        Of the inputs, see ``simulation_data.Given``.
    reason : str
        Why there is no machine code; empty where there is.
    """

    def __init__(self, description: MechanismDescription, structure: Structure, setting: Setting):
        self._description, self._structure, self._setting = description, structure, setting
        self.sizes = Given.sizes(description, setting)
        self.reason = ''

    @functools.cached_property
    def code(self) -> Library | None:
        """Functions ``rates``, ``report`` and ``step`` of one row."""
        return self._library(False)

    @functools.cached_property
    def code_at_positions(self) -> Library | None:
        """Functions ``rates`` and ``report`` where tree positions follow the inputs."""
        return self._library(True)

    def evaluated(self, inputs: Vector) -> ForwardDynamics:
        """The same on floats; tree positions follow the inputs."""
        numbers = [float(x) for x in inputs]
        return ForwardDynamics(
            self._description, self._structure, numbers, self._setting, False, True
        )

    def _library(self, at_positions: bool) -> Library | None:

        def text() -> str:
            graph = Graph(MOST_OPERATIONS)
            tree = len(self._structure.tree.joints) if at_positions else 0
            inputs = graph.inputs(sum(self.sizes) + tree)
            run = ForwardDynamics(
                self._description, self._structure, inputs, self._setting, True, at_positions
            )
            rates = rates_of(run)
            text = row_function(graph, rates, 'rates')
            text += row_function(graph, report_of(run), 'report')
            return text if at_positions else text + self._step(len(rates))

        depends_on = [Identity(self._description, self._structure), self._setting]
        try:
            return library(f'forward dynamics, at positions: {at_positions}', text, depends_on)
        except TooLargeError as error:
            self.reason = str(error)
            return None

    def _step(self, outputs: int) -> str:
        """Function ``step``, which calls ``rates``."""
        graph = Graph()
        # Three rows of efforts, and the length of the step in place of ``settle``.
        *numbers, length = graph.inputs(sum(self.sizes) + 2 * self.sizes[3])

        def rates(numbers: list[Any]) -> list[Any]:
            return recorded_call(graph, 'rates', outputs, numbers)

        return row_function(graph, step(rates, numbers, self.sizes, length), 'step')
