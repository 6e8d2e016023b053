# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The law and its states, step by step and without a clock."""

import dataclasses
import itertools
import math
import os
import random

import pytest
from pressed import PERIOD, Straight, pressed, spring

from masticator_dynamics.control import pressing_path
from masticator_dynamics.control.force_control import ForceControl
from masticator_dynamics.control.force_goal import (
    ForceBounds,
    ForceGoal,
    ForceSensor,
    LoopTiming,
    Measured,
    Reason,
    State,
)
from masticator_dynamics.control.stiffness import Stiffness
from masticator_dynamics.errors import InputError

SEQUENCES = int(os.environ.get('MASTICATOR_FORCE_SEQUENCES', '300'))
INF = math.inf


def constant(force: float):  # type: ignore[no-untyped-def]
    return lambda time: force


@pytest.mark.parametrize(('stiffness', 'force'), [(2e3, 10.0), (2e4, 60.0), (2e5, 60.0)])
def test_any_stiffness_is_pressed_with_the_wanted_force_without_overshoot(stiffness, force) -> None:
    law = ForceControl(Straight(), ForceGoal(most=2 * force, duration=0.6))
    rows = pressed(law, spring(stiffness), constant(force), seconds=2.0)
    assert law.release.reason is Reason.DONE
    controlled = [row.true for row in rows if row.state is State.FORCE]
    assert max(controlled) < 1.05 * force
    assert sum(controlled[-50:]) / 50 == pytest.approx(force, abs=0.02 * force)
    order = [state for state, _ in itertools.groupby(row.state for row in rows)]
    assert order == [State.APPROACH, State.CONTACT, State.FORCE, State.RELEASE, State.DONE]
    end = rows[-1].commanded
    assert end.travel == pytest.approx(0.0, abs=3e-5) and end.velocity == end.force == 0.0


def test_a_ramp_is_followed_and_its_rate_is_fed_forward() -> None:
    law = ForceControl(Straight(), ForceGoal(most=100.0, duration=0.8))
    rows = pressed(law, spring(2e4), lambda time: 20.0 + 50.0 * time, seconds=2.0)
    force = [row for row in rows if row.state is State.FORCE]
    errors = [row.true - 20.0 - 50.0 * (k * PERIOD) for k, row in enumerate(force)]
    assert max(map(abs, errors[100:])) < 1.0


def test_slower_where_the_sensor_is_late_and_refused_where_it_is_later() -> None:
    timing = LoopTiming()
    assert timing.bandwidth(0.002) == pytest.approx(40.0)
    assert timing.bandwidth(0.012) == pytest.approx(20.0)
    late = ForceSensor(longest_delay=0.012)

    def later(now: Measured) -> Measured:
        return now._replace(stamp=now.stamp - 0.006)

    law = ForceControl(Straight(), ForceGoal(most=100.0, duration=0.3), sensor=late)
    pressed(law, spring(2e4), constant(30.0), seconds=1.0, change=later)
    assert law.watch.delay == pytest.approx(0.008) and law.release.reason is Reason.DONE
    law = ForceControl(Straight(), ForceGoal(most=100.0, duration=0.3), sensor=late)
    pressed(law, spring(2e4), constant(30.0), change=lambda now: later(later(now)))
    assert law.release.reason is Reason.LATE and '14.0 ms late' in law.release.text
    with pytest.raises(InputError, match='20 ms, more than the 12 ms'):
        ForceSensor(delay=0.020)


class Late:
    """Joints that come later than forces, once in two cycles."""

    def __init__(self, cycles: int):
        self.cycles, self.known = cycles, []

    def __call__(self, now: Measured) -> Measured:
        if len(self.known) % 2 == 0:
            self.measured = now
        self.known.append(self.measured)
        came = self.known[max(len(self.known) - 1 - self.cycles, 0)]
        return now._replace(travel=came.travel, joints_age=now.time - came.time)


@pytest.mark.parametrize('cycles', [0, 1, 3, 6])
def test_joints_that_come_late_teach_no_other_stiffness(cycles) -> None:
    learnt = []
    law = ForceControl(Straight(), ForceGoal(most=120.0, duration=0.6))
    note = law.stiffness.take

    def noted(travel: float, force: float) -> None:
        note(travel, force)
        learnt.append(law.stiffness.likely if law.stiffness.known else 3e4)

    law.stiffness.take = noted  # type: ignore[method-assign]
    rows = pressed(law, spring(3e4), constant(60.0), seconds=2.0, change=Late(cycles))
    assert law.release is not None and law.release.reason is Reason.DONE
    assert len(learnt) > 100 and min(learnt) > 2.4e4 and max(learnt) < 3.9e4
    assert max(row.true for row in rows) < 1.05 * 60.0


