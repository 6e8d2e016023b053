# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Python packages that a part of this one needs and that may not be installed."""

from __future__ import annotations

# By the module's name: what needs it, and how it is installed. Ubuntu has no package of canopen.
_REMEDIES = {
    'canopen': (
        'servo drives need',
        "pip install 'canopen>=2.2,<3', on Ubuntu in a virtual environment "
        'with --system-site-packages',
    ),
    'can': ('servo drives need', 'apt install python3-can'),
    'msgpack': ('simulated buses need', 'apt install python3-msgpack'),
}


def remedy(error: ModuleNotFoundError) -> str:
    """A sentence on what is missing and how to get it; empty when the mistake is ours."""
    name = (error.name or '').partition('.')[0]
    if name not in _REMEDIES:
        return ''
    who, how = _REMEDIES[name]
    return f'{who} the Python package {name}, which is not installed: {how}'
