# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An independent CANopen client, written from the frame formats of CiA 301 and CiA 402 alone.

It uses neither a CANopen library nor anything of the package: frames are struct and python-can.
"""

import contextlib
import struct
import time

import can

PATIENCE = 60.0  # s

SYNC, NMT = 0x080, 0x000
START, STOP, PRE_OPERATIONAL, RESET_NODE, RESET_COMMUNICATION = 0x01, 0x02, 0x80, 0x81, 0x82
BOOTED, STOPPED_STATE, OPERATIONAL_STATE, PRE_OPERATIONAL_STATE = 0x00, 0x04, 0x05, 0x7F

STATES = {  # bits of the status word under their mask, CiA 402-2, table 30
    'not ready to switch on': (0x4F, 0x00),
    'switch on disabled': (0x4F, 0x40),
    'ready to switch on': (0x6F, 0x21),
    'switched on': (0x6F, 0x23),
    'operation enabled': (0x6F, 0x27),
    'quick stop active': (0x6F, 0x07),
    'fault reaction active': (0x4F, 0x0F),
    'fault': (0x4F, 0x08),
}


def state_of(status):
    (found,) = (name for name, (mask, bits) in STATES.items() if status & mask == bits)
    return found


class AbortedError(Exception):
    def __init__(self, code):
        self.code = code
        super().__init__(f'0x{code:08X}')


class Client:
    """A client on a bus; ``pump``, if given, makes the other side act instead of waiting for it."""

    def __init__(self, bus, pump=None):
        self.bus, self._pump = bus, pump
        self.frames = []  # all that came and were not asked for

    def send(self, identifier, data=b''):
        message = can.Message(arbitration_id=identifier, data=data, is_extended_id=False)
        self.bus.send(message)

    def collect(self):
        """Take all frames that are on the bus now."""
        while (message := self.bus.recv(0.0)) is not None:
            self.frames.append((message.arbitration_id, bytes(message.data)))
        return self.frames

    def data_of(self, identifier):
        """Data of the frames with an identifier so far."""
        return [data for found, data in self.collect() if found == identifier]

    def forget(self):
        self.collect()
        self.frames.clear()

    def wait(self, identifier, condition=lambda data: True, patience=PATIENCE):
        """Wait for the next frame with an identifier that meets a condition; returns its data."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            for k, (found, data) in enumerate(self.collect()):
                if found == identifier and condition(data):
                    del self.frames[k]
                    return data
            self.pump()
        raise AssertionError(f'no frame 0x{identifier:03X} within {patience} s')

    def pump(self):
        if self._pump is not None:
            self._pump()
            return
        message = self.bus.recv(0.05)
        if message is not None:
            self.frames.append((message.arbitration_id, bytes(message.data)))

    # NMT

    def nmt(self, command, node=0):
        self.send(NMT, struct.pack('<BB', command, node))

    # SDO

    def request(self, node, data):
        """Send eight bytes to the server; returns its eight."""
        self.send(0x600 + node, data)
        return self.wait(0x580 + node)

    def upload(self, node, index, subindex=0):
        answer = self.request(node, struct.pack('<BHB4x', 0x40, index, subindex))
        head = answer[0]
        self._check(answer)
        assert struct.unpack_from('<HB', answer, 1) == (index, subindex)
        if head & 0x02:
            assert head & 0x01
            return answer[4 : 8 - (head >> 2 & 3)]
        (size,) = struct.unpack_from('<I', answer, 4)
        found, toggle = b'', 0
        while True:
            answer = self.request(node, struct.pack('<B7x', 0x60 | toggle << 4))
            self._check(answer)
            assert answer[0] >> 4 & 1 == toggle
            found += answer[1 : 8 - (answer[0] >> 1 & 7)]
            toggle ^= 1
            if answer[0] & 1:
                assert len(found) == size
                return found

    def download(self, node, index, subindex, data):
        head = 0x23 | (4 - len(data)) << 2
        answer = self.request(node, struct.pack('<BHB4s', head, index, subindex, data))
        self._check(answer)
        assert answer[:4] == struct.pack('<BHB', 0x60, index, subindex)

    def read(self, node, index, subindex=0, kind='I'):
        return struct.unpack('<' + kind, self.upload(node, index, subindex))[0]

    def write(self, node, index, subindex, kind, value):
        self.download(node, index, subindex, struct.pack('<' + kind, value))

    @contextlib.contextmanager
    def aborts(self, code):
        """Check that requests in the block are refused with a code."""
        try:
            yield
        except AbortedError as error:
            assert error.code == code, f'0x{error.code:08X} instead of 0x{code:08X}'
        else:
            raise AssertionError(f'no abort 0x{code:08X}')

    def _check(self, answer):
        if answer[0] == 0x80:
            raise AbortedError(struct.unpack_from('<I', answer, 4)[0])

    # PDO

    def map_pdo(self, node, parameters, mapping, identifier, entries):
        """Map a PDO in the order of CiA 301: invalid, empty, entries, count, valid."""
        self.write(node, parameters, 1, 'I', 0x80000000 | identifier)
        self.write(node, mapping, 0, 'B', 0)
        for number, entry in enumerate(entries, start=1):
            self.write(node, mapping, number, 'I', entry)
        self.write(node, mapping, 0, 'B', len(entries))
        self.write(node, parameters, 2, 'B', 1)  # with every SYNC
        self.write(node, parameters, 1, 'I', identifier)

    def map_cyclic(self, node):
        """Map control word, target position and torque offset; status word, position and torque."""
        self.map_pdo(node, 0x1400, 0x1600, 0x200 + node, [0x60400010, 0x607A0020, 0x60B20010])
        self.map_pdo(node, 0x1800, 0x1A00, 0x180 + node, [0x60410010, 0x60640020, 0x60770010])

    # CiA 402

    def status(self, node):
        return self.read(node, 0x6041, 0, 'H')

    def state(self, node):
        return state_of(self.status(node))

    def control(self, node, word):
        self.write(node, 0x6040, 0, 'H', word)

    def enable(self, node, mode):
        """Enable the drive by SDO, state by state."""
        self.write(node, 0x6060, 0, 'b', mode)
        for word, state in (
            (0x06, 'ready to switch on'), (0x07, 'switched on'), (0x0F, 'operation enabled'),
        ):  # fmt: skip
            self.control(node, word)
            assert self.state(node) == state

    def wait_state(self, node, state, patience=PATIENCE):
        end = time.monotonic() + patience
        while (found := self.state(node)) != state:
            if time.monotonic() > end:
                raise AssertionError(f'{found} instead of {state} after {patience} s')
            self.pump()
