# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled code is cached in folders that nobody else can write, or not at all."""

import errno
import logging
import os
import pathlib
import stat
import tempfile
import threading
import time

import platformdirs
import pytest
from processes import PYTHON, Process, completed

from masticator_dynamics.files import code_cache, file_cache
from masticator_dynamics.files.code_cache import alone, code_folder


@pytest.fixture(name='cache')
def fixture_cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    """The user's cache, with a temporary folder next to it."""
    (tmp_path / 'tmp').mkdir()
    monkeypatch.setenv('MASTICATOR_CACHE_DIR', '')  # given back afterwards, though the code sets it
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


def test_a_chosen_folder_has_precedence(cache, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv('MASTICATOR_CACHE_DIR', str(tmp_path / 'chosen/deep'))
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
    assert os.environ['MASTICATOR_CACHE_DIR'] == str(fresh.parent)  # children need not compile anew


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
        assert file_cache.cached('kernels', 'key', lambda: b'code') == b'code'


def test_a_folder_reached_by_a_link_stays_the_one_that_was_checked(
    cache: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever owns the link can let it lead elsewhere between check and use."""
    (tmp_path / 'mine').mkdir(mode=0o700)
    link = tmp_path / 'link'
    link.symlink_to(tmp_path / 'mine')
    monkeypatch.setenv('MASTICATOR_CACHE_DIR', str(link))
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


_PROGRAM = """
from masticator_dynamics.files.file_cache import cached
print(cached('kernels', 'key', lambda: b'code'))
"""


def test_code_in_a_folder_that_others_can_write_does_not_run(tmp_path: pathlib.Path) -> None:
    """A real attack: a file is exchanged by one that was made for the same name elsewhere."""
    environment = os.environ | {'MASTICATOR_CACHE_DIR': str(tmp_path / 'cache')}
    planted = os.environ | {'MASTICATOR_CACHE_DIR': str(tmp_path / 'planted')}

    def run(program: str, environment: dict[str, str]) -> tuple[str, str]:
        done = completed(*PYTHON, '-c', program, env=environment)
        return done.stdout, done.stderr

    assert run(_PROGRAM, environment) == ("b'code'\n", '')
    assert run(_PROGRAM.replace("b'code'", "b'trap'"), planted) == ("b'trap'\n", '')
    folder = tmp_path / 'cache/kernels'
    (folder / 'key').write_bytes((tmp_path / 'planted/kernels/key').read_bytes())
    assert run(_PROGRAM, environment)[0] == "b'trap'\n"  # so it would run
    folder.chmod(0o777)
    out, told = run(_PROGRAM, environment)
    assert out == "b'code'\n" and 'RuntimeWarning' in told


WAITS = 'another process compiles what this one needs, too: waiting for it'
_TOGETHER = """
import logging, pathlib, sys, time
from masticator_dynamics.files.file_cache import cached
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format='%(message)s')
made = []
def make():
    made.append(1)
    time.sleep(1.0)
    return b'code'
start = pathlib.Path(sys.argv[1])
pathlib.Path(f'{start}{sys.argv[2]}').touch()
while not start.exists():
    time.sleep(0.001)
cached('kernels', 'key', make)
print('compiled', len(made))
"""


def test_processes_that_start_together_compile_once(tmp_path: pathlib.Path) -> None:
    program, start = tmp_path / 'program.py', tmp_path / 'start'
    program.write_text(_TOGETHER)
    environment = os.environ | {'MASTICATOR_CACHE_DIR': str(tmp_path / 'cache')}
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
        found.append(file_cache.cached('machine_code', 'key', make))

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
