# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a controller on a robot needs besides the efforts, as C: its pose from measured joints.

Independent coordinates fit the measured actuated joints by Gauss-Newton on the closed mechanism, as
``evaluation/actuated_fit.py`` does; a step is one recorded function, so that C repeats it only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.actuated_step import (
    LARGEST_CHANGE,
    conditioning,
    fitted_step,
)
from masticator_dynamics.engine.traced.c_statements import (
    CFunction,
    c_text,
    declaration,
    literal,
    quoted,
)
from masticator_dynamics.engine.traced.equations_of_motion import TracedEquationsOfMotion
from masticator_dynamics.engine.traced.kernels import MOST_OPERATIONS
from masticator_dynamics.engine.traced.numbers import Graph, Scalar, lesser
from masticator_dynamics.engine.traced.vectors import Vector

PRECISE_IN_C = 0.025  # see `Closing.require`; nothing else takes over the rest
CONVERGED = 1e-9  # likewise, of the last step: what is left is about its square
MOST_STEPS = 50


class Controller:
    """Functions of a mechanism for controllers, as C.

    Parameters
    ----------
    name : str
        Of the mechanism in C.
    effort_range : pair of array, shape (n_u,)
        Lowest and highest effort of each motor, N m or N; infinite where there is none.
    """

    def __init__(
        self, name: str, description: MechanismDescription, structure: Structure,
        effort_range: tuple[FloatArray, FloatArray],
    ):  # fmt: skip
        self._effort_range = effort_range
        self._name, self._description, self._structure = name, description, structure
        self._freedoms, self._motors = len(description.independent), len(description.actuated)

    def functions(self) -> list[CFunction]:
        """Recorded functions; the first is for the others' use alone."""
        return [
            self._approach(), self._rates(), self._actuated(), self._equations(), self._platform(),
        ]  # fmt: skip

    def _run(self, y: Vector, y_dot: Vector, y_ddot: Vector) -> TracedEquationsOfMotion:
        motion, inputs = (y, y_dot, y_ddot), [*y, *y_dot, *y_ddot]
        run = TracedEquationsOfMotion(
            self._description, self._structure, inputs, motion, [0.0] * 6, (), False
        )
        for closing in run.closings:
            closing.require(PRECISE_IN_C)
        return run

    def _function(
        self, name: str, arrays: dict[str, int], of: tuple[Graph, TracedEquationsOfMotion],
        results: Mapping[str, Sequence[Any]], guard: Scalar, within: Scalar, static: bool = False,
    ) -> CFunction:  # fmt: skip
        graph, run = of
        comments, part = run.comments, f'_{name}'
        return CFunction(
            name, graph, arrays, results, guard, within, comments, part=part, static=static
        )

    def _approach(self) -> CFunction:
        """A step towards measured actuated positions."""
        n, graph = self._freedoms, Graph(MOST_OPERATIONS)
        inputs = graph.inputs(n + self._motors)
        still = [0.0] * n
        run = self._run(inputs[:n], still, still)
        off = vec.subtract(inputs[n:], run.of_actuated(run.positions()))
        change, step = fitted_step(run, off)
        guard = lesser(run.valid(), change + 0.5)
        results = {
            'step': step,
            'change': [change],
            'off': off,
            'conditioning': [conditioning(run)],
        }
        return self._function(
            'approach', {'y': n, 'q': self._motors}, (graph, run), results, guard, 1.0, static=True
        )

    def _rates(self) -> CFunction:
        """Independent velocities and accelerations of measured ones."""
        n, motors, graph = self._freedoms, self._motors, Graph(MOST_OPERATIONS)
        inputs = graph.inputs(n + 2 * motors)
        y, q_dot, q_ddot = inputs[:n], inputs[n : n + motors], inputs[n + motors :]
        still = [0.0] * n
        run = self._run(y, still, still)
        change, y_dot = fitted_step(run, q_dot)
        moving = self._run(y, y_dot, still)
        drift = moving.of_actuated(moving.accelerations())
        _, y_ddot = fitted_step(run, vec.subtract(q_ddot, drift))
        guard = lesser(moving.valid(), change + 0.5)
        return self._function(
            f'{self._name}_rates', {'y': n, 'q_dot': motors, 'q_ddot': motors}, (graph, moving),
            {'y_dot': y_dot, 'y_ddot': y_ddot}, guard, run.within_ranges(),
        )  # fmt: skip

    def _actuated(self) -> CFunction:
        """Actuated positions, their Jacobian and how its change accelerates them."""
        n, graph = self._freedoms, Graph(MOST_OPERATIONS)
        inputs = graph.inputs(2 * n)
        run = self._run(inputs[:n], inputs[n:], [0.0] * n)
        results = {
            'q': run.of_actuated(run.positions()),
            'jacobian': run.of_actuated(run.tangent()),
            'drift': run.of_actuated(run.accelerations()),
        }
        return self._function(
            f'{self._name}_actuated', {'y': n, 'y_dot': n}, (graph, run), results, run.valid(),
            run.within_ranges(),
        )  # fmt: skip

    def _equations(self) -> CFunction:
        """Mass matrix and bias of the independent coordinates."""
        n, graph = self._freedoms, Graph(MOST_OPERATIONS)
        inputs = graph.inputs(2 * n)
        run = self._run(inputs[:n], inputs[n:], [0.0] * n)
        results = {'mass': vec.flat(run.mass), 'bias': run.bias()}
        return self._function(
            f'{self._name}_equations', {'y': n, 'y_dot': n}, (graph, run), results, run.valid(),
            run.within_ranges(),
        )  # fmt: skip

    def _platform(self) -> CFunction:
        """Pose of the platform's frame."""
        n, graph = self._freedoms, Graph(MOST_OPERATIONS)
        inputs = graph.inputs(n)
        still = [0.0] * n
        run = self._run(inputs, still, still)
        frame = self._structure.tree.frames[self._description.platform]
        body = run.plan.body(frame.body)
        rotation = vec.product(body.rotation, frame.rotation.tolist())
        return self._function(
            f'{self._name}_platform', {'y': n}, (graph, run),
            {'rotation': vec.flat(rotation), 'origin': body.point(frame.position.tolist())},
            run.valid(), run.within_ranges(),
        )  # fmt: skip

    def _frames(self) -> dict[str, tuple[bool, FloatArray, FloatArray]]:
        """Frames fixed to the platform (in its axes, from its origin) or to the base.

        By name: whether it is the platform, rotation (3, 3) and origin (3,) m.
        """
        frames = self._structure.tree.frames
        platform = frames[self._description.platform]
        fixed = {}
        for name, frame in frames.items():
            if frame.body == platform.body:
                back = platform.rotation.T
                arm = back @ (frame.position - platform.position)
                fixed[name] = True, back @ frame.rotation, arm
            elif frame.body < 0:
                fixed[name] = False, frame.rotation, frame.position
        return fixed

    def header(self, functions: Sequence[CFunction]) -> str:
        """Declarations and what they mean."""
        declared = {f.name.removeprefix(f'{self._name}_'): declaration(f.name, f.arguments)
                    for f in functions}  # fmt: skip
        return c_text('controller.h', self._name, most=MOST_STEPS, frames=len(self._frames()),
                      **declared)  # fmt: skip

    def source(self) -> str:
        """Constants, and functions written out; :meth:`functions` come before."""
        return c_text('controller.c', self._name, most=MOST_STEPS, largest=LARGEST_CHANGE,
                      converged=CONVERGED, constants='\n'.join(self._constants()))  # fmt: skip

    def _constants(self) -> Iterable[str]:
        description, structure, upper = self._description, self._structure, self._name.upper()
        groups = {'freedom': description.independent, 'actuator': description.actuated}
        for group, names in groups.items():
            of, size = f'{self._name}_{group}', f'{upper}_{group.upper()}S'
            joints = [structure.tree.joints[structure.index(name)] for name in names]
            texts = ', '.join(quoted(name) for name in names)
            yield f'const char *const {of}_names[{size}] = {{{texts}}};'
            for bound in ('lower', 'upper', 'velocity'):
                yield _array(f'{of}_{bound}', size, [getattr(joint, bound) for joint in joints])
        for bound, efforts in zip(('lower', 'upper'), self._effort_range, strict=True):
            yield _array(f'{self._name}_actuator_effort_{bound}', f'{upper}_ACTUATORS', efforts)
        home = [structure.home[structure.index(name)] for name in description.independent]
        yield _array(f'{self._name}_home', f'{upper}_FREEDOMS', home)
        yield from self._frame_constants()

    def _frame_constants(self) -> Iterable[str]:
        fixed, of, size = self._frames(), f'{self._name}_frame', f'{self._name.upper()}_FRAMES'
        texts = ', '.join(quoted(name) for name in fixed)
        yield f'const char *const {of}_names[{size}] = {{{texts}}};'
        moving, rotations, origins = zip(*fixed.values(), strict=True)
        yield f'const int {of}_on_platform[{size}] = {{{", ".join(str(int(x)) for x in moving)}}};'
        for what, numbers in (('rotation', rotations), ('origin', origins)):
            flat = [x for each in numbers for x in each.ravel().tolist()]
            yield _array(f'{of}_{what}', f'{len(flat) // len(fixed)} * {size}', flat)


def _array(name: str, size: str, numbers: Iterable[float]) -> str:
    texts = [('-' if x < 0 else '') + 'HUGE_VAL' if abs(x) == float('inf') else literal(x)
             for x in numbers]  # fmt: skip
    return f'const double {name}[{size}] = {{{", ".join(texts)}}};'
