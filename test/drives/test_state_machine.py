# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The state machine of CiA 402, against the patterns and the figure of the standard."""

import itertools

import pytest

from masticator_dynamics.drives.drive_cycle import DriveGoal
from masticator_dynamics.drives.simulator.device import LEADS_TO
from masticator_dynamics.drives.state_machine import State, control_word, state_of

# Table of status words, bit 15 first, x: any.
PATTERNS = {
    State.NOT_READY_TO_SWITCH_ON: 'xxxx xxxx x0xx 0000',
    State.SWITCH_ON_DISABLED: 'xxxx xxxx x1xx 0000',
    State.READY_TO_SWITCH_ON: 'xxxx xxxx x01x 0001',
    State.SWITCHED_ON: 'xxxx xxxx x01x 0011',
    State.OPERATION_ENABLED: 'xxxx xxxx x01x 0111',
    State.QUICK_STOP_ACTIVE: 'xxxx xxxx x00x 0111',
    State.FAULT_REACTION_ACTIVE: 'xxxx xxxx x0xx 1111',
    State.FAULT: 'xxxx xxxx x0xx 1000',
}
# Table of commands: bits 7, 3, 2, 1, 0 of the control word; a rising edge is R.
COMMANDS = {
    'shutdown': '0x110',
    'switch on': '00111',
    'enable operation': '01111',
    'disable voltage': '0xx0x',
    'quick stop': '0x01x',
    'fault reset': 'Rxxxx',
}
# The figure: which command leads from which state to which.
FIGURE = {
    State.SWITCH_ON_DISABLED: {'shutdown': State.READY_TO_SWITCH_ON},
    State.READY_TO_SWITCH_ON: {
        'switch on': State.SWITCHED_ON,
        'quick stop': State.SWITCH_ON_DISABLED,
        'disable voltage': State.SWITCH_ON_DISABLED,
    },
    State.SWITCHED_ON: {
        'enable operation': State.OPERATION_ENABLED,
        'shutdown': State.READY_TO_SWITCH_ON,
        'quick stop': State.SWITCH_ON_DISABLED,
        'disable voltage': State.SWITCH_ON_DISABLED,
    },
    State.OPERATION_ENABLED: {
        'switch on': State.SWITCHED_ON,
        'shutdown': State.READY_TO_SWITCH_ON,
        'quick stop': State.QUICK_STOP_ACTIVE,
        'disable voltage': State.SWITCH_ON_DISABLED,
    },
    State.QUICK_STOP_ACTIVE: {'disable voltage': State.SWITCH_ON_DISABLED},
    State.FAULT: {'fault reset': State.SWITCH_ON_DISABLED},
}
DRIVE_ENDS_BY_ITSELF = {
    State.NOT_READY_TO_SWITCH_ON: State.SWITCH_ON_DISABLED,
    State.QUICK_STOP_ACTIVE: State.SWITCH_ON_DISABLED,  # option code 2
    State.FAULT_REACTION_ACTIVE: State.FAULT,
}
STATES = tuple(PATTERNS)


def fits(word, pattern):
    bits = pattern.replace(' ', '')
    return all(p in ('x', b) for p, b in zip(bits, f'{word:0{len(bits)}b}', strict=True))


def status_word(state, others):
    """A status word of a state; bits that do not belong to the state are taken from ``others``."""
    bits = PATTERNS[state].replace(' ', '')
    free = f'{others:016b}'
    return int(''.join(f if p == 'x' else p for p, f in zip(bits, free, strict=True)), 2)


class Slave:
    """A drive that follows the standard's figure."""

    def __init__(self, state):
        self.state = state
        self.path = [state]
        self._word = 0
        self._busy = 3  # cycles that what it does by itself takes

    def obey(self, word):
        state = FIGURE.get(self.state, {}).get(self._command(word), self.state)
        if state is self.state and state in DRIVE_ENDS_BY_ITSELF:
            self._busy -= 1
            if not self._busy:
                state = DRIVE_ENDS_BY_ITSELF[state]
        if state is not self.state:
            self.path.append(state)
        self.state, self._word = state, word

    def _command(self, word):
        bits = f'{word >> 7 & 1}{word & 0xF:04b}'
        if bits[0] == '1' and not self._word & 0x80:
            return 'fault reset'
        for name, pattern in COMMANDS.items():
            if fits(int(bits, 2), pattern.replace('R', '1')) and name != 'fault reset':
                return name
        return ''


