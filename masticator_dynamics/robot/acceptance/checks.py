# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What must hold for a run to count as passed; every check can fail on its own."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, rms
from masticator_dynamics.files.joint_series import JointSeries
from masticator_dynamics.robot.acceptance.passes import Run
from masticator_dynamics.robot.recording import topics
from masticator_dynamics.robot.recording.nodes import VISUAL_RATE
from masticator_dynamics.robot.recording.stalls import overlapped
from masticator_dynamics.robot.twin.food import load_food

POSITION_TOLERANCE = 1e-6  # rad or m
VELOCITY_TOLERANCE = 1e-4  # rad/s or m/s
EFFORT_TOLERANCE = 1e-5  # N m or N
CONTACT_TOLERANCE = 1e-3  # N
ENERGY_TOLERANCE = 1e-3  # of the motors' absolute work
GAP_TOLERANCE = 1e-10  # m or rad
RATE_TOLERANCE = 0.99
# s; of messages, and of the bite force that efforts are for, at most half are older: drives stop
# after 20 ms without an answer, and food goes on pressing.
LATEST = 0.02
REST_TOLERANCE = 1e-6  # rad and rad/s, or m and m/s
# Checks that a busy computer fails, and those that hold whatever it does.
TIMING = {
    'publish rate', 'reception rate', 'no cycle lost', 'cycle rate', 'PDOs in time', 'real time',
}  # fmt: skip
STANDS = {
    'torques as expected', 'whole motion recorded', 'motion as played',
    'contact forces as expected', 'energy balance', 'controller trajectory',
}  # fmt: skip
# What others rest on, in order: what fails with one before it in this list says nothing new.
_GROUNDS = (
    'no fault reported', 'whole motion recorded', 'motion as played', 'torques as expected',
)  # fmt: skip
# How many of these each check rests on.
_RESTS_ON = {name: count for count, name in enumerate(_GROUNDS)} | {
    'contact forces as expected': 4, 'energy balance': 4, 'loops closed': 3,
    'ends at home at rest': 2, 'controller trajectory': 3,
    'incisor tracked': 1, 'feedforward pays': 1, 'food bitten': 1, 'ends in occlusion': 1,
}  # fmt: skip
_POINT = 'positions', 'velocities', 'effort'  # of a trajectory's point
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


@dataclasses.dataclass(frozen=True)
class Check:
    """A requirement, whether it was met, and the number that shows it.

    ``passed`` is None where it could not be judged; ``detail`` then says why, and ``cause`` names
    the failed check that it follows from, if any.
    """

    name: str
    passed: bool | None
    detail: str
    cause: str = ''


Verdict = tuple[bool | None, str]  # whether it was met, and what shows it


def judge(run: Run) -> tuple[Check, ...]:
    """All checks of a run; what pauses of the computer may have spoiled is not judged.

    Nor is what fails in consequence of another check: the first cause is told alone.
    """
    chosen = _OF_EVERY_RUN | (_IN_CLOSED_LOOP if run.closed_loop else _OF_NODE_ALONE)
    if run.closed_loop and run.alone is None:
        del chosen['feedforward pays']
    still, checks = stood_still(run), []
    for name, check in chosen.items():
        verdict, detail = check(run)
        # A bool of numpy is neither True nor False to whoever asks with `is`.
        passed = None if verdict is None else bool(verdict)
        if still and not passed and name not in STANDS:
            passed, detail = None, f'{still}; {detail}'
        checks.append(Check(name, passed, detail))
    failed = {check.name for check in checks if check.passed is False}
    return tuple(_or_cause(check, failed) for check in checks)


def _or_cause(check: Check, failed: Collection[str]) -> Check:
    """The check, or that it follows from the first of the failed ones that it rests on."""
    causes = [name for name in _GROUNDS[: _RESTS_ON.get(check.name, 0)] if name in failed]
    if check.passed is not False or not causes:
        return check
    return Check(check.name, None, f'{causes[0]!r} failed', causes[0])


def _within(limit: float, value: float, detail: str) -> Verdict:
    """A value that may be as large as a limit; the detail has places for both."""
    return value <= limit, detail.format(value, limit)


