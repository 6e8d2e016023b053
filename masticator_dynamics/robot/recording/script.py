# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is played: a motion that starts and ends at rest at home, and the food's force."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import frame_poses, wrenches_on_platform
from masticator_dynamics.engine.evaluation.results import Effort
from masticator_dynamics.errors import (
    InputError,
    LimitError,
)
from masticator_dynamics.files.tables import read_table
from masticator_dynamics.limits.ranges import refuse_outside
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion import (
    MotionPath,
    track_incisor,
    with_rest_ramp,
)
from masticator_dynamics.motion.chewing import COORDINATES
from masticator_dynamics.motion.motion_rows import MotionRows, rows_at

# s, between the points of the trajectory message: a recording's own step, within these bounds.
LONGEST_STEP, SHORTEST_STEP = 0.01, 0.002
BITE_STEP = 0.005  # s, between bite force messages
LONGEST = 3600.0  # s, of a recording that is played
# s, how long one stays valid; above the default, as a real sensor does not share the processor.
BITE_TIMEOUT = 0.3
_TOGETHER = 5000  # rows: a recording may be of an hour
INCISOR, MOLAR = 'incisor', 'molar_left'  # links of a jaw
_RETURN_SPEED = np.array([0.05, 0.05, 0.5, 0.5])  # m/s and rad/s, mean speed to and from home
_SHORTEST_RETURN = 0.2  # s
_FADE = 0.05  # s, in which a force at the end of the recording fades out


@dataclasses.dataclass(frozen=True)
class Script(MotionRows):
    """Trajectory points and a bite force over the time from the start of the motion.

    The mechanism moves on the quintics through the points; the first is at 0.
    """

    source: str  # origin, for people
    coordinates: tuple[str, ...]  # the columns of the rows
    bite_frame: str  # URDF link: the force acts at its origin, its axes are those of `bite_forces`
    bite_times: FloatArray  # (M,), s
    bite_forces: FloatArray  # (M, 3), what the food does to the mandible, N
    limits: bool = False  # whether efforts must be chosen within limits: others are beyond

    @property
    def duration(self) -> float:
        """Time of the last point, s."""
        return float(self.time[-1])

    @functools.cached_property
    def path(self) -> MotionPath:
        """The motion that the points describe."""
        return MotionPath.through(self.time, *self.rows, names=self.coordinates)

    @property
    def effort_options(self) -> dict[str, Any]:
        """Keywords of `Mechanism.feedforward` with which a node is asked for efforts."""
        return {'limits': True, 'nearest': True} if self.limits else {}

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
        limits = bool(data['limits'])
        return cls(**{**data, **texts, 'coordinates': coordinates, 'limits': limits})


def wrenches_of_forces(
    mechanism: Mechanism, q: FloatArray, frame: str, forces: FloatArray
) -> FloatArray:
    """Wrenches (N, 6) on the platform, base axes, of forces (N, 3) at a frame, in its axes.

    Parameters
    ----------
    q : (N, n_q) array
        Tree positions, m and rad.
    frame : str
        URDF link at whose origin they act.
    forces : (N, 3) array
        N.
    """
    wrenches = np.hstack([forces, np.zeros_like(forces)])
    return wrenches_on_platform(mechanism, q, wrenches, axes=frame, point=frame)


def food_frame(mechanism: Mechanism) -> str:
    """Where food pushes on a jaw: at the left molar, or else at the incisor."""
    return MOLAR if MOLAR in mechanism.frames else INCISOR


def within_limits(mechanism: Mechanism, script: Script) -> Script:
    """A script that a mechanism can play; efforts are chosen within limits if others are not.

    Raises
    ------
    LimitError
        Naming what leaves its range, or that no efforts keep the limits, and when.
    """
    beyond = False
    for times, effort in _played(mechanism, script):
        refuse_outside(mechanism, times, effort, None)
        try:
            refuse_outside(mechanism, times, effort, 1.0)
        except LimitError:
            beyond = True
    if beyond:
        for _ in _played(mechanism, script, limits=True):
            pass
    return dataclasses.replace(script, limits=beyond)