def lead(state, goal, cycles=60):
    slave = Slave(state)
    words = []
    for cycle in range(cycles):
        seen = state_of(status_word(slave.state, others=0b1010_0110_1011_0000 >> cycle % 3))
        words.append(control_word(seen, goal, pulse=cycle // 10 % 2 == 1))
        slave.obey(words[-1])
    return slave, words


def test_every_status_word_is_of_the_state_whose_pattern_it_fits():
    for word in range(0x10000):
        named = [state for state, pattern in PATTERNS.items() if fits(word, pattern)]
        assert len(named) <= 1
        assert state_of(word) is (named[0] if named else State.UNKNOWN), f'0x{word:04X}'


def test_the_simulated_drive_takes_the_commands_of_the_figure():
    drawn = {state: dict(commands) for state, commands in FIGURE.items() if state in LEADS_TO}
    drawn[State.READY_TO_SWITCH_ON]['enable operation'] = State.SWITCHED_ON  # 3, then 4
    drawn[State.QUICK_STOP_ACTIVE]['enable operation'] = State.OPERATION_ENABLED  # 16
    assert drawn == LEADS_TO
    assert FIGURE.keys() - LEADS_TO.keys() == {State.FAULT}  # fault reset: another bit


FAULTS = (State.FAULT, State.FAULT_REACTION_ACTIVE)


@pytest.mark.parametrize('state', STATES)
def test_enabled(state):
    slave, _ = lead(state, DriveGoal.ENABLED)
    # A fault is never acknowledged on the way.
    assert slave.state is (State.FAULT if state in FAULTS else State.OPERATION_ENABLED)


@pytest.mark.parametrize(
    ('state', 'goal'),
    list(itertools.product(STATES, (DriveGoal.TORQUE_FREE, DriveGoal.STOPPED, DriveGoal.HOMING))),
)
def test_torque_free(state, goal):
    slave, _ = lead(state, goal)
    assert slave.state is (State.FAULT if state in FAULTS else State.SWITCH_ON_DISABLED)
    assert State.OPERATION_ENABLED not in slave.path[1:]


def test_stop_is_quick_and_ends_by_itself():
    slave, words = lead(State.OPERATION_ENABLED, DriveGoal.STOPPED)
    assert slave.path == [
        State.OPERATION_ENABLED, State.QUICK_STOP_ACTIVE, State.SWITCH_ON_DISABLED
    ]  # fmt: skip
    assert all(word & 0x0002 for word in words)  # voltage is not taken away before


def test_enabling_during_a_quick_stop_lets_it_end():
    slave, words = lead(State.QUICK_STOP_ACTIVE, DriveGoal.ENABLED)
    assert slave.path[1] is State.SWITCH_ON_DISABLED
    assert words[0] & 0x0002
    assert slave.state is State.OPERATION_ENABLED


@pytest.mark.parametrize('state', STATES)
def test_reset(state):
    slave, words = lead(state, DriveGoal.RESET)
    assert slave.state is State.SWITCH_ON_DISABLED
    assert State.OPERATION_ENABLED not in slave.path[1:]
    if state not in FAULTS:
        assert not any(word & 0x0080 for word in words)


def test_homing_starts_only_where_the_motor_is_torque_free():
    assert control_word(State.SWITCH_ON_DISABLED, DriveGoal.HOMING) & 0x10
    for state in STATES:
        word = control_word(state, DriveGoal.HOMING)
        assert not word & 0x0002  # voltage stays disabled
        if state is not State.SWITCH_ON_DISABLED:
            assert word == 0


@pytest.mark.parametrize('goal', DriveGoal)
def test_unknown_states_get_no_voltage(goal):
    assert control_word(State.UNKNOWN, goal) in (0x0000, 0x0002)
    assert control_word(State.UNKNOWN, goal, pulse=True) in (0x0000, 0x0002)
