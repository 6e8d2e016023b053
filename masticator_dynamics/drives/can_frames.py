# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Conversion between the PDOs of all drives and what a cycle exchanges."""

from __future__ import annotations

import collections
import math
import struct

import can
import numpy as np

from masticator_dynamics.drives import objects
from masticator_dynamics.drives.bring_up import FROM_DRIVE, largest_per_mille, pdo_layout
from masticator_dynamics.drives.can_bus import data_frame, is_data_frame
from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.drive_cycle import Action, DriveGoal, Emergency, Feedback, Setpoint
from masticator_dynamics.drives.scaling import LARGEST_COUNT, Scaling
from masticator_dynamics.drives.state_machine import (
    control_word,
    control_words,
    is_powered,
    state_of,
)
from masticator_dynamics.engine.arrays import FloatArray, between
from masticator_dynamics.errors import InputError

_FROM_DRIVE = pdo_layout(FROM_DRIVE)  # status word, position, torque
# Expedited SDO transfers (CiA 301) of the control and status words, written without waiting.
_WRITE_CONTROL_WORD = struct.Struct('<4sH2x')
_CONTROL_WORD_HEAD = bytes((0x2B, 0x40, 0x60, 0))
_ASK_STATUS = bytes((0x40, 0x41, 0x60, 0, 0, 0, 0, 0))
_STATUS_HEAD, _STATUS_ANSWER = bytes((0x4B, 0x41, 0x60, 0)), struct.Struct('<4xH2x')
_NMT_COMMANDS = {
    Action.NMT_STOP: objects.Nmt.STOP,
    Action.NMT_PRE_OPERATIONAL: objects.Nmt.PRE_OPERATIONAL,
}
_TURNING = 0.2  # rad/s, more than one encoder count per cycle
_PULSE = 0.02  # s; half a period of the fault reset bit
_LATEST_ANSWER = 5.0  # s after SYNC; one that comes even later is taken for another node's


