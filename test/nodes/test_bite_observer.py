# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node `bite_observer` as a process, fed with a recording of a simulated jaw."""

import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from geometry_msgs.msg import WrenchStamped
from identification.test_bite_observer import recorded
from sensor_msgs.msg import JointState

from nodes.harness import NodeProcess, Sender, nanoseconds, to_time, wait_for

CRANKS = [f'crank_{k}' for k in range(1, 7)]
EPOCH = 10**9  # ns, of the first sample


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


def test_a_bite_is_felt(observer) -> None:
    fed = observer.record(WrenchStamped, 'bite_force')
    wait_for(lambda: observer.node.count_publishers('bite_force'), 'bite_force')
    time_, position, effort, force = recorded(30.0, seconds=2.0)
    stamps = [EPOCH + round(t * 1e9) for t in time_]
    for sample in zip(stamps, position, effort, strict=True):
        send(observer, *sample)
        time.sleep(0.004)
    wait_for(lambda: len(observer.answers) > len(time_) - 20, 'estimates')
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
