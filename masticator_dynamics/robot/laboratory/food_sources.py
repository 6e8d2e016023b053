# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What of a figure on the twin is put in with the food, and what is computed."""

from __future__ import annotations

import pathlib

from masticator_dynamics.files.share import find_yaml
from masticator_dynamics.files.text_file import LARGEST_DESCRIPTION, read_text

# By the law of the twin's foods (twin/food.py): figures, and what decides them.
DECIDED_BY = {
    'hardness': 'put in: the yield force, or stiffness times compression where the food does not '
    'yield; the damping adds to it with the speed of the teeth',
    'break force, break deformation, stiffness': 'put in: yield force, break '
    'compression, stiffness',
    'cohesiveness, springiness, decay per stroke': 'put in: the softening from bite to bite; every '
    'bite has the whole thickness again',
    'gumminess, chewiness': 'products of the above',
    'adhesiveness': 'put in: these foods do not stick',
    'work, resilience, contact time, force rate': 'computed from the law, its data and the motion',
    'forces of the condyles, efforts and energy of the motors': "computed from the food's force by "
    'the dynamics of the robot',
    'wear': 'computed with an assumed wear rate',
}


def remarks(source: str | pathlib.Path) -> str:
    """What the head of a food's file says of its data: which are measured, and which assumed."""
    text = read_text(find_yaml(source, 'food', 'foods'), LARGEST_DESCRIPTION)
    found = []
    for line in text.splitlines():
        if not line.startswith('#'):
            break
        remark = line.lstrip('#').strip()
        if not remark.startswith(('Copyright', 'SPDX-')):
            found.append(remark)
    return ' '.join(filter(None, found)) or 'Its file does not say where its data are from.'
