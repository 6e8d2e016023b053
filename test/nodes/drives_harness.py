# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated drives in their own process, a trace of their bus, and a client of the node."""

import bisect
import contextlib
import os
import threading
import time

import can
import numpy as np
import yaml
from drives.loopback import python_can
from processes import SimulatedDrives, meanwhile, simulated_bus, wait_for
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from masticator_dynamics.drives.can_bus import is_data_frame
from masticator_dynamics.drives.configuration import find_file, load_drives
from masticator_dynamics.drives.drive_faults import Phase
from masticator_dynamics.drives.escalation import reaction_times
from masticator_dynamics.drives.state_machine import State, state_of
from nodes.harness import NodeProcess, Peer, to_time

CRANKS = [f'crank_{k}' for k in range(1, 7)]
LONG = 60.0  # s
FOLLOWING, LATCHED = Phase.FOLLOWING.value, Phase.LATCHED.value
RATE = float(os.environ.get('DRIVES_RATE', '50'))  # Hz
# s without commands, and without a heartbeat: more than a busy computer holds up a client or a
# drive, so that what stops the drives is what a test does to them.
SILENCE = 0.5
SYNC_LOSS = 50.0 / RATE  # s without SYNC, after which simulated drives stop by themselves
LATE = 0.25  # s; what a busy computer may add to a stated time
MASTER = 0x700 + 126
HEARTBEAT, EMERGENCY, TPDO, RPDO = 0x700, 0x80, 0x180, 0x200
POWERED = (State.OPERATION_ENABLED, State.QUICK_STOP_ACTIVE)


def write_drives(folder, absolute=False, **changes):
    """The shipped drives file on its own multicast bus, with changed top-level values."""
    data = yaml.safe_load(find_file('drives.yaml').read_text(encoding='utf-8'))
    data['bus'] = simulated_bus()
    data['heartbeat']['timeout'] = data['command_timeout'] = SILENCE
    data |= {'cycle_rate': RATE} | changes
    for drive in data['drives'].values():
        drive['motor']['absolute'] = absolute
    file = folder / 'drives.yaml'
    file.write_text(yaml.safe_dump(data), encoding='utf-8')
    return file


class BusTrace:
    """All data frames on the bus, with kernel timestamps (s since 1970), as seen from outside."""

    def __init__(self, file):
        bus = yaml.safe_load(file.read_text(encoding='utf-8'))['bus']
        self._bus = python_can(bus['channel'], bus['port'])
        self.frames = []  # time, id, data
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._ended.is_set():
            try:
                message = self._bus.recv(0.1)
            except can.CanOperationError:  # a packet that is no frame
                continue
            if message is not None and is_data_frame(message):
                data = bytes(message.data)
                self.frames.append((message.timestamp, message.arbitration_id, data))

    def close(self):
        self._ended.set()
        self._thread.join()
        self._bus.shutdown()

    def since(self, begin, *identifiers):
        """Frames since a time.

        Those before are not looked at: that would hold up the threads that send commands.
        """
        first = bisect.bisect_left(self.frames, begin, key=lambda frame: frame[0])
        return [frame for frame in self.frames[first:] if frame[1] in identifiers]

    def last(self, identifier, before=np.inf):
        """Time of the last such frame."""
        return next(t for t, i, _ in reversed(self.frames) if i == identifier and t < before)

    def send(self, identifier, data=b''):
        self._bus.send(can.Message(arbitration_id=identifier, is_extended_id=False, data=data))

    def states(self, begin, node):
        """Times and states in a drive's PDOs since a time."""
        return [
            (t, state_of(int.from_bytes(data[:2], 'little')))
            for t, _, data in self.since(begin, 0x180 + node)
        ]

    def left(self, begin, node, states=(State.OPERATION_ENABLED,)):
        """When a drive's PDOs after a time first showed none of some states."""
        times = [t for t, state in self.states(begin, node) if state not in states]
        return min(times) if times else None

    def wait_until_left(self, begin, nodes=range(1, 7), states=(State.OPERATION_ENABLED,)):
        """Wait until all drives have left some states; returns when the last one did."""

        def all_left():
            times = [self.left(begin, node, states) for node in nodes]
            return None if None in times else max(times)

        return wait_for(all_left, 'all drives stopped', LONG)


