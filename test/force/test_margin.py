# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The margin by the loop's model, and the gain at which the twin oscillates.

Without losses in motors and gears, so that the loop is linear; and with them, where the twin is
stepped so finely that its gears lose as the drive layer's compensation takes for granted.
"""

import dataclasses

import numpy as np
import pytest

from masticator_dynamics.control import force_control
from masticator_dynamics.control.force_goal import ForceBounds, ForceGoal, LoopTiming, State
from masticator_dynamics.control.margin import PressedLoop
from masticator_dynamics.control.rest_doubt import rest_doubt
from masticator_dynamics.control.stiffness import Stiffness
from masticator_dynamics.drives.configuration import changed
from masticator_dynamics.drives.scaling import Scaling
from masticator_dynamics.robot.twin.force_run import press
from masticator_dynamics.robot.twin.force_study import pressed_loop, shipped, without_losses

FORCE = 40.0
OSCILLATES = 1.0  # N; noise alone, amplified, is half of that shortly before
TIMING = LoopTiming(quiet=1.0)  # not slower for errors that may be noise


class Known(Stiffness):
    """A stiffness that is never estimated: a part of the true one."""

    part, true = 1.0, 2e4

    def take(self, travel: float, force: float) -> None:
        pass

    @property
    def upper(self) -> float:
        return self.part * self.true

    @property
    def likely(self) -> float:
        return self.true


def ripple(monkeypatch, setting, stiffness: float, factor: float) -> float:  # type: ignore[no-untyped-def]
    """Standard deviation of the true force, N, at some times the gain, while it is held."""
    known = type('Known', (Known,), {'part': 1.0 / factor, 'true': stiffness})
    monkeypatch.setattr(force_control, 'Stiffness', known)
    goal = ForceGoal(most=200.0, duration=0.6, on_crack=False)
    bounds = ForceBounds(beyond=1e3, lateral_force=1e3)
    record = press(setting, goal, lambda time: FORCE, bounds=bounds, timing=TIMING)
    assert record.began(State.FORCE) > 0.0
    time, force = record.controlled
    return float(force[time > time[-1] - 0.2].std())


# N, between noise that is amplified and the cycle that the bound of acceleration leaves: on 20 N/mm
# 0.27 at 1.1 times the predicted gain and 0.96 at 1.2 times.
@pytest.mark.parametrize(('stiffness', 'oscillates'), [(2e4, 0.5), (2e5, OSCILLATES)])
def test_the_twin_oscillates_within_30_percent_of_the_predicted_gain(
    monkeypatch, stiffness, oscillates
) -> None:
    setting = without_losses(shipped(stiffness, 0.006))
    margin = pressed_loop(setting, FORCE, TIMING).gain_margin()
    assert 3.0 < margin < 15.0
    assert ripple(monkeypatch, setting, stiffness, margin / 1.3) < oscillates
    assert ripple(monkeypatch, setting, stiffness, margin * 1.3) > oscillates


def test_as_shipped_too_where_the_twin_is_stepped_finely(monkeypatch) -> None:
    """Its gears lose within 0.05 rad/s, as the drive layer takes for granted, at 0.1 ms alone."""
    setting = shipped(2e5, 0.006)
    fine = dataclasses.replace(setting, simulation=changed(setting.simulation, step=1e-4))
    motors = Scaling([drive.motor for drive in setting.drives.drives.values()])
    creeping = 1e-4  # m/s, at which nothing has quite changed sides
    slope = rest_doubt(setting.known, setting.path(), motors, FORCE, creeping) / creeping
    lossy = dataclasses.replace(pressed_loop(setting, FORCE, TIMING), friction_slope=slope)
    margin = lossy.gain_margin()
    assert ripple(monkeypatch, fine, 2e5, margin / 1.3) < OSCILLATES
    assert ripple(monkeypatch, fine, 2e5, margin * 1.3) > OSCILLATES


def test_the_model_of_an_integrator_with_delay() -> None:
    """With endlessly stiff drives nothing is left but the integrator: pi / (2 b T)."""
    timing = LoopTiming(lead=0.0, smoothing=0.0)
    loop = PressedLoop(2e4, 1e15, 0.0, 1.0, 0.002, timing)
    delay = timing.path_delay + 0.002 + 0.5 * timing.period
    expected = np.pi / (2.0 * timing.bandwidth(0.002) * delay)
    assert loop.gain_margin() == pytest.approx(expected, rel=1e-3)
    assert loop.gain_margin(assumed=1e4) == pytest.approx(0.5 * expected, rel=1e-3)


def test_a_later_sensor_costs_no_margin_since_the_bandwidth_follows() -> None:
    loop = PressedLoop(2e4, 2e5, 1e3, 1.3, 0.002, LoopTiming())
    later = dataclasses.replace(loop, sensor_delay=0.008)
    assert later.gain_margin() > 0.8 * loop.gain_margin()
    unaware = dataclasses.replace(later, timing=LoopTiming(phase=0.8))
    assert unaware.gain_margin() < 0.7 * loop.gain_margin()
