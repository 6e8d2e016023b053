# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One mouthful on the twin: simulated drives chew, and every cycle is recorded.

With what it costs the robot: loads and wear of the sockets, heat and energy of the motors.
"""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
from collections.abc import Sequence

import numpy as np
from scipy.integrate import trapezoid

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import frame_poses
from masticator_dynamics.errors import InputError, MasticatorError, SimulationError
from masticator_dynamics.limits.ranges import survey_ranges
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion import MotionPath, chewing_stroke, opening_stroke
from masticator_dynamics.motion.chewing import opened_pose
from masticator_dynamics.robot.laboratory.mouthful_figures import openings
from masticator_dynamics.robot.laboratory.protocol import Mouthful, MouthfulMotion, Rest, Stop
from masticator_dynamics.robot.recording.script import recorded_script
from masticator_dynamics.robot.twin.control_chain import ControlKind
from masticator_dynamics.robot.twin.mechanism_plant import MechanismPlant
from masticator_dynamics.robot.twin.study import StudySetting

SOUND_ENDS = ('done', 'force', 'broken')  # of a mouthful; any other is the text of a fault
APPROACH = 0.3  # s, from home to the closed mouth of a motion with an occlusal gap


@dataclasses.dataclass(frozen=True)
class Series:
    """What happened during a mouthful; rows are cycles of the drives."""

    time: FloatArray  # (N,): from the start of the motion, s
    gap: FloatArray  # (N,): distance of the chewing tooth from occlusion along base z, m
    force: FloatArray  # (N,): magnitude of the food's force on the tooth, N
    q: FloatArray  # (N, n_q): tree positions, rad or m
    # (N, n_u) of the actuated joints; efforts are those of the motors, at the joints.
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray
    contact: FloatArray  # (N, n_c): multipliers of the contacts, N, as :attr:`Effort.contact`
    lifts: tuple[int, ...]  # how often each contact lifted off, if sockets are open
    end: str  # why the mouthful ended: 'done', 'force', 'broken', or the text of a fault

    @property
    def fault(self) -> bool:
        """Whether something went wrong."""
        return self.end not in SOUND_ENDS


class CycleWatch:
    """Records every cycle of a run, and decides when to stop."""

    def __init__(self, stop: Stop):
        self.rows: list[tuple[FloatArray | float, ...]] = []
        self.end = 'done'
        self._stop = stop
        self._left: list[str] = []

    def __call__(self, plant: MechanismPlant, effort: FloatArray) -> bool:
        """Note a cycle, with the drives' efforts (n_u,); returns whether to stop."""
        force = float(np.linalg.norm(plant.food_force))
        self._left = [event.contact for event in plant.events if not event.landed]
        self.rows.append(
            (
                plant.time, plant.food_gap, force, plant.tree_positions, plant.position,
                plant.velocity, effort, plant.contact,
            )
        )  # fmt: skip
        if self._stop.force is not None and force > self._stop.force:
            self.end = 'force'
        elif self._stop.broken and plant.food_broken:
            self.end = 'broken'
        return self.end != 'done'

    def series(self, contacts: Sequence[str], end: str) -> Series:
        """All cycles, as arrays."""
        time, gap, force, q, position, velocity, effort, contact = (
            np.array(column) for column in zip(*self.rows, strict=True)
        )
        lifts = tuple(self._left.count(name) for name in contacts)
        return Series(time, gap, force, q, position, velocity, effort, contact, lifts, end)


def chew(mouthful: Mouthful, setting: StudySetting, stop: Stop) -> Series:
    """Chew a mouthful on the twin with full feedforward and the gains of the drives file.

    Parameters
    ----------
    mouthful : Mouthful
        Motion, food and number of strokes.
    setting : StudySetting
        Drives and model; path and food are replaced by the mouthful's.
    stop : Stop
        What ends it early.

    Raises
    ------
    InputError
        If the motion is out of reach or out of range; gives the stroke's data.
    """
    path = motion_path(setting.model, mouthful.motion, mouthful.strokes, mouthful.rest)
    run = dataclasses.replace(setting, path=path, food=mouthful.food)
    watch = CycleWatch(stop)
    try:
        run.run(ControlKind.FRICTION, run.gains, watch)
        end = watch.end
    except SimulationError as error:
        if not watch.rows:
            raise
        end = str(error)
    return watch.series(setting.model.contacts, end)


