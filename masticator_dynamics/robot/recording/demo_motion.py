# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the demo plays: a jaw chews, any other mechanism swings about home, within all limits."""

from __future__ import annotations

import contextlib
import pathlib
import warnings
from collections.abc import Callable

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import LimitError, RangeWarning, ReachError, SingularityError
from masticator_dynamics.limits.ranges import range_room
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion import MotionPath, bite_force, chewing_stroke
from masticator_dynamics.motion.chewing import COORDINATES
from masticator_dynamics.robot.recording.script import (
    INCISOR,
    LONGEST_STEP,
    Script,
    bite_times_of,
    food_frame,
    recorded_script,
    sampled_script,
    within_limits,
)

PERIOD = 1.0  # s, of a built-in stroke, and of half a swing
WIDEST_OPENING = 0.15  # rad, of a built-in stroke


def script_for(mechanism: Mechanism, recording: pathlib.Path | None, strokes: int) -> Script:
    """A recorded incisor path if a file is given, else built-in strokes.

    Parameters
    ----------
    recording : pathlib.Path, optional
        See :func:`recorded_script`.
    strokes : int
        See :func:`built_in_script`.

    Raises
    ------
    MasticatorError
        When the recording cannot be read or followed, or nothing keeps the limits; says why.
    """
    if recording is not None:
        return within_limits(mechanism, recorded_script(mechanism, recording))
    return built_in_script(mechanism, strokes)


def built_in_script(mechanism: Mechanism, strokes: int) -> Script:
    """Chewing strokes of one second each on softening food; swings if there is no jaw.

    As wide as ranges, reach and limits of efforts allow.

    Raises
    ------
    LimitError
        When it cannot even move a little; says why.
    """
    if has_jaw(mechanism):
        with contextlib.suppress(LimitError):
            return _widest(mechanism, lambda share: _chewing(mechanism, strokes, share), 5)
    room = room_about_home(mechanism)
    return _widest(mechanism, lambda share: _swings(mechanism, strokes, room, share), 20)


def has_jaw(mechanism: Mechanism) -> bool:
    """Whether a mechanism can chew: it has an incisor, whose motion has the jaw's coordinates."""
    units = {joint.name: joint.unit for joint in mechanism.structure.tree.joints}
    measured = [units[name] for name in COORDINATES if name in mechanism.independent]
    return measured == ['m', 'm', 'rad', 'rad'] and INCISOR in mechanism.frames


def _chewing(mechanism: Mechanism, strokes: int, share: float) -> Script:
    """Strokes that open by a share of the usual; other coordinates than the jaw's stay at home."""
    stroke = chewing_stroke(strokes=strokes, period=PERIOD, opening=share * WIDEST_OPENING)
    columns = [mechanism.independent.index(name) for name in COORDINATES]
    coefficients = np.zeros((len(stroke.knots) - 1, 6, len(mechanism.independent)))
    coefficients[:, :, columns] = stroke.coefficients
    coefficients[:, 0] += mechanism.home.y
    path = MotionPath(stroke.knots, coefficients, names=mechanism.independent)
    food = bite_force(strokes=strokes, period=PERIOD, first=share * 100.0, last=share * 60.0)
    times = bite_times_of(path)
    source = f'{strokes} built-in strokes'
    if share < 1.0:
        source += f', {share:.0%} as wide as usual'
    forces = food.sample(times)
    return sampled_script(
        mechanism, source, path, LONGEST_STEP, food_frame(mechanism), times, forces
    )


def room_about_home(mechanism: Mechanism) -> FloatArray:
    """How far each coordinate alone may go down and up from home (2, n_y), rad or m.

    At most 0.3 rad or 0.15 of the mechanism's size.

    Raises
    ------
    LimitError
        When home leaves no room to move at all.
    """
    joints = {joint.name: joint for joint in mechanism.structure.tree.joints}
    slides = [joints[name].unit == 'm' for name in mechanism.independent]
    widest = np.where(slides, 0.15 * mechanism.structure.extent(), 0.3)
    shares = np.array([0.0, *0.7 ** np.arange(19, -1, -1)])  # from home outwards
    ways = np.stack([-np.diag(widest), np.diag(widest)])
    poses = mechanism.home.y + shares[:, None] * ways[:, :, None]  # (2, n_y, shares, n_y)
    attempts = mechanism.attempt(poses.reshape(-1, len(widest)))
    inside = attempts.closed.copy()
    inside[inside] = ~range_room(mechanism, attempts.motions).outside
    farther = np.logical_and.accumulate(inside.reshape(poses.shape[:3]), axis=2)
    room = widest * np.max(farther * shares, axis=2)
    if not room.any():
        violations = mechanism.range_violations(mechanism.home)
        reason = f'at home, {violations[0]}' if violations else 'home is at the end of all ranges'
        raise LimitError(f'{mechanism.name} has no room to move about home: {reason}')
    return np.asarray(room)


def _swings(mechanism: Mechanism, swings: int, room: FloatArray, share: float) -> Script:
    """Swings about home by a share of the room, one second each way, with a push on the platform.

    Neighbouring coordinates swing in opposite directions: in phase, some machines only turn. The
    push grows and fades with every swing: downwards, a tenth of the moving links' weight.
    """
    down, up = room
    odd = np.arange(len(up)) % 2 == 1
    first, second = np.where(odd, -down, up), np.where(odd, up, -down)
    home, still = mechanism.home.y, np.zeros((2 * swings + 2, len(up)))
    positions = home + share * np.array([still[0], *(first, second) * swings, still[0]])
    # At rest at every turn, a coordinate does not overshoot the end of its range.
    times = PERIOD * np.arange(len(positions))
    path = MotionPath.through(times, positions, still, still, names=mechanism.independent)
    bite_times = bite_times_of(path)
    weight = np.linalg.norm(mechanism.description.gravity) * sum(
        body.mass for body in mechanism.structure.tree.inertias
    )
    forces = np.zeros((len(bite_times), 3))
    forces[:, 2] = -0.1 * share * weight * np.sin(np.pi * bite_times / path.end * swings) ** 2
    source, frame = f'{swings} swings about home', mechanism.description.platform
    return sampled_script(mechanism, source, path, LONGEST_STEP, frame, bite_times, forces)


def _widest(mechanism: Mechanism, script_at: Callable[[float], Script], attempts: int) -> Script:
    """The widest of a few scripts, by their share of the usual, that stays within all limits.

    Raises
    ------
    LimitError
        When none does; says why the narrowest does not.
    """
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', RangeWarning)  # what leaves a range is not played
        for share in 0.7 ** np.arange(attempts):
            try:
                return within_limits(mechanism, script_at(float(share)))
            except (LimitError, ReachError, SingularityError) as error:
                reason = error
    raise LimitError(f'{mechanism.name} has nowhere to move within its limits: {reason}')
