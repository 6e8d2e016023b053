# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Folders of results are written all or none, and what fails is named."""

import errno
import os
import pathlib

import pytest

from masticator_dynamics.errors import InputError
from masticator_dynamics.files.folder import results_in


def full_disk(file: pathlib.Path | None) -> OSError:
    return OSError(errno.ENOSPC, 'No space left on device', file and str(file))


def test_files_appear_together_beside_those_that_are_there(tmp_path) -> None:
    output = tmp_path / 'out'
    output.mkdir()
    (output / 'mine.txt').write_text('kept')
    with results_in(output) as work:
        (work / 'a.txt').write_text('a')
        assert not (output / 'a.txt').exists()
    assert sorted(os.listdir(output)) == ['a.txt', 'mine.txt']


def test_only_files_that_are_wanted_appear(tmp_path) -> None:
    with results_in(tmp_path / 'out', ['a.txt']) as work:
        (work / 'a.txt').write_text('a')
        (work / 'log.txt').write_text('of no interest')
    assert os.listdir(tmp_path / 'out') == ['a.txt']


@pytest.mark.parametrize('file', ['b.txt', None])
def test_nothing_is_left_of_a_failure_but_what_was_there(tmp_path, file) -> None:
    output = tmp_path / 'one' / 'two'
    for named in ('one', None):
        with pytest.raises(OSError, match='No space left') as failure:
            with results_in(output) as work:
                (work / 'a.txt').write_text('a')
                raise full_disk(file and work / file)
        assert failure.value.filename == str(output / file if file else output)
        if named:
            assert os.listdir(tmp_path) == []
            output.mkdir(parents=True)
            (output / 'a.txt').write_text('before')
    assert os.listdir(output) == ['a.txt']
    assert (output / 'a.txt').read_text() == 'before'


def test_a_link_in_the_folder_stays_a_link(tmp_path) -> None:
    (tmp_path / 'out').mkdir()
    (tmp_path / 'real.txt').write_text('before')
    (tmp_path / 'out' / 'a.txt').symlink_to(tmp_path / 'real.txt')
    with results_in(tmp_path / 'out') as work:
        (work / 'a.txt').write_text('after')
    assert (tmp_path / 'out' / 'a.txt').is_symlink()
    assert (tmp_path / 'real.txt').read_text() == 'after'


def test_a_source_is_not_replaced(tmp_path) -> None:
    source = tmp_path / 'run.csv'
    source.write_text('time\n')
    with pytest.raises(InputError, match='run.csv: is what is read; choose another file'):
        with results_in(tmp_path, ['run.csv'], source):
            pytest.fail('it would be lost')
    assert source.read_text() == 'time\n'


def test_a_folder_that_cannot_be_made_is_named(tmp_path) -> None:
    (tmp_path / 'file').write_text('')
    with pytest.raises(InputError, match='file/out: cannot be written: Not a directory'):
        with results_in(tmp_path / 'file' / 'out'):
            pytest.fail('nowhere to work')
