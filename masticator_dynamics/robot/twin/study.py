# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Does feedforward pay? The same motion, food, drives and gains with more and more of it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from masticator_dynamics.analysis.pictures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    png_figure,
)
from masticator_dynamics.drives.configuration import (
    Drives,
    Gains,
    MotorFriction,
    changed,
    load_drives,
)
from masticator_dynamics.drives.scaling import with_rotors
from masticator_dynamics.drives.simulator.simulation_file import SimulationSettings, load_simulation
from masticator_dynamics.engine.arrays import FloatArray, rms
from masticator_dynamics.errors import InputError
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.path import MotionPath
from masticator_dynamics.robot.twin.control_chain import (
    ChainRecord,
    CommandedMotion,
    ControlKind,
    Delays,
    Felt,
    Watch,
    feedforward,
    follow,
)
from masticator_dynamics.robot.twin.food import Food, load_food
from masticator_dynamics.robot.twin.mechanism_plant import MechanismPlant
from masticator_dynamics.workers import Progress, in_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_CLOSURE_STEP = 0.01  # s, between the measured angles that are fitted


@dataclasses.dataclass(frozen=True)
class StudySetting:
    """What all runs have in common."""

    path: MotionPath  # in independent coordinates, from home at rest
    food: Food | None
    drives: Drives
    simulation: SimulationSettings
    model: Mechanism  # used to compute efforts: with the rotors of the drives
    known_friction: float = 1.0  # fraction of the drives' friction that the drive layer knows
    friction: bool = True  # whether contacts and cranks have friction
    delays: Delays = Delays()
    plant: Mechanism | None = None  # what is simulated; default: the model

    @classmethod
    def shipped(
        cls,
        path: MotionPath,
        food: str = 'soft',
        rate: float | None = None,
        known_friction: float = 1.0,
        drives_file: str = 'drives.yaml',
    ) -> StudySetting:
        """The masticator with drives of ``config/``; the rate (Hz) is theirs by default.

        Parameters
        ----------
        path : MotionPath
            Of the independent coordinates.
        food : str
            Name of a shipped food, or path.
        rate : float, optional
            Cycles of the drives, Hz; default theirs.
        known_friction : float
            Fraction of the drives' friction that the feedforward knows.
        drives_file : str
            Name of a file in config/, or path.
        """
        drives = load_drives(drives_file)
        if rate:
            drives = changed(drives, cycle_rate=rate)
        simulation = load_simulation('simulated_drives.yaml', drives)
        model = Mechanism(with_rotors('masticator', drives))
        return cls(path, load_food(food), drives, simulation, model, known_friction)

    @functools.cached_property
    def reference(self) -> CommandedMotion:
        """The commanded motion."""
        return CommandedMotion.of(self.model, self.path, self.drives.cycle_rate)

    @property
    def gains(self) -> Gains:
        """Of the drives file, which must be the same for all.

        Raises
        ------
        InputError
            If they are not.
        """
        gains_of_drives = {drive.gains for drive in self.drives.drives.values()}
        if len(gains_of_drives) != 1 or None in gains_of_drives:
            raise InputError('the drives file does not give all drives the same gains')
        gains = gains_of_drives.pop()
        assert gains is not None
        return gains

    def run(
        self, kind: ControlKind, gains: Gains, watch: Watch | None = None, felt: Felt | None = None
    ) -> ChainRecord:
        """One run with a kind of feedforward; `watch` observes it, see :func:`follow`.

        Parameters
        ----------
        kind : ControlKind
            Of feedforward.
        gains : Gains
            Of the position loops, at the joints.
        watch : callable, optional
            Observes the run, see :func:`follow`.
        felt : callable, optional
            The food's force, as in :func:`follow`.
        """
        bitten = self.model.description.platform if self.food is None else self.food.frame
        sent = feedforward(kind, self.model, self.reference, bitten)
        plant = MechanismPlant(
            self.plant or self.model,
            step=self.simulation.step,
            friction=self.friction,
            food=self.food,
        )
        drives = self._drives_with(0.0 if kind is ControlKind.BARE else self.known_friction)
        return follow(
            self.reference, sent, plant, drives, self.simulation, gains, self.delays, watch, felt
        )

    def _drives_with(self, known_friction: float) -> Drives:
        """The drives with the part of their friction that is known."""
        drives = self.drives.drives.items()
        laws = {name: drive.motor.friction.times(known_friction) for name, drive in drives}
        return with_friction(self.drives, laws)


