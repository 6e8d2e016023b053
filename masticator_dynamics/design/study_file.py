# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a study file (YAML, schema 1) may contain; numbers are SI, or text with a unit."""

from __future__ import annotations

import pathlib
from typing import Literal

import pydantic

from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.files.yaml_file import Count, Positive, Strict, checked, read_mapping

Number = float | str  # SI, or with a unit


class StudyVariable(Strict):
    """What is varied: between two numbers, or over a list of them."""

    range: tuple[Number, Number] | None = pydantic.Field(None, description='lowest and highest')
    values: list[Number] = pydantic.Field([], description='the only ones, instead of a range')
    steps: Count = pydantic.Field(5, description='of a range on a grid')
    given: Number | None = pydantic.Field(
        None, description='of the mechanism as it is; known where a parameter is varied by its name'
    )


class Chewing(Strict):
    """The built-in chewing motion of the masticator."""

    side: Literal['left', 'right'] = 'left'
    strokes: Count = 1
    period: Positive = pydantic.Field(1.0, description='s, of one stroke')
    opening: Positive = pydantic.Field(0.15, description='rad, of the first stroke')
    bite: float = pydantic.Field(0.0, ge=0.0, description='N, peak force of the food')


class StudyMotion(Strict):
    """States in which geometries are judged; one of the first four keys says where they are."""

    chewing: Chewing | None = None
    file: str | None = pydantic.Field(None, description='motion (CSV), as inverse-dynamics takes')
    incisor: str | None = pydantic.Field(None, description='incisor (CSV), as track-incisor takes')
    box: dict[str, tuple[Number, ...]] | None = pydantic.Field(
        None, description='coordinate: lowest, highest and, perhaps, steps; others stay at home'
    )
    states: Count = pydantic.Field(50, description='of a motion, evenly spaced in time')
    wrench: tuple[float, float, float, float, float, float] | None = pydantic.Field(
        None, description='on the platform, N and N m, base axes, in all states'
    )


class Figure(Strict):
    """A figure by which geometries are judged: the worst over states, joints and motions."""

    figure: str | None = pydantic.Field(None, description='which; by default, what it is named')
    motions: list[str] = pydantic.Field([], description='default: all')
    only: list[str] = pydantic.Field([], description='joints or contacts; default: all')
    formula: str | None = pydantic.Field(
        None, description='of joint positions, instead of a figure'
    )
    worst: Literal['largest', 'least'] = pydantic.Field('largest', description='of a formula')
    experiment: str | None = pydantic.Field(
        None, description='protocol (YAML) that the twin chews with each geometry'
    )
    value: str | None = pydantic.Field(None, description='column of mouthfuls.csv: its mean')


class Bounds(Strict):
    """What a geometry must keep."""

    at_least: Number | None = None
    at_most: Number | None = None


class Samples(Strict):
    """How the ranges are sampled."""

    method: Literal['halton', 'grid'] = 'halton'
    count: Count = pydantic.Field(1024, description='of geometries; a grid has its own')
    seed: int = pydantic.Field(0, ge=0)


class StudySearch(Strict):
    """Search for the best, beyond the samples."""

    population: int = pydantic.Field(64, ge=8)
    generations: Count = 100
    seed: int = pydantic.Field(0, ge=0)


class StudyFile(Strict):
    """A study of designs."""

    schema_version: Literal[1] = pydantic.Field(alias='schema', description='of this format')
    title: str
    mechanism: str = pydantic.Field(description='name, or path of a description (YAML)')
    variables: dict[str, StudyVariable] = {}
    parameters: dict[str, Number] = pydantic.Field(
        {}, description='of the mechanism, or numbers in between (no dot): formulas of variables'
    )
    xacro_arguments: dict[str, Number] = pydantic.Field(
        {}, description='of the mechanism file: formulas; each geometry is read anew'
    )
    actuators: dict[str, list[str]] = pydantic.Field(
        {}, description='choices of motors that drive, by name; several are a variable'
    )
    motions: dict[str, StudyMotion] = {}
    figures: dict[str, Figure] = {}
    constraints: dict[str, Bounds] = pydantic.Field({}, description='of figures')
    minimise: list[str] = []
    maximise: list[str] = []
    samples: Samples = Samples()
    search: StudySearch | None = None
    sensitivity: int = pydantic.Field(
        0, ge=0, description='base count (a power of 2) of Sobol indices; 0: none'
    )


def load_study(file: str | pathlib.Path) -> StudyFile:
    """Read and check a study file by itself; names are resolved when a study is made of it.

    Raises
    ------
    DescriptionError
        Naming file, key and reason.
    """
    content = read_mapping(file)
    study = checked(StudyFile, content, file)
    if study.samples.method == 'grid' and 'count' in content['samples']:
        raise DescriptionError(
            file, 'samples.count',
            'a grid has as many geometries as the steps of its variables make; leave count out, '
            'or say steps of each variable',
        )  # fmt: skip
    return study
