# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The numbers of a run, for people and for programs, and its tables of cycles."""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.files.joint_series import JointSeries
from masticator_dynamics.motion.motion_rows import rows_at
from masticator_dynamics.robot.acceptance.checks import (
    Check,
    gain,
    publish_rate,
    reception_rate,
    stood_still,
)
from masticator_dynamics.robot.acceptance.passes import Pass, Run, Tracking, force_before
from masticator_dynamics.robot.recording import topics

Rows = list[tuple[str, str]]

LATENCY = 'from the stamp of a cycle to its reception by the middleware of the player'


@dataclasses.dataclass(frozen=True)
class Summary:
    """A run that has been judged, in numbers and as text."""

    numbers: dict[str, Any]  # for programs; every name carries its unit
    rows: Sequence[tuple[str, str]]  # names and texts of the main ones, for people
    checks: tuple[Check, ...]  # what the run was judged by
    more: str = ''  # stands below all that

    def as_json(self) -> str:
        """All numbers, for programs."""
        passed = all(check.passed for check in self.checks)
        checks = [dataclasses.asdict(check) for check in self.checks]
        return json.dumps({'passed': passed, **self.numbers, 'checks': checks}, indent=2) + '\n'

    def as_text(self) -> str:
        """The main numbers for people, aligned in columns."""
        torques = [torque_table(self.numbers)] if 'torque_peak_nm' in self.numbers else []
        blocks = aligned(self.rows), *torques, verdicts(self.checks)
        return '\n\n'.join('\n'.join(block) for block in blocks) + '\n' + self.more


