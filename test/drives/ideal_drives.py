# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Drives that follow commands at once, for tests of the supervisor."""

import numpy as np

from masticator_dynamics.drives.drive_cycle import DriveGoal, Feedback
from masticator_dynamics.drives.state_machine import State, control_word

PERIOD = 0.002
WORD = {
    State.SWITCH_ON_DISABLED: 0x0250,
    State.READY_TO_SWITCH_ON: 0x0231,
    State.SWITCHED_ON: 0x0233,
    State.OPERATION_ENABLED: 0x1237,
    State.QUICK_STOP_ACTIVE: 0x0217,
    State.FAULT: 0x0218,
}
# What a control word does in a state; a quick stop takes one cycle.
NEXT = {
    (State.SWITCH_ON_DISABLED, 0x06): State.READY_TO_SWITCH_ON,
    (State.READY_TO_SWITCH_ON, 0x07): State.SWITCHED_ON,
    (State.SWITCHED_ON, 0x0F): State.OPERATION_ENABLED,
    (State.OPERATION_ENABLED, 0x02): State.QUICK_STOP_ACTIVE,
    (State.QUICK_STOP_ACTIVE, 0x02): State.SWITCH_ON_DISABLED,
    (State.FAULT, 0x80): State.SWITCH_ON_DISABLED,
}
HOMED = 0x1000


class IdealDrives:
    """Runs a supervisor cycle by cycle; attributes may be changed in between.

    ``given`` replaces fields of the next feedbacks, ``once`` of the next one only.
    """

    def __init__(self, supervisor, position):
        self.supervisor, self.joints = supervisor, supervisor.joints
        self.count = len(self.joints)
        self.position = np.array(position, dtype=float)
        self.states = [State.SWITCH_ON_DISABLED] * self.count
        self.follows = np.ones(self.count, dtype=bool)
        self.time, self.setpoint = 100.0, None
        self.given, self.once = {}, {}
        self.homing = False
        self.home = self.position.copy()  # what homing makes of the position
        self.velocity = np.zeros(self.count)

    def cycle(self, count=1):
        """Run some cycles; returns the last setpoint."""
        for _ in range(count):
            self.time += PERIOD
            self.setpoint = self.supervisor(self._feedback())
            self._obey()
        return self.setpoint

    def run(self, seconds, command=None):
        """Run for a time, sending what ``command`` returns before each cycle."""
        for _ in range(round(seconds / PERIOD)):
            if command is not None:
                self.supervisor.submit(command())
            self.cycle()
        return self.setpoint

    def until(self, goal, most=2000):
        """Run cycles until a goal is set."""
        for count in range(1, most):
            if self.cycle().goal is goal:
                return count
        raise AssertionError(f'{goal} is never set: {self.supervisor.report().text}')

    def finish(self, most=3000):
        """Run until a request is met or not."""
        for _ in range(most):
            self.cycle()
            outcome = self.supervisor.met()
            if outcome is not None:
                return outcome
        raise AssertionError('a request has no end')

    def find_home(self):
        outcome = self.supervisor.home()
        assert outcome.success, outcome.message
        outcome = self.finish()
        assert outcome.success, outcome.message

    def enable(self):
        outcome = self.supervisor.enable()
        assert outcome.success, outcome.message
        outcome = self.finish()
        assert outcome.success, outcome.message

    @property
    def torque_free(self):
        return all(state is not State.OPERATION_ENABLED for state in self.states)

    def _feedback(self):
        word = np.array([WORD[state] for state in self.states])
        if self.homing:
            word |= HOMED
        fields = {
            'time': self.time,
            'status_word': word,
            'position': self.position.copy(),
            'velocity': self.velocity.copy(),
            'effort': np.zeros(self.count),
            'fresh': np.ones(self.count, dtype=bool),
            'missed': np.zeros(self.count, dtype=np.int64),
            'lost': np.zeros(self.count, dtype=np.int64),
            'heartbeat_age': np.full(self.count, 0.02),
            'emergencies': (),
            'bus_error': '',
            'lateness': 0.0,
        }
        feedback = Feedback(**fields)
        feedback = feedback._replace(**self.given, **self.once)
        self.once = {}
        return feedback

    def _obey(self):
        goal = self.setpoint.goal
        if goal is DriveGoal.HOMING:
            self.homing, self.position = True, self.home.copy()
        for k, state in enumerate(self.states):
            word = control_word(state, goal, pulse=True)
            if word == 0x00:
                self.states[k] = State.FAULT if state is State.FAULT else State.SWITCH_ON_DISABLED
            else:
                self.states[k] = NEXT.get((state, word), state)
        if goal is DriveGoal.ENABLED:
            self.position = np.where(self.follows, self.setpoint.position, self.position)
