# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled code always belongs to the present sources."""

import pathlib
import re
import shutil
import subprocess
import sys

import platformdirs
import pytest

from masticator_dynamics.engine import jit

PARTS = {
    'engine': jit.cache_directory,
    'limits': jit.cache_directory,
}


@pytest.fixture(name='places')
def fixture_places(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    """A separate cache."""
    monkeypatch.delenv('NUMBA_CACHE_DIR', raising=False)
    monkeypatch.setattr(platformdirs, 'user_cache_path', lambda *_: tmp_path / 'cache')


def copy_of_compiled_sources(folder: pathlib.Path) -> list[pathlib.Path]:
    """Copies of the files whose code others compile in, with their folders."""
    package = pathlib.Path(jit.__file__).parents[1]
    for source in package.rglob('*.py'):
        text = source.read_text(encoding='utf-8')
        if re.search('^@leaf$', text, re.MULTILINE) or source.name == 'jit.py':
            target = folder / source.relative_to(package)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    return sorted(folder.rglob('*.py'))


def test_an_edit_of_any_compiled_source_changes_the_folder(
    places, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled code calls across files; numba itself would check only one of them."""
    sources = copy_of_compiled_sources(tmp_path / 'copy')
    monkeypatch.setattr(jit, '__file__', str(tmp_path / 'copy/engine/jit.py'))
    folders = {part: [s for s in sources if s.parent.name == part] for part in PARTS}
    # Anything else is one file by itself, which numba looks at.
    others = [s.name for s in sources if s.parent.name not in PARTS]
    assert others == ['maps.py']
    assert all(folders.values())
    for part, directory in PARTS.items():
        names = {directory()}
        for source in folders[part]:
            with source.open('a', encoding='utf-8') as file:
                file.write('# edited\n')
            names.add(directory())
        assert len(names) == 1 + len(folders[part])


FIRST_TORQUE = """
import sys
from masticator_dynamics import Mechanism
mechanism = Mechanism.load('masticator')
assert abs(mechanism.feedforward([0.0, 0.0, 0.0, 0.05]).actuated).max() > 1e-3
assert mechanism.kernels.available, mechanism.kernels.reason
slow = {'numba', 'scipy', 'pydantic', 'yaml', 'xacro', 'difflib'}
print(*sorted({name.split('.')[0] for name in sys.modules} & slow))
print(*('llvmlite.binding',) * ('llvmlite.binding' in sys.modules))
"""


def test_a_process_that_only_calls_imports_little() -> None:
    command = [sys.executable, '-W', 'ignore', '-c', FIRST_TORQUE]
    for _ in range(2):  # the first one may have to make what is kept
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == []
