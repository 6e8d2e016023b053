# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Peaks of torques and contact forces between control cycles, which no record can show."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.evaluation.frames import wrenches_on_platform
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.recording.record import ForceSeries
from masticator_dynamics.robot.recording.script import Script

STEP = 1e-4  # s; at tooth contact torques change within a millisecond or two
_CHUNK = 5000  # rows whose efforts are held in memory at once


@dataclasses.dataclass(frozen=True)
class Peaks:
    """Largest magnitudes of the torques (n_u,), and ranges of the contact multipliers (n_c,)."""

    torque: FloatArray
    lowest: FloatArray
    highest: FloatArray

    def including(self, torque: FloatArray, multipliers: FloatArray) -> Peaks:
        """These peaks extended by torques (N, n_u) and multipliers (N, n_c)."""
        return Peaks(
            np.maximum(self.torque, np.abs(torque).max(axis=0)),
            np.minimum(self.lowest, multipliers.min(axis=0)),
            np.maximum(self.highest, multipliers.max(axis=0)),
        )


def peaks_between_cycles(mechanism: Mechanism, script: Script, sent: ForceSeries) -> Peaks:
    """Peaks that cycles every ``STEP`` would have found, with the last bite force sent before each.

    Parameters
    ----------
    mechanism : Mechanism
        What moved.
    script : Script
        What was played.
    sent : ForceSeries
        Bite forces that were sent.
    """
    peaks = Peaks(
        np.zeros(len(mechanism.actuated)),
        np.full(len(mechanism.contacts), np.inf),
        np.full(len(mechanism.contacts), -np.inf),
    )
    times = np.arange(0.0, script.duration, STEP)
    for start in range(0, len(times), _CHUNK):
        part = times[start : start + _CHUNK]
        last = np.searchsorted(sent.stamps, part, side='right') - 1
        force = np.where((last >= 0)[:, None], sent.force[last], 0.0)
        rows = script.path.sample(part)
        wrench = wrench_of_bite(mechanism, mechanism.feedforward_batch(rows[0]).q, sent, force)
        effort = mechanism.feedforward_batch(*rows, wrench)
        peaks = peaks.including(effort.actuated, effort.contact)
    return peaks


def wrench_of_bite(
    mechanism: Mechanism, q: FloatArray, sent: ForceSeries, force: FloatArray
) -> FloatArray:
    """Wrenches (N, 6) on the platform due to forces (N, 3) in the frame of a series.

    Parameters
    ----------
    mechanism : Mechanism
        On whose platform the wrench acts.
    q : (N, n_q) array
        Tree positions, m and rad.
    sent : ForceSeries
        Its frame is that of the forces.
    force : (N, 3) array
        N, at the frame's origin and along its axes.
    """
    wrenches = np.hstack([force, np.zeros_like(force)])
    return wrenches_on_platform(mechanism, q, wrenches, axes=sent.frame, point=sent.frame)
