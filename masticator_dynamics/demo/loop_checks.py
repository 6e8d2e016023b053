# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What must hold for a closed-loop run to count as passed; every check can fail on its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from masticator_dynamics.demo.checks import EFFORT_TOLERANCE, Check, lost, no_fault, whole_motion
from masticator_dynamics.demo.record import ClosedLoopRecord, JointSeries
from masticator_dynamics.demo.script import Script
from masticator_dynamics.demo.tracking import Pass, Tracking, during
from masticator_dynamics.twin.food import Food

TRACKING_RMS, TRACKING_LARGEST = 0.1e-3, 0.5e-3  # m, of the incisor
CLOSURE_TOLERANCE = 1e-4  # m, of the loops by the measured angles
LEAST_FACTOR = 1.0  # RMS error of PD alone over that with feedforward; the study says by how much
BITTEN = 0.5  # of the force at which the food yields
REST_TOLERANCE = 2e-4  # m, of the incisor from occlusion at the end
RATE_TOLERANCE, LATE_TOLERANCE = 0.999, 0.001
TIMING = {'cycle rate', 'PDOs in time', 'real time'}  # checks that a busy computer fails


def run_checks(
    script: Script, food: Food, forward: Pass, alone: Pass | None, rate: float
) -> tuple[Check, ...]:
    """Judge a run.

    Parameters
    ----------
    script : Script
        What was played.
    food : Food
        What was bitten.
    forward, alone : Pass
        With efforts, and with the drives' position loops alone.
    rate : float
        Requested cycle rate of the drives, Hz.
    """
    record, tracking = forward.record, forward.tracking
    # A pass that did not keep up would be compared unfairly.
    records = [one.record for one in (forward, alone) if one is not None]
    return (
        _cycle_rate(script, records, rate),
        _in_time(records),
        _real_time(records),
        whole_motion(script, record.truth, record.drives, record.feedforward),
        Check(
            'torques as expected',
            tracking.effort_error <= EFFORT_TOLERANCE,
            f'feedforward off by {tracking.effort_error:.1e} N m at most from what motion and '
            f'measured bite force ask (limit {EFFORT_TOLERANCE:.0e})',
        ),
        _tracked(tracking),
        *([_pays(tracking, alone.tracking)] if alone is not None else []),
        _loops(tracking, record.delays.missed),
        _bitten(food, record),
        _at_home(tracking),
        no_fault([fault for one in records for fault in one.faults]),
    )


def achieved_rate(script: Script, drives: JointSeries) -> float:
    """Cycles of the drives per second of the motion, by the stamps of SYNC, Hz."""
    stamps = during(script, drives).stamps
    return float((len(stamps) - 1) / (stamps[-1] - stamps[0])) if len(stamps) > 1 else 0.0


def _cycle_rate(script: Script, records: Sequence[ClosedLoopRecord], rate: float) -> Check:
    achieved = min(achieved_rate(script, record.drives) for record in records)
    left_out = sum(record.delays.left_out for record in records)
    unheard = sum(lost(record.drives.sequence) for record in records)
    return Check(
        'cycle rate',
        achieved >= RATE_TOLERANCE * rate,
        f'{achieved:.2f} Hz of {rate:g} Hz (limit {RATE_TOLERANCE:.1%}), '
        f'{left_out} cycles left out, {unheard} not heard of by the recorder',
    )


def _in_time(records: Sequence[ClosedLoopRecord]) -> Check:
    count = sum(record.drives.position.size for record in records)
    missed = sum(record.delays.missed for record in records)
    return Check(
        'PDOs in time',
        missed <= LATE_TOLERANCE * count,
        f'{missed} of {count} from the drives came too late or never (limit {LATE_TOLERANCE:.1%})',
    )


def _real_time(records: Sequence[ClosedLoopRecord]) -> Check:
    """The mechanism never waited for the computer, nor did the commands."""
    given_up = sum(record.delays.given_up for record in records)
    skipped = sum(record.delays.skipped for record in records)
    return Check(
        'real time',
        given_up == 0.0 and skipped == 0,
        f'the mechanism stood still for {given_up:g} s, the dynamics node skipped {skipped} cycles',
    )


def _tracked(tracking: Tracking) -> Check:
    return Check(
        'incisor tracked',
        tracking.rms <= TRACKING_RMS and tracking.largest <= TRACKING_LARGEST,
        f'{tracking.rms * 1e3:.3f} mm RMS, {tracking.largest * 1e3:.3f} mm at most off the '
        f'commanded motion (limits {TRACKING_RMS * 1e3:g}, {TRACKING_LARGEST * 1e3:g})',
    )


def _pays(tracking: Tracking, alone: Tracking) -> Check:
    factor = alone.rms / tracking.rms
    return Check(
        'feedforward pays',
        factor > LEAST_FACTOR,
        f'{factor:.1f} times less RMS error than PD alone, {alone.rms * 1e3:.3f} mm '
        f'(more than {LEAST_FACTOR:g})',
    )


def _loops(tracking: Tracking, missed: int) -> Check:
    """By angles of the same instant: a PDO that came late left an older one in its cycle."""
    gaps = np.sort(tracking.closure)
    gap = float(gaps[: max(len(gaps) - missed, 1)][-1])
    detail = f'the measured angles leave {gap * 1e3:.4f} mm at most'
    if missed:
        detail += f' but for the {missed} worst, as many as PDOs were late'
    return Check(
        'loops closed',
        gap <= CLOSURE_TOLERANCE,
        f'{detail} (limit {CLOSURE_TOLERANCE * 1e3:g})',
    )


def _bitten(food: Food, record: ClosedLoopRecord) -> Check:
    peak, least = float(np.linalg.norm(record.bite.force, axis=1).max()), BITTEN * food.yield_force
    return Check('food bitten', peak >= least, f'{peak:.1f} N (at least {least:g})')


def _at_home(tracking: Tracking) -> Check:
    away = float(np.linalg.norm(tracking.actual[-1] - tracking.commanded[0]))
    return Check(
        'ends in occlusion',
        away <= REST_TOLERANCE,
        f'incisor {away * 1e3:.3f} mm from where the motion began (limit {REST_TOLERANCE * 1e3:g})',
    )
