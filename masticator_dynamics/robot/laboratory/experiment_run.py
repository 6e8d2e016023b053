# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the mouthfuls of a protocol on the twin, several at once, and resumes where it stopped."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.metadata
import os
import pathlib
import platform
import shutil
from collections.abc import Callable, Iterator
from typing import Any

from masticator_dynamics import workers
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.bag import METADATA
from masticator_dynamics.files.bag_writer import bag_metadata
from masticator_dynamics.files.folder import locked, results_in
from masticator_dynamics.files.tables import write_text
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.robot.laboratory import mouthful_bag
from masticator_dynamics.robot.laboratory.mouthful import Series, check_strokes, chew
from masticator_dynamics.robot.laboratory.pressed_mouthful import check_bites, press
from masticator_dynamics.robot.laboratory.protocol import (
    Mouthful,
    Protocol,
    Stop,
    disk_space,
    load_protocol,
    plan,
)
from masticator_dynamics.robot.laboratory.result_tables import Result
from masticator_dynamics.robot.twin.study import StudySetting

PROTOCOL, RECORDINGS = 'protocol.yaml', 'mouthfuls'
TWIN, ROBOT = 'the simulated robot', 'the robot'  # where mouthfuls are chewed
Progress = Callable[[int, int], None]
Chewer = Callable[[Mouthful, float], Series]  # takes a mouthful, and s to serve it


