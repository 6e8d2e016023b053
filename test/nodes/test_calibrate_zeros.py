# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Zeros of drives that a hand moves: in this process, and on a bus."""

import threading
import time
import types

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='rclpy is not installed')

from drives.ideal_drives import IdealDrives  # noqa: E402
from processes import meanwhile, needs_multicast, wait_for  # noqa: E402
from scipy.interpolate import CubicSpline  # noqa: E402

from masticator_dynamics import Mechanism  # noqa: E402
from masticator_dynamics.drives.can_bus import open_bus  # noqa: E402
from masticator_dynamics.drives.configuration import load_drives  # noqa: E402
from masticator_dynamics.drives.simulator.simulation_file import (  # noqa: E402
    SimulatedDrive,
    SimulationSettings,
    load_simulation,
)
from masticator_dynamics.drives.simulator.simulator import DriveSimulator  # noqa: E402
from masticator_dynamics.drives.supervisor import Supervisor  # noqa: E402
from masticator_dynamics.ros.servo_drives import zero_calibration  # noqa: E402
from masticator_dynamics.ros.servo_drives.drive_requests import DriveRequests  # noqa: E402
from masticator_dynamics.ros.servo_drives.zero_calibration import ZeroCalibration  # noqa: E402
from masticator_dynamics.ros.servo_drives_node import ServoDrivesSettings  # noqa: E402
from nodes.drives_harness import CRANKS, DrivesPeer, write_drives  # noqa: E402
from nodes.harness import NodeProcess  # noqa: E402

pytestmark = pytest.mark.waiting


COUNT = 2.0 * np.pi / (4096 * 4.8)
LASTS = 5.0  # s, of what moves on a bus
LOW, HIGH = np.array([[-0.003, -0.002, -0.03, 0.0], [0.001, 0.002, 0.03, 0.2]])


def settings(duration, largest_error, tolerance=0.0):
    return ServoDrivesSettings(
        zeros_duration=duration, zeros_tolerance=tolerance, zeros_largest_error=largest_error
    )


class Hand:
    """Moves torque-free drives whose encoders began to count somewhere."""

    def __init__(self, mechanism, reach=1.0):
        time_ = np.linspace(0.0, 12.0, 600)
        share = 0.5 + 0.5 * reach * np.sin(
            np.outer(time_, [2.1, 3.3, 4.6, 1.7]) + [0.3, 1.0, 2.0, 3.0]
        )
        self.true = mechanism.attempt(LOW + share * (HIGH - LOW)).motions.position
        self.zeros = self.true[0]
        self.shown = np.round((self.true - self.zeros) / COUNT) * COUNT
        self.row, self.moves = 0, False

    def next(self):
        """Positions that the drives show now."""
        self.row += 1
        return self.shown[min(self.row, len(self.shown) - 1)]


@pytest.fixture
def served(ros_node, mechanism, monkeypatch):
    """Requests to drives that are not homed, and a hand, which rests until `calibrated`.

    ``after`` runs while zeros are set.
    """
    monkeypatch.setattr(zero_calibration, '_LOOK', 1.0)
    monkeypatch.setattr(zero_calibration, '_POLL', 0.004)
    supervisor = Supervisor(load_drives('drives.yaml'), mechanism)
    hand = Hand(mechanism)
    drives = IdealDrives(supervisor, hand.shown[0])
    drives.cycle(3)
    after = []

    def begin_homing(target):
        drives.home = target
        for work in after:
            work()

    network = types.SimpleNamespace(
        verify=lambda: None, lost=tuple, altered=tuple, restore=lambda names: None,
        check_unaltered=lambda: None, names=supervisor.joints, begin_homing=begin_homing,
        end_homing=lambda: None,
    )  # fmt: skip
    exchange = types.SimpleNamespace(running=True, failure=None)
    zeros = ZeroCalibration(
        Mechanism(mechanism.description), load_drives('drives.yaml'), supervisor,
        settings(20.0, 0.005),
    )  # fmt: skip
    home = mechanism.home.position
    requests = DriveRequests(ros_node, supervisor, network, exchange, home, 1.0, zeros)
    requests.active = True

    def run(ended):
        while not ended.wait(0.002):
            moving = hand.moves and hand.row < len(hand.shown) and not drives.homing
            drives.velocity = np.full(6, float(moving))
            if moving:
                drives.position = hand.next().copy()
            drives.cycle()

    served = types.SimpleNamespace(
        requests=requests, supervisor=supervisor, hand=hand, zeros=zeros, drives=drives, after=after
    )
    with meanwhile(run):
        yield served
    requests.destroy()


def calibrated(served, moves=True):
    """What is answered while the hand moves."""
    served.hand.moves = moves
    return served.requests.run(served.requests.calibrate_zeros)