# Pauses of the computer


def stood_still(run: Run) -> str:
    """Why a run cannot be judged: how often the computer stood still; empty if it can."""
    often = _stalls_in_words(run)
    commands = [pass_.state.during(pass_.script.duration).stamps for pass_ in run.passes]
    pairs = zip(run.passes, commands, strict=True)
    shares = (_excused(times, pass_.record.stalls).mean() for pass_, times in pairs)
    excused = max(shares) if often else 0
    if excused <= MOST_EXCUSED:
        return ''
    return f'this computer stood still {often}, in or before {excused:.0%} of the motion'


def _excused(times: FloatArray, stalls: FloatArray) -> npt.NDArray[np.bool_]:
    """Times (K,) at which the computer stood still, or had just done so."""
    return overlapped(times, times, stalls, RECOVERY)


def _not_counted(run: Run) -> str:
    often = _stalls_in_words(run)
    return f'; not counted: this computer stood still {often}' if often else ''


def _stalls_in_words(run: Run) -> str:
    lengths = [end - begin for pass_ in run.passes for begin, end in pass_.record.stalls]
    if not lengths:
        return ''
    often = 'once' if len(lengths) == 1 else f'{len(lengths)} times'
    return f'{often}, {max(lengths) * 1e3:.1f} ms at most'


# Rates


def publish_rate(state: JointSeries) -> float:
    """Cycles per second of the record by their stamps, Hz; 0 with fewer than two."""
    stamps = state.stamps
    return float((len(stamps) - 1) / (stamps[-1] - stamps[0])) if len(stamps) > 1 else 0.0


def reception_rate(state: JointSeries) -> float:
    """Cycles per second by times of reception, Hz: lower if messages arrive later and later.

    From the best-fit line through the times of reception: messages that wait for a moment and then
    arrive all at once do not affect the rate.
    """
    if len(state.stamps) < 2:
        return 0.0
    slope = np.polyfit(state.stamps, state.received, 1)[0]
    return float(publish_rate(state) / slope)


def missing(stamps: FloatArray, rate: float) -> FloatArray:
    """Cycles that were not run between stamps (N,), by the gap after each of the first N - 1."""
    return np.maximum(np.rint(np.diff(stamps) * rate), 1.0) - 1.0


def lost(sequence: FloatArray) -> int:
    """Messages published between the first and last one received that never arrived."""
    if not sequence.any():  # a middleware that does not count
        return 0
    return int(sequence[-1] - sequence[0]) + 1 - len(sequence)


# Of every run


def _whole_motion(run: Run) -> Verdict:
    """The record covers the motion; otherwise the other checks would judge only a part."""
    series, duration = run.forward.record.series.values(), run.forward.script.duration
    first = max(float(messages.stamps[0]) for messages in series)
    last = min(float(messages.stamps[-1]) for messages in series)
    covered = first <= 0.0 and last >= duration
    return covered, f'{first:.2f} s to {last:.2f} s of a motion of {duration:.2f} s'


def _torques(run: Run) -> Verdict:
    """Efforts are those that the motion and the bite force sent or measured need."""
    detail = f'off by {{:.1e}} {run.forward.effort_unit} at most (limit {{:.0e}})'
    return _within(EFFORT_TOLERANCE, run.forward.effort_error, detail)


def _no_fault(run: Run) -> Verdict:
    """Diagnostics reported no error."""
    faults = [fault for pass_ in run.passes for fault in pass_.record.faults]
    return not faults, '; '.join(faults) or 'none'


_OF_EVERY_RUN: dict[str, Callable[[Run], Verdict]] = {
    'torques as expected': _torques,
    'whole motion recorded': _whole_motion,
    'no fault reported': _no_fault,
}


# With the dynamics node alone


