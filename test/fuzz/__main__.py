# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Run by ``make fuzz MINUTES=10 SEED=1``. Prints its seed, and counts by entry at the end."""

import argparse
import collections
import pathlib
import sys
import tempfile
import time

import numpy as np

from fuzz.files import Files
from fuzz.nasty import Nasty

_BATCH = 20  # of one entry, then it is looked whether all is well
_AFTERWARDS = 5.0  # s of rest before memory counts


def fuzz(minutes, seed, nodes=None):
    """Send input to nodes and readers of files; returns counts by entry, findings and notes.

    Half of an entry's messages are sent at once, the others 2 ms apart.
    """
    counts, findings, notes = collections.Counter(), [], []
    with tempfile.TemporaryDirectory(prefix='fuzz-') as folder:
        _files(minutes * 0.15, seed, folder, counts, findings)
        _wire(minutes * 0.85, seed, folder, nodes, counts, findings, notes)
    return counts, findings, notes


def _files(minutes, seed, folder, counts, findings):
    reader = Files(Nasty(np.random.default_rng([seed, 0]), ['x']), folder)
    end = time.monotonic() + 60.0 * minutes
    while time.monotonic() < end and len(findings) < 20:
        name, finding = reader.one()
        counts[f'file {name}'] += 1
        if finding:
            kept = pathlib.Path(tempfile.mkdtemp(prefix='fuzz-found-')) / name
            kept.write_bytes((pathlib.Path(folder) / name).read_bytes())
            findings.append(f'file {kept}: {finding}')


def _wire(minutes, seed, folder, nodes, counts, findings, notes):
    from fuzz.robot import ALL, KINDS, LATE, Robot
    from fuzz.wire import Wire

    rng = np.random.default_rng([seed, 1])
    robot = Robot(pathlib.Path(folder), nodes or ALL)
    nasty = Nasty(rng, (*robot.mechanism.actuated, *robot.mechanism.independent, 'mandible'))
    wire = Wire(robot, nasty)
    try:
        time.sleep(2.0)
        before = robot.lateness()
        end, at_start = time.monotonic() + 60.0 * minutes, robot.memory
        known = len(findings)
        while time.monotonic() < end and len(findings) == known:
            for name, send in wire.round(rng):
                pause = 0.002 * int(rng.integers(2))
                for _ in range(_BATCH):
                    send()
                    counts[name] += 1
                    time.sleep(pause)
                findings += [f'after {name}: {fault}' for fault in robot.faults()]
                if len(findings) > known or time.monotonic() > end:
                    break
            else:
                if robot.memory is at_start:  # what the first of every kind takes is no loss
                    robot.memory = robot.taken()
        after = robot.lateness()
        notes.append(f'latest cycle {1e3 * after:.1f} ms, without fuzz {1e3 * before:.1f} ms')
        if after > LATE + before:
            notes.append(f'TOO LATE by more than {1e3 * LATE:.0f} ms (on a busy computer: others)')
        time.sleep(_AFTERWARDS)
        memory = robot.taken()
        notes += [
            f'{kind} memory of {name}: {first:.0f} MB, {then:.0f} after a round, '
            f'{last:.0f} at the end'
            for name in memory
            for kind, first, then, last in zip(
                KINDS, at_start[name], robot.memory[name], memory[name], strict=True
            )
        ]
        findings += robot.grown()
    finally:
        wire.close()
        findings += robot.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--minutes', type=float, default=15.0)
    parser.add_argument('--seed', type=int, default=None)
    arguments = parser.parse_args()
    seed = int(time.time()) if arguments.seed is None else arguments.seed
    print(f'seed {seed}, {arguments.minutes:g} minutes', flush=True)
    counts, findings, notes = fuzz(arguments.minutes, seed)
    for name, count in sorted(counts.items()):
        print(f'{count:8d}  {name}')
    print(f'{counts.total():8d}  in all')
    print(*notes, sep='\n')
    print(*(f'FOUND: {finding}' for finding in findings), sep='\n')
    return 1 if findings else 0


if __name__ == '__main__':
    sys.exit(main())
