# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is computed for a mechanism by machine code of its own."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.engine.traced.identity import Identity
from masticator_dynamics.engine.traced.numbers import Number
from masticator_dynamics.engine.traced.row_code import NONE, RowCode

if TYPE_CHECKING:
    from masticator_dynamics.engine.traced.variable import Variable

Row = list[Any]
Function = Callable[..., list[Any]]  # output numbers of an evaluation, see `outputs.py`
VALID, CLOSURE, BALANCE, EFFORT = 0, 1, 2, 3  # first columns of the outputs
MOST_OPERATIONS = 60_000  # unrolled; compiling grows faster than this
_Given = ParamSpec('_Given')
_Made = TypeVar('_Made')


def _once(
    make: Callable[Concatenate[Kernels, _Given], _Made],
) -> Callable[Concatenate[Kernels, _Given], _Made]:
    """A method whose result for the same arguments is made once, for as long as its object is."""

    @functools.wraps(make)
    def found(self: Kernels, /, *of: _Given.args, **named: _Given.kwargs) -> _Made:
        key = f'{make.__name__} {of} {named}'
        if key not in self.made:
            self.made[key] = make(self, *of, **named)
        made: _Made = self.made[key]
        return made

    return found


class Kernels:
    """Machine code of one mechanism, each made when first needed.

    Inputs are y, y_dot, y_ddot and wrench; see :class:`Code` for more. Outputs of most are 1 where
    they are valid and 0 where the reference must be used, then closure residual, balance residual,
    efforts and multipliers.

    Parameters
    ----------
    driving : sequence of str
        Powered actuators.
    variable : Variable, optional
        Numbers of the mechanism that are inputs of its code; description and structure are then
        those before anything was changed.
    """

    def __init__(
        self,
        description: MechanismDescription,
        structure: Structure,
        driving: Sequence[str],
        variable: Variable | None = None,
    ):
        self.description, self.structure, self.variable = description, structure, variable
        self.constants = NONE if variable is None else variable.numbers
        self.driving, self.made = tuple(driving), dict[str, Any]()
        self.freedoms, self.actuators = len(description.independent), len(description.actuated)
        self.rows = sum(c.size for c in structure.constraints)
        self.outputs = EFFORT + self.actuators + self.rows
        self.tree = len(structure.tree.joints)
        self.width = 5 + self.tree * (3 + self.freedoms) + self.actuators + self.rows
        self.inputs = 3 * self.freedoms + 6

    @property
    def available(self) -> bool:
        """Whether there is machine code for this mechanism; else only the reference serves it."""
        return self.evaluate.available

    @property
    def reason(self) -> str:
        """Why there is none."""
        return self.evaluate.reason

    @functools.cached_property
    def evaluate(self) -> Code:
        """Outputs (..., outputs) for inputs (..., inputs), one row or many."""
        return Code(self, 'row', lambda run: _outputs().efforts(run), self.outputs)

    @functools.cached_property
    def from_home(self) -> RowCode:
        """Whether floats are not needed, then a whole row, efforts and multipliers zero.

        Loops are closed in as many steps as it takes; the wrench does not matter.
        """

        def function(inputs: Sequence[Any], share: bool) -> list[Any]:
            from masticator_dynamics.engine.traced.from_home import ClosedFromHome

            of = self.recorded(inputs[self.inputs :])
            return _outputs().closed(ClosedFromHome(*of, inputs[: self.inputs]))

        return RowCode(
            'closed from home', self.inputs, 1 + self.width, function,
            lambda: self.identity[:-1], largest=MOST_OPERATIONS, constants=self.constants,
            impossible='' if self.freedoms else 'it has no freedoms',
        )  # fmt: skip

    @functools.cached_property
    def everything(self) -> Code:
        """Whether it is valid, as :attr:`evaluate`, then a whole row (``Model.slices``)."""
        return Code(self, 'whole row', lambda run: _outputs().solved(run), 1 + self.width)

    @functools.cached_property
    def motion(self) -> Code:
        """Motions of rows known to be valid: whole rows without report and forces."""
        outputs = self.tree * (3 + self.freedoms)
        return Code(self, 'motion', lambda run: _outputs().motion(run), outputs, streamed=True)

    @_once
    def best(self, goals: Mapping[str, float], friction: bool, proven: bool = False) -> Code:
        """Outputs of :attr:`evaluate`, with the best efforts for a goal.

        ``proven``: only where few operations prove that they are, see ``proven_pattern.py``.
        """
        kind = f'row, {sorted(goals.items())}, friction {friction}, proven {proven}'
        return Code(
            self, kind, lambda run: _outputs().best_efforts(goals, friction, run, proven),
            self.outputs,
        )  # fmt: skip

    @functools.cached_property
    def gap(self) -> Code:
        """The largest gap, m, for inputs followed by positions of all joints."""
        return Code(self, 'gap', lambda run: [run.closure_residual()], 1, at_positions=True)

    @functools.cached_property
    def bodies(self) -> Code:
        """What it takes to carry each body, see `outputs.bodies`."""
        return Code(
            self,
            'bodies',
            lambda run: _outputs().bodies(run),
            4 + 18 * self.tree,
            at_positions=True,
        )

    def distribution(
        self, goals: Mapping[str, float], friction: bool, exhaustive: bool = False
    ) -> Code:
        """As :attr:`everything`, with the best efforts for a goal and what ``Effort`` adds.

        Parameters
        ----------
        goals : mapping of str to float
            Weights of goals.
        friction : bool
            Of contacts and actuated joints.
        exhaustive : bool, optional
            Search every sign pattern to the end.
        """
        kind = f'{sorted(goals.items())}, friction {friction}, exhaustive {exhaustive}'
        width = 1 + 4 * self.actuators + 3 * len(self.description.contacts) + self.freedoms
        return Code(
            self, kind, lambda run: _outputs().distributed(goals, friction, exhaustive, run),
            self.everything.outputs + width,
        )  # fmt: skip

    # Within limits: inputs are followed by these, as `LoadBounds.of` takes them

    @_once
    def within(self, goals: Mapping[str, float], friction: bool, proven: bool, finite: str) -> Code:
        """As :meth:`best`, valid where the efforts keep limits that do not enter their choice."""
        return Code(
            self,
            f'row within, {sorted(goals.items())}, friction {friction}, proven {proven}, {finite}',
            lambda run, rest, *_: _outputs().efforts_within(
                goals, friction, proven, self._bounds(finite, rest), run
            ),
            self.outputs, more=finite.count('1') + 1,
        )  # fmt: skip

    @_once
    def limited(
        self, goals: Mapping[str, float], friction: bool, finite: str, how: str = '',
        whole: bool = True,
    ) -> Code:  # fmt: skip
        """The best efforts within limits; -1 instead of 1 where certainly none are.

        Parameters
        ----------
        how : str
            'nearest': at the nearest accelerations at which some are. 'thorough', on floats only,
            or 'excess': keywords of `LimitedChoice`.
        whole : bool
            As :meth:`distribution`; else as :attr:`evaluate`.
        """
        keywords = {how: True} if how in ('thorough', 'excess') else {}

        def function(run: Any, rest: Sequence[Any], moved: Any, y_ddot: Row) -> list[Any]:
            bounds, given_up = self._bounds(finite, rest), None
            if how == 'nearest':
                run, given_up = _module('nearest_motion').nearest(
                    run, moved, y_ddot, bounds, friction
                )
            choice = _module('limited_efforts').LimitedChoice(run, bounds, **keywords)
            return list(_outputs().limited(goals, friction, whole, run, choice, given_up))

        return Code(
            self,
            f'limited, {sorted(goals.items())}, friction {friction}, {finite}, {how}, {whole}',
            function, self.distribution(goals, friction).outputs if whole else self.outputs,
            more=finite.count('1') + 1,
        )  # fmt: skip

    def _bounds(self, finite: str, numbers: Sequence[Any]) -> Any:
        contacts = len(self.description.contacts)
        return _module('load_bounds').LoadBounds.of(finite, numbers, self.actuators, contacts)

    # Derivatives, by y, y_dot, y_ddot and wrench: see `traced/derivatives.py`

    @functools.cached_property
    def derivatives(self) -> Code:
        """Whether it is valid, efforts of least norm, their derivatives, row by row."""
        return self._derived(
            'efforts', self.actuators, lambda run: _derivatives().efforts(run, self.inputs)
        )

    @_once
    def contact_derivatives(self, rows: Sequence[int]) -> Code:
        """The same for the multipliers of contacts."""
        return self._derived(
            'contacts', len(rows), lambda run: _derivatives().contacts(run, self.inputs, rows)
        )

    def _derived(self, kind: str, count: int, function: Function) -> Code:
        outputs = 1 + count * (1 + self.inputs)
        return Code(self, f'derivatives of {kind}', function, outputs, large=2)

    def best_derivatives(
        self, goals: Mapping[str, float], friction: bool, rows: Sequence[int]
    ) -> Code:
        """The same for the best efforts for a goal, and multipliers of contacts.

        Whether it is valid is followed by :meth:`Distribution.smooth`.
        """
        before = 1 + len(rows) + self.tree
        return Code(
            self, f'derivatives, {sorted(goals.items())}, friction {friction}',
            lambda run: _derivatives().best_efforts(run, goals, friction, self.inputs, rows),
            before + (self.actuators + len(rows)) * (1 + self.inputs),
        )  # fmt: skip

    def derivatives_at_best(
        self, goals: Mapping[str, float], friction: bool, rows: Sequence[int]
    ) -> RowCode:
        """The same where the best efforts are known, for rows that are handed over.

        Inputs are followed by positions of all joints, efforts of the actuators less the friction
        of their joints, and multipliers of the contacts.
        """
        first = self.inputs + self.tree
        last = first + self.actuators
        end = last + len(rows)

        def function(inputs: Sequence[Any], share: bool) -> list[Any]:
            run = self.run(inputs[:first], share, True, inputs[end:])
            chosen = goals, friction, inputs[first:last], inputs[last:end]
            best = _derivatives().BestEfforts(run, *chosen)
            return list(best.outputs(self.inputs, rows))

        return RowCode(
            f'derivatives at the best, {sorted(goals.items())}, friction {friction}',
            end, self.best_derivatives(goals, friction, rows).outputs, function,
            lambda: self.identity, largest=MOST_OPERATIONS, constants=self.constants,
        )  # fmt: skip

    @_once
    def imbalance_derivatives(self, friction: bool) -> RowCode:
        """Whether it is valid, and derivatives of accelerations; see `derivatives.imbalance`.

        Inputs are followed by positions of all joints, efforts and amounts of friction.
        """
        first, contacts = self.inputs + self.tree, len(self.description.contacts)
        amounts = (self.actuators + contacts) * friction
        last = first + self.actuators + amounts
        smooth = (contacts + self.tree) * friction

        def function(inputs: Sequence[Any], share: bool) -> list[Any]:
            run = self.run(inputs[:first], False, True, inputs[last:])
            return list(_derivatives().imbalance(run, inputs[first:last], first))

        columns = 2 * self.freedoms + self.actuators + 6
        return RowCode(
            f'derivatives of the imbalance, friction {friction}', last,
            1 + smooth + self.freedoms * columns, function, lambda: self.identity,
            largest=2 * MOST_OPERATIONS, constants=self.constants,
        )  # fmt: skip

    @functools.cached_property
    def positions(self) -> Code:
        """Whether it is valid, and positions of all joints."""
        return Code(self, 'positions', lambda run: [run.valid(), *run.positions()], 1 + self.tree)

    @_once
    def parameter_derivatives(self, places: tuple[int, ...], at_positions: bool = False) -> RowCode:
        """Whether it is valid, efforts, and their derivatives by some of the constants."""
        return self._by_parameters(
            'derivatives', places, at_positions, self.actuators * (1 + len(places)),
            lambda run, _, inputs: _derivatives().by_parameters(run, inputs),
        )  # fmt: skip

    @_once
    def parameter_gradient(self, places: tuple[int, ...], at_positions: bool = False) -> RowCode:
        """Whether it is valid, and derivatives of a weighted sum of efforts by some constants.

        Inputs are followed by the weights.
        """
        return self._by_parameters(
            'gradient', places, at_positions, len(places),
            lambda run, weights, inputs: _derivatives().gradient(run, weights, inputs),
            self.actuators,
        )  # fmt: skip

    @_once
    def position_derivatives(self, places: tuple[int, ...], at_positions: bool = False) -> RowCode:
        """Whether it is valid, actuated positions, and their derivatives (n_u, n_y) and (n_u, n_p).

        By the independent positions, and by some of the constants.
        """
        return self._by_parameters(
            'positions', places, at_positions, self.actuators * (1 + self.freedoms + len(places)),
            lambda run, _, inputs: _derivatives().positions_by_parameters(run, inputs),
        )  # fmt: skip

    def _by_parameters(
        self, kind: str, places: tuple[int, ...], at_positions: bool, count: int,
        derivatives: Callable[[Any, Sequence[Any], list[int]], Sequence[Any]], weights: int = 0,
    ) -> RowCode:  # fmt: skip
        first = self.inputs + self.tree * at_positions
        last = first + weights
        inputs = [last + place for place in places]

        def function(numbers: Sequence[Any], share: bool) -> list[Any]:
            run = self.run(numbers[:first], False, at_positions, numbers[last:])
            return list(derivatives(run, numbers[first:last], inputs))

        return RowCode(
            f'{kind} by parameters', last, 1 + count, function,
            lambda: [*self.identity, places, at_positions],
            largest=3 * MOST_OPERATIONS, constants=self.constants,
        )  # fmt: skip

    # Machine code

    @functools.cached_property
    def identity(self) -> list[Any]:
        """Everything that the machine code depends on."""
        of = self.variable.of if self.variable else None
        return [of.identity if of else Identity(self.description, self.structure), self.driving]

    def recorded(self, constants: Sequence[Any]) -> tuple[MechanismDescription, Structure]:
        """Description and structure, with some numbers recorded where there are such."""
        if self.variable is None:
            return self.description, self.structure
        if any(isinstance(x, Number) for x in constants):
            return self.variable.of.recorded(constants)
        return self.variable.present

    def run(
        self, numbers: Sequence[Any], share: bool, at_positions: bool, constants: Sequence[Any] = ()
    ) -> Any:
        """An evaluation of inputs.

        Parameters
        ----------
        numbers : sequence
            As for :class:`Code`.
        share : bool
            Limbs of the same kind in lanes, where possible.
        at_positions : bool
            Whether the last inputs are positions.
        constants : sequence
            Recorded numbers of the mechanism itself, if any.
        """
        from masticator_dynamics.engine.traced.inverse_dynamics import InverseDynamics

        end = len(numbers) - self.tree * at_positions
        return InverseDynamics(
            *self.recorded(constants), numbers[:end], self.driving,
            share and end == self.inputs and not self.variable,
            numbers[end:] if at_positions else None,
        )  # fmt: skip


