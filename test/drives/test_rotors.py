# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.description import load_description
from masticator_dynamics.drives.configuration import Drives, load_drives
from masticator_dynamics.drives.scaling import with_rotors
from masticator_dynamics.errors import DescriptionError

DRIVES = load_drives('drives.yaml')
STATE = ([0.001, 0.0005, 0.02, 0.1], [0.01, 0.0, 0.2, 0.8], [0.1, -0.2, 3.0, -5.0])


def test_rotors_turn_with_the_gear_and_take_their_share_of_the_effort():
    bare = Mechanism.load('masticator')
    geared = Mechanism(with_rotors('masticator', DRIVES))
    motion = bare.solve(*STATE)
    jacobian = bare.jacobian_actuated_from_independent(motion)
    # What the motors do along the freedoms of motion; how six share it is another question.
    taken = jacobian.T @ (geared.feedforward(*STATE).actuated - bare.feedforward(*STATE).actuated)
    motors = [drive.motor for drive in DRIVES.drives.values()]
    felt = np.array([motor.rotor_inertia * motor.gear_ratio**2 for motor in motors])
    expected = jacobian.T @ (felt * motion.a[bare.actuated_rows])
    assert np.abs(taken).max() > 1e-5
    assert taken == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_other_joints_keep_theirs():
    assert with_rotors('rcid', DRIVES).actuators == load_description('rcid').actuators


def test_a_transmission_in_the_description_is_not_mixed_with_that_of_the_drives():
    trimule = load_description('trimule')
    one = next(iter(DRIVES.drives.values()))
    fields = dict(DRIVES) | {'drives': {trimule.actuated[0]: one}}
    drives = Drives(schema=fields.pop('schema_'), **fields)
    with pytest.raises(DescriptionError, match=f'{trimule.actuated[0]}.rotor_inertia'):
        with_rotors(trimule, drives)
