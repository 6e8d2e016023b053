# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What force control is asked for, what bounds it, and what is known of sensor and robot.

Everything is in SI units. Forces, travels and velocities are numbers along the pressing direction:
a force is positive where the point presses, a travel where it has moved that way.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Callable
from typing import NamedTuple

from masticator_dynamics.errors import InputError

_SLOWEST_DRIVES = 0.005  # s; at 125 Hz the twin overshoots by a fifth, at 100 Hz by 90 %

# Wanted force, N, at a time since force control began, s; NaN: there is none any more.
Reference = Callable[[float], float]


class State(enum.Enum):
    """What force control does."""

    APPROACH = 'approach'  # at a given velocity, until something is felt
    CONTACT = 'contact'  # the same velocity, until the stiffness is known or the force near
    FORCE = 'force'
    HOLD = 'hold'  # where it is, while what is pressed relaxes
    RELEASE = 'release'  # back, whatever the force
    DONE = 'done'


class Reason(enum.Enum):
    """Why the pressed thing was released; values are words for reports."""

    DONE = 'done'
    CANCELLED = 'cancelled'
    CRACKED = 'cracked'
    YIELDED = 'yielded'
    TRAVEL = 'largest travel'
    NOTHING_MET = 'nothing met'
    TOO_LONG = 'too long'
    BEYOND = 'force beyond what was wanted'
    LATERAL_FORCE = 'lateral force'
    TORQUE = 'torque'
    LATE = 'sensor late'
    SILENT = 'sensor silent'
    STUCK = 'sensor stuck'
    OPPOSITE = 'sensor of other sign'
    DISAGREES = 'sensor and observer disagree'
    SEVERAL = 'several publishers'
    NO_REFERENCE = 'no wanted force'
    NO_JOINTS = 'joints not measured'
    NO_WAY = 'cannot go on'
    NOT_FOLLOWED = 'not followed'

    @property
    def wanted(self) -> bool:
        """Whether it is an end that a goal can ask for, and no fault."""
        return self in _WANTED


_WANTED = (Reason.DONE, Reason.CRACKED, Reason.YIELDED, Reason.TRAVEL)


class Release(NamedTuple):
    """Why, in one word and in a sentence with the amounts; when, s."""

    reason: Reason
    text: str
    time: float


@dataclasses.dataclass(frozen=True)
class ForceGoal:
    """What is asked, besides the wanted force itself."""

    most: float  # largest wanted force, N; more is cut
    # Of force control, s, after which it releases; inf: until something else ends it.
    duration: float = math.inf
    relaxation: float = 0.0  # time for which it then first stays where it is, whatever the force, s
    travel: float = math.inf  # largest travel from contact on, m: reaching it ends force control
    # Velocity until something is met, m/s. Rule: the force at first contact is this times the
    # stiffness of what is met times the dead time (some 10 ms): 10 mm/s on 200 N/mm is 20 N.
    approach: float = 0.010
    release_velocity: float = 0.080  # m/s
    release_to: float = 0.0  # travel from the start of the path at which it ends, m
    # Whether these end it.
    on_crack: bool = True
    on_yield: bool = False
    # How far the point may go on after a crack that is to end it, m: it loads no faster than allows
    # for that (`ForceControl`); inf: as fast as is asked.
    after_crack: float = math.inf

    def __post_init__(self) -> None:
        """Refuse what cannot be meant (`InputError`)."""
        _need(self, ('most', 'approach', 'release_velocity'), 'a positive number')
        _need(self, ('duration', 'travel', 'after_crack'), 'a positive number', endless=True)
        _need(self, ('relaxation', 'release_to'), '0 or more', least=True)
        if self.relaxation and math.isinf(self.duration):
            raise InputError(
                f'relaxation of force control is {self.relaxation:g} s; a duration is needed, '
                'after which it begins'
            )


@dataclasses.dataclass(frozen=True)
class ForceBounds:
    """What no measurement and no wanted force can exceed, and what ends it as a fault."""

    # Of the travel, m/s and m/s^2; the path may allow less.
    velocity: float = 0.10
    acceleration: float = 4.0
    force_rate: float = 2e4  # of the force that is fed forward, N/s: also how fast it is taken off
    loading_rate: float = 2000.0  # of the wanted force, N/s
    # N that the drives' position loops may add to it, should the sensor be wrong.
    leash: float = 25.0
    # Release when more than wanted by this, N, and this share of what is wanted.
    beyond: float = 10.0
    beyond_share: float = 0.25
    # N and N m, across the pressing direction and about the point: release.
    lateral_force: float = 60.0
    torque: float = 3.0
    # s, until something must be met (twice that: until force control must have begun), and until
    # everything must have ended.
    approach_time: float = 5.0
    time: float = math.inf
    # m/s, where hard things may meet (``PressingPath.hard``). Rule: a blow is this times the root
    # of stiffness and mass: 0.5 mm/s on 10 N/um and 2.8 kg is 2.6 N.
    touch: float = 0.0005
    # Lost within 8 ms, N and share of the force: it has cracked.
    crack: float = 4.0
    crack_share: float = 0.25
    # Between sensor and observer for 30 ms, N and share.
    disagreement: float = 8.0
    disagreement_share: float = 0.15

    def __post_init__(self) -> None:
        """Refuse what cannot be meant (`InputError`)."""
        names = tuple(field.name for field in dataclasses.fields(self))
        _need(self, names, 'a positive number', endless=True)
        _need(self, ('velocity', 'acceleration', 'force_rate', 'loading_rate'), 'a positive number')


