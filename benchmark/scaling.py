# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How time grows with the size of a mechanism: ``python -m benchmark.scaling``.

A chain of N four-bars, in which each rocker is the next one's crank, has one freedom and N loops in
series. A planar platform on N limbs, each a motor-driven crank with a rod, has three freedoms and N
loops in parallel. The exponents of N are computed from successive lines.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np

from benchmark.constraint_types import X, Y, Z, described, link
from masticator_dynamics import Mechanism

SIZES = (3, 6, 12, 24, 48)
CALLS, ROWS, ROUNDS = 64, 500, 15
ROD, ROCKER = 0.5, 0.4


def chain(size: int) -> Mechanism:
    """A chain of parallelograms: pivots one rod length apart along x, cranks along y."""
    links, closures = [link('crank_0', 'ground', 0 * X, Z, 0.5)], []
    for k in range(size):
        links += [
            link(f'rod_{k}', f'crank_{k}', ROCKER * Y, Z, 0.3),
            link(f'tip_{k}', f'rod_{k}', (ROD + 0.01) * X + 0.02 * Y),
            link(f'crank_{k + 1}', 'ground', (k + 1) * ROD * X, Z, 0.5),
            link(f'end_{k}', f'crank_{k + 1}', ROCKER * Y + 0.01 * X + 0.02 * Y),
        ]
        closures.append({'name': f'loop_{k}', 'frames': [f'tip_{k}', f'end_{k}']})
    return described(
        f'chain_{size}', links, closures=closures, platform=f'crank_{size}',
        independent=['crank_0_joint'], actuated=['crank_0_joint'],
    )  # fmt: skip


def platform(size: int) -> Mechanism:
    """A plate with a radius of 0.2 m that slides along x and y and turns, with limbs around it."""
    links = [
        '<link name="slide_x"/><joint name="x" type="prismatic"><parent link="ground"/>'
        '<child link="slide_x"/><axis xyz="1 0 0"/><limit lower="-1" upper="1" velocity="1" '
        'effort="1"/></joint><link name="slide_y"/><joint name="y" type="prismatic"><parent '
        'link="slide_x"/><child link="slide_y"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" '
        'velocity="1" effort="1"/></joint>',
        link('plate', 'slide_y', 0 * X, Z, 2.0),
    ]
    closures = []
    for k in range(size):
        angle = 2.0 * math.pi * k / size
        out = math.cos(angle) * X + math.sin(angle) * Y
        across = math.cos(angle) * Y - math.sin(angle) * X
        tip, elbow, foot = 0.2 * out, 0.5 * out + 0.3 * across, 0.8 * out
        links += [
            link(f'crank_{k}', 'ground', foot, Z, 0.5),
            link(f'rod_{k}', f'crank_{k}', elbow - foot, Z, 0.3),
            link(f'tip_{k}', f'rod_{k}', tip - elbow),
            link(f'pin_{k}', 'plate', tip),
        ]
        closures.append({'name': f'limb_{k}', 'frames': [f'tip_{k}', f'pin_{k}']})
    return described(
        f'platform_{size}', links, closures=closures, platform='plate',
        independent=['x', 'y', 'plate_joint'], actuated=[f'crank_{k}_joint' for k in range(size)],
    )  # fmt: skip


def measured(make: Callable[[int], Mechanism], size: int) -> tuple[float, float, float, float, str]:
    """Processor times: load, first torque (s), a call and a batch row (us); `kernels.reason`."""
    start = time.process_time()
    mechanism = make(size)
    load = time.process_time() - start
    rng, freedoms = np.random.default_rng(size), len(mechanism.independent)
    y = mechanism.home.y + 0.01 * rng.uniform(-1.0, 1.0, (ROWS, freedoms))
    states = [y, 0.1 * rng.normal(size=y.shape), rng.normal(size=y.shape), np.zeros((ROWS, 6))]
    start = time.process_time()
    _ = mechanism.feedforward(*(s[0] for s in states)).actuated
    first = time.process_time() - start

    def calls() -> None:
        for row in zip(*(s[:CALLS] for s in states), strict=True):
            _ = mechanism.feedforward(*row).actuated

    def batch() -> None:
        _ = mechanism.feedforward_batch(*states).actuated

    found = []
    for run, rows in ((calls, CALLS), (batch, ROWS)):
        run()
        times = []
        for _ in range(ROUNDS):
            start = time.thread_time()
            run()
            times.append(time.thread_time() - start)
            if sum(times) > 5.0:
                break
        found.append(1e6 * float(np.percentile(times, 10)) / rows)
    return load, first, *found, mechanism.kernels.reason


def main() -> None:
    """Print a line for each size."""
    warnings.simplefilter('ignore')
    sizes = [int(size) for size in sys.argv[1:]] or list(SIZES)
    print(f'{"":14}{"load s":>8}{"first s":>9}{"call us":>10}{"N^":>6}{"row us":>10}{"N^":>6}')
    for make in (chain, platform):
        before: tuple[int, float, float] | None = None
        for size in sizes:
            load, first, call, row, reason = measured(make, size)
            powers = ['', '']
            if before:
                grown = math.log(size / before[0])
                pairs = zip((call, row), before[1:], strict=True)
                powers = [f'{math.log(now / then) / grown:.2f}' for now, then in pairs]
            print(
                f'{make.__name__:9}{size:5}{load:8.2f}{first:9.2f}{call:10.2f}{powers[0]:>6}'
                f'{row:10.2f}{powers[1]:>6}  {reason}', flush=True
            )  # fmt: skip
            before = size, call, row


if __name__ == '__main__':
    main()