def aligned(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Lines of names and values, in columns."""
    width = max(len(name) for name, _ in rows) + 2
    return [f'{name:{width}}{value}' for name, value in rows]


def torque_table(numbers: Mapping[str, Any]) -> list[str]:
    """Lines of all motors' efforts, with a title; peaks between cycles where known."""
    peak, rms = numbers['torque_peak_nm'], numbers['torque_rms_nm']
    between = numbers.get('torque_peak_between_cycles_nm')
    joint = max(len(name) for name in ('motor', *peak)) + 2
    unit = numbers.get('effort_unit', 'N m')
    wide = len(unit) + 7
    title = f'{"motor":{joint}}{f"peak {unit}":>{wide}}{f"RMS {unit}":>{wide}}'
    lines = [f'{name:{joint}}{peak[name]:{wide}.4f}{rms[name]:{wide}.4f}' for name in peak]
    if between is not None:
        title += f'{"peak between cycles":>22}'
        lines = [f'{line}{between[name]:22.4f}' for line, name in zip(lines, peak, strict=True)]
    return [title, *lines]


def verdicts(checks: Sequence[Check]) -> list[str]:
    """Lines of all checks, with a title."""
    title = max(len(check.name) for check in checks) + 2
    lines = ['checks']
    for check in checks:
        verdict = {True: 'ok', False: 'FAILED', None: 'not judged'}[check.passed]
        lines.append(f'  {verdict:12}{check.name:{title}}{check.detail}')
    return lines


def summarise(run: Run, checks: tuple[Check, ...]) -> Summary:
    """Collect the numbers of a run; torques are those of the motion, not of the rest around it.

    Parameters
    ----------
    checks : tuple of Check
        What it was judged by.
    """
    forward, script, mechanism = run.forward, run.forward.script, run.forward.mechanism
    series = forward.record[topics.DRIVES] if run.closed_loop else forward.state
    moving = series.during(script.duration)
    effort = moving.effort[:, moving.columns(mechanism.actuated)]
    began = datetime.datetime.fromtimestamp(forward.record.start, datetime.UTC)
    bitten = float(np.linalg.norm(forward.record.bite.force, axis=1).max())
    numbers = {
        'mechanism': mechanism.name,
        'motion': script.source,
        'started': began.isoformat(' ', 'seconds'),
        'duration_s': script.duration,
        'bite_force_peak_n': bitten,
        'effort_unit': forward.effort_unit,
        'torque_peak_nm': _by_name(mechanism.actuated, np.abs(effort).max(axis=0)),
        'torque_rms_nm': _by_name(mechanism.actuated, np.sqrt((effort**2).mean(axis=0))),
    }
    motion = f'{script.source}, {script.duration:.2f} s, mechanism {mechanism.name}'
    bite = f'{bitten:.1f} N peak'
    if run.closed_loop:
        more, rows = _closed_loop(run, moving)
        rows = [('motion', f'{motion}, food {run.food}'), *rows, ('bite force', bite)]
    else:
        more, rows = _node_alone(run, moving)
        bite += f' on {forward.record.bite.frame}, '
        bite += f'median age when used {more["bite_force_age_median_ms"]:.1f} ms'
        contacts = _contact_rows(more)
        rows = [('motion', motion), *rows, ('bite force', bite), *contacts]
    return Summary(numbers | more, rows, checks)


def _node_alone(run: Run, moving: JointSeries) -> tuple[dict[str, Any], Rows]:
    """Numbers and rows of a run with the dynamics node alone."""
    forward, mechanism = run.forward, run.forward.mechanism
    state, peaks = forward.state, forward.peaks
    contacts = forward.contact_forces[np.isin(state.stamps, moving.stamps)]
    ranges = _ranges(mechanism.contacts, contacts.min(axis=0), contacts.max(axis=0))
    n = {
        'cycles': len(state.stamps),
        'rate_requested_hz': run.rate,
        'rate_achieved_hz': publish_rate(state),
        'rate_received_hz': reception_rate(state),
        'longest_cycle_ms': float(np.diff(state.stamps).max() * 1e3),
        'latency_definition': LATENCY,
        **_spread((state.received - state.stamps) * 1e3, 'latency_{}_ms'),
        'torque_peak_between_cycles_nm': _by_name(mechanism.actuated, peaks.torque),
        'bite_frame': forward.record.bite.frame,
        'contact_force_peak_n': {name: max(map(abs, extent)) for name, extent in ranges.items()},
        'contact_force_range_n': ranges,
        'contact_force_range_between_cycles_n': _ranges(
            mechanism.contacts, peaks.lowest, peaks.highest
        ),
        'largest_closure_residual_m': float(forward.gap.max()),
        'largest_torque_error_nm': forward.effort_error,
        'bite_force_age_median_ms': forward.bite_age * 1e3,
        'energy_error': forward.energy_error,
    }
    rows = [
        ('publish rate', f'{n["rate_achieved_hz"]:.1f} Hz of {run.rate:g} Hz, '
                         f'received at {n["rate_received_hz"]:.1f} Hz, '
                         f'longest cycle {n["longest_cycle_ms"]:.1f} ms'),
        ('latency', f'median {n["latency_median_ms"]:.2f} ms, p99 {n["latency_p99_ms"]:.2f} ms,'
                    f' largest {n["latency_largest_ms"]:.1f} ms'),
        ('', LATENCY),
        ('closure residual', f'{n["largest_closure_residual_m"]:.1e} m or rad at most'),
    ]  # fmt: skip
    return n, rows


def _contact_rows(numbers: Mapping[str, Any]) -> Rows:
    between = numbers['contact_force_range_between_cycles_n']
    return [
        (f'contact {name}', f'{low:.2f} to {high:.2f} N along its normal, '
                            f'{between[name][0]:.2f} to {between[name][1]:.2f} N between cycles')
        for name, (low, high) in numbers['contact_force_range_n'].items()
    ]  # fmt: skip


def _closed_loop(run: Run, drives: JointSeries) -> tuple[dict[str, Any], Rows]:
    """Numbers and rows of a run in closed loop, with what the drives measured during the motion."""
    tracking, delays = run.forward.tracking, run.forward.record.delays
    alone = None if run.alone is None else run.alone.tracking
    n = {
        'food': run.food,
        'bus': 'CAN over UDP multicast',
        'cycle_rate_requested_hz': run.rate,
        'cycle_rate_achieved_hz': publish_rate(drives),
        **_spread(np.abs(jitter(drives.stamps, run.rate)) * 1e6, 'cycle_jitter_{}_us'),
        'cycles_left_out': delays.left_out,
        'pdos_missed': delays.missed,
        'mechanism_stood_still_s': delays.given_up,
        'dynamics_cycles_skipped': delays.skipped,
        'incisor_error_rms_mm': tracking.rms * 1e3,
        'incisor_error_largest_mm': tracking.largest * 1e3,
        'incisor_error_rms_pd_alone_mm': None if alone is None else alone.rms * 1e3,
        'incisor_error_largest_pd_alone_mm': None if alone is None else alone.largest * 1e3,
        'feedforward_factor': gain(run),
        'closure_largest_mm': float(tracking.closure.max()) * 1e3,
    }
    rows = [
        ('drive cycle', f'{n["cycle_rate_achieved_hz"]:.2f} Hz of {run.rate:g} Hz on {n["bus"]}'),
        ('SYNC jitter', f'median {n["cycle_jitter_median_us"]:.0f} µs, '
                        f'p99 {n["cycle_jitter_p99_us"]:.0f} µs, '
                        f'largest {n["cycle_jitter_largest_us"]:.0f} µs'),
        ('incisor error', _error(tracking)),
    ]  # fmt: skip
    if alone is not None:
        rows.append(('  with PD alone', f'{_error(alone)}: {_compared(run)}'))
    closure = f'{n["closure_largest_mm"]:.4f} mm at most, by measured angles'
    return n, [*rows, ('loop closure', closure)]


def _compared(run: Run) -> str:
    factor = gain(run)
    if factor is None:
        return f'not compared, {stood_still(run)}'
    if factor < 1.0:
        return f'feedforward is {1.0 / factor:.1f} times worse'
    return f'feedforward is {factor:.1f} times better'


def _error(tracking: Tracking) -> str:
    return f'{tracking.rms * 1e3:.3f} mm RMS, {tracking.largest * 1e3:.3f} mm at most'


def _by_name(names: Sequence[str], values: FloatArray) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))


