# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Errors in a mechanism file are reported with file, key and reason."""

from __future__ import annotations

import copy
import math
import pathlib
import re
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import samples
import yaml
from processes import PYTHON, completed

from masticator_dynamics import Mechanism
from masticator_dynamics.description import load_description, shipped_mechanisms
from masticator_dynamics.errors import DescriptionError, DescriptionWarning
from masticator_dynamics.files.yaml_file import read_mapping

Edit = Callable[[dict[str, Any]], Any]


def content_of(name: str) -> dict[str, Any]:
    """A description as plain data, with an absolute path of its URDF."""
    file = samples.file_of(name)
    data = yaml.safe_load(file.read_text(encoding='utf-8'))
    return {**data, 'urdf': str((file.parent / data['urdf']).resolve())}


FIVE_BAR, LADDER = content_of('five_bar'), content_of('ladder')


def load_edited(folder: pathlib.Path, original: dict[str, Any], edit: Edit) -> Mechanism:
    """The mechanism of a file after an edit of its data."""
    data = copy.deepcopy(original)
    edit(data)
    file = folder / 'edited.yaml'
    file.write_text(yaml.safe_dump(data), encoding='utf-8')
    return Mechanism.load(file)


def refused(folder: pathlib.Path, original: dict[str, Any], edit: Edit) -> DescriptionError:
    """The refusal of an edited file; checks that it names the file and contains the parts."""
    with pytest.raises(DescriptionError) as caught:
        load_edited(folder, original, edit)
    error = caught.value
    assert error.file == str(folder / 'edited.yaml')
    assert str(error) == f'{error.file}: {error.key}: {error.reason}'
    return error


def test_the_unedited_files_are_fine(tmp_path: pathlib.Path) -> None:
    for original in (FIVE_BAR, LADDER):
        assert load_edited(tmp_path, original, lambda data: None).name == original['name']


def test_what_is_read() -> None:
    description = load_description(samples.file_of('ladder'))
    assert description.name == 'ladder'
    assert (description.base, description.platform) == ('ground', 'rungs')
    assert description.gravity == (0.0, -9.81, 0.0)
    assert description.actuators['slide'].rotor_inertia == 1.5
    assert description.contacts[0].normal == (2.0, 1.0, 0.0)
    assert description.contacts[0].range.x is None
    assert description.contacts[0].range.y == (0.1, 0.95)
    assert description.urdf_file == samples.OWN / 'ladder.urdf'
    assert '<robot name="ladder">' in description.urdf_xml


def test_defaults(tmp_path: pathlib.Path) -> None:
    def edit(data: dict[str, Any]) -> None:
        for key in ('gravity', 'actuators', 'home'):
            data.pop(key)
        for joint in ('x', 'motor_1', 'motor_2'):
            data.setdefault('home', {})[joint] = 0.0
        data['home']['y'] = 0.325
        del data['closures'][0]['type']

    description = load_edited(tmp_path, FIVE_BAR, edit).description
    assert description.gravity == (0.0, 0.0, -9.80665)  # standard gravity
    assert description.actuators['motor_2'].rotor_inertia == 0.0
    assert description.contacts == ()


def test_shipped_mechanisms_load_by_name_and_by_path() -> None:
    names = shipped_mechanisms()
    assert {'masticator', 'rss6', 'rcid'} <= set(names)
    for name in names:
        assert load_description(name).name == name
        assert load_description(samples.SHIPPED / f'{name}.yaml').name == name


# Not a mechanism file at all


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('closures: [1, {a: ]', 'not YAML: .*line 1'),
        ('closures: [1,', 'not YAML: .*line'),
        ('name:\tx\n\ty: 1', 'not YAML: .*line'),
        ('- schema', 'not a mapping'),
        ('', 'not a mapping'),
        ('home: {x: 1}\nname: a\nhome: {y: 2}', 'not YAML: a key appears twice, line 3'),
        ('home: {x: 1, y: 2, x: 3}', 'not YAML: a key appears twice, line 1'),
    ],
)
def test_broken_yaml(tmp_path: pathlib.Path, text: str, reason: str) -> None:
    file = tmp_path / 'broken.yaml'
    file.write_text(text, encoding='utf-8')
    with pytest.raises(DescriptionError, match=f'broken.yaml: {reason}'):
        Mechanism.load(file)


