# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What motors at rest do not tell of a force."""

import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.control.rest_doubt import rest_doubt
from masticator_dynamics.drives.configuration import changed
from masticator_dynamics.drives.scaling import Scaling
from masticator_dynamics.robot.twin import force_study


@pytest.fixture(scope='module')
def setting():
    return force_study.shipped(20e3, 0.008)


def scaling(setting, friction=1.0, efficiency=None):
    motors = []
    for drive in setting.drives.drives.values():
        law = changed(drive.motor.friction, coulomb=friction * drive.motor.friction.coulomb,
                      viscous=friction * drive.motor.friction.viscous)  # fmt: skip
        motor = changed(drive.motor, friction=law)
        motors.append(motor if efficiency is None else changed(motor, efficiency=efficiency))
    return Scaling(motors)


def smooth(mechanism: Mechanism) -> Mechanism:
    values = {n: 0.0 for n in mechanism.parameters(friction=True) if n.endswith('.coulomb')}
    return mechanism.with_parameters(values)


def test_without_losses_motors_tell_the_force(setting) -> None:
    doubt = rest_doubt(
        smooth(setting.known), setting.path(), scaling(setting, 0.0, 1.0), 60.0, 0.01
    )
    assert doubt == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize('efficiency', [0.8, 0.95])
def test_gears_hide_what_they_lose(setting, efficiency) -> None:
    """All power goes through gears: in it is divided by their efficiency, back multiplied."""
    path, known = setting.path(), smooth(setting.known)
    still = known.feedforward(path.state(path.length, 0.0, 0.0)[0])
    assert np.abs(still.actuated).max() < 0.05  # gravity is little beside the bite
    doubts = [
        rest_doubt(known, path, scaling(setting, 0.0, efficiency), force, 0.01)
        for force in (60.0, 120.0)
    ]
    hidden = 0.5 * (1.0 / efficiency - efficiency) * 60.0
    assert doubts[0] > 0.9 * hidden  # motors that press against one another hide more
    assert doubts[0] < 2.0 * hidden
    assert doubts[1] == pytest.approx(2.0 * doubts[0], rel=0.1)


def test_friction_hides_as_much_without_any_force(setting) -> None:
    """Coulomb friction by virtual work: cranks turn by the Jacobian times the travel."""
    path = setting.path()
    motors = [drive.motor for drive in setting.drives.drives.values()]
    rubbing = np.array([m.friction.coulomb * m.gear_ratio for m in motors])
    most = 0.0
    for travel in np.linspace(0.0, path.length, 5).tolist():
        y, slope, _ = path.state(travel, 1.0, 0.0)
        turned = setting.known.solve(y).tangent[setting.known.actuated_rows] @ slope
        most = max(most, float(np.abs(turned) @ rubbing))
    doubt = rest_doubt(smooth(setting.known), path, scaling(setting, 1.0, 1.0), 1e-6, 0.01)
    assert doubt == pytest.approx(most, rel=0.25)  # viscous friction at 10 mm/s is in it, too
    assert doubt > most


def test_the_shipped_robot_hides_more_than_a_tenth(setting) -> None:
    motors = Scaling([drive.motor for drive in setting.drives.drives.values()])
    doubt = rest_doubt(setting.known, setting.path(), motors, 60.0, 0.01)
    assert 10.0 < doubt < 30.0  # at rest the prototype saw 12 N of gears and 4 N of friction
