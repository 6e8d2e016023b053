# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The numbers of a run, for people and for programs."""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.demo.checks import Check, publish_rate, reception_rate
from masticator_dynamics.demo.closed_loop import ClosedLoop
from masticator_dynamics.demo.record import Record
from masticator_dynamics.demo.run_evaluation import RunEvaluation
from masticator_dynamics.demo.script import Script
from masticator_dynamics.demo.tracking import Pass, during
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.mechanism import Mechanism

LATENCY = 'from the stamp of a cycle to its reception by the middleware of the player'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Judged:
    """Numbers of a run that have been judged; every name carries its unit."""

    mechanism: str
    motion: str
    started: str
    duration_s: float
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def as_json(self) -> str:
        """All numbers, for programs."""
        content: dict[str, Any] = {'passed': self.passed, **dataclasses.asdict(self)}
        content['checks'] = content.pop('checks')  # to the end
        return json.dumps(content, indent=2) + '\n'


@dataclasses.dataclass(frozen=True)
class Summary(Judged):
    """Numbers of a run with the dynamics node alone."""

    cycles: int
    rate_requested_hz: float
    rate_achieved_hz: float
    rate_received_hz: float
    longest_cycle_ms: float
    latency_definition: str
    latency_median_ms: float
    latency_p99_ms: float
    latency_largest_ms: float
    torque_peak_nm: dict[str, float]
    torque_peak_between_cycles_nm: dict[str, float]
    torque_rms_nm: dict[str, float]
    bite_frame: str
    bite_force_peak_n: float
    contact_force_peak_n: dict[str, float]
    contact_force_range_n: dict[str, tuple[float, float]]
    contact_force_range_between_cycles_n: dict[str, tuple[float, float]]
    largest_closure_residual_m: float
    largest_torque_error_nm: float
    bite_force_age_median_ms: float
    energy_error: float

    def as_text(self) -> str:
        """The main numbers for people, aligned in columns."""
        rows = [
            ('motion', f'{self.motion}, {self.duration_s:.2f} s, mechanism {self.mechanism}'),
            ('publish rate', f'{self.rate_achieved_hz:.1f} Hz of {self.rate_requested_hz:g} Hz, '
                             f'received at {self.rate_received_hz:.1f} Hz, '
                             f'longest cycle {self.longest_cycle_ms:.1f} ms'),
            ('latency', f'median {self.latency_median_ms:.2f} ms, p99 {self.latency_p99_ms:.2f} ms,'
                        f' largest {self.latency_largest_ms:.1f} ms'),
            ('', self.latency_definition),
            ('closure residual', f'{self.largest_closure_residual_m:.1e} m at most'),
            ('bite force', f'{self.bite_force_peak_n:.1f} N peak on {self.bite_frame}, '
 f'median age when used {self.bite_force_age_median_ms:.1f} ms'),
            *((f'contact {name}',
               f'{_range(extent)} N along its normal, '
               f'{_range(self.contact_force_range_between_cycles_n[name])} N between cycles')
              for name, extent in self.contact_force_range_n.items()),
        ]  # fmt: skip
        torques = torque_table(
            self.torque_peak_nm, self.torque_rms_nm, self.torque_peak_between_cycles_nm
        )
        return '\n'.join([*aligned(rows), '', *torques, '', *verdicts(self.checks)]) + '\n'


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


