# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Five-axis motions on the command line."""

import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.motion.tool import ToolKinematics

COLUMNS = ['time', 'tip_x', 'tip_y', 'tip_z', 'axis_x', 'axis_y', 'axis_z']
NAME = 'trimule_five_axis'


def test_the_tool_of_the_motion_is_where_it_was_asked_for(run, write, read, tmp_path) -> None:
    """A circle with the tool tilted outwards; the output is a motion for inverse-dynamics."""
    angle = np.linspace(0.0, np.pi, 9)
    tips = np.column_stack([0.2 * np.cos(angle), 0.2 * np.sin(angle) - 0.2, 0.0 * angle + 1.5])
    axes = np.column_stack([0.3 * np.cos(angle), 0.3 * np.sin(angle), 0.0 * angle + 1.0])
    file = write(COLUMNS, np.column_stack([angle, tips, axes]))
    out, torques = tmp_path / 'motion.csv', tmp_path / 'torques.csv'
    answer = run('track-tool', NAME, '--tool', file, '--output', out)
    assert (answer.status, answer.err) == (0, '')
    columns = read(out)
    machine = Mechanism.load(NAME)
    kinematics = ToolKinematics(machine)
    for row in range(len(angle)):
        motion = machine.solve([columns[name][row] for name in machine.independent])
        tip, axis = kinematics.forward(motion)
        assert tip == pytest.approx(tips[row], abs=1e-10)
        assert axis == pytest.approx(axes[row] / np.linalg.norm(axes[row]), abs=1e-10)
        limbs = [columns[f'position_{joint}'][row] for joint in machine.actuated]
        assert limbs == pytest.approx(motion.position.tolist(), abs=1e-12)
    assert np.abs(np.diff(columns['theta_4'])).max() < 1.0
    assert run('inverse-dynamics', NAME, '--motion', out, '--output', torques).status == 0


@pytest.mark.parametrize(
    ('tip', 'message'),
    [
        (
            [0.0, 0.0, 2.2],
            '(line 3): tip (0, 0, 2.2) m, axis (0.0995037, 0, 0.995037): limb_',
        ),
        ([0.0, 0.1, -1.5], 'which misses its position by'),
    ],
)
def test_a_row_that_cannot_be_is_named(run, write, tmp_path, tip, message) -> None:
    rows = [[0.0, 0.0, -0.2, 1.5, 0.1, 0.0, 1.0], [1.0, *tip, 0.1, 0.0, 1.0]]
    out = tmp_path / 'out.csv'
    answer = run('track-tool', NAME, '--tool', write(COLUMNS, rows), '--output', out)
    assert (answer.status, out.exists()) == (2, False)
    assert message in answer.err and 'row 2 (line 3)' in answer.err


def test_a_wrist_that_flips_is_told(run, write, tmp_path) -> None:
    """Where the tool passes the straight position, the C axis must make half a turn."""
    rows = [[0.0, 0.0, -0.2, 1.5, 0.0, -0.8, 1.0], [1.0, 0.0, -0.2, 1.5, 1.0, -0.2, 1.0]]
    out = tmp_path / 'out.csv'
    answer = run('track-tool', NAME, '--tool', write(COLUMNS, rows), '--output', out)
    assert answer.status == 0
    assert 'warning' in answer.err and 'row 2 (line 3): the wrist turns by' in answer.err
