# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""All drives on their bus: opened, checked and set up."""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import logging
import pathlib
import time
from collections.abc import Callable, Iterator, Sequence

import can
import canopen
from canopen.network import MessageListener

from masticator_dynamics.drives import bring_up, objects
from masticator_dynamics.drives.bring_up import load_dictionary, tells_temperature
from masticator_dynamics.drives.can_bus import (
    BUS_ERRORS,
    Receiver,
    bus_title,
    is_data_frame,
    open_bus,
)
from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.objects import Nmt, NmtState
from masticator_dynamics.drives.other_master import (
    Alterations,
    OtherMaster,
    SignsOfLife,
)
from masticator_dynamics.drives.scaling import Scaling
from masticator_dynamics.drives.sdo import SECOND_ANSWER, SdoChannel
from masticator_dynamics.drives.state_machine import is_powered
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import AbsentError, DriveError

_START = 5.0  # s for a drive to become operational
_LISTEN, _LISTEN_PERIODS = 0.25, 3.0  # s, and heartbeat periods, to hear another master
_RESTART = 10.0  # s for a drive to boot
_EARLIER = 0.05  # s in which answers come to requests that were not seen
_GONE = 0.5  # s without a heartbeat, after which no answer is expected

# Errors are raised with the drive's name; canopen would also print them.
logging.getLogger('canopen').addHandler(logging.NullHandler())


class _Network(canopen.Network):
    """Tells of requests before they are sent; the exchange, which sends by itself, does so, too."""

    def __init__(self, bus: can.BusABC, others: OtherMaster):
        super().__init__(bus)
        self._others = others

    def send_message(self, can_id: int, data: bytes, remote: bool = False) -> None:
        """Send a frame, from any thread."""
        self._others.sent(can_id, bytes(data))
        super().send_message(can_id, data, remote)