@dataclasses.dataclass(frozen=True)
class ForceSensor:
    """What is known of the sensor."""

    # Standard deviation, N; 0 of a simulated one, whose readings may then stay the same.
    noise: float = 0.2
    delay: float = 0.002  # least age of a reading when it comes, s; stamps may show more
    longest_delay: float = 0.012  # s, beyond which it is not used
    silence: float = 0.006  # s without a reading: nothing moves; five times that: release
    stuck: float = 0.020  # s of exactly the same reading, of a sensor that has noise: release

    def __post_init__(self) -> None:
        """Refuse what cannot be meant (`InputError`)."""
        _need(self, ('noise', 'delay'), '0 or more', least=True)
        _need(self, ('longest_delay', 'silence', 'stuck'), 'a positive number')
        if self.delay > self.longest_delay:
            raise InputError(
                f'delay of the sensor is {1e3 * self.delay:g} ms, more than the '
                f'{1e3 * self.longest_delay:g} ms up to which force control is stable'
            )

    @property
    def contact(self) -> float:
        """What counts as contact, N."""
        return max(7.0 * self.noise, 0.5)


@dataclasses.dataclass(frozen=True)
class LoopTiming:
    """How fast the loop may be, and what of it is fixed by the robot."""

    period: float = 0.002  # of the control cycle, s
    # From a command to the motion, s: a cycle until drives take it, and one until they are there
    # (`of_drives`).
    path_delay: float = 0.004
    # By which the drive layer leads a steady motion, s: `path_delay` if it compensates all of it.
    # It counts for what is planned, not for the margin, since changes are not known ahead; and the
    # less, the stiffer is what is pressed beside the drives: efforts come later.
    lead: float = 0.004
    # Time constant of the commanded velocity, s: friction and gears are compensated by its sign, a
    # direct path from velocity to torque.
    smoothing: float = 0.004
    # Bandwidth times dead time, rad. An integrator with delay has a gain margin of pi / (2 phase):
    # 3.9 with 0.4.
    phase: float = 0.4
    fastest: float = 40.0  # bandwidth that is never exceeded, 1/s
    rise: float = 0.008  # time constant, twice, of the filter that shapes the wanted force, s
    quiet: float = 0.0004  # m/s that noise of the sensor may shake the commanded velocity by

    def __post_init__(self) -> None:
        """Refuse what cannot be meant (`InputError`)."""
        _need(self, ('period', 'phase', 'fastest', 'rise', 'quiet'), 'a positive number')
        _need(self, ('path_delay', 'lead', 'smoothing'), '0 or more', least=True)

    @classmethod
    def of_drives(cls, period: float, drive_period: float) -> LoopTiming:
        """Of cycles of control and drives, s; refuses drives that are too slow (`InputError`)."""
        if drive_period > _SLOWEST_DRIVES * (1.0 + 1e-9):
            raise InputError(
                f'drives at {1.0 / drive_period:.4g} Hz are too slow for force control, which '
                f'needs {1.0 / _SLOWEST_DRIVES:g} Hz'
            )
        return cls(period=period, path_delay=2.0 * drive_period, lead=2.0 * drive_period)

    @property
    def turning(self) -> float:
        """Share of the largest acceleration by which it may change in a control cycle.

        Drives are led by two of their cycles, by the acceleration, too. With three quarters of it
        in a cycle of theirs, no sequence makes their setpoints change 5.2 times as fast as that.
        """
        return min(1.5 * self.period / max(self.path_delay, self.period), 1.0)

    def dead_time(self, sensor_delay: float) -> float:
        """Of the whole loop, s."""
        return sensor_delay + self.path_delay + self.smoothing

    def motion_delay(self, relative_stiffness: float) -> float:
        """From what is planned to the motion, s; stiffness over that of the drives."""
        led = self.lead * max(1.0 - relative_stiffness, 0.0)
        return max(self.path_delay - led, 0.0) + self.smoothing

    def bandwidth(self, sensor_delay: float) -> float:
        """That keeps the margin with such a sensor, 1/s."""
        return min(self.phase / max(self.dead_time(sensor_delay), self.period), self.fastest)


class Measured(NamedTuple):
    """What is known at the beginning of a cycle."""

    time: float  # s, of the cycle
    travel: float  # measured by the joints, m
    joints_age: float  # of that measurement, s
    force: float  # of the newest reading, N, positive: pressing
    # When it was measured, s; the same as before: nothing new. -inf: nothing so far.
    stamp: float
    # Magnitudes, N and N m, about the point.
    lateral_force: float = 0.0
    torque: float = 0.0
    observed: float = math.nan  # the force by the motors alone, N; NaN where it is not observed
    # Whether an effort of the cycle before was near its limit; and whether more would be needed.
    limited: bool = False
    clamped: bool = False


class Commanded(NamedTuple):
    """What a cycle commands."""

    # m, m/s, m/s^2 along the path.
    travel: float
    velocity: float
    acceleration: float
    force: float  # N, to be fed forward through the inverse dynamics as acting at the point


def _need(
    numbers: object,
    names: tuple[str, ...],
    what: str,
    *,
    least: bool = False,
    endless: bool = False,
) -> None:
    """Refuse numbers that are not above zero, or not at least zero, or not finite."""
    for name in names:
        value = getattr(numbers, name)
        in_range = value >= 0.0 if least else value > 0.0
        if not in_range or (math.isinf(value) and not endless):
            raise InputError(f'{name} of force control is {value}; {what} is needed')
