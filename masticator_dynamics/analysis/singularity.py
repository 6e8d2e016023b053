# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How far poses are from singularities of type I and type II, dimensionless, many at a time.

Gosselin and Angeles (1990): with J_x y_dot = J_q u_dot a mechanism is singular of type I (serial)
where J_q is: an actuated joint's velocity does not follow from the platform's, e.g. a limb is
stretched; and of type II (parallel) where J_x is: the platform can move while the actuators stand.
Here the platform's motion is that of the independent coordinates; where these are joints of a
limb, read "independent coordinates" for "platform".

Determinants have units that mix rad and m and grow with the size of the machine. Sines do not:

*type 1* is the smallest sine, over the actuated joints, of the angle between the joint's effect on
its limb's closure and the effects that the limb's other joints can have.

*type 2* looks at the directions in which single actuators push the independent coordinates: rows
of the actuated Jacobian, cut to unit length; shorter where the actuator feels them less than at
home, down to zero at a dead centre. Their smallest singular value over that of equally spread
directions is 1 when isotropic and 0 when some motion is not driven. It works for any number of
actuators, redundant ones included, and ignores singularities of type I.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, IntArray
from masticator_dynamics.engine.evaluation.failures import LoopBlock
from masticator_dynamics.engine.evaluation.frames import tree_poses

if TYPE_CHECKING:
    from masticator_dynamics.engine.evaluation.results import Effort, Motion
    from masticator_dynamics.mechanism import Mechanism


@dataclasses.dataclass(frozen=True)
class LoopConditioning:
    """How well the loops determine the dependent joints, for rows of motions."""

    joints: IntArray  # (n_d,): tree indices of the dependent joints, in block order
    # (N, n_d) of the angle between what a joint does to its block's constraints and what the
    # block's other joints do: 1 orthogonal, 0 its velocity is undetermined. The engine refuses
    # 1e-6.
    sines: FloatArray
    # (N,): largest condition number of a block's Jacobian with columns of unit length.
    condition: FloatArray


@dataclasses.dataclass(frozen=True)
class ActuationConditioning:
    """How well the powered actuators control the independent coordinates, for rows of motions.

    Singular values and condition number are those of actuated velocities per independent
    velocities, with turning in rad/s and sliding in characteristic lengths per second.
    """

    type_2: FloatArray  # (N,): see the module's docstring
    # (N,): singular values: least and largest length of actuated velocities per unit velocity of
    # the independent coordinates. The former vanishes at type II, the latter grows at type I.
    smallest: FloatArray
    largest: FloatArray
    condition: FloatArray  # (N,): their ratio
    # (N,) with as many actuators as freedoms: sign of the determinant over that at home. -1 is
    # beyond a singularity of type II: every path from home, on home's branch, leads through it. 0
    # where the determinant says nothing.
    side: IntArray
    # (N,): the independent coordinate that has the largest part in the motion which the actuators
    # control least.
    weakest: IntArray


