# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What motors' torques show of their own errors: at standstill, and where they only press.

Of n_u torques, n_y combinations move a mechanism of n_y freedoms; in the others motors press
against one another and nothing moves. Efforts of least norm (goal torque) leave those at zero, so
what is measured there is an error of a torque, or of an encoder behind a position loop. Of an error
in the n_y others nothing is seen while food may act. At standstill without food all are known.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.results import Motion
from masticator_dynamics.mechanism import Mechanism

_STANDSTILL = 0.5  # s
_STILL = 2.0  # counts of the encoder
_FORGET = 0.7  # s, of what presses
_LIKELY = 0.8  # of the best explanation
_BLIND = 1e-3  # share of a motor's torque in what presses, below which it is not seen there
_SLOW = 0.03  # s, of the filter that takes the counts of position loops out of it
_PRESSING = 1.0 / 3.0  # of the error allowed at standstill, where friction is not known
_LOADED = 0.04  # of all efforts: friction of joints that grows with their loads presses, too
_ASSUMED = 10.0  # steps of torque, 1 % of the rated torque: zeros that no standstill has shown


@dataclasses.dataclass(frozen=True)
class TorqueErrors:
    """What is known of the errors of the motors' torques; arrays are (n_u,), N m or N."""

    # Told minus holding efforts at the first standstill, friction at rest among them; before one,
    # the deviation that is assumed.
    zero: FloatArray
    measured: bool  # whether there was a standstill
    # Effort with which motors press against one another, and all effort: norms, root mean square of
    # the last second or so.
    pressing: float
    load: float
    # By how much the torque of each motor is off if it is the only one; root mean square.
    alone: FloatArray
    explains: FloatArray  # which share of what presses that would explain, 0 to 1
    now: FloatArray  # as ``alone``, at present

    @property
    def pressed(self) -> FloatArray:
        """Errors (n_u,) that motors may have by what presses, each as far as it explains that."""
        return self.explains * np.maximum(self.alone, self.now)

    def fault(self, joints: tuple[str, ...], allowed: float) -> str:
        """Which torque is not to be believed beyond an error, N m or N; empty if none shows."""
        worst = int(np.argmax(np.abs(self.zero)))
        if self.measured and abs(self.zero[worst]) > allowed:
            return (
                f'{joints[worst]} told {self.zero[worst]:+.2g} at standstill beyond what holds the '
                'mechanism: the zero of its torque, or a load'
            )
        if self.pressing > _PRESSING * allowed + _LOADED * self.load:
            likely = np.flatnonzero(self.explains >= _LIKELY * self.explains.max())
            each = ', or of '.join(f'{joints[k]} by {self.alone[k]:.2g}' for k in likely)
            return (
                f'motors press against one another with {self.pressing:.2g}, as if the torque of '
                f'{each} were off (or encoders are, or the goal of node dynamics is not torque)'
            )
        return ''


class TorqueWatch:
    """Watches the torques of motors, sample by sample.

    Parameters
    ----------
    mechanism : Mechanism
        For one thread.
    count, torque_step : float
        Steps of positions (rad or m) and efforts (N m or N).
    """

    def __init__(self, mechanism: Mechanism, count: float, torque_step: float):
        self._mechanism, self._count, self._step = mechanism, count, torque_step
        self.forget()

    def forget(self) -> None:
        """Begin anew: no standstill yet."""
        size = len(self._mechanism.actuated)
        self.zero, self.measured = np.full(size, _ASSUMED * self._step), False
        self._still: tuple[float, FloatArray] | None = None
        self._efforts: list[FloatArray] = []
        self._slow, self._squares = np.zeros(size), np.zeros(size)
        self._shares, self._load, self._weight = np.zeros(size), 0.0, 0.0

    def rest(self, time: float, position: FloatArray, effort: FloatArray, motion: Motion) -> None:
        """Take a sample; the first standstill, which is without food, tells zeros.

        Parameters
        ----------
        time : float
            s.
        position, effort : arrays, shape (n_u,)
            As told, rad or m, N m or N.
        motion : Motion
            The closed pose.
        """
        if self.measured:
            return
        if self._still is None or np.abs(position - self._still[1]).max() > _STILL * self._count:
            self._still, self._efforts = (time, position), []
        self._efforts.append(effort)
        if time - self._still[0] >= _STANDSTILL:
            holding = self._mechanism.feedforward(motion.y).actuated
            self.zero, self.measured = np.mean(self._efforts, axis=0) - holding, True
            self._efforts = []

    def press(self, effort: FloatArray, tangent: FloatArray, period: float) -> None:
        """Take efforts (n_u,) behind friction and the tangent (n_u, n_y) of a sample's pose."""
        if tangent.shape[0] == tangent.shape[1]:
            return
        moving = np.linalg.qr(tangent)[0]
        memory = np.exp(-period / _FORGET)
        press = effort - moving @ (moving.T @ effort)
        self._slow += -np.expm1(-period / _SLOW) * (press - self._slow)
        self._squares = memory * self._squares + self._slow**2
        self._shares = memory * self._shares + 1.0 - (moving * moving).sum(axis=1)
        self._load = memory * self._load + float(effort @ effort)
        self._weight = memory * self._weight + 1.0

    def errors(self) -> TorqueErrors:
        """What is known now."""
        weight = max(self._weight, 1.0)
        squares, shares = self._squares / weight, np.maximum(self._shares / weight, _BLIND)
        pressing, load = float(np.sqrt(squares.sum())), float(np.sqrt(self._load / weight))
        explains = np.minimum(squares / shares / max(pressing**2, 1e-30), 1.0)
        alone, now = np.sqrt(squares) / shares, np.abs(self._slow) / shares
        return TorqueErrors(self.zero, self.measured, pressing, load, alone, explains, now)
