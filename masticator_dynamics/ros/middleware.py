# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of the middleware: no subscriber blocks publishers, and memory is given back."""

from __future__ import annotations

import os
from collections.abc import Mapping

from masticator_dynamics.files.share import share_directory

PROFILES = 'FASTRTPS_DEFAULT_PROFILES_FILE'  # the only name that Jazzy's Fast DDS 2.14 knows
HEEDED = 'RMW_FASTRTPS_USE_QOS_FROM_XML'  # so that memory settings in profiles count, too
RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
_OURS = ('', 'rmw_fastrtps_cpp', 'rmw_fastrtps_dynamic_cpp')


def settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables to set before ROS starts: Fast DDS over UDP alone, within the same range.

    Parameters
    ----------
    environment : mapping of str to str
        The current one; if it names profiles, another middleware, or static peers within this
        computer, the user has decided otherwise.

    Returns
    -------
    dict of str to str
        Empty if nothing is to be set.
    """
    if environment.get(PROFILES) or environment.get('RMW_IMPLEMENTATION', '') not in _OURS:
        return {}
    config = share_directory() / 'config'
    deprecated = environment.get('ROS_LOCALHOST_ONLY', '') == '1'
    if not deprecated and environment.get(RANGE, '').upper() != 'LOCALHOST':
        return {PROFILES: str(config / 'fastdds.xml'), HEEDED: '1'}
    if environment.get('ROS_STATIC_PEERS'):
        return {}
    local = {PROFILES: str(config / 'fastdds_localhost.xml'), HEEDED: '1'}
    local[RANGE] = 'SYSTEM_DEFAULT'
    return local | ({'ROS_LOCALHOST_ONLY': '0'} if deprecated else {})


def prepare() -> None:
    """Apply the settings to this process and those that it starts."""
    os.environ.update(settings(os.environ))