def _motion(run: Run) -> Verdict:
    position, velocity = run.forward.motion_errors
    unit, rate = run.forward.position_units
    taken = '' if run.forward.record.actuated_trajectory else 'the node took no motion; '
    return position <= POSITION_TOLERANCE and velocity <= VELOCITY_TOLERANCE, (
        f'{taken}off by {position:.1e} {unit} and {velocity:.1e} {rate} at most '
        f'(limits {POSITION_TOLERANCE:.0e}, {VELOCITY_TOLERANCE:.0e})'
    )


def _contact_forces(run: Run) -> Verdict:
    detail = 'off by {:.1e} N at most (limit {:.0e})'
    return _within(CONTACT_TOLERANCE, run.forward.contact_error, detail)


def _energy(run: Run) -> Verdict:
    detail = "{:.2g} % of the motors' work unaccounted for (limit {:g} %)"
    return _within(100.0 * ENERGY_TOLERANCE, 100.0 * run.forward.energy_error, detail)


def _gaps(run: Run) -> Verdict:
    largest = float(run.forward.gap.max())
    return _within(GAP_TOLERANCE, largest, 'largest gap {:.1e} m or rad (limit {:.0e})')


def _publish_rate(run: Run) -> Verdict:
    state, rate = run.forward.state, run.rate
    published = publish_rate(state)
    return published >= RATE_TOLERANCE * rate, (
        f'{published:.1f} Hz of {rate:g} Hz by stamps (limit {RATE_TOLERANCE:.0%}), '
        f'{missing(state.stamps, rate).sum():.0f} cycles skipped by the node, '
        f'longest {np.diff(state.stamps).max(initial=0.0) * 1e3:.1f} ms'
    )


def _reception_rate(run: Run) -> Verdict:
    """Messages come as fast as they are published, and soon; bite forces are used soon."""
    published, received = publish_rate(run.forward.state), reception_rate(run.forward.state)
    late, age = run.forward.latency, run.forward.bite_age
    return received >= RATE_TOLERANCE * published and max(abs(late), age) <= LATEST, (
        f'{received:.1f} Hz of {published:.1f} Hz published (limit {RATE_TOLERANCE:.0%}), '
        f'{late * 1e3:.1f} ms late, bites {age * 1e3:.1f} (medians, limit {LATEST * 1e3:g})'
    )


def _no_cycle_lost(run: Run) -> Verdict:
    """Every cycle that was run arrived, with the same numbers on both topics."""
    state, record = run.forward.state, run.forward.record
    effort = state.effort[:, state.columns(run.forward.mechanism.actuated)]
    contacts, joints = record[topics.CONTACTS], record[topics.JOINT_STATES]
    series = (state.sequence, record.effort_sequence, contacts.sequence, joints.sequence)
    count = sum(map(lost, series))
    # The node leaves out cycles of what is only looked at; recording began between two messages.
    shown = (len(effort) - 2) / max(round(run.rate / min(VISUAL_RATE, run.rate)), 1)
    count += max(len(effort) - 2 - len(contacts.stamps), 0)
    count += max(math.floor(RATE_TOLERANCE * shown) - 1 - len(joints.stamps), 0)
    detail = f'{count} lost on the way, {len(effort)} came'
    ordered = bool((np.diff(state.stamps) > 0.0).all())
    if not ordered:
        detail += ', stamps do not increase'
    same = _same_but_for_ends(effort, record.effort)
    if not same:
        detail += f', {topics.EFFORT} and {topics.STATE} differ'
    return count == 0 and ordered and same, detail


def _same_but_for_ends(first: FloatArray, second: FloatArray) -> bool:
    """Recording may have begun and ended between the second messages of one cycle."""
    count = min(len(first), len(second)) - 2
    return count > 0 and any(
        np.array_equal(first[i : i + count], second[j : j + count])
        for i in range(3)
        for j in range(3)
    )


def _at_rest_at_home(run: Run) -> Verdict:
    mechanism, state = run.forward.mechanism, run.forward.state
    late = state.rows(state.stamps >= state.stamps[-1] - _LAST)
    home = mechanism.home.q[mechanism.tree_indices(mechanism.actuated)]
    away = float(np.abs(late.position[:, late.columns(mechanism.actuated)] - home).max())
    speed = float(np.abs(late.velocity).max())
    unit, rate = run.forward.position_units
    detail = f'{away:.1e} {unit} from home at {speed:.1e} {rate} (limits {REST_TOLERANCE:.0e})'
    return max(away, speed) <= REST_TOLERANCE, detail


