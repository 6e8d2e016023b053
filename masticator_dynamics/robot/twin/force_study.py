# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How good is force control? Steps, sines, creep, cracks and faults on the simulated robot."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import IO, TYPE_CHECKING

import numpy as np

from masticator_dynamics.analysis.pictures import png_figure
from masticator_dynamics.control.force_goal import ForceBounds, ForceGoal, LoopTiming, State
from masticator_dynamics.control.margin import PressedLoop
from masticator_dynamics.drives.configuration import MotorFriction, changed, load_drives
from masticator_dynamics.drives.scaling import with_rotors
from masticator_dynamics.drives.simulator.simulation_file import SimulationSettings, load_simulation
from masticator_dynamics.engine.arrays import FloatArray, rms
from masticator_dynamics.engine.traced.effort_goals import GOALS
from masticator_dynamics.errors import InputError
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.twin.food import Food
from masticator_dynamics.robot.twin.force_run import (
    ForceRecord,
    ForceSetting,
    SimulatedSensor,
    press,
)
from masticator_dynamics.workers import Progress, in_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclasses.dataclass(frozen=True)
class Figure:
    """One figure: what the prototype had, what is wanted, what is."""

    name: str
    unit: str
    prototype: str
    goal: float  # at most this
    # Median and largest over the seeds of the sensor's noise.
    value: float
    worst: float

    @property
    def reached(self) -> bool:
        """Whether the median is no more than the goal."""
        return self.value <= self.goal


Numbers = dict[str, float]


@dataclasses.dataclass(frozen=True)
class Case:
    """A run, and what its figures are compared with."""

    title: str
    # Called with the ``seed`` of the sensor's noise, gives the record and figures by name.
    run: Callable[..., tuple[ForceRecord, Numbers]]
    goals: dict[str, tuple[str, str, float]]  # by name of the figure: unit, prototype, goal

    def figures(self, runs: Sequence[Numbers]) -> list[Figure]:
        """Of the numbers of runs with different noise."""
        made = []
        for name, goal in self.goals.items():
            values = [numbers.get(name, math.nan) for numbers in runs]
            median, worst = float(np.median(values)), float(np.max(values))
            made.append(Figure(f'{self.title}: {name}', *goal, median, worst))
        return made


# The robots


def shipped(
    stiffness: float, thickness: float, *, rate: float = 500.0, **food: float
) -> ForceSetting:
    """The masticator with the shipped drives, and a food of a stiffness, N/m, and thickness, m."""
    drives = changed(load_drives('drives.yaml'), cycle_rate=rate)
    eaten = {
        'side': 'left', 'thickness': thickness, 'stiffness': stiffness, 'damping': 10.0,
        'yield_force': 2000.0, 'break_compression': 0.05, 'renewal_gap': thickness + 0.0005,
    } | food  # fmt: skip
    simulation = load_simulation('simulated_drives.yaml', drives)
    return ForceSetting(
        Mechanism(with_rotors('masticator', drives)), drives, simulation, Food(**eaten)
    )


def noisy(setting: ForceSetting, seed: int) -> ForceSetting:
    """The same with other noise of the sensor."""
    return dataclasses.replace(setting, sensor=dataclasses.replace(setting.sensor, seed=seed))


def without_losses(setting: ForceSetting) -> ForceSetting:
    """The same without friction anywhere, and gears that lose nothing."""
    drives = {
        name: changed(drive, motor=changed(drive.motor, efficiency=1.0, friction=MotorFriction()))
        for name, drive in setting.drives.drives.items()
    }
    return dataclasses.replace(
        setting, drives=changed(setting.drives, drives=drives), friction=False,
        simulation=_with_friction_times(0.0, setting.simulation),
    )  # fmt: skip


def _with_friction_times(factor: float, simulation: SimulationSettings) -> SimulationSettings:
    drives = {
        name: changed(drive, friction=drive.friction.times(factor))
        for name, drive in simulation.drives.items()
    }
    return changed(simulation, drives=drives)


