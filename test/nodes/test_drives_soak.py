# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Random faults for SOAK_MINUTES; without that variable, only some faults.

``SOAK_MINUTES=30 make test-all PYTEST='-s test/nodes/test_drives_soak.py'`` reports every fault.
"""

import collections
import os
import random
import time

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('can', reason='python-can is not installed')

from processes import needs_multicast

from masticator_dynamics.drives.configuration import find_file
from nodes.drives_harness import CRANKS, FOLLOWING, POWERED, Robot

MINUTES = float(os.environ.get('SOAK_MINUTES', '0'))

pytestmark = [
    pytest.mark.clock,
    pytest.mark.sweep,  # each kind of fault has a test of its own
    pytest.mark.timeout(600.0 + 60.0 * MINUTES),
    needs_multicast,
    pytest.mark.flaky(reruns=0),  # what was not detected once is a defect
]

FEWEST = 3  # each kind has tests of its own in test_servo_drives.py
# Injected line, what the diagnostics must tell besides the drive, and of which drives the bus can
# still be asked: one that is off the bus or delayed does not tell in time.
FAULTS = (
    ('heartbeat {}', 'no heartbeat', True),
    ('bus-off {}', '', False),
    ('over-temperature {}', 'temperature', True),
    ('stuck-encoder {}', '', True),
    ('delay {} 0.05', '', False),
    ('drop {} 1.0', '', False),
    ('fault {} 0x2310', '0x2310', True),
    ('fault {} 0x7305', '0x7305', True),
)
SILENCES = ('no heartbeat', 'missing in a row')
UNDETECTED = 5.0  # s without a reaction of all drives
# As shipped, at a rate that a computer keeps beside half an hour of frames.
SHIPPED = yaml.safe_load(find_file('drives.yaml').read_text(encoding='utf-8'))
TIMEOUT = SHIPPED['command_timeout']
CHANGES = {'cycle_rate': 100.0} | {key: SHIPPED[key] for key in ('command_timeout', 'heartbeat')}


@pytest.fixture(scope='module')
def robot(ros_domain, mechanism, tmp_path_factory):
    robot = Robot(mechanism, tmp_path_factory.mktemp('soak'), 'soak', changes=CHANGES)
    yield robot
    assert robot.close() == 0


def reaction(robot, line, drive, words, asked, tells):
    """Time for all drives to leave operation, s, and the message if it lacks drive or cause."""
    number = CRANKS.index(drive) + 1
    nodes = [k for k in range(1, 7) if tells or k != number]
    end = None
    while end is None and time.time() - asked < UNDETECTED:
        times = [robot.trace.left(asked, node) for node in nodes]
        end = None if None in times else max(times)
        time.sleep(0.005)

    told, begun = '', time.monotonic()
    while time.monotonic() - begun < UNDETECTED:
        level, _, values = robot.peer.status('supervision')
        told = values['latched']  # all causes; the message has a few
        if level == 'ERROR' and drive in told and words in told:
            return (end - asked if end else np.inf), ''
        time.sleep(0.01)
    return (end - asked if end else np.inf), told


def test_every_fault_is_met_and_no_process_dies(robot):
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    print(f'\nSOAK {MINUTES:g} minutes, seed {seed}')
    end, taken, spontaneous = time.monotonic() + 60.0 * MINUTES, collections.defaultdict(list), []
    count, undetected, order = 0, [], rng.sample(FAULTS, len(FAULTS))
    while count < FEWEST or time.monotonic() < end:
        peer = robot.enabled()
        # Half an hour of frames is more than needs to be kept.
        del robot.trace.frames[:], peer.states[:-1]
        with peer.chew(patient=False):
            time.sleep(rng.uniform(0.5, 3.0))
            status = peer.status('supervision')
            if status[0] == 'ERROR' or peer.phase() != FOLLOWING:
                # A real loss, on a computer that had no time.
                spontaneous.append(status[1])
                print(f'SOAK by itself: {status[1]}')
                continue
            # All kinds once, then at random.
            template, words, tells = order[count] if count < len(order) else rng.choice(FAULTS)
            drive = rng.choice(CRANKS)
            line = template.format(drive)
            asked = robot.drives.fault(line)
            seconds, other = reaction(robot, line, drive, words, asked, tells)
        silenced = 'commands: none for' in other and peer.longest_pause > TIMEOUT
        if silenced or held_up(other, drive):
            spontaneous.append(other)  # that stopped them before the fault could
            print(f'SOAK by itself: {other}')
            continue
        count += 1
        taken[template].append(seconds)
        if other or not np.isfinite(seconds):
            undetected.append((line, other))
        robot.trace.wait_until_left(time.time(), _others(drive, tells), POWERED)
        assert robot.node.process.poll() is None, 'the node died'
        assert robot.drives.process.poll() is None, 'the simulator died'
        print(f'SOAK {count}: {line}: all drives off after {seconds * 1e3:.0f} ms {other}')
    for template, seconds in taken.items():
        print(
            f'SOAK {template}: {len(seconds)} times, '
            f'median {np.median(seconds) * 1e3:.0f} ms, longest {max(seconds) * 1e3:.0f} ms'
        )
    print(f'SOAK {count} faults, {len(undetected)} undetected, {len(spontaneous)} by itself')
    assert not undetected


def held_up(told, drive):
    """Whether drives without a fault were not heard either, as when the computer stands still."""
    heard_of = [cause for cause in told.split('; ') if not cause.startswith(drive)]
    return any(silence in cause for cause in heard_of for silence in SILENCES)


def _others(drive, tells):
    return [k for k in range(1, 7) if tells or CRANKS[k - 1] != drive]
