# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the mouthfuls of a protocol on the twin, several at once, and resumes where it stopped."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import fcntl
import functools
import importlib.metadata
import multiprocessing
import os
import pathlib
import platform
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from masticator_dynamics.errors import InputError
from masticator_dynamics.files.tables import write_text
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.robot.laboratory import recording, texture_profile
from masticator_dynamics.robot.laboratory.jaw import JawLoads
from masticator_dynamics.robot.laboratory.mouthful import Series, check_motion, chew
from masticator_dynamics.robot.laboratory.protocol import (
    Mouthful,
    Protocol,
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
        model = _setting(self.protocol.sockets).model
        tried = set()
        for mouthful in self.mouthfuls:
            motion = repr((mouthful.motion, mouthful.strokes, mouthful.rest, mouthful.food_name))
            if motion not in tried:
                check_motion(model, mouthful)
                tried.add(motion)

    def missing(self) -> list[Mouthful]:
        """Mouthfuls not chewed yet, in order."""
        return [m for m in self.mouthfuls if not self.recording(m).exists()]

    @property
    def random(self) -> bool:
        """Whether mouthfuls of a condition can differ: on the twin, by the food's variation."""
        return self.where == ROBOT or any(dict(self.protocol.variation).values())

    def recording(self, mouthful: Mouthful) -> pathlib.Path:
        """Recording file of a mouthful."""
        return self.folder / RECORDINGS / (mouthful.name + recording.SUFFIX)

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
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(
                    f'{self.folder}: another experiment is running in this folder; wait for its '
                    'end, or choose a new folder'
                ) from None
            except OSError:
                pass
            self._mine = True
            yield
        finally:
            self._mine = False
            os.close(lock)

    def run(
        self,
        progress: Progress | None = None,
        processes: int | None = None,
        robot: Chewer | None = None,
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
            :meth:`masticator_dynamics.robot.laboratory.robot.Robot.chew`.

        Raises
        ------
        InputError
            After a fault, if the protocol says that it ends the experiment, or if another
            experiment is running in the folder.
        """
        with self.alone():
            self._run(progress, processes, robot)

    def _run(self, progress: Progress | None, processes: int | None, robot: Chewer | None) -> None:
        (self.folder / RECORDINGS).mkdir(parents=True, exist_ok=True)
        if not (self.folder / PROTOCOL).exists():
            write_text(str(self.folder / PROTOCOL), self.text)
        missing = self.missing()
        done = len(self.mouthfuls) - len(missing)
        tell = progress or (lambda done, total: None)
        tell(done, len(self.mouthfuls))
        work = [(m, self.protocol, self.recording(m)) for m in missing]
        count = min(processes or os.cpu_count() or 1, len(work))
        for mouthful, fault in _results(work, count) if robot is None else _robots(work, robot):
            done += 1
            tell(done, len(self.mouthfuls))
            if fault and self.protocol.on_fault == 'end':
                raise InputError(f'{mouthful.name} ended in a fault: {fault}')

    def results(self) -> list[Result]:
        """Figures of all existing recordings."""
        model = _setting(self.protocol.sockets).model
        found = []
        for mouthful in self.mouthfuls:
            file = self.recording(mouthful)
            if not file.exists():
                continue
            series = recording.read_recording(file)
            opened = bool(texture_profile.openings(series.gap))
            strokes = (
                texture_profile.strokes(series.time, series.gap, series.force) if opened else ()
            )
            loads = JawLoads.of(series, model)
            found.append(
                Result(
                    mouthful.number,
                    mouthful.levels,
                    mouthful.repetition,
                    series.end,
                    strokes,
                    loads,
                )
            )
        return found

    def _check_recordings(self) -> None:
        for file in filter(pathlib.Path.exists, map(self.recording, self.mouthfuls)):
            where = recording.read_settings(file).get('where', TWIN)
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
    kept = folder / PROTOCOL
    if kept.exists():
        if kept.read_text(encoding='utf-8') != text:
            raise InputError(
                f'{folder} holds an experiment with another protocol ({kept}); choose a new folder'
            )
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f'{folder} is there already and is no experiment; choose a new folder')


def _results(
    work: Sequence[tuple[Mouthful, Protocol, pathlib.Path]], processes: int
) -> Iterator[tuple[Mouthful, str]]:
    """Yield mouthfuls as they are done, each with the text of a fault or an empty one."""
    if processes <= 1:
        for task in work:
            yield task[0], _chewed(*task)
        return
    # Fresh processes: their own compiled code and model, and no inherited threads.
    context = multiprocessing.get_context('spawn')
    with concurrent.futures.ProcessPoolExecutor(
        processes, mp_context=context, initializer=_end_with_the_parent
    ) as pool:
        waiting = {pool.submit(_chewed, *task): task[0] for task in work}
        try:
            for future in concurrent.futures.as_completed(waiting):
                yield waiting[future], future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _end_with_the_parent() -> None:
    """End a worker with its parent: it must not run alongside an experiment that takes over."""

    def wait() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _robots(
    work: Sequence[tuple[Mouthful, Protocol, pathlib.Path]], robot: Chewer
) -> Iterator[tuple[Mouthful, str]]:
    """Yield mouthfuls as the robot is done with them."""
    for mouthful, protocol, file in work:
        series = robot(mouthful, protocol.pause)
        yield mouthful, _kept(series, mouthful, protocol, file, ROBOT)


def _chewed(mouthful: Mouthful, protocol: Protocol, file: pathlib.Path) -> str:
    """Chew a mouthful on the twin; return the text of a fault, or an empty one."""
    setting = _setting(protocol.sockets)
    return _kept(chew(mouthful, setting, protocol.stop), mouthful, protocol, file, TWIN)


def _kept(
    series: Series, mouthful: Mouthful, protocol: Protocol, file: pathlib.Path, where: str
) -> str:
    """Write the recording of a mouthful; return the text of a fault, or an empty one."""
    settings = _settings(mouthful, protocol) | {'where': where}
    recording.write_recording(file, series, _setting(protocol.sockets).model, settings)
    return series.end if series.fault else ''


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
    packages = ('masticator_dynamics', 'numpy', 'scipy', 'numba')
    return {
        'title': protocol.title,
        'seed': protocol.seed,
        'number': mouthful.number,
        'levels': dict(mouthful.levels),
        'repetition': mouthful.repetition,
        'motion': dict(mouthful.motion),
        'food': {'name': mouthful.food_name, **dict(mouthful.food)},
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