def aligned(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Lines of names and values, in columns."""
    width = max(len(name) for name, _ in rows) + 2
    return [f'{name:{width}}{value}' for name, value in rows]


def torque_table(
    peak: Mapping[str, float],
    rms: Mapping[str, float],
    between: Mapping[str, float] | None = None,
) -> list[str]:
    """Lines of all motors' torques, N m, with a title; peaks between cycles where given.

    Parameters
    ----------
    peak, rms : mapping
        Of the motion, by motor.
    between : mapping, optional
        Peaks between cycles, by motor.
    """
    joint = max(len(name) for name in ('motor', *peak)) + 2
    title = f'{"motor":{joint}}{"peak N m":>10}{"RMS N m":>10}'
    lines = [f'{name:{joint}}{peak[name]:10.4f}{rms[name]:10.4f}' for name in peak]
    if between is not None:
        title += f'{"peak between cycles":>22}'
        lines = [f'{line}{between[name]:22.4f}' for line, name in zip(lines, peak, strict=True)]
    return [title, *lines]


def _ranges(
    names: Sequence[str], lowest: FloatArray, highest: FloatArray
) -> dict[str, tuple[float, float]]:
    return dict(zip(names, zip(lowest.tolist(), highest.tolist(), strict=True), strict=True))


def _range(extent: tuple[float, float]) -> str:
    return f'{extent[0]:.2f} to {extent[1]:.2f}'


def verdicts(checks: Sequence[Check]) -> list[str]:
    """Lines of all checks, with a title."""
    title = max(len(check.name) for check in checks) + 2
    lines = ['checks']
    for check in checks:
        verdict = 'ok' if check.passed else 'FAILED'
        lines.append(f'  {verdict:8}{check.name:{title}}{check.detail}')
    return lines


def common(
    mechanism: Mechanism, script: Script, start: float, effort: FloatArray
) -> dict[str, Any]:
    """Numbers common to all runs.

    Parameters
    ----------
    mechanism : Mechanism
        What moved.
    script : Script
        What was played.
    start : float
        Start of the motion, s since 1970.
    effort : (N, n_u) array
        During the motion, N m.
    """
    peaks, means = np.abs(effort).max(axis=0), np.sqrt((effort**2).mean(axis=0))
    began = datetime.datetime.fromtimestamp(start, datetime.UTC)
    return {
        'mechanism': mechanism.name,
        'motion': script.source,
        'started': began.isoformat(' ', 'seconds'),
        'duration_s': script.duration,
        'torque_peak_nm': dict(zip(mechanism.actuated, peaks.tolist(), strict=True)),
        'torque_rms_nm': dict(zip(mechanism.actuated, means.tolist(), strict=True)),
    }


def summarise(
    mechanism: Mechanism,
    script: Script,
    record: Record,
    evaluation: RunEvaluation,
    checks: tuple[Check, ...],
    rate: float,
) -> Summary:
    """Collect the numbers of a run; torques are those of the motion, not of the rest around it.

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
    checks : tuple of Check
        What they were judged by.
    rate : float
        Requested rate of node `dynamics`, Hz.
    """
    state = record.state
    moving = (state.stamps >= 0.0) & (state.stamps <= script.duration)
    effort = state.effort[moving][:, state.columns(mechanism.actuated)]
    latency = (state.received - state.stamps) * 1e3
    lengths = [float(np.linalg.norm(c.normal)) for c in mechanism.description.contacts]
    multipliers = np.array(list(evaluation.contacts.values())).reshape(-1, len(state.stamps)).T
    contacts = multipliers[moving] * lengths
    ranges = _ranges(mechanism.contacts, contacts.min(axis=0), contacts.max(axis=0))
    largest = evaluation.peaks
    biting = np.linalg.norm(evaluation.bite, axis=1) > 0.0
    return Summary(
        **common(mechanism, script, record.start, effort),
        cycles=len(state.stamps),
        rate_requested_hz=rate,
        rate_achieved_hz=publish_rate(state),
        rate_received_hz=reception_rate(state),
        longest_cycle_ms=float(np.diff(state.stamps).max() * 1e3),
        latency_definition=LATENCY,
        latency_median_ms=float(np.median(latency)),
        latency_p99_ms=float(np.percentile(latency, 99.0)),
        latency_largest_ms=float(latency.max()),
        torque_peak_between_cycles_nm=dict(
            zip(mechanism.actuated, largest.torque.tolist(), strict=True)
        ),
        bite_frame=record.bite.frame,
        bite_force_peak_n=float(np.linalg.norm(record.bite.force, axis=1).max()),
        contact_force_peak_n={name: max(map(abs, extent)) for name, extent in ranges.items()},
        contact_force_range_n=ranges,
        contact_force_range_between_cycles_n=_ranges(
            mechanism.contacts, largest.lowest * lengths, largest.highest * lengths
        ),
        largest_closure_residual_m=float(evaluation.gap.max()),
        largest_torque_error_nm=evaluation.effort_error,
        bite_force_age_median_ms=float(np.median(evaluation.bite_age[biting]) * 1e3)
        if biting.any()
        else 0.0,
        energy_error=evaluation.energy_error,
        checks=checks,
    )


def summarise_closed_loop(
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
        cycle_rate_achieved_hz=publish_rate(drives),
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
