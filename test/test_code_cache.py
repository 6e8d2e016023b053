# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled code is cached in folders that nobody else can write, or not at all."""

import errno
import logging
import os
import pathlib
import pickle
import stat
import subprocess
import sys
import tempfile
import threading
import time

import platformdirs
import pytest
from processes import PYTHON, Process, completed

from masticator_dynamics.engine import jit
from masticator_dynamics.files import code_cache, kept
from masticator_dynamics.files.code_cache import alone, code_folder


@pytest.fixture(name='cache')
def fixture_cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    """The user's cache, with a temporary folder next to it."""
    (tmp_path / 'tmp').mkdir()
    monkeypatch.setenv('NUMBA_CACHE_DIR', '')  # given back afterwards, though the code sets it
    monkeypatch.setattr(platformdirs, 'user_cache_path', lambda *_: tmp_path / 'home/cache')
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path / 'tmp'))
    return tmp_path / 'home/cache'


def mode(folder: pathlib.Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


def test_the_user_cache_is_used_and_private(cache: pathlib.Path) -> None:
    folder = code_folder('kernels/twin')
    assert folder == cache / 'kernels/twin'
    assert [mode(made) for made in (folder, folder.parent, cache, cache.parent)] == [0o700] * 4
    assert code_folder('kernels/twin') == folder


def test_numba_cache_dir_has_precedence(cache, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path / 'chosen/deep'))
    assert code_folder('kernels') == tmp_path / 'chosen/deep/kernels'
    assert not cache.exists()


def open_to_others(folder: pathlib.Path) -> None:
    folder.chmod(0o777)


def readable_by_the_group(folder: pathlib.Path) -> None:
    folder.chmod(0o750)


def replaced_by_a_link(folder: pathlib.Path) -> None:
    folder.rename(folder.with_name('elsewhere'))
    folder.symlink_to('elsewhere')


def replaced_by_a_file(folder: pathlib.Path) -> None:
    folder.rmdir()
    folder.write_text('in the way')


def exchangeable(folder: pathlib.Path) -> None:
    """Anybody with write access above may exchange the folder between check and use."""
    folder.parent.chmod(0o777)


def exchangeable_by_a_group(folder: pathlib.Path) -> None:
    os.chown(folder.parent, -1, 1) if os.geteuid() == 0 else pytest.skip('needs another group')
    folder.parent.chmod(0o775)


def of_another_user(folder: pathlib.Path) -> None:
    os.chown(folder, 12345, -1) if os.geteuid() == 0 else pytest.skip('only root can give away')


@pytest.mark.parametrize(
    'spoil',
    [open_to_others, readable_by_the_group, replaced_by_a_link, replaced_by_a_file, exchangeable,
     exchangeable_by_a_group, of_another_user],
)  # fmt: skip
def test_a_folder_that_is_not_safe_is_replaced_by_a_fresh_one(
    spoil, cache: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    folder = code_folder('kernels')
    spoil(folder)
    with pytest.warns(RuntimeWarning, match=f'compiled code is not kept.*{folder}') as warned:
        fresh = code_folder('kernels')
        again = code_folder('twin')
    assert len(warned) == 1
    assert fresh.parent.parent == tmp_path / 'tmp' and again.parent == fresh.parent
    assert mode(fresh) == mode(fresh.parent) == 0o700
    assert os.environ['NUMBA_CACHE_DIR'] == str(fresh.parent)  # children need not compile anew


def test_the_group_that_a_user_has_alone_may_write_above(
    cache: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ubuntu's umask is 002, with a separate group for each user."""
    folder = code_folder('kernels')
    folder.parent.chmod(0o775)
    monkeypatch.setattr('grp.getgrgid', lambda gid: type('Group', (), {'gr_name': 'me'}))
    monkeypatch.setattr('pwd.getpwuid', lambda uid: type('User', (), {'pw_name': 'me'}))
    assert code_folder('kernels') == folder


def test_without_any_place_code_is_compiled_and_not_kept(cache, tmp_path, monkeypatch) -> None:
    cache.parent.write_text('in the way')
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path / 'missing'))
    with pytest.warns(RuntimeWarning, match='compiled code is not kept'):
        assert code_folder('kernels') is None
    assert jit.kept_in(None, lambda x: x + 1)(2) == 3