SECRETS = (
    'a: *SECRET', 'a: &b 1\nSECRET: &b SECRET\nc: [', 'SECRET: 1\nSECRET: 2', 'a: !SECRET x',
    'a: !e!SECRET x', 'a: !!int SECRET', 'a: !!float SECRET', 'a: !!timestamp SECRET',
    'a: !!binary SECRET?', 'user:SECRET:\nfoo: [bar: baz', '{SECRET', 'a: "SECRET \\q"',
    'SECRET: a: b', 'x: \0SECRET', '- SECRET\nb', "a: 'SECRET", '%YAML SECRET\n---',
    '? {SECRET: 1}', 'a: `SECRET', 'key: |\n SECRET\n\tSECRET: [',
)  # fmt: skip
WITHOUT_LIBYAML = """
    import sys
    sys.modules['yaml.cyaml'] = None
    from masticator_dynamics.files.yaml_file import read_mapping
    for file in sys.argv[1:]:
        try:
            read_mapping(file)
        except ValueError as error:
            print(error)
"""


def test_what_is_in_a_file_that_is_not_yaml_is_told_to_nobody(tmp_path: pathlib.Path) -> None:
    """The file may be any. With libyaml and without, whose errors show the line."""
    files = [tmp_path / f'{k}.yaml' for k in range(len(SECRETS))]
    said = []
    for file, text in zip(files, SECRETS, strict=True):
        file.write_text(text, encoding='utf-8')
        with pytest.raises(DescriptionError) as caught:
            read_mapping(file)
        said.append(str(caught.value))
    done = completed(*PYTHON, '-c', textwrap.dedent(WITHOUT_LIBYAML), *files, check=True)
    others = done.stdout.splitlines()
    assert len(others) == len(files)
    for line in said + others:
        assert 'SECRET' not in line
        assert re.search('line [1-4]|character|is text|not a mapping', line), line


def test_a_file_of_bytes(tmp_path: pathlib.Path) -> None:
    file = tmp_path / 'bytes.yaml'
    file.write_bytes(b'name: \xff\xfe')
    with pytest.raises(DescriptionError, match='bytes.yaml: not YAML: .*UTF-8'):
        Mechanism.load(file)


def test_a_missing_file(tmp_path: pathlib.Path) -> None:
    with pytest.raises(DescriptionError, match='absent.yaml: No such file'):
        Mechanism.load(tmp_path / 'absent.yaml')


def test_an_unknown_name() -> None:
    with pytest.raises(DescriptionError, match='jaw: no such mechanism; shipped are .*masticator'):
        Mechanism.load('jaw')
    with pytest.raises(DescriptionError, match=r"no such mechanism; is 'masticator' meant\?"):
        Mechanism.load('mastikator')


def test_a_folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'ankel').mkdir()
    with pytest.raises(DescriptionError, match=f'{tmp_path}/ankel: no mechanism but a folder$'):
        Mechanism.load(tmp_path / 'ankel')
    (tmp_path / 'ankel' / 'ankel.yaml').touch()
    for folder in ('ankel', tmp_path / 'ankel'):
        with pytest.raises(DescriptionError, match=r"but a folder; is '.*ankel/ankel\.yaml' meant"):
            Mechanism.load(folder)


# Keys and types


@pytest.mark.parametrize(
    'key', ['schema', 'name', 'urdf', 'base', 'platform', 'independent', 'actuated']
)
def test_missing_keys(tmp_path: pathlib.Path, key: str) -> None:
    error = refused(tmp_path, FIVE_BAR, lambda data: data.pop(key))
    assert (error.key, error.reason) == (key, 'is missing')


def test_a_key_that_is_missing_because_it_is_misspelt(tmp_path: pathlib.Path) -> None:
    error = refused(tmp_path, FIVE_BAR, lambda data: data.update(bass=data.pop('base')))
    assert (error.key, error.reason) == ('bass', "unknown key; is 'base' meant?")


def test_a_number_with_its_unit(tmp_path: pathlib.Path) -> None:
    error = refused(tmp_path, LADDER, lambda data: data['contacts'][0].update(offset='5 mm'))
    assert error.key == 'contacts[0].offset' and "(got '5 mm')" in error.reason
    assert 'in SI units and stand without the unit' in error.reason


