# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The shipped files are found in a checkout and in an installation, without ROS."""

import pathlib
from xml.etree import ElementTree

import pytest
from processes import PYTHON, completed

from masticator_dynamics.files import share


def installed_package(prefix: pathlib.Path, with_files: bool = True) -> pathlib.Path:
    """Lay out what pip and colcon install below `prefix`; return the package's folder."""
    package = prefix / 'lib/python3.12/site-packages/masticator_dynamics'
    package.mkdir(parents=True)
    if with_files:
        files = prefix / 'share/masticator_dynamics'
        files.mkdir(parents=True)
        (files / 'package.xml').touch()
    return package


def test_found_directory_holds_this_package() -> None:
    found = share.share_directory()
    assert ElementTree.parse(found / 'package.xml').getroot().findtext('name') == share.PACKAGE
    assert (found / 'config').is_dir()
    assert (found / 'urdf').is_dir()


def test_checkout_wins_over_an_installation_around_it(tmp_path: pathlib.Path) -> None:
    installed_package(tmp_path)
    checkout = tmp_path / 'workspace/checkout'
    (checkout / 'resource').mkdir(parents=True)
    (checkout / 'resource/masticator_dynamics').touch()
    assert share._share_directory_of(checkout / 'masticator_dynamics') == checkout


def test_nearest_prefix_wins(tmp_path: pathlib.Path) -> None:
    installed_package(tmp_path)
    inner = installed_package(tmp_path / 'opt/environment')
    assert share._share_directory_of(inner) == (
        tmp_path / 'opt/environment/share/masticator_dynamics'
    )


def test_missing_files_are_an_error_that_says_where_it_looked(tmp_path: pathlib.Path) -> None:
    package = installed_package(tmp_path, with_files=False)
    with pytest.raises(FileNotFoundError) as caught:
        share._share_directory_of(package)
    assert str(package.parent) in str(caught.value)
    assert 'share/masticator_dynamics/package.xml' in str(caught.value)


def test_core_imports_no_ros() -> None:
    script = (
        'import sys, masticator_dynamics, masticator_dynamics.files.share\n'
        "print(*sorted(m for m in sys.modules if m.split('.')[0] in ('rclpy', 'std_msgs', 'launch',"
        " 'ament_index_python')))"
    )
    run = completed(*PYTHON, '-c', script, check=True)
    assert run.stdout.split() == []