class DriveNetwork:
    """The drives of a file; call its methods from any thread but that of the exchange.

    Parameters
    ----------
    file : str or pathlib.Path
        The file they were read from; EDS files are looked for next to it.

    Attributes
    ----------
    drives : Drives
    names : tuple of str
        Actuated joints, in the file's order.
    scaling : Scaling
    emergencies, heard, booted, nmt_states
        As of `SignsOfLife`.
    others : OtherMaster

    Raises
    ------
    DescriptionError
        An EDS is missing, cannot be read, or lacks an object that is needed.
    """

    def __init__(self, drives: Drives, file: str | pathlib.Path):
        self.drives = drives
        self.names = tuple(drives.drives)
        self.scaling = Scaling([drive.motor for drive in drives.drives.values()])
        signs = SignsOfLife(drives)
        self.emergencies, self.heard = signs.emergencies, signs.heard
        self.nmt_states, self.booted, self._signs = signs.nmt_states, signs.booted, signs
        self._unfinished: set[int] = set()  # indices of drives whose set-up has not succeeded
        self._alterations = Alterations(len(self.names))
        self.others = OtherMaster(drives, self._alterations)
        self._dictionaries = [
            load_dictionary(name, drive, drives.mode, file) for name, drive in drives.drives.items()
        ]
        self._settings = list(drives.drives.values())
        self._channels: list[SdoChannel] = []
        self._network: canopen.Network | None = None
        self._receiver: Receiver | None = None

    def connect(self) -> None:
        """Open the bus and set up all drives; they end up operational (NMT) and torque-free.

        A drive in fault stays in fault, as its status word shows.

        Raises
        ------
        AbsentError
            The bus is not there, or drives do not answer; the message names them.
        DriveError
            Naming drive, node id and object. The bus is closed again.
        """
        bus = open_bus(self.drives.bus)
        self._network = _Network(bus, self.others)
        # canopen would keep every answer to LSS, which nothing here uses, for ever.
        self._network.unsubscribe(self._network.lss.LSS_RX_COBID)
        self._receiver = Receiver(bus, self._take)
        self._receiver.start()
        try:
            self.listen()
            before = self._alterations.counts()
            self._add_nodes()
            self._find(range(len(self.names)))
            self._set_up(range(len(self.names)), before)
        except BaseException:
            self._disconnect()
            raise

    def lost(self) -> tuple[str, ...]:
        """Drives that are not operational, are silent, or must be set up again."""
        age = time.monotonic() - self.heard
        return tuple(
            name
            for index, name in enumerate(self.names)
            if self.nmt_states[index] != NmtState.OPERATIONAL
            or age[index] > self.drives.heartbeat.timeout
            or index in self.booted
            or index in self._unfinished
        )

    @property
    def no_frames(self) -> int:
        """Foreign packets on a UDP bus that were not frames, so far."""
        bus = self._network and self._network.bus
        return getattr(bus, 'ignored', 0)

    def gone(self) -> tuple[str, ...]:
        """Drives that have fallen silent: querying them would only take time."""
        return tuple(name for name in self.names if self._is_gone(name))

    def _is_gone(self, name: str) -> bool:
        return time.monotonic() - float(self.heard[self.names.index(name)]) > _GONE

    def restore(self, names: Sequence[str]) -> None:
        """Set up drives again that were `lost` or `altered`.

        Altered ones are restarted first: what others wrote is gone then, wherever they wrote it.
        Blocks; the exchange may go on meanwhile. Raises `DriveError`.
        """
        again, before = [self.names.index(name) for name in names], self._alterations.counts()
        self._unfinished.update(again)
        for index in again:
            self._channels[index].begin_set_up()
        self._find(again)
        altered = [index for index in again if self._alterations.reason(index)]
        self._restart(altered)
        self._set_up(again, before)
        for index in again:  # one that has lost its zero with its power knows it no more
            channel = self._channels[index]
            if channel.changed and self._settings[index].motor.absolute and index not in altered:
                self._alterations.note(index, channel.changed)
        self.check_unaltered()

    def close(self) -> None:
        """Leave the drives still present pre-operational and torque-free, and close the bus."""
        if self._network is None:
            return
        for name, channel in zip(self.names, self._channels, strict=False):
            if self._is_gone(name):
                continue
            with contextlib.suppress(DriveError, *BUS_ERRORS):  # the drive or its bus may be gone
                channel.command(objects.CONTROL_WORD, 0)
                if self._may_give_torque(name):  # its heartbeat monitoring must act
                    continue
                channel.command(objects.CONSUMER_HEARTBEAT, 0)
                self._manage(Nmt.PRE_OPERATIONAL, self.drives.drives[name].node_id)
        self._disconnect()

    def channel(self, drive: str) -> SdoChannel:
        """To the objects of a drive."""
        return self._channels[self.names.index(drive)]

    def temperature(self, index: int) -> float:
        """Motor temperature of a drive, degrees Celsius; NaN if it reports none.

        Blocks briefly; raises `DriveError`.
        """
        if not tells_temperature(self._dictionaries[index]):
            return float('nan')
        return 0.1 * self._channels[index].read_alone(objects.MOTOR_TEMPERATURE, patient=False)

    def difference(self, index: int, number: int | None = None) -> str:
        """How an object of a drive differs from what was written; empty when it does not.

        Parameters
        ----------
        index : int
            Index of the drive.
        number : int, optional
            Number of the object, modulo the number of those written; by default the mode of
            operation. Blocks briefly; raises `DriveError`.
        """
        channel = self._channels[index]
        entries = list(channel.expected)
        if not entries:  # it is being set up
            return ''
        entry = objects.MODE_DISPLAY if number is None else entries[number % len(entries)]
        difference = channel.difference(entry)
        if difference and index not in self.booted:  # which has forgotten everything by itself
            self._alterations.note(index, difference)
        return difference

    def verify(self) -> None:
        """Read back all that was set up, from all drives in parallel; blocks.

        Raises
        ------
        DriveError
            As `check_unaltered`, or a drive does not answer.
        """

        def look(index: int) -> None:
            for number in range(len(self._channels[index].expected)):
                self.difference(index, number)

        with concurrent.futures.ThreadPoolExecutor(len(self.names)) as pool:
            list(pool.map(look, range(len(self.names))))
        time.sleep(SECOND_ANSWER)
        self.check_unaltered()

    def check_unaltered(self, remedy: str = '~/reset sets it up') -> None:
        """Check that no drive has been altered since it was set up.

        Raises
        ------
        DriveError
            Naming the first that has, how, and the remedy; :meth:`altered` has all.
        """
        for index, channel in enumerate(self._channels):
            reason = self._alterations.reason(index)
            if reason:
                raise DriveError(channel.title, f'{reason}; {remedy}')

    def altered(self) -> tuple[str, ...]:
        """Drives that others have altered, or may have, since they were set up."""
        return tuple(n for i, n in enumerate(self.names) if self._alterations.reason(i))

    def listen(self) -> None:
        """Listen for another master for a while; blocks.

        Raises
        ------
        DriveError
            Naming what it sends.
        """
        time.sleep(_EARLIER)
        self.others.found()
        time.sleep(max(_LISTEN, _LISTEN_PERIODS * self.drives.heartbeat.period))
        other_master = self.others.found()
        if other_master:
            raise DriveError(bus_title(self.drives.bus), f'{other_master}; stop it first')
        for name in self.altered():  # while nobody looked: the first cycle is to know
            reason = self._alterations.reason(self.names.index(name))
            self.others.report(f'{name}: {reason}; ~/reset sets it up')

    def begin_homing(self, home: FloatArray) -> None:
        """Enter homing mode; Goal.HOMING then makes present joint positions ``home`` (n,), rad.

        Blocks; the drives must be torque-free. Raises `DriveError`, after bringing every drive it
        can out of homing mode.
        """
        offsets = self.scaling.counts_from_position(home)
        self.others.homing = True
        try:
            for channel, offset in zip(self._channels, offsets, strict=True):
                channel.write(objects.HOMING_METHOD, objects.HOME_IS_HERE)
                channel.write(objects.HOME_OFFSET, int(offset))
                bring_up.set_mode(channel, objects.Mode.HOMING)
        except DriveError:
            with contextlib.suppress(DriveError):
                self.end_homing()
            raise

    def end_homing(self) -> None:
        """Return to cyclic mode (blocks; raises `DriveError`, after trying all drives)."""
        mode = self.drives.sends.code
        self._ask_all(lambda channel: bring_up.set_mode(channel, mode))
        self.others.homing = False

    def watch(self, on: bool) -> None:
        """Make the drives monitor the master's heartbeat and SYNC, or not while there are none.

        With monitoring on they would fault then; only torque-free drives may go without it.
        Blocks; raises `DriveError`, after trying all drives.
        """
        self._ask_all(lambda channel: bring_up.watch(channel, self.drives, on))

    def powered(self) -> tuple[str, ...]:
        """Drives that give torque, or do not report that they give none (blocks).

        Drives that are `gone` are not queried.
        """
        return tuple(name for name in self.names if self._may_give_torque(name))

    def _may_give_torque(self, name: str) -> bool:
        if self._is_gone(name):
            return True
        try:
            return is_powered(int(self.channel(name).read_alone(objects.STATUS_WORD)))
        except DriveError:
            return True

    @contextlib.contextmanager
    def receiving_by_caller(self) -> Iterator[canopen.Network]:
        """Pause the receiving thread; the caller passes on what it receives."""
        network, receiver = self._connected, self._receiver
        assert receiver is not None
        receiver.stop()
        try:
            yield network
        finally:
            receiver.start()

    @property
    def _connected(self) -> canopen.Network:
        if self._network is None:
            raise DriveError(bus_title(self.drives.bus), 'is not connected')
        return self._network

    def _ask_all(self, ask: Callable[[SdoChannel], None]) -> None:
        """Call a function for every drive, then raise the first error."""
        errors = []
        for channel in self._channels:
            try:
                ask(channel)
            except DriveError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def _take(self, message: can.Message) -> None:
        """Take a frame that came while no exchange runs."""
        if is_data_frame(message) and self.others.take(message):
            MessageListener(self._connected).on_message_received(message)

    def _manage(self, command: Nmt, node_id: int) -> None:
        self._connected.send_message(objects.NMT_COB, bytes((command, node_id)))

    def _add_nodes(self) -> None:
        self._channels = []
        network = self._connected
        for index, (name, drive) in enumerate(self.drives.drives.items()):
            node = canopen.RemoteNode(drive.node_id, self._dictionaries[index])
            network.add_node(node)
            strange = functools.partial(self.others.strange_answers.__getitem__, index)
            self._channels.append(SdoChannel(name, node, strange))
        self._signs.listen(network)

    def _find(self, indices: Sequence[int]) -> None:
        """Check that these drives answer; they are sent to pre-operational."""
        absent = []
        for i in indices:
            self._manage(Nmt.PRE_OPERATIONAL, self._settings[i].node_id)
            try:
                self._channels[i].read(objects.DEVICE_TYPE)
            except DriveError:
                absent.append(self._channels[i].title)
        if absent:
            verb = 'does' if len(absent) == 1 else 'do'
            raise AbsentError(
                ', '.join(absent), f'{verb} not answer on {bus_title(self.drives.bus)}'
            )

    def _restart(self, indices: Sequence[int]) -> None:
        """Make these drives forget what was written to them, and wait until they have booted."""
        for i in indices:
            self.booted.discard(i)
            self._manage(Nmt.RESET_NODE, self._settings[i].node_id)
        end = time.monotonic() + _RESTART
        for i in indices:
            while i not in self.booted:
                if time.monotonic() > end:
                    reason = f'does not restart (NMT reset of the node) within {_RESTART:g} s'
                    raise DriveError(self._channels[i].title, reason)
                time.sleep(0.002)

    def _set_up(self, indices: Sequence[int], alterations: Sequence[int]) -> None:
        """Check these drives, write to them, and wait until they are operational.

        They are as set up then, unless there are more than these alterations.
        """
        for i in indices:
            information = self._dictionaries[i].device_information
            self.booted.discard(i)
            vendor, product = information.vendor_number or 0, information.product_number or 0
            bring_up.check_identity(self._channels[i], vendor, product, self.drives.mode)
            bring_up.set_up(self._channels[i], self._settings[i], self.drives)
        for i in indices:
            if i in self.booted:
                raise DriveError(self._channels[i].title, 'has restarted while it was set up')
            self.nmt_states[i] = -1
            self._manage(Nmt.START, self._settings[i].node_id)
        end = time.monotonic() + _START
        for i in indices:
            while self.nmt_states[i] != NmtState.OPERATIONAL:
                if time.monotonic() > end:
                    raise DriveError(
                        self._channels[i].title,
                        f'sends no heartbeat as operational within {_START:g} s',
                    )
                time.sleep(0.002)
        time.sleep(SECOND_ANSWER)
        for i in indices:
            self._alterations.settle(i, alterations[i])
            self._unfinished.discard(i)
        self.check_unaltered('during the set-up, which must be repeated')

    def _disconnect(self) -> None:
        assert self._receiver is not None
        self._receiver.stop()
        network, self._network = self._connected, None
        with contextlib.suppress(*BUS_ERRORS):
            network.disconnect()