class Code(RowCode):
    """A function of an evaluation of a mechanism.

    Inputs are those of the mechanism's `Kernels`; with ``loads``, wrenches on all bodies follow, in
    base axes, about their origins; with ``at_positions``, positions of all joints at which loops
    are already closed follow these. Longer rows than those without loads have them.

    Parameters
    ----------
    kind : str
        Distinguishes it from others of the mechanism.
    function : callable
        Gives the output numbers of an evaluation.
    outputs : int
        How many they are.
    loads, at_positions : bool
        What follows the inputs.
    more : int
        How many numbers follow all these, in a table the same for all rows. The function then takes
        them, too, a function that gives the evaluation with other accelerations, from what to add,
        and the accelerations.
    streamed : bool
        As for :class:`RowCode`.
    large : int
        How many times as many operations as usual there may be.
    """

    def __init__(
        self,
        kernels: Kernels,
        kind: str,
        function: Function,
        outputs: int,
        *,
        loads: bool = False,
        at_positions: bool = False,
        streamed: bool = False,
        more: int = 0,
        large: int = 1,
    ):
        self._of, self._more, self._large = (kernels, kind, function, outputs), more, large
        self._with_positions = at_positions
        movable = kernels.freedoms and kernels.actuators
        last = kernels.inputs + kernels.tree * (6 * loads + at_positions)
        inputs = last + more

        def recorded(numbers: Sequence[Any], share: bool) -> list[Any]:
            def run(accelerations: Sequence[Any] = ()) -> Any:
                row, first = list(numbers[:last]), 2 * kernels.freedoms
                for f, x in enumerate(accelerations, first):
                    row[f] = row[f] + x
                # What is handed over is iterated to its end, and such loops have no lanes.
                lanes = share and not at_positions
                return kernels.run(row, lanes, at_positions, numbers[inputs:])

            first = 2 * kernels.freedoms
            y_ddot = list(numbers[first : first + kernels.freedoms])
            return function(run(), *([numbers[last:inputs], run, y_ddot] if more else []))

        super().__init__(
            kind, inputs, outputs,
            recorded,
            lambda: [*kernels.identity, loads, at_positions], constants=kernels.constants,
            streamed=streamed, largest=large * MOST_OPERATIONS,
            impossible='' if movable else 'it has no freedoms, or no actuators',
            common=more,
        )  # fmt: skip

    def _for(self, length: int) -> RowCode:
        return self if length <= self.inputs else self._with_loads

    @functools.cached_property
    def _with_loads(self) -> Code:
        return Code(
            *self._of,
            loads=True,
            at_positions=self._with_positions,
            more=self._more,
            large=self._large,
        )

    @functools.cached_property
    def at_positions(self) -> Code:
        """The same for loops that are already closed."""
        return Code(*self._of, at_positions=True, more=self._more, large=self._large)


def _module(name: str) -> Any:
    """A module beside this one, which only making code needs."""
    return importlib.import_module(f'{__package__}.{name}')


def _outputs() -> Any:
    return _module('outputs')


def _derivatives() -> Any:
    return _module('derivatives')
