# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A design study in multiples of as many batch rows: ``python -m benchmark.design``.

Processor time of one process, in turns, 10th percentile: 2000 geometries in 50 states each, from
samples to figures, checked for closing, beside ``feedforward_batch`` of the mechanism as it is.
"""

from __future__ import annotations

import pathlib
import sys
import tempfile
from collections.abc import Callable
from time import process_time

import numpy as np

from masticator_dynamics.design.study import Study

GEOMETRIES, TURNS = 2000, 5
EXAMPLE = pathlib.Path(__file__).parents[1] / 'examples' / 'jaw_design.yaml'
SHAFTS = """
schema: 1
title: shafts alone
mechanism: masticator
variables:
  crank_1.x: {range: [21 mm, 26 mm]}
  crank_3.y: {range: [-60 mm, -56 mm]}
  crank_5.z: {range: [37 mm, 42 mm]}
motions:
  left: {chewing: {side: left, bite: 60.0}, states: 25}
  right: {chewing: {side: right, bite: 60.0}, states: 25}
figures: {peak_torque: {}, rms_torque: {}}
"""
MORE = '\n  load_inertia: {}\n  joint_force: {}\n\nconstraints'


def main() -> int:
    """Print the table."""
    example = EXAMPLE.read_text(encoding='utf-8')
    cases = {
        'three shafts: torques': SHAFTS,
        'jaw_design.yaml: 72 parameters, torques, coupling, sockets': example,
        '  with load inertia and joint forces': example.replace('\nconstraints', MORE),
    }  # fmt: skip
    for name, text in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / 'study.yaml'
            file.write_text(text, encoding='utf-8')
            study = Study(file, pathlib.Path(folder) / 'results')
        rows, batch = figures(study)
        print(f'{name:62} {rows:7.2f} us a row {rows / batch:6.1f} x', flush=True)
    return 0


def figures(study: Study) -> tuple[float, float]:
    """Microseconds for a row of a study, and for one of a batch."""
    judge, s = study.judge, study.judge.states
    units = judge.space.sample(study.content.samples, 0, GEOMETRIES)
    many = [np.tile(rows, (GEOMETRIES, 1)) for rows in (s.y, s.y_dot, s.y_ddot, s.wrench)]
    calls: list[Callable[[], object]] = [
        lambda: judge(units),
        lambda: judge.mechanism.feedforward_batch(*many).actuated,
    ]
    times: list[list[float]] = [[], []]
    for turn in range(TURNS + 1):
        for call, found in zip(calls, times, strict=True):
            start = process_time()
            call()
            if turn:  # the first compiles
                found.append((process_time() - start) / (GEOMETRIES * len(s)) * 1e6)
    rows, batch = (float(np.percentile(found, 10)) for found in times)
    return rows, batch


if __name__ == '__main__':
    sys.exit(main())
