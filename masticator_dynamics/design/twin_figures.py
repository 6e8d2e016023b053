# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of a geometry from an experiment: the twin chews a protocol with it."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np

from masticator_dynamics.drives.scaling import with_rotors
from masticator_dynamics.errors import InputError
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.robot.laboratory.mouthful import chew
from masticator_dynamics.robot.laboratory.protocol import Mouthful, Stop, load_protocol, plan
from masticator_dynamics.robot.laboratory.result_tables import Result
from masticator_dynamics.robot.twin.study import StudySetting


@dataclasses.dataclass(frozen=True)
class TwinFigure:
    """The mean of a figure over the mouthfuls of a protocol."""

    name: str
    value: str  # column of the laboratory's ``mouthfuls.csv``
    mouthfuls: tuple[Mouthful, ...]
    stop: Stop

    @classmethod
    def read(cls, name: str, file: pathlib.Path, value: str | None) -> TwinFigure:
        """From a protocol; raises InputError if no column is named."""
        if value is None:
            raise InputError(f'figures.{name}: value: which column of mouthfuls.csv is meant?')
        protocol = load_protocol(file)
        return cls(name, value, plan(protocol, file), protocol.stop)

    def of(self, model: Mechanism) -> float:
        """The figure of a mechanism from :func:`twin_of`, perhaps with other numbers.

        Raises
        ------
        MasticatorError
            If it cannot make the motion, or there is no such figure.
        """
        shipped = StudySetting.shipped(chewing_stroke(strokes=1))
        setting = dataclasses.replace(shipped, model=model)
        figure_of_mouthfuls = []
        for mouthful in self.mouthfuls:
            series = chew(mouthful, setting, self.stop)
            figures = Result.of(mouthful, series, model).figures()
            if self.value not in figures:
                names = ', '.join(figures)
                raise InputError(f'figures.{self.name}: no {self.value!r}; there are: {names}')
            figure_of_mouthfuls.append(figures[self.value])
        return float(np.mean(figure_of_mouthfuls))


def twin_of(mechanism: Mechanism) -> Mechanism:
    """A mechanism with the rotors of the drives, which the twin simulates."""
    shipped = StudySetting.shipped(chewing_stroke(strokes=1))
    return Mechanism(with_rotors(mechanism.description, shipped.drives), mechanism.driving)
