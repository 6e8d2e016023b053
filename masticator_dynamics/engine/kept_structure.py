# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Structures cached between processes: finding one takes tenths of a second, or seconds."""

from __future__ import annotations

import sys
import warnings

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.description.urdf import Inertia, Joint
from masticator_dynamics.engine.constraint import Constraint
from masticator_dynamics.engine.structure import Block, Redundancy, Structure
from masticator_dynamics.engine.surface import Surface
from masticator_dynamics.engine.tree import Placement, SpanningTree
from masticator_dynamics.errors import DescriptionWarning
from masticator_dynamics.files import plain_data
from masticator_dynamics.files.kept import kept, key_of, sources

_CLASSES = (
    Block, Constraint, Inertia, Joint, Placement, Redundancy, SpanningTree, Structure, Surface,
)  # fmt: skip


def structure_of(description: MechanismDescription) -> Structure:
    """Blocks and their order, from the cache, or found now and cached.

    Raises
    ------
    DescriptionError
        As for :func:`masticator_dynamics.engine.analysis.analyse`.
    """

    def make() -> bytes:
        from masticator_dynamics.engine.analysis import analyse

        return plain_data.dump(analyse(description))

    made_by = sources('engine', 'files'), sys.version, np.__version__
    text = kept('structures', f'{key_of(made_by, description)}.json', make)
    structure: Structure = plain_data.load(text, _CLASSES)
    for doubt in structure.doubts:
        warnings.warn(doubt, DescriptionWarning, stacklevel=2)
    return structure