def with_friction(drives: Drives, laws: Mapping[str, MotorFriction]) -> Drives:
    """The drives with other friction of their motors."""
    by_name = {}
    for name, drive in drives.drives.items():
        by_name[name] = changed(drive, motor=changed(drive.motor, friction=laws[name]))
    return changed(drives, drives=by_name)


class Case(NamedTuple):
    """A row of the study."""

    name: str  # in tables and pictures
    label: str  # in tables and pictures
    setting: StudySetting
    kind: ControlKind  # of feedforward
    # From a setting to how the food's force is felt in its run; default: by a sensor.
    feel: Callable[[StudySetting], Felt] | None = None


@dataclasses.dataclass(frozen=True)
class StudyRun:
    """Results of the motion with one kind of feedforward."""

    name: str  # as in the case
    label: str  # as in the case
    record: ChainRecord
    incisor_rms: float  # distance of the incisor from where it is commanded to be at that time, m
    incisor_max: float  # largest such distance, m
    joint_rms: float  # rad, over all joints
    effort_rms: float  # over all joints, N m
    effort_max: float  # largest of all joints, N m
    closure: float  # largest gap of the loops when the measured angles are fitted, m

    @classmethod
    def of(cls, case: Case, gains: Gains) -> StudyRun:
        """Run a case, and take its figures."""
        setting = case.setting
        felt = None if case.feel is None else case.feel(setting)
        record = setting.run(case.kind, gains, felt=felt)
        every = max(1, round(_CLOSURE_STEP * setting.drives.cycle_rate))
        fitted = setting.model.forward_kinematics_batch(record.measured[::every], np.inf)
        return cls(
            case.name,
            case.label,
            record,
            rms(record.distance),
            float(record.distance.max()),
            rms(record.position - setting.reference.position),
            rms(record.effort),
            float(np.abs(record.effort).max()),
            float(fitted.closure_residual.max()),
        )


@dataclasses.dataclass(frozen=True)
class FeedforwardStudy:
    """All runs."""

    setting: StudySetting
    gains: Gains  # of all drives in all runs
    runs: tuple[StudyRun, ...]  # from no feedforward to all

    def times_better(self, name: str) -> float:
        """RMS incisor error of PD alone, the first run, over that of another."""
        rms_of = {run.name: run.incisor_rms for run in self.runs}
        return self.runs[0].incisor_rms / rms_of[name]

    def text(self) -> str:
        """The table as readable text."""
        drives = self.setting.drives
        lines = [
            f'Gains {self.gains.position:.3g} N m/rad and {self.gains.velocity:.3g} N m s/rad; '
            f'drives at {drives.cycle_rate:g} Hz, positions led by {1e3 * drives.lead:g} ms, '
            f'efforts by {1e3 * drives.lead_of_effort:g}; '
            f'up to {max(run.record.bite.max() for run in self.runs):.0f} N of food',
            '',
            f'{"":<40}{"incisor, mm":^20}{"joints":>9}{"torque, N m":^18}{"loops":>8}',
            f'{"":<40}{"RMS":>8}{"max":>8}{"":4}{"mrad":>9}{"RMS":>9}{"max":>8}'
            f'{"mm":>9}{"better by":>11}',
        ]
        for run in self.runs:
            lines.append(
                f'{run.label:<40}{1e3 * run.incisor_rms:8.4f}{1e3 * run.incisor_max:8.4f}'
                f'{1e3 * run.joint_rms:13.3f}{run.effort_rms:9.3f}{run.effort_max:8.3f}'
                f'{1e3 * run.closure:9.4f}{self.times_better(run.name):11.1f}'
            )
        return '\n'.join(lines)

    def table(self) -> tuple[list[str], np.ndarray]:
        """Columns and rows of the figures, SI units."""
        names = ['incisor_rms', 'incisor_max', 'joint_rms', 'effort_rms', 'effort_max', 'closure']
        rows = [
            [run.name, *(getattr(run, name) for name in names), run.record.limited]
            for run in self.runs
        ]
        return ['feedforward', *names, 'steps_limited'], np.array(rows, dtype=object)

    def series(self) -> tuple[list[str], FloatArray]:
        """Columns and rows over time: error of the incisor and the food's force in each run."""
        names, columns = ['time'], [self.setting.reference.time]
        for run in self.runs:
            names += [f'{run.name}_error_{axis}' for axis in 'xyz'] + [f'{run.name}_bite']
            columns += [*run.record.error.T, run.record.bite]
        return names, np.column_stack(columns)


