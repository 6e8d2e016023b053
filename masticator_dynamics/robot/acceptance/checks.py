# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What must hold for a run to count as passed; every check can fail on its own.

First for a run with the dynamics node alone, then for one in closed loop.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, rms
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.acceptance.run_evaluation import RunEvaluation
from masticator_dynamics.robot.acceptance.tracking import LoopRun, Tracking
from masticator_dynamics.robot.recording import topics
from masticator_dynamics.robot.recording.record import ClosedLoopRecord, JointSeries, Record
from masticator_dynamics.robot.recording.script import Script
from masticator_dynamics.robot.recording.stalls import overlapped
from masticator_dynamics.robot.twin.food import Food, load_food

POSITION_TOLERANCE = 1e-6  # rad
VELOCITY_TOLERANCE = 1e-4  # rad/s
EFFORT_TOLERANCE = 1e-5  # N m
CONTACT_TOLERANCE = 1e-3  # N
ENERGY_TOLERANCE = 1e-3  # of the motors' absolute work
GAP_TOLERANCE = 1e-10  # m
RATE_TOLERANCE = 0.99
REST_TOLERANCE = 1e-6  # rad and rad/s
# Checks that a busy computer fails.
TIMING = {
    'publish rate', 'reception rate', 'no cycle lost', 'cycle rate', 'PDOs in time', 'real time',
}  # fmt: skip
LONGEST_POINT_STEP = 0.02  # s; crank-space interpolation over more would open the loops
_LAST = 0.2  # s of the record in which the mechanism must rest
# In closed loop:
TRACKING_RMS, TRACKING_LARGEST = 0.1e-3, 0.5e-3  # m, of the incisor
CLOSURE_TOLERANCE = 1e-4  # m, of the loops by the measured angles
LEAST_FACTOR = 1.0  # RMS error of PD alone over that with feedforward; the study says by how much
BITTEN = 0.5  # of the force at which the food yields
INCISOR_TOLERANCE = 2e-4  # m, of the incisor from occlusion at the end
DRIVE_RATE_TOLERANCE, LATE_TOLERANCE = 0.999, 0.001
# What a computer that stands still causes is not what these checks are about.
RECOVERY = 0.1  # s, after which the jaw is back on its way
MOST_EXCUSED = 0.2  # of the motion; with more of it left out, what remains says nothing
STANDS = {'torques as expected', 'whole motion recorded'}  # whatever the computer does


@dataclasses.dataclass(frozen=True)
class Check:
    """A requirement, whether it was met, and the number that shows it.

    ``passed`` is None where it could not be judged; ``detail`` then says why.
    """

    name: str
    passed: bool | None
    detail: str

    @property
    def verdict(self) -> str:
        """For people."""
        return {True: 'ok', False: 'FAILED', None: 'not judged'}[self.passed]


def run_checks(evaluation: RunEvaluation, rate: float) -> tuple[Check, ...]:
    """Judge a run at the requested rate of node `dynamics` (Hz)."""
    mechanism, script, record = evaluation.mechanism, evaluation.script, evaluation.record
    position, velocity = evaluation.position_error, evaluation.velocity_error
    published, received = publish_rate(record.state), reception_rate(record.state)
    return (
        Check(
            'motion as played',
            position <= POSITION_TOLERANCE and velocity <= VELOCITY_TOLERANCE,
            f'off by {position:.1e} rad and {velocity:.1e} rad/s at most '
            f'(limits {POSITION_TOLERANCE:.0e}, {VELOCITY_TOLERANCE:.0e})',
        ),
        _within(
            EFFORT_TOLERANCE, evaluation.effort_error,
            'torques as expected', 'off by {:.1e} N m at most (limit {:.0e})',
        ),
        _within(
            CONTACT_TOLERANCE, evaluation.contact_error,
            'contact forces as expected', 'off by {:.1e} N at most (limit {:.0e})',
        ),
        _within(
            100.0 * ENERGY_TOLERANCE, 100.0 * evaluation.energy_error,
            'energy balance', "{:.2g} % of the motors' work unaccounted for (limit {:g} %)",
        ),
        _within(
            GAP_TOLERANCE, float(evaluation.gap.max()),
            'loops closed', 'largest gap {:.1e} m (limit {:.0e})',
        ),
        Check(
            'publish rate',
            published >= RATE_TOLERANCE * rate,
            f'{published:.1f} Hz of {rate:g} Hz by stamps (limit {RATE_TOLERANCE:.0%}), '
            f'{skipped(record.state, rate)} cycles skipped by the node, '
            f'longest {np.diff(record.state.stamps).max(initial=0.0) * 1e3:.1f} ms',
        ),
        Check(
            'reception rate',
            received >= RATE_TOLERANCE * published,
            f'{received:.1f} Hz of {published:.1f} Hz published (limit {RATE_TOLERANCE:.0%})',
        ),
        _no_cycle_lost(mechanism, record),
        whole_motion(script, record.state),
        _at_rest_at_home(mechanism, record.state),
        _controller_trajectory(mechanism, script, record),
        no_fault(record.faults),
    )  # fmt: skip


