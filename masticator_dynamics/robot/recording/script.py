# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the demo plays: a motion that starts and ends at rest at home, and the food's force."""

from __future__ import annotations

import dataclasses
import functools
import pathlib

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import frame_poses
from masticator_dynamics.errors import InputError, LimitError, ReachError, SingularityError
from masticator_dynamics.files.tables import read_table
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion import (
    MotionPath,
    bite_force,
    chewing_stroke,
    track_incisor,
    with_rest_ramp,
)
from masticator_dynamics.motion.chewing import COORDINATES

# s, between the points of the trajectory message: a recording's own step, within these bounds.
LONGEST_STEP, SHORTEST_STEP = 0.01, 0.002
BITE_STEP = 0.005  # s, between bite force messages
LONGEST = 3600.0  # s, of a recording that is played
# s, how long one stays valid; above the default, as a real sensor does not share the processor.
BITE_TIMEOUT = 0.3
PERIOD = 1.0  # s, of a built-in stroke
_RETURN_SPEED = np.array([0.05, 0.05, 0.5, 0.5])  # m/s and rad/s, mean speed to and from home
_SHORTEST_RETURN = 0.2  # s
_FADE = 0.05  # s, in which a force at the end of the recording fades out


@dataclasses.dataclass(frozen=True)
class Script:
    """A trajectory and a bite force over the time from the start of the motion.

    Attributes
    ----------
    source : str
        Origin, for people.
    coordinates : tuple of str
        Independent coordinates, the columns of the rows.
    times : (N,) array
        Of the trajectory points, s; the first is 0.
    positions, velocities, accelerations : (N, n) array
        Of the points; the mechanism moves on the quintics through them.
    bite_frame : str
        URDF link: the force acts at its origin, its axes are those of `bite_forces`.
    bite_times : (M,) array
        s.
    bite_forces : (M, 3) array
        What the food does to the mandible, N.
    """

    source: str
    coordinates: tuple[str, ...]
    times: FloatArray
    positions: FloatArray
    velocities: FloatArray
    accelerations: FloatArray
    bite_frame: str
    bite_times: FloatArray
    bite_forces: FloatArray

    @property
    def duration(self) -> float:
        """Time of the last point, s."""
        return float(self.times[-1])

    @functools.cached_property
    def path(self) -> MotionPath:
        """The motion that the points describe."""
        return MotionPath.through(
            self.times,
            self.positions,
            self.velocities,
            self.accelerations,
            names=self.coordinates,
        )

    def save(self, file: pathlib.Path) -> None:
        """Write to an .npz file."""
        np.savez(file, **dataclasses.asdict(self))

    @classmethod
    def load(cls, file: pathlib.Path) -> Script:
        """Read what :meth:`save` wrote."""
        with np.load(file) as arrays:
            data = dict(arrays)
        texts = {name: str(data[name]) for name in ('source', 'bite_frame')}
        coordinates = tuple(str(name) for name in data['coordinates'])
        return cls(**{**data, **texts, 'coordinates': coordinates})


def script_for(mechanism: Mechanism, recording: pathlib.Path | None, strokes: int) -> Script:
    """A recorded incisor path if a file is given, else built-in strokes.

    Parameters
    ----------
    mechanism : Mechanism
        What moves.
    recording : pathlib.Path, optional
        See :func:`recorded_script`.
    strokes : int
        See :func:`built_in_script`.
    """
    if recording is not None:
        return recorded_script(mechanism, recording)
    return built_in_script(mechanism, strokes)


def built_in_script(mechanism: Mechanism, strokes: int) -> Script:
    """Chewing strokes of one second each on softening food; a swing if it cannot chew."""
    if mechanism.independent != COORDINATES:
        return swing_script(mechanism, strokes)
    path = chewing_stroke(strokes=strokes, period=PERIOD)
    food = bite_force(strokes=strokes, period=PERIOD)
    times = _bite_times(path)
    source = f'{strokes} built-in strokes'
    return _script(mechanism, source, path, LONGEST_STEP, food.frame, times, food.sample(times))


def swing_script(mechanism: Mechanism, swings: int) -> Script:
    """Swings of all coordinates about home, one second each way, with a push on the platform.

    As wide as ranges and reach allow, at most 0.3 rad or 0.15 of the mechanism's size. The push
    grows and fades with every swing: downwards, a tenth of the mechanism's weight.

    Raises
    ------
    LimitError
        When home leaves no room to swing.
    """
    joints = {joint.name: joint for joint in mechanism.structure.tree.joints}
    units = [joints[name].unit for name in mechanism.independent]
    widest = np.where(np.array(units) == 'm', 0.15 * mechanism.structure.extent(), 0.3)
    path = _widest_swing(mechanism, widest, swings)
    times = _bite_times(path)
    weight = 9.81 * sum(link.mass for link in mechanism.description.tree.links.values())
    forces = np.zeros((len(times), 3))
    forces[:, 2] = -0.1 * weight * np.sin(np.pi * times / path.end * swings) ** 2
    source, frame = f'{swings} swings about home', mechanism.description.platform
    return _script(mechanism, source, path, LONGEST_STEP, frame, times, forces)


