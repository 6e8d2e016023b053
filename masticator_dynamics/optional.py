# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Optional Python packages that parts of this one need."""

from __future__ import annotations

import importlib
from typing import Any

from masticator_dynamics.errors import InputError


def from_checkout(extra: str) -> str:
    """How to install what an extra needs: this package is on no index."""
    return f"pip install '.[{extra}]' in a checkout of this package"


# By module name: what needs it, and how to install it. Ubuntu has no package of canopen.
_REMEDIES = {
    'backports': ('compressed recordings need', from_checkout('demo')),
    'mcap': ('recordings of topics need', from_checkout('demo')),
    'rosbags': ('recordings of topics need', from_checkout('demo')),
    'clarabel': (
        'bodies that fit the data need',
        from_checkout('identification'),
    ),
    'casadi': ('functions for CasADi need', from_checkout('casadi')),
    'statsmodels': ('the report needs', from_checkout('statistics')),
    'trimesh': ('view needs', from_checkout('view')),
    'viser': ('view needs', from_checkout('view')),
    'distributed': ('--scheduler needs', from_checkout('cluster')),
    'pinocchio': ('models of Pinocchio need', from_checkout('pinocchio')),
    'canopen': (
        'servo drives need',
        f"{from_checkout('drives')}, or pip install 'canopen>=2.2,<3', on Ubuntu in a virtual "
        'environment with --system-site-packages',
    ),
    'can': ('servo drives need', f'{from_checkout("drives")}, or apt install python3-can'),
    'pyarrow': ('Parquet files need', from_checkout('parquet')),
    'pymoo': ('searches for the best design need', from_checkout('design')),
    'masticator_interfaces': (
        'load inertia by a service needs',
        'make setup says what is missing, or build it with colcon',
    ),
    'msgpack': (
        'simulated buses need',
        f'{from_checkout("drives")}, or apt install python3-msgpack',
    ),
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
