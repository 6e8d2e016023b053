# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The numbers of a run in closed loop, for people and for programs."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.demo.checks import Check
from masticator_dynamics.demo.closed_loop import ClosedLoop
from masticator_dynamics.demo.loop_checks import achieved_rate
from masticator_dynamics.demo.script import Script
from masticator_dynamics.demo.summary import Judged, aligned, common, torque_table, verdicts
from masticator_dynamics.demo.tracking import Pass, during
from masticator_dynamics.mechanism import Mechanism


@dataclasses.dataclass(frozen=True)
class LoopSummary(Judged):
    """Numbers of a run in closed loop."""

    food: str
    bus: str
    cycle_rate_requested_hz: float
    cycle_rate_achieved_hz: float
    cycle_jitter_median_us: float
    cycle_jitter_p99_us: float
    cycle_jitter_largest_us: float
    cycles_left_out: int
    pdos_missed: int
    mechanism_stood_still_s: float
    dynamics_cycles_skipped: int
    incisor_error_rms_mm: float
    incisor_error_largest_mm: float
    incisor_error_rms_pd_alone_mm: float | None
    incisor_error_largest_pd_alone_mm: float | None
    feedforward_factor: float | None
    closure_largest_mm: float
    bite_force_peak_n: float
    torque_peak_nm: dict[str, float]
    torque_rms_nm: dict[str, float]

    def as_text(self) -> str:
        """What a person wants to know, aligned in columns."""
        rows = [
            ('motion', f'{self.motion}, {self.duration_s:.2f} s, mechanism {self.mechanism}, '
                       f'food {self.food}'),
            ('drive cycle', f'{self.cycle_rate_achieved_hz:.2f} Hz of '
                            f'{self.cycle_rate_requested_hz:g} Hz on {self.bus}'),
            ('SYNC jitter', f'median {self.cycle_jitter_median_us:.0f} µs, '
                            f'p99 {self.cycle_jitter_p99_us:.0f} µs, '
                            f'largest {self.cycle_jitter_largest_us:.0f} µs'),
            ('incisor error', f'{self.incisor_error_rms_mm:.3f} mm RMS, '
                              f'{self.incisor_error_largest_mm:.3f} mm at most'),
        ]  # fmt: skip
        if self.incisor_error_rms_pd_alone_mm is not None:
            rows.append(
                ('  with PD alone', f'{self.incisor_error_rms_pd_alone_mm:.3f} mm RMS, '
                                    f'{self.incisor_error_largest_pd_alone_mm:.3f} mm at most: '
                                    f'feedforward is {self.feedforward_factor:.1f} times better')
            )  # fmt: skip
        rows += [
            ('loop closure', f'{self.closure_largest_mm:.4f} mm at most, by measured angles'),
            ('bite force', f'{self.bite_force_peak_n:.1f} N peak'),
        ]
        torques = torque_table(self.torque_peak_nm, self.torque_rms_nm)
        return '\n'.join([*aligned(rows), '', *torques, '', *verdicts(self.checks)]) + '\n'


def summarise(
    mechanism: Mechanism,
    script: Script,
    loop: ClosedLoop,
    forward: Pass,
    alone: Pass | None,
    checks: tuple[Check, ...],
) -> LoopSummary:
    """Collect the numbers of a run; torques are those of the motors during the motion.

    Parameters
    ----------
    mechanism : Mechanism
        What moved.
    script : Script
        What was played.
    loop : ClosedLoop
        Food, rate and drives.
    forward, alone : Pass
        With feedforward efforts and, if there is such a pass, with PD control alone.
    checks : tuple of Check
        What they were judged by.
    """
    record, tracking = forward.record, forward.tracking
    drives = during(script, record.drives)
    effort = drives.effort[:, drives.columns(mechanism.actuated)]
    late = jitter(drives.stamps, loop.rate) * 1e6
    return LoopSummary(
        **common(mechanism, script, record.start, effort),
        food=loop.food,
        bus='CAN over UDP multicast',
        cycle_rate_requested_hz=loop.rate,
        cycle_rate_achieved_hz=achieved_rate(script, record.drives),
        cycle_jitter_median_us=float(np.median(np.abs(late))),
        cycle_jitter_p99_us=float(np.percentile(np.abs(late), 99.0)),
        cycle_jitter_largest_us=float(np.abs(late).max()),
        cycles_left_out=record.delays.left_out,
        pdos_missed=record.delays.missed,
        mechanism_stood_still_s=record.delays.given_up,
        dynamics_cycles_skipped=record.delays.skipped,
        incisor_error_rms_mm=tracking.rms * 1e3,
        incisor_error_largest_mm=tracking.largest * 1e3,
        incisor_error_rms_pd_alone_mm=None if alone is None else alone.tracking.rms * 1e3,
        incisor_error_largest_pd_alone_mm=None if alone is None else alone.tracking.largest * 1e3,
        feedforward_factor=None if alone is None else alone.tracking.rms / tracking.rms,
        closure_largest_mm=float(tracking.closure.max()) * 1e3,
        bite_force_peak_n=float(np.linalg.norm(record.bite.force, axis=1).max()),
        checks=checks,
    )


def jitter(stamps: np.ndarray, rate: float) -> np.ndarray:
    """By how much each step between stamps (N,) exceeded a period, (N - 1,), s."""
    return np.asarray(np.diff(stamps) - 1.0 / rate)
