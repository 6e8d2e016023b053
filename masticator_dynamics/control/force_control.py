# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The law of force control and its states, along the travel of one point.

    velocity = bandwidth (wanted force some time ago - measured force) / upper bound of stiffness
             + rate of the wanted force / stiffness

smoothed and bounded; the *wanted* force is fed forward through the inverse dynamics, so that the
drives' position loops carry only what the model does not know. The travel is the integral of the
velocity: an elastic food needs no other. What creeps or relaxes goes on giving way; the velocity
that keeps the force is learnt while the wanted force stands still. With the stiffness in the law
the loop is an integrator with the same bandwidth on soft and stiff foods, and a dead time.

`ForceControl.step` is a function of what was measured, what is wanted, and the steps before; times
are those of the measurements, so tests step through it without a clock.
"""

from __future__ import annotations

import math
from typing import Protocol

from masticator_dynamics.control.force_goal import (
    Commanded,
    ForceBounds,
    ForceGoal,
    ForceSensor,
    LoopTiming,
    Measured,
    Reason,
    Reference,
    Release,
    State,
)
from masticator_dynamics.control.fracture import Fracture
from masticator_dynamics.control.laid_over import LaidOver
from masticator_dynamics.control.sensor_watch import FILTER, SensorWatch
from masticator_dynamics.control.sent_travel import SentTravel
from masticator_dynamics.control.stiffness import Stiffness
from masticator_dynamics.control.wanted_force import WantedForce

_BRAKING = 0.03  # s: velocity falls with the travel that is left over this
_NEAR_HARD = 3e-4  # m, within which what is felt may be something hard
_HARD = 4.0  # times the stiffness of the drives, of what is hard
_NEAR_FORCE, _REACHED = 0.3, 0.2  # of the wanted force: from which on it may be controlled; left
# 1/s: of an error, by the force that is fed forward; of that, by travel.
_TRIMMED, _FOLLOWED = 20.0, 2.0
_SOON = 0.05  # s
_SURE_RISE = 5.0  # standard deviations, within the newest readings, of a rise that is no noise
# Share of the force over the drives' stiffness by which the point swings on if nothing is left of
# what has cracked; share of the velocity of approach at which it always loads.
_SWING, _LEAST_LOADING = 0.85, 0.1
_CLEAR = 8.0  # standard deviations of the noise, of an error that is none
_AT_END, _AT_REST = 2e-5, 1e-4  # m, m/s
# Held up, with so much of the force missing, for so long, s: it cannot go on.
_SHORT, _HELD_UP_FOR = 0.1, 0.1
_HELD_UP = 0.9  # of the leash, by which position loops push
# Leashes of force by which drives may be off at the end: what friction and wrong masses explain.
_FOLLOWED_TO = 4.0
_OLD_JOINTS = 0.05  # s
_MOST_MISSED = 4.0  # cycles, at most, that one may stand for
_CREEP = 0.1  # of the loop's speed
_STANDS_STILL, _SMALL = 0.05, 0.03  # of a wanted force: rate, 1/s, and error
_HELD = 0.02  # s, in which the force that is fed forward follows what relaxes

_PRESSING = (State.FORCE, State.HOLD)


class Way(Protocol):
    """What the law needs of a `PressingPath`."""

    length: float
    hard: float
    stiffest: float
    velocity: float
    least_acceleration: float

    def stiffness(self, travel: float) -> float:
        """Of the drives at the point, N/m."""
        ...

    def acceleration(self, travel: float) -> float:
        """That no drive is too slow for there, m/s^2."""
        ...


class ForceControl:
    """One goal, from approach to release.

    Parameters
    ----------
    way : Way
        At whose start it is at rest.
    goal : ForceGoal
    bounds, sensor, timing
        By default those of the shipped robot.
    softest, stiffness : float
        N/m, of what is pressed: the least it can be, and what it is if that is known.

    Attributes
    ----------
    bounds : ForceBounds
        May be replaced between two cycles.
    state : State
    release : Release or None
        Why it let go.
    commanded : Commanded
        Of the latest cycle.
    travelled : float
        From contact on, m, as measured.
    peak : float
        Largest measured force, N.
    stiffness : Stiffness
    watch : SensorWatch
    """

    def __init__(
        self,
        way: Way,
        goal: ForceGoal,
        bounds: ForceBounds | None = None,
        sensor: ForceSensor | None = None,
        timing: LoopTiming | None = None,
        *,
        softest: float = 1e3,
        stiffness: float | None = None,
    ):
        self._way, self.goal = way, goal
        self.bounds, self._sensor = bounds or ForceBounds(), sensor or ForceSensor()
        self._timing = timing or LoopTiming()
        self.watch = SensorWatch(self._sensor, self.bounds, self._timing.period)
        most = way.stiffest if stiffness is None else min(1.5 * stiffness, way.stiffest)
        self.stiffness = Stiffness(most, softest, self._sensor.noise, _TRAVEL_NOISE)
        self._velocity_bound = min(self.bounds.velocity, way.velocity)
        self._slowing = 0.5 * min(self.bounds.acceleration, way.least_acceleration)
        self.state = State.APPROACH
        self.release: Release | None = None
        self.commanded = Commanded(0.0, 0.0, 0.0, 0.0)
        self._shaped = WantedForce(goal.most, self._timing)
        self._fracture = Fracture(goal, self._sensor, self.watch)
        self._trim = 0.0  # N, of the force that is fed forward, where it presses on something hard
        self._creep = 0.0  # m/s, at which what is pressed gives way under a constant force
        self.travelled = self.peak = 0.0
        self._laid_over = LaidOver()
        self._sent = SentTravel(self._timing)
        self._start: float | None = None
        self._time = self._travel = 0.0  # of the latest cycle
        self._began = self._contact_travel = 0.0
        self._held_up = 0.0  # s for which it could not go on, with less force than is wanted
        self._astray = 0.0  # s for which the joints have not been where they are commanded
        self._beyond, self._elapsed = 0, self._timing.period

    def step(self, now: Measured, reference: Reference) -> Commanded:
        """What to command in the cycle in which this was measured."""
        if self._start is None:
            self._start = self._time = now.time
        # Where cycles are left out it moves on, or the drives would see a jolt.
        period = self._timing.period
        self._elapsed = min(max(now.time - self._time, period), _MOST_MISSED * period)
        self._time, self._travel = now.time, now.travel
        self.watch.take(now)
        self._laid_over.measured(now.time - now.joints_age, now.travel)
        self._learn(now)
        self._look_at_drives(now)
        if self.release is None:
            if (reason := self._reason(now, reference)) is not None:
                self.end(*reason, now.time)
        elif self.release.reason is Reason.CRACKED and self.watch.fresh:
            self.release = self._fracture.doubted(self.release, self.bounds, now.time)
        wish = self._wish(now, reference)
        self.commanded = self._moved(self._kept_within(wish, now))
        self._sent.take(now.time, self.commanded)
        return self.commanded

    def end(self, reason: Reason, text: str, time: float) -> None:
        """Let go from the next cycle on, unless it does; from any thread."""
        if self.release is None:
            self.release = Release(reason, text, time)

    @property
    def wanted(self) -> float:
        """Wanted force, N, as it is followed."""
        return self._shaped.now

    # What is known

    def _learn(self, now: Measured) -> None:
        if not self.watch.fresh or self.state not in (State.CONTACT, *_PRESSING):
            return
        self.peak = max(self.peak, now.force)
        self.travelled = now.travel - self._contact_travel
        self._fracture.take(now, self.wanted)
        for travel, force in self._laid_over.felt(now.stamp, now.force):
            if travel < self._way.hard - _NEAR_HARD:
                self.stiffness.take(travel, force)

    @property
    def _felt_delay(self) -> float:
        """From what is planned to what is felt of it, s."""
        drives = self._way.stiffness(self.commanded.travel)
        return self._timing.motion_delay(self.stiffness.likely / drives) + self.watch.delay

    def _look_at_drives(self, now: Measured) -> None:
        """How long it could not go on where it should, and how long drives have not followed."""
        going = self.state in (State.APPROACH, State.CONTACT)
        held_up = now.limited or self._ahead(now) > _HELD_UP
        held_up |= self._at_end and self.state is not State.APPROACH
        if self.state is State.FORCE:
            missing = self._shaped.before(self._felt_delay) - self.watch.force
            # Position loops give what a motor may not: that a limit is not kept would not show.
            going = now.clamped or missing > max(_SHORT * self.wanted, self._sensor.contact)
        # What pushes far more than it should is believed sooner: the sensor does not feel it.
        ahead = max(self._ahead(now), 1.0)
        self._held_up = self._held_up + ahead * self._elapsed if going and held_up else 0.0
        astray = now.joints_age > _OLD_JOINTS or not abs(self._ahead(now)) < _FOLLOWED_TO
        self._astray = self._astray + self._elapsed if astray else 0.0

    @property
    def _at_end(self) -> bool:
        return self._way.length - self.commanded.travel < 5.0 * _AT_END

    def _ahead(self, now: Measured) -> float:
        """By how much what is commanded is ahead of the joints: leashes of the position loops."""
        behind = self._sent.behind(now.time - now.joints_age, now.travel)
        return behind * self._way.stiffness(self.commanded.travel) / self.bounds.leash

    # Why to let go

    def _reason(self, now: Measured, reference: Reference) -> tuple[Reason, str] | None:
        return (
            self.watch.fault(now.time)
            or self._out_of_bounds(now)
            or self._over(now, reference)
            or self._broken()
        )

    def _out_of_bounds(self, now: Measured) -> tuple[Reason, str] | None:
        bounds = self.bounds
        if now.joints_age > _OLD_JOINTS or not math.isfinite(now.travel):
            return Reason.NO_JOINTS, f'joints were last measured {now.joints_age:.3g} s ago'
        if now.lateral_force > bounds.lateral_force:
            return Reason.LATERAL_FORCE, (
                f'{now.lateral_force:.3g} N across the pressing direction, '
                f'more than {bounds.lateral_force:g} N'
            )
        if now.torque > bounds.torque:
            return Reason.TORQUE, f'{now.torque:.3g} N m, more than {bounds.torque:g} N m'
        wanted = self.goal.most
        if self.state in _PRESSING:
            # Whatever was wanted within the dead time may be what is felt now.
            wanted = max(self.wanted, self._shaped.before(self._felt_delay))
        limit = wanted * (1.0 + bounds.beyond_share) + bounds.beyond
        self._beyond = self._beyond + 1 if self.watch.fresh and now.force > limit else 0
        if self._beyond >= 2:
            return Reason.BEYOND, f'{now.force:.3g} N where {wanted:.3g} N were wanted'
        return None

    def _why_held_up(self, now: Measured) -> str:
        felt = f'{now.force:.3g} N are felt'
        if self.state is State.FORCE:
            felt = f'{now.force:.3g} of {self.wanted:.3g} N are reached'
        if now.limited:
            return f'{felt}, and a motor is at its limit'
        if self._at_end:
            return f'{felt} at the end of the way, after {1e3 * self._way.length:.3g} mm'
        return f'{felt}, and drives do not follow: the point is {self._off(now)} behind'

    def _off(self, now: Measured) -> str:
        """How far joints are from what is commanded; off the way, travel is not what they say."""
        off, most = abs(self.commanded.travel - now.travel), self._way.length
        return f'{1e3 * off:.2g} mm' if off < most else f'more than {1e3 * most:.3g} mm'

    def _over(self, now: Measured, reference: Reference) -> tuple[Reason, str] | None:
        goal, bounds = self.goal, self.bounds
        elapsed = now.time - (now.time if self._start is None else self._start)
        if self.state in _PRESSING:
            since = now.time - self._began
            if since >= goal.duration + goal.relaxation:
                return Reason.DONE, f'it was pressed for {since:.3g} s{self._offset}'
            if self.state is State.FORCE and math.isnan(reference(since)):
                return Reason.NO_REFERENCE, 'nobody says any more what force is wanted'
        if self.travelled >= goal.travel:
            return Reason.TRAVEL, f'{1e3 * self.travelled:.3g} mm since contact'
        if self._held_up >= _HELD_UP_FOR:
            return Reason.NO_WAY, self._why_held_up(now)
        if elapsed >= bounds.time:
            return Reason.TOO_LONG, f'not over after {elapsed:.3g} s'
        if self.state is State.CONTACT and elapsed >= 2.0 * bounds.approach_time:
            return Reason.TOO_LONG, f'no more than {now.force:.3g} N are reached in {elapsed:.3g} s'
        if self.state is State.APPROACH:
            if elapsed >= bounds.approach_time:
                return Reason.NOTHING_MET, f'nothing was met in {elapsed:.3g} s{self._offset}'
            if self._at_end:
                way = f'{1e3 * self._way.length:.3g} mm'
                return Reason.NOTHING_MET, f'nothing was met on {way}{self._offset}'
        return None

    @property
    def _offset(self) -> str:
        offset = self.watch.offset
        return f' (the sensor said {offset:.3g} N before it moved)' if offset else ''

    def _broken(self) -> tuple[Reason, str] | None:
        """A crack or a yield, where these end it."""
        if self.state not in (State.CONTACT, *_PRESSING) or not self.watch.fresh:
            return None
        if self._near_hard:  # hard things that meet bounce
            return None
        lowered = self._shaped.lowered(self._felt_delay + self.watch.span)
        return self._fracture.reason(self.bounds, lowered, self.stiffness.likely)

    # What to do: the velocity that is wished, m/s

    def _wish(self, now: Measured, reference: Reference) -> float:
        goal = self.goal
        # Only here: where it was ended while a cycle went on to another state, it would press
        # until somebody stops the motors, since what is released is looked at no more.
        if self.release is not None and self.state is not State.DONE:
            self.state = State.RELEASE
        if self.state is State.APPROACH and self.watch.met():
            self.state, self._contact_travel = State.CONTACT, now.travel
            self.stiffness.begin()
        if self.state is State.CONTACT:
            if self.stiffness.known or self._near(self._shaped.clipped(reference(0.0))):
                self._begin_force(now)
        if self.state is State.RELEASE:
            if abs(self.commanded.travel - goal.release_to) < _AT_END:
                if abs(self.commanded.velocity) < _AT_REST:
                    self._finish(now)
                return 0.0
            return math.copysign(goal.release_velocity, goal.release_to - self.commanded.travel)
        if self.state is State.FORCE and now.time - self._began >= goal.duration:
            self.state, self._shaped.rate = State.HOLD, 0.0
        if self.state in (State.HOLD, State.DONE) or self.watch.holds(now.time):
            return 0.0
        if self.state is State.FORCE:
            return self._controlled(now.time, reference)
        return goal.approach

    def _near(self, wanted: float) -> bool:
        """Whether a force, N, will soon be reached; before, it pays to learn the stiffness."""
        missing = wanted - self.watch.force
        span = self.watch.span + self._timing.period
        rise = self._slope - _SURE_RISE * self._sensor.noise / span
        soon = missing < max(_SOON * rise, _REACHED * wanted)
        return self.watch.force > _NEAR_FORCE * wanted and soon

    @property
    def _slope(self) -> float:
        """At which the measured force rises, N/s."""
        recent = self.watch.recent
        return (recent[-1][1] - recent[0][1]) / self.watch.span

    def _begin_force(self, now: Measured) -> None:
        """Without a bump: wanted is at first what is felt, and will be until it can change."""
        self.state, self._began = State.FORCE, now.time
        most = self.stiffness.upper * max(self.commanded.velocity, 0.0)
        rate = min(max(self._slope, 0.0), most)
        self._shaped.begin(self.watch.force, rate, self._felt_delay)

    def _controlled(self, time: float, reference: Reference) -> float:
        if self._near_hard:
            self._shape(time, reference, _HARD * self._way.stiffest)
            return self._creep + self._trimmed()
        likely = self.stiffness.likely
        self._shape(time, reference, likely)
        return self._correction(self.stiffness.upper) + self._creep + self._shaped.rate / likely

    def _trimmed(self) -> float:
        """Correct the force that is fed forward; velocity, m/s, that slowly takes its place.

        What is hard does not give way: no velocity is planned for a rising force, and one against
        the error would change its sign all the time, and friction's compensation with it. Where
        something soft is left after all, or the position loops press too much, travel follows.
        """
        period, leash = self._timing.period, self.bounds.leash
        stiffness = self._way.stiffness(self.commanded.travel)
        error = self._shaped.before(self._felt_delay) - self.watch.force
        taken = _FOLLOWED * self._trim  # N/s
        trim = self._trim + (_TRIMMED * error - taken) * period
        pressing = max(self.commanded.travel - self._travel, 0.0) * stiffness  # position loops, N
        self._trim = min(max(trim, -leash), max(leash - pressing, 0.0))
        return taken / stiffness

    def _correction(self, upper: float) -> float:
        """Velocity against the error, m/s.

        An error that may be noise would shake the mechanism: the loop is slower for it. Where a
        soft food makes it much slower, the noise is filtered instead, which takes time, too.
        """
        timing, noise = self._timing, max(self._sensor.noise, 1e-6)
        delay, late = self._felt_delay, self.watch.delay
        error = self._shaped.before(delay) - self.watch.force
        fastest = timing.bandwidth(late)
        bandwidth, calm = min(fastest, timing.quiet * upper / noise), error
        share = math.sqrt(0.5 * timing.period / FILTER)  # of the noise that a filter leaves
        slower = min(timing.bandwidth(late + FILTER), timing.quiet * upper / (share * noise))
        if slower > bandwidth:
            bandwidth, calm = slower, self._shaped.before(delay + FILTER) - self.watch.smoothed
        clear = min(abs(error) / (_CLEAR * noise), 1.0)
        self._learn_creep(error, bandwidth * calm / upper, bandwidth)
        return (clear * fastest * error + (1.0 - clear) * bandwidth * calm) / upper

    def _learn_creep(self, error: float, correction: float, bandwidth: float) -> None:
        """Integrate a tenth as fast as the loop is, which costs its phase 6 degrees."""
        small = max(_CLEAR * self._sensor.noise, _SMALL * self.wanted)
        if not self.watch.fresh or abs(error) > small:
            return
        if abs(self._shaped.rate) < _STANDS_STILL * max(self.wanted, 1.0):
            self._creep += _CREEP * bandwidth * correction * self._timing.period

    def _shape(self, time: float, reference: Reference, likely: float) -> None:
        bounds = self.bounds
        self._shaped.shape(
            reference, time - self._began, likely, self._acceleration_bound,
            falling=self._velocity_bound, rising=self._loading_bound,
            fastest_rate=min(bounds.loading_rate, bounds.force_rate),
        )  # fmt: skip

    def _finish(self, now: Measured) -> None:
        """It is done once joints are where they are commanded, or are not after a while."""
        if 0.0 < self._astray < _HELD_UP_FOR:
            return
        self.state, release = State.DONE, self.release
        if self._astray and release is not None:
            where = f'{self._off(now)} from where it should be'
            if now.joints_age > _OLD_JOINTS:
                where = f'unknown for {now.joints_age:.3g} s'
            excused = release.reason.wanted or release.reason is Reason.CANCELLED
            reason = Reason.NOT_FOLLOWED if excused else release.reason
            text = f'{release.text}; whether it has let go is doubtful: the point is {where}'
            self.release = Release(reason, text, release.time)

    # Bounds

    @property
    def _acceleration_bound(self) -> float:
        """m/s^2, where it is."""
        return min(self.bounds.acceleration, self._way.acceleration(self.commanded.travel))

    @property
    def _loading_bound(self) -> float:
        """Velocity, m/s, at which a crack now would let the point go on no farther than it may.

        It goes on at this velocity until another command can arrive, and swings to where the force
        that is fed forward is borne by the drives' position loops.
        """
        goal = self.goal
        if not goal.on_crack or math.isinf(goal.after_crack):
            return self._velocity_bound
        swing = _SWING * self.wanted / self._way.stiffness(self.commanded.travel)
        late = self.watch.delay + self._timing.period + self._timing.path_delay
        slow = max((goal.after_crack - swing) / late, _LEAST_LOADING * goal.approach)
        return min(slow, self._velocity_bound)

    @property
    def _near_hard(self) -> bool:
        return self._travel > self._way.hard - _NEAR_HARD

    def _kept_within(self, wish: float, now: Measured) -> float:
        """Of a wished velocity, what the bounds leave, m/s."""
        travel = self.commanded.travel
        if self.state in (State.APPROACH, State.CONTACT, State.FORCE):
            left = self._way.hard - travel
            wish = min(wish, self.bounds.touch + max(left, 0.0) / _BRAKING)
            if now.limited or self._ahead(now) > 1.0:
                wish = min(wish, 0.0)
        end = self.goal.release_to if self.state is State.RELEASE else 0.0
        lower = -self._approaching(travel - min(end, travel))
        upper = self._approaching(self._way.length - travel)
        if self.state is State.RELEASE and end > travel:
            upper = min(upper, self._approaching(end - travel))
        wish = min(max(wish, lower), upper)
        return min(max(wish, -self._velocity_bound), self._velocity_bound)

    def _approaching(self, left: float) -> float:
        """Velocity at which the travel that is left is enough to stop, m/s."""
        left = max(left, 0.0)
        return min(left / _BRAKING, math.sqrt(2.0 * self._slowing * left))

    def _moved(self, wish: float) -> Commanded:
        before, timing, period = self.commanded, self._timing, self._timing.period
        change = (wish - before.velocity) * period / (period + timing.smoothing)
        # Also where cycles were left out: the drives' lead multiplies each change of velocity.
        most = self._acceleration_bound * period
        # The lead multiplies a change of acceleration, within a cycle of the drives.
        step, last = most * timing.turning, before.acceleration * period
        change = min(max(change, -most, last - step), most, last + step)
        if self.state is State.DONE:  # it is as good as at rest, and stays where it is
            change = -before.velocity
        velocity = min(max(before.velocity + change, -self._velocity_bound), self._velocity_bound)
        travel = before.travel + 0.5 * (before.velocity + velocity) * self._elapsed
        inside = min(max(travel, 0.0), self._way.length)
        if inside != travel:
            velocity = 0.0
        force = self._fed()
        most = self.bounds.force_rate * period
        force = min(max(force, before.force - most), before.force + most)
        return Commanded(inside, velocity, (velocity - before.velocity) / period, max(force, 0.0))

    def _fed(self) -> float:
        """Force to feed forward, N: as late as smoothing makes the velocity."""
        if self.state is State.FORCE:
            return min(self._shaped.before(self._timing.smoothing) + self._trim, self.goal.most)
        if self.state is State.CONTACT:
            return min(max(self.watch.force, 0.0), self.goal.most)
        if self.state is State.HOLD:
            # As measured: then the drives' position loops carry nothing, and it does not move.
            before, period = self.commanded.force, self._timing.period
            felt = min(max(self.watch.force, 0.0), self.goal.most)
            return before + (felt - before) * period / (period + _HELD)
        return 0.0


_TRAVEL_NOISE = 1e-6  # m, of counts of encoders