def _controller_trajectory(run: Run) -> Verdict:
    """A joint_trajectory_controller could take feedforward_trajectory as it is."""
    mechanism, script = run.forward.mechanism, run.forward.script
    messages = run.forward.record.actuated_trajectory
    if len(messages) != 1:
        return False, f'{len(messages)} messages, expected 1'
    message = messages[0]
    if tuple(message.joint_names) != mechanism.actuated:
        return False, f'joints are {", ".join(message.joint_names)}'
    instants = [point.time_from_start for point in message.points]
    times = np.array([instant.sec + instant.nanosec * 1e-9 for instant in instants])
    played = mechanism.feedforward_batch(*script.path.sample(times), **script.effort_options)
    rows = {name: np.array([getattr(point, name) for point in message.points]) for name in _POINT}
    efforts = rows['effort'].shape == played.actuated.shape
    error, rate_error, effort_error = (
        float(np.abs(row - wanted).max()) if row.shape == wanted.shape else math.inf
        for row, wanted in zip(
            rows.values(), (played.position, played.velocity, played.actuated), strict=True
        )
    )
    step = float(np.diff(times).max())
    speed = float(np.abs(message.points[-1].velocities).max())
    unit, rate = run.forward.position_units
    passed = (
        error <= POSITION_TOLERANCE
        and rate_error <= VELOCITY_TOLERANCE
        and effort_error <= EFFORT_TOLERANCE
        and step <= LONGEST_POINT_STEP + 1e-9
        and speed <= REST_TOLERANCE
        and times[-1] >= script.duration - 1e-6
    )
    told = f'{effort_error:.0e} {run.forward.effort_unit}' if efforts else 'no efforts'
    return passed, (
        f'{len(times)} points, {step * 1e3:.0f} ms apart, {times[-1]:.2f} s; '
        f'off by {error:.0e} {unit}, {rate_error:.0e} {rate}, {told}; ends at {speed:.0e}'
    )


_OF_NODE_ALONE: dict[str, Callable[[Run], Verdict]] = {
    'motion as played': _motion,
    'contact forces as expected': _contact_forces,
    'energy balance': _energy,
    'loops closed': _gaps,
    'publish rate': _publish_rate,
    'reception rate': _reception_rate,
    'no cycle lost': _no_cycle_lost,
    'ends at home at rest': _at_rest_at_home,
    'controller trajectory': _controller_trajectory,
}


# In closed loop; a pass that did not keep up would be compared unfairly


def _cycle_rate(run: Run) -> Verdict:
    drives = [pass_.record[topics.DRIVES] for pass_ in run.passes]
    moving = [series.during(run.forward.script.duration) for series in drives]
    left_out = sum(pass_.record.delays.left_out for pass_ in run.passes)
    unheard = sum(lost(series.sequence) for series in drives)
    keeps_up = all(
        publish_rate(series) + _excused_rate(series.stamps, pass_.record.stalls, run.rate)
        >= DRIVE_RATE_TOLERANCE * run.rate
        for series, pass_ in zip(moving, run.passes, strict=True)
    )
    return keeps_up, (
        f'{min(map(publish_rate, moving)):.2f} Hz of {run.rate:g} Hz '
        f'(limit {DRIVE_RATE_TOLERANCE:.1%}), {left_out} cycles left out, '
        f'{unheard} not heard of by the recorder{_not_counted(run)}'
    )


def _excused_rate(stamps: FloatArray, stalls: FloatArray, rate: float) -> float:
    """Cycles a second that are missing between stamps (N,) since the computer stood still, Hz."""
    count = missing(stamps, rate)[overlapped(stamps[:-1], stamps[1:], stalls)].sum()
    return float(count / np.ptp(stamps)) if count else 0.0