def test_missing_keys_inside(tmp_path: pathlib.Path) -> None:
    error = refused(tmp_path, LADDER, lambda data: data['contacts'][0].pop('offset'))
    assert (error.key, error.reason) == ('contacts[0].offset', 'is missing')
    error = refused(tmp_path, FIVE_BAR, lambda data: data['closures'][1].pop('name'))
    assert (error.key, error.reason) == ('closures[1].name', 'is missing')


@pytest.mark.parametrize(
    ('key', 'meant', 'edit'),
    [
        ('platfrom', 'platform', lambda data: data.update(platfrom='pin')),
        ('closures[1].frame', 'frames', lambda data: data['closures'][1].update(frame='pin')),
        (
            'actuators.motor_1.gear', 'gear_loss',
            lambda data: data['actuators']['motor_1'].update(gear=5.0),
        ),
        (
            'actuators.motor_1.price', '',
            lambda data: data['actuators']['motor_1'].update(price=5.0),
        ),
    ],
)  # fmt: skip
def test_unknown_keys(tmp_path: pathlib.Path, key: str, meant: str, edit: Edit) -> None:
    error = refused(tmp_path, FIVE_BAR, edit)
    likely = f'; is {meant!r} meant?' if meant else ''
    assert (error.key, error.reason) == (key, f'unknown key{likely}')


@pytest.mark.parametrize(
    ('key', 'edit'),
    [
        ('gravity', lambda data: data.update(gravity='down')),
        ('gravity', lambda data: data.update(gravity=[0.0, -9.81])),
        ('gravity', lambda data: data.update(gravity=[0.0, 'much', 0.0])),
        ('closures', lambda data: data.update(closures=5)),
        ('closures', lambda data: data.update(closures={'name': 'leg'})),
        ('closures[0]', lambda data: data['closures'].insert(0, None)),
        ('closures[0].frames', lambda data: data['closures'][0].update(frames=['pin'])),
        ('closures[0].frames', lambda data: data['closures'][0].update(frames=['pin'] * 3)),
        ('contacts', lambda data: data.update(contacts='wall')),
        ('home.y', lambda data: data['home'].update(y='high')),
        ('home', lambda data: data.update(home=[0.325])),
        ('independent', lambda data: data.update(independent='x')),
        ('actuators.motor_1', lambda data: data['actuators'].update(motor_1=0.002)),
    ],
)
def test_wrong_types(tmp_path: pathlib.Path, key: str, edit: Edit) -> None:
    assert refused(tmp_path, FIVE_BAR, edit).key.startswith(key)


@pytest.mark.parametrize(
    ('edit', 'reason'),
    [
        (
            lambda data: data.update(independent='x'),
            "should be a list (got 'x'); write independent: [x]",
        ),
        (lambda data: data.update(gravity=-9.81), 'should be a list (got -9.81)'),
        (lambda data: data.update(home=[0.325]), 'should be a mapping of keys to values'),
    ],
)
def test_wrong_types_are_told_in_words_of_yaml(
    tmp_path: pathlib.Path, edit: Edit, reason: str
) -> None:
    assert refused(tmp_path, FIVE_BAR, edit).reason == reason


def test_merged_keys_may_be_set_again(tmp_path: pathlib.Path) -> None:
    """That is what merging is for; also where a mapping is merged more than once."""
    file = tmp_path / 'merged.yaml'
    text = yaml.safe_dump({key: FIVE_BAR[key] for key in FIVE_BAR if key != 'actuators'})
    motors = '{motor_1: &m {rotor_inertia: 1.0}, motor_2: &n {<<: *m, rotor_inertia: 2.0}}'
    file.write_text(f'{text}\nactuators: {motors}\n', encoding='utf-8')
    description = load_description(file)
    assert [motor.rotor_inertia for motor in description.actuators.values()] == [1.0, 2.0]


def test_another_schema_version(tmp_path: pathlib.Path) -> None:
    error = refused(tmp_path, FIVE_BAR, lambda data: data.update(schema=2))
    assert error.key == 'schema' and '1' in error.reason


