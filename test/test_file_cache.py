# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code on disk: loaded only if complete and the user's own, else recompiled with a note."""

from __future__ import annotations

import os
import pathlib
import threading

import pytest
import samples

from masticator_dynamics.files import file_cache

CODE = bytes(range(256)) * 40


@pytest.fixture(name='folder')
def fixture_folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    # pytest's folders are private; those above may not be, which is not looked at here.
    monkeypatch.setattr(file_cache, 'code_folder', lambda name: tmp_path)
    return tmp_path


def make_none() -> bytes:
    raise AssertionError('what is kept is not made again')


def test_code_is_made_once_and_kept(folder: pathlib.Path) -> None:
    assert file_cache.cached('machine_code', 'a.o', lambda: CODE) == CODE
    assert {file.name for file in folder.iterdir()} == {'a.o', 'a.o.lock'}
    assert file_cache.cached('machine_code', 'a.o', make_none) == CODE
    assert file_cache.cached('machine_code', 'b.o', lambda: CODE[1:]) == CODE[1:]


def flip(contents: bytes) -> bytes:
    return contents[:-7] + bytes([contents[-7] ^ 1]) + contents[-6:]


@pytest.mark.parametrize(
    'damage', [flip, lambda c: c[:-1], lambda c: b'', lambda c: c[:20], lambda c: b'\0' * len(c)]
)
def test_a_damaged_file_is_told_and_made_anew(folder: pathlib.Path, damage) -> None:
    file_cache.cached('machine_code', 'a.o', lambda: CODE)
    file = folder / 'a.o'
    file.write_bytes(damage(file.read_bytes()))
    with pytest.warns(RuntimeWarning, match='a.o is not used and made anew: it is damaged'):
        assert file_cache.cached('machine_code', 'a.o', lambda: CODE) == CODE
    assert file_cache.cached('machine_code', 'a.o', make_none) == CODE


def test_a_file_made_for_something_else_is_told_and_made_anew(folder: pathlib.Path) -> None:
    file_cache.cached('machine_code', 'a.o', lambda: CODE)
    (folder / 'a.o').rename(folder / 'b.o')
    with pytest.warns(RuntimeWarning, match='b.o is not used and made anew: it is damaged'):
        assert file_cache.cached('machine_code', 'b.o', lambda: CODE[1:]) == CODE[1:]


def as_folder(file: pathlib.Path) -> None:
    file.mkdir()


def as_pipe(file: pathlib.Path) -> None:
    os.mkfifo(file, 0o600)


@pytest.mark.parametrize('put', [as_folder, as_pipe])
def test_what_is_no_file_is_told_and_keeps_nobody_waiting(folder: pathlib.Path, put) -> None:
    put(folder / 'a.o')
    with pytest.warns(RuntimeWarning, match='a.o is not used and made anew: it is not a file'):
        assert file_cache.cached('machine_code', 'a.o', lambda: CODE) == CODE


def test_what_others_can_write_is_not_loaded(folder: pathlib.Path) -> None:
    file_cache.cached('machine_code', 'a.o', lambda: CODE)
    (folder / 'a.o').chmod(0o622)
    with pytest.warns(RuntimeWarning, match='others can write it'):
        assert file_cache.cached('machine_code', 'a.o', lambda: CODE[1:]) == CODE[1:]
    (folder / 'elsewhere').write_bytes((folder / 'a.o').read_bytes())
    (folder / 'a.o').unlink()
    (folder / 'a.o').symlink_to(folder / 'elsewhere')
    with pytest.warns(RuntimeWarning, match='a.o is not used'):
        assert file_cache.cached('machine_code', 'a.o', lambda: CODE) == CODE
    assert not (folder / 'a.o').is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason='only root can give files away')
def test_what_belongs_to_another_user_is_not_loaded(folder: pathlib.Path) -> None:
    file_cache.cached('machine_code', 'a.o', lambda: CODE)
    os.chown(folder / 'a.o', 12345, -1)
    with pytest.warns(RuntimeWarning, match='a.o is not used and made anew: it belongs to user 12'):
        assert file_cache.cached('machine_code', 'a.o', lambda: CODE[1:]) == CODE[1:]
    assert (folder / 'a.o').stat().st_uid == 0


def test_without_a_folder_everything_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_cache, 'code_folder', lambda name: None)
    assert file_cache.cached('machine_code', 'a.o', lambda: CODE) == CODE


def test_a_folder_that_is_gone_is_told(folder: pathlib.Path) -> None:
    folder.rmdir()
    with pytest.warns(RuntimeWarning, match='cannot be kept'):
        assert file_cache.cached('machine_code', 'a.o', lambda: CODE) == CODE


def test_several_that_make_the_same_at_once(folder: pathlib.Path) -> None:
    barrier, found = threading.Barrier(8), []

    def work() -> None:
        barrier.wait()
        found.append(file_cache.cached('machine_code', 'a.o', lambda: CODE))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [CODE] * 8
    assert {file.name for file in folder.iterdir()} == {'a.o', 'a.o.lock'}


def test_whatever_decides_about_the_code_changes_its_name() -> None:
    mechanism = samples.mechanism('five_bar')
    tree = mechanism.structure.tree
    key = file_cache.key_of(tree, mechanism.driving)
    assert key == file_cache.key_of(tree, mechanism.driving)
    assert key != file_cache.key_of(tree, mechanism.driving[:1])
    center = tree.inertias[0].center_of_mass
    center[0] += 1e-15
    try:
        assert key != file_cache.key_of(tree, mechanism.driving)
    finally:
        center[0] -= 1e-15
    assert file_cache.key_of([1.0, 2.0]) != file_cache.key_of([[1.0], 2.0])
    assert file_cache.key_of('ab', 'c') != file_cache.key_of('a', 'bc')
