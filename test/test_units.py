# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sizes that people write, and what parameters of every mechanism measure."""

import math

import pytest
import samples

from masticator_dynamics.engine import parameters
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.units import QUANTITIES, in_si, is_size


@pytest.mark.parametrize(
    ('text', 'quantity', 'value'),
    [
        (0.015, 'length', 0.015), ('0.015', 'length', 0.015), ('8mm', 'length', 0.008),
        ('-5 mm', 'length', -0.005), ('\N{MINUS SIGN}5 mm', 'length', -0.005),
        (' +1.5e1  cm ', 'length', 0.15), ('.5um', 'length', 5e-7),
        ('3 \N{GREEK SMALL LETTER MU}m', 'length', 3e-6),
        ('20 deg', 'angle', math.radians(20.0)), ('20°', 'angle', math.radians(20.0)),
        ('0.3rad', 'angle', 0.3), ('2 g', 'mass', 0.002), ('12 Nm', 'torque', 12.0),
        ('12 mN m', 'torque', 0.012), ('0.8 N·m', 'torque', 0.8),
        ('54 g cm²', 'moment of inertia', 5.4e-6),
        ('54 g*cm^2', 'moment of inertia', 5.4e-6), ('2 N/mm', 'linear stiffness', 2000.0),
        ('1 N m/deg', 'angular stiffness', 180.0 / math.pi), ('5e3', 'force', 5000.0),
        ('5 kN', '', 5000.0),
    ],
)  # fmt: skip
def test_sizes(text, quantity, value):
    assert in_si(text, 'size', quantity or ()) == pytest.approx(value, rel=1e-15)
    assert is_size(text)


@pytest.mark.parametrize(
    ('text', 'quantity', 'said'),
    [
        ('5 mm', 'angle', 'is an angle, and mm measures a length'),
        ('5mm', 'angle', 'is an angle, and mm measures a length'),
        ('20deg', 'moment of inertia', 'is a moment of inertia, and deg measures an angle'),
        ('2 kg', 'force', 'is a force, and kg measures a mass'),
        ('3 mm', 'ratio', 'is a ratio, and mm measures a length'),
        ('5 MM', 'length', "no unit 'MM'; there are: m, cm, mm"),
        ('5 MN', 'force', "no unit 'MN'"), ('5 nm', 'torque', "no unit 'nm'"),
        ('5 mm mm', 'length', "no unit 'mm mm'"), ('5 m m', 'length', "no unit 'm m'"),
        ('2 m N m', 'torque', "no unit 'm N m'"), ('0,015', 'length', 'is no number'),
        ('mm', 'length', 'is no number'), ('', 'length', 'is no number'),
        ('5 -mm', 'length', 'is no number'), ('1.2.3', 'length', 'is no number'),
        ('nan', 'length', 'is not finite'), ('1e999 mm', 'length', 'is not finite'),
        (math.inf, 'length', 'is not finite'), ('half', '', 'is no number'),
    ],
)  # fmt: skip
def test_what_is_refused(text, quantity, said):
    with pytest.raises(InputError, match=f'^size:? .*{said}'):
        in_si(text, 'size', quantity or ())


@pytest.mark.parametrize('text', ['half', '2 * half', '1 - half', '-half', 'x.y', '2 m / half'])
def test_formulas_are_no_sizes(text):
    assert not is_size(text) or text == '2 m / half'


def test_units_of_a_quantity_begin_with_its_own_in_si():
    for units in QUANTITIES.values():
        assert not units or next(iter(units.values())) == 1.0
    symbols = [u.replace(' ', '') for units in QUANTITIES.values() for u in units]
    assert len(symbols) == len(set(symbols))  # a unit measures one quantity


@pytest.mark.parametrize('name', samples.swept(samples.ALL))
def test_every_parameter_of_every_mechanism_measures_something(name):
    mechanism = samples.mechanism(name)
    joints = {joint.name: joint for joint in mechanism.description.tree.joints}
    for parameter in mechanism.parameters(friction=True, geometry=True):
        measured = parameters.quantities(mechanism.description, parameter)
        assert measured and all(quantity in QUANTITIES for quantity in measured)
        owner, _, ending = parameter.rpartition('.')
        if ending == 'zero':
            assert measured == ('length' if joints[owner].unit == 'm' else 'angle',)


def test_a_motor_that_turns_a_screw_has_a_moment_of_inertia():
    trimule = samples.mechanism('trimule').description
    assert parameters.quantities(trimule, 'limb_1.rotor_inertia') == ('moment of inertia',)
    assert parameters.quantities(trimule, 'limb_1.zero') == ('length',)
    assert parameters.quantities(trimule, 'limb_1.friction') == ('force',)
    slides = samples.mechanism('rcid').description
    assert parameters.quantities(slides, 'slider_1.rotor_inertia') == ('mass',)