def _within(limit: float, value: float, name: str, detail: str) -> Check:
    """A value that may be as large as a limit; the detail has places for both."""
    return Check(name, value <= limit, detail.format(value, limit))


def publish_rate(state: JointSeries) -> float:
    """Cycles per second of the record by their stamps, Hz; 0 with fewer than two."""
    stamps = state.stamps
    return float((len(stamps) - 1) / (stamps[-1] - stamps[0])) if len(stamps) > 1 else 0.0


def reception_rate(state: JointSeries) -> float:
    """The same by times of reception, Hz: lower if messages arrive later and later.

    From the best-fit line through the times of reception: messages that wait for a moment and then
    arrive all at once do not affect the rate.
    """
    if len(state.stamps) < 2:
        return 0.0
    slope = np.polyfit(state.stamps, state.received, 1)[0]
    return float(publish_rate(state) / slope)


def skipped(state: JointSeries, rate: float) -> int:
    """Cycles that were never run, by the gaps between stamps."""
    return int((np.maximum(np.rint(np.diff(state.stamps) * rate), 1.0) - 1.0).sum())


def lost(sequence: FloatArray) -> int:
    """Messages published between the first and last one received that never arrived."""
    if not sequence.any():  # a middleware that does not count
        return 0
    return int(sequence[-1] - sequence[0]) + 1 - len(sequence)


def _no_cycle_lost(mechanism: Mechanism, record: Record) -> Check:
    """Every cycle that was run arrived, with the same numbers on both topics."""
    state = record.state
    effort = state.effort[:, state.columns(mechanism.actuated)]
    series = (state.sequence, record.effort_sequence, record.multipliers.sequence)
    count = sum(map(lost, series))
    detail = f'{count} lost on the way, {len(effort)} came'
    ordered = bool((np.diff(state.stamps) > 0.0).all())
    if not ordered:
        detail += ', stamps do not increase'
    same = _same_but_for_ends(effort, record.effort)
    if not same:
        detail += f', {topics.EFFORT} and {topics.STATE} differ'
    return Check('no cycle lost', count == 0 and ordered and same, detail)


def _same_but_for_ends(one: FloatArray, two: FloatArray) -> bool:
    """Recording may have begun and ended between the two messages of one cycle."""
    count = min(len(one), len(two)) - 2
    return count > 0 and any(
        np.array_equal(one[i : i + count], two[j : j + count]) for i in range(3) for j in range(3)
    )


def whole_motion(script: Script, *series: JointSeries) -> Check:
    """The record covers the motion; otherwise the other checks would judge only a part."""
    first = max(float(one.stamps[0]) for one in series)
    last = min(float(one.stamps[-1]) for one in series)
    covered = first <= 0.0 and last >= script.duration
    detail = f'{first:.2f} s to {last:.2f} s of a motion of {script.duration:.2f} s'
    return Check('whole motion recorded', covered, detail)


def no_fault(faults: Sequence[str]) -> Check:
    """Diagnostics reported no error."""
    return Check('no fault reported', not faults, '; '.join(faults) or 'none')


def _at_rest_at_home(mechanism: Mechanism, state: JointSeries) -> Check:
    order = state.columns(mechanism.actuated)
    late = state.stamps >= state.stamps[-1] - _LAST
    home = mechanism.home.q[mechanism.tree_indices(mechanism.actuated)]
    away = float(np.abs(state.position[late][:, order] - home).max())
    speed = float(np.abs(state.velocity[late]).max())
    return Check(
        'ends at home at rest',
        max(away, speed) <= REST_TOLERANCE,
        f'{away:.1e} rad from home at {speed:.1e} rad/s (limits {REST_TOLERANCE:.0e})',
    )


