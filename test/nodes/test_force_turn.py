# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The control cycle presses with a force instead of following a motion, and goes back to it."""

import collections
import math
import time as clock

import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.control.force_control import ForceControl
from masticator_dynamics.control.force_goal import ForceGoal, ForceSensor, Reason, State
from masticator_dynamics.control.pressing_path import PressingPath, Servos
from masticator_dynamics.motion import MotionPath
from masticator_dynamics.ros.dynamics.cycle import ExecutedMotion, FeedforwardCycle, Piece
from masticator_dynamics.ros.dynamics.effort_limits import EffortClamp
from masticator_dynamics.ros.dynamics.force_turn import ForceTurn, JointReadings, PressingJob
from masticator_dynamics.ros.dynamics.measured_wrenches import BiteForce, MeasuredWrenches

PERIOD = 2_000_000  # ns
OPEN = np.array([0.0, 0.0, 0.0, 0.08])
ONES = np.ones(6)


class Rig:
    """The cycle, and a spring on the tooth; joints are where they were commanded two cycles ago."""

    def __init__(self, reference=lambda time: 40.0, **goal):  # type: ignore[no-untyped-def]
        self.mechanism = mechanism = Mechanism.load('masticator')
        self.motion = ExecutedMotion(OPEN)
        self.bite, self.turn = BiteForce(mechanism), ForceTurn(JointReadings())
        self.bite.timeout = 0.1
        self.clamp = EffortClamp(mechanism)
        self.cycle = FeedforwardCycle(mechanism, self.motion, self.bite, self.clamp, turn=self.turn)
        self.path = PressingPath(
            mechanism, 'molar_left', [0.0, 0.0, 1.0], OPEN, 0.005,
            Servos(16.0 * ONES, 30.0 * ONES, 2000.0 * ONES), mechanism.home.y,
        )  # fmt: skip
        law = ForceControl(self.path, ForceGoal(**({'most': 80.0} | goal)), sensor=ForceSensor(0.0))
        self.job = PressingJob(self.path, law, reference)
        rest = mechanism.solve(OPEN).q[mechanism.actuated_rows]
        self._way = collections.deque([rest] * 3, maxlen=3)
        self._before = (0.0, 0)
        self.time, self.answers = 10 * PERIOD, []

    def run(self, cycles: int, measured: bool = True) -> None:
        for _ in range(cycles):
            self.time += PERIOD
            joints, (force, stamp) = self._way[0], self._before
            if measured:
                self.turn.joints.take(self.time - 2 * PERIOD, joints)
                axes = self.mechanism.frame_pose(
                    self.mechanism.solve(OPEN), 'molar_left').rotation  # fmt: skip
                wrench = np.concatenate([axes.T @ [0.0, 0.0, -force], np.zeros(3)])
                self.bite.take('molar_left', stamp, self.time, wrench)
            self.cycle.prepare(self.time)
            answer = self.cycle(self.time)
            self.answers.append(answer)
            self._way.append(answer.position.copy())
            travel = self.path.measured(joints, self.job.law.commanded.travel)
            self._before = max(2e4 * (travel - 0.001), 0.0), self.time


def test_it_presses_holds_the_end_and_follows_the_motion_again() -> None:
    rig = Rig(duration=0.4, release_to=0.0005)
    rig.run(3)
    assert rig.turn.begin(rig.job) and rig.turn.busy == (
        'molar_left presses; that goal must end first'
    )
    rig.run(250)
    assert rig.job.law.state is State.FORCE
    assert rig.job.curve[-1][1] == pytest.approx(40.0, abs=1.5)
    rig.run(500)
    assert rig.job.law.release.reason is Reason.DONE and rig.turn.job is None
    positions = np.array([answer.position for answer in rig.answers])
    steps = np.abs(np.diff(positions, axis=0))
    assert steps.max() < 0.06 and np.abs(np.diff(steps, axis=0)).max() < 2000.0 * 0.002**2 * 2
    y, y_dot, _ = rig.motion.state(rig.time)
    end = rig.path.state(rig.job.law.commanded.travel, 0.0, 0.0)[0]
    assert np.abs(end - OPEN).max() > 5e-4
    assert y == pytest.approx(end, abs=1e-9) and not y_dot.any()


def test_the_wanted_force_takes_the_place_of_the_measured_one() -> None:
    rig = Rig()
    rig.turn.begin(rig.job)
    rig.run(400)
    sent = rig.job.law.commanded
    assert sent.force == pytest.approx(40.0, abs=0.01)
    loaded = rig.mechanism.feedforward(
        *rig.path.state(*sent[:3]), rig.path.wrench(sent.travel, sent.force)
    )
    assert rig.answers[-1].actuated == pytest.approx(loaded.actuated, abs=1e-9)
    free = rig.mechanism.feedforward(*rig.path.state(*sent[:3]))
    share = rig.cycle.external_effort(rig.answers[-1])
    assert share == pytest.approx(loaded.actuated - free.actuated, abs=1e-9)


def test_without_measurements_it_lets_go() -> None:
    rig = Rig()
    rig.turn.begin(rig.job)
    rig.run(300)
    rig.run(400, measured=False)
    assert rig.job.law.release.reason in (Reason.SILENT, Reason.NO_JOINTS)
    assert rig.turn.job is None


def test_stopped_while_it_presses_it_stays_where_it_is() -> None:
    rig = Rig()
    rig.turn.begin(rig.job)
    rig.run(400)
    pressed = rig.path.state(*rig.job.law.commanded[:3])[0]
    assert np.abs(pressed - OPEN).max() > 1e-3
    rig.cycle.stop_pressing(rig.time)
    assert rig.turn.job is None
    assert rig.motion.state(rig.time)[0] == pytest.approx(pressed)


