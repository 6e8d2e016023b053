# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From mechanism files to one validated, immutable description, cached for later processes."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Mapping

from masticator_dynamics.description import description_cache
from masticator_dynamics.description.data import MechanismDescription
from masticator_dynamics.errors import DescriptionWarning
from masticator_dynamics.files.share import find_yaml, shipped_names


def shipped_mechanisms() -> tuple[str, ...]:
    """Names of the papers' mechanisms that come with the package."""
    return shipped_names('mechanisms')


def archetypes() -> tuple[str, ...]:
    """Names of the common mechanisms that come with the package as starting points."""
    return shipped_names('archetypes')


def load_description(
    name_or_path: str | pathlib.Path, xacro_arguments: Mapping[str, str] | None = None
) -> MechanismDescription:
    """Read a shipped mechanism by name, or any mechanism file by path.

    Parameters
    ----------
    name_or_path : str or pathlib.Path
    xacro_arguments : mapping of str to str, optional
        In addition to those in the file, which they override.

    Raises
    ------
    DescriptionError
        Naming file, key and reason for anything that is missing, misspelt or inconsistent.
    """
    file = find_yaml(name_or_path, 'mechanism', 'mechanisms', 'archetypes')
    return _warned(description_cache.description(file, {**(xacro_arguments or {})}))


def description_from_text(
    file: pathlib.Path, yaml_text: str, urdf_text: str
) -> MechanismDescription:
    """Make a description from the two texts that its files would contain.

    Parameters
    ----------
    file : pathlib.Path
        Where the YAML text would be; other files are looked for in its folder.
    yaml_text, urdf_text : str
        Contents of the two files.

    Raises
    ------
    DescriptionError
        As :func:`load_description`; names ``file`` as the YAML file.
    """
    # Imported here: the checks take longer to import than everything else.
    from masticator_dynamics.description import reading

    return _warned(reading.of_texts(file, yaml_text, urdf_text))


def _warned(description: MechanismDescription) -> MechanismDescription:
    for warning in description.doubts:
        warnings.warn(f'{description.urdf_file}: {warning}', DescriptionWarning, stacklevel=3)
    return description