def test_a_force_that_falls_while_it_is_compressed_is_no_soft_food() -> None:
    """As where friction of the robot changes sides, after a rise that begins the learning anew."""
    stiffness = Stiffness(4e5, 1e3, 0.05)
    for k in range(40):
        stiffness.take(5e-6 * k, 0.1 * k)
    assert stiffness.likely == pytest.approx(2e4, rel=0.01)
    for travel, force in ((2e-4, 6.0), (2.05e-4, 7.0)):
        stiffness.take(travel, force)
    assert not stiffness.known
    for k in range(30):
        stiffness.take(2.05e-4 + 1e-6 * k, 7.0 - 0.1 * k)
        assert stiffness.upper > 1.6e4 and stiffness.likely > 1.6e4


def brittle(travel: float) -> float:
    return spring(3e4)(travel) * (0.25 if travel > 0.0026 else 1.0)


class Slow:
    """A sensor that reads so often, Hz, and says in between what it has said."""

    def __init__(self, rate: float):
        self.rate, self.at = rate, -1

    def __call__(self, now: Measured) -> Measured:
        at = math.floor(now.time * self.rate + 1e-9)
        if at != self.at:
            self.at, self.read = at, now
        return now._replace(force=self.read.force, stamp=self.read.stamp)


@pytest.mark.parametrize('rate', [50.0, 100.0, 125.0, 250.0, 500.0])
def test_a_force_that_falls_because_it_is_asked_to_is_no_crack_of_a_slow_sensor(rate) -> None:
    law = ForceControl(Straight(), ForceGoal(most=80.0, duration=1.0))
    rows = pressed(law, spring(2e4), lambda time: 60.0 if time < 0.5 else 15.0, seconds=3.0,
                   change=Slow(rate))  # fmt: skip
    assert law.release.reason is Reason.DONE, law.release
    assert [row.true for row in rows if row.state is State.FORCE][-1] == pytest.approx(15.0, abs=1)


