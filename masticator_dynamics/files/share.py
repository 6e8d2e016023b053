# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where the files that ship with the package are, found without ROS."""

import os
import pathlib

from masticator_dynamics.errors import DescriptionError, meant

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


def shipped_names(folder: str) -> tuple[str, ...]:
    """Names of the YAML files in a folder of config/, in order."""
    return tuple(sorted(p.stem for p in (share_directory() / 'config' / folder).glob('*.yaml')))


def config_text(file: str) -> str:
    """Text of a file in config/."""
    return (share_directory() / 'config' / file).read_text(encoding='utf-8')


def find_yaml(name_or_path: str | pathlib.Path, what: str, *folders: str) -> pathlib.Path:
    """Path of a YAML file: one shipped, by name, or any, by path.

    Parameters
    ----------
    name_or_path : str or pathlib.Path
        A name has no folder and no suffix.
    what : str
        What the file describes, for the message.
    *folders : str
        Of config/, in which names are looked for.

    Raises
    ------
    DescriptionError
        When there is no file of that name; lists those there are.
    """
    path = pathlib.Path(name_or_path)
    if path.suffix in ('.yaml', '.yml') or len(path.parts) > 1:
        if os.path.isdir(path):  # False for a name that no file can have
            raise DescriptionError(path, '', f'no {what}{_inside(path) or " but a folder"}')
        return path
    for folder in folders:
        if str(name_or_path) in shipped_names(folder):
            return share_directory() / 'config' / folder / f'{name_or_path}.yaml'
    names = [name for folder in folders for name in shipped_names(folder)]
    near = _inside(path) or meant(str(name_or_path), names)
    raise DescriptionError(
        name_or_path, '',
        f'no such {what}{near}; shipped are {", ".join(names)}; or give a path '
        'to a .yaml',
    )  # fmt: skip


def _inside(path: pathlib.Path) -> str:
    """The file that is meant by a folder, if any, as a question."""
    inside = path / f'{path.name}.yaml'
    return f' but a folder; is {str(inside)!r} meant?' if os.path.isfile(inside) else ''


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