def test_only_one_presses() -> None:
    rig = Rig()
    assert rig.turn.begin(rig.job)
    assert not rig.turn.begin(Rig().job)
    rig.turn.let_go(Reason.CANCELLED, 'the clock jumped by 2 s')
    rig.run(300)
    assert rig.job.law.release.text == 'the clock jumped by 2 s' and rig.turn.job is None


def test_a_goal_or_a_trajectory_begins_but_not_both() -> None:
    """A trajectory whose checks end while a goal begins, at every place in between."""
    for place in ('before', 'between', 'after'):
        motion, turn = ExecutedMotion(OPEN), ForceTurn(JointReadings())
        started, accepted = motion.schedule, []

        def trajectory(motion=motion, turn=turn, accepted=accepted) -> None:
            """As node `dynamics` accepts one: it asks, then replaces what it found."""
            schedule = motion.schedule
            if not turn.busy and motion.replace(
                Piece(20, MotionPath.constant(OPEN + 0.01)), schedule, 10
            ):
                accepted.append(True)

        def rests(motion=motion, started=started, place=place, trajectory=trajectory) -> bool:
            rest = motion.replace(Piece(10, MotionPath.constant(OPEN)), started, 10)
            if place == 'between':
                trajectory()
            return rest

        if place == 'before':
            trajectory()
        begun = turn.begin(Rig().job, rests)
        if place == 'after':
            trajectory()
        assert begun != bool(accepted), place
        assert bool(turn.busy) == begun


def test_a_goal_that_could_not_begin_leaves_the_turn_free() -> None:
    turn = ForceTurn(JointReadings())
    assert not turn.begin(Rig().job, lambda: False) and not turn.busy
    with pytest.raises(ZeroDivisionError):
        turn.begin(Rig().job, lambda: 1 / 0)
    assert not turn.busy and turn.job is None


def test_a_limit_of_efforts_that_is_lowered_while_it_presses_lets_go() -> None:
    """The force is right: the drives' position loops give what may not be sent any more."""
    rig = Rig()
    rig.turn.begin(rig.job)
    rig.run(300)
    assert rig.job.law.state is State.FORCE
    largest = (np.abs(rig.answers[-1].actuated) / rig.mechanism.effort_limits).max()
    rig.clamp.scale = 1.03 * largest
    rig.run(100)
    assert rig.job.law.release is None
    rig.clamp.scale = 0.5 * largest
    rig.run(70)
    assert rig.job.law.release.reason is Reason.NO_WAY
    assert 'a motor is at its limit' in rig.job.law.release.text


def test_what_cannot_be_computed_lets_go_and_says_why() -> None:
    rig = Rig()
    rig.turn.begin(rig.job)
    rig.run(300)
    rig.job.path.wrench = lambda travel, force: np.full(6, math.nan)
    rig.run(3)
    assert rig.job.law.release.reason is Reason.NO_WAY and rig.job.law.release.text
    assert rig.turn.job is None
    y, y_dot, _ = rig.motion.state(rig.time)
    assert np.isfinite(y).all() and not y_dot.any()


def test_an_observer_is_a_source_or_a_check() -> None:
    rig = Rig()
    estimate = BiteForce(rig.mechanism)
    estimate.timeout = 0.1
    rig.job._observed = estimate  # says nothing: no check
    rig.turn.begin(rig.job)
    rig.run(400)
    assert rig.job.law.release is None
    axes = rig.mechanism.frame_pose(rig.mechanism.solve(OPEN), 'molar_left').rotation
    wrench = np.concatenate([axes.T @ [0.0, 0.0, -5.0], np.zeros(3)])
    estimate.timeout = 10.0
    estimate.take('molar_left', rig.time, rig.time, wrench)
    rig.run(30)
    assert rig.job.law.release.reason is Reason.DISAGREES
    assert 'the motors 5 N' in rig.job.law.release.text
    rig = Rig()
    rig.job._observed = rig.job._source = rig.bite
    rig.turn.begin(rig.job)
    rig.run(400)
    assert rig.job.law.release is None and rig.job.law.state is State.FORCE


@pytest.mark.parametrize('topic', ['the force', 'joint_states', 'force_reference'])
def test_what_two_publish_is_let_go_of(topic) -> None:
    rig = Rig()
    rig.job._streamed = MeasuredWrenches(rig.mechanism)
    topics = {
        'the force': rig.bite, 'joint_states': rig.turn.joints,
        'force_reference': rig.job._streamed,
    }  # fmt: skip
    for each in topics.values():
        each.publishers = 1
    rig.turn.begin(rig.job)
    rig.run(300)
    assert rig.job.law.release is None
    topics[topic].publishers = 2
    rig.run(1)
    release = rig.job.law.release
    assert release.reason is Reason.SEVERAL and not release.reason.wanted
    assert release.text == f'{topic} has 2 publishers; a goal needs it from one'


def cost() -> float:
    """Milliseconds that the law and what surrounds it add to a cycle: the median."""
    rig = Rig()
    rig.turn.begin(rig.job)
    rig.run(300)
    durations, step = [], rig.job.step

    def timed(*arguments):  # type: ignore[no-untyped-def]
        begin = clock.perf_counter()
        found = step(*arguments)
        durations.append(clock.perf_counter() - begin)
        return found

    rig.job.step = timed  # type: ignore[method-assign]
    rig.run(500)
    return 1e3 * float(np.median(durations))


if __name__ == '__main__':
    print(f'{cost():.3f} ms a cycle')