def another_robot(
    setting: ForceSetting, *, friction: float = 1.0, masses: float = 1.0
) -> ForceSetting:
    """The same for a robot whose friction and masses are some times those that are known."""
    known = setting.known.parameters(friction=True)
    links = {name.rpartition('.')[0] for name in known if name.endswith('.mass')}
    values = {n: x * masses for n, x in known.items() if n.rpartition('.')[0] in links}
    values |= {n: x * friction for n, x in known.items() if n.endswith('.coulomb')}
    return dataclasses.replace(
        setting, plant=setting.known.with_parameters(values),
        simulation=_with_friction_times(friction, setting.simulation),
    )  # fmt: skip


def pressed_loop(setting: ForceSetting, force: float, timing: LoopTiming) -> PressedLoop:
    """The loop's model where the food bears a force, N."""
    mechanism, path = setting.known, setting.path()
    travel = setting.clearance + force / setting.food.stiffness
    motion = mechanism.solve(path.state(travel, 0.0, 0.0)[0])
    closing = path.direction @ mechanism.frame_jacobian(motion, path.frame)[:3]
    mass = 1.0 / float(closing @ np.linalg.solve(mechanism.mass_matrix(motion), closing))
    gains = next(iter(setting.drives.drives.values())).gains
    assert gains is not None
    stiffness = path.stiffness(travel)
    return PressedLoop(
        setting.food.stiffness, stiffness, stiffness * gains.velocity / gains.position, mass,
        setting.sensor.late, timing,
    )  # fmt: skip


# The runs

_SETTLED, _STEADY = 0.02, 0.2  # share of the force; s at the end


def step(
    setting: ForceSetting, force: float, duration: float = 0.8, seed: int = 1
) -> tuple[ForceRecord, Numbers]:
    """A constant wanted force, N."""
    record = press(
        noisy(setting, seed), ForceGoal(most=2.0 * force, duration=duration), lambda time: force
    )
    time, true = record.controlled
    if len(time) < 2:
        return record, {}
    share = (true - true[0]) / (force - true[0])
    ten, ninety = (float(time[np.argmax(share >= part)]) for part in (0.1, 0.9))
    outside = np.flatnonzero(np.abs(true - force) > _SETTLED * force)
    last_out = min(outside[-1] + 1, len(time) - 1) if len(outside) else 0
    last = true[time > time[-1] - _STEADY]
    held = np.array([state is State.FORCE for state in record.states])
    condyles = record.condyles[held]
    return record, {
        'rise': 1e3 * (ninety - ten),
        'overshoot': 100.0 * max(float(true.max()) - force, 0.0) / force,
        'settled': round(1e3 * float(time[last_out]), 6),
        'steady error': abs(float(last.mean()) - force),
        'ripple': float(last.std()),
        'peak error': abs(float(true.max()) - force),
        'condyles pull': float(-condyles.min()),
        'condyles push': float(condyles.max()),
        'effort': float(np.abs(record.effort[held]).max()),
    }


def sine(
    setting: ForceSetting, mean: float, amplitude: float, seed: int = 1
) -> tuple[ForceRecord, Numbers]:
    """A wanted force that swings at 2 Hz, N."""

    def reference(time: float) -> float:
        return mean + amplitude * math.sin(4.0 * math.pi * time)

    goal = ForceGoal(most=2.0 * (mean + amplitude), duration=2.2)
    record = press(noisy(setting, seed), goal, reference)
    time, true = record.controlled
    inside = (time > 0.5) & (time < 2.1)
    error = true[inside] - np.array([reference(t) for t in time[inside].tolist()])
    return record, {'RMS': rms(error)}


def creep(force: float = 60.0, seed: int = 1) -> tuple[ForceRecord, Numbers]:
    """A constant force on food of which half relaxes in a second."""
    setting = shipped(20e3, 0.010, relaxing_share=0.5, relaxation_time=1.0)
    record = press(
        noisy(setting, seed),
        ForceGoal(most=2.0 * force, duration=5.0),
        lambda time: force,
        longest=7.0,
    )
    time, true = record.controlled
    error = true[time > 0.15] - force
    return record, {'RMS': rms(error), 'lasted': float(time[-1])}


