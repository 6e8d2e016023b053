# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node `bite_observer` as a process, fed with a recording of a simulated jaw."""

import contextlib
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from geometry_msgs.msg import WrenchStamped
from identification.test_bite_observer import recorded
from processes import PATIENCE, wait_for
from sensor_msgs.msg import JointState

from masticator_dynamics import Mechanism
from nodes.harness import Client, NodeProcess, Sender, nanoseconds, to_time

pytestmark = pytest.mark.clock

CRANKS = [f'crank_{k}' for k in range(1, 7)]
EPOCH = 10**9  # ns, of the first sample
GAP = 2 * 10**8  # ns, after which the observer begins anew
PERIOD = 4 * 10**6  # ns, of states
AHEAD = 20  # states that may wait for the node
PAUSE = 2.0  # s without an answer, after which the node may have begun anew


@pytest.fixture(scope='module')
def observer(ros_domain):
    process = NodeProcess(
        'bite_observer', namespace='felt', drives="''", friction_error=0.1, publish_bite_force=True
    )
    sender = Sender('bite_observer', 'joint_states', (WrenchStamped, 'bite_force_estimate'), 'felt')
    yield sender
    sender.close()
    assert process.end() == 0
    assert not process.log('Traceback')


def send(sender, stamp, position, effort):
    message = JointState(name=CRANKS)
    message.header.stamp = to_time(stamp)
    message.position, message.effort = position.tolist(), effort.tolist()
    sender._publisher.publish(message)


def settled(messages, observer, stamp, *sample):
    """Wait for what the node says of the last state that was sent.

    If the node stood still for a second it goes on with the newest state, begins anew, and says
    nothing before it has two more. What is not waited for here would come in the next test.
    """

    def come():
        return messages and nanoseconds(messages[-1].header.stamp) >= stamp

    end, later = time.monotonic() + PATIENCE, stamp
    while not come():
        assert time.monotonic() < end, 'the last estimate'
        with contextlib.suppress(AssertionError):
            wait_for(come, 'the last estimate', PAUSE)
            return
        for _ in range(3):
            later += PERIOD
            send(observer, later, *sample)


def keep_up(messages, stamp):
    """Wait a little for what the node says of a state: what waits for a second is left out."""
    end = time.monotonic() + PAUSE
    while time.monotonic() < end and messages and nanoseconds(messages[-1].header.stamp) < stamp:
        time.sleep(0.002)


def test_a_bite_is_felt(observer) -> None:
    fed = observer.record(WrenchStamped, 'bite_force')
    wait_for(lambda: observer.node.count_publishers('bite_force'), 'bite_force')
    time_, position, effort, force = recorded(30.0, seconds=2.0)
    stamps = [EPOCH + round(t * 1e9) for t in time_]
    for k, sample in enumerate(zip(stamps, position, effort, strict=True)):
        send(observer, *sample)
        time.sleep(0.004)
        keep_up(observer.answers, stamps[max(k - AHEAD, 1)])
    settled(observer.answers, observer, stamps[-1], *sample[1:])
    found = {
        nanoseconds(a.header.stamp): np.array(
            [a.wrench.force.x, a.wrench.force.y, a.wrench.force.z]
        )
        for a in observer.answers
    }
    assert {a.header.frame_id for a in observer.answers} == {'molar_left'}
    # Axes of the molar turn by up to 0.2 rad: sizes are compared, of the sample before.
    true = {stamp: np.linalg.norm(row) for stamp, row in zip(stamps[1:], force, strict=False)}
    off = [np.linalg.norm(found[s]) - true[s] for s in stamps[250:] if s in found]
    assert len(off) > 200
    assert np.sqrt(np.mean(np.square(off))) < 0.3
    sizes = [m.wrench.force.z for m in fed]
    assert min(sizes) < -20.0 and np.mean(np.array(sizes) == 0.0) > 0.3
    assert any('contact' in text for _, text, _ in [observer.status('bite')])


def test_states_without_efforts_are_refused(observer) -> None:
    assert 'efforts of the actuated joints are missing' in observer.refused(CRANKS, [0.0] * 6)


def test_independent_coordinates_are_no_measurement(observer) -> None:
    names = ['x', 'y', 'alpha', 'beta']
    assert 'all actuated joints' in observer.refused(names, [0.0] * 4)


@pytest.fixture(scope='module')
def dynamics(observer):
    """Node dynamics, at home, which takes what the observer feeds it."""
    process = NodeProcess('dynamics', namespace='felt', rate=100.0, bite_force__timeout=2.0)
    client = Client(namespace='felt')
    client.connect()
    yield client
    client.close()
    assert process.end() == 0


def taken(observer, dynamics, sample):
    """Whether the node takes what the observer feeds it: it may not have found it yet."""
    send(observer, dynamics.now(), *sample)
    status = dynamics.status('bite force')
    return status and status[2]['state'] == 'fresh'


def fed_forward(observer, dynamics, time_, position, effort):
    """Largest of the forces that a chewing robot fed forward, and rows of efforts meanwhile."""
    fed = observer.record(WrenchStamped, 'bite_force')
    wait_for(lambda: observer.node.count_publishers('bite_force'), 'bite_force')
    wait_for(lambda: taken(observer, dynamics, (position[0], effort[0])), 'a force that is taken')
    fed.clear()
    first = len(dynamics.states)
    begin = dynamics.now() + GAP
    for since, *sample in zip(time_[::2], position[::2], effort[::2], strict=True):
        stamp = begin + round(since * 1e9)
        time.sleep(max(0.0, (stamp - dynamics.now()) * 1e-9))
        send(observer, stamp, *sample)
    settled(fed, observer, stamp, *sample)
    forces = np.array([[m.wrench.force.x, m.wrench.force.y, m.wrench.force.z] for m in fed])
    return forces, np.array([state.effort for state in dynamics.states[first:]])


def test_what_is_felt_is_fed_forward_and_errors_of_the_model_are_not(observer, dynamics) -> None:
    mechanism = Mechanism.load('masticator')
    home, free = mechanism.home, mechanism.feedforward(mechanism.home.y).actuated
    frame = 'molar_left'
    per_newton = np.array([
        mechanism.feedforward(
            home.y, wrench=mechanism.wrench_on_platform(home, unit, np.zeros(3), frame, frame)
        ).actuated - free
        for unit in np.eye(3)
    ])  # fmt: skip
    time_, position, effort, _ = recorded(30.0, seconds=2.0)
    forces, efforts = fed_forward(observer, dynamics, time_, position, effort)
    possible = free + np.vstack([forces, np.zeros(3)]) @ per_newton
    apart = np.abs(efforts[:, None] - possible).max(axis=2).min(axis=1)
    assert apart.max() < 1e-9, 'no other effort than for a force that was fed, or for none'
    assert np.abs(efforts - free).max() > 0.5 * np.abs(possible - free).max() > 0.0

    nothing = recorded(0.0, seconds=2.0)
    forces, efforts = fed_forward(observer, dynamics, *nothing[:3])
    assert not forces[25:].any()
    assert np.abs(efforts[25:] - free).max() < 1e-9
    slipped = position + 0.02 * np.eye(6)[2]
    forces, efforts = fed_forward(observer, dynamics, time_, slipped, effort)
    assert not forces[25:].any()
    assert np.abs(efforts[25:] - free).max() < 1e-9
    assert 'encoders disagree' in observer.status('bite')[1]