def motion_path(
    mechanism: Mechanism, motion: MouthfulMotion, strokes: int, rest: Rest | None = None
) -> MotionPath:
    """The subject's motion: from home to the jaw's rest position, the strokes, an open mouth.

    The mouth opens once more after the last stroke, so that this one, too, lets the food go.

    Parameters
    ----------
    mechanism : Mechanism
        With the coordinates of a chewing motion and molars.
    motion : MouthfulMotion
        With an occlusal gap, the mouth closes to the angle at which the molar of the working side
        is that far from its position at home, and its opening stays the same. A recorded incisor is
        followed from home and back.
    strokes : int
        Number of strokes.
    rest : Rest, optional
        Where the jaw rests before them.

    Raises
    ------
    InputError
        For values that no stroke can have.
    ReachError, LimitError
        If a recording cannot be followed.
    """
    beta, molar = mechanism.independent.index('beta'), f'molar_{motion.side}'
    closed = opened_pose(mechanism, molar, motion.occlusal_gap)
    opening = motion.opening - float(closed[beta])
    if opening < 0.5 * motion.opening:
        raise InputError(
            f'an occlusal gap of {1e3 * motion.occlusal_gap:.3g} mm takes {closed[beta]:.3g} rad, '
            f'more than half of the opening of {motion.opening:.3g} rad'
        )
    if motion.recording:
        chewing = recorded_script(mechanism, pathlib.Path(motion.recording)).path
    else:
        chewing = chewing_stroke(
            side=motion.side, strokes=strokes, period=motion.period, opening=opening
        )
    last = opening_stroke(
        side=motion.side, start=chewing.end, period=motion.period, opening=opening
    )
    chewing = MotionPath.joined([chewing, last])
    resting = opened_pose(mechanism, molar, rest.gap if rest else 0.0)
    stations = [(0.0, mechanism.home.y)]
    if resting[beta]:
        stations.append((APPROACH, resting))
    if rest and rest.time:
        stations.append((rest.time, resting))
    if resting[beta] != closed[beta]:
        stations.append((APPROACH, closed))
    return _from_station_to_station(stations, chewing)


def _from_station_to_station(
    stations: Sequence[tuple[float, FloatArray]], chewing: MotionPath
) -> MotionPath:
    """Stations (s to get there, pose), then strokes from the last of them."""
    names, now, pieces = chewing.names, 0.0, []
    still = (np.zeros(len(names)), np.zeros(len(names)))
    for (_, before), (seconds, pose) in itertools.pairwise(stations):
        times, poses = [now, now + seconds], [before, pose]
        pieces.append(MotionPath.through(times, poses, start=still, end=still, names=names))
        now += seconds
    if not pieces:
        return chewing
    raised = chewing.coefficients.copy()
    raised[:, 0] += stations[-1][1]
    return MotionPath.joined([*pieces, MotionPath(chewing.knots + now, raised, names=names)])


