# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Optional Python packages that parts of this one need."""

from __future__ import annotations

import importlib
from typing import Any

from masticator_dynamics.errors import InputError

# By module name: what needs it, and how to install it. Ubuntu has no package of canopen.
_REMEDIES = {
    'backports': ('compressed recordings need', "pip install 'masticator_dynamics[demo]'"),
    'mcap': ('recordings of topics need', "pip install 'masticator_dynamics[demo]'"),
    'rosbags': ('recordings of topics need', "pip install 'masticator_dynamics[demo]'"),
    'clarabel': (
        'bodies that fit the data need',
        "pip install 'masticator_dynamics[identification]'",
    ),
    'casadi': ('functions for CasADi need', "pip install 'masticator_dynamics[casadi]'"),
    'statsmodels': ('the report needs', "pip install 'masticator_dynamics[statistics]'"),
    'trimesh': ('view needs', "pip install 'masticator_dynamics[view]'"),
    'viser': ('view needs', "pip install 'masticator_dynamics[view]'"),
    'distributed': ('--scheduler needs', "pip install 'masticator_dynamics[cluster]'"),
    'pinocchio': ('models of Pinocchio need', "pip install 'masticator_dynamics[pinocchio]'"),
    'canopen': (
        'servo drives need',
        "pip install 'canopen>=2.2,<3', on Ubuntu in a virtual environment "
        'with --system-site-packages',
    ),
    'can': ('servo drives need', 'apt install python3-can'),
    'pyarrow': ('Parquet files need', "pip install 'masticator_dynamics[parquet]'"),
    'pymoo': ('searches for the best design need', "pip install 'masticator_dynamics[design]'"),
    'masticator_interfaces': (
        'load inertia by a service needs',
        'make setup says what is missing, or build it with colcon',
    ),
    'msgpack': ('simulated buses need', 'apt install python3-msgpack'),
}


def remedy(error: ModuleNotFoundError) -> str:
    """What is missing and how to get it; empty if the error is a bug in this package."""
    name = (error.name or '').partition('.')[0]
    if name not in _REMEDIES:
        return ''
    who, how = _REMEDIES[name]
    return f'{who} the Python package {name}, which is not installed: {how}'


def needed(module: str) -> Any:
    """A module of an optional package; raises InputError that says how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(remedy(error) or str(error)) from error
