# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A cached description equals what its files say now, bit for bit, warnings included."""

from __future__ import annotations

import pathlib
import shutil
import warnings

import pytest
import samples

from masticator_dynamics.description import description_cache, load_description, shipped_mechanisms
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.files import file_cache

FILES = [*shipped_mechanisms(), *sorted(samples.OWN.glob('*.yaml'))]
XACRO = 'http://www.ros.org/wiki/xacro'


@pytest.fixture(name='folder')
def fixture_folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    folder = tmp_path / 'kept'
    folder.mkdir()
    monkeypatch.setattr(file_cache, 'code_folder', lambda name: folder)
    return folder


@pytest.fixture(name='reads')
def fixture_reads(monkeypatch: pytest.MonkeyPatch) -> list[pathlib.Path]:
    """Files that were read and checked, in order."""
    found, read = [], description_cache._read

    def counted(file, arguments):
        found.append(file)
        return read(file, arguments)

    monkeypatch.setattr(description_cache, '_read', counted)
    return found


def mechanism(folder: pathlib.Path, extra: str = '') -> pathlib.Path:
    """The five-bar with the mass of its cranks in a file that its xacro includes."""
    name = 'five_bar.urdf.xacro'
    text = (samples.OWN / name).read_text(encoding='utf-8')
    include = f'<xacro:include filename="mass.xacro"/>{extra}\n  <xacro:macro name="rod"'
    text = text.replace('<xacro:macro name="rod"', include).replace('mass="0.3"', 'mass="${m}"')
    (folder / name).write_text(text, encoding='utf-8')
    write_mass(folder, 0.25)
    return pathlib.Path(shutil.copy(samples.file_of('five_bar'), folder))


def write_mass(folder: pathlib.Path, mass: float) -> None:
    text = f'<robot xmlns:xacro="{XACRO}"><xacro:property name="m" value="{mass}"/></robot>'
    (folder / 'mass.xacro').write_text(text, encoding='utf-8')


def masses(file: pathlib.Path) -> set[float]:
    return {inertia.mass for inertia in load_description(file).tree.links.values()}


@pytest.mark.parametrize('file', FILES, ids=lambda file: pathlib.Path(file).stem)
def test_it_is_the_same_to_the_bit(file, folder: pathlib.Path, reads) -> None:
    with warnings.catch_warnings(record=True) as first:
        warnings.simplefilter('always')
        made = load_description(file)
    with warnings.catch_warnings(record=True) as second:
        warnings.simplefilter('always')
        restored = load_description(file)
    assert len(reads) == 1
    assert file_cache.key_of(made) == file_cache.key_of(restored)
    assert [str(w.message) for w in second] == [str(w.message) for w in first]


def test_an_edit_of_any_file_is_seen(tmp_path: pathlib.Path, folder, reads) -> None:
    file = mechanism(tmp_path)
    assert 0.25 in masses(file) and 0.25 in masses(file) and len(reads) == 1
    write_mass(tmp_path, 0.5)
    assert 0.5 in masses(file) and 0.5 in masses(file) and len(reads) == 2
    file.write_text(file.read_text(encoding='utf-8') + '\n', encoding='utf-8')
    assert 0.5 in masses(file) and len(reads) == 3
    (tmp_path / 'mass.xacro').unlink()
    with pytest.raises(DescriptionError, match='xacro'):
        load_description(file)


@pytest.mark.parametrize(
    'extra',
    [
        '<xacro:arg name="a" default="$(env HOME)"/>',
        '<xacro:include filename="*.part"/>',
        '<xacro:include filename="absent.xacro" optional="true"/>',
    ],
)
def test_what_depends_on_more_than_files_is_read_again(
    tmp_path: pathlib.Path, folder, reads, extra: str
) -> None:
    file = mechanism(tmp_path, extra)
    assert masses(file) == masses(file) and len(reads) == 2


@pytest.mark.parametrize(
    'damage', [lambda c: c[:-9], lambda c: b'', lambda c: c.replace(b'5', b'6')]
)
def test_a_damaged_file_is_told_and_made_anew(folder: pathlib.Path, reads, damage) -> None:
    expected = file_cache.key_of(load_description('rrr4'))
    (file,) = folder.glob('*.pickle')
    file.write_bytes(damage(file.read_bytes()))
    with pytest.warns(RuntimeWarning, match='is not used and made anew: it is damaged'):
        assert file_cache.key_of(load_description('rrr4')) == expected
    assert file_cache.key_of(load_description('rrr4')) == expected and len(reads) == 2