def crack(
    setting: ForceSetting,
    rate: float | None,
    after: float = math.inf,
    most: float = 60.0,
    seed: int = 1,
) -> tuple[ForceRecord, Numbers]:
    """Up to where the food breaks: along a ramp, N/s, or by a step to the most, N.

    After it the jaw may go on by ``after``, m.
    """

    def reference(time: float) -> float:
        return most if rate is None else min(5.0 + rate * time, most)

    goal = ForceGoal(most=120.0, duration=2.0, after_crack=after)
    record = press(noisy(setting, seed), goal, reference)
    breaks = setting.food.thickness - setting.food.break_compression
    at = int(np.argmax(record.gap < breaks))
    when, later = float(record.fine_time[at]), slice(at + 4, None)
    deepest = int(np.argmin(record.gap[at:])) + at
    release = math.nan if record.release is None else record.release.time
    return record, {
        'release': round(1e3 * (release - when), 6),  # steps of 0.5 ms
        'turns': round(1e3 * float(record.fine_time[deepest] - when), 6),
        'travel': 1e3 * float(record.gap[at] - record.gap[deepest]),
        'peak after': float(record.force[later].max()),
    }


def teeth(seed: int = 1) -> tuple[ForceRecord, Numbers]:
    """Nothing between the teeth, 30 N."""
    setting = dataclasses.replace(shipped(1e3, 0.002, renewal_gap=0.05), clearance=0.003)
    record = press(noisy(setting, seed), ForceGoal(most=60.0, duration=0.8), lambda time: 30.0)
    return record, {'peak': float(record.force.max())}


def bites(count: int = 5, seed: int = 1) -> tuple[ForceRecord, Numbers]:
    """Equal bites, with other noise."""
    worst = 0.0
    for number in range(count):
        record, numbers = step(shipped(20e3, 0.008), 60.0, 0.4, count * seed + number)
        worst = max(worst, numbers['peak error'])
    return record, {'peak error': worst}


def fault(sensor: SimulatedSensor, since: float, seed: int = 1) -> tuple[ForceRecord, Numbers]:
    """Something is wrong with the sensor from a time on, s, while 60, then 70 N are asked."""
    setting = dataclasses.replace(shipped(20e3, 0.008), sensor=sensor)
    goal = ForceGoal(most=140.0, duration=1.0)
    record = press(
        noisy(setting, seed), goal, lambda time: 60.0 if time < 0.2 else 70.0, bounds=ForceBounds()
    )
    assert record.release is not None
    return record, {
        'release': 1e3 * (record.release.time - since),
        'peak': float(record.force.max()),
    }


# The table


def cases(only: str = '') -> list[Case]:
    """All runs, or those whose title has a text in it.

    Raises
    ------
    InputError
        If there is none.
    """
    made = [*_wanted(), *_robust(), *_faulty()]
    chosen = [case for case in made if only in case.title]
    if not chosen:
        titles = '; '.join(case.title for case in made)
        raise InputError(f'no run has {only!r} in its title: {titles}')
    return chosen


