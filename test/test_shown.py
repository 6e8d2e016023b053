# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms and results say in Python and notebooks what they are, with units."""

import numpy as np
import samples


def test_a_mechanism_says_its_name_freedoms_and_motors() -> None:
    text = repr(samples.mechanism('masticator'))
    assert text.startswith('masticator: 4 degrees of freedom (x, y, alpha, beta); 6 motors')
    assert '2 contacts (condyle_left, condyle_right)' in text and 'crank_6' in text


def test_results_have_a_line_for_each_coordinate_and_motor_with_units() -> None:
    mechanism = samples.mechanism('masticator')
    effort = mechanism.feedforward(np.array([0.001, 0.0, 0.0, 0.05]))
    lines = repr(effort).splitlines()
    assert lines[0] == 'Effort of masticator' and len(lines) == 2 + 4 + 6 + 2 + 2
    crank = next(line.split() for line in lines if line.startswith('crank_3'))
    assert crank[1:3] == [f'{effort.position[2]:.6g}', 'rad']
    assert crank[-3:] == [f'{effort.actuated[2]:.6g}', 'N', 'm']
    assert lines[-3].split()[:2] == ['contact', 'condyle_right'] and lines[-3].endswith(' N')
    gap, left = effort.closure_residual, effort.balance_residual
    assert lines[-2].split() == ['closure', 'residual', f'{gap:.2g}', 'm']
    assert lines[-1].split() == ['balance', 'residual', f'{left:.2g}', 'N', 'or', 'N', 'm']
    motion = repr(mechanism.solve(np.zeros(4)))
    assert motion.startswith('Motion of masticator') and 'effort' not in motion


def test_batches_show_the_largest_amounts_and_notebooks_a_table() -> None:
    mechanism = samples.mechanism('five_bar')
    home = mechanism.home.y
    batch = mechanism.feedforward_batch(home + [[0.0, 0.0], [0.01, 0.0]], [[0.1, 0.0], [-0.3, 0.2]])
    assert '2 rows' in repr(batch) and '-0.3 m/s' in repr(batch)
    html = batch._repr_html_()
    assert html.count('<tr>') == 1 + 4 + 2 and html.startswith('<table>')
    assert repr(mechanism.attempt([[0.0, 9.0], home])).endswith(
        '2 poses of five_bar, of which 1 close'
    )
