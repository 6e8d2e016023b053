# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What was identified, as one HTML file with figures."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.parameters import BRAKES, KINDS, quantities
from masticator_dynamics.files.html_page import image, page, table
from masticator_dynamics.files.units import QUANTITIES
from masticator_dynamics.identification.identify import Identified
from masticator_dynamics.identification.unknowns import OFFSET
from masticator_dynamics.mechanism import Mechanism

_SHOWN = 10.0  # s in the figures
_LARGEST = 0.95  # confidence of intervals
_ABOUT = """
Errors of efforts are judged on a held-out part of the recording that nothing was learnt from, and
only by the part of the efforts that moves the mechanism: efforts that motors give against one
another move nothing. Standard deviations come from leaving out one part of the motion after the
other, with all its repetitions; they know little of what no parameter describes.
"""
_OVER_VELOCITY = """
What is left over velocity shows friction that is not described: a step at zero is constant
friction, a slope viscous friction, and black what friction and offset found make of it at the same
times, through the same filter; what stays blue and bends near zero is friction that falls with
velocity (Stribeck), a fan that opens with the load friction that grows with it, and a line that
does not go through zero an offset.
"""


def report(result: Identified, source: str, held_out: str, doubts: Sequence[str] = ()) -> str:
    """The page.

    Parameters
    ----------
    result : Identified
    source, held_out : str
        Names of the recordings.
    doubts : sequence of str
        What is doubted.
    """
    mechanism, (before, after) = result.mechanism, result.errors
    length = result.measured.time[-1] - result.measured.time[0]
    undetermined = [name for name in result.kept if not name.startswith('sensor')]
    parts = [
        f'<p>From {html.escape(source)}: {length:.1f} s of motion; judged on '
        f'{html.escape(held_out)}. RMS error of the efforts there: '
        f'<b>{100.0 * before:.2f} %</b> of their RMS with the numbers of the file, '
        f'<b>{100.0 * after:.2f} %</b> with those found; least squares, whose bodies need not be '
        f'possible, leaves {100.0 * result.held_out.error(result.plain):.2f} %.</p>',
        *(f'<p><b>{html.escape(sentence)}</b></p>' for sentence in doubts),
        *(f'<p>{html.escape(sentence)}</p>' for sentence in result.remarks),
        f'<p>{_ABOUT}</p>',
        image(_efforts_figure(result), 'Measured and predicted efforts over time, of each motor'),
        f'<p>{_OVER_VELOCITY}</p>',
        *(f'<p>{html.escape(sentence)}.</p>' for sentence in result.friction),
        image(_friction_figure(result), 'What is left of efforts over velocity, of each motor'),
        '<h2>By motor</h2>',
        table(
            ['motor', 'unit', 'RMS effort', 'error: file', 'least squares', 'found', 'offset'],
            _by_motor(result),
        ),
        '<h2>Parameters</h2>',
        f'<p>The data tell {len(result.learnt.amounts)} combinations of parameters better than the '
        f'file does. {len(result.determined)} parameters are determined by themselves.</p>',
        table(
            ['parameter', 'unit', 'file', 'found', 'standard deviation', 'before'],
            _parameters(result, result.determined),
        ),
        f'<h2>Only in combinations</h2><p>{html.escape(", ".join(result.combined)) or "None."}</p>',
        '<h2>Not determined</h2><p>These keep their values: '
        f'{html.escape(", ".join(undetermined)) or "none"}.</p>',
        *_of_encoders(result),
    ]
    return page(f'{mechanism.name} identified', parts)


def _by_motor(result: Identified) -> list[list[str]]:
    held = result.held_out
    columns = [_rms(rows) for rows in (held.effort, *_all_errors(result))]
    names = zip(result.mechanism.actuated, result.mechanism.effort_units, strict=True)
    return [
        [name, unit, *(f'{column[k]:.4g}' for column in columns), f'{result.offsets[name]:.3g}']
        for k, (name, unit) in enumerate(names)
    ]


def _all_errors(result: Identified) -> list[FloatArray]:
    """Errors of efforts (M, n_u) held out: of the file, of least squares, and of what was found."""
    return [result.held_out.errors(x) for x in (0.0, result.plain, result.x)]


def _rms(rows: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt((rows**2).mean(axis=0)))


