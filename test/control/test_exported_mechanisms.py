# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which exported C belongs to a description: found by what it computes."""

from __future__ import annotations

import pathlib

import pytest
import samples
from click.testing import CliRunner

from masticator_dynamics.cli import commands
from masticator_dynamics.description import load_description
from masticator_dynamics.errors import InputError
from masticator_dynamics.ros.exported_mechanisms import exported_as

FILE = samples.file_of('five_bar')


def exported(folder: pathlib.Path, name: str, *options: str) -> pathlib.Path:
    """C as ``masticator_add_mechanism`` makes it."""
    command = ['export-c', str(FILE), '--name', name, *options]
    answer = CliRunner().invoke(commands, [*command, '--output', str(folder)])
    assert answer.exit_code == 0, answer.output
    return folder / f'{name}.c'


@pytest.fixture(scope='module')
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pathlib.Path]:
    folder = tmp_path_factory.mktemp('c')
    made = {
        'plain': exported(folder, 'plain'),
        'rubbing': exported(folder, 'rubbing', '--friction'),
    }
    return {'gone': folder / 'gone.c', **made}


def test_the_mechanism_is_found_by_its_options(sources) -> None:
    description = load_description(FILE)
    assert exported_as(description, sources) == 'plain'
    assert exported_as(description, sources, friction=True) == 'rubbing'


def test_what_nobody_has_exported_is_told_with_the_line_that_does(sources, tmp_path) -> None:
    with pytest.raises(InputError, match=r'are: gone, plain, rubbing.*five_bar.yaml GOAL power\)'):
        exported_as(load_description(FILE), sources, goal='power')
    text = FILE.read_text(encoding='utf-8')
    assert 'gravity' in text
    changed = tmp_path / FILE.name
    changed.write_text(text.replace('9.81', '9.80'), encoding='utf-8')
    for other in FILE.parent.glob('five_bar.urdf*'):
        (tmp_path / other.name).write_bytes(other.read_bytes())
    with pytest.raises(InputError, match='no package has exported five_bar as it is now'):
        exported_as(load_description(changed), sources)
    with pytest.raises(InputError, match='there are: none'):
        exported_as(load_description(FILE), {})


def test_rotors_of_a_drives_file_are_exported(tmp_path) -> None:
    """The same number as Python has with them."""
    command = ['export-c', 'masticator', '--output']
    texts = []
    for options in ([], ['--drives', 'drives.yaml']):
        folder = tmp_path / str(len(texts))
        answer = CliRunner().invoke(commands, [*command, str(folder), *options])
        assert answer.exit_code == 0, answer.output
        texts.append((folder / 'masticator.c').read_text(encoding='utf-8'))
    assert texts[0] != texts[1]
    description = load_description('masticator')
    sources = {'masticator': tmp_path / '1' / 'masticator.c'}
    assert exported_as(description, sources, drives='drives.yaml') == 'masticator'
