# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What must hold for a run to count as passed; every check can fail on its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from masticator_dynamics.demo import topics
from masticator_dynamics.demo.record import JointSeries, Record
from masticator_dynamics.demo.run_evaluation import RunEvaluation
from masticator_dynamics.demo.script import Script
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.mechanism import Mechanism

POSITION_TOLERANCE = 1e-6  # rad
VELOCITY_TOLERANCE = 1e-4  # rad/s
EFFORT_TOLERANCE = 1e-5  # N m
CONTACT_TOLERANCE = 1e-3  # N
ENERGY_TOLERANCE = 1e-3  # of the motors' absolute work
GAP_TOLERANCE = 1e-10  # m
RATE_TOLERANCE = 0.99
REST_TOLERANCE = 1e-6  # rad and rad/s
TIMING = {'publish rate', 'reception rate', 'no cycle lost'}  # checks that a busy computer fails
LONGEST_POINT_STEP = 0.02  # s; crank-space interpolation over more would open the loops
_LAST = 0.2  # s of the record in which the mechanism must rest


@dataclasses.dataclass(frozen=True)
class Check:
    """A requirement, whether it was met, and the number that shows it."""

    name: str
    passed: bool
    detail: str


def run_checks(
    mechanism: Mechanism, script: Script, record: Record, evaluation: RunEvaluation, rate: float
) -> tuple[Check, ...]:
    """Judge a run at the requested rate (Hz).

    Parameters
    ----------
    mechanism : Mechanism
        What moved.
    script : Script
        What was played.
    record : Record
        What was received.
    evaluation : RunEvaluation
        The two compared.
    rate : float
        Requested rate of node `dynamics`, Hz.
    """
    position, velocity = evaluation.position_error, evaluation.velocity_error
    effort = evaluation.effort_error
    gap = float(evaluation.gap.max())
    published, received = publish_rate(record.state), reception_rate(record.state)
    return (
        Check(
            'motion as played',
            position <= POSITION_TOLERANCE and velocity <= VELOCITY_TOLERANCE,
            f'off by {position:.1e} rad and {velocity:.1e} rad/s at most '
            f'(limits {POSITION_TOLERANCE:.0e}, {VELOCITY_TOLERANCE:.0e})',
        ),
        Check(
            'torques as expected',
            effort <= EFFORT_TOLERANCE,
            f'off by {effort:.1e} N m at most (limit {EFFORT_TOLERANCE:.0e})',
        ),
        Check(
            'contact forces as expected',
            evaluation.contact_error <= CONTACT_TOLERANCE,
            f'off by {evaluation.contact_error:.1e} N at most (limit {CONTACT_TOLERANCE:.0e})',
        ),
        Check(
            'energy balance',
            evaluation.energy_error <= ENERGY_TOLERANCE,
            f"{evaluation.energy_error * 100.0:.2g} % of the motors' work unaccounted for "
            f'(limit {ENERGY_TOLERANCE * 100.0:g} %)',
        ),
        Check(
            'loops closed',
            gap <= GAP_TOLERANCE,
            f'largest gap {gap:.1e} m (limit {GAP_TOLERANCE:.0e})',
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
    )


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