def _controller_trajectory(mechanism: Mechanism, script: Script, record: Record) -> Check:
    """A joint_trajectory_controller could take feedforward_trajectory as it is."""
    name = 'controller trajectory'
    if len(record.actuated_trajectory) != 1:
        return Check(name, False, f'{len(record.actuated_trajectory)} messages, expected 1')
    message = record.actuated_trajectory[0]
    if tuple(message.joint_names) != mechanism.actuated:
        return Check(name, False, f'joints are {", ".join(message.joint_names)}')
    instants = [point.time_from_start for point in message.points]
    times = np.array([instant.sec + instant.nanosec * 1e-9 for instant in instants])
    position = np.array([point.positions for point in message.points])
    played = mechanism.feedforward_batch(*script.path.sample(times)).position
    error = float(np.abs(position - played).max())
    step = float(np.diff(times).max())
    speed = float(np.abs(message.points[-1].velocities).max())
    efforts = all(len(point.effort) == len(mechanism.actuated) for point in message.points)
    passed = (
        error <= POSITION_TOLERANCE
        and step <= LONGEST_POINT_STEP + 1e-9
        and speed <= REST_TOLERANCE
        and times[-1] >= script.duration - 1e-6
        and efforts
    )
    return Check(
        name,
        passed,
        f'{len(times)} points, {step * 1e3:.0f} ms apart at most, off by {error:.1e} rad, '
        f'{"with" if efforts else "without"} efforts, ends at {speed:.1e} rad/s',
    )


# In closed loop


def closed_loop_checks(run: LoopRun) -> tuple[Check, ...]:
    """Judge a run in closed loop."""
    script, rate, forward, alone = run.script, run.loop.rate, run.forward, run.alone
    record, tracking = forward.record, forward.tracking
    # A pass that did not keep up would be compared unfairly.
    records = [one.record for one in (forward, alone) if one is not None]
    still = stood_still(run)
    checks = (
        _cycle_rate(script, records, rate),
        _in_time(records, rate),
        _real_time(records),
        whole_motion(script, record.truth, record.drives, record.feedforward),
        _within(
            EFFORT_TOLERANCE, tracking.effort_error, 'torques as expected',
            'feedforward off by {:.1e} N m at most from what motion and measured bite force ask '
            '(limit {:.0e})',
        ),
        _tracked(tracking, record.stalls),
        *([_pays(run)] if alone is not None else []),
        _loops(tracking, record.delays.missed),
        _bitten(load_food(run.loop.food), record),
        _at_home(tracking),
        no_fault([fault for one in records for fault in one.faults]),
    )  # fmt: skip
    if not still:
        return checks
    return tuple(
        check if check.passed or check.name in STANDS
        else Check(check.name, None, f'{still}; {check.detail}')
        for check in checks
    )  # fmt: skip


def stood_still(run: LoopRun) -> str:
    """Why a run cannot be judged: how often the computer stood still; empty if it can."""
    passes = [one for one in (run.forward, run.alone) if one is not None]
    excused = max(_excused_rows(one.tracking, one.record.stalls).mean() for one in passes)
    if excused <= MOST_EXCUSED:
        return ''
    often = _stalls_in_words([one.record for one in passes])
    return f'this computer stood still {often}, in or before {excused:.0%} of the motion'


def gain(run: LoopRun) -> float | None:
    """RMS error of the incisor with PD alone over that with feedforward.

    Without what the computer's own pauses caused in either pass; None if the run cannot be judged
    or has one pass.
    """
    if run.alone is None or stood_still(run):
        return None
    stalls = np.vstack([run.forward.record.stalls, run.alone.record.stalls])
    forward, alone = (
        rms(one.tracking.error[~_excused_rows(one.tracking, stalls)])
        for one in (run.forward, run.alone)
    )
    return alone / forward


def _excused_rows(tracking: Tracking, stalls: FloatArray) -> npt.NDArray[np.bool_]:
    """Rows in which the computer stood still, or had just done so."""
    return overlapped(tracking.time, tracking.time, stalls, RECOVERY)


def _cycle_rate(script: Script, records: Sequence[ClosedLoopRecord], rate: float) -> Check:
    moving = [record.drives.during(script.duration) for record in records]
    achieved = min(map(publish_rate, moving))
    left_out = sum(record.delays.left_out for record in records)
    unheard = sum(lost(record.drives.sequence) for record in records)
    keeps_up = all(
        publish_rate(drives) + _excused(drives.stamps, record.stalls, rate)
        >= DRIVE_RATE_TOLERANCE * rate
        for drives, record in zip(moving, records, strict=True)
    )
    return Check(
        'cycle rate',
        keeps_up,
        f'{achieved:.2f} Hz of {rate:g} Hz (limit {DRIVE_RATE_TOLERANCE:.1%}), '
        f'{left_out} cycles left out, {unheard} not heard of by the recorder'
        f'{_stood_still(records)}',
    )


