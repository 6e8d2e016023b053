# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever a bad file contains, it is refused in one line, in bounded time and memory."""

import os
import pathlib
import re
import shutil
import threading

import pytest

from masticator_dynamics.analysis.load_inertia.storage import from_text
from masticator_dynamics.description import load_description, xacro_file
from masticator_dynamics.errors import DescriptionError, InputError
from masticator_dynamics.files import yaml_file
from masticator_dynamics.files.share import share_directory
from masticator_dynamics.files.tables import read_table
from masticator_dynamics.interchange import file_formats

ROBOT = (
    '<robot name="{0}" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="${{{0}}}"/></robot>'
)

# The same thousand keys, merged two hundred times.
KEYS = ', '.join(f'k{i}: {i}' for i in range(1000))
MERGED = f'[&m {{{KEYS}}}, ' + ', '.join(200 * ['{<<: *m}']) + ']'
# Each mapping merges the one before fifty times: 50^30 keys in 5 kB. From version 6.0.4 on, PyYAML
# merges each once.
MULTIPLIED = '[&m0 {x: 1}, ' + ', '.join(
    f'&m{k} {{<<: [{", ".join([f"*m{k - 1}"] * 50)}]}}' for k in range(1, 30)
) + ']'  # fmt: skip


@pytest.fixture(name='folder')
def fixture_folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """The masticator's description, to be edited."""
    shipped = share_directory() / 'config/mechanisms/masticator.yaml'
    shutil.copy(shipped, tmp_path / 'robot.yaml')
    return tmp_path


def refusal(folder: pathlib.Path, before: str, after: str) -> str:
    file = folder / 'robot.yaml'
    text = file.read_text(encoding='utf-8')
    assert before in text
    file.write_text(text.replace(before, after), encoding='utf-8')
    with pytest.raises(DescriptionError) as caught:
        load_description(file)
    reason = str(caught.value)
    assert '\n' not in reason and len(reason) < 400
    return reason


@pytest.mark.parametrize(
    'value, reason',
    [
        ('2026-99-99', 'not YAML: no valid timestamp, line'),
        ('!!int x', 'not YAML: no valid int, line'),
        ('!!timestamp x', 'not YAML'),
        ('[' * 500 + ']' * 500, 'nested too deeply'),
        ('{a: ' * 500 + '1' + '}' * 500, 'nested too deeply'),
        ('9' * 5000, 'not YAML: '),
        ('9' * 4000, 'a whole number of 13288 bits, above 63'),
        ('0x' + 'f' * 9000, 'a whole number of 36000 bits, above 63'),
        ('1:30', 'a number that begins with 0, or has _ or : in it, line'),
        ('010', 'a number that begins with 0, or has _ or : in it, line'),
        ('1_0.5', 'a number that begins with 0, or has _ or : in it, line'),
        ('yes', 'gravity[2]: '),
        ('true', 'gravity[2]: True is not a number'),
        ('"1_0"', "gravity[2]: '1_0' is not a number"),
        ('!!python/object/apply:os.system [date]', 'not YAML: '),
        ('"' + 'x' * 1_000_000 + '"', 'larger than 1 MB'),
        (MERGED, 'merges more than 100000 keys'),
        (MULTIPLIED, 'robot.yaml: '),
    ],
)  # fmt: skip
def test_yaml_that_is_no_description(folder, value: str, reason: str) -> None:
    assert reason in refusal(folder, 'gravity: [0.0, 0.0, -9.8]', f'gravity: [0.0, 0.0, {value}]')


@pytest.mark.parametrize('value', ['[1]', '{}', 'null', '.nan', 'x'])
def test_the_value_of_any_key_may_be_anything(folder, value: str) -> None:
    text = (folder / 'robot.yaml').read_text(encoding='utf-8')
    for line in text.splitlines():
        key, colon, _ = line.partition(':')
        if colon and key.isidentifier():
            (folder / 'robot.yaml').write_text(text, encoding='utf-8')
            content = yaml_file.read_mapping(folder / 'robot.yaml')
            assert key in content
            (folder / 'robot.yaml').write_text(f'{text}\n{key}: {value}\n', encoding='utf-8')
            try:
                load_description(folder / 'robot.yaml')
            except DescriptionError as error:
                assert '\n' not in str(error)