def _wanted() -> list[Case]:
    """What the shipped robot does."""
    made = []
    foods = (
        (2, 10.0, 0.012, (8.0, 5.0), ('75', '1.3', '310', '0.19'), (80.0, 150.0, 0.3)),
        (20, 60.0, 0.008, (30.0, 20.0), ('41', '0.7', '65', '0.28'), (45.0, 70.0, 0.4)),
        (200, 60.0, 0.006, (30.0, 20.0), ('18', '8', '45', '1.4'), (25.0, 60.0, 1.2)),
    )
    for k, force, thick, swing, before, goals in foods:
        rise, over, settled, error = before
        most_rise, most_settled, most_error = goals
        setting = shipped(1e3 * k, thick)
        title = f'{k} N/mm, step to {force:g} N'
        made.append(Case(title, functools.partial(step, setting, force), {
            'rise': ('ms', rise, most_rise), 'overshoot': ('%', over, 3.0),
            'settled': ('ms', settled, most_settled), 'steady error': ('N', '0.03', 0.1),
            'ripple': ('N', '0.13', 0.2),
        }))  # fmt: skip
        made.append(Case(
            f'{k} N/mm, sine {swing[0]:g} ± {swing[1]:g} N at 2 Hz',
            functools.partial(sine, setting, *swing), {'RMS': ('N', error, most_error)},
        ))  # fmt: skip
    made.append(Case('creep, 60 N for 5 s', creep, {'RMS': ('N', '0.33', 0.3)}))
    brittle = shipped(30e3, 0.007, break_compression=0.0016, broken_force=0.25)
    allowed = 0.25e-3  # as node `dynamics` has it
    for title, rate, travel in (('ramp of 100 N/s', 100.0, '0.15'), ('step', None, '0.31')):
        made.append(Case(f'crack, {title}', functools.partial(crack, brittle, rate, allowed), {
            'release': ('ms', '3.5', 4.0), 'turns': ('ms', '5.5', 6.0),
            'travel': ('mm', travel, 0.25), 'peak after': ('N', '13 to 14', 14.0),
        }))  # fmt: skip
    made.append(Case('five bites of 60 N', bites, {'peak error': ('N', '0.5', 0.5)}))
    made.append(Case('teeth on teeth, 30 N', teeth, {'peak': ('N', '38', 36.0)}))
    return made


def _robust() -> list[Case]:
    """Another robot than is known, slower drives, more delay, and how motors share the load."""
    made = []
    for k, thick, over, settled in ((20, 0.008, 3.0, 70.0), (200, 0.006, 3.0, 60.0)):
        setting = shipped(1e3 * k, thick)
        robots = {
            'friction x 1.3': another_robot(setting, friction=1.3),
            'friction x 0.7': another_robot(setting, friction=0.7),
            'masses x 1.2': another_robot(setting, masses=1.2),
            'masses x 0.8': another_robot(setting, masses=0.8),
        }
        proto = ('0.5', '70') if k == 20 else ('6.4', '49')
        for title, robot in robots.items():
            made.append(Case(f'{k} N/mm, {title}', functools.partial(step, robot, 60.0), {
                'overshoot': ('%', proto[0], over), 'settled': ('ms', proto[1], settled),
            }))  # fmt: skip
        slow = shipped(1e3 * k, thick, rate=250.0)
        late = dataclasses.replace(setting, delay=2)
        overs = ('0.9', '1.0') if k == 20 else ('8.7', '9.2')
        for title, robot, before in (
            ('drives at 250 Hz', slow, overs[0]), ('one more cycle of delay', late, overs[1]),
        ):  # fmt: skip
            made.append(Case(f'{k} N/mm, {title}', functools.partial(step, robot, 60.0), {
                'rise': ('ms', '52' if k == 20 else '23', 52.0 if k == 20 else 23.0),
                'overshoot': ('%', before, 4.0),
            }))  # fmt: skip
        joints = dataclasses.replace(setting, joints_late=0.005)
        made.append(Case(f'{k} N/mm, joints 5 ms late', functools.partial(step, joints, 60.0), {
            'overshoot': ('%', '', over), 'settled': ('ms', '', settled + 5.0),
        }))  # fmt: skip
    most = {'torque': (9.8, 11.4), 'joint-force': (9.9, 9.4), 'contact-force': (3.4, 3.1)}
    for goal in GOALS:
        if goal in most:
            setting = dataclasses.replace(shipped(20e3, 0.008), effort_goal=goal)
            pull, push = most[goal]
            made.append(Case(f'60 N held, goal {goal}', functools.partial(step, setting, 60.0), {
                'condyles pull': ('N', f'{pull:g}', pull + 0.5),
                'condyles push': ('N', f'{push:g}', push + 0.5),
            }))  # fmt: skip
    return made


