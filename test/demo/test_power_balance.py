# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is stored in a mechanism, against closed forms; whatever does not balance is seen."""

import dataclasses

import linkages
import numpy as np
import pytest
from linkages import Part

from demo.perfect_run import perfect_record
from masticator_dynamics import Mechanism
from masticator_dynamics.robot.acceptance.checks import ENERGY_TOLERANCE
from masticator_dynamics.robot.acceptance.link_motion import LinkMotion
from masticator_dynamics.robot.acceptance.passes import Pass
from masticator_dynamics.robot.recording.demo_motion import built_in_script

LEAD, RATIO, ARM, G = 0.005, -6.0, 0.3, 9.81
CART, BOB = 2.0, 0.7  # kg
ROTORS = {'cart': 3e-5, 'pole': 2e-4}  # kg m^2, of the motors
# Moment of inertia of the bob about its centre, axis Z: `linkages.urdf` says 0.013 kg m^2 per kg.
SPIN = 1.3e-2 * BOB


@pytest.fixture(scope='module')
def cart(tmp_path_factory):
    """A cart on a ball screw, with a pole on a gear: springs, rotors, an armature, two units."""
    parts = [
        Part('cart', 'ground', axis=(1.0, 0.0, 0.0), kind='prismatic', mass=CART),
        Part('pole', 'cart', mass=BOB, center=(ARM, 0.0, 0.0)),
    ]
    joints = ['cart_joint', 'pole_joint']
    return Mechanism.load(
        linkages.write(
            tmp_path_factory.mktemp('cart'), parts, 'cart', gravity=[0.0, -G, 0.0],
            independent=joints, actuated=joints, platform='pole',
            actuators={
                'cart_joint': {'transmission': {'lead': LEAD}, 'rotor_inertia': ROTORS['cart']},
                'pole_joint': {'transmission': {'ratio': RATIO}, 'rotor_inertia': ROTORS['pole']},
            },
            joints={
                'cart_joint': {'stiffness': 40.0},
                'pole_joint': {'stiffness': 1.5, 'reference': 0.4, 'armature': 0.5},
            },
        )
    )  # fmt: skip


def closed_form(x, angle, speed, rate):
    """Energy of the cart with the pole, J, written by hand (Lagrange)."""
    screw, gear = 2.0 * np.pi / LEAD * speed, RATIO * rate
    bob = speed**2 - 2.0 * speed * rate * ARM * np.sin(angle) + (ARM * rate) ** 2
    moving = CART * speed**2 + BOB * bob + SPIN * rate**2 + 0.5 * rate**2
    moving += ROTORS['cart'] * screw**2 + ROTORS['pole'] * gear**2
    springs = 40.0 * x**2 + 1.5 * (angle - 0.4) ** 2
    return 0.5 * (moving + springs) + BOB * G * ARM * np.sin(angle)


def test_energy_of_rotors_gears_and_springs(cart):
    q, v = np.random.default_rng(5).normal(size=(2, 6, 2))
    links = LinkMotion(cart.description, cart.tree_joints, q, v)
    assert links.energy() == pytest.approx(closed_form(*q.T, *v.T), rel=1e-12)
    # Columns are found by name.
    turned = LinkMotion(cart.description, cart.tree_joints[::-1], q[:, ::-1], v[:, ::-1])
    assert turned.energy() == pytest.approx(links.energy(), rel=1e-14)


def run_of(mechanism):
    script = built_in_script(mechanism, 1)
    return Pass(mechanism, script, perfect_record(mechanism, script))


def test_motor_power_is_that_of_the_motor(cart):
    """The balance closes for any gear: power is the motor's effort times the motor's speed."""
    run = run_of(cart)
    assert run.energy_error < 1e-7
    work = np.abs(run.state.effort * run.state.velocity * cart.transmission_ratios).max()
    assert work > 0.1  # W; there is something to balance


def changed(description, kind):
    """A description of which one number is a tenth too large."""
    replace = dataclasses.replace
    if kind == 'mass':
        links = {k: replace(v, mass=1.1 * v.mass) for k, v in description.tree.links.items()}
        return replace(description, tree=replace(description.tree, links=links))
    if kind in ('stiffness', 'armature'):
        joints = {
            k: replace(v, **{kind: 1.1 * getattr(v, kind)}) for k, v in description.joints.items()
        }
        return replace(description, joints=joints)
    actuators = {
        name: replace(old, rotor_inertia=1.1 * old.rotor_inertia)
        if kind == 'rotor_inertia'
        else replace(old, transmission=replace(old.transmission, ratio=1.1 * old.ratio, lead=None))
        for name, old in description.actuators.items()
    }
    return replace(description, actuators=actuators)


@pytest.mark.parametrize('kind', ['mass', 'stiffness', 'armature', 'rotor_inertia', 'ratio'])
def test_numbers_that_are_a_tenth_off_do_not_balance(cart, kind):
    """Efforts computed with other numbers than the description's are noticed."""
    run = run_of(cart)
    assert run.bite.error.max() < 1e-9  # known by the right numbers
    run.mechanism = Mechanism(changed(cart.description, kind))
    assert run.energy_error > 2.0 * ENERGY_TOLERANCE
