# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which mechanism an estimator was built for: a digest of what its inertia depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

from masticator_dynamics.description import MechanismDescription

_DIGITS, _ZERO = 9, 1e-12


def fingerprint(description: MechanismDescription) -> str:
    """Digest of joints, bodies, loops, contacts, actuators and home.

    Shapes, ranges, friction and gravity do not affect inertia. Numbers are compared to nine digits:
    the last ones of an expanded xacro differ from machine to machine.
    """
    lines = [f'{description.independent} {description.actuated}']
    for joint in description.tree.joints:
        names = f'{joint.name} {joint.type} {joint.parent} {joint.child}'
        placed = [*joint.position, *np.ravel(joint.rotation), *joint.axis]
        lines.append(f'{names} {_text(placed)}')
    for name, inertia in sorted(description.tree.links.items()):
        numbers = [inertia.mass, *inertia.center_of_mass, *np.ravel(inertia.about_center)]
        lines.append(f'{name} {_text(numbers)}')
    lines += [f'{c.name} {c.frames}' for c in description.closures]
    lines += [f'{c.frame} {_text([*c.normal, c.offset])}' for c in description.contacts]
    actuators = [description.actuators[name] for name in description.actuated]
    lines.append(_text([number for a in actuators for number in (a.rotor_inertia, a.ratio)]))
    lines += [f'{j} {_text([p.armature])}' for j, p in description.joints.items() if p.armature]
    lines += [f'{name} {_text([value])}' for name, value in sorted(description.home.items())]
    return hashlib.sha256('\n'.join(lines).encode()).hexdigest()


def _text(numbers: Iterable[float]) -> str:
    """Numbers with the digits that count."""
    return ' '.join('0' if abs(n) < _ZERO else f'{n:.{_DIGITS - 1}e}' for n in map(float, numbers))
