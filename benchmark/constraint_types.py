# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Time of a weld, a hinge and a coupling next to that of equivalent point closures.

``python -m benchmark.constraint_types`` prints the times, taken in alternating turns. In the same
spatial four-bar, the rod or the crank is closed by one closure or by equivalent points: three for a
weld (six of nine rows are independent), two on the axis for a hinge (five of six). A gear is
compared with a point on a plane (one row).
"""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import yaml

from benchmark.states import States
from benchmark.timing import Method, percentiles, time_calls
from masticator_dynamics import Mechanism
from masticator_dynamics.description import description_from_text

ROUNDS, POOL = 200, 64
FOOT, TIP, PIVOT = (
    np.array([0.02, 0.1, 0.0]),
    np.array([0.35, 0.2, 0.15]),
    np.array([0.4, 0.0, 0.1]),
)
ROD, SKEW, ACROSS = TIP - FOOT, (0.5, 0.5, -0.6), (0.6, -1.0, 0.0)
SPREAD = 0.05 * np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # points of a weld
X, Y, Z = np.eye(3)


def link(name: str, parent: str, at: Any, axis: Any = None, mass: float = 0.0) -> str:
    """URDF of a link and of the joint that carries it: turning about an axis, or fixed."""
    inertia = ''
    if mass:
        inertia = (
            f'<inertial><origin xyz="0.05 0.02 0.03"/><mass value="{mass}"/><inertia ixx="0.01" '
            'iyy="0.012" izz="0.014" ixy="0" ixz="0" iyz="0"/></inertial>'
        )
    place = ' '.join(map(str, np.asarray(at, dtype=float).tolist()))
    turns = '' if axis is None else f'<axis xyz="{" ".join(map(str, axis))}"/>'
    kind = 'fixed' if axis is None else 'continuous'
    return (
        f'<link name="{name}">{inertia}</link><joint name="{name}_joint" type="{kind}"><parent '
        f'link="{parent}"/><child link="{name}"/><origin xyz="{place}"/>{turns}</joint>'
    )


def ball(name: str, parent: str, at: Any, mass: float) -> list[str]:
    """URDF of a link on three turning joints in series."""
    return [
        link(f'{name}_1', parent, at, X), link(f'{name}_2', f'{name}_1', 0 * X, Y),
        link(name, f'{name}_2', 0 * X, Z, mass),
    ]  # fmt: skip


def described(name: str, links: list[str], **keys: Any) -> Mechanism:
    """Mechanism from texts, without a cache."""
    content = {'schema': 1, 'name': name, 'urdf': 'made.urdf', 'base': 'ground', **keys}
    urdf = f'<robot name="{name}"><link name="ground"/>{"".join(links)}</robot>'
    text = yaml.safe_dump(content)
    return Mechanism(description_from_text(pathlib.Path('made.yaml'), text, urdf))


def mechanism(name: str, links: list[str], driven: str, **keys: Any) -> Mechanism:
    """A mechanism with one freedom and a motor on it."""
    freedom = {'independent': [driven], 'actuated': [driven]}
    return described(name, links, platform='crank', **freedom, **keys)


def welds() -> tuple[Mechanism, Mechanism]:
    """The four-bar with its rod in two halves, closed by a weld or by three points."""
    links = [
        link('crank', 'ground', 0 * X, Z, 0.9), link('cross', 'crank', FOOT, Z),
        link('rod', 'cross', 0 * X, ACROSS, 0.7), link('rocker', 'ground', PIVOT, SKEW, 1.1),
        *ball('half', 'rocker', TIP - PIVOT, 0.4),
    ]  # fmt: skip
    for k, place in enumerate(SPREAD):
        links += [
            link(f'a{k}', 'rod', 0.3 * ROD + place), link(f'b{k}', 'half', place - 0.7 * ROD)
        ]  # fmt: skip
    one = [{'name': 'weld', 'type': 'weld', 'frames': ['a0', 'b0']}]
    three = [{'name': f'p{k}', 'frames': [f'a{k}', f'b{k}']} for k in range(3)]
    keys = (links, 'crank_joint')
    return mechanism('weld', *keys, closures=one), mechanism('points', *keys, closures=three)


def hinges() -> tuple[Mechanism, Mechanism]:
    """The four-bar with its crank carried by the rod; the crank's ground bearing is closed."""
    links = [
        link('rocker', 'ground', PIVOT, SKEW, 1.1), *ball('rod', 'rocker', TIP - PIVOT, 0.7),
        link('cross', 'rod', -ROD, ACROSS), link('crank', 'cross', 0 * X, Z, 0.9),
    ]  # fmt: skip
    for k, height in enumerate((0.0, 0.1)):
        links += [link(f'a{k}', 'crank', height * Z - FOOT), link(f'b{k}', 'ground', height * Z)]
    one = [{'name': 'hinge', 'type': 'hinge', 'frames': ['b0', 'a0']}]
    two = [{'name': f'p{k}', 'frames': [f'b{k}', f'a{k}']} for k in range(2)]
    keys = (links, 'rocker_joint')
    return mechanism('hinge', *keys, closures=one), mechanism('points', *keys, closures=two)


def couplings() -> tuple[Mechanism, Mechanism]:
    """An arm on a crank, guided by a gear or by a wall."""
    links = [
        link('crank', 'ground', 0 * X, Z, 0.9), link('arm', 'crank', 0.2 * X, Z, 0.8),
        link('tip', 'arm', 0.3 * X),
    ]  # fmt: skip
    gear = [
        {'name': 'gear', 'type': 'coupling', 'joint': 'arm_joint', 'of': {'crank_joint': [-2.0]}}
    ]
    home = {'crank_joint': 0.8, 'arm_joint': -1.6}
    wall = [{
        'name': 'wall', 'frame': 'tip', 'normal': [0.0, 1.0, 0.0],
        'offset': -0.2 * float(np.sin(0.8)) + 0.3 * float(np.sin(0.8)),
    }]  # fmt: skip
    keys = (links, 'crank_joint')
    return (
        mechanism('coupling', *keys, closures=gear, home=home),
        mechanism('points', *keys, contacts=wall, home=home),
    )


def timed(pair: tuple[Mechanism, Mechanism], rounds: int = ROUNDS) -> tuple[float, float]:
    """Time of a call with the closure and with points, us, in alternating turns (p10)."""
    rng = np.random.default_rng(0)
    y = pair[0].home.y + rng.uniform(-0.15, 0.15, (POOL, 1))
    y_dot, y_ddot = rng.normal(size=(2, POOL, 1))
    states = States(y, y_dot, y_ddot, rng.normal(size=(POOL, 6)))
    methods = [
        Method(str(k), lambda *s, m=m: m.feedforward(*s).actuated) for k, m in enumerate(pair)
    ]
    for state in states.rows()[:8]:
        one, other = (method.call(*state) for method in methods)
        assert pair[0].name == 'coupling' or np.allclose(one, other, rtol=1e-8)
    found = percentiles(time_calls(methods, states, rounds), 10.0, 1e6)
    return found['0'], found['1']


def main() -> None:
    """Print a line for each type of closure."""
    for pair in (welds(), hinges(), couplings()):
        rows = [sum(c.size for c in m.structure.constraints) for m in pair]
        closure, points = timed(pair)
        print(
            f'{pair[0].name:8}  {rows[0]} rows  {closure:6.2f} us   points  {rows[1]} rows  '
            f'{points:6.2f} us   ratio {closure / points:.2f}'
        )


if __name__ == '__main__':
    main()