def test_zeros_from_motion_by_hand(served) -> None:
    assert 'not homed' in served.requests.run(served.requests.enable).message
    outcome = calibrated(served)
    assert outcome.success, outcome.message
    assert 'zeros of all encoders from' in outcome.message and '(95 %)' in outcome.message
    assert 'the loops close within' in outcome.message
    assert served.hand.row >= len(served.hand.shown)  # it waited for the hand to come to rest
    assert np.abs(served.drives.position - served.hand.true[-1]).max() < 1e-3
    assert np.abs(served.hand.zeros).max() > 0.05
    assert served.requests.run(served.requests.enable).success


def at(served, position):
    """Bring the drives to a position, as the supervisor sees it."""
    served.drives.position = position

    def seen():
        return np.array_equal(served.supervisor.report().feedback.position, position)

    wait_for(seen, f'feedback of {position}')


def test_zeros_that_are_right_are_kept(served) -> None:
    """What held-out poses agree with no better is not set."""
    served.hand.shown = served.hand.true
    at(served, served.hand.true[0])
    served.zeros.settings = settings(20.0, 0.005, tolerance=1e-5)
    outcome = calibrated(served)
    assert outcome.success, outcome.message
    assert 'agree as well with the zeros that the encoders have: kept' in outcome.message
    assert np.abs(served.drives.position - served.hand.true[-1]).max() < 1e-9


def test_below_the_confidence_nothing_is_set(served) -> None:
    served.zeros.settings = settings(2.0, 1e-6)
    outcome = calibrated(served)
    assert not outcome.success
    assert '1e-06 is needed: move it through more of its range' in outcome.message
    assert 'not homed' in served.requests.run(served.requests.enable).message


def test_a_mechanism_that_was_not_moved(served) -> None:
    served.zeros.settings = settings(1.0, 0.005)
    outcome = calibrated(served, moves=False)
    assert not outcome.success and '1 different poses' in outcome.message


def test_a_hand_that_moves_while_zeros_are_set(served) -> None:
    def push():
        served.drives.position = served.drives.position + 0.01
        time.sleep(0.1)

    served.after.append(push)
    outcome = calibrated(served)
    assert not outcome.success and 'moved by 0.01 while zeros were set' in outcome.message
    assert 'not homed' in served.requests.run(served.requests.enable).message


def test_drives_that_give_torque(served) -> None:
    served.drives.home = served.hand.true[-1]
    served.requests._home = served.hand.true[-1]
    assert served.requests.run(served.requests.home).success
    assert served.requests.run(served.requests.enable).success
    outcome = served.requests.run(served.requests.calibrate_zeros)
    assert not outcome.success and 'they must be torque-free' in outcome.message


class Moved:
    """A jaw that a hand moves along a course, then holds, whatever its motors' friction is."""

    def __init__(self, mechanism, step):
        self.joints, self.step, self._time = mechanism.actuated, step, 0.0
        self.hand, self.moving = Hand(mechanism), False
        self._course = CubicSpline(np.linspace(0.0, LASTS, len(self.hand.true)), self.hand.true)
        self.position, self.velocity = self.hand.true[0], np.zeros(6)

    def advance(self, efforts):
        self._time = min(self._time + self.step * self.moving, LASTS)
        self.position = self._course(self._time)
        self.velocity = self._course(self._time, 1) * (self.moving and self._time < LASTS)


@needs_multicast
def test_zeros_of_drives_on_a_bus(ros_domain, mechanism, tmp_path) -> None:
    """Encoders that count from elsewhere: the node hears, sets and verifies them through frames."""
    # The drives are a thread beside others: 0.25 s must pass before it counts as lost.
    file = write_drives(tmp_path, cycle_rate=20.0)
    drives, ended = load_drives(file), threading.Event()
    shipped = load_simulation('simulated_drives.yaml', drives)
    counts = dict(zip(CRANKS, (700, -1500, 2200, 300, -900, 4000), strict=True))
    found = {
        name: SimulatedDrive(**{**dict(drive), 'encoder_offset': counts[name]})
        for name, drive in shipped.drives.items()
    }
    simulation = SimulationSettings(schema=1, step=shipped.step, drives=found)
    plant, bus = Moved(mechanism, simulation.step), open_bus(drives.bus)
    simulator = DriveSimulator(drives, simulation, bus, plant, file)
    thread = threading.Thread(target=simulator.run, args=(lambda: not ended.is_set(),))
    thread.start()
    node = NodeProcess('servo_drives', namespace='moved', drives=file, **{'zeros.tolerance': 0.0})
    peer = DrivesPeer(mechanism, 'moved')
    try:
        peer.connect()
        assert 'not homed' in peer.request('enable')[1]
        assert np.abs(peer.position() - plant.position).max() > 0.05
        plant.moving = True
        success, message = peer.request('calibrate_zeros')
        assert success and 'zeros of all encoders from' in message, message
        true = plant.hand.true[-1]
        # The answer may overtake the first state that has the new zeros.
        wait_for(lambda: np.abs(peer.position() - true).max() < 2e-3, 'the new zeros')
    finally:
        ended.set()
        thread.join()
        peer.close()
        node.end()
        bus.shutdown()
    assert not node.log('Traceback'), node.lines
