# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion files: what the columns of a motion mean for a mechanism."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import check_frame
from masticator_dynamics.errors import ActuationError, InputError, MasticatorError
from masticator_dynamics.files.recorded_joints import read_joints
from masticator_dynamics.files.tables import Columns, plain_name
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.motion_rows import MotionRows

MEASURED = 1e-3  # m, by which measured positions of redundant motors may leave loops open
_SAME = 1e-9  # rad or m, of one position in two columns
WRENCH = ('fx', 'fy', 'fz', 'tx', 'ty', 'tz')


@dataclasses.dataclass(frozen=True)
class MotionFile(MotionRows):
    """A motion with the wrench on the platform."""

    table: Columns  # the table that it was read from
    wrench: FloatArray | None  # (N, 6), N and N m, as written in the file
    # (N, 6), the same on links, at their origins: columns ``fx@LINK`` to ``tz@LINK``.
    link_wrenches: dict[str, FloatArray]
    rates: bool  # whether the file has velocities and accelerations


def read_motion(
    source: str,
    mechanism: Mechanism,
    at_rest: bool = False,
    topic: str | None = None,
    names: Mapping[str, str] | None = None,
    cutoff: float | None = None,
) -> MotionFile:
    """Read a motion; if the file has no derivatives, a spline in time supplies them.

    Where independent coordinates are missing, positions of the actuated joints tell them.

    Parameters
    ----------
    source : str
        CSV, or a recording of joints; ``topic`` and ``names`` as for :func:`.read_joints`.
    at_rest : bool
        Whether that spline begins and ends at rest, rather than with what the rows suggest.
    cutoff : float, optional
        Hz, of a filter before that spline, for measured positions, whose noise their derivatives
        would show.

    Raises
    ------
    InputError
        Naming file, row and column.
    """
    joints = mechanism.independent, mechanism.actuated
    table = read_joints(source, joints, topic=topic, names=names)
    return motion_in(table, mechanism, at_rest, cutoff)


def motion_in(
    table: Columns, mechanism: Mechanism, at_rest: bool = False, cutoff: float | None = None
) -> MotionFile:
    """Extract a motion from a table; otherwise as :func:`read_motion`."""
    names = mechanism.independent
    time, y = table.times(), independent_positions(table, mechanism)
    derivatives = _derivatives(table, names)
    if derivatives is None:
        # Only here: scipy's splines take longer to import than a short motion to evaluate.
        from masticator_dynamics.motion.low_pass import low_passed
        from masticator_dynamics.motion.path import MotionPath

        try:
            y = y if cutoff is None else low_passed(time, y, cutoff)
            if at_rest and len(time) > 1:
                still = (np.zeros(len(names)), np.zeros(len(names)))
                path = MotionPath.through(time, y, start=still, end=still, names=names)
            else:
                path = MotionPath.interpolate(time, y, names=names)
        except InputError as error:
            raise InputError(f'{table.source}: {error}') from error
        _, y_dot, y_ddot = path.sample(time)
    elif at_rest:
        raise InputError(f'{table.source}: it has rates, which say whether it ends at rest')
    elif cutoff is not None:
        raise InputError(f'{table.source}: it has rates; a cutoff is for positions alone')
    else:
        y_dot, y_ddot = derivatives[:, : len(names)], derivatives[:, len(names) :]
    wrench, on_links = table.all_or_none(WRENCH), _link_wrenches(table, mechanism)
    rates = derivatives is not None
    return MotionFile(time, y, y_dot, y_ddot, table, wrench, on_links, rates)


def _derivatives(table: Columns, names: Sequence[str]) -> FloatArray | None:
    """Velocities and accelerations (N, 2 n_y), if a table has them.

    Where positions are called ``position_c``, as in recordings and in tables of inverse dynamics,
    velocities alone are not used.
    """
    if not set(names) <= set(table.columns):
        rates = [f'{word}_{name}' for word in ('velocity', 'acceleration') for name in names]
        return table.numbers(rates) if set(rates) <= set(table.columns) else None
    return table.all_or_none([f'{name}_{rate}' for rate in ('dot', 'ddot') for name in names])


def _link_wrenches(table: Columns, mechanism: Mechanism) -> dict[str, FloatArray]:
    """Wrenches (N, 6) by link."""
    wrenches = {}
    for column in table.columns:
        match = re.fullmatch(r'[ft][xyz]@(.+)', column)
        if not match and (meant := re.match('[ft][xyz]@', plain_name(column))):
            raise InputError(
                f'{table.source}: column {column!r} is not read; is {meant[0]}LINK meant?'
            )
        if match and match[1] not in wrenches:
            link = match[1]
            try:
                check_frame(mechanism, link)
            except InputError as error:
                raise InputError(f'{table.source}, column {column!r}: {error}') from None
            wrench = table.all_or_none([f'{part}@{link}' for part in WRENCH])
            assert wrench is not None  # at least one of its columns exists
            wrenches[link] = wrench
    return wrenches


def actuated_positions(table: Columns, mechanism: Mechanism) -> FloatArray:
    """Positions (N, n_u) of the actuated joints: of each joint j, column j or position_j."""
    return table.numbers(_position_columns(table, mechanism.actuated))


def independent_positions(table: Columns, mechanism: Mechanism) -> FloatArray:
    """Independent coordinates (N, n_y), which the actuated joints tell where they are missing."""
    if not moves(table, mechanism.independent) and moves(table, mechanism.actuated):
        actuated = actuated_positions(table, mechanism)
        with errors_located(table):
            return mechanism.forward_kinematics_batch(actuated, MEASURED).y
    return table.numbers(_position_columns(table, mechanism.independent))


def moves(table: Columns, joints: Sequence[str]) -> bool:
    """Whether a table has positions of joints."""
    return set(_position_columns(table, joints)) <= set(table.columns)


def _position_columns(table: Columns, joints: Sequence[str]) -> list[str]:
    names = []
    for joint in joints:
        other = f'position_{joint}'
        if joint in table.columns and other in table.columns:
            first, second = table.numbers([joint, other]).T
            if np.abs(first - second).max(initial=0.0) > _SAME:
                raise InputError(f'{table.source}: columns {joint} and {other} are not the same')
        names.append(other if other in table.columns and joint not in table.columns else joint)
    return names


def motion_columns(mechanism: Mechanism) -> list[str]:
    """Header of a motion file with derivatives, without wrench."""
    return ['time', *(c + s for c in mechanism.independent for s in ('', '_dot', '_ddot'))]


@contextlib.contextmanager
def errors_located(table: Columns, first: int = 0) -> Iterator[None]:
    """Convert the row in an error of a batch that started at row ``first`` to the file's row."""
    try:
        yield
    except MasticatorError as error:
        if error.row is None:
            raise
        if isinstance(error, ActuationError):  # not the fault of any row
            raise type(error)(error.without_row) from error
        raise type(error)(f'{table.place(first + error.row)}: {error.without_row}') from error
