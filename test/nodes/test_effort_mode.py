# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mode effort in processes: `dynamics`, drives and twin; efforts alone go to the drives."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('can', reason='python-can is not installed')

from processes import has_multicast, wait_for
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from nodes.drives_harness import CRANKS, LONG, DrivesPeer, write_drives
from nodes.harness import Client, NodeProcess, nanoseconds

pytestmark = [
    pytest.mark.waiting,
    pytest.mark.skipif(not has_multicast(), reason='this machine has no multicast'),
]
RATE = 50.0  # Hz
SPACE = 'pulled'
OPENING = 0.4  # s


class Forward(DrivesPeer):
    """Sends what comes on feedforward_effort to the drives, like effort_forward_controller."""

    def __init__(self, mechanism):
        super().__init__(mechanism, SPACE)
        self.node.create_subscription(Float64MultiArray, 'feedforward_effort', self.forward, 10)

    def forward(self, message):
        self.commands.publish(JointState(name=CRANKS, effort=message.data))


def test_the_jaw_follows_its_feedforward_and_what_is_off_is_told(ros_domain, mechanism, tmp_path):
    # A busy computer may hold the sender back.
    file = write_drives(tmp_path, True, mode='effort', command_timeout=0.5, cycle_rate=RATE)
    given = {'namespace': SPACE, 'drives': file}
    processes = [NodeProcess('twin', **given)]
    processes += [
        NodeProcess('servo_drives', wait=False, auto_enable=True, loop_check_rate=0.0, **given),
        NodeProcess('dynamics', wait=False, rate=RATE, friction=True, **given),
    ]
    client, drives = Client(namespace=SPACE), Forward(mechanism)
    measured = drives.record(JointState, 'servo_drives/state')
    try:
        for process in processes:
            process.wait_until_ready()
        client.connect()
        drives.connect()
        wait_for(lambda: 'following' in (drives.phase() or ''), 'efforts that are followed', LONG)
        level, text, _ = drives.wait_for_status('desired motion', 'OK')
        assert 'from what its efforts are for' in text
        first = drives.position()
        open_mouth = mechanism.home.y + [0.002, 0.0, 0.0, 0.15]
        answer = client.follow(mechanism.independent, [OPENING], [open_mouth], [[0.0] * 4])
        end = nanoseconds(answer.header.stamp) + round(OPENING * 1e9)
        wait_for(lambda: nanoseconds(measured[-1].header.stamp) > end, 'the end of the motion')
        rows = [m for m in measured if nanoseconds(m.header.stamp) <= end]
        desired = np.array(answer.points[-1].positions) - first
        moved = np.array(rows[-1].position) - first
        print(f'moved {np.abs(moved).max():.3f} of {np.abs(desired).max():.3f} rad')
        assert moved @ desired > 0.5 * desired @ desired  # no loop: it is not exactly there
        # Nothing holds it there: it drifts away, and somebody says so.
        _, text, values = drives.wait_for_status('desired motion', 'WARN')
        name, _, rest = text.partition(' is ')
        assert name in CRANKS and float(rest.split()[0]) > 0.05
        assert processes[1].wait_for_line('mode effort holds no position')
    finally:
        client.close()
        drives.close()
        codes = [process.end() for process in reversed(processes)]
    assert codes == [0, 0, 0]
    assert not any(process.log('Traceback') for process in processes)
