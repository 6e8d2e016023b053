# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts as a matrix times parameters: for identification, and for what data can tell apart."""

from __future__ import annotations

import dataclasses
import functools
from typing import ClassVar

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, as_flag, as_number
from masticator_dynamics.engine.evaluation.effort_derivatives import check_valid
from masticator_dynamics.engine.evaluation.frames import frame_poses, wrenches_on_bodies
from masticator_dynamics.engine.evaluation.model import OnDemand
from masticator_dynamics.engine.evaluation.results import (
    Effort,
    Evaluator,
    Motion,
    check_motion,
    numbers_of,
)
from masticator_dynamics.engine.evaluation.shown import arrays_text
from masticator_dynamics.engine.evaluation.with_parameters import values_of
from masticator_dynamics.engine.traced.python_entry import Answer
from masticator_dynamics.engine.traced.regressor import has_gear_losses, regressor_code
from masticator_dynamics.engine.traced.row_code import RowCode


class Regressor:
    """Efforts and generalised forces per unit of each parameter, for one motion or for many.

    For a single motion, generated code fills in the slots, see ``traced/python_entry.py``.

    Attributes
    ----------
    names : tuple of str
        Of the parameters, as :meth:`Mechanism.parameters` has them.
    numbers : array, shape (..., n)
        :attr:`least_norm`, then :attr:`generalized`.
    """

    __slots__ = ('__dict__', '_numbers', 'mechanism', 'numbers')
    VIEW: ClassVar[str] = 'numbers'
    names: ClassVar[tuple[str, ...]] = ()

    def __init__(self, mechanism: Evaluator, numbers: FloatArray):
        self.mechanism, self.numbers = mechanism, numbers

    def __repr__(self) -> str:
        """Class, names and shapes."""
        return arrays_text(self, ('generalized', 'least_norm'))

    @property
    def least_norm(self) -> FloatArray:
        """Efforts of least norm per unit of generalised force (..., n_u, n_y)."""
        n, motors = len(self.mechanism.independent), len(self.mechanism.actuated)
        return self.numbers[..., : n * motors].reshape(*self.numbers.shape[:-1], motors, n)

    @property
    def generalized(self) -> FloatArray:
        """Generalised forces (..., n_y, n_p), N or N m, per unit of each parameter.

        What motors must supply in independent coordinates, without a wrench on the platform.
        """
        n, motors = len(self.mechanism.independent), len(self.mechanism.actuated)
        shape = (*self.numbers.shape[:-1], n, len(self.names))
        return self.numbers[..., n * motors :].reshape(shape)

    @functools.cached_property
    def matrix(self) -> FloatArray:
        """Times the parameters: efforts of least norm that supply these forces (..., n_u, n_p).

        Dynamics are linear in the parameters pi (Siciliano, Robotics, 2009, Sec. 7.2)::

            G^T (efforts) = Y(y, y_dot, y_ddot) pi,    efforts = (A^T)^+ Y pi

        Without friction they are :attr:`Effort.actuated`.
        """
        return np.asarray(self.least_norm @ self.generalized)

    def base_parameters(self, tolerance: float = 1e-8) -> BaseParameters:
        """Which combinations of parameters count in these motions, which should be many.

        By pivoting QR decomposition of the stacked regressors (Gautier, Journal of Robotic Systems
        8, 1991): columns that follow from the first n_b hand their parameters to those::

            W P = Q [R_1 R_2],    W pi = W_b (pi_b + R_1^-1 R_2 pi_rest)

        Parameters
        ----------
        tolerance : float
            A column follows from others if what is left of it is below this part of it.
        """
        from scipy.linalg import qr, solve_triangular

        tolerance = as_number(tolerance, 'tolerance')
        rows = self.generalized.reshape(-1, len(self.names))
        sizes = np.linalg.norm(rows, axis=0)
        sizes[sizes < 1e-14 * sizes.max(initial=0.0)] = np.inf  # nothing but rounding
        _, triangle, order = qr(rows / sizes, mode='economic', pivoting=True)
        rank = int((np.abs(np.diag(triangle)) > tolerance).sum())
        parts = solve_triangular(triangle[:rank, :rank], triangle[:rank])
        parts[np.abs(parts) < tolerance] = 0.0
        combinations = np.zeros((rank, len(self.names)))
        combinations[:, order] = parts * np.where(np.isinf(sizes), 0.0, sizes)[order]
        combinations /= sizes[order[:rank], None]
        return BaseParameters(tuple(self.names[i] for i in order[:rank]), combinations)


@dataclasses.dataclass(frozen=True)
class BaseParameters:
    """Combinations of parameters that motions can tell apart.

    Attributes
    ----------
    names : tuple of str, length n_b
        The parameter that stands for each.
    combinations : array, shape (n_b, n_p)
        Times all parameters: the base parameters. Columns of the regressor by these names, times
        this, are the whole regressor.
    """

    names: tuple[str, ...]
    combinations: FloatArray


