# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``<mimic>`` in the URDF of a mechanism file is equivalent to a coupling."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
import samples
from linkages import Part, urdf

from masticator_dynamics import Mechanism
from masticator_dynamics.description import description_from_text
from masticator_dynamics.description.urdf import parse
from masticator_dynamics.errors import DescriptionError

FILE = pathlib.Path('arm.yaml')
YAML = (
    'schema: 1\nname: arm\nurdf: arm.urdf\nbase: base\nplatform: b\n'
    'independent: [a_joint]\nactuated: [a_joint]\n'
)
COUPLED = (
    'home: {b_joint: 0.1}\nclosures:\n'
    '  - {name: gear, type: coupling, joint: b_joint, of: {a_joint: [-2.0]}, offset: 0.1}\n'
)


def test_it_is_the_coupling_that_could_be_written_instead() -> None:
    plain = urdf(
        'base',
        [
            Part('a', 'base', mass=1.0, center=(0.1, 0.0, 0.0)),
            Part('b', 'a', at=(0.2, 0.0, 0.0), mass=0.5, center=(0.1, 0.02, 0.0)),
        ],
    )
    at = plain.index('</joint>', plain.index('name="b_joint"'))
    mimic = '<mimic joint="a_joint" multiplier="-2" offset="0.1"/>'
    read = Mechanism(description_from_text(FILE, YAML, plain[:at] + mimic + plain[at:]))
    written = Mechanism(description_from_text(FILE, YAML + COUPLED, plain))
    assert read.closures == ('b_joint_mimic',)
    for y in (-0.4, 0.0, 0.7):
        motion = read.solve([y], [1.0], [2.0])
        assert motion.q == pytest.approx([y, 0.1 - 2.0 * y], abs=1e-14)
        one, other = (m.feedforward([y], [1.0], [2.0]) for m in (read, written))
        assert np.array_equal(one.actuated, other.actuated)
        assert samples.relative_error(one.coupling_effort, other.coupling_effort) < 1e-12


def test_a_chain_of_mimics_gives_home_whatever_their_order() -> None:
    plain = urdf('base', [Part(name, 'base', mass=1.0) for name in 'abc'])
    for name, other, ratio in (('a', 'b', 2.0), ('b', 'c', 3.0)):
        at = plain.index('</joint>', plain.index(f'name="{name}_joint"'))
        mimic = f'<mimic joint="{other}_joint" multiplier="{ratio}" offset="0.1"/>'
        plain = plain[:at] + mimic + plain[at:]
    text = YAML.replace('[a_joint]', '[c_joint]') + 'home: {c_joint: 0.2}\n'
    home = description_from_text(FILE, text, plain).home
    assert home['b_joint'] == pytest.approx(0.7) and home['a_joint'] == pytest.approx(1.5)
    assert Mechanism(description_from_text(FILE, text, plain)).home.y == pytest.approx([0.2])


def test_mimics_in_a_ring_and_names_that_are_taken(recwarn: pytest.WarningsRecorder) -> None:
    plain = urdf('base', [Part(name, 'base', mass=1.0) for name in 'ab'])
    both = plain
    for name, other in ('ab', 'ba'):
        at = both.index('</joint>', both.index(f'name="{name}_joint"'))
        both = f'{both[:at]}<mimic joint="{other}_joint" multiplier="2"/>{both[at:]}'
    with pytest.raises(DescriptionError, match='2 constraint equations for 1 dependent'):
        Mechanism(description_from_text(FILE, YAML, both))
    at = plain.index('</joint>', plain.index('name="b_joint"'))
    mimic = f'{plain[:at]}<mimic joint="a_joint"/>{plain[at:]}'
    taken = '{name: b_joint_mimic, type: coupling, joint: b_joint, of: {a_joint: [1.0]}}'
    with pytest.raises(DescriptionError, match="'b_joint_mimic' appears twice"):
        description_from_text(FILE, f'{YAML}closures: [{taken}]\n', mimic)


@pytest.mark.parametrize(
    ('others', 'ratios', 'held'),
    [('ca', (2.0, -1.0), 'a_joint, c_joint'), ('bca', (2.0, 3.0, 1.0), 'a_joint, b_joint, c_joint'),
     ('ca', (2.0, 0.5), ''), ('bd', (2.0, 3.0), '')],
)  # fmt: skip
def test_a_ring_of_mimics_that_holds_its_joints_is_told(
    others: str, ratios: tuple[float, ...], held: str
) -> None:
    """A ring whose multipliers make 1 says the same thing twice, and a chain is no ring."""
    text = urdf('base', [Part(name, 'base', mass=1.0) for name in 'abcd'])
    followers = 'ac' if others == 'ca' else 'abc'
    for name, other, ratio in zip(followers, others, ratios, strict=False):
        at = text.index('</joint>', text.index(f'name="{name}_joint"'))
        text = f'{text[:at]}<mimic joint="{other}_joint" multiplier="{ratio}"/>{text[at:]}'
    sentences = [w for w in parse(text, FILE).warnings if 'ring' in w]
    assert len(sentences) == bool(held)
    assert all(f'of joints {held} makes' in s for s in sentences)
