# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Zeros of the encoders while the torque-free mechanism is moved by hand."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.phases import Phase
from masticator_dynamics.drives.supervisor import Outcome, Supervisor
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.identification.calibration import (
    SUSPICIOUS,
    Calibration,
    calibrate,
)
from masticator_dynamics.mechanism import Mechanism

_POLL = 0.02  # s
_LOOK = 5.0  # s between attempts
_CONFIDENT = 1.96  # standard deviations on both sides of 95 % of a normal distribution


class ZeroCalibration:
    """Records positions of torque-free drives until their zeros are known.

    Parameters
    ----------
    mechanism : Mechanism
        Used only by the thread that carries out requests.
    drives : Drives
        In the mechanism's actuated order.
    settings : ServoDrivesSettings
        Its fields ``zeros_...``; may be replaced.
    """

    def __init__(self, mechanism: Mechanism, drives: Drives, supervisor: Supervisor, settings: Any):
        self._mechanism, self._supervisor, self.settings = mechanism, supervisor, settings
        motors = [drive.motor for drive in drives.drives.values()]
        counts = np.array([motor.counts_per_turn * motor.gear_ratio for motor in motors])
        self._noise = 2.0 * np.pi / counts / np.sqrt(12.0)

    def find(self, go_on: Callable[[], bool]) -> tuple[FloatArray, str] | Outcome:
        """Zeros (n,) to add to measured positions and how well they are known, or why not; blocks.

        Parameters
        ----------
        go_on : callable
            Whether the request still stands.
        """
        encoders, freedoms = len(self._mechanism.actuated), len(self._mechanism.independent)
        if encoders == freedoms:
            return Outcome(
                False,
                f'{encoders} encoders for {freedoms} degrees of freedom tell nothing about their '
                'zeros: service ~/home, in a fixture',
            )
        begun = looked = time.monotonic()
        readings: list[FloatArray] = []
        reason = 'the mechanism was not moved'
        while (now := time.monotonic()) < begun + self.settings.zeros_duration and go_on():
            report = self._supervisor.report()
            if report.phase is not Phase.OFF:
                return Outcome(False, f'drives are {report.phase.value}; they must be torque-free')
            feedback = report.feedback
            if feedback is not None and feedback.fresh.all():
                readings.append(feedback.position)
            if now - looked > _LOOK:
                calibration, reason = self._judged(readings)
                if calibration is not None:
                    return calibration.values, reason
                looked = time.monotonic()
            time.sleep(_POLL)
        calibration, reason = self._judged(readings)
        return (calibration.values, reason) if calibration is not None else Outcome(False, reason)

    def _judged(self, readings: list[FloatArray]) -> tuple[Calibration | None, str]:
        """Zeros that can be relied on, or None, and a sentence."""
        table = np.array(readings).reshape(-1, len(self._noise))
        tolerance = self.settings.zeros_tolerance
        try:
            fitted = calibrate(self._mechanism, table, self._noise, tolerance=tolerance)
        except InputError as error:
            return None, str(error)
        half = _CONFIDENT * fitted.sd
        worst, limit = int(np.argmax(half)), self.settings.zeros_largest_error
        joint = self._mechanism.actuated[worst]
        if fitted.unseen:
            return (
                None,
                f'not seen: {fitted.unseen[0].text}; {fitted.unseen[0].remedy} would show it',
            )
        if fitted.misfit > SUSPICIOUS:
            return None, (
                f'redundant encoders disagree by {fitted.misfit:.2g} times what counts and a '
                f'tolerance of {tolerance * 1e3:g} mm explain: a part, or an encoder '
                'that slips, is off'
            )
        accuracy = f'{joint} is known within {half[worst]:.2g} {fitted.units[worst]} (95 %)'
        if half[worst] > limit:
            return None, f'{accuracy}, {limit:g} is needed: move it through more of its range'
        if not fitted.better:  # as `masticator calibrate`, which then writes nothing
            as_good = 'held-out poses agree as well with the zeros that the encoders have'
            return dataclasses.replace(fitted, values=fitted.before), f'{as_good}: kept; {accuracy}'
        return fitted, f'zeros of all encoders from {fitted.poses} poses, the worst, {accuracy}'