def _ranges(
    names: Sequence[str], lowest: FloatArray, highest: FloatArray
) -> dict[str, tuple[float, float]]:
    return dict(zip(names, zip(lowest.tolist(), highest.tolist(), strict=True), strict=True))


def _spread(values: FloatArray, name: str) -> dict[str, float]:
    """Median, 99th percentile and largest, by names made from one with a place for the word."""
    return {
        name.format('median'): float(np.median(values)),
        name.format('p99'): float(np.percentile(values, 99.0)),
        name.format('largest'): float(values.max()),
    }


def jitter(stamps: FloatArray, rate: float) -> FloatArray:
    """Excess of each step between stamps (N,) over a period, (N - 1,), s."""
    return np.asarray(np.diff(stamps) - 1.0 / rate)


Columns = dict[str, FloatArray]


def run_table(run: Run) -> tuple[list[str], FloatArray]:
    """Columns and rows (N, columns) of a run.

    ``time`` (s from the start of the motion; of SYNC in closed loop) and ``position_j velocity_j
    effort_j`` of every actuated joint, as received or as the drives measure them; ``bite_fx bite_fy
    bite_fz`` (N, axes of the bite frame).

    With the dynamics node alone, where these are the last force sent before: ``contact_k``,
    multiplier of the contact's normal (N), and ``closure_residual``, largest gap of the loops (m)
    in the last message of all joints, which is published less often.

    In closed loop: ``feedforward_j``, the effort commanded; ``incisor_commanded_x`` and so on and
    ``incisor_x`` and so on, commanded and true (m, base axes); ``error`` of the incisor (m), and
    ``error_pd_alone``, that of the pass without efforts. Data from other sources than the drives
    are interpolated to the drives' cycles.
    """
    columns = _closed_loop_row(run) if run.closed_loop else _node_alone_row(run.forward)
    return list(columns), np.column_stack(list(columns.values()))


def _node_alone_row(forward: Pass) -> Columns:
    state, joints = forward.state, forward.record[topics.JOINT_STATES]
    columns = {'time': state.stamps} | _joints(state, forward.mechanism.actuated)
    columns |= _vector('bite_f{}', force_before(forward.record.bite, state.stamps))
    contacts = zip(forward.mechanism.contacts, forward.multipliers.T, strict=True)
    columns |= {f'contact_{name}': multipliers for name, multipliers in contacts}
    last = np.searchsorted(joints.stamps, state.stamps, side='right') - 1
    return columns | {'closure_residual': forward.gap[np.maximum(last, 0)]}


def _closed_loop_row(run: Run) -> Columns:
    record, tracking = run.forward.record, run.forward.tracking
    actuated, sent = run.forward.mechanism.actuated, record[topics.STATE]
    drives = record[topics.DRIVES].during(run.forward.script.duration)
    time = drives.stamps
    efforts = rows_at(time, sent.stamps, sent.effort[:, sent.columns(actuated)])
    columns = {'time': time} | _joints(drives, actuated, efforts)
    for label, rows in (('_commanded', tracking.commanded), ('', tracking.actual)):
        columns |= _vector(f'incisor{label}_{{}}', rows_at(time, tracking.time, rows))
    columns |= _vector('bite_f{}', rows_at(time, record.bite.stamps, record.bite.force))
    for name, pass_ in zip(('error', 'error_pd_alone'), run.passes, strict=False):
        columns[name] = np.interp(time, pass_.tracking.time, pass_.tracking.error)
    return columns


def _joints(
    series: JointSeries, names: tuple[str, ...], feedforward: FloatArray | None = None
) -> Columns:
    columns = {}
    for k, (name, column) in enumerate(zip(names, series.columns(names), strict=True)):
        columns[f'position_{name}'] = series.position[:, column]
        columns[f'velocity_{name}'] = series.velocity[:, column]
        columns[f'effort_{name}'] = series.effort[:, column]
        if feedforward is not None:
            columns[f'feedforward_{name}'] = feedforward[:, k]
    return columns


def _vector(name: str, rows: FloatArray) -> Columns:
    """Columns of vectors (N, 3), by a name with a place for the axis."""
    return {name.format(axis): column for axis, column in zip('xyz', rows.T, strict=True)}
