# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From description files to a validated description."""

from masticator_dynamics.description.data import MechanismDescription
from masticator_dynamics.description.loader import (
    archetypes,
    description_from_text,
    load_description,
    shipped_mechanisms,
)

__all__ = [
    'MechanismDescription',
    'archetypes',
    'description_from_text',
    'load_description',
    'shipped_mechanisms',
]
