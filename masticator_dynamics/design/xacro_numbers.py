# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of a mechanism for other arguments of its xacro file, which is expanded anew."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np

from masticator_dynamics.description import MechanismDescription, load_description
from masticator_dynamics.engine import parameters as naming
from masticator_dynamics.engine.tree import spanning_tree
from masticator_dynamics.errors import InputError
from masticator_dynamics.mechanism import Mechanism

_DIGITS = 1e-12  # by which expanding in another process changes nothing


class XacroNumbers:
    """Reads parameters of the same mechanism with other arguments.

    Attributes
    ----------
    names : tuple of str
        Parameters that depend on the arguments.

    Parameters
    ----------
    mechanism : Mechanism
        With the file's own arguments.
    probes : iterable of mapping
        Arguments at which to look which parameters depend on them.

    Raises
    ------
    InputError
        If the mechanism's structure depends on an argument.
    """

    def __init__(self, mechanism: Mechanism, probes: Iterable[Mapping[str, float]]):
        self._mechanism = mechanism
        self._known = self._numbers(mechanism.description)
        self.names: tuple[str, ...] = tuple(self._known)
        moved = {
            name for probe in probes for name, x in self.of(probe).items() if self._new(name, x)
        }
        self.names = tuple(name for name in self._known if name in moved)

    def of(self, arguments: Mapping[str, float]) -> dict[str, float]:
        """Parameters for arguments.

        Raises
        ------
        DescriptionError
            If the file cannot be read with them.
        InputError
            If they change more than these parameters.
        """
        texts = {name: repr(float(x)) for name, x in arguments.items()}
        described = load_description(self._mechanism.description.file, texts)
        said = ', '.join(f'{name}:={x}' for name, x in texts.items())
        if _plan(described) != _plan(self._mechanism.description):
            raise InputError(f'the structure of {described.name} depends on {said}')
        found = self._numbers(described)
        others = [n for n in found if n not in self.names and self._new(n, found[n])]
        if others:
            raise InputError(f'{others[0]} is changed by {said}, but by no corner of the ranges')
        return {name: found[name] for name in self.names}

    def _numbers(self, description: MechanismDescription) -> dict[str, float]:
        structure = self._mechanism.structure
        joints = [joint.name for joint in structure.tree.joints]
        tree = spanning_tree(description.tree)
        names = [joint.name for joint in tree.joints]
        tree = tree.reordered([names.index(joint) for joint in joints])
        return naming.all_of(description, dataclasses.replace(structure, tree=tree))

    def _new(self, name: str, value: float) -> bool:
        return abs(value - self._known[name]) > _DIGITS * max(abs(self._known[name]), 1.0)


def _plan(description: MechanismDescription) -> object:
    """What parameters cannot change."""
    joints = [
        (j.name, j.type, j.parent, j.child, *np.round(j.axis, 12)) for j in description.tree.joints
    ]
    closures = [(c.name, c.type) for c in description.closures]
    return joints, closures, description.independent, description.actuated
