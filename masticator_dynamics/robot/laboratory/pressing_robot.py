# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Bites at a force on the robot: goals of action ~/apply_force of the running node dynamics."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rclpy.action.client import ActionClient

from masticator_dynamics.errors import InputError
from masticator_dynamics.robot.laboratory.protocol import ForceBite, Mouthful
from masticator_dynamics.robot.recording.play import Recorder
from masticator_interfaces.action import ApplyForce

_ACTION = '/dynamics/apply_force'
_BEYOND = 5e-4  # m past occlusion that may be commanded: hard food, teeth
_CRACKED = ('done', 'cracked')  # how a bite may end
_PATIENCE = 30.0  # s
_LONGER = 10.0  # s beyond what is asked for
_LOOK = 0.05  # s


class BitingClient:
    """Asks for bites, one after the other, beside a recorder."""

    def __init__(self, recorder: Recorder):
        self._client, self._spin = ActionClient(recorder, ApplyForce, _ACTION), recorder.spin

    def destroy(self) -> None:
        """Destroy the client."""
        self._client.destroy()

    def bite(self, mouthful: Mouthful, gap: float, stopped: Callable[[], str]) -> str:
        """Bite once, from a gap, m, between the teeth, and open again.

        Parameters
        ----------
        stopped : callable
            Why to let go before it is over; empty: go on.

        Returns
        -------
        str
            ``done``, what ``stopped`` said, or why it is a fault.

        Raises
        ------
        InputError
            If nobody answers.
        """
        if not self._spin(_PATIENCE, self._client.server_is_ready):
            raise InputError(f'no action {_ACTION}: node dynamics needs its parameter drives')
        bite = mouthful.motion.force
        assert bite is not None
        asked = self._answer(self._client.send_goal_async(_goal(mouthful, bite, gap)))
        if not asked.accepted:
            raise InputError(f'{_ACTION} refused a bite: node dynamics is not active')
        result, why = asked.get_result_async(), ''
        longest = bite.controlled + bite.relaxation + gap / bite.approach + _LONGER
        while not self._spin(_LOOK, result.done):
            longest -= _LOOK
            why = why or stopped() or ('no result' if longest < 0.0 else '')
            if why:
                asked.cancel_goal_async()
                if longest < -_PATIENCE:
                    raise InputError(f'no result of {_ACTION}')
        ended = result.result().result
        return why or ('done' if ended.reason in _CRACKED else f'{ended.reason}: {ended.message}')

    def _answer(self, future: Any) -> Any:
        if not self._spin(_PATIENCE, future.done):
            raise InputError(f'no answer from {_ACTION}')
        return future.result()


def _goal(mouthful: Mouthful, bite: ForceBite, gap: float) -> Any:
    goal = ApplyForce.Goal(
        frame=mouthful.food.frame, towards_home=True, duration=bite.controlled,
        relaxation=bite.relaxation, longest_approach=gap + _BEYOND,
        approach_velocity=bite.approach, end_on_crack=True,
        largest_travel_after_crack=math.inf,  # the protocol says how fast it is loaded
    )  # fmt: skip
    goal.direction.z = 1.0
    goal.times = [0.0, bite.rise] if bite.rise else [0.0]
    goal.forces = [bite.wanted(time) for time in goal.times]
    return goal
