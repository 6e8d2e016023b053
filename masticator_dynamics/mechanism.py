# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A closed-loop mechanism: the public face of the engine."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from masticator_dynamics.description import load_description
from masticator_dynamics.engine.evaluation.answered import answered
from masticator_dynamics.engine.evaluation.dynamics import Dynamics
from masticator_dynamics.engine.evaluation.kinematics import Kinematics
from masticator_dynamics.engine.evaluation.packing import pack_state
from masticator_dynamics.engine.evaluation.parameter_methods import ParameterMethods
from masticator_dynamics.engine.evaluation.quick_effort import QuickEffort
from masticator_dynamics.engine.evaluation.results import (
    Attempts,
    Effort,
    Motion,
    SolvedMotion,
    check_effort,
    check_motion,
)
from masticator_dynamics.engine.status import OUTSIDE_RANGES
from masticator_dynamics.engine.traced import kernels
from masticator_dynamics.engine.traced.effort_goals import Goal
from masticator_dynamics.engine.traced.python_entry import Answer
from masticator_dynamics.errors import DescriptionError, InputError
from masticator_dynamics.interchange.bridged import Bridged
from masticator_dynamics.limits.effort_rows import EffortOptions, EffortRows, LinkWrenches

# The rest is imported where it is used: a process that only computes efforts needs none of it.
if TYPE_CHECKING:
    from masticator_dynamics.engine.evaluation.effort_derivatives import EffortDerivatives
    from masticator_dynamics.limits.load_limits import LoadLimits
    from masticator_dynamics.limits.ranges import RangeViolation


def _answers_of_motion(mechanism: Mechanism) -> list[Answer]:
    of, width = mechanism.kernels, mechanism.solver.width
    return [
        Answer(of.everything, 1, (width,), numbers=np.zeros(6), result=SolvedMotion,
               kept=of.inputs)
    ]  # fmt: skip


def _answers_with_efforts(
    mechanism: Mechanism, link_wrenches: object, goal: Goal, friction: bool,
    limits: LoadLimits | bool, nearest: bool,
) -> list[Answer]:  # fmt: skip
    options = EffortOptions(goal, friction, limits, nearest)
    if link_wrenches is not None or not isinstance(goal, str):
        return []
    return mechanism.effort_answers(options)


def _answers_at_motion(mechanism: Mechanism, *choices: Any) -> list[Answer]:
    rates = {'motion': [(0, 3 * len(mechanism.independent))], 'wrench': [(0, 6)]}
    return [a._replace(parts=rates) for a in _answers_with_efforts(mechanism, *choices)]


def _answers_with_derivatives(mechanism: Mechanism, goal: Goal, friction: bool) -> list[Answer]:
    from masticator_dynamics.engine.evaluation.effort_derivatives import derivatives_kind

    if not isinstance(goal, str):
        return []
    code, result = derivatives_kind(mechanism, goal, friction)
    shape = (len(mechanism.actuated),)
    return [Answer(code, result.before, shape, result=result, kept=mechanism.kernels.inputs)]


