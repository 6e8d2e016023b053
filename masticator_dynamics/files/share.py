# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where the files that ship with the package are, found without ROS."""

import pathlib

PACKAGE = 'masticator_dynamics'


def share_directory() -> pathlib.Path:
    """Find the folder that holds package.xml, config/, urdf/ and launch/.

    Returns
    -------
    pathlib.Path
        The source checkout when the package runs from one (editable or symlink install), else
        ``<prefix>/share/masticator_dynamics`` of the nearest prefix above the package.

    Raises
    ------
    FileNotFoundError
        Neither is there: the package was copied without its files.
    """
    return _share_directory_of(pathlib.Path(__file__).resolve().parents[1])


def _share_directory_of(package: pathlib.Path) -> pathlib.Path:
    # The marker is renamed on installation, so only a checkout has it under this name.
    if (package.parent / 'resource' / PACKAGE).is_file():
        return package.parent
    for prefix in package.parents:
        share = prefix / 'share' / PACKAGE
        if (share / 'package.xml').is_file():
            return share
    raise FileNotFoundError(
        f'the files of {PACKAGE} (config/, urdf/, …) were not found: {package.parent} is no source '
        f'checkout, and no folder above it has share/{PACKAGE}/package.xml; '
        'install the package with pip or colcon'
    )