@pytest.mark.parametrize('number', [math.nan, math.inf, -math.inf, 'nan'])
@pytest.mark.parametrize(
    ('key', 'edit'),
    [
        ('gravity', lambda data, x: data.update(gravity=[0.0, x, 0.0])),
        ('home.tilt', lambda data, x: data['home'].update(tilt=x)),
        ('contacts[0].normal', lambda data, x: data['contacts'][0].update(normal=[2.0, x, 0.0])),
        ('contacts[0].offset', lambda data, x: data['contacts'][0].update(offset=x)),
        ('contacts[0].range', lambda data, x: data['contacts'][0]['range'].update(y=[x, 1.0])),
        ('actuators.slide.rotor_inertia',
         lambda data, x: data['actuators']['slide'].update(rotor_inertia=x)),
    ],
)  # fmt: skip
def test_numbers_that_are_none(tmp_path: pathlib.Path, key: str, edit, number) -> None:
    error = refused(tmp_path, LADDER, lambda data: edit(data, number))
    assert error.key.startswith(key)
    assert 'finite' in error.reason or 'greater' in error.reason


def test_a_negative_rotor_inertia(tmp_path: pathlib.Path) -> None:
    error = refused(
        tmp_path, LADDER, lambda data: data['actuators']['slide'].update(rotor_inertia=-1.0)
    )
    assert error.key == 'actuators.slide.rotor_inertia' and 'greater than or equal' in error.reason


# Constraint types


@pytest.mark.parametrize('kind', ['welded', 'plane', 'Point', None])
def test_unknown_closure_types(tmp_path: pathlib.Path, kind: str | None) -> None:
    error = refused(tmp_path, FIVE_BAR, lambda data: data['closures'][1].update(type=kind))
    assert error.key == 'closures[1].type'
    assert error.reason == (
        f'constraint type {kind!r} is not supported; supported: point, weld, hinge, universal, '
        'cylindrical, slider, distance, coupling, rack'
    )


def test_unknown_contact_types(tmp_path: pathlib.Path) -> None:
    error = refused(tmp_path, LADDER, lambda data: data['contacts'][0].update(type='cylinder'))
    assert error.key == 'contacts[0].type'
    assert error.reason == "constraint type 'cylinder' is not supported; supported: plane, surface"


# Names


@pytest.mark.parametrize(
    ('key', 'wrong', 'known', 'edit'),
    [
        ('base', 'earth', 'ground', lambda data: data.update(base='earth')),
        ('base', 'pin', 'ground', lambda data: data.update(base='pin')),
        ('platform', 'pen', 'pin', lambda data: data.update(platform='pen')),
        ('independent[1]', 'z', 'elbow_2', lambda data: data.update(independent=['x', 'z'])),
        ('actuated[0]', 'motor', 'motor_2', lambda data: data.update(actuated=['motor'])),
        ('actuated[0]', 'rod_1_end', 'motor_2', lambda data: data.update(actuated=['rod_1_end'])),
        ('home.z', 'z', 'elbow_2', lambda data: data['home'].update(z=1.0)),
        ('actuators.elbow_1', 'elbow_1', 'motor_2',
         lambda data: data['actuators'].update(elbow_1={})),
        ('closures[0].frames', 'rod', 'rod_1_tip',
         lambda data: data['closures'][0].update(frames=['rod', 'pin'])),
    ],
)  # fmt: skip
def test_unknown_names(
    tmp_path: pathlib.Path, key: str, wrong: str, known: str, edit: Edit
) -> None:
    error = refused(tmp_path, FIVE_BAR, edit)
    assert error.key == key
    assert repr(wrong) in error.reason and known in error.reason


def test_an_unknown_contact_frame(tmp_path: pathlib.Path) -> None:
    error = refused(tmp_path, LADDER, lambda data: data['contacts'][0].update(frame='hat'))
    assert error.key == 'contacts[0].frame'
    assert error.reason.startswith(
        "link 'hat' does not exist; there are: ground, foot, rungs, head"
    )


@pytest.mark.parametrize(
    ('key', 'name', 'edit'),
    [
        ('independent', 'x', lambda data: data.update(independent=['x', 'y', 'x'])),
        ('actuated', 'motor_1', lambda data: data.update(actuated=['motor_1', 'motor_1'])),
        ('closures, contacts', 'leg_1', lambda data: data['closures'][1].update(name='leg_1')),
    ],
)
def test_names_twice(tmp_path: pathlib.Path, key: str, name: str, edit: Edit) -> None:
    error = refused(tmp_path, FIVE_BAR, edit)
    assert (error.key, error.reason) == (key, f'{name!r} appears twice')


