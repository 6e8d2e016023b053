# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator_add_mechanism`` in a package of somebody else, with ament and CMake, without ROS."""

from __future__ import annotations

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import samples

CONTROL = samples.ROOT / 'masticator_control'
PREFIX = pathlib.Path(sys.prefix)
CMAKE = shutil.which('cmake', path=f'{PREFIX / "bin"}{os.pathsep}{os.environ["PATH"]}')
AMENT = PREFIX / 'share' / 'ament_cmake' / 'cmake'
pytestmark = pytest.mark.skipif(
    not (CMAKE and AMENT.is_dir() and shutil.which('gcc') and shutil.which('make')),
    reason='there is no CMake with ament_cmake, or no C compiler',
)
LISTS = """
cmake_minimum_required(VERSION 3.16)
project(mine C)
find_package(ament_cmake REQUIRED)
set(masticator_control_TEMPLATES "{control}/cmake")
set(masticator_control_HEADERS "{control}/include")
include("{control}/cmake/masticator_add_mechanism.cmake")
{line}
ament_package()
"""
MANIFEST = """<package format="3">
<name>mine</name><version>0.1.0</version><description>Mine.</description>
<maintainer email="me@example.org">Me</maintainer><license>Apache-2.0</license></package>"""


def run(*command: object) -> subprocess.CompletedProcess[str]:
    environment = {
        k: v for k, v in os.environ.items() if k not in ('CMAKE_PREFIX_PATH', 'PYTHONPATH')
    }
    environment |= {
        'AMENT_PREFIX_PATH': str(PREFIX),
        'PATH': f'{PREFIX / "bin"}{os.pathsep}{os.environ["PATH"]}',
    }
    words = [str(word) for word in command]
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)


def package(folder: pathlib.Path, line: str) -> pathlib.Path:
    """A package with the five-bar's files and a line in its CMakeLists.txt."""
    for file in samples.OWN.glob('five_bar*'):
        shutil.copy(file, folder)
    (folder / 'CMakeLists.txt').write_text(LISTS.format(control=CONTROL, line=line))
    (folder / 'package.xml').write_text(MANIFEST)
    return folder


def configured(folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    return run(
        CMAKE, '-S', folder, '-B', folder / 'build', '-G', 'Unix Makefiles',
        f'-DCMAKE_PREFIX_PATH={PREFIX}', f'-DPython3_EXECUTABLE={sys.executable}',
        f'-DCMAKE_INSTALL_PREFIX={folder / "install"}',
    )  # fmt: skip


def test_one_line_makes_a_mechanism_that_controllers_find(tmp_path: pathlib.Path) -> None:
    folder = package(tmp_path, 'masticator_add_mechanism(mine five_bar.yaml FRICTION)')
    assert (done := configured(folder)).returncode == 0, done.stderr
    build = (CMAKE, '--build', folder / 'build', '--target', 'install')
    assert (done := run(*build)).returncode == 0, done.stdout + done.stderr
    index = folder / 'install/share/ament_index/resource_index/masticator_mechanisms/mine'
    library, source = index.read_text().split(';')
    text = (folder / 'install' / source).read_text()
    assert 'mine_platform' in text

    class Table(ctypes.Structure):
        _fields_ = [('version', ctypes.c_int), ('name', ctypes.c_char_p)]

    loaded = ctypes.CDLL(str(folder / 'install' / library))
    table = Table.in_dll(loaded, 'masticator_mechanism_table')
    assert (table.version, table.name) == (2, b'mine')
    with pytest.raises(AttributeError):
        loaded.mine_fit  # noqa: B018  two robots in a process do not get into each other's way
    # A change of the description is exported at the next build.
    file = folder / 'five_bar.yaml'
    changed = file.read_text().replace('9.81', '9.80')
    file.write_text(changed)
    assert (done := run(*build)).returncode == 0, done.stdout + done.stderr
    assert (folder / 'install' / source).read_text() != text


@pytest.mark.parametrize(
    ('line', 'said'),
    [
        ('masticator_add_mechanism(Mine five_bar.yaml)', "name 'Mine' is no lower-case identifier"),
        ('masticator_add_mechanism(mine nowhere.yaml)', 'there is no file'),
        ('masticator_add_mechanism(mine five_bar.yaml RUBBING)', 'unknown: RUBBING'),
    ],
)
def test_what_cannot_be_exported_is_told_at_once(
    tmp_path: pathlib.Path, line: str, said: str
) -> None:
    done = configured(package(tmp_path, line))
    assert done.returncode != 0 and said in ' '.join(done.stderr.split())