def check_strokes(mechanism: Mechanism, mouthful: Mouthful) -> None:
    """Refuse a motion that the mechanism cannot make, before anything moves.

    Raises
    ------
    InputError
        Naming the mouthful, its motion, the stroke and what is exceeded.
    """
    name = shown(mouthful)
    try:
        path = motion_path(mechanism, mouthful.motion, mouthful.strokes, mouthful.rest)
        times = np.arange(path.start, path.end, 0.005)
        effort = mechanism.feedforward_batch(*path.sample(times))
    except MasticatorError as error:
        raise InputError(f'{name}: {error}') from error
    height = frame_poses(mechanism, effort.q, f'molar_{mouthful.motion.side}')[0][:, 2]
    gap = height[0] - height
    cuts = openings(gap)
    if mouthful.rest.gap and len(cuts) != mouthful.strokes:
        raise InputError(
            f'{name}: rest.gap of {1e3 * mouthful.rest.gap:.3g} mm could not be told from a stroke'
        )
    stroke = 1 + int(np.argmin(gap[cuts])) if cuts else 1
    opened = float(gap[cuts].min() if cuts else gap.max())
    if opened <= mouthful.food.renewal_gap:
        raise InputError(
            f'{name}: in stroke {stroke} the molars open {1e3 * opened:.4g} mm; '
            f'{mouthful.food.name} is served beyond {1e3 * mouthful.food.renewal_gap:.4g} mm (its '
            'renewal_gap)'
        )

    def where(row: int) -> str:
        return f'{name}: stroke {max(1, int(np.searchsorted(cuts, row)))}, after {times[row]:.2f} s'

    speed = np.abs(effort.velocity)
    limits = mechanism.limits.velocity[mechanism.tree_indices(mechanism.actuated)]
    row, worst = np.unravel_index(np.argmax(speed / limits), speed.shape)
    if speed[row, worst] > limits[worst]:
        raise InputError(
            f'{where(int(row))}: {mechanism.actuated[worst]} would turn at '
            f'{speed[row, worst]:.3g} rad/s, its limit is {limits[worst]:.3g} rad/s'
        )
    survey = survey_ranges(mechanism, effort)
    if survey.worst_row is not None:
        raise InputError(f'{where(survey.worst_row)}: {survey.worst}')


def shown(mouthful: Mouthful) -> str:
    """A mouthful by name, side and motion, for messages."""
    motion = mouthful.motion
    moved = motion.recording or f'{motion.period:g} s, {motion.opening:g} rad'
    if motion.force:
        moved = f'{motion.force.level:g} N'
    return f'{mouthful.name} ({motion.side}, {moved})'


# m^3/(N m), assumed: 1e-6 mm^3/(N m), a common order of magnitude for lubricated polyethylene on
# polished metal. Nothing is known of the robot's own sockets.
WEAR_RATE = 1e-15


@dataclasses.dataclass(frozen=True)
class JawLoads:
    """Loads of one mouthful."""

    contacts: tuple[str, ...]
    # (n_c,): largest force of each contact (N), its time integral (N s), and the wear volume by
    # Archard's law (m^3): wear rate times force times sliding distance.
    peak: FloatArray
    impulse: FloatArray
    wear: FloatArray
    # (n_c,): share of the time in which the contact pulls, which only a slot can.
    pulled: FloatArray
    lifts: tuple[int, ...]  # how often each contact lifted off, if sockets are open
    effort_rms: FloatArray  # (n_u,): RMS effort of each motor, N m or N: what heats it
    energy: float  # delivered by the motors, less what they took back, J

    @classmethod
    def of(cls, series: Series, mechanism: Mechanism) -> JawLoads:
        """Loads during a mouthful."""
        contacts = mechanism.description.contacts
        force = series.contact * [contact.force_per_multiplier for contact in contacts]
        step = np.diff(series.time)[:, None]
        mean = 0.5 * np.abs(force[1:] + force[:-1])
        travel = np.zeros_like(mean)
        for k, contact in enumerate(contacts):
            where, _ = frame_poses(mechanism, series.q, contact.frame)
            travel[:, k] = np.linalg.norm(np.diff(where, axis=0), axis=1)
        power = np.sum(series.effort * series.velocity, axis=1)
        return cls(
            mechanism.contacts,
            np.abs(force).max(axis=0, initial=0.0),
            np.sum(mean * step, axis=0),
            WEAR_RATE * np.sum(mean * travel, axis=0),
            np.mean(series.contact < 0.0, axis=0),
            series.lifts,
            np.sqrt(np.mean(series.effort**2, axis=0)),
            float(trapezoid(power, series.time)),
        )

    def figures(self) -> dict[str, float]:
        """Figures by name, for tables."""
        figures = {}
        for k, name in enumerate(self.contacts):
            for figure in ('peak', 'impulse', 'wear', 'pulled', 'lifts'):
                figures[f'{name}_{figure}'] = float(getattr(self, figure)[k])
        figures['largest_effort_rms'] = float(self.effort_rms.max())
        figures['motor_energy'] = self.energy
        return figures