def _faulty() -> list[Case]:
    """What is wrong with the sensor, and from when on."""
    since = 0.4
    return [
        Case('sensor silent', functools.partial(fault, SimulatedSensor(silent=since), since),
             {'release': ('ms', '28', 32.0), 'peak': ('N', '70', 72.0)}),
        Case('sensor stuck', functools.partial(fault, SimulatedSensor(stuck=since), since),
             {'release': ('ms', '20', 24.0), 'peak': ('N', '71', 72.0)}),
        Case('sensor of other sign', functools.partial(fault, SimulatedSensor(factor=-1.0), 0.0),
             {'peak': ('N', '', 25.0)}),
    ]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class ForceStudy:
    """Figures of all runs, and the records of some for the picture."""

    figures: tuple[Figure, ...]
    records: dict[str, ForceRecord]

    def text(self) -> str:
        """As a table."""
        width = max(len(figure.name) for figure in self.figures)
        lines = [f'{"":{width}}  {"prototype":>12}  {"goal":>8}  {"median":>8} {"worst":>8}']
        for f in self.figures:
            mark = '' if f.reached else '  not reached'
            numbers = f'{f.goal:8.4g}  {f.value:8.3g} {f.worst:8.3g}'
            lines.append(f'{f.name:{width}}  {f.prototype:>12}  {numbers} {f.unit:2}{mark}')
        return '\n'.join(lines)


def study_force(
    runs: Sequence[Case],
    progress: Progress = lambda share: None,
    processes: int | None = None,
    seeds: Sequence[int] = (1,),
) -> ForceStudy:
    """Run cases with each seed of the sensor's noise.

    ``progress`` is called with the share that is done; the records are those of the first seed.
    """
    tasks = [(case, seed) for case in runs for seed in seeds]
    done = iter(in_order(_run, tasks, processes, progress=progress))
    figures: list[Figure] = []
    records: dict[str, ForceRecord] = {}
    for case in runs:
        of_seeds = list(itertools.islice(done, len(seeds)))
        figures += case.figures([numbers for _, numbers in of_seeds])
        records[case.title], _ = of_seeds[0]
    return ForceStudy(tuple(figures), records)


def _run(case: Case, seed: int) -> tuple[ForceRecord, Numbers]:
    return case.run(seed=seed)


def plot_force_study(picture: IO[bytes], study: ForceStudy) -> None:
    """Steps, the sine, creep and a crack, over the time since force control began."""
    with png_figure(picture, (10.0, 7.0)) as figure:
        axes = figure.subplots(2, 2)
        for title, record in study.records.items():
            time, force = record.controlled
            if ', step to' in title:
                _curve(axes[0, 0], 1e3 * time, force, title.partition(',')[0], (0.0, 300.0), 'ms')
            elif ', sine' in title:
                _curve(axes[0, 1], time, force, title.partition(',')[0], (0.0, 2.2), 's')
            elif title.startswith('creep'):
                _curve(axes[1, 0], time, force, title, (0.0, 5.0), 's')
            elif title.startswith('crack, ramp'):
                end = record.began(State.RELEASE)
                since = 1e3 * (record.fine_time - end)
                near = np.abs(since) < 40.0
                axes[1, 1].plot(since[near], record.force[near], label='force (N)')
                closed = 1e3 * (record.gap[near][0] - record.gap[near])
                axes[1, 1].plot(since[near], 10.0 * closed, label='closing (0.1 mm)')
                axes[1, 1].set_xlabel('time since the release (ms)')
        for title, part in zip(
            ('Steps', 'Sines of 2 Hz', 'Creep', 'A crack under a ramp'), axes.flat, strict=True
        ):
            part.set_title(title)
            if not part.lines:
                continue
            part.legend(loc='lower right' if title == 'Steps' else 'upper right')
        axes[1, 0].set_ylim(0.0, 80.0)
        axes[0, 1].set_ylim(0.0, 80.0)


def _curve(
    axes: Axes,
    time: FloatArray,
    force: FloatArray,
    label: str,
    span: tuple[float, float],
    unit: str,
) -> None:
    axes.plot(time, force, label=label)
    axes.set(xlim=span, xlabel=f'time ({unit})', ylabel='force (N)')
