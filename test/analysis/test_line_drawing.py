# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of mechanisms as lines: loops are closed, and no planar one is seen edgeways."""

import io

import numpy as np
from matplotlib.image import imread

from masticator_dynamics import Mechanism
from masticator_dynamics.analysis.line_drawing import body_lines
from masticator_dynamics.robot.view.played_run import load_run
from masticator_dynamics.robot.view.scene_player import _still


def test_a_line_ends_where_its_loop_closes() -> None:
    """Ends of a closed loop meet: each is the end of a line, of either body."""
    mechanism = Mechanism.load('five_bar')
    ends = np.array([line[1] for line in body_lines(mechanism)])
    distances = np.linalg.norm(ends[:, None] - ends, axis=2)[np.triu_indices(len(ends), 1)]
    assert distances.min() < 1e-12


def test_the_still_of_a_planar_run_is_more_than_a_line(tmp_path) -> None:
    mechanism, file = Mechanism.load('rrr4'), tmp_path / 'run.csv'
    columns = ['time', *(f'position_{joint}' for joint in mechanism.actuated)]
    rows = [[0.1 * k, *mechanism.home.position] for k in range(3)]
    np.savetxt(file, rows, delimiter=',', header=','.join(columns), comments='')
    picture = imread(io.BytesIO(_still(load_run(file, 'rrr4'))))[..., :3]
    links = np.abs(picture - 0x55 / 0xFF).max(axis=2) < 0.01  # in their grey
    assert min(len(np.unique(places)) for places in np.nonzero(links)) > 50