@pytest.mark.parametrize('rate', [50.0, 100.0, 125.0, 250.0, 500.0])
def test_a_crack_is_told_with_the_time_that_its_readings_span(rate) -> None:
    law = ForceControl(Straight(), ForceGoal(most=80.0))
    rows = pressed(law, brittle, lambda time: 5.0 + 100.0 * time, seconds=3.0, change=Slow(rate))
    assert law.release.reason is Reason.CRACKED
    broken = next(row.now.time for row in rows if row.commanded.travel > 0.0026)
    assert law.release.time - broken < 0.012 + 2.0 / rate
    span = max(0.008 * rate // 1, 1) / rate
    assert law.release.text.endswith(f'within {1e3 * span:.3g} ms')


class Jumps:
    """A sensor whose readings are others from a time on: those given, the last one for ever."""

    def __init__(self, *forces: float):
        self.forces = list(forces)

    def __call__(self, now: Measured) -> Measured:
        if now.time < LATER:
            return now
        force = self.forces.pop(0) if len(self.forces) > 1 else self.forces[0]
        return now._replace(force=force + 1e-4 * math.sin(1e3 * now.time))


@pytest.mark.parametrize('rate', [50.0, 125.0, 500.0])
@pytest.mark.parametrize('pull', [-6.0, -60.0])
def test_a_sensor_that_jumps_to_a_pull_is_no_crack(pull, rate) -> None:
    law = ForceControl(Straight(), ForceGoal(most=80.0))
    jumps, slow = Jumps(pull), Slow(rate)
    rows = pressed(law, spring(2e4), constant(40.0), change=lambda now: slow(jumps(now)))
    assert law.release.reason is Reason.OPPOSITE and not law.release.reason.wanted
    assert f'to {pull:.3g} N within ' in law.release.text
    assert f'later the sensor still says {pull:.3g} N, a pull' in law.release.text
    assert law.release.time <= LATER + 1.0 / rate + PERIOD  # it lets go at once, as for a crack
    assert max(row.true for row in rows if row.now.time > LATER) < 45.0


@pytest.mark.parametrize('after', [(-20.0, 8.0, -4.5, 2.0, -1.0, 0.0), (-2.0, -1.5), (-0.5,)])
def test_a_sensor_that_rings_after_a_crack_says_a_crack(after) -> None:
    law = ForceControl(Straight(), ForceGoal(most=80.0))
    pressed(law, spring(2e4), constant(40.0), change=Jumps(*after))
    assert law.release.reason is Reason.CRACKED and law.state is State.DONE


def test_a_sensor_that_jumps_to_a_pull_is_no_yield() -> None:
    goal = ForceGoal(most=80.0, on_crack=False, on_yield=True)
    law = ForceControl(Straight(), goal)
    pressed(law, spring(1e4), lambda time: 5.0 + 300.0 * time, change=Jumps(-60.0))
    assert law.release.reason is Reason.OPPOSITE and '-60 N, a pull' in law.release.text


@pytest.mark.parametrize('offset', [2.0, 5.0, 20.0, 40.0])
def test_an_offset_of_the_sensor_is_no_contact(offset) -> None:
    def shifted(now: Measured) -> Measured:
        return now._replace(force=now.force + offset)

    law = ForceControl(Straight(), ForceGoal(most=80.0, duration=0.5, travel=0.006))
    pressed(law, constant(0.0), constant(30.0), seconds=3.0, change=shifted)
    assert law.release.reason is Reason.NOTHING_MET and law.travelled == 0.0
    assert f'the sensor said {law.watch.offset:.3g} N' in law.release.text
    assert law.watch.offset == pytest.approx(offset, abs=1.0)
    law = ForceControl(Straight(), ForceGoal(most=80.0, duration=0.5, travel=0.006))
    rows = pressed(law, spring(2e4, 0.005), constant(30.0), seconds=3.0, change=shifted)
    met = next(row for row in rows if row.state is not State.APPROACH)
    assert met.now.travel > 0.005 and law.release.reason is Reason.DONE
    assert f'the sensor said {law.watch.offset:.3g} N' in law.release.text


def test_it_may_begin_in_contact() -> None:
    law = ForceControl(Straight(), ForceGoal(most=80.0, duration=0.5))
    rows = pressed(law, spring(2e4, -0.00015), constant(20.0), seconds=2.0)
    controlled = [row.true for row in rows if row.state is State.FORCE]
    assert law.release.reason is Reason.DONE and controlled[-1] == pytest.approx(20.0, abs=0.5)


class Flowing:
    """A spring that flows at 30 N."""

    def __init__(self) -> None:
        self.rest = 0.001

    def __call__(self, travel: float) -> float:
        self.rest = max(self.rest, travel - 30.0 / 1.2e4)
        return max(1.2e4 * (travel - self.rest), 0.0)


def from_time(start, change):  # type: ignore[no-untyped-def]
    return lambda now: change(now) if now.time >= start else now


class Stuck:
    def __init__(self) -> None:
        self.force = math.nan

    def __call__(self, now: Measured) -> Measured:
        self.force = now.force if math.isnan(self.force) else self.force
        return now._replace(force=self.force)


LATER = 0.4  # s: force is then controlled
RELEASES = {
    Reason.DONE: {'goal': {'duration': 0.3}},
    Reason.CRACKED: {'force': brittle, 'reference': lambda time: 5.0 + 100.0 * time},
    Reason.YIELDED: {
        'force': Flowing(), 'goal': {'on_yield': True},
        'reference': lambda time: 5.0 + 100.0 * time,
    },
    Reason.TRAVEL: {'goal': {'travel': 0.001}},
    Reason.NO_WAY: {'force': spring(2e3)},
    Reason.NOTHING_MET: {'force': constant(0.0), 'seconds': 5.0},
    Reason.TOO_LONG: {'bounds': {'time': 0.5}},
    Reason.BEYOND: {'change': from_time(LATER, lambda m: m._replace(force=m.force + 30.0))},
    Reason.LATERAL_FORCE: {'change': from_time(LATER, lambda m: m._replace(lateral_force=61.0))},
    Reason.TORQUE: {'change': from_time(LATER, lambda m: m._replace(torque=3.1))},
    Reason.LATE: {
        'change': from_time(
            LATER, lambda m: m._replace(stamp=m.stamp - 0.02 + 0.5 * (m.time - LATER))
        )
    },
    Reason.SILENT: {'change': from_time(LATER, lambda m: m._replace(stamp=LATER - 0.1))},
    Reason.STUCK: {'change': from_time(LATER, Stuck())},
    Reason.OPPOSITE: {'change': lambda m: m._replace(force=-m.force)},
    Reason.DISAGREES: {'change': from_time(LATER, lambda m: m._replace(observed=10.0))},
    Reason.NO_REFERENCE: {'reference': lambda time: 30.0 if time < 0.2 else math.nan},
    Reason.NO_JOINTS: {'change': from_time(LATER, lambda m: m._replace(joints_age=0.1))},
}  # fmt: skip


class Stopped:
    """Joints of drives that were stopped: they stay where they were, or go back by themselves."""

    def __init__(self, *, held: bool):
        self.held, self.place = held, math.nan

    def __call__(self, now: Measured) -> Measured:
        if math.isnan(self.place):
            self.place = now.travel
        self.place *= 1.0 if self.held else 0.9
        return now._replace(travel=self.place)


@pytest.mark.parametrize('reason', RELEASES)
def test_every_release_says_why_and_lets_go(reason) -> None:
    case = {'goal': {}, 'bounds': {}, 'force': spring(2e4), 'reference': constant(40.0),
            'seconds': 2.0, 'change': lambda now: now} | RELEASES[reason]  # fmt: skip
    goal = ForceGoal(**({'most': 80.0} | case['goal']))
    law = ForceControl(Straight(), goal, ForceBounds(**case['bounds']))
    rows = pressed(law, case['force'], case['reference'], seconds=case['seconds'],
                   change=case['change'])  # fmt: skip
    assert law.release is not None and law.release.reason is reason, law.release
    assert any(letter.isdigit() for letter in law.release.text) or reason is Reason.NO_REFERENCE
    after = [row for row in rows if row.now.time > law.release.time + 0.02]
    assert all(row.commanded.force == 0.0 and row.commanded.velocity <= 0.0 for row in after)
    assert law.state is State.DONE


def test_every_reason_has_a_test() -> None:
    # Below, and of the node.
    elsewhere = {Reason.CANCELLED, Reason.NOT_FOLLOWED, Reason.SEVERAL}
    assert set(RELEASES) | elsewhere == set(Reason)


def stopped(held: bool, at: float, reference, **goal):  # type: ignore[no-untyped-def]
    """A law, its rows, and drives that stop at a time: joints and what they press, too."""
    law = ForceControl(Straight(), ForceGoal(**({'most': 80.0, 'duration': 1.0} | goal)))
    drives, force = Stopped(held=held), spring(2e4)

    def spoilt(now: Measured) -> Measured:
        if now.time < at:
            return now
        now = drives(now)
        return now._replace(force=force(now.travel) + 0.01 * math.sin(1e3 * now.time))

    return law, pressed(law, force, reference, seconds=3.0, change=spoilt)


@pytest.mark.parametrize('held', [True, False])
@pytest.mark.parametrize('at', [0.02, 0.1, 0.12, 0.15, 0.3, 0.6])
def test_drives_that_are_stopped_end_it_as_a_fault_in_every_phase(at, held) -> None:
    """An emergency stop, a fault: nobody may be told that a force was pressed that was not."""
    law, rows = stopped(held, at, lambda time: 10.0 + 20.0 * time, on_crack=False)
    assert law.release.reason is Reason.NO_WAY and law.state is State.DONE
    assert 'drives do not follow: the point is ' in law.release.text
    assert law.release.time < at + 0.3
    assert rows[-1].commanded.travel == pytest.approx(0.0, abs=3e-5)


def test_what_is_not_let_go_is_told() -> None:
    """Drives that stop with the wanted force and hold it: it was pressed, and still is."""
    law, _ = stopped(True, 0.5, constant(40.0))
    assert law.release.reason is Reason.NOT_FOLLOWED and law.state is State.DONE
    assert 'it was pressed for 1 s; whether it has let go is doubtful: the point is 3 mm' in (
        law.release.text
    )
    law, _ = stopped(True, 1.18, constant(40.0))  # while it lets go
    assert law.release.reason is Reason.NOT_FOLLOWED


def test_joints_that_are_not_measured_while_it_lets_go_are_told() -> None:
    law = ForceControl(Straight(), ForceGoal(most=80.0, duration=0.3))
    change = from_time(0.5, lambda now: now._replace(joints_age=now.time - 0.4))
    pressed(law, spring(2e4), constant(40.0), change=change)
    assert law.release.reason is Reason.NOT_FOLLOWED and 'is unknown for 0.' in law.release.text


def test_motors_at_their_limit_that_leave_force_missing_end_it() -> None:
    law = ForceControl(Straight(), ForceGoal(most=80.0, duration=1.0))
    change = from_time(LATER, lambda now: now._replace(limited=True))
    pressed(law, spring(2e4), lambda time: 20.0 + 60.0 * time, seconds=2.0, change=change)
    assert law.release.reason is Reason.NO_WAY
    assert 'N are reached, and a motor is at its limit' in law.release.text


def test_cancelled() -> None:
    law = ForceControl(Straight(), ForceGoal(most=80.0))
    pressed(law, spring(2e4), constant(40.0), seconds=0.4)
    assert law.state is State.FORCE
    law.end(Reason.CANCELLED, 'the client cancelled it', 0.4)
    law.end(Reason.DONE, 'a later reason does not replace the first', 0.5)
    assert law.release == (Reason.CANCELLED, 'the client cancelled it', 0.4)


@pytest.mark.parametrize(('owner', 'name'), [('watch', 'met'), ('', '_begin_force')])
def test_cancelled_by_another_thread_in_the_middle_of_a_cycle_it_lets_go(owner, name) -> None:
    """While the cycle goes on to contact, or to force: whoever cancels does not wait for it."""
    law = ForceControl(Straight(), ForceGoal(most=80.0))
    place = getattr(law, owner) if owner else law
    step = getattr(place, name)

    def step_and_cancel(*arguments):  # type: ignore[no-untyped-def]
        answer = step(*arguments) if owner else None
        if answer or not owner:
            law.end(Reason.CANCELLED, 'the client cancelled it', math.nan)
        return answer if owner else step(*arguments)

    setattr(place, name, step_and_cancel)
    rows = pressed(law, spring(2e4), constant(40.0), seconds=2.0)
    assert law.release.reason is Reason.CANCELLED and law.state is State.DONE
    assert rows[-1].true == 0.0 and max(row.true for row in rows) < 40.0


@pytest.mark.parametrize(
    ('reason', 'within'),
    [(Reason.SILENT, 0.032), (Reason.STUCK, 0.024), (Reason.BEYOND, 0.008)],
)
def test_faults_of_the_sensor_are_told_in_time(reason, within) -> None:
    law = ForceControl(Straight(), ForceGoal(most=80.0))
    change = RELEASES[reason]['change']
    if reason is Reason.STUCK:
        change = from_time(LATER, Stuck())
    pressed(law, spring(2e4), constant(40.0), change=change)
    assert law.release.reason is reason and law.release.time <= LATER + within


def test_the_other_sign_is_told_in_time() -> None:
    law = ForceControl(Straight(), ForceGoal(most=80.0))
    rows = pressed(law, spring(2e4), constant(40.0), change=RELEASES[Reason.OPPOSITE]['change'])
    touched = next(row.now.time for row in rows if row.true > 0.0)
    assert law.release.time <= touched + 0.030
    assert max(row.true for row in rows) < 10.0


def test_a_silent_sensor_stops_motion_before_it_is_a_fault() -> None:
    law = ForceControl(Straight(), ForceGoal(most=80.0))
    silent = RELEASES[Reason.SILENT]['change']
    rows = pressed(law, spring(2e4), lambda time: 20.0 + 80.0 * time, change=silent)
    silent_rows = [row for row in rows if LATER + 0.02 < row.now.time < law.release.time]
    assert silent_rows and max(abs(row.commanded.velocity) for row in silent_rows) < 1e-4


def test_a_sensor_that_says_whole_newtons_is_told_what_noise_to_set() -> None:
    """Its noise of 0.2 N is seldom seen; with the noise that the sentence asks for it presses."""

    def coarse(now: Measured) -> Measured:
        return now._replace(force=float(round(now.force)))

    def law_with(noise: float) -> ForceControl:
        goal = ForceGoal(most=80.0, duration=0.5)
        law = ForceControl(Straight(), goal, sensor=ForceSensor(noise=noise))
        pressed(law, spring(2e4), constant(40.0), seconds=2.0, noise=0.0, change=coarse)
        return law

    release = law_with(0.2).release
    assert release.reason is Reason.STUCK
    assert 'noise of 0.2 N' in release.text and release.text.endswith('to be set to 0')
    assert law_with(0.0).release.reason is Reason.DONE


def test_a_constant_sensor_without_noise_is_not_stuck() -> None:
    sensor = ForceSensor(noise=0.0)
    law = ForceControl(Straight(), ForceGoal(most=80.0, duration=0.5), sensor=sensor)
    pressed(law, spring(2e4), constant(40.0), seconds=2.0, noise=0.0)
    assert law.release.reason is Reason.DONE


def test_drives_at_their_limit_press_no_further() -> None:
    law = ForceControl(Straight(), ForceGoal(most=80.0))
    change = from_time(LATER, lambda now: now._replace(limited=True))
    rows = pressed(law, spring(2e4), lambda time: 20.0 + 60.0 * time, change=change)
    limited = [row.commanded.travel for row in rows if row.now.time > LATER + 0.03]
    assert max(limited) - limited[0] < 1e-6


class Relaxing:
    """A standard linear solid: of 20 N/mm half relaxes in 0.2 s."""

    def __init__(self) -> None:
        self.inner = 0.0

    def __call__(self, travel: float) -> float:
        depth = max(travel - 0.001, 0.0)
        self.inner += (depth - self.inner) * (1.0 - math.exp(-PERIOD / 0.2))
        return 2e4 * (depth - 0.5 * self.inner)


def test_after_its_time_it_stays_where_it_is_while_what_is_pressed_relaxes() -> None:
    law = ForceControl(Straight(), ForceGoal(most=80.0, duration=0.3, relaxation=0.5))
    rows = pressed(law, Relaxing(), constant(40.0), seconds=2.0)
    assert law.release.reason is Reason.DONE
    order = [state for state, _ in itertools.groupby(row.state for row in rows)]
    assert order[2:] == [State.FORCE, State.HOLD, State.RELEASE, State.DONE]
    held = [row for row in rows if row.state is State.HOLD]
    assert len(held) * PERIOD == pytest.approx(0.5, abs=0.004)
    still = held[25:]  # it stops within its acceleration and smoothing
    assert max(abs(row.commanded.travel - still[0].commanded.travel) for row in still) < 1e-6
    # Both ends of the law of relaxation, from the food alone: half of what had not relaxed is lost.
    inner = 2.0 * (still[0].commanded.travel - 0.001 - still[0].true / 2e4)
    depth = still[0].commanded.travel - 0.001
    end = 2e4 * (depth - 0.5 * (depth + (inner - depth) * math.exp(-len(still) * PERIOD / 0.2)))
    assert still[-1].true == pytest.approx(end, abs=0.2) and still[0].true - end > 3.0
    assert still[-1].commanded.force == pytest.approx(still[-1].true, abs=0.5)


def test_what_creeps_is_held_without_an_error() -> None:
    """Without a learnt velocity the error is the creep's rate over the bandwidth: 0.5 N here."""
    rest = [0.001]

    def flowing(travel: float) -> float:
        rest[0] += 1e-3 * PERIOD  # 20 N/s on 20 N/mm
        return max(2e4 * (travel - rest[0]), 0.0)

    law = ForceControl(Straight(), ForceGoal(most=80.0, duration=2.0))
    rows = pressed(law, flowing, constant(40.0), seconds=3.0)
    force = [row.true for row in rows if row.state is State.FORCE]
    assert sum(force[500:900]) / 400 == pytest.approx(40.0, abs=0.08)
    assert max(force) < 42.0


@pytest.mark.parametrize('seed', range(40))
def test_noise_does_not_end_the_learning_of_a_soft_food(seed) -> None:
    """One reading over 30 % of a small force did in a third of seeds: half a second was lost."""
    law = ForceControl(Straight(length=0.02), ForceGoal(most=20.0, duration=0.5))
    rows = pressed(law, spring(2e3), constant(8.0), seconds=2.0, seed=seed)
    force = [row.true for row in rows if row.state is State.FORCE]
    assert force[75] == pytest.approx(8.0, abs=0.6)


def test_a_soft_food_is_settled_in_spite_of_the_noise() -> None:
    law = ForceControl(Straight(length=0.02), ForceGoal(most=20.0, duration=0.8))
    rows = pressed(law, spring(2e3), constant(10.0), seconds=2.0)
    force = [row.true for row in rows if row.state is State.FORCE]
    outside = [k for k, value in enumerate(force) if abs(value - 10.0) > 0.2]
    assert outside[-1] * PERIOD < 0.16
    velocities = [row.commanded.velocity for row in rows if row.state is State.FORCE]
    assert max(map(abs, velocities[200:])) < 0.004  # noise does not shake it


def test_a_contact_that_leads_to_no_force_is_let_go() -> None:
    """A sensor that reads half: drives press by their leash, and nothing grows any more."""
    way = Straight(length=0.0015, hard=0.001)
    bounds = ForceBounds(leash=20.0, approach_time=1.0)
    law = ForceControl(way, ForceGoal(most=60.0), bounds)

    def half(now: Measured) -> Measured:
        return now._replace(force=0.5 * now.force, travel=min(now.travel, 0.00105))

    rows = pressed(law, spring(2e5, 0.0008), constant(40.0), seconds=4.0, change=half)
    assert law.release.reason is Reason.NO_WAY and rows[-1].state is State.DONE
    assert ' N are felt, and drives do not follow' in law.release.text
    assert law.release.time < 0.5


def test_a_wrong_sensor_adds_no_more_than_the_leash_on_something_hard() -> None:
    """A force that is never felt: what is fed forward, and the drives against what they meet."""
    way = Straight(length=0.0015, hard=0.0011)
    law = ForceControl(way, ForceGoal(most=60.0, duration=2.0), ForceBounds(leash=20.0))

    def spoilt(now: Measured) -> Measured:
        """All of it at first, and no more than 30 N; the joints stay where that is."""
        felt = min(now.force, 30.0 + 0.2 * math.sin(1e3 * now.time))
        return now._replace(force=felt, travel=min(now.travel, 0.00095))

    rows = pressed(law, spring(2e5, 0.0008), constant(40.0), seconds=3.0, change=spoilt)
    added = [
        row.commanded.force
        - 40.0
        + max(row.commanded.travel - row.now.travel, 0.0) * way.stiffness(0.0)
        for row in rows
        if row.state is State.FORCE
    ]
    assert len(added) > 500 and 15.0 < max(added) < 22.0
    assert law.release.reason is Reason.NO_WAY and '30' in law.release.text


def test_a_cycle_that_is_left_out_is_no_jolt() -> None:
    """At the velocity of the approach: the travel goes on in time, not in cycles."""
    law = ForceControl(Straight(), ForceGoal(most=80.0))
    times = [PERIOD * k for k in range(60) if k not in (40, 50, 51)]
    travels = []
    for time in times:
        now = Measured(time, 0.01 * time, 0.0, 0.01 * math.sin(1e3 * time), time - PERIOD)
        travels.append(law.step(now, constant(40.0)).travel)
    rates = [(b - a) / (t - s) for (a, b), (s, t) in zip(
        itertools.pairwise(travels), itertools.pairwise(times), strict=True)]  # fmt: skip
    assert rates[30:] == pytest.approx([0.01] * len(rates[30:]), rel=1e-3)


def test_slower_drives_have_a_longer_dead_time() -> None:
    timing = LoopTiming.of_drives(0.002, 0.004)
    assert timing.period == 0.002 and timing.path_delay == timing.lead == 0.008
    assert timing.bandwidth(0.002) == pytest.approx(0.4 / 0.014)
    assert LoopTiming.of_drives(0.002, 0.002) == LoopTiming()
    with pytest.raises(InputError, match='drives at 125 Hz are too slow'):
        LoopTiming.of_drives(0.002, 0.008)


def test_faults_are_told_while_it_holds() -> None:
    law = ForceControl(Straight(), ForceGoal(most=80.0, duration=0.2, relaxation=5.0))
    silent = from_time(1.0, lambda m: m._replace(stamp=0.9))
    rows = pressed(law, Relaxing(), constant(40.0), seconds=2.0, change=silent)
    assert next(row.state for row in rows if row.now.time > 0.98) is State.HOLD
    assert law.release.reason is Reason.SILENT and law.release.time < 1.035


def test_the_force_in_the_command_is_the_wanted_one_and_begins_without_a_bump() -> None:
    law = ForceControl(Straight(), ForceGoal(most=80.0))
    rows = pressed(law, spring(2e4), constant(40.0), seconds=0.6)
    begin = next(k for k, row in enumerate(rows) if row.state is State.FORCE)
    assert rows[begin].commanded.force == pytest.approx(rows[begin].true, abs=2.0)
    assert rows[-1].commanded.force == pytest.approx(40.0, abs=1e-3)


def random_law(rng: random.Random, timing: LoopTiming | None = None) -> ForceControl:
    bounds = ForceBounds(
        velocity=10 ** rng.uniform(-2.5, 0), acceleration=10 ** rng.uniform(-1, 1.2),
        force_rate=10 ** rng.uniform(2, 5), loading_rate=10 ** rng.uniform(1, 5),
        touch=10 ** rng.uniform(-4, -2),
    )  # fmt: skip
    way = Straight(10 ** rng.uniform(-3, -1.5), rng.choice([INF, 0.002, 0.008]))
    goal = ForceGoal(
        most=10 ** rng.uniform(0, 2.5), duration=rng.choice([INF, 0.1]),
        approach=10 ** rng.uniform(-3, 0), release_velocity=10 ** rng.uniform(-2, 0),
        release_to=rng.choice([0.0, 0.5 * way.length]), on_crack=rng.random() < 0.5,
        on_yield=rng.random() < 0.5,
    )  # fmt: skip
    sensor = ForceSensor(noise=rng.choice([0.0, 0.2, 3.0]), delay=rng.choice([0.0, 0.004]))
    return ForceControl(way, goal, bounds, sensor, timing)


def random_measurement(rng: random.Random, time: float, travel: float, before: float) -> Measured:
    """Of a world that is hostile, and sometimes plausible so that force control lasts."""
    force = rng.choice(
        [before, before + rng.gauss(0, 1), rng.gauss(20, 20), 10 ** rng.uniform(0, 8)]
    )
    if rng.random() < 0.03:
        force = rng.choice([math.nan, INF, -INF, -1e9, 0.0])
    travel = travel + rng.choice([0.0, rng.gauss(0, 1e-5), rng.gauss(0, 1e-2)])
    if rng.random() < 0.002:
        travel = rng.choice([math.nan, INF])
    stamp = time - rng.choice([0.0, 0.002, 0.002, 0.004, 1.0, -0.01])
    return Measured(
        time, travel, rng.choice([0.0, 0.002]), force, stamp, limited=rng.random() < 0.1
    )


@pytest.mark.parametrize('seed', range(SEQUENCES // 100))
def test_no_sequence_of_measurements_and_references_exceeds_a_bound(seed) -> None:
    """A hundred sequences each; MASTICATOR_FORCE_SEQUENCES=10000 for many."""
    for k in range(100):
        rng = random.Random(1000 * seed + k)
        law = random_law(rng)
        way, bounds = law._way, law.bounds
        before, force = law.commanded, 10.0
        for cycle in range(150):
            now = random_measurement(rng, cycle * PERIOD, before.travel, force)
            force = now.force if math.isfinite(now.force) and abs(now.force) < 1e3 else force
            wanted = rng.choice([10.0, rng.uniform(-50, 500), 1e300, INF, -INF])
            wanted = math.nan if rng.random() < 0.002 else wanted
            sent = law.step(now, constant(wanted))
            label = f'{seed}/{k}/{cycle} {law.state}'
            assert all(map(math.isfinite, sent)), label
            assert 0.0 <= sent.travel <= way.length, label
            most = min(bounds.velocity, way.velocity)
            assert abs(sent.velocity) <= most * (1 + 1e-12), label
            assert abs(sent.travel - before.travel) <= most * PERIOD * (1 + 1e-12), label
            assert abs(sent.force - before.force) <= bounds.force_rate * PERIOD * (1 + 1e-9), label
            assert 0.0 <= sent.force <= law.goal.most, label
            change = min(bounds.acceleration, 4.0)
            assert abs(sent.acceleration) <= change * (1 + 1e-9), label
            before = sent


def led(rows: list[tuple[float, float]], every: int) -> float:
    """Largest change of step, m/s^2, of drives that are led by two of their cycles."""
    taken = rows[::every]
    between = every * PERIOD
    setpoints = [
        travel + 2.0 * between * velocity + 2.0 * between * (velocity - before)
        for (_, before), (travel, velocity) in itertools.pairwise(taken)
    ]
    steps = [b - a for a, b in itertools.pairwise(setpoints)]
    return max(abs(b - a) for a, b in itertools.pairwise(steps)) / between**2


@pytest.mark.parametrize('every', [1, 2])
def test_no_sequence_makes_drives_see_a_jolt(every) -> None:
    """They lead positions by velocity and acceleration, which a prepared way allows for."""
    largest = 0.0
    for seed in range(max(SEQUENCES // 10, 100)):
        rng, rows, force = random.Random(seed), [], 10.0
        law = random_law(rng, LoopTiming.of_drives(PERIOD, every * PERIOD))
        for cycle in range(150):
            now = random_measurement(rng, cycle * PERIOD, law.commanded.travel, force)
            force = now.force if math.isfinite(now.force) and abs(now.force) < 1e3 else force
            sent = law.step(now, constant(rng.choice([10.0, rng.uniform(-50, 500)])))
            if not 0.0 < sent.travel < law._way.length:
                break  # there it was slow already
            rows.append((sent.travel, sent.velocity))
        if len(rows) > 10:
            most = min(law.bounds.acceleration, law._way.acceleration(0.0))
            largest = max(largest, led(rows, every) / most)
    assert 3.0 < largest < pressing_path._LED


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (lambda: ForceGoal(most=math.nan), 'most of force control is nan'),
        (lambda: ForceGoal(most=-5.0), 'most of force control is -5'),
        (lambda: ForceGoal(most=5.0, approach=0.0), 'approach of force control is 0'),
        (lambda: ForceGoal(most=5.0, release_to=-1e-3), 'release_to'),
        (lambda: ForceGoal(most=5.0, relaxation=1.0), 'a duration is needed'),
        (lambda: ForceGoal(most=INF), 'most of force control is inf'),
        (lambda: ForceBounds(velocity=INF), 'velocity of force control is inf'),
        (lambda: ForceBounds(leash=-1.0), 'leash'),
        (lambda: ForceSensor(noise=-0.1), 'noise'),
        (lambda: LoopTiming(period=0.0), 'period'),
    ],
)
def test_numbers_that_cannot_be_meant_are_refused(make, message) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_bounds_are_numbers_of_their_own() -> None:
    assert all(value > 0 for value in dataclasses.asdict(ForceBounds()).values())