def _played(
    mechanism: Mechanism, script: Script, **options: Any
) -> Iterator[tuple[FloatArray, Effort]]:
    """Times of a script, s, some thousand at once, and the efforts that they need."""
    every = np.arange(0.0, script.duration, SHORTEST_STEP)
    for times in np.split(every, range(_TOGETHER, len(every), _TOGETHER)):
        rows = script.path.sample(times)
        force = rows_at(times, script.bite_times, script.bite_forces)
        q = mechanism.feedforward_batch(*rows).q
        wrench = wrenches_of_forces(mechanism, q, script.bite_frame, force)
        try:
            yield times, mechanism.feedforward_batch(*rows, wrench, **options)
        except LimitError as error:
            instant = times[error.row or 0]
            raise LimitError(f'at {instant:.6g} s: {error.without_row}') from None


def recorded_script(mechanism: Mechanism, file: pathlib.Path) -> Script:
    """Follow a recorded incisor path starting from home, come to rest at its end, return home.

    Parameters
    ----------
    file : pathlib.Path
        CSV with columns ``time incisor_x incisor_y incisor_z`` (s; displacement from occlusion,
        m, base axes) and optionally ``bolus_force``: magnitude, N, of a force that pushes the
        left molar (or else the incisor) straight down.

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
    bite_times = bite_times_of(path)
    forces = np.zeros((len(bite_times), 3))
    if bolus is not None:
        # The recording ends before the motion: its last force fades while the motion comes to rest.
        shifted = np.append(times - times[0] + rest, times[-1] - times[0] + rest + _FADE)
        force = np.append(bolus[:, 0], 0.0)
        forces[:, 2] = -np.interp(bite_times, shifted, force, left=0.0)
    step = float(np.clip(np.median(np.diff(times)), SHORTEST_STEP, LONGEST_STEP))
    script = sampled_script(
        mechanism, file.name, path, step, food_frame(mechanism), bite_times, forces
    )
    for instants, effort in _played(mechanism, script):
        refuse_outside(mechanism, instants, effort, None)
    return script


def _check_coordinates(mechanism: Mechanism) -> None:
    if mechanism.independent != COORDINATES:
        raise InputError(
            f'the demo chews in the coordinates {", ".join(COORDINATES)}; '
            f'mechanism {mechanism.name!r} has {", ".join(mechanism.independent)}'
        )


def bite_times_of(path: MotionPath) -> FloatArray:
    """Times (M,) of the messages with the food's force, s."""
    return np.arange(0.0, path.end + BITE_STEP / 2.0, BITE_STEP)


def _from_home_to_home(mechanism: Mechanism, track: MotionPath) -> tuple[MotionPath, float]:
    """Add the ways from and to home to a motion; also returns when the motion itself begins, s."""
    stopped, _ = with_rest_ramp(track)
    home = mechanism.home.y
    first, velocity, acceleration = stopped(stopped.start)
    last, _, _ = stopped(stopped.end)
    rest = (np.zeros(len(home)), np.zeros(len(home)))
    begin = stopped.start - _way(first - home)
    end = stopped.end + _way(last - home)
    there = MotionPath.through(
        [begin, stopped.start], [home, first], start=rest, end=(velocity, acceleration)
    )
    back = MotionPath.through([stopped.end, end], [last, home], start=rest, end=rest)
    whole = MotionPath.joined([there, stopped, back])
    path = MotionPath(whole.knots - begin, whole.coefficients, names=mechanism.independent)
    return path, stopped.start - begin


def _way(distance: FloatArray) -> float:
    """Seconds for a quintic over a distance (n,)."""
    return max(_SHORTEST_RETURN, float(np.max(np.abs(distance) / _RETURN_SPEED)))


def sampled_script(
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
    return Script(times, *rows, source, path.names, frame, bite_times, turned)
