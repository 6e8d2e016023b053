# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Colours and matplotlib settings shared by all pictures."""

from typing import Any

# Okabe and Ito's colours, which colour-blind readers tell apart.
BLUE, ORANGE, GREEN = '#0072B2', '#E69F00', '#009E73'
RED, PURPLE, SKY, BLACK = '#D55E00', '#CC79A7', '#56B4E9', '#000000'
STYLE: dict[Any, Any] = {
    'font.size': 11,
    'axes.titlesize': 12,
    'axes.titleweight': 'bold',
    'axes.titlelocation': 'left',
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.grid': True,
    'grid.color': '#dddddd',
    'grid.linewidth': 0.6,
    'lines.linewidth': 1.3,
    'legend.frameon': False,
    'legend.fontsize': 10,
}
