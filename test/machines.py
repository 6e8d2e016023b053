# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parts of small machines with a closure of every type, cut where it takes the place of joints."""

from __future__ import annotations

from typing import Any

import numpy as np
from linkages import Part, frame

# A crank about Z, a rod on a universal joint, and a rocker about a skew axis, or a block on a skew
# slide. Home is where all joints are 0; the rod goes from FOOT to TIP, in the base.
FOOT, TIP = np.array([0.02, 0.1, 0.0]), np.array([0.35, 0.2, 0.15])
ROCKER = np.array([0.4, 0.0, 0.1])
SKEW = (0.5, 0.5, -0.6)
ROD = TIP - FOOT
CROSS = ((0.0, 0.0, 1.0), (0.6, -1.0, 0.0))  # axes of the universal joint; the rod spins on none
ROD_MASS = 0.7


def turn_to(axis: Any) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a frame whose Z is along an axis."""
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    return (0.0, float(np.arctan2(np.hypot(x, y), z)), float(np.arctan2(y, x)))


def crank() -> Part:
    return Part('crank', 'ground', mass=0.9, center=(0.06, 0.02, 0.01))


def rocker(kind: str = 'revolute') -> Part:
    return Part('rocker', 'ground', ROCKER, SKEW, kind, mass=1.1, center=(0.02, 0.08, 0.03))


def rod(mass: float = ROD_MASS) -> list[Part]:
    """A rod on the crank, by a universal joint."""
    return [
        Part('cross', 'crank', FOOT, CROSS[0]),
        Part('rod', 'cross', axis=CROSS[1], mass=mass, center=0.4 * ROD),
    ]


def ball(link: str, parent: str, at: Any) -> list[Part]:
    """Three turning joints in series; the last one carries ``link``, without mass."""
    return [
        Part(f'{link}_1', parent, at, (1.0, 0.0, 0.0)),
        Part(f'{link}_2', f'{link}_1', axis=(0.0, 1.0, 0.0)),
        Part(link, f'{link}_2', axis=(0.0, 0.0, 1.0)),
    ]


def weld_parts() -> list[Part]:
    """The rod is in two halves, one of which is on the rocker's ball joint."""
    return [
        crank(), *rod(), rocker(), *ball('half', 'rocker', TIP - ROCKER),
        frame('cut', 'rod', 0.3 * ROD, (0.4, 0.2, -0.3)),
        frame('end', 'half', -0.7 * ROD, (0.4, 0.2, -0.3)),
    ]  # fmt: skip


def hinge_parts() -> list[Part]:
    """The crank is carried by the rod; its bearing in the ground closes the loop."""
    return [
        rocker(), *ball('loose', 'rocker', TIP - ROCKER),
        Part('rod', 'loose', kind='fixed', mass=ROD_MASS, center=-0.6 * ROD),
        Part('cross', 'rod', -ROD, CROSS[1]),
        Part('crank', 'cross', axis=CROSS[0], mass=0.9, center=np.array([0.06, 0.02, 0.01]) - FOOT),
        frame('shaft', 'crank', -FOOT), frame('bearing', 'ground', (0.0, 0.0, 0.0), (0, 0, 0.7)),
    ]  # fmt: skip


def universal_parts() -> list[Part]:
    return [
        crank(), rocker(), *ball('loose', 'rocker', TIP - ROCKER),
        Part('rod', 'loose', kind='fixed', mass=ROD_MASS, center=-0.6 * ROD),
        frame('fork', 'crank', FOOT, turn_to(CROSS[0])),
        frame('foot', 'rod', -ROD, turn_to(CROSS[1])),
    ]  # fmt: skip


def block_parts() -> list[Part]:
    """The block is carried by the rod; its guide on the ground closes the loop."""
    return [
        crank(), *rod(), *ball('loose', 'rod', ROD),
        Part('rocker', 'loose', ROCKER - TIP, kind='fixed', mass=1.1, center=(0.02, 0.08, 0.03)),
        frame('rail', 'ground', ROCKER - 0.1 * np.array(SKEW), turn_to(SKEW)),
        frame('shoe', 'rocker', (0.0, 0.0, 0.0), turn_to(SKEW)),
    ]  # fmt: skip


def slot_parts() -> list[Part]:
    """A pin on a crank in a rocker's slot."""
    return [
        Part('crank', 'ground', mass=0.9, center=(0.05, 0.0, 0.0)),
        frame('pin', 'crank', (0.1, 0.0, 0.0)),
        Part('rocker', 'ground', (-0.2, 0.0, 0.0), mass=1.1, center=(0.15, 0.02, 0.0)),
        frame('slot', 'rocker', (0.1, 0.0, 0.0), (1.5707963267948966, 0.0, 0.0)),
    ]