class DriveFrames:
    """Frames of all drives and what they tell, in the order of the drives file.

    Velocity is the difference between successive positions over the time between their SYNCs,
    through a first-order filter (``velocity_filter``). A drive's position is NaN before its first
    PDO.
    """

    def __init__(self, drives: Drives, scaling: Scaling):
        self._names = tuple(drives.drives)
        settings = drives.drives.values()
        count = len(self._names)
        self._scaling = scaling
        self._index_of = {objects.TPDO1_COB + drive.node_id: i for i, drive in enumerate(settings)}
        # No bus echoes what is sent: another master's, which `OtherMaster` reports.
        self._own = {objects.SYNC_COB, *(objects.RPDO1_COB + d.node_id for d in settings)}
        self._node_ids = [drive.node_id for drive in settings]
        self._sdo_replies = {objects.SDO_TO_MASTER_COB + n: i for i, n in enumerate(self._node_ids)}
        self._layout, self._sent = pdo_layout(drives.sends.entries), drives.sends.sent
        self._with_position = drives.sends.positions
        self._messages = [
            data_frame(objects.RPDO1_COB + drive.node_id, bytes(self._layout.size))
            for drive in settings
        ]
        self._largest = _largest_torques(drives, scaling)
        self._filter = drives.velocity_filter
        self._pulse = max(1, round(_PULSE * drives.cycle_rate))
        self._cycles = 0
        self._homing = False

        self.outstanding = 0
        self._sync = -math.inf
        self._fresh = [False] * count
        self._status = [0] * count
        self._counts = [0] * count
        self._torque = [0] * count
        self._sampled = [math.nan] * count  # when the raw values were taken
        # Times of the SYNCs that each drive has not answered: its answers may be late.
        self._unanswered = [collections.deque[float]() for _ in settings]
        self._answers_twice = ''
        self._all_fresh, self._none_missed = np.ones(count, bool), np.zeros(count, dtype=np.int64)
        for shared in (self._all_fresh, self._none_missed):
            shared.flags.writeable = False
        self._missed, self._lost = self._none_missed, self._none_missed

        self._known_at = self._sampled.copy()  # when positions were taken
        self._position: FloatArray = np.full(count, np.nan)
        self._velocity: FloatArray = np.zeros(count)

    def sampled(self, time: float) -> None:
        """Note that SYNC was sent: all drives take a sample now."""
        self._sync = time
        self._fresh = [False] * len(self._names)
        for unanswered in self._unanswered:
            unanswered.append(time)
            while unanswered[0] < time - _LATEST_ANSWER:
                unanswered.popleft()
        self.outstanding = len(self._names)

    def take(self, message: can.Message, believed: bool = True) -> bool:
        """Read a frame; return whether it was a drive's PDO or one of the master's own frames.

        Parameters
        ----------
        believed : bool
            False for an SDO answer that this side has not asked for.
        """
        if message.arbitration_id in self._own or self.take_answer(message):
            return True
        index = self._sdo_replies.get(message.arbitration_id)
        if index is not None:  # canopen may also have requested it
            self._take_status(index, bytes(message.data), believed)
        return False

    def take_answer(self, message: can.Message) -> bool:
        """Read a frame if it is a drive's PDO; return whether it is."""
        identifier, data = message.arbitration_id, message.data
        index = self._index_of.get(identifier)
        if index is None or not is_data_frame(message) or len(data) != _FROM_DRIVE.size:
            return False
        sync = self._sync
        if sync == -math.inf:  # this side has not asked yet, so its age is not known
            return True
        self._status[index], self._counts[index], self._torque[index] = _FROM_DRIVE.unpack(data)
        self._sampled[index] = sync
        if self._unanswered[index]:
            self._unanswered[index].pop()
        else:  # it answers more often than it is asked: another node does so, too
            name = self._names[index]
            self._answers_twice = f'another node answers as {name} (0x{identifier:03X})'
        if self.outstanding and not self._fresh[index]:
            self._fresh[index] = True
            self.outstanding -= 1
        return True

    def feedback(
        self,
        heartbeat_age: FloatArray,
        emergencies: tuple[Emergency, ...],
        bus_error: str,
        lateness: float,
        other_master: str = '',
        restarted: tuple[int, ...] = (),
    ) -> Feedback:
        """Close the cycle: what has not arrived by now counts as missed.

        Parameters
        ----------
        heartbeat_age : (n,) array
            Time since each drive was last heard, s.
        emergencies : tuple of Emergency
            Received since the last cycle.
        bus_error : str
            What is wrong with the bus; empty if nothing is.
        lateness : float
            How late this cycle began, s.
        other_master : str
            What came from another master since the last cycle; empty if nothing did.
        restarted : tuple of int
            Drives that have restarted.

        Returns
        -------
        Feedback
            Whose ``other_master`` also tells of another node that answers as a drive.
        """
        self.outstanding = 0
        other_master, self._answers_twice = other_master or self._answers_twice, ''
        if False not in self._fresh:
            fresh, self._missed = self._all_fresh, self._none_missed
        else:
            fresh = np.array(self._fresh)
            self._missed = np.where(fresh, 0, self._missed + 1)
            self._lost = self._lost + ~fresh
        counts, torque = np.array((self._counts, self._torque), dtype=float)
        self._advance(counts)
        return Feedback(
            time=self._sync,
            status_word=np.array(self._status, dtype=np.int64),
            position=self._position,
            velocity=self._velocity,
            effort=self._scaling.effort_from_per_mille(torque, self._velocity),
            fresh=fresh,
            missed=self._missed,
            lost=self._lost,
            heartbeat_age=heartbeat_age,
            emergencies=emergencies,
            bus_error=bus_error,
            lateness=lateness,
            other_master=other_master,
            restarted=restarted,
        )

    def to_drives(self, setpoint: Setpoint, feedback: Feedback) -> list[can.Message]:
        """Frames for the drives.

        While drives are not to be enabled, their target is their present position, without effort.

        Raises
        ------
        InputError
            A number is not finite or does not fit; no frame has changed.
        """
        goal = setpoint.goal
        counts, per_mille = self._counts, [0] * len(self._names)
        if goal is DriveGoal.ENABLED:
            counts, per_mille = self._targets(setpoint, feedback.velocity)
        self._cycles += 1
        pulse = self._cycles // self._pulse % 2 == 1
        self._homing = goal is DriveGoal.HOMING
        words, pack, sent = control_words(goal, pulse), self._layout.pack_into, self._sent
        for message, status, count, torque in zip(
            self._messages, self._status, counts, per_mille, strict=True
        ):
            pack(message.data, 0, *sent((words[status & 0x7F], count, torque)))
        return self._messages

    def action(self, index: int, action: Action, goal: DriveGoal) -> can.Message:
        """Frame for a drive that does not obey its PDO.

        Parameters
        ----------
        index : int
            Index of the drive.
        action : Action
            What to do to it.
        goal : DriveGoal
            State the drive is to reach.
        """
        node = self._node_ids[index]
        if action in _NMT_COMMANDS:
            return data_frame(objects.NMT_COB, bytes((_NMT_COMMANDS[action], node)))
        request = _ASK_STATUS
        if action is Action.CONTROL_WORD:
            word = control_word(state_of(self._status[index]), goal)
            request = _WRITE_CONTROL_WORD.pack(_CONTROL_WORD_HEAD, word)
        return data_frame(objects.SDO_TO_DRIVE_COB + node, request)

    def _take_status(self, index: int, data: bytes, believed: bool) -> None:
        """Take a status word by SDO, unless a PDO of this cycle has told a newer one.

        Of two answers, of which one is another node's, the one that reports torque counts.
        """
        is_status = len(data) == _STATUS_ANSWER.size and data.startswith(_STATUS_HEAD)
        if is_status and not self._fresh[index]:
            (word,) = _STATUS_ANSWER.unpack(data)
            if believed or is_powered(word):
                self._status[index] = word

    def _advance(self, counts: FloatArray) -> None:
        """Compute positions and velocities from the raw values."""
        position = self._scaling.position_from_counts(counts)
        before = zip(
            self._known_at, self._position.tolist(), self._velocity.tolist(), strict=True
        )  # fmt: skip
        velocities = []
        # In plain Python: numpy's steps take longer than these of six drives.
        for now, x, (known, old, velocity) in zip(
            self._sampled, position.tolist(), before, strict=True
        ):  # fmt: skip
            passed = now - known
            if passed > 0.0:  # not NaN, as before the second
                velocity += passed / (passed + self._filter) * ((x - old) / passed - velocity)
            velocities.append(0.0 if self._homing else velocity)  # positions jump
        self._velocity = np.array(velocities)
        if math.nan in self._sampled:
            position[np.isnan(self._sampled)] = np.nan
        self._position, self._known_at = position, self._sampled.copy()

    def _targets(self, setpoint: Setpoint, measured: FloatArray) -> tuple[list[int], list[int]]:
        counts = self._scaling.counts_from_position(setpoint.position)
        commanded = np.zeros(len(self._names)) if setpoint.velocity is None else setpoint.velocity
        if not self._with_position:
            # No position loop holds back a motor that turns against its commanded direction.
            against = (measured * commanded < 0.0) & (np.abs(measured) > _TURNING)
            commanded = np.where(against, 0.0, commanded)
        per_mille = self._scaling.per_mille_from_effort(setpoint.effort, commanded)
        per_mille = np.rint(per_mille + self._scaling.per_mille_of_friction(commanded))
        wanted = counts.tolist() if self._with_position else [0] * len(self._names)
        usable = [
            math.isfinite(torque) and abs(count) <= LARGEST_COUNT
            for torque, count in zip(per_mille.tolist(), wanted, strict=True)
        ]
        if not all(usable):
            i = usable.index(False)
            raise InputError(
                f'setpoint of {self._names[i]}: position {setpoint.position[i]} rad, '
                f'effort {setpoint.effort[i]} N m'
            )
        sent = between(per_mille, -self._largest, self._largest).tolist()
        return [int(count) for count in wanted], [int(torque) for torque in sent]


def _largest_torques(drives: Drives, scaling: Scaling) -> FloatArray:
    """Per mille (n,) that the effort limit and the friction at the velocity limit need at most."""
    settings = list(drives.drives.values())
    peak = np.array([float(largest_per_mille(drive)) for drive in settings])
    effort = np.array([drive.limits.effort for drive in settings])
    velocity = np.array([drive.limits.velocity for drive in settings])
    driving = np.abs(scaling.per_mille_from_effort(effort, velocity))
    needed = driving + np.abs(scaling.per_mille_of_friction(velocity))
    return np.minimum(peak, np.ceil(needed))
