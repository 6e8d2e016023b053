# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What readings of encoders are to tell, and what else is not known exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.identification.encoder_equations import Equations
from masticator_dynamics.mechanism import Mechanism

# Standard deviations of what is asked for, before anything is known: zeros rad and m, angles and
# components of normals, and lengths and coordinates, m.
_ZERO, _SLIDE, _ANGLE, _LENGTH = 0.5, 0.05, 0.02, 1e-3
_COORDINATES = ('x', 'y', 'z', 'length', 'offset')
_ANGLES = ('roll', 'pitch', 'yaw', 'nx', 'ny', 'nz')


class EncoderUnknowns:
    """Parameters that were asked for, and dimensions that are known to a tolerance.

    Parameters
    ----------
    mechanism : Mechanism
    names : sequence of str
        What is asked for; none: the zeros of all actuated joints.
    tolerance : float
        Standard deviation of all other dimensions, m; 0: they are exact.

    Attributes
    ----------
    mechanism : Mechanism
    asked, names : tuples of str
        What was asked for, and all that is unknown, which begins with it.
    start, spread : arrays, shape (n_p,)
        As they are known, and their standard deviations.
    units : tuple of str
        Of what was asked for.

    Raises
    ------
    InputError
        For names that are no zeros or dimensions.
    """

    def __init__(self, mechanism: Mechanism, names: Sequence[str], tolerance: float):
        self.mechanism = mechanism
        self.asked = tuple(names) or tuple(f'{joint}.zero' for joint in mechanism.actuated)
        if not 0.0 <= tolerance < np.inf:
            raise InputError(f'the tolerance is {tolerance} m; 0 or more is needed')
        others = dimensions(mechanism) if tolerance else ()
        others = tuple(name for name in others if name not in self.asked)
        self.names = (*self.asked, *others)
        self.batch = mechanism.parameter_batch(self.names)
        own = [self._prior(name) for name in self.asked]
        self.units = tuple(unit for _, unit in own)
        self.start = self.batch.values
        self.spread = np.array([*(sd for sd, _ in own), *[tolerance] * len(others)])

    def _prior(self, name: str) -> tuple[float, str]:
        """Standard deviation and unit of something asked for."""
        joint, _, kind = name.rpartition('.')
        if kind == 'zero':
            slides = {j.name for j in self.mechanism.structure.tree.joints if j.unit == 'm'}
            return (_SLIDE, 'm') if joint in slides else (_ZERO, 'rad')
        if kind in _ANGLES:
            return _ANGLE, '' if kind.startswith('n') else 'rad'
        if kind in _COORDINATES:
            return _LENGTH, 'm'
        raise InputError(f'{name} is neither a zero nor a dimension: encoders do not see it')

    def covariance(self, equations: Sequence[Equations]) -> FloatArray:
        """Covariance (n_p, n_p) of all unknowns, with what is known beforehand.

        Errors that persist tell less than independent ones of the same size: standard deviations
        are the larger of those for independent noise and those by the errors' own scatter
        (Huber's sandwich over parts of the recording).
        """
        scale = np.outer(self.spread, self.spread)
        one = np.eye(len(self.spread))
        information = sum((e.information for e in equations), np.zeros_like(one)) * scale + one
        scatter = sum((e.scatter for e in equations), np.zeros_like(one)) * scale + one
        plain = np.linalg.inv(information)
        robust = plain @ scatter @ plain
        grown = np.sqrt(np.maximum(np.diag(robust) / np.diag(plain), 1.0))
        return np.asarray(plain * scale * np.outer(grown, grown))


def dimensions(mechanism: Mechanism) -> tuple[str, ...]:
    """Coordinates of joints and frames of the loops, and lengths and offsets, m.

    Frames of links without mass are no parts, and have no tolerance; those of the base have.
    """
    description = mechanism.description
    joints = description.tree.joints
    parts = {
        link
        for link, inertia in description.tree.links.items()
        if inertia.mass > 0.0 or inertia.about_center.any()
    }
    parts |= {joint.parent for joint in joints} - {joint.child for joint in joints}
    used = {frame for closure in description.closures for frame in closure.frames or ()}
    used |= {contact.frame for contact in description.contacts}
    moving = set(mechanism.tree_joints)
    found = [
        f'{joint.name}.{axis}'
        for joint in joints
        if joint.parent in parts and (joint.name in moving or joint.child in used)
        for axis in 'xyz'
    ]
    found += [f'{closure.name}.length' for closure in description.closures]
    found += [f'{contact.name}.offset' for contact in description.contacts]
    known = mechanism.parameters(geometry=True)
    return tuple(name for name in found if name in known)
