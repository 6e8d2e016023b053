# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled code is kept where it can be written, and is never that of other sources."""

import os
import pathlib
import shutil
import tempfile

import platformdirs
import pytest

from masticator_dynamics.engine import jit
from masticator_dynamics.twin import jit as twin_jit

PARTS = {
    'engine': jit.cache_directory,
    'actuation': jit.cache_directory,
    'twin': twin_jit.cache_directory,
}


@pytest.fixture(name='places')
def fixture_places(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    """A home of its own: cache and temporary folder."""
    cache, temporary = tmp_path / 'cache', tmp_path / 'tmp'
    cache.mkdir()
    temporary.mkdir()
    monkeypatch.delenv('NUMBA_CACHE_DIR', raising=False)
    monkeypatch.setattr(platformdirs, 'user_cache_path', lambda *_: cache)
    monkeypatch.setattr(tempfile, 'gettempdir', lambda: str(temporary))
    return cache, temporary


def test_the_user_cache_is_used(places) -> None:
    directory = jit.cache_directory()
    assert directory.parent == places[0]
    assert directory.is_dir()
    assert directory == jit.cache_directory()
    assert directory.stat().st_mode & 0o077 == 0  # nobody else may plant machine code there


def test_numba_cache_dir_has_precedence(
    places, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path / 'chosen/deep'))
    assert jit.cache_directory().parent == tmp_path / 'chosen/deep'
    assert not list(places[0].iterdir())


def test_a_cache_that_cannot_be_written_is_replaced(places, monkeypatch) -> None:
    """A file stands where the folder should be: that stops root, too, unlike permissions."""
    cache, temporary = places
    cache.rmdir()
    cache.write_text('in the way')
    directory = jit.cache_directory()
    assert directory.is_dir() and directory.is_relative_to(temporary)
    assert str(os.getuid()) in directory.parent.name


def test_a_read_only_folder_is_replaced(places, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder may exist from another user's run."""
    cache, temporary = places
    first = jit.cache_directory()
    access = os.access
    monkeypatch.setattr(os, 'access', lambda p, mode: pathlib.Path(p) != first and access(p, mode))
    assert jit.cache_directory().is_relative_to(temporary)


def test_without_any_place_numba_still_gets_one(places) -> None:
    for place in places:
        place.rmdir()
        place.write_text('in the way')
    assert isinstance(jit.cache_directory(), pathlib.Path)


def copy_of_compiled_sources(folder: pathlib.Path) -> list[pathlib.Path]:
    """Files with code that others compile into theirs, copied with their folders."""
    package = pathlib.Path(jit.__file__).parents[1]
    for source in package.rglob('*.py'):
        if '\n@kernel\n' in source.read_text(encoding='utf-8') or source.name == 'jit.py':
            target = folder / source.relative_to(package)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    return sorted(folder.rglob('*.py'))


def test_an_edit_of_any_compiled_source_changes_the_folder(
    places, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled code calls across files; numba itself would look at one of them only."""
    sources = copy_of_compiled_sources(tmp_path / 'copy')
    monkeypatch.setattr(jit, '__file__', str(tmp_path / 'copy/engine/jit.py'))
    monkeypatch.setattr(twin_jit, '__file__', str(tmp_path / 'copy/twin/jit.py'))
    folders = {part: [s for s in sources if s.parent.name == part] for part in PARTS}
    # Anything else is one file by itself, which numba looks at.
    assert [s.name for s in sources if s.parent.name not in PARTS] == ['actuated_kernels.py']
    assert min(len(files) for files in folders.values()) > 3
    folders['twin'].remove(tmp_path / 'copy/twin/jit.py')  # no kernel is in it
    for part, directory in PARTS.items():
        names = {directory()}
        for source in folders[part]:
            with source.open('a', encoding='utf-8') as file:
                file.write('# edited\n')
            names.add(directory())
        assert len(names) == 1 + len(folders[part])
