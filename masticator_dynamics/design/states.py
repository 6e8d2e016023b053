# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""States in which a study judges geometries: motions, recordings and boxes, with their loads."""

from __future__ import annotations

import dataclasses
import itertools
import pathlib

import numpy as np
import numpy.typing as npt

from masticator_dynamics.design.study_file import Chewing, StudyMotion
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import frame_poses
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.files.tables import read_table
from masticator_dynamics.files.units import in_si
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.chewing import COORDINATES, bite_force, chewing_stroke
from masticator_dynamics.motion.incisor import track_incisor
from masticator_dynamics.motion.motion_file import read_motion
from masticator_dynamics.motion.motion_rows import MotionRows
from masticator_dynamics.motion.path import MotionPath

_STEPS = 5  # of a coordinate of a box
_SOURCES = ('chewing', 'file', 'incisor', 'box')


@dataclasses.dataclass(frozen=True)
class LoadedRows(MotionRows):
    """States of one motion, row by row; in boxes, times are NaN."""

    wrench: FloatArray  # (N, 6), on the platform, about its origin, N and N m, base axes

    @property
    def columns(self) -> tuple[FloatArray, ...]:
        """All of it."""
        return self.time, *self.rows, self.wrench


@dataclasses.dataclass(frozen=True)
class States(LoadedRows):
    """N states, motion after motion."""

    motions: dict[str, slice]  # where each motion is
    boxes: tuple[str, ...]  # motions that are boxes: there, geometries may fail to close

    @property
    def must_close(self) -> npt.NDArray[np.bool_]:
        """States (N,) in which a geometry that does not close is none."""
        must = np.ones(len(self), dtype=bool)
        for name in self.boxes:
            must[self.motions[name]] = False
        return must

    def place(self, state: int) -> str:
        """A state in words."""
        for name, part in self.motions.items():
            if part.start <= state < part.stop:
                time = self.time[state]
                where = f'state {state - part.start + 1}' if np.isnan(time) else f'{time:.4g} s'
                return f'{name}, {where}'
        return ''


def states_of(
    motions: dict[str, StudyMotion], mechanism: Mechanism, folder: pathlib.Path
) -> States:
    """Read and sample all motions of a study.

    Parameters
    ----------
    motions : dict of str to StudyMotion
        By name.
    mechanism : Mechanism
        As it is: recorded incisors are followed by it, and bites act on its teeth.
    folder : pathlib.Path
        Where files are.

    Raises
    ------
    InputError
        Naming the motion.
    """
    if not motions:
        raise InputError('motions: none are given; geometries are judged over chewing, file, '
                         'incisor or box')  # fmt: skip
    parts: list[LoadedRows] = []
    slices: dict[str, slice] = {}
    for name, motion in motions.items():
        try:
            rows = _rows(motion, mechanism, folder)
        except MasticatorError as error:
            raise InputError(f'motions.{name}: {error}') from error
        first = sum(len(part) for part in parts)
        slices[name] = slice(first, first + len(rows))
        parts.append(rows)
    time, y, y_dot, y_ddot, wrench = (
        np.concatenate(column) for column in zip(*(p.columns for p in parts), strict=True)
    )
    boxes = tuple(name for name, motion in motions.items() if motion.box is not None)
    return States(time, y, y_dot, y_ddot, wrench, slices, boxes)


def _rows(motion: StudyMotion, mechanism: Mechanism, folder: pathlib.Path) -> LoadedRows:
    sources = [key for key in _SOURCES if getattr(motion, key) is not None]
    if len(sources) != 1:
        raise InputError(f'one of {", ".join(_SOURCES)} is needed, and only one')
    if motion.box is not None:
        rows = _box(motion.box, mechanism)
    elif motion.file is not None:
        rows = _file(str(folder / motion.file), mechanism, motion.states)
    elif motion.incisor is not None:
        table = read_table(str(folder / motion.incisor))
        where = table.numbers(['incisor_x', 'incisor_y', 'incisor_z'])
        rows = _path(track_incisor(mechanism, table.times(), where).path, motion.states)
    else:
        assert motion.chewing is not None
        rows = _chewing(motion.chewing, mechanism, motion.states)
    wrench = rows.wrench + (motion.wrench or np.zeros(6))
    return dataclasses.replace(rows, wrench=wrench)


def _path(path: MotionPath, states: int) -> LoadedRows:
    time = np.linspace(path.start, path.end, states)
    return LoadedRows(time, *path.sample(time), np.zeros((states, 6)))


def _chewing(chewing: Chewing, mechanism: Mechanism, states: int) -> LoadedRows:
    if mechanism.independent != COORDINATES:
        raise InputError(f'chewing moves {", ".join(COORDINATES)}; {mechanism.name} has others')
    path = chewing_stroke(
        side=chewing.side, strokes=chewing.strokes, period=chewing.period, opening=chewing.opening
    )
    rows = _path(path, states)
    if chewing.bite:
        bite = bite_force(
            side=chewing.side, strokes=chewing.strokes, period=chewing.period,
            first=chewing.bite, last=chewing.bite,
        )  # fmt: skip
        q = mechanism.solve_batch(rows.y).q
        tooth, _ = frame_poses(mechanism, q, bite.frame)
        platform, _ = frame_poses(mechanism, q, mechanism.description.platform)
        force = bite.sample(rows.time)
        wrench = np.hstack([force, np.cross(tooth - platform, force)])
        return dataclasses.replace(rows, wrench=wrench)
    return rows


def _file(file: str, mechanism: Mechanism, states: int) -> LoadedRows:
    """States of a motion file: all of its rows if they are not more, or as many evenly spaced."""
    motion = read_motion(file, mechanism)
    if motion.link_wrenches:
        raise InputError(f'{file}: wrenches on links are not read; give fx ... tz on the platform')
    count = len(motion.time)
    chosen = np.unique(np.linspace(0, count - 1, min(states, count)).round().astype(int))
    wrench = np.zeros((count, 6)) if motion.wrench is None else motion.wrench
    return LoadedRows(*(column[chosen] for column in (motion.time, *motion.rows, wrench)))


def _box(box: dict[str, tuple[float | str, ...]], mechanism: Mechanism) -> LoadedRows:
    home = mechanism.home.y
    values = [np.array([x]) for x in home]
    joint_units = {joint.name: joint.unit for joint in mechanism.structure.tree.joints}
    for name, ends in box.items():
        if name not in mechanism.independent:
            coordinates = ', '.join(mechanism.independent)
            raise InputError(f'box.{name}: no such coordinate; there are: {coordinates}')
        if len(ends) not in (2, 3):
            raise InputError(f'box.{name}: lowest, highest and, perhaps, steps are needed')
        measured = 'length' if joint_units[name] == 'm' else 'angle'
        low, high = (in_si(end, f'box.{name}', measured) for end in ends[:2])
        if not low < high:
            raise InputError(f'box.{name}: from {low:g} to {high:g} is nothing')
        steps = int(ends[2]) if len(ends) == 3 else _STEPS
        if steps < 1:
            raise InputError(f'box.{name}: {steps} steps')
        values[mechanism.independent.index(name)] = np.linspace(low, high, steps)
    y = np.array(list(itertools.product(*values)))
    rest = np.zeros_like(y)
    return LoadedRows(np.full(len(y), np.nan), y, rest, rest, np.zeros((len(y), 6)))