class Experiment:
    """A protocol and the folder of its recordings.

    Parameters
    ----------
    protocol_file : path
    folder : path
        New, empty, or from an interrupted run of the same protocol. Existing recordings are kept
        and never overwritten.
    robot : bool
        Whether mouthfuls are chewed by the robot, not by the twin.

    Raises
    ------
    DescriptionError
        For an invalid protocol.
    InputError
        Before anything moves, if the folder belongs to another protocol, the disk is too small,
        or the mechanism cannot make a motion.
    """

    def __init__(self, protocol_file: pathlib.Path, folder: pathlib.Path, robot: bool = False):
        self.protocol: Protocol = load_protocol(protocol_file)
        self.mouthfuls: tuple[Mouthful, ...] = plan(self.protocol, protocol_file)
        self.folder = folder
        self.protocol_file = protocol_file
        self.text = protocol_file.read_text(encoding='utf-8')
        self.where = ROBOT if robot else TWIN
        self._mine = False
        if robot and self.protocol.sockets != 'slot':
            raise InputError(
                f'{protocol_file}: sockets: a robot has those that it has; leave it out'
            )
        _check_folder(folder, self.text)
        self._check_recordings()
        self._check_disk()
        setting = _setting(self.protocol.sockets)
        self._model = setting.model
        tried = set()
        for mouthful in self.mouthfuls:
            motion = repr((mouthful.motion, mouthful.strokes, mouthful.rest, mouthful.food_name))
            if motion not in tried:
                if mouthful.motion.force:
                    check_bites(setting, mouthful)
                else:
                    check_strokes(self._model, mouthful)
                tried.add(motion)

    def missing(self) -> list[Mouthful]:
        """Mouthfuls not chewed yet, in order."""
        return [m for m in self.mouthfuls if not self.recording(m).exists()]

    @property
    def random(self) -> bool:
        """Whether mouthfuls of a condition can differ: on the twin, by the food's variation."""
        return self.where == ROBOT or any(dict(self.protocol.variation).values())

    def recording(self, mouthful: Mouthful) -> pathlib.Path:
        """Recording file of a mouthful, in a folder that is a bag of rosbag2."""
        return self.folder / RECORDINGS / mouthful.name / (mouthful.name + mouthful_bag.SUFFIX)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the folder against others; :meth:`run` does so itself.

        The lock ends with the process, however that ends. File systems that cannot lock folders
        (NFS) give no protection.

        Raises
        ------
        InputError
            If another experiment is running in it.
        """
        if self._mine:
            yield
            return
        with locked(self.folder, 'experiment'):
            self._mine = True
            try:
                yield
            finally:
                self._mine = False

    def run(
        self,
        progress: Progress | None = None,
        processes: int | None = None,
        robot: Chewer | None = None,
        scheduler: str | None = None,
    ) -> None:
        """Chew the missing mouthfuls.

        Parameters
        ----------
        progress : callable, optional
            Called with the number of mouthfuls done, and their total.
        processes : int, optional
            How many chew at once; by default as many as there are processors.
        robot : callable, optional
            Chews in place of the twin:
            :meth:`masticator_dynamics.robot.laboratory.chewing_robot.Robot.chew`.
        scheduler : str, optional
            Address of a Dask scheduler whose workers chew instead of processes of this machine.

        Raises
        ------
        InputError
            After a fault, if the protocol says that it ends the experiment, or if another
            experiment is running in the folder.
        """
        with self.alone():
            (self.folder / RECORDINGS).mkdir(parents=True, exist_ok=True)
            if not (self.folder / PROTOCOL).exists():
                write_text(str(self.folder / PROTOCOL), self.text)
            missing = self.missing()
            done = len(self.mouthfuls) - len(missing)
            tell = progress or (lambda done, total: None)
            tell(done, len(self.mouthfuls))
            for number, series in self._chewed(missing, processes, robot, scheduler):
                settings = _settings(missing[number], self.protocol) | {'where': self.where}
                file = self.recording(missing[number])
                with results_in(file.parent, [METADATA, file.name]) as work:  # the file last
                    mouthful_bag.write_recording(work / file.name, series, self._model, settings)
                    write_text(str(work / METADATA), bag_metadata(work / file.name))
                done += 1
                tell(done, len(self.mouthfuls))
                if series.fault and self.protocol.on_fault == 'end':
                    raise InputError(f'{missing[number].name} ended in a fault: {series.end}')

    def _chewed(
        self,
        missing: list[Mouthful],
        processes: int | None,
        robot: Chewer | None,
        scheduler: str | None,
    ) -> Iterator[tuple[int, Series]]:
        """Yield mouthfuls as they are done, with their numbers in the list."""
        if robot is not None:
            yield from enumerate(robot(m, self.protocol.pause) for m in missing)
            return
        count = min(processes or os.cpu_count() or 1, len(missing))
        tasks = ((m, self.protocol.sockets, self.protocol.stop) for m in missing)
        yield from workers.results(_chew, tasks, count, scheduler)

    def recorded(self) -> Iterator[tuple[Mouthful, Series]]:
        """Yield the mouthfuls chewed so far, as planned, with their recordings."""
        for mouthful in self.mouthfuls:
            if (file := self.recording(mouthful)).exists():
                yield mouthful, mouthful_bag.read_recording(file)

    def results(self) -> list[Result]:
        """Figures of all existing recordings."""
        return [Result.of(mouthful, series, self._model) for mouthful, series in self.recorded()]

    def _check_recordings(self) -> None:
        for file in filter(pathlib.Path.exists, map(self.recording, self.mouthfuls)):
            where = mouthful_bag.read_settings(file).get('where', TWIN)
            if where != self.where:
                raise InputError(f'{file} was chewed by {where}; choose a new folder')
            return

    def _check_disk(self) -> None:
        place = self.folder
        while not place.exists():
            place = place.parent
        free, needed = shutil.disk_usage(place).free, disk_space(self.missing())
        if needed > free:
            raise InputError(
                f'{self.folder}: {len(self.missing())} mouthfuls need some {needed / 1e6:.0f} MB, '
                f'the disk has {free / 1e6:.0f} MB left'
            )


def _check_folder(folder: pathlib.Path, text: str) -> None:
    copy = folder / PROTOCOL
    if copy.exists():
        if copy.read_text(encoding='utf-8') != text:
            raise InputError(
                f'{folder} holds an experiment with another protocol ({copy}); choose a new folder'
            )
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f'{folder} is there already and is no experiment; choose a new folder')


def _chew(mouthful: Mouthful, sockets: str, stop: Stop) -> Series:
    """Chew a mouthful on the twin, in whatever process."""
    how = press if mouthful.motion.force else chew
    return how(mouthful, _setting(sockets), stop)


@functools.cache
def _setting(sockets: str) -> StudySetting:
    """Drives, simulation and model that all mouthfuls of this process share."""
    shipped = StudySetting.shipped(chewing_stroke(strokes=1))
    if sockets == 'slot':
        return shipped
    description = shipped.model.description
    contacts = tuple(dataclasses.replace(c, force_range=(0.0, None)) for c in description.contacts)
    model = Mechanism(dataclasses.replace(description, contacts=contacts))
    return dataclasses.replace(shipped, model=model)


def _settings(mouthful: Mouthful, protocol: Protocol) -> dict[str, Any]:
    """Settings written to a recording."""
    packages = ('masticator_dynamics', 'numpy', 'scipy', 'llvmlite')
    return {
        'title': protocol.title,
        'seed': protocol.seed,
        'number': mouthful.number,
        'levels': dict(mouthful.levels),
        'repetition': mouthful.repetition,
        'motion': {
            **dict(mouthful.motion),
            'force': mouthful.motion.force and dict(mouthful.motion.force),
        },
        'food': dict(mouthful.food),
        'strokes': mouthful.strokes,
        'rest': dict(mouthful.rest),
        'stop': dict(protocol.stop),
        'sockets': protocol.sockets,
        'rate': _setting(protocol.sockets).drives.cycle_rate,
        'gains': dict(_setting(protocol.sockets).gains),
        'versions': {
            'python': platform.python_version(),
            **{name: importlib.metadata.version(name) for name in packages},
        },
    }