class Mechanism(Bridged, Dynamics, Kinematics, ParameterMethods, EffortRows):
    """A mechanism ready for evaluation.

    Three spaces: *tree* coordinates q (all joints), *independent* coordinates y (the degrees of
    freedom) and *actuated* coordinates u. Wrenches on the platform are force and torque in base
    axes, torque about the origin of the platform frame, environment on platform.

    Parameters
    ----------
    description : MechanismDescription
        Contents of the description files.
    actuators : sequence of str, optional
        The powered subset of the actuated joints; the others idle with zero effort.
    variable : VariableModel, optional
        Of :meth:`with_parameters`.

    Attributes
    ----------
    name : str
    independent, actuated, tree_joints : tuple of str
        Joints that y, u and q are positions of, in their order (n_y, n_u, n_q).
    driving : tuple of str
        The powered ones of the actuated joints.
    closures, contacts, frames : tuple of str
        Names of loop closures, contacts and URDF links.
    transmission_ratios : array, shape (n_u,)
        Motion of each motor per motion of its joint.
    limits : JointLimits
        ``lower``, ``upper`` (rad or m), ``velocity`` and ``effort`` of the tree joints (n_q,).

    Raises
    ------
    DescriptionError
        When loops do not close at home or do not determine the dependent joints.
    ActuationError
        For an unknown actuator.
    """

    @classmethod
    def load(
        cls, name_or_path: str | pathlib.Path, actuators: Sequence[str] | None = None,
        *, ignore: Sequence[str] = (),
    ) -> Mechanism:  # fmt: skip
        """Load a shipped mechanism by name, or any mechanism from a file.

        Parameters
        ----------
        name_or_path : str or path
            A name, or a YAML file; or one that ``masticator import`` reads (URDF, MJCF, SDF, ...),
            with the choices that it makes by default.
        actuators : sequence of str, optional
            The powered ones of the actuated joints; default: all.
        ignore : sequence of str
            Elements of foreign files to leave out that would be refused, as ``--ignore`` does.

        Raises
        ------
        DescriptionError
            Naming the file, the place in it and what is wrong.
        """
        if not isinstance(name_or_path, str | pathlib.Path):
            raise InputError(f'{name_or_path!r:.60} is neither a name nor a path')
        path = pathlib.Path(name_or_path)
        if path.suffix:
            # Imported here: readers of other formats take longer to import than a robot to load.
            from masticator_dynamics.interchange import file_formats, imported_description

            if file_formats.is_foreign(path):
                return cls(imported_description.import_description(path, ignore), actuators)
        if ignore:
            raise DescriptionError(path, 'ignore', 'only files of other tools are read in part')
        return cls(load_description(path), actuators)

    @functools.cached_property
    def home(self) -> Motion:
        """The mechanism at home, at rest."""
        return self.solve(self.home_positions[self.independent_rows])

    # Evaluation

    @answered(_answers_of_motion)
    def solve(
        self,
        y: npt.ArrayLike,
        y_dot: npt.ArrayLike | None = None,
        y_ddot: npt.ArrayLike | None = None,
    ) -> Motion:
        """Motion of the whole tree for independent positions, velocities and accelerations.

        Parameters
        ----------
        y, y_dot, y_ddot : array_like, shape (n_y,)
            rad, m and their time derivatives; omitted derivatives are zero.

        Raises
        ------
        InputError
            For a wrong shape, NaN or infinity.
        ReachError
            When a loop cannot close at ``y`` on the branch continuous with home.
        SingularityError
            When the loops do not determine the velocities at ``y``.
        """
        inputs = pack_state(self._freedoms, y, y_dot, y_ddot, None)
        motion = SolvedMotion.of(self, inputs, self.solver.motions(inputs))
        self._tell_of_ranges(motion.q)
        return motion

    def solve_batch(
        self,
        Y: npt.ArrayLike,
        Y_dot: npt.ArrayLike | None = None,
        Y_ddot: npt.ArrayLike | None = None,
    ) -> Motion:
        """:meth:`solve` for rows (N, n_y): one motion whose fields have a leading axis N.

        What takes a motion takes such a batch, too, and answers with the same leading axis.

        Raises
        ------
        ReachError, SingularityError, InputError
            As for a single call, naming the first row that fails.
        """
        inputs = pack_state(self._freedoms, Y, Y_dot, Y_ddot, None, many=True)
        motion = Motion(self, inputs, self.solver.motions(inputs), self.slices)
        self._tell_of_ranges(motion.q)
        return motion

    def attempt(self, Y: npt.ArrayLike) -> Attempts:
        """:meth:`solve` for many poses at rest, without an error for those that fail.

        For planners, which need to know which poses exist, and why the others do not.

        Parameters
        ----------
        Y : array_like, shape (N, n_y)
            Independent positions, rad or m.

        Raises
        ------
        InputError
            For a wrong shape.
        """
        inputs = pack_state(self._freedoms, Y, None, None, None, many=True)
        return Attempts(self, inputs, self.solver.attempt(inputs))

    @answered(_answers_at_motion, on_branch=True)
    def inverse_dynamics(
        self,
        motion: Motion,
        wrench: npt.ArrayLike | None = None,
        *,
        link_wrenches: LinkWrenches | None = None,
        goal: Goal = 'torque',
        friction: bool = False,
        limits: LoadLimits | bool = False,
        nearest: bool = False,
    ) -> Effort:
        """Actuator efforts for a motion, optimal for a goal, and contact and loop forces.

        Parameters
        ----------
        motion : Motion
            From :meth:`solve`.
        wrench : array_like, shape (6,), optional
            N and N m, environment on platform; omitted is zero.
        link_wrenches : mapping of str to array_like, shape (6,), optional
            Wrenches of the environment on any links, the platform included: by URDF link, force
            (N) and torque (N m) in base axes, the force at the link's origin and the torque about
            it. They add up, also with ``wrench``.
        goal : str or mapping of str to float
            What is minimised: 'torque', 'power', 'joint-force' or 'contact-force' (norms), or
            weights of the squares of several.
        friction : bool
            Include the friction of contacts and actuated joints.
        limits : bool or LoadLimits
            Keep the loads of motors, bearings and contacts within the description's limits, or
            within other limits; by default nothing is limited.
        nearest : bool
            Where no efforts keep the limits, return those for the nearest acceleration for which
            some do, see :attr:`Effort.shortfall`, instead of raising an error.

        Raises
        ------
        InputError
            For a motion of another mechanism, or an unknown link.
        LimitError
            When no efforts keep the limits; says which and by how much.
        ActuationError
            When the powered actuators cannot drive the mechanism.
        SingularityError
            When they lose control only at this pose.
        """
        check_motion(self, motion)
        inputs = pack_state(self._freedoms, motion.y, motion.y_dot, motion.y_ddot, wrench)
        if link_wrenches:
            inputs = self._with_links(inputs, link_wrenches, motion.q)
        options = EffortOptions(goal, friction, limits, nearest)
        # A solved motion is on home's branch; other motions may be on another branch.
        solved = isinstance(motion, SolvedMotion)
        solve = self.solver.rows if solved else self.solver.fallback
        elsewhere = None if solved and options.limits is not False else motion.q
        return self._effort(inputs, options, solve, elsewhere)

    @answered(_answers_with_efforts)
    def feedforward(
        self,
        y: npt.ArrayLike,
        y_dot: npt.ArrayLike | None = None,
        y_ddot: npt.ArrayLike | None = None,
        wrench: npt.ArrayLike | None = None,
        *,
        link_wrenches: LinkWrenches | None = None,
        goal: Goal = 'torque',
        friction: bool = False,
        limits: LoadLimits | bool = False,
        nearest: bool = False,
    ) -> Effort:
        """:meth:`solve` and :meth:`inverse_dynamics` in one call, the fast path.

        With ``link_wrenches`` it takes about as long as the two.

        Parameters
        ----------
        y, y_dot, y_ddot : array_like, shape (n_y,)
            As for :meth:`solve`.
        wrench, link_wrenches, goal, friction, limits, nearest
            As for :meth:`inverse_dynamics`.
        """
        options = EffortOptions(goal, friction, limits, nearest)
        inputs = pack_state(self._freedoms, y, y_dot, y_ddot, wrench)
        if link_wrenches:
            inputs = self._with_links(inputs, link_wrenches)
        return self._effort(inputs, options, self.solver.rows)

    def feedforward_batch(
        self,
        Y: npt.ArrayLike,
        Y_dot: npt.ArrayLike | None = None,
        Y_ddot: npt.ArrayLike | None = None,
        W: npt.ArrayLike | None = None,
        *,
        link_wrenches: LinkWrenches | None = None,
        goal: Goal = 'torque',
        friction: bool = False,
        limits: LoadLimits | bool = False,
        nearest: bool = False,
    ) -> Effort:
        """:meth:`feedforward` for many rows at once; rows do not influence one another.

        Parameters
        ----------
        Y, Y_dot, Y_ddot : array_like, shape (N, n_y)
        W : array_like, shape (N, 6)
        link_wrenches : mapping of str to array_like, shape (6,) or (N, 6)
            As in :meth:`inverse_dynamics`.

        Returns
        -------
        Effort
            All fields with a leading axis of length N.

        Raises
        ------
        ReachError, SingularityError, InputError, LimitError
            As for a single call, naming the first row that fails.
        """
        options = EffortOptions(goal, friction, limits, nearest)
        answer, *others = self.batch_answers(options)
        inputs = pack_state(self._freedoms, Y, Y_dot, Y_ddot, W, many=True)
        if link_wrenches:
            inputs = self._with_links(inputs, link_wrenches)
        result = cast(type[QuickEffort], answer.result)
        kind = result.kind or self.solver.least_norm
        if not (self.kernels.available and answer.code.covers(inputs, answer.numbers)):
            return self._effort(inputs, options, self.solver.rows)
        outputs = answer.code.with_common(inputs, answer.numbers)
        valid = outputs[:, kernels.VALID].copy()  # side by side: they are looked at several times
        uncertain = np.flatnonzero(valid == 0.0)
        for other in others:
            if len(uncertain):
                answers = other.code.with_common(inputs[uncertain], other.numbers)
                outputs[uncertain] = answers
                valid[uncertain] = answers[:, kernels.VALID]
                uncertain = uncertain[answers[:, kernels.VALID] == 0.0]
        whole = functools.partial(self.solver.fallback, kind)
        if result.within:
            whole = functools.partial(result.within.rows, options.nearest)
        handed_over = self.solver.filled_in(outputs, uncertain, kind, inputs, whole)
        effort = result(self, inputs, outputs, handed_over)
        if (valid == OUTSIDE_RANGES).any():
            self._tell_of_ranges(effort.q)
        elif handed_over:
            self._tell_of_ranges(handed_over[1][:, self.slices['q']])
        return effort

    @answered(_answers_with_derivatives)
    def feedforward_derivatives(
        self,
        y: npt.ArrayLike,
        y_dot: npt.ArrayLike | None = None,
        y_ddot: npt.ArrayLike | None = None,
        wrench: npt.ArrayLike | None = None,
        *,
        goal: Goal = 'torque',
        friction: bool = False,
    ) -> EffortDerivatives:
        """Efforts with their exact derivatives by positions, velocities, accelerations and wrench.

        Parameters
        ----------
        y, y_dot, y_ddot, wrench, goal, friction
            As for :meth:`feedforward`. With friction the derivatives hold within the present signs
            of velocities and contact forces.

        Raises
        ------
        SingularityError
            Too near a singularity, or where friction has no derivative: at rest, unless it grows
            over a transition velocity.
        """
        from masticator_dynamics.engine.evaluation.effort_derivatives import effort_derivatives

        inputs = pack_state(self._freedoms, y, y_dot, y_ddot, wrench)
        return effort_derivatives(self, inputs, goal, friction)

    def feedforward_derivatives_batch(
        self,
        Y: npt.ArrayLike,
        Y_dot: npt.ArrayLike | None = None,
        Y_ddot: npt.ArrayLike | None = None,
        W: npt.ArrayLike | None = None,
        *,
        goal: Goal = 'torque',
        friction: bool = False,
    ) -> EffortDerivatives:
        """:meth:`feedforward_derivatives` for rows (N, ...); an error names the row."""
        from masticator_dynamics.engine.evaluation.effort_derivatives import effort_derivatives

        inputs = pack_state(self._freedoms, Y, Y_dot, Y_ddot, W, many=True)
        return effort_derivatives(self, inputs, goal, friction)

    def load_code(self, goal: Goal = 'torque', friction: bool = False) -> None:
        """Load all code that efforts for a goal may need, compiling what is not in the cache.

        Without it, a row that the fast code hands over loads more code, or waits for a compiler.
        """
        options = EffortOptions(goal, friction)
        kind = self._kind(options)
        for loads in (0, 6 * len(self.tree_joints)):
            inputs = np.zeros(self.kernels.inputs + loads)
            inputs[: self._freedoms] = self.home.y
            self.solver.attempt(inputs[None])
            self.solver.fallback(kind, inputs)
        for answer in self.effort_answers(options):
            _ = answer.code.available  # loads it

    # Ranges and conditioning

    def range_violations(
        self, motion: Motion, effort: Effort | None = None
    ) -> tuple[RangeViolation, ...]:
        """Ranges of joints, sockets and, given an effort, efforts that a motion leaves; or none."""
        from masticator_dynamics.limits.ranges import find_violations

        check_motion(self, motion)
        if effort is not None:
            check_effort(self, effort)
        return find_violations(self, motion, effort)

    def binding_loads(
        self, effort: Effort, limits: LoadLimits | None = None
    ) -> tuple[RangeViolation, ...]:
        """Loads of a single result that are at a limit or beyond it."""
        from masticator_dynamics.limits.load_limits import binding_loads

        check_effort(self, effort)
        return binding_loads(self, effort, limits or self.load_limits)

    def actuation_rank(self, motion: Motion | None = None) -> int:
        """Number of degrees of freedom that the powered actuators control at a motion, or home."""
        motions = self.home if motion is None else motion, self.home
        return self.rank(*map(self.jacobian_actuated_from_independent, motions))

    def in_ranges(self, motion: Motion | Effort) -> bool | npt.NDArray[np.bool_]:
        """Whether joints, sockets and efforts are within their ranges; see `Effort.in_ranges`."""
        from masticator_dynamics.limits.ranges import within

        check_motion(self, motion)
        return within(self, motion)
