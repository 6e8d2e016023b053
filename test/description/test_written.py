# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions written as files are the same when they are read again."""

import dataclasses
import pathlib

import numpy as np
import pytest
import small_robots

from masticator_dynamics import Mechanism
from masticator_dynamics.description import archetypes, load_description, shipped_mechanisms
from masticator_dynamics.description.data import MechanismDescription
from masticator_dynamics.description.written import save
from masticator_dynamics.errors import InputError

SMALL = small_robots.CLOSURES | small_robots.CONTACTS | small_robots.JOINTS
NAMES = (*SMALL, *sorted((*shipped_mechanisms(), *archetypes())))


def assert_same(one: object, other: object, place: str) -> None:
    if dataclasses.is_dataclass(one):
        assert type(one) is type(other), place
        for field in dataclasses.fields(one):
            of = field.name
            if not (
                isinstance(one, MechanismDescription) and of in ('file', 'urdf_file', 'urdf_xml')
            ):
                assert_same(getattr(one, of), getattr(other, of), f'{place}.{of}')
    elif isinstance(one, dict):
        assert isinstance(other, dict) and list(one) == list(other), place
        for key in one:
            assert_same(one[key], other[key], f'{place}[{key}]')
    elif isinstance(one, tuple):
        assert isinstance(other, tuple) and len(one) == len(other), place
        for k, parts in enumerate(zip(one, other, strict=True)):
            assert_same(*parts, f'{place}[{k}]')
    elif isinstance(one, np.ndarray):
        assert np.array_equal(one, other), place
    else:
        assert one == other, place


@pytest.mark.parametrize('name', NAMES)
def test_what_is_written_is_read_again(tmp_path: pathlib.Path, name: str) -> None:
    (tmp_path / 'before').mkdir()
    (tmp_path / 'after').mkdir()
    source = SMALL[name](tmp_path / 'before') if name in SMALL else name
    description = load_description(source)
    file = tmp_path / 'after' / 'again.yaml'
    save(description, file, 'first line\nsecond line')
    again = load_description(file)
    home = {joint: x for joint, x in description.home.items() if x}
    assert_same(dataclasses.replace(description, home=home), again, name)
    assert file.read_text(encoding='utf-8').startswith('# first line\n# second line\n')


def test_a_changed_mechanism(tmp_path: pathlib.Path) -> None:
    """Masses, placements and dimensions that were given by name are in the files."""
    mechanism = Mechanism.load('slider_crank')
    values = {
        name: 1.1 * x + 0.001
        for name, x in mechanism.parameters(geometry=True).items()
        if name.endswith(('.mass', '_joint.x', '.rotor_inertia'))
    }
    changed = mechanism.with_parameters(values)
    changed.save(tmp_path / 'changed.yaml')
    again = Mechanism.load(tmp_path / 'changed.yaml').parameters(geometry=True)
    assert {name: again[name] for name in values} == pytest.approx(values, rel=1e-12)


def test_meshes_are_still_found(tmp_path: pathlib.Path) -> None:
    part = small_robots.point(tmp_path)
    urdf = tmp_path / 'point.urdf'
    shape = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    named = ('meshes/a.stl', 'package://robot/b.stl', '/c.stl', 'file:///d.stl')
    text = urdf.read_text(encoding='utf-8')
    at = text.index('<link name="crank">') + len('<link name="crank">')
    shapes = ''.join(map(shape.format, named))
    urdf.write_text(text[:at] + shapes + text[at:], encoding='utf-8')
    (tmp_path / 'elsewhere').mkdir()
    save(load_description(part), tmp_path / 'elsewhere' / 'again.yaml')
    written = (tmp_path / 'elsewhere' / 'again.urdf').read_text(encoding='utf-8')
    for name in (f'{tmp_path}/meshes/a.stl', *named[1:]):
        assert f'filename="{name}"' in written


def test_another_ending_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(InputError, match='again.urdf: the name of a description ends with .yaml'):
        Mechanism.load('slider_crank').save(tmp_path / 'again.urdf')
    assert list(tmp_path.iterdir()) == []