def _in_time(run: Run) -> Verdict:
    records = [pass_.record for pass_ in run.passes]
    count = sum(record[topics.DRIVES].position.size for record in records)
    missed = sum(record.delays.missed for record in records)
    # In each stall and the cycle after it, every drive may have been late.
    excused = sum(
        record[topics.DRIVES].position.shape[1] * (math.ceil((end - begin) * run.rate) + 1)
        for record in records
        for begin, end in record.stalls
    )
    return missed - excused <= LATE_TOLERANCE * count, (
        f'{missed} of {count} from the drives came too late or never (limit {LATE_TOLERANCE:.1%})'
        f'{_not_counted(run)}'
    )


def _real_time(run: Run) -> Verdict:
    """The mechanism never waited for the computer, nor did the commands."""
    given_up = sum(pass_.record.delays.given_up for pass_ in run.passes)
    skipped = sum(pass_.record.delays.skipped for pass_ in run.passes)
    return given_up == 0.0 and skipped == 0, (
        f'the mechanism stood still for {given_up:g} s, the dynamics node skipped {skipped} cycles'
    )


def _tracked(run: Run) -> Verdict:
    tracking = run.forward.tracking
    # The twin publishes at least as often as the drives: what it left out may have been anything.
    cycles = len(run.forward.record[topics.DRIVES].during(run.forward.script.duration).stamps)
    if len(tracking.time) < RATE_TOLERANCE * cycles:
        return False, f'{len(tracking.time)} true states of the mechanism in {cycles} cycles'
    error = tracking.error[~_excused(tracking.time, run.forward.record.stalls)]
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
    return mean <= TRACKING_RMS and largest <= TRACKING_LARGEST, detail


def gain(run: Run) -> float | None:
    """RMS error of the incisor with PD alone over that with feedforward.

    Without what the computer's own pauses caused in either pass; None if the run cannot be judged
    or has one pass.
    """
    if run.alone is None or stood_still(run):
        return None
    stalls = np.vstack([pass_.record.stalls for pass_ in run.passes])
    forward, alone = (
        rms(pass_.tracking.error[~_excused(pass_.tracking.time, stalls)]) for pass_ in run.passes
    )
    return alone / forward


def _pays(run: Run) -> Verdict:
    factor = gain(run)
    if factor is None or run.alone is None:
        return None, 'the two passes cannot be compared'
    return factor > LEAST_FACTOR, (
        f'PD alone has {factor:.2g} times the RMS error, {run.alone.tracking.rms * 1e3:.3f} mm '
        f'(more than {LEAST_FACTOR:g})'
    )


def _measured_gaps(run: Run) -> Verdict:
    """By angles of the same instant: a PDO that came late left an older one in its cycle."""
    missed, gaps = run.forward.record.delays.missed, np.sort(run.forward.tracking.closure)
    gap = float(gaps[: max(len(gaps) - missed, 1)][-1])
    late = f' but for the {missed} worst, as many as PDOs were late' if missed else ''
    detail = f'the measured angles leave {{:.4f}} mm at most{late} (limit {{:g}})'
    return _within(CLOSURE_TOLERANCE * 1e3, gap * 1e3, detail)


def _bitten(run: Run) -> Verdict:
    peak = float(np.linalg.norm(run.forward.record.bite.force, axis=1).max())
    least = BITTEN * load_food(run.food).yield_force
    return peak >= least, f'{peak:.1f} N (at least {least:g})'


def _in_occlusion(run: Run) -> Verdict:
    tracking = run.forward.tracking
    away = float(np.linalg.norm(tracking.actual[-1] - tracking.commanded[0]))
    where = 'incisor {:.3f} mm from where the motion began (limit {:g})'
    return _within(INCISOR_TOLERANCE * 1e3, away * 1e3, where)


_IN_CLOSED_LOOP: dict[str, Callable[[Run], Verdict]] = {
    'cycle rate': _cycle_rate,
    'PDOs in time': _in_time,
    'real time': _real_time,
    'incisor tracked': _tracked,
    'feedforward pays': _pays,
    'loops closed': _measured_gaps,
    'food bitten': _bitten,
    'ends in occlusion': _in_occlusion,
}