class DrivesPeer(Peer):
    """Commands the drives and receives their states."""

    def __init__(self, mechanism, namespace='', rate=125.0):
        super().__init__('servo_drives', namespace)
        self.mechanism, self.rate = mechanism, rate
        self.states = []
        # Few are kept for a client that does not keep up: the newest is always new.
        self.node.create_subscription(
            JointState, 'servo_drives/state', self.states.append, QoSProfile(depth=2)
        )
        self.commands = self.node.create_publisher(JointState, 'servo_drives/command', 10)
        self.stops = self.node.create_publisher(Bool, 'servo_drives/emergency_stop', 10)
        self.careless_stops = self.node.create_publisher(
            Bool,
            'servo_drives/emergency_stop',
            QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT),
        )

    def connect(self):
        wait_for(lambda: self.states, 'states', LONG)
        wait_for(lambda: self.status('supervision'), 'diagnostics', LONG)
        wait_for(self.commands.get_subscription_count, 'command', LONG)
        wait_for(self.stops.get_subscription_count, 'emergency_stop', LONG)
        wait_for(self.careless_stops.get_subscription_count, 'best-effort stop', LONG)

    def request(self, name):
        answer = self.call(Trigger, f'servo_drives/{name}', Trigger.Request())
        return answer.success, answer.message

    def position(self):
        """Latest measured positions."""
        return np.array(self.states[-1].position)

    def command(self, position, velocity=(), effort=(), names=CRANKS, stamp=None):
        """Send one command."""
        message = JointState(name=list(names))
        message.header.stamp = to_time(self.now() if stamp is None else stamp)
        message.position = [float(v) for v in position]
        message.velocity = [float(v) for v in velocity]
        message.effort = [float(v) for v in effort]
        self.commands.publish(message)

    def chewing(self, time):
        """Positions of the cranks, all turning slowly to and fro, starting from home at time 0."""
        part = 1.0 - np.cos(np.pi * time)
        pose = self.mechanism.home.y + part * np.array([0.0015, 0.0, 0.0, 0.03])
        return self.mechanism.solve(pose).position

    @contextlib.contextmanager
    def following(self, motion, patient=True):
        """Keep sending commands; ``motion(t)`` returns the keyword arguments of `command`.

        Unless ``patient``, continue even if the drives stop before they follow.
        """
        begin = time.monotonic()
        self.last_command, self.longest_pause = 0.0, 0.0

        def send(ended):
            while not ended.wait(1.0 / self.rate):
                before = self.last_command or time.time()
                self.command(**motion(time.monotonic() - begin))
                self.last_command = time.time()
                self.longest_pause = max(self.longest_pause, self.last_command - before)

        with meanwhile(send):
            wait_for(
                lambda: self.phase() == FOLLOWING or (not patient and self.phase() == LATCHED),
                'following',
                LONG,
            )
            yield

    def chew(self, patient=True):
        """Keep sending commands that chew."""
        return self.following(lambda t: {'position': self.chewing(t)}, patient)

    def hold(self):
        """Keep sending commands to stay where the drives are."""
        here = self.position()
        return self.following(lambda t: {'position': here})

    def phase(self):
        status = self.status('supervision')
        return status[2]['phase'] if status else None


class Robot:
    """Simulated drives, their bus, the node and a client."""

    def __init__(self, mechanism, folder, namespace, wait=True, changes=None, **parameters):
        absolute = parameters.get('auto_enable', False)  # nobody homes the drives then
        self.file = write_drives(folder, absolute, **(changes or {}))
        self.drives, self.trace = SimulatedDrives(self.file), BusTrace(self.file)
        self.stated = reaction_times(load_drives(self.file))
        self.node = NodeProcess(
            'servo_drives', namespace=namespace, wait=wait, drives=self.file, **parameters
        )
        self.peer = DrivesPeer(mechanism, namespace)
        if wait:
            self.peer.connect()

    def close(self):
        self.peer.close()
        code = self.node.end()
        self.trace.close()
        self.drives.end()
        assert not self.node.log('Traceback'), self.node.lines
        if code:
            print(*self.node.lines, sep='\n')
        return code

    def enabled(self):
        """Enable the drives at home, whatever happened before."""
        self.drives.fault('clear all')
        self.ask('disable', 'reset', 'home', 'enable')
        return self.peer

    def ask(self, *requests):
        """Make requests one after another until all are met in a row.

        From the first when one fails: a busy computer may stop drives at any time.
        """
        end = time.monotonic() + LONG
        while not all(self._done(request) for request in requests):
            assert time.monotonic() < end, self.message

    def _done(self, request):
        success, self.message = self.peer.request(request)
        if not success:
            print(f'{request}: {self.message}')
            time.sleep(0.2)
        return success

    def at_rest(self):
        """Whether, according to the bus, no drive gives torque any more."""
        now = time.time()
        return self.trace.wait_until_left(now, states=POWERED)


def told(robot, *texts):
    """The supervision's message, once it contains all these words."""

    def found():
        status = robot.peer.status('supervision')
        fits = status and status[0] == 'ERROR' and all(text in status[1] for text in texts)
        return status if fits else None

    return wait_for(found, f'diagnostics that tell {texts}, not {robot.peer.status("supervision")}')


def told_to_slow_down(robot, begin):
    """Whether the first control word after operation requested the ramp rather than no torque."""
    for node in range(1, 7):
        words = [data[0] & 0x0F for _, _, data in robot.trace.since(begin, RPDO + node)]
        assert next(word for word in words if word != 0x0F) == 0x02
    return True


def on_time(name, begin, end, stated):
    """Whether a reaction came within the stated time, by timestamps of frames."""
    taken = end - begin
    print(f'REACTION {name}: {taken * 1e3:.1f} ms of {stated * 1e3:.0f} ms')
    assert taken <= stated + LATE
    return True


def leaves(robot, begin, but=()):
    nodes = [k for k in range(1, 7) if k not in but]
    return robot.trace.wait_until_left(begin, nodes)
