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
from masticator_dynamics.engine.traced.c_statements import CFunction, declaration, literal
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
        return _HEADER.format(
            name=self._name, upper=self._name.upper(), most=MOST_STEPS,
            frames=len(self._frames()), **declared,
        )  # fmt: skip

    def source(self) -> str:
        """Constants, and functions written out; :meth:`functions` come before."""
        return _SOURCE.format(
            name=self._name, upper=self._name.upper(), most=MOST_STEPS, largest=LARGEST_CHANGE,
            converged=CONVERGED, constants='\n'.join(self._constants()),
        )  # fmt: skip

    def _constants(self) -> Iterable[str]:
        description, structure, upper = self._description, self._structure, self._name.upper()
        groups = {'freedom': description.independent, 'actuator': description.actuated}
        for group, names in groups.items():
            of, size = f'{self._name}_{group}', f'{upper}_{group.upper()}S'
            joints = [structure.tree.joints[structure.index(name)] for name in names]
            texts = ', '.join(f'"{_escaped(name)}"' for name in names)
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
        texts = ', '.join(f'"{_escaped(name)}"' for name in fixed)
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


def _escaped(text: str) -> str:
    """A text between quotes in C."""
    return text.replace('\\', '\\\\').replace('"', '\\"')


_HEADER = """
/* For controllers: names, ranges, and the pose that measured joints tell.
 *
 * Ranges are those of the joints in the URDF, in m and rad, and of their speeds, per s; HUGE_VAL
 * stands for none. Efforts are the lowest and highest of the motors, N m or N. All functions
 * return 0; 1 if nothing counts, and results are left as they were; 2 if a coordinate or motor is
 * outside its range.
 */
extern const char *const {name}_freedom_names[{upper}_FREEDOMS];
extern const double {name}_freedom_lower[{upper}_FREEDOMS];
extern const double {name}_freedom_upper[{upper}_FREEDOMS];
extern const double {name}_freedom_velocity[{upper}_FREEDOMS];
extern const char *const {name}_actuator_names[{upper}_ACTUATORS];
extern const double {name}_actuator_lower[{upper}_ACTUATORS];
extern const double {name}_actuator_upper[{upper}_ACTUATORS];
extern const double {name}_actuator_velocity[{upper}_ACTUATORS];
extern const double {name}_actuator_effort_lower[{upper}_ACTUATORS];
extern const double {name}_actuator_effort_upper[{upper}_ACTUATORS];
extern const double {name}_home[{upper}_FREEDOMS];

/* Frames in which a wrench on the platform may be given. Those fixed to the platform are given in
 * its axes and from its origin, others in the base: rotation, row by row, and origin, m.
 */
#define {upper}_FRAMES {frames}
extern const char *const {name}_frame_names[{upper}_FRAMES];
extern const int {name}_frame_on_platform[{upper}_FRAMES];
extern const double {name}_frame_rotation[9 * {upper}_FRAMES];
extern const double {name}_frame_origin[3 * {upper}_FRAMES];

/* A motion, and how it fits what was measured. It belongs to the caller, who keeps it for the next
 * search, which begins there: all zeros but y = {name}_home at first.
 */
typedef struct {{
  double y[{upper}_FREEDOMS];      /* independent positions */
  double y_dot[{upper}_FREEDOMS];  /* per s */
  double y_ddot[{upper}_FREEDOMS]; /* per s^2 */
  double off[{upper}_ACTUATORS];   /* measured positions less those of the closed mechanism */
  double residual;                 /* largest amount of these, rad or m */
  double change;                   /* largest of a motor in the search, rad or part of its travel */
  double conditioning;             /* of the pose by the motors: 1 as at home, 0 if singular */
  int steps;                       /* of the search, each as long as a kinematic evaluation */
}} {name}_motion;

/* The motion whose actuated joints fit measured positions q, velocities q_dot and accelerations
 * q_ddot best, by least squares: encoders of redundant motors never quite agree. The caller decides
 * how large a residual is accepted, how large a change and how small a conditioning: beyond a
 * singularity another pose may fit as well, to which a search from far away may lead. It begins at
 * motion->y, once more at home if it cannot there, and takes {most} steps at most.
 *
 * Returns 1, with the motion as it was, if no pose fits, the motors do not determine it there, or a
 * number is not finite.
 */
int {name}_fit(const double *q, const double *q_dot, const double *q_ddot,
    {name}_motion *motion);

/* The efforts of that motion, {name}_fit and {name}_inverse_dynamics
 * in one. Returns 1, with motion and efforts as they were, if either does. */
int {name}_measured(const double *q, const double *q_dot, const double *q_ddot,
    const double *wrench, {name}_motion *motion, double *effort);

/* Velocities and accelerations of the independent coordinates at a pose, by least squares. */
{rates};

/* Actuated positions q at a pose. Their velocities are jacobian y_dot, their accelerations
 * jacobian y_ddot + drift; jacobian[{upper}_FREEDOMS * i + k] is that of motor i by
 * coordinate k. */
{actuated};

/* Equations of motion, mass y_ddot + bias = generalised forces of motors and environment: mass
 * matrix of the independent coordinates, row by row, rotors included; bias with gravity and
 * springs, without friction. */
{equations};

/* Axes of the platform's frame in the base, row by row, and its origin, m, at a pose. */
{platform};

/* Adds to a wrench, as {name}_inverse_dynamics takes it, one that is measured in the axes of frame
 * number `axes`, its force acting at the origin of frame number `point`, at a pose. */
int {name}_add_wrench(const double *y, int axes, int point, const double *measured, double *wrench);
"""

