# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Distances and inertias of a URDF that are probably in millimetres and kg mm^2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

_FAR = 20.0  # m between joints, which few machines have
_LARGE = 10.0  # times the largest distance between joints, which few bodies measure
_BODY = 1.0  # m that a body may measure, however near to each other its joints are
_SLENDER = 5.0  # times its radius of gyration is how far a body is at most from a joint at its end
# Of one joint or link, and of several.
_JOINTS = (
    'joint {} is {:.4g} m from its parent link',
    'joints {} are up to {:.4g} m from their parent links',
)
_CENTERS = (
    'link {}: its centre of mass is {:.4g} m from its frame',
    'links {}: centres of mass are up to {:.4g} m from their frames',
)
_RADII = (
    'link {}: its radius of gyration is {:.4g} m', 'links {}: radii of gyration are up to {:.4g} m',
)  # fmt: skip


def not_in_metres(
    joints: Mapping[str, float], bodies: Mapping[str, tuple[float, float]]
) -> Iterator[str]:
    """Sentences on lengths that are probably in other units, one for all joints or links.

    Bodies are compared with the distances between joints. One whose centre of mass and radius of
    gyration agree with each other is large rather than in other units.

    Parameters
    ----------
    joints : mapping of str to float
        Distance of each joint from its parent link, m.
    bodies : mapping of str to (float, float)
        Of each link with mass: distance of its centre of mass from its frame, and its largest
        radius of gyration, m.
    """
    size = max((distance for distance in joints.values() if distance <= _FAR), default=0.0)
    limit = max(_LARGE * size, _BODY) if size else _FAR
    doubtful = {
        name: (center, radius)
        for name, (center, radius) in bodies.items()
        if max(center, radius) > min(_SLENDER * min(center, radius), _FAR)
    }
    centers = {name: center for name, (center, _) in doubtful.items()}
    radii = {name: radius for name, (_, radius) in doubtful.items()}
    compared = f', where joints are within {size:.3g} m of each other' if size else ''
    yield from _strange(joints, _FAR, _JOINTS, ': not in mm?')
    yield from _strange(centers, limit, _CENTERS, f'{compared}: not in mm?')
    yield from _strange(radii, limit, _RADII, f'{compared}: not in kg mm^2?')


def _strange(
    lengths: Mapping[str, float], limit: float, words: tuple[str, str], end: str
) -> Iterator[str]:
    """One sentence on all lengths beyond a limit; the first two are named."""
    strange = {name: length for name, length in lengths.items() if length > limit}
    if strange:
        names = list(strange)
        more = f' and {len(names) - 2} more' if len(names) > 2 else ''
        listed = (', ' if more else ' and ').join(names[:2]) + more
        yield words[len(names) > 1].format(listed, max(strange.values())) + end