def test_a_folder_reached_by_a_link_stays_the_one_that_was_checked(
    cache: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever owns the link can let it lead elsewhere between check and use."""
    (tmp_path / 'mine').mkdir(mode=0o700)
    link = tmp_path / 'link'
    link.symlink_to(tmp_path / 'mine')
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(link))
    folder = code_folder('kernels')
    link.unlink()
    link.symlink_to(tmp_path / 'planted')
    assert folder.is_dir() and folder.samefile(tmp_path / 'mine/kernels')


def test_a_full_disk_is_told(cache: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: pathlib.Path, *_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pathlib.Path, 'mkdir', full)
    with pytest.warns(RuntimeWarning, match='compiled code is not kept.*No space left'):
        assert code_folder('kernels') is None


class Planted:
    """An object that runs code when it is unpickled."""

    def __init__(self, target: pathlib.Path):
        self._target = target

    def __reduce__(self) -> tuple:
        return pathlib.Path.touch, (self._target,)


_PROGRAM = """
import pathlib
from masticator_dynamics.files.code_cache import code_folder
from masticator_dynamics.engine.jit import kept_in
folder = code_folder('kernels')
def add(x): return x + 1
print(kept_in(folder, add)(1))
"""


def test_a_prepared_pickle_does_not_run(tmp_path: pathlib.Path) -> None:
    """A real attack: one of numba's index files is exchanged in a folder that others can write."""
    program = tmp_path / 'program.py'
    program.write_text(_PROGRAM)
    environment = os.environ | {'NUMBA_CACHE_DIR': str(tmp_path / 'cache')}

    def run() -> str:
        done = completed(*PYTHON, program, env=environment)
        assert done.stdout == '2\n', done.stderr
        return done.stderr

    assert run() == ''
    indices = list((tmp_path / 'cache/kernels').rglob('*.nbi'))
    assert len(indices) == 1
    trap = tmp_path / 'ran'
    content = indices[0].read_bytes()
    version = content.index(b'.') + 1  # a pickle of the version, then one of stamp and overloads
    indices[0].write_bytes(content[:version] + pickle.dumps(Planted(trap)))
    (tmp_path / 'cache/kernels').chmod(0o777)
    assert 'RuntimeWarning' in run()
    assert not trap.exists()


COMPILED = """
import sys
from masticator_dynamics.engine import jit

sys.stderr.isatty = lambda: sys.argv[1] == 'terminal'
jit.cache_directory()  # as every kernel does that is kept
kernels = [jit.kept_in(None, lambda x: x + 1), jit.kept_in(None, lambda x: x + 2)]
assert [kernel(1) for kernel in kernels] == [2, 3]
"""


@pytest.mark.parametrize('where', ['terminal', 'pipe'])
def test_compiling_is_told_once_and_only_at_a_terminal(tmp_path, where: str) -> None:
    cache = {**os.environ, 'NUMBA_CACHE_DIR': str(tmp_path / 'cache')}
    command = [sys.executable, '-c', COMPILED, where]
    done = subprocess.run(command, env=cache, capture_output=True, text=True, check=True)
    assert done.stderr.count('compiling, once') == (where == 'terminal')


WAITS = 'another process compiles what this one needs, too: waiting for it'
_TOGETHER = """
import logging, pathlib, sys, time
import numba  # to import it takes longer than to compile
from masticator_dynamics.files.code_cache import code_folder
from masticator_dynamics.engine.jit import kept_in
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format='%(message)s')
def add(x):
    for k in range(3):
        x = x + k if x < 5 else x * 2
    return x
added = kept_in(code_folder('kernels'), add)
start = pathlib.Path(sys.argv[1])
pathlib.Path(f'{start}{sys.argv[2]}').touch()
while not start.exists():
    time.sleep(0.001)
added(1)
print('compiled', sum(added.compiled.stats.cache_misses.values()))
"""


def test_processes_that_start_together_compile_once(tmp_path: pathlib.Path) -> None:
    program, start = tmp_path / 'program.py', tmp_path / 'start'
    program.write_text(_TOGETHER)
    environment = os.environ | {'NUMBA_CACHE_DIR': str(tmp_path / 'cache')}
    runs = [Process(*PYTHON, program, start, k, env=environment) for k in range(3)]
    while not all(pathlib.Path(f'{start}{k}').exists() for k in range(3)):
        assert all(run.runs() for run in runs)
        time.sleep(0.01)
    start.touch()
    assert [run.wait(120.0) for run in runs] == [0, 0, 0]
    told = [run.lines for run in runs]
    assert sorted(lines[-1] for lines in told) == ['compiled 0', 'compiled 0', 'compiled 1']
    # One that comes late on a busy computer finds the code and need not wait.
    compiled = next(lines for lines in told if lines[-1] == 'compiled 1')
    assert WAITS not in compiled


def test_whoever_waits_for_a_compilation_is_told(cache: pathlib.Path, caplog) -> None:
    file, done = code_folder('kernels') / 'file', threading.Event()

    def want() -> None:
        with alone(file):
            done.set()

    code_cache._tell.cache_clear()  # it is told once in a process
    thread, end = threading.Thread(target=want, daemon=True), time.monotonic() + 60.0
    with caplog.at_level(logging.INFO), alone(file):
        thread.start()
        while WAITS not in caplog.messages:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert not done.is_set()
    thread.join(60.0)
    assert done.is_set()


def test_machine_code_that_two_want_is_made_once(cache: pathlib.Path) -> None:
    made, found = [], []

    def make() -> bytes:
        made.append(1)
        time.sleep(0.3)
        return b'code'

    def want() -> None:
        found.append(kept.kept('machine_code', 'key', make))

    threads = [threading.Thread(target=want) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and found == [b'code'] * 3


def test_a_compilation_that_fails_keeps_nobody_waiting(cache: pathlib.Path) -> None:
    file = code_folder('kernels') / 'file'
    with pytest.raises(ZeroDivisionError), alone(file):
        raise ZeroDivisionError
    with alone(file):
        pass
