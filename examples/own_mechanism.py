#!/usr/bin/env python3
# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism of your own: from its two files to the torques of a motion, and a check of them.

The files are those of the palletiser that ``masticator new my_robot --like palletiser`` begins
with; give the path of your own YAML as the first argument. All coordinates swing by 0.3 rad or m.
"""

import sys

import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.motion import MotionPath

SWING = 0.3  # rad or m, of every coordinate
DURATION = 1.5  # s


def main() -> None:
    """Print peak efforts against limits, and the energy balance."""
    robot = Mechanism.load(sys.argv[1] if len(sys.argv) > 1 else 'palletiser')
    home = robot.home.y
    still = (np.zeros_like(home), np.zeros_like(home))
    path = MotionPath.through([0.0, DURATION], [home, home + SWING], start=still, end=still)
    time = np.linspace(0.0, DURATION, 1501)
    effort = robot.feedforward_batch(*path.sample(time))

    print(f'{robot.name}: {len(robot.independent)} degrees of freedom')
    rows = zip(robot.actuated, effort.actuated.T, robot.effort_limits, strict=True)
    for (name, efforts, limit), unit in zip(rows, robot.effort_units, strict=True):
        peak = np.abs(efforts).max()
        print(f'  {name:10} peak {peak:8.1f} {unit}, {peak / limit:6.1%} of its limit')

    # At rest at both ends, what the motors did must be what the weights gained.
    power = np.sum(effort.actuated * effort.velocity, axis=1)
    work = float(np.sum(0.5 * (power[1:] + power[:-1]) * np.diff(time)))
    print(f'work of the motors  {work:.3f} J')
    print(f'gain of the weights {weight(robot, effort.q[-1]) - weight(robot, effort.q[0]):.3f} J')


def weight(robot: Mechanism, q: np.ndarray) -> float:
    """Potential energy (J) of all links at tree positions: m g h, from the description alone."""
    tree = robot.structure.tree
    poses = tree.poses(q)
    gravity = np.array(robot.description.gravity)
    return -sum(
        link.mass * float(gravity @ poses.point(body, link.center_of_mass))
        for body, link in enumerate(tree.inertias)
    )


if __name__ == '__main__':
    main()
