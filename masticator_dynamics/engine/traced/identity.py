# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What machine code depends on, worked out once for all codes of a mechanism."""

from __future__ import annotations

import functools
from typing import Any

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.engine.traced.machine_code import Library
from masticator_dynamics.files import file_cache


class Identity:
    """Everything in a mechanism that machine code depends on, and the code that is loaded.

    Mechanisms that differ only in inputs of their code have the same one. It is compared by a
    digest, which is part of the names of files.

    Parameters
    ----------
    further
        What the code depends on besides.

    Attributes
    ----------
    libraries : dict of str to Library
        By the names of their files.
    """

    def __init__(self, description: MechanismDescription, structure: Structure, *further: Any):
        self._of, self.libraries = (description, structure, *further), dict[str, Library]()

    @functools.cached_property
    def digest(self) -> str:
        """Of all of it."""
        d, s, *further = self._of
        return file_cache.key_of(
            file_cache.sources('engine/traced', 'engine'), s.tree, s.constraints, s.blocks,
            s.stages, s.home, d.gravity, d.platform, d.independent, d.actuated, d.actuators,
            d.contacts, d.force_joints, d.joints, further,
        )  # fmt: skip

    def __repr__(self) -> str:
        """The digest, by which it enters others."""
        return self.digest

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle: other processes load the code themselves."""
        return type(self), self._of