def _widest_swing(mechanism: Mechanism, widest: FloatArray, swings: int) -> MotionPath:
    home, rest = mechanism.home.y, np.zeros(len(mechanism.independent))
    # Neighbouring coordinates swing in opposite directions: in phase, some machines only turn.
    away = widest * np.where(np.arange(len(home)) % 2, -1.0, 1.0)
    for share in 0.7 ** np.arange(20):
        steps = np.array([0.0, *(1.0, -1.0) * swings, 0.0])
        path = MotionPath.through(
            PERIOD * np.arange(len(steps)), home + share * np.outer(steps, away),
            start=(rest, rest), end=(rest, rest), names=mechanism.independent,
        )  # fmt: skip
        try:
            _check_ranges(mechanism, path)
        except (LimitError, ReachError, SingularityError):
            continue
        return path
    raise LimitError(f'{mechanism.name} cannot swing about home within its ranges')


def recorded_script(mechanism: Mechanism, file: pathlib.Path) -> Script:
    """Follow a recorded incisor path starting from home, come to rest at its end, return home.

    Parameters
    ----------
    mechanism : Mechanism
    file : pathlib.Path
        CSV with columns ``time incisor_x incisor_y incisor_z`` (s; displacement from occlusion,
        m, base axes) and optionally ``bolus_force``: magnitude, N, of a force that pushes the
        left molar straight down.

    Raises
    ------
    InputError
        If the file cannot be read, naming row and column.
    ReachError, LimitError
        When the mechanism cannot follow.
    """
    _check_coordinates(mechanism)
    table = read_table(str(file))
    times = table.times()
    if len(times) < 2:
        raise InputError(f'{file}: a motion needs at least two rows')
    duration = float(times[-1] - times[0])
    if duration > LONGEST:
        raise InputError(f'{file}: lasts {duration:g} s; at most {LONGEST:g} s are played')
    recorded = table.numbers(['incisor_x', 'incisor_y', 'incisor_z'])
    bolus = table.all_or_none(['bolus_force'])
    track = track_incisor(mechanism, times, recorded).path
    path, rest = _from_home_to_home(mechanism, track)
    bite_times = _bite_times(path)
    forces = np.zeros((len(bite_times), 3))
    if bolus is not None:
        # The recording ends before the motion: its last force fades while the motion comes to rest.
        shifted = np.append(times - times[0] + rest, times[-1] - times[0] + rest + _FADE)
        force = np.append(bolus[:, 0], 0.0)
        forces[:, 2] = -np.interp(bite_times, shifted, force, left=0.0)
    step = float(np.clip(np.median(np.diff(times)), SHORTEST_STEP, LONGEST_STEP))
    return _script(mechanism, file.name, path, step, 'molar_left', bite_times, forces)


def _check_coordinates(mechanism: Mechanism) -> None:
    if mechanism.independent != COORDINATES:
        raise InputError(
            f'the demo chews in the coordinates {", ".join(COORDINATES)}; '
            f'mechanism {mechanism.name!r} has {", ".join(mechanism.independent)}'
        )


def _bite_times(path: MotionPath) -> FloatArray:
    return np.arange(0.0, path.end + BITE_STEP / 2.0, BITE_STEP)


def _from_home_to_home(mechanism: Mechanism, track: MotionPath) -> tuple[MotionPath, float]:
    """Add the ways from and to home to a motion; also returns when the motion itself begins, s."""
    stopped, _ = with_rest_ramp(track)
    home = mechanism.home.y
    first, last = stopped(stopped.start), stopped(stopped.end)
    rest = (np.zeros(len(home)), np.zeros(len(home)))
    begin = stopped.start - _way(first[0] - home)
    end = stopped.end + _way(last[0] - home)
    there = MotionPath.through(
        [begin, stopped.start], [home, first[0]], start=rest, end=(first[1], first[2])
    )
    back = MotionPath.through([stopped.end, end], [last[0], home], start=rest, end=rest)
    whole = MotionPath.joined([there, stopped, back])
    path = MotionPath(whole.knots - begin, whole.coefficients, names=mechanism.independent)
    _check_ranges(mechanism, path)
    return path, stopped.start - begin


def _way(distance: FloatArray) -> float:
    """Seconds for a quintic over a distance (n,)."""
    return max(_SHORTEST_RETURN, float(np.max(np.abs(distance) / _RETURN_SPEED)))


def _check_ranges(mechanism: Mechanism, path: MotionPath) -> None:
    for time in np.arange(path.start, path.end, SHORTEST_STEP):
        violations = mechanism.range_violations(mechanism.solve(*path(float(time))))
        if violations:
            raise LimitError(f'{time:.2f} s after the start of the motion: {violations[0]}')


def _script(
    mechanism: Mechanism,
    source: str,
    path: MotionPath,
    step: float,
    frame: str,
    bite_times: FloatArray,
    forces: FloatArray,
) -> Script:
    """Sample a path into trajectory points and rotate forces from base axes to those of a frame."""
    count = int(np.ceil((path.end - path.start) / step)) + 1
    times = np.linspace(path.start, path.end, count)
    rows = path.sample(times)
    poses = mechanism.feedforward_batch(path.sample(bite_times)[0])
    _, rotations = frame_poses(mechanism, poses.q, frame)
    turned = np.einsum('nji,nj->ni', rotations, forces)
    return Script(source, path.names, times, *rows, frame, bite_times, turned)