class SingularityMeasures:
    """Measures of a mechanism, prepared once.

    Parameters
    ----------
    characteristic_length : float, optional
        m of sliding that count as much as 1 rad of turning; default:
        :func:`balanced_length`.

    Attributes
    ----------
    characteristic_length : float
    scale : array, shape (n_driving, n_y)
        By which Jacobians are multiplied to compare rad and m.
    home_lengths : array, shape (n_driving, 1)
        Of the rows of the Jacobian so scaled, at home.
    """

    def __init__(self, mechanism: Mechanism, characteristic_length: float | None = None):
        structure = mechanism.structure
        self._mechanism = mechanism
        self._blocks = [LoopBlock(structure, b) for b in range(len(structure.blocks))]
        self._dependent = np.array([j for b in structure.blocks for j in b.joints], dtype=np.int64)
        self._driven = mechanism.tree_indices(mechanism.driving)
        self.characteristic_length = characteristic_length or balanced_length(mechanism)
        slides = np.array([joint.slides for joint in structure.tree.joints])
        unit = np.where(slides, self.characteristic_length, 1.0)
        independent = mechanism.tree_indices(mechanism.independent)
        self.scale = unit[independent] / unit[self._driven][:, None]
        self._home_sign = self._sign(mechanism.home.tangent[None])[0]
        at_home = np.linalg.norm(mechanism.home.tangent[self._driven] * self.scale, axis=1)
        self.home_lengths = np.where(at_home > 0.0, at_home, 1.0)[:, None]

    def loops(self, motions: Motion | Effort) -> LoopConditioning:
        """Conditioning of the loops for a batch of motions.

        Of a block's Jacobian K by its own joints, the angle between column k_j and the span of the
        others, by row j of the inverse::

            sine_j = 1 / (|k_j| |(K^-1)_j|)
        """
        poses, count = tree_poses(self._mechanism, motions.q), len(motions.q)
        sines, condition = [np.empty((count, 0))], np.ones(count)
        for block in self._blocks:
            square = block.jacobian(poses)
            lengths = np.linalg.norm(square, axis=1)
            rows = np.linalg.norm(np.linalg.inv(square), axis=2)
            sines.append(1.0 / (lengths * rows))
            values = np.linalg.svd(square / lengths[:, None, :], compute_uv=False)
            condition = np.maximum(condition, values[:, 0] / values[:, -1])
        return LoopConditioning(self._dependent, np.hstack(sines), condition)

    def actuation(self, motions: Motion | Effort) -> ActuationConditioning:
        """Conditioning of the actuation for a batch of motions."""
        jacobian = motions.tangent[:, self._driven, :] * self.scale
        lengths = np.linalg.norm(jacobian, axis=2, keepdims=True)
        directions = jacobian / np.maximum(lengths, self.home_lengths)
        actuators, freedoms = self.scale.shape
        values = _padded(np.linalg.svd(jacobian, compute_uv=False), freedoms)
        _, spread, motion = np.linalg.svd(directions)
        with np.errstate(divide='ignore'):
            condition = values[:, 0] / values[:, -1]
        return ActuationConditioning(
            _padded(spread, freedoms)[:, -1] / np.sqrt(actuators / freedoms),
            values[:, -1],
            values[:, 0],
            condition,
            (self._sign(motions.tangent) * self._home_sign).astype(np.int64),
            np.abs(motion[:, -1]).argmax(axis=1),
        )

    def _sign(self, tangent: FloatArray) -> FloatArray:
        jacobian = tangent[:, self._driven, :] * self.scale
        if jacobian.shape[1] != jacobian.shape[2]:
            return np.zeros(len(jacobian))
        return np.asarray(np.linalg.slogdet(jacobian)[0])


def balanced_length(mechanism: Mechanism) -> float:
    """M of sliding that at home move the actuators as much as 1 rad of turning, root mean square.

    The size of the mechanism (m) where that says nothing: if the independent coordinates are all
    of one kind, or the actuators are not.
    """
    joints = mechanism.structure.tree.joints
    independent, driven = (
        mechanism.tree_indices(names) for names in (mechanism.independent, mechanism.driving)
    )
    slides = np.array([joints[j].slides for j in independent])
    kinds = {joints[j].slides for j in driven}
    if slides.all() or not slides.any() or len(kinds) != 1:
        return mechanism.structure.extent()
    squares = np.square(mechanism.home.tangent[driven]).sum(axis=0)
    sliding, turning = squares[slides].mean(), squares[~slides].mean()
    if not (sliding > 0.0 and turning > 0.0):
        return mechanism.structure.extent()
    return float(np.sqrt(turning / sliding))


def _padded(values: npt.NDArray[np.floating[Any]], count: int) -> FloatArray:
    """Singular values (N, count): zeros for directions that have no row."""
    missing = max(0, count - values.shape[1])
    return np.hstack([values, np.zeros((len(values), missing))])
