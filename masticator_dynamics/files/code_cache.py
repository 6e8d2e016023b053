# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where compiled code is kept: in folders that nobody else can write to.

Whoever can write to such a folder decides what this process runs. A folder is therefore used only
when it belongs to this user, with mode 0700, and when nobody else can replace it or a folder above
it. Otherwise a fresh private folder takes its place, which means that everything is compiled again,
and a warning says so.

Processes that start together compile each function once: the first does it, the others wait.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import grp
import logging
import os
import pathlib
import pwd
import shutil
import stat
import sys
import tempfile
import warnings
from collections.abc import Iterator

import platformdirs

LOG = logging.getLogger(__name__)


def code_folder(name: str) -> pathlib.Path | None:
    """A private folder for compiled code, made if need be.

    Parameters
    ----------
    name : str
        Path of the folder in the cache: named by a hash of everything the code is made from.

    Returns
    -------
    pathlib.Path or None
        In ``MASTICATOR_CACHE_DIR`` where that is set, else in the user's cache directory. If that
        cannot be written to or is not safe, a fresh folder that lasts as long as this process and
        is used by its children too; None if none can be made.
    """
    chosen = os.environ.get('MASTICATOR_CACHE_DIR')
    home = pathlib.Path(chosen) if chosen else platformdirs.user_cache_path('masticator_dynamics')
    # Links are followed once: whoever owns one may let it lead elsewhere later.
    folder = pathlib.Path(os.path.realpath(home), name)
    try:
        _make(folder)
        _check(folder)
        return folder
    except OSError as error:
        reason = f'{folder}: {error.strerror or error}'
    warnings.warn(
        f'compiled code is not kept: every start compiles it again, for some seconds ({reason})',
        RuntimeWarning,
        stacklevel=2,
    )
    return _fresh_folder(name)


@contextlib.contextmanager
def alone(file: pathlib.Path) -> Iterator[None]:
    """Make a file of compiled code while no other process makes the same one; wait for it if so.

    The lock file next to it is released when its process ends. Where there cannot be one, each
    process makes its own. Nothing is made at real-time priority.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        lock = os.open(file.with_name(f'{file.name}.lock'), flags, 0o600)
    except OSError:
        with ordinary_priority():
            yield
        return
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _tell('another process compiles what this one needs, too: waiting for it')
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:  # a file system without locks
            pass
        with ordinary_priority():
            yield
    finally:
        os.close(lock)


@contextlib.contextmanager
def ordinary_priority() -> Iterator[None]:
    """Take the calling thread off the real-time scheduler for a while.

    Compiling takes seconds, during which no other thread could run, and after which the kernel
    would throttle all real-time threads.
    """
    with scheduler_restored() as policy:
        if policy and policy & ~os.SCHED_RESET_ON_FORK in (os.SCHED_FIFO, os.SCHED_RR):
            os.sched_setscheduler(0, os.SCHED_OTHER | os.SCHED_RESET_ON_FORK, os.sched_param(0))
        yield


@contextlib.contextmanager
def scheduler_restored() -> Iterator[int]:
    """Give the calling thread's scheduling policy, 0 if not Linux, and restore it and priority."""
    try:
        before = os.sched_getscheduler(0), os.sched_getparam(0)
    except (OSError, AttributeError):  # not Linux
        yield 0
        return
    try:
        yield before[0]
    finally:
        if (os.sched_getscheduler(0), os.sched_getparam(0)) != before:
            with contextlib.suppress(OSError):  # without permission the flag stays
                os.sched_setscheduler(0, before[0] | os.SCHED_RESET_ON_FORK, before[1])


@functools.cache
def _tell(text: str) -> None:
    """Write a message, once, to the log of a node, or to a terminal."""
    if LOG.hasHandlers():
        LOG.info(text)
    elif sys.stderr.isatty():
        print(text, file=sys.stderr)


def _make(folder: pathlib.Path) -> None:
    """Make a folder and its parents, all private: `mkdir` would set the mode of one only."""
    if not folder.parent.exists():
        _make(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def _check(folder: pathlib.Path) -> None:
    """Refuse (PermissionError) a folder that others can write to or replace."""
    status = folder.lstat()
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISDIR(status.st_mode):
        raise PermissionError('it is not a folder, or a link to one')
    if status.st_uid != os.geteuid():
        raise PermissionError(f'it belongs to user {status.st_uid}')
    if mode & 0o077:
        raise PermissionError(f'its mode is {mode:04o}, so others have access')
    if not os.access(folder, os.W_OK):
        raise PermissionError('it cannot be written')
    for parent in folder.resolve().parents:
        if _others_may_write(parent.stat()):
            raise PermissionError(f'others can exchange what is in {parent}')


def _others_may_write(status: os.stat_result) -> bool:
    """Whether anybody but this user and root can rename what is in a folder."""
    if status.st_uid not in (0, os.geteuid()):
        return True
    if status.st_mode & stat.S_ISVTX:  # as in /tmp: users can rename only what is theirs
        return False
    if status.st_mode & stat.S_IWGRP and not _own_group(status.st_gid):
        return True
    return bool(status.st_mode & stat.S_IWOTH)


def _own_group(group: int) -> bool:
    """Whether a group is this user's alone: Debian and Ubuntu make one per user, same name."""
    try:
        return grp.getgrgid(group).gr_name == pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return False


def _fresh_folder(name: str) -> pathlib.Path | None:
    """A folder with an unpredictable name; removed at the end of the process."""
    try:
        home = pathlib.Path(tempfile.mkdtemp(prefix='masticator_dynamics-'))
        atexit.register(shutil.rmtree, home, ignore_errors=True)
        folder = home / name
        _make(folder)
    except OSError:
        return None
    os.environ['MASTICATOR_CACHE_DIR'] = str(home)  # for what follows, and for children
    return folder