def powers(mechanism: Evaluator, motion: Motion | Effort) -> FloatArray:
    """Generalised forces (..., n_y, n_u) per unit effort of each motor."""
    powered = [name in mechanism.driving for name in mechanism.actuated]
    ratios = mechanism.transmission_ratios * powered
    return np.swapaxes(motion.tangent[..., mechanism.actuated_rows, :] * ratios[:, None], -1, -2)


def _kinds(mechanism: Evaluator) -> OnDemand[bool, tuple[type[Regressor], RowCode]]:
    """Regressors of a mechanism and the code for their columns; without, with friction."""

    def made(friction: bool) -> tuple[type[Regressor], RowCode]:
        names = tuple(values_of(mechanism, friction, False))
        kind = type('Regressor', (Regressor,), {'__slots__': (), 'names': names})
        return kind, regressor_code(mechanism.kernels, names, friction)

    return OnDemand(made)


def answers(mechanism: Evaluator, friction: bool) -> list[Answer]:
    """Machine code for one motion."""
    if as_flag(friction, 'friction'):
        return []
    kind, code = mechanism.made(_kinds)[False]
    n = len(mechanism.independent)
    parts = {'motion': [(n, 2 * n), numbers_of(mechanism)['q']]}
    return [Answer(code, 1, (code.outputs - 1,), parts, result=kind)]


def regressor(
    mechanism: Evaluator,
    motion: Motion | Effort,
    friction: bool,
    effort: FloatArray | None = None,
    wrench: FloatArray | None = None,
) -> Regressor:
    """See :meth:`Mechanism.regressor`.

    Parameters
    ----------
    effort : array, shape (..., n_u), optional
        Efforts of the motors, with which friction that depends on loads is evaluated; default:
        those of the present numbers.
    wrench : array, shape (..., 6), optional
        On the platform, likewise.
    """
    check_motion(mechanism, motion)
    kind, code = mechanism.made(_kinds)[as_flag(friction, 'friction')]
    shape = motion.y.shape[:-1]
    parts = [motion.y_dot, motion.y_ddot, motion.q]
    if friction:
        parts += _loads(mechanism, motion, effort, wrench)[: 2 + has_gear_losses(kind.names)]
    outputs = np.atleast_2d(code(np.concatenate(parts, axis=-1)))
    check_valid(mechanism, motion.y, outputs, 'a regressor')
    return kind(mechanism, outputs[:, 1:].reshape(*shape, -1))


def _loads(
    mechanism: Evaluator,
    motion: Motion | Effort,
    effort: FloatArray | None,
    wrench: FloatArray | None,
) -> list[FloatArray]:
    """Forces across the axes of actuated joints, multipliers of the contacts, efforts passed on.

    Given efforts act on the links from outside; what motors then add is what their own friction
    takes from these before the links, and what the present numbers lack, which is little.
    """
    inputs = np.concatenate([motion.y, motion.y_dot, motion.y_ddot], axis=-1)
    rows = inputs.shape[:-1]
    inputs = np.concatenate([inputs, np.zeros((*rows, 6)) if wrench is None else wrench], axis=-1)
    if effort is not None:
        wrenches = wrenches_on_bodies(mechanism, motion.q, _on_links(mechanism, motion.q, effort))
        inputs = np.concatenate([inputs, wrenches], axis=-1)
    kind = mechanism.solver.distribution('torque', True)
    loaded = Effort(mechanism, inputs, mechanism.solver.rows(kind, inputs), kind.slices)
    bearing = loaded.bearing_force
    assert bearing is not None
    passed_on = loaded.actuated - loaded.friction + (0.0 if effort is None else effort)
    return [bearing[..., :2].reshape(*rows, -1), loaded.contact, passed_on]


def _on_links(mechanism: Evaluator, q: FloatArray, effort: FloatArray) -> dict[str, FloatArray]:
    """Wrenches (..., 6) of motors on the links on their two sides, base axes, at their origins."""
    joints = {joint.name: joint for joint in mechanism.description.tree.joints}
    wrenches: dict[str, FloatArray] = {}
    for k, name in enumerate(mechanism.actuated):
        joint = joints[name]
        here, rotation = frame_poses(mechanism, q, joint.child)
        push = rotation @ joint.axis * (mechanism.transmission_ratios[k] * effort[..., k, None])
        none = np.zeros_like(push)
        slides = joint.slides
        on_child = np.concatenate([push, none] if slides else [none, push], axis=-1)
        wrenches[joint.child] = wrenches.get(joint.child, 0.0) + on_child
        if joint.parent != mechanism.description.base:
            back = -on_child
            if slides:
                there, _ = frame_poses(mechanism, q, joint.parent)
                back[..., 3:] = np.cross(here - there, back[..., :3])
            wrenches[joint.parent] = wrenches.get(joint.parent, 0.0) + back
    return wrenches
