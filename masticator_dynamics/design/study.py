# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A study of designs: samples, search and sensitivity, resumed where they stopped.

Its folder keeps tables in parts, each a Parquet file written whole, and computes none twice.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.metadata
import itertools
import pathlib
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.design.figures import MORE_IS_BETTER, chosen_figures, measured_by
from masticator_dynamics.design.front import Front, search, violation
from masticator_dynamics.design.judge import DesignStatus, Judge, judged
from masticator_dynamics.design.sensitivity import Sensitivity, sobol_indices
from masticator_dynamics.design.space import Space
from masticator_dynamics.design.states import states_of
from masticator_dynamics.design.study_file import StudyFile, load_study
from masticator_dynamics.design.twin_figures import TwinFigure
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.parameter_batch import ParameterBatch
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.files.file_cache import key_of
from masticator_dynamics.files.folder import locked
from masticator_dynamics.files.tables import replacing, write_text
from masticator_dynamics.files.units import in_si
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.optional import needed
from masticator_dynamics.workers import in_order, results

STUDY, IDENTITY = 'study.yaml', 'study.key'


class Parts:
    """Where the tables of a study are kept.

    Parameters
    ----------
    folder : pathlib.Path
        New, empty, or from an interrupted run of the same study.
    text : str
        Of the study file.
    identity : str
        Key of what tables depend on: files that the study names included.
    columns : sequence of str
        Of all tables.

    Raises
    ------
    InputError
        If the folder holds something else.
    """

    def __init__(self, folder: pathlib.Path, text: str, identity: str, columns: Sequence[str]):
        self.folder, self._text = folder, text
        self._identity, self._columns = identity, list(columns)
        study_there = folder / STUDY
        if study_there.exists():
            if study_there.read_text(encoding='utf-8') != text:
                raise InputError(
                    f'{folder} holds another study ({study_there}); choose a new folder'
                )
            if (folder / IDENTITY).read_text(encoding='utf-8').strip() != self._identity:
                raise InputError(
                    f'{folder}: files that the study names, or this package, have changed since '
                    'it began; choose a new folder'
                )
        elif folder.exists() and (
            not folder.is_dir() or {f.name for f in folder.iterdir()} - {IDENTITY}
        ):
            raise InputError(f'{folder} is there already and is no study; choose a new folder')

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Keep the folder for this process."""
        with locked(self.folder, 'study'):
            write_text(str(self.folder / IDENTITY), self._identity + '\n')
            write_text(str(self.folder / STUDY), self._text)
            yield

    def file(self, stage: str, number: int) -> pathlib.Path:
        """Of a part of a table."""
        return self.folder / stage / f'part-{number:06d}.parquet'

    def write(self, stage: str, number: int, table: FloatArray) -> None:
        """Write a part (rows, columns)."""
        arrow, parquet = needed('pyarrow'), needed('pyarrow.parquet')
        labels = np.array([status.label for status in DesignStatus])
        content: dict[str, Any] = {}
        for name, column in zip(self._columns, table.T, strict=True):
            content[name] = labels[column.astype(int)] if name == 'status' else column
        file = self.file(stage, number)
        file.parent.mkdir(exist_ok=True)
        with replacing(file, binary=True) as stream:
            parquet.write_table(arrow.table(content), stream)

    def read(self, stage: str, number: int) -> FloatArray | None:
        """A part, bit for bit, if it has been written."""
        file = self.file(stage, number)
        if not file.exists():
            return None
        arrow_table = needed('pyarrow.parquet').read_table(file)
        by_label = {status.label: float(status) for status in DesignStatus}
        columns = []
        for name in self._columns:
            column = arrow_table.column(name)
            if name == 'status':
                columns.append(np.array([by_label[x] for x in column.to_pylist()], dtype=float))
            else:
                columns.append(column.to_numpy())
        return np.column_stack(columns)


SAMPLES, SEARCH, SENSITIVITY = 'samples', 'search', 'sensitivity'  # stages, and folders
_TOGETHER = 2_000_000  # rows (geometries times states) of a part
_LARGEST = 65536  # geometries of a part
_SHOWN = 4000  # samples that are kept in memory for pictures
_USUAL = (0.01, 0.99)  # quantiles of figures between which sensitivity is measured
Progress = Callable[[str, int, int], None]


@dataclasses.dataclass(frozen=True)
class StudyResult:
    """What a study has found."""

    columns: tuple[str, ...]  # of all tables
    given: FloatArray  # row of the mechanism as it is
    shown: FloatArray  # rows of some samples, evenly chosen
    # Samples by what became of them; ``feasible``: judged, and within the constraints.
    counts: dict[str, int]
    # Rows of geometries that no other one excels in all objectives, by the first objective.
    front: FloatArray
    best: FloatArray | None  # the row of the front that comes closest to the best of each objective
    sensitivity: Sensitivity | None

    def column(self, table: FloatArray, name: str) -> FloatArray:
        """A column of a table or row."""
        column: FloatArray = table[..., self.columns.index(name)]
        return column


class Study:
    """A study file, resolved.

    Parameters
    ----------
    folder : pathlib.Path
        Of the results: new, empty, or from an interrupted run of the same study.

    Raises
    ------
    DescriptionError, InputError
        Naming what is wrong with the file.
    """

    def __init__(self, file: pathlib.Path, folder: pathlib.Path):
        self.file, self.text = file, file.read_text(encoding='utf-8')
        self.content: StudyFile = load_study(file)
        try:
            self.judge = _judge(self.content, file.parent)
            self._check()
        except MasticatorError as error:
            raise type(error)(f'{file}: {error}') if type(error) is InputError else error from None
        self._pickled = pickle.dumps(self.judge)
        of = self.judge
        mouthfuls = [repr(experiment) for experiment in of.experiments]
        version = importlib.metadata.version('masticator_dynamics')
        identity = key_of(version, of.mechanism.description, of.states, mouthfuls)
        self.parts = Parts(folder, self.text, identity, of.columns)

    @property
    def objectives(self) -> dict[str, float]:
        """Figures to be made small, with 1, and large, with -1."""
        small = dict.fromkeys(self.content.minimise, 1.0)
        return small | dict.fromkeys(self.content.maximise, -1.0)

    @functools.cached_property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Least and largest value of constrained figures."""
        limits = {}
        for name, bounds in self.content.constraints.items():
            measured = measured_by(name, self.content.figures)
            low = -np.inf if bounds.at_least is None else in_si(bounds.at_least, name, measured)
            high = np.inf if bounds.at_most is None else in_si(bounds.at_most, name, measured)
            limits[name] = (low, high)
        return limits

    @property
    def count(self) -> int:
        """How many samples there are."""
        return self.judge.space.size(self.content.samples)

    @property
    def in_a_part(self) -> int:
        """Geometries that are judged together, whoever judges them."""
        if self.judge.experiments:
            return 1
        return min(max(_TOGETHER // max(len(self.judge.states), 1), 1), _LARGEST)

    def run(
        self,
        progress: Progress | None = None,
        processes: int | None = None,
        scheduler: str | None = None,
    ) -> StudyResult:
        """Judge what has not been judged yet, and sum up; results do not depend on who judges.

        Parameters
        ----------
        progress : callable, optional
            Called with stage, number of geometries or generations done, and their total.
        processes : int, optional
            How many judge at once; by default as many as there are processors.
        scheduler : str, optional
            Address of a Dask scheduler whose workers judge.
        """
        tell = progress or (lambda stage, done, total: None)
        with self.parts.opened():
            row_as_given = self.judge.given()  # compiles, once for all processes
            self._sample(tell, processes, scheduler)
            front, counts, shown = self._summed_up()

            def judge_all(stage: str, number: int, fractions: FloatArray) -> FloatArray:
                return self._judged(stage, number, fractions, processes, scheduler)

            if (settings := self.content.search) is not None:
                total = settings.generations
                search(
                    settings, self.judge.space, front,
                    lambda number, fractions: judge_all(SEARCH, number, fractions),
                    lambda done: tell(SEARCH, done, total),
                )  # fmt: skip
            sensitivity = self._sensitivity(judge_all, shown) if self.content.sensitivity else None
            return StudyResult(
                self.judge.columns, row_as_given, shown, counts, front.rows, front.best(),
                sensitivity,
            )  # fmt: skip

    def _sensitivity(
        self, judge_all: Callable[[str, int, FloatArray], FloatArray], shown: FloatArray
    ) -> Sensitivity:
        names, numbers = self.judge.names, itertools.count()
        columns = [self.judge.columns.index(name) for name in names]
        variables = tuple(axis.name for axis in self.judge.space.axes)
        usual_range = np.nan_to_num(np.nanquantile(shown[:, columns], _USUAL, axis=0))
        return sobol_indices(
            variables, names, self.content.sensitivity, self.content.samples.seed,
            lambda fractions: judge_all(SENSITIVITY, next(numbers), fractions)[:, columns],
            (usual_range[0], usual_range[1]),
        )  # fmt: skip

    def _sample(self, tell: Progress, processes: int | None, scheduler: str | None) -> None:
        """Judge the samples, part by part."""
        total, size = self.count, self.in_a_part
        starts = range(0, total, size)
        missing = [k for k in range(len(starts)) if not self.parts.file(SAMPLES, k).exists()]
        done = total - sum(min(size, total - starts[k]) for k in missing)
        tell(SAMPLES, done, total)

        def tasks() -> Iterator[tuple[bytes, FloatArray]]:
            for k in missing:
                count = min(size, total - starts[k])
                yield self._pickled, self.judge.space.sample(self.content.samples, starts[k], count)

        several = 1 if len(missing) == 1 else processes
        for number, table in results(judged, tasks(), several, scheduler):
            self.parts.write(SAMPLES, missing[number], table)
            done += len(table)
            tell(SAMPLES, done, total)

    def _judged(
        self,
        stage: str,
        number: int,
        fractions: FloatArray,
        processes: int | None,
        scheduler: str | None,
    ) -> FloatArray:
        """Table of some geometries, from its file or judged now."""
        written = self.parts.read(stage, number)
        if written is not None:
            values = self.judge.space.values(fractions)
            if not np.array_equal(written[:, : values.shape[1]], values):
                raise InputError(
                    f'{self.parts.file(stage, number)} was made with other versions of scipy or '
                    'pymoo, which choose other geometries; choose a new folder'
                )
            return written
        size = self.in_a_part
        tasks = [(self._pickled, fractions[k : k + size]) for k in range(0, len(fractions), size)]
        several = 1 if len(tasks) == 1 else processes
        scheduler = scheduler if len(tasks) > 1 else None
        table = np.concatenate(in_order(judged, tasks, several, scheduler))
        self.parts.write(stage, number, table)
        return table

    def tables(self) -> Iterator[FloatArray]:
        """All samples, part by part."""
        for k in range(-(-self.count // self.in_a_part)):
            table = self.parts.read(SAMPLES, k)
            assert table is not None
            yield table

    def _summed_up(self) -> tuple[Front, dict[str, int], FloatArray]:
        """Front, counts and some rows of the samples, one part at a time in memory."""
        front = Front(self.judge.columns, self.objectives, self.bounds)
        counts = {status.label: 0 for status in DesignStatus} | {'feasible': 0}
        shown, every, first = [], max(1, -(-self.count // _SHOWN)), 0
        for table in self.tables():
            status = table[:, self.judge.columns.index('status')]
            for kind in DesignStatus:
                counts[kind.label] += int((status == kind).sum())
            feasible = violation(table, self.judge.columns, self.bounds) == 0.0
            counts['feasible'] += int(feasible.sum())
            front.add(table)
            shown.append(table[-first % every :: every])
            first += len(table)
        return front, counts, np.concatenate(shown)

    def _check(self) -> None:
        names = self.judge.names
        if not names:
            raise InputError('figures: none are given; geometries are judged by figures')
        asked = {
            'minimise': self.content.minimise,
            'maximise': self.content.maximise,
            'constraints': list(self.content.constraints),
        }
        for key, wanted in asked.items():
            for name in wanted:
                if name not in names:
                    raise InputError(
                        f'{key}: no figure {name!r} in this study; there are: {", ".join(names)}'
                    )
        for name, (low, high) in self.bounds.items():
            if low == -np.inf and high == np.inf:
                raise InputError(f'constraints.{name}: at_least or at_most is needed')
            if low > high:
                raise InputError(f'constraints.{name}: at least {low:g} and at most {high:g}')
        both = set(self.content.minimise) & set(self.content.maximise)
        if both:
            raise InputError(f'{min(both)} is to be both minimised and maximised')
        for name in self.content.minimise:
            kind = self.content.figures[name].figure or name
            if kind in MORE_IS_BETTER:
                raise InputError(f'minimise: {name} is better if larger; maximise it')
        if self.content.search is not None and not self.objectives:
            raise InputError('search: what is to be minimised or maximised?')
        count = self.content.sensitivity
        if count and count & (count - 1):
            raise InputError(f'sensitivity: {count} is not a power of 2')
        if count and len(self.judge.space.axes) < 2:
            raise InputError('sensitivity: with one variable there is nothing to compare')


def _judge(content: StudyFile, folder: pathlib.Path) -> Judge:
    name = content.mechanism
    path = folder / name if pathlib.Path(name).suffix else pathlib.Path(name)
    mechanism = Mechanism.load(path)
    for choice, motors in content.actuators.items():
        for motor in motors:
            if motor not in mechanism.actuated:
                raise InputError(
                    f'actuators.{choice}: no motor {motor!r}; there are: '
                    f'{", ".join(mechanism.actuated)}'
                )
    choices = tuple(tuple(names) for names in content.actuators.values())
    space = Space.of(content, mechanism)
    ParameterBatch(mechanism, space.names)  # refuses what the structure depends on
    experiments = tuple(
        TwinFigure.read(n, folder / f.experiment, f.value)
        for n, f in content.figures.items()
        if f.experiment is not None
    )
    states = states_of(content.motions, mechanism, folder)
    figures = tuple(chosen_figures(content.figures, mechanism, states))
    return Judge(mechanism, space, choices or (mechanism.actuated,), states, figures, experiments)
