# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tracking errors of simulated drives with more and more feedforward, side by side."""

from __future__ import annotations

from masticator_dynamics.drives.configuration import Gains
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.twin.study import Study, StudySetting, study_feedforward

# Best gains of PD alone with margins of 6 dB and 30 degrees: `masticator study-feedforward --tune`.
GAINS = Gains(position=16.0, velocity=0.08)


def tracking() -> Study:
    """Follow one stroke against soft food at 500 Hz, with the same gains in all runs."""
    return study_feedforward(StudySetting.shipped(chewing_stroke(strokes=1), 'soft', 500.0), GAINS)


if __name__ == '__main__':
    print(tracking().text())