def test_a_device_is_not_read(folder) -> None:
    """Reading it would never end."""
    shipped = 'urdf: ../../urdf/masticator.urdf.xacro'
    assert refusal(folder, shipped, 'urdf: /dev/zero').endswith('not a file but a device')
    for read in (load_description, read_table):
        with pytest.raises((DescriptionError, InputError), match='not a file but a device'):
            read('/dev/zero')
    (folder / 'robot.sdf').symlink_to('/dev/zero')
    with pytest.raises(DescriptionError, match='not a file but a device'):
        file_formats.read(folder / 'robot.sdf')


def test_an_sdf_model_without_links(folder) -> None:
    (folder / 'robot.sdf').write_text(
        '<sdf version="1.6"><model name="m"/></sdf>', encoding='utf-8'
    )
    with pytest.raises(DescriptionError, match='SDF: its model has no <link>'):
        file_formats.read(folder / 'robot.sdf')


@pytest.mark.parametrize('encoding', ['none-such', 'utf-32', 'utf-16'])
@pytest.mark.parametrize('suffix', ['sdf', 'urdf'])
def test_an_encoding_that_is_none(tmp_path, suffix: str, encoding: str) -> None:
    file = tmp_path / f'robot.{suffix}'
    file.write_text(f'<?xml version="1.0" encoding="{encoding}"?><robot name="a"/>')
    with pytest.raises(DescriptionError, match=r'robot\.\w+: (URDF|SDF): not XML: '):
        file_formats.read(file)


def test_a_pipe_is_read(folder) -> None:
    os.mkfifo(folder / 'pipe.csv')
    writer = threading.Thread(target=(folder / 'pipe.csv').write_text, args=('time\n1.0\n',))
    writer.start()
    assert read_table(str(folder / 'pipe.csv')).columns == ('time',)
    writer.join()


@pytest.mark.parametrize(
    'expression, reason',
    [
        ('9**9**9', 'take more than 1 s'),
        ("'a'*10**10", 'need more than 1000 MB'),
        ('[i for i in range(10**12) if i == -1]', 'take more than 1 s'),
        ('1/0', 'division by zero'),
        ("'a'*(3*10**7)", 'expands to more than 10 MB'),
    ],
)  # fmt: skip
def test_expressions_of_xacro_end(folder, monkeypatch, expression: str, reason: str) -> None:
    monkeypatch.setattr(xacro_file, '_TIME', 1)
    robot = ROBOT.format('p').replace(
        '><link', f'><xacro:property name="p" value="${{{expression}}}"/><link'
    )
    (folder / 'own.urdf.xacro').write_text(robot, encoding='utf-8')
    text = refusal(folder, 'urdf: ../../urdf/masticator.urdf.xacro', 'urdf: own.urdf.xacro')
    assert 'own.urdf.xacro: xacro: ' in text and reason in text


def test_arguments_of_a_shipped_file_may_be_expressions(monkeypatch) -> None:
    monkeypatch.setattr(xacro_file, '_TIME', 1)
    urdf = share_directory() / 'urdf/masticator.urdf.xacro'
    same = xacro_file.expand_xacro(urdf, {'nothing': '1'})
    assert xacro_file.expand_xacro(urdf, {'nothing': '(1)'}) == same  # in a process of its own


@pytest.mark.parametrize('text', ['[' * 100_000, '9' * 5000, '{"format": 1e999}', ''])
def test_an_estimator_that_is_none(text: str) -> None:
    with pytest.raises(InputError, match='file: '):
        from_text(text, 'file')


@pytest.mark.parametrize('poses', ['9' * 400, '1e999'])
def test_an_estimator_with_a_number_beyond_all_floats(poses: str) -> None:
    file = share_directory() / 'config/estimators/masticator_ellipse.json'
    text, count = re.subn(r'(?<="poses": )\d+', poses, file.read_text(encoding='utf-8'))
    assert count == 1
    with pytest.raises(InputError, match='file: damaged: '):
        from_text(text, 'file')