def _parameters(result: Identified, names: tuple[str, ...]) -> list[list[str]]:
    unknowns, after = result.unknowns, result.deviations
    file = dict(zip(unknowns.names, unknowns.values, strict=True))
    before = dict(zip(unknowns.names, unknowns.deviation, strict=True))
    values = file | result.values
    return [
        [name, _unit(result.mechanism, name), f'{file[name]:.5g}', f'{values[name]:.5g}',
         f'{after[name]:.2g}', f'{before[name]:.2g}']
        for name in names
    ]  # fmt: skip


def _unit(mechanism: Mechanism, name: str) -> str:
    """SI unit of a parameter; empty for ratios, and for numbers of sensors."""
    if name.rpartition('.')[2] not in KINDS or name.startswith('sensor.'):
        return ''
    (quantity, *_) = quantities(mechanism.description, name)
    return next(iter(QUANTITIES[quantity]), '')


def _of_encoders(result: Identified) -> list[str]:
    """What redundant encoders say about one another."""
    mechanism = result.mechanism
    if len(mechanism.actuated) == len(mechanism.independent):
        return [
            '<h2>Encoders</h2><p>There are as many motors as degrees of freedom: encoders cannot '
            'be checked against one another, and scales of torques are only known relative to '
            'masses.</p>'
        ]
    misfit = zip(mechanism.actuated, _rms(result.measured.misfit), strict=True)
    units = _joint_units(mechanism)
    rows = [[name, f'{x:.3g} {unit}'] for (name, x), unit in zip(misfit, units, strict=True)]
    text = 'What is left when the closed mechanism is fitted to the encoders (RMS):'
    return [f'<h2>Encoders</h2><p>{text}</p>', table(['motor', 'misfit'], rows)]


def _joint_units(mechanism: Mechanism) -> list[str]:
    """Units of the motors' joints, which slide or turn whatever their motors do."""
    joints = mechanism.structure.tree.joints
    return [joints[j].unit for j in mechanism.actuated_rows]


def _efforts_figure(result: Identified) -> Any:
    """Measured efforts, and those that the file and what was found predict."""
    held, names = result.held_out, result.mechanism.actuated
    shown = held.time - held.time[0] < _SHOWN
    figure, axes = _figure(len(names), 1.8, sharex=True)
    errors = held.errors(0.0), held.errors(result.x)
    for k, (axis, name) in enumerate(zip(axes, names, strict=True)):
        time, measured = held.time[shown], held.effort[shown, k]
        axis.plot(time, measured, color='0.6', lw=2.5, label='measured')
        axis.plot(time, measured - errors[0][shown, k], color='tab:red', lw=1, label='file')
        axis.plot(time, measured - errors[1][shown, k], color='tab:blue', lw=1, label='found')
        axis.set_ylabel(f'{name}\n{result.mechanism.effort_units[k]}')
    axes[0].legend(loc='upper right', ncols=3, fontsize='small')
    axes[-1].set_xlabel('time, s')
    return figure


def _friction_figure(result: Identified) -> Any:
    """What the file leaves, which shows friction, and what is left now."""
    held, names = result.held_out, result.mechanism.actuated
    figure, axes = _figure(len(names), 2.0, sharex=False)
    errors, friction = (held.errors(0.0), held.errors(result.x)), _friction_found(result)
    units = _joint_units(result.mechanism)
    for k, (axis, name) in enumerate(zip(axes, names, strict=True)):
        for rows, color, label in zip(
            errors, ('tab:red', 'tab:blue'), ('file', 'found'), strict=True
        ):
            axis.plot(held.velocity[:, k], rows[:, k], '.', ms=2, color=color, label=label)
        axis.plot(
            held.velocity[:, k], friction[:, k], '.', ms=1, color='black', label='friction found'
        )
        axis.axhline(0.0, color='0.6', lw=0.5)
        axis.set_ylabel(f'{name}\n{result.mechanism.effort_units[k]} left')
        axis.set_xlabel(f'velocity of the joint, {units[k]}/s')
    axes[0].legend(loc='upper left', ncols=3, fontsize='small')
    return figure


def _friction_found(result: Identified) -> FloatArray:
    """What friction and offsets explain (M, n_u) of the efforts held out that the file leaves."""
    kinds = [cause.rpartition('.')[2] for cause in result.unknowns.causes]
    theirs = np.isin(kinds, (*BRAKES, OFFSET))
    x, held = np.where(theirs, result.x, 0.0), result.held_out
    return held.errors(0.0) - held.errors(x)


def _figure(count: int, height: float, sharex: bool) -> tuple[Any, Any]:
    """A figure with an axis for each motor, below one another."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, height * count), layout='constrained')
    return figure, np.atleast_1d(figure.subplots(count, 1, sharex=sharex))
