# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Draw the archetypes for mechanisms.md: ``python docs/archetype_pictures.py``, lengths in m."""

import pathlib
import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

from masticator_dynamics import Mechanism
from masticator_dynamics.description import archetypes

PICTURE = pathlib.Path(__file__).parent / 'images' / 'archetypes.png'
# Where else each is drawn, faintly: independent positions from home, m or rad.
ELSEWHERE = {
    'ankle': [0.35, 0.15],
    'cable_planar': [0.3, 0.2, 0.2],
    'delta': [0.08, 0.05, 0.03],
    'excavator': [0.0, 0.2, -0.25, -0.1],
    'five_bar': [0.07, 0.03],
    'jaw_6pus': [0.003, 0.0, 0.0, 0.25],
    'palletiser': [0.0, 0.4, 0.3, 0.0],
    'scara': [0.8, -1.2, 0.05, 0.0],
    'scissor_lift': [-0.3],
    'slider_crank': [0.9],
    'stewart': [0.1, 0.05, 0.08, 0.1, 0.2, 0.1],
    'three_rrs': [0.02, 0.2, 0.1],
}
SPATIAL = ('ankle', 'delta', 'jaw_6pus', 'scara', 'stewart', 'three_rrs')


def bars(mechanism: Mechanism, q: np.ndarray) -> list[np.ndarray]:
    """Lines (2, 3) from each link's origin to the joints and frames on it, where links weigh."""
    described = mechanism.description
    poses = mechanism.structure.tree.poses(q)
    place = mechanism.structure.tree.frames

    def origin(link: str) -> np.ndarray:
        return poses.point(place[link].body, place[link].position)

    heavy = {link for link, inertia in described.tree.links.items() if inertia.mass > 0.0}
    heavy |= {link for link in described.tree.links if link.startswith(('guide', 'cylinder'))}
    return [
        np.array([origin(joint.parent), origin(joint.child)])
        for joint in described.tree.joints
        if joint.parent in heavy
    ]


def draw(name: str, axes: plt.Axes) -> None:
    """One mechanism at home, and faintly elsewhere."""
    mechanism = Mechanism.load(name)
    elsewhere = mechanism.solve(mechanism.home.y + np.array(ELSEWHERE[name]))
    for q, colour, width in ((elsewhere.q, '#b8c4d0', 1.5), (mechanism.home.q, '#1f4e79', 2.5)):
        for line in bars(mechanism, q):
            columns = line.T if name in SPATIAL else line.T[[0, 2]]
            axes.plot(*columns, color=colour, linewidth=width, marker='o', markersize=3)
    axes.set_aspect('equal')
    axes.set_title(f'{name} (m)', fontsize=9)
    spatial = name in SPATIAL
    axes.tick_params(labelsize=6, **({'pad': -2} if spatial else {}))
    letters = 'xyz' if spatial else 'xy'
    spans = {letter: np.ptp(getattr(axes, f'get_{letter}lim')()) for letter in letters}
    for letter, span in spans.items():
        axis = getattr(axes, f'{letter}axis')
        short = span < 0.4 * max(spans.values())
        axis.set_major_locator(MaxNLocator((1 if spatial else 2) if short else 4))
        label = 'z' if letter == 'y' and not spatial else letter
        axis.set_label_text(label, fontsize=7)
        axis.labelpad = -8 if spatial else 2


if __name__ == '__main__':
    warnings.simplefilter('ignore')
    figure = plt.figure(figsize=(9.0, 10.5), dpi=100)
    for place, archetype in enumerate(archetypes(), 1):
        projection = '3d' if archetype in SPATIAL else None
        draw(archetype, figure.add_subplot(4, 3, place, projection=projection))
    figure.tight_layout()
    figure.savefig(PICTURE)