def study_feedforward(
    setting: StudySetting,
    gains: Gains | None = None,
    progress: Progress = lambda share: None,
    processes: int | None = None,
    more: Sequence[Case] = (),
) -> FeedforwardStudy:
    """Run a motion against food with each kind of feedforward, and in more cases.

    Parameters
    ----------
    setting : StudySetting
        Motion, food and drives.
    gains : Gains, optional
        Of all drives in all runs; default: those of the drives file.
    progress : callable, optional
        Called with the fraction that is done.
    processes : int, optional
        How many run at once; by default one for each processor.
    more : sequence of Case
        Rows below those of the kinds.
    """
    chosen = gains or setting.gains
    cases = [*(Case(kind.name.lower(), kind.value, setting, kind) for kind in ControlKind), *more]
    tasks = [(case, chosen) for case in cases]
    runs = in_order(StudyRun.of, tasks, processes, progress=progress)
    return FeedforwardStudy(setting, chosen, tuple(runs))


_SIZE = (12.8, 8.0)  # inches: 1600 x 1000 dots
_COLOURS = (RED, ORANGE, BLUE, GREEN, PURPLE)


def plot_study(file: IO[bytes], study: FeedforwardStudy) -> None:
    """Write the figure as PNG."""
    with png_figure(file, _SIZE) as figure:
        errors, bite, bars = figure.subplots(3, 1, height_ratios=(2.2, 0.9, 1.3))
        bite.sharex(errors)
        _plot_errors(errors, study)
        _plot_bite(bite, study)
        _plot_bars(bars, study)
        gains, drives = study.gains, study.setting.drives
        figure.suptitle(
            f'Chewing with simulated drives at {drives.cycle_rate:g} Hz, the same gains '
            f'in all runs: {gains.position:.3g} N m/rad, {gains.velocity:.3g} N m s/rad',
            fontsize=13,
        )


def _plot_errors(panel: Axes, study: FeedforwardStudy) -> None:
    for run, colour in zip(study.runs, _COLOURS, strict=False):  # of the kinds alone
        panel.plot(study.setting.reference.time, 1e3 * run.record.distance, color=colour)
    panel.set(
        title='Incisor: distance from where it is commanded to be (colours: as below)',
        ylabel='error\n(mm)',
    )
    panel.set_ylim(bottom=0.0)
    panel.set_xlim(study.setting.reference.time[0], study.setting.reference.time[-1])
    panel.tick_params(labelbottom=False)


def _plot_bite(panel: Axes, study: FeedforwardStudy) -> None:
    time, force = study.setting.reference.time, study.runs[-1].record.bite
    panel.plot(time, force, color=BLACK)
    panel.fill_between(time, force, color=BLACK, alpha=0.12, linewidth=0.0)
    panel.set(title='Food', ylabel='force\n(N)', xlabel='time (s)')
    panel.set_ylim(bottom=0.0)


def _plot_bars(panel: Axes, study: FeedforwardStudy) -> None:
    values = [run.incisor_rms * 1e3 for run in study.runs]
    places = np.arange(len(values))[::-1]
    colours = [*_COLOURS, *[BLACK] * (len(values) - len(_COLOURS))]
    panel.barh(places, values, color=colours, height=0.7)
    for place, run, value in zip(places, study.runs, values, strict=True):
        text = f'{value:.4f} mm  {run.label}'
        if place != places[0]:
            text += f': {study.times_better(run.name):.1f} times better'
        panel.annotate(
            text, (value, place), (5, 0),
            textcoords='offset points', va='center', fontsize=10,
        )  # fmt: skip
    panel.set_yticks([])
    panel.set(title='RMS over the motion', xlabel='error of the incisor (mm)')
    panel.set_xlim(0.0, max(values) * 1.35)
    panel.set_axisbelow(True)