@pytest.mark.parametrize('key', ['independent', 'actuated'])
def test_no_joints(tmp_path: pathlib.Path, key: str) -> None:
    error = refused(tmp_path, FIVE_BAR, lambda data: data.update({key: []}))
    assert (error.key, error.reason) == (key, 'at least one joint is needed')


# Constraints that constrain nothing


@pytest.mark.parametrize('frames', [['pin', 'pin'], ['rod_1', 'rod_1_tip']])
def test_a_closure_within_one_body(tmp_path: pathlib.Path, frames: list[str]) -> None:
    added = {'name': 'nothing', 'frames': frames}
    error = refused(tmp_path, FIVE_BAR, lambda data: data['closures'].append(added))
    assert error.key == 'closures[2].frames' and 'same rigid body' in error.reason


def test_a_contact_of_the_base(tmp_path: pathlib.Path) -> None:
    error = refused(tmp_path, LADDER, lambda data: data['contacts'][0].update(frame='ground'))
    assert error.key == 'contacts[0].frame' and "'ground' does not move" in error.reason


def test_a_platform_that_is_the_base(tmp_path: pathlib.Path) -> None:
    error = refused(tmp_path, LADDER, lambda data: data.update(platform='ground'))
    assert error.key == 'platform' and "'ground' does not move" in error.reason


def test_a_normal_without_direction(tmp_path: pathlib.Path) -> None:
    error = refused(tmp_path, LADDER, lambda data: data['contacts'][0].update(normal=[0, 0, 0]))
    assert error.key == 'contacts[0].normal' and 'no direction' in error.reason


def test_a_range_the_wrong_way_round(tmp_path: pathlib.Path) -> None:
    error = refused(tmp_path, LADDER, lambda data: data['contacts'][0].update(range={'y': [1, 0]}))
    assert (error.key, error.reason) == ('contacts[0].range.y', '1.0 m is above 0.0 m')


def test_the_length_of_a_normal_scales_the_multiplier_only(tmp_path: pathlib.Path) -> None:
    """As written: the force is normal times multiplier, whatever the normal's length."""
    thousandfold = {'normal': [2000.0, 1000.0, 0.0], 'offset': -2200.0}
    other = load_edited(tmp_path, LADDER, lambda data: data['contacts'][0].update(thousandfold))
    effort, expected = (m.feedforward([0.9]) for m in (other, samples.mechanism('ladder')))
    assert effort.actuated == pytest.approx(expected.actuated, rel=1e-9)
    assert 1000.0 * effort.contact == pytest.approx(expected.contact, rel=1e-9)


# The URDF beside it


def test_arguments_for_a_file_that_takes_none(tmp_path: pathlib.Path) -> None:
    error = refused(tmp_path, LADDER, lambda data: data.update(xacro_arguments={'length': '2'}))
    assert error.key == 'xacro_arguments' and 'ladder.urdf' in error.reason


def test_xacro_arguments_are_used() -> None:
    with_sockets, without = load_description('masticator'), load_description('rss6')
    assert with_sockets.urdf_file == without.urdf_file
    assert with_sockets.urdf_xml != without.urdf_xml


@pytest.mark.parametrize('name', ['absent.urdf', 'absent.urdf.xacro'])
def test_a_missing_urdf(tmp_path: pathlib.Path, name: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        load_edited(tmp_path, FIVE_BAR, lambda data: data.update(urdf=name))
    assert caught.value.file == str(tmp_path / name)
    assert 'No such file' in caught.value.reason


def test_a_description_is_immutable() -> None:
    description = load_description(samples.file_of('five_bar'))
    with pytest.raises(AttributeError):
        description.name = 'other'
    with pytest.raises((AttributeError, TypeError, ValueError)):
        description.closures[0].name = 'other'
    assert np.array_equal(description.gravity, [0.0, -9.81, 0.0])


def test_home_outside_a_range_is_warned_about(tmp_path: pathlib.Path) -> None:
    text = (samples.OWN / 'ladder.urdf').read_text(encoding='utf-8')
    (tmp_path / 'ladder.urdf').write_text(text.replace('upper="1.5"', 'upper="0.5"'))
    file = tmp_path / 'ladder.yaml'
    file.write_text((samples.OWN / 'ladder.yaml').read_text(encoding='utf-8'))
    with pytest.warns(DescriptionWarning, match=r'tilt: home .* outside its range \[0.1, 0.5'):
        load_description(file)