_SOURCE = """
{constants}

#define MOST_STEPS {most}
#define LARGEST_CHANGE {largest} /* of a motor in a step, rad or part of its travel */
#define CONVERGED {converged} /* what is left after a step is about its square */

int {name}_fit(const double *q, const double *q_dot, const double *q_ddot,
    {name}_motion *motion)
{{
  {name}_motion at = *motion;
  double step[{upper}_FREEDOMS], next[{upper}_FREEDOMS], change[1];
  double part;
  int i, within, home = 0;

  at.steps = 1;
  while (approach(at.y, q, step, change, at.off, &at.conditioning) != 0) {{
    if (home++) {{ /* there, too */
      return 1;
    }}
    for (i = 0; i < {upper}_FREEDOMS; ++i) {{
      at.y[i] = {name}_home[i];
    }}
  }}
  at.change = change[0];
  while (change[0] > CONVERGED) {{
    part = change[0] > LARGEST_CHANGE ? LARGEST_CHANGE / change[0] : 1.0;
    for (;; part *= 0.5) {{
      if (++at.steps > MOST_STEPS) {{
        return 1;
      }}
      for (i = 0; i < {upper}_FREEDOMS; ++i) {{
        next[i] = at.y[i] + part * step[i];
      }}
      if (approach(next, q, step, change, at.off, &at.conditioning) == 0) {{
        break;
      }}
    }}
    for (i = 0; i < {upper}_FREEDOMS; ++i) {{
      at.y[i] = next[i];
    }}
  }}
  at.residual = 0.0;
  for (i = 0; i < {upper}_FREEDOMS; ++i) {{
    at.y[i] += step[i];
  }}
  for (i = 0; i < {upper}_ACTUATORS; ++i) {{
    at.residual = fabs(at.off[i]) > at.residual ? fabs(at.off[i]) : at.residual;
  }}
  within = {name}_rates(at.y, q_dot, q_ddot, at.y_dot, at.y_ddot);
  if (within != 1) {{
    *motion = at;
  }}
  return within;
}}

static void turned(const double *rotation, const double *x, double *result)
{{
  const double a = x[0], b = x[1], c = x[2];
  int i;

  for (i = 0; i < 3; ++i) {{
    result[i] = rotation[3 * i] * a + rotation[3 * i + 1] * b + rotation[3 * i + 2] * c;
  }}
}}

int {name}_add_wrench(const double *y, int axes, int point, const double *measured, double *wrench)
{{
  const double *frame = {name}_frame_rotation + 9 * axes, *at = {name}_frame_origin + 3 * point;
  double rotation[9], origin[3], force[3], torque[3], arm[3];
  int i, status = {name}_platform(y, rotation, origin);

  if (status == 1) {{
    return status;
  }}
  turned(frame, measured, force);
  turned(frame, measured + 3, torque);
  if ({name}_frame_on_platform[axes]) {{
    turned(rotation, force, force);
    turned(rotation, torque, torque);
  }}
  for (i = 0; i < 3; ++i) {{
    arm[i] = at[i] - ({name}_frame_on_platform[point] ? 0.0 : origin[i]);
  }}
  if ({name}_frame_on_platform[point]) {{
    turned(rotation, arm, arm);
  }}
  for (i = 0; i < 3; ++i) {{
    wrench[i] += force[i];
    wrench[3 + i] += torque[i] + arm[(i + 1) % 3] * force[(i + 2) % 3] -
      arm[(i + 2) % 3] * force[(i + 1) % 3];
  }}
  return status;
}}

int {name}_measured(const double *q, const double *q_dot, const double *q_ddot,
    const double *wrench, {name}_motion *motion, double *effort)
{{
  {name}_motion at = *motion;
  int status = {name}_fit(q, q_dot, q_ddot, &at);

  if (status != 1) {{
    status = {name}_inverse_dynamics(at.y, at.y_dot, at.y_ddot, wrench, effort);
  }}
  if (status != 1) {{
    *motion = at;
  }}
  return status;
}}
"""
