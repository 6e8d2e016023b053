# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A small robot for every kind of closure, contact and joint."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import linkages
import machines
import numpy as np
from linkages import Part, frame
from machines import FOOT, ROCKER, ROD, SKEW, TIP

MECHANISMS = pathlib.Path(__file__).parent / 'mechanisms'
CRANK = {'independent': ['crank_joint'], 'actuated': ['crank_joint'], 'platform': 'rocker'}
BY_ROCKER = CRANK | {'independent': ['rocker_joint'], 'actuated': ['rocker_joint']}
BY_ROD = CRANK | {name: ['crank_joint', 'rod_joint'] for name in ('independent', 'actuated')}
SLOT = {'name': 'slot', 'frame': 'pin', 'carrier': 'slot', 'normal': [0.0, 0.0, 2.0], 'offset': 0.0}
HUMP = [[0.0, 0.0], [0.3, 0.1], [-2.0, 0.4], [5.0, 0.0]]


def _written(folder: pathlib.Path, parts: list[Part], name: str, **keys: object) -> pathlib.Path:
    """Description files whose joints turn or slide by no more than half a radian or metre."""
    file = linkages.write(folder, parts, name, **keys)
    urdf = folder / f'{name}.urdf'
    text = urdf.read_text(encoding='utf-8').replace(
        'lower="-9" upper="9"', 'lower="-.5" upper=".5"'
    )
    urdf.write_text(text, encoding='utf-8')
    return file


def _loop(kind: str, first: str, second: str) -> dict[str, object]:
    return {'closures': [{'name': 'loop', 'type': kind, 'frames': [first, second]}]}


def point(folder: pathlib.Path) -> pathlib.Path:
    parts = [machines.crank(), *machines.rod(), frame('tip', 'rod', ROD), machines.rocker()]
    parts.append(frame('seat', 'rocker', TIP - ROCKER))
    return _written(folder, parts, 'point', **_loop('point', 'tip', 'seat'), **CRANK)


def distance(folder: pathlib.Path) -> pathlib.Path:
    parts = [machines.crank(), frame('foot', 'crank', FOOT), machines.rocker()]
    parts.append(frame('seat', 'rocker', TIP - ROCKER))
    loop = _loop('distance', 'foot', 'seat')
    loop['closures'][0]['length'] = float(np.linalg.norm(ROD))  # type: ignore[index]
    return _written(folder, parts, 'distance', **loop, **CRANK)


def coupling(folder: pathlib.Path) -> pathlib.Path:
    """A cam, and a screw by which two joints move a third."""
    parts = [
        machines.crank(),
        Part('arm', 'crank', FOOT, (0.0, 0.6, 0.8), mass=0.8, center=(0.1, 0.0, 0.05)),
        Part('slide', 'arm', (0.1, 0.0, 0.0), (1.0, 0.2, 0.0), 'prismatic', mass=0.5),
    ]
    closures = [
        {'name': 'screw', 'type': 'coupling', 'joint': 'slide_joint',
         'of': {'arm_joint': [0.05, 0.02], 'crank_joint': [-0.03]}},
        {'name': 'cam', 'type': 'coupling', 'joint': 'arm_joint', 'offset': 0.1,
         'of': {'crank_joint': [0.5, 0.3, -0.2]}},
    ]  # fmt: skip
    home = {'arm_joint': 0.1, 'slide_joint': 0.05 * 0.1 + 0.02 * 0.01}
    keys = CRANK | {'platform': 'slide', 'home': home, 'closures': closures}
    return _written(folder, parts, 'coupling', **keys)


def surface(folder: pathlib.Path) -> pathlib.Path:
    """A pin on a leaning crank, on a curved surface of the rocker."""
    parts = machines.slot_parts()
    parts[0] = Part('crank', 'ground', axis=(0.1, 0.2, 1.0), mass=0.9, center=(0.05, 0.0, 0.0))
    parts[3] = frame('slot', 'rocker', (0.3, 0.0, 0.0), (np.pi / 2.0, 0.0, 0.0))
    hump = {'name': 'cam', 'type': 'surface', 'frame': 'pin', 'carrier': 'slot',
            'height': {'polynomial': HUMP}}  # fmt: skip
    return _written(folder, parts, 'surface', contacts=[hump], **CRANK)


def _cut(kind: str, parts: Callable[[], list[Part]], ends: tuple[str, str], **keys: object):  # type: ignore[no-untyped-def]
    """A machine that a closure of a type closes."""
    return lambda folder: _written(folder, parts(), kind, **_loop(kind, *ends), **keys)


def _chain(kind: str) -> Callable[[pathlib.Path], pathlib.Path]:
    """Two joints of a type in series, and no loop."""

    def written(folder: pathlib.Path) -> pathlib.Path:
        parts = [
            Part('one', 'ground', axis=SKEW, kind=kind, mass=0.8, center=(0.1, 0.02, 0.0)),
            Part('two', 'one', (0.2, 0.1, 0.0), (0.0, 0.6, 0.8), kind, mass=0.5,
                 center=(0.1, 0.0, 0.05)),
        ]  # fmt: skip
        joints = [part.joint for part in parts]
        return _written(folder, parts, kind, independent=joints, actuated=joints)

    return written


CLOSURES: dict[str, Callable[[pathlib.Path], pathlib.Path]] = {
    'point': point,
    'weld': _cut('weld', machines.weld_parts, ('cut', 'end'), **CRANK),
    'hinge': _cut('hinge', machines.hinge_parts, ('bearing', 'shaft'), **BY_ROCKER),
    'universal': _cut('universal', machines.universal_parts, ('fork', 'foot'), **CRANK),
    'cylindrical': _cut('cylindrical', machines.block_parts, ('rail', 'shoe'), **BY_ROD),
    'slider': _cut('slider', machines.block_parts, ('rail', 'shoe'), **CRANK),
    'distance': distance,
    'coupling': coupling,
    'rack': lambda _: MECHANISMS / 'travelling_pinion.yaml',
}
CONTACTS: dict[str, Callable[[pathlib.Path], pathlib.Path]] = {
    'plane': lambda folder: _written(
        folder, machines.slot_parts(), 'plane', contacts=[SLOT], **CRANK
    ),
    'surface': surface,
}
JOINTS = {kind: _chain(kind) for kind in ('revolute', 'continuous', 'prismatic')} | {
    'screw': lambda _: MECHANISMS / 'jack.yaml'
}
