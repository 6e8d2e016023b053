# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Expands xacro files, whose expressions are Python, in bounded time and memory."""

from __future__ import annotations

import contextlib
import json
import pathlib
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from xml.etree import ElementTree

import xacro

from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.files.share import share_directory
from masticator_dynamics.files.text_file import LARGEST_DESCRIPTION, NOT_XML

_TIME, _WALL = 10, 60.0  # s of processor time, and of wall time; files of this package take 0.1 s
_MEMORY = 1_000_000_000  # bytes
_PROGRAM = """
import json, resource, sys, types
seconds, memory, largest, file, arguments, beside = json.loads(sys.argv[1])
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
try:
    from ament_index_python import packages
    installed = packages.get_package_share_directory
except ImportError:
    packages, installed = types.ModuleType('packages'), {}.__getitem__
    sys.modules['ament_index_python'] = sys.modules['ament_index_python.packages'] = packages
def share(name):
    try:
        return beside.get(name) or installed(name)
    except (LookupError, OSError):  # the latter where no workspace is sourced
        raise LookupError(f"package '{name}' not found") from None
packages.get_package_share_directory = share
try:
    import xacro
    text = xacro.process_file(file, mappings=arguments).toxml().encode()
    included = json.dumps(xacro.all_includes).encode()
except Exception as error:
    cause = error
    while getattr(cause, 'exc', None) is not None:
        cause = cause.exc
    if isinstance(cause, MemoryError):
        sys.exit(f'its expressions need more than {memory / 1e6:g} MB of memory')
    sys.exit(' '.join(str(error).split()) or type(error).__name__)
if len(text) > largest:
    sys.exit(f'it expands to more than {largest / 1e6:g} MB')
sys.stdout.buffer.write(included + b'\\n' + text)
"""
_NO_PACKAGE = re.compile(r"package '([^']*)' not found")
_NO_EXPRESSION = re.compile(r'[\w.+\-/ ]*')


def expand_xacro(
    file: pathlib.Path, arguments: Mapping[str, str]
) -> tuple[str, list[pathlib.Path]]:
    """URDF text of a xacro file with arguments, and the files that it includes.

    Files that ship with this package are expanded in this process; others in a process of their
    own, which costs some tenths of a second and can always be killed.

    Raises
    ------
    DescriptionError
        When the file cannot be expanded in bounded time and memory.
    """
    if not _is_ours(file, arguments):
        return _expand_apart(file, arguments)
    xacro.all_includes.clear()  # it only ever grows
    try:
        text = str(xacro.process_file(str(file), mappings=dict(arguments)).toxml())
    except Exception as error:  # xacro raises what its Python expressions raise
        raise _refusal(file, f'{error}' or type(error).__name__) from error
    return text, [pathlib.Path(included) for included in xacro.all_includes]


def _is_ours(file: pathlib.Path, arguments: Mapping[str, str]) -> bool:
    """Whether a file is known to terminate; arguments could be expressions, too."""
    shipped = file.resolve().is_relative_to((share_directory() / 'urdf').resolve())
    return shipped and all(map(_NO_EXPRESSION.fullmatch, map(str, arguments.values())))


def _expand_apart(
    file: pathlib.Path, arguments: Mapping[str, str]
) -> tuple[str, list[pathlib.Path]]:
    beside = _packages_beside(file.absolute())
    task = json.dumps([_TIME, _MEMORY, LARGEST_DESCRIPTION, str(file), dict(arguments), beside])
    # -P: a file in the current folder must not be imported instead of a module of that name.
    command = [sys.executable, '-P', '-c', _PROGRAM, task]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_WALL, check=False)
    except subprocess.TimeoutExpired:
        raise _refusal(file, f'not expanded within {_WALL:g} s') from None
    if done.returncode == 0:
        included, text = done.stdout.decode('utf-8').split('\n', 1)
        return text, [pathlib.Path(name) for name in json.loads(included)]
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise _refusal(file, f'its expressions take more than {_TIME} s to evaluate')
    lines = done.stderr.decode('utf-8', 'replace').strip().splitlines()
    raise _refusal(file, lines[-1] if lines else f'ended with status {done.returncode}')


def _packages_beside(file: pathlib.Path) -> dict[str, str]:
    """Folders of the ROS package that a file lies in, and of those beside it, by name."""
    home = next((k for k in file.parents if (k / 'package.xml').is_file()), None)
    folders: dict[str, str] = {}
    for manifest in (*home.parent.glob('*/package.xml'), home / 'package.xml') if home else ():
        with contextlib.suppress(OSError, *NOT_XML):
            name = (ElementTree.parse(manifest).findtext('name') or '').strip()
            folders[name] = str(manifest.parent)
    return folders


def _refusal(file: pathlib.Path, reason: str) -> DescriptionError:
    reason = ' '.join(reason.split())
    if missing := _NO_PACKAGE.search(reason):
        reason = (
            f'$(find {missing[1]}) is looked for in ROS workspaces and beside the package of the '
            'file, and not found: source the setup.bash of the workspace that has it, or write the '
            'folder of the package in its place'
        )
    return DescriptionError(file, '', f'xacro: {reason}')
