# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator coupling``: inertia coupling of the actuators along a motion."""

from __future__ import annotations

import click

from masticator_dynamics.commands.options import mechanism_argument, motion_option, output_option
from masticator_dynamics.errors import InputError


@click.command()
@mechanism_argument
@motion_option
@output_option
def coupling(mechanism: str, motion_file: str, output_file: str) -> None:
    """Inertia coupling of the actuators along a motion."""
    raise InputError('coupling is not available yet')