def _excused(stamps: FloatArray, stalls: FloatArray, rate: float) -> float:
    """Cycles a second that are missing between stamps (N,) since the computer stood still, Hz."""
    missing = np.maximum(np.rint(np.diff(stamps) * rate) - 1.0, 0.0)
    count = missing[overlapped(stamps[:-1], stamps[1:], stalls)].sum()
    return float(count / np.ptp(stamps)) if count else 0.0


def _stood_still(records: Sequence[ClosedLoopRecord]) -> str:
    often = _stalls_in_words(records)
    return f'; not counted: this computer stood still {often}' if often else ''


def _stalls_in_words(records: Sequence[ClosedLoopRecord]) -> str:
    lengths = [end - begin for record in records for begin, end in record.stalls]
    if not lengths:
        return ''
    often = 'once' if len(lengths) == 1 else f'{len(lengths)} times'
    return f'{often}, {max(lengths) * 1e3:.1f} ms at most'


def _in_time(records: Sequence[ClosedLoopRecord], rate: float) -> Check:
    count = sum(record.drives.position.size for record in records)
    missed = sum(record.delays.missed for record in records)
    # In each stall and the cycle after it, every drive may have been late.
    excused = sum(
        record.drives.position.shape[1] * (math.ceil((end - begin) * rate) + 1)
        for record in records
        for begin, end in record.stalls
    )
    return Check(
        'PDOs in time',
        missed - excused <= LATE_TOLERANCE * count,
        f'{missed} of {count} from the drives came too late or never (limit {LATE_TOLERANCE:.1%})'
        f'{_stood_still(records)}',
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


def _tracked(tracking: Tracking, stalls: FloatArray) -> Check:
    error = tracking.error[~_excused_rows(tracking, stalls)]
    mean, largest = rms(error), float(error.max(initial=0.0))
    detail = (
        f'{mean * 1e3:.3f} mm RMS, {largest * 1e3:.3f} mm at most off the commanded motion '
        f'(limits {TRACKING_RMS * 1e3:g}, {TRACKING_LARGEST * 1e3:g})'
    )
    if len(error) < len(tracking.time):
        detail += (
            f'; {tracking.largest * 1e3:.3f} mm while or within {RECOVERY:g} s after this computer '
            'stood still'
        )
    return Check('incisor tracked', mean <= TRACKING_RMS and largest <= TRACKING_LARGEST, detail)


def _pays(run: LoopRun) -> Check:
    name, factor = 'feedforward pays', gain(run)
    if factor is None:
        return Check(name, None, 'the two passes cannot be compared')
    assert run.alone is not None
    return Check(
        name,
        factor > LEAST_FACTOR,
        f'PD alone has {factor:.2g} times the RMS error, {run.alone.tracking.rms * 1e3:.3f} mm '
        f'(more than {LEAST_FACTOR:g})',
    )


def _loops(tracking: Tracking, missed: int) -> Check:
    """By angles of the same instant: a PDO that came late left an older one in its cycle."""
    gaps = np.sort(tracking.closure)
    gap = float(gaps[: max(len(gaps) - missed, 1)][-1])
    late = f' but for the {missed} worst, as many as PDOs were late' if missed else ''
    detail = f'the measured angles leave {{:.4f}} mm at most{late} (limit {{:g}})'
    return _within(CLOSURE_TOLERANCE * 1e3, gap * 1e3, 'loops closed', detail)


def _bitten(food: Food, record: ClosedLoopRecord) -> Check:
    peak, least = float(np.linalg.norm(record.bite.force, axis=1).max()), BITTEN * food.yield_force
    return Check('food bitten', peak >= least, f'{peak:.1f} N (at least {least:g})')


def _at_home(tracking: Tracking) -> Check:
    away = float(np.linalg.norm(tracking.actual[-1] - tracking.commanded[0]))
    where = 'incisor {:.3f} mm from where the motion began (limit {:g})'
    return _within(INCISOR_TOLERANCE * 1e3, away * 1e3, 'ends in occlusion', where)
