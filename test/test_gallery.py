# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The scripts of the gallery run as they are, and each draws something that is not empty."""

import runpy
import shutil

import numpy as np
import pytest
import samples

pyplot = pytest.importorskip('matplotlib.pyplot', reason='matplotlib is not installed')

SCRIPTS = sorted((samples.ROOT / 'examples' / 'gallery').glob('plot_*.py'))


def drawn(axes) -> list[np.ndarray]:
    """Heights of all lines, bars and filled contours of a panel."""
    lines = [np.asarray(line.get_ydata(), dtype=float) for line in axes.lines]
    bars = [np.array([bar.get_height() for bar in axes.patches])] if axes.patches else []
    filled = [c.get_array() for c in axes.collections if c.get_array() is not None]
    return [*lines, *bars, *filled]


def test_there_is_a_dozen() -> None:
    assert len(SCRIPTS) >= 12


@pytest.mark.parametrize('script', SCRIPTS, ids=lambda script: script.stem)
def test_a_script_of_the_gallery_draws(script, monkeypatch) -> None:
    if script.stem == 'plot_export' and not shutil.which('cc'):
        pytest.skip('there is no C compiler')
    pyplot.switch_backend('Agg')
    pyplot.close('all')
    monkeypatch.setattr(pyplot, 'show', lambda: None)
    runpy.run_path(str(script), run_name='__main__')
    panels = pyplot.gcf().axes
    assert panels
    for axes in panels:
        if axes.get_label() == '<colorbar>':
            continue
        values = drawn(axes)
        assert axes.get_xlabel() and values
        assert all(np.isfinite(v).any() for v in values)
    pyplot.close('all')


def test_both_molars_bite_alike_and_the_closed_mouth_bites_hardest(monkeypatch) -> None:
    pyplot.switch_backend('Agg')
    pyplot.close('all')
    monkeypatch.setattr(pyplot, 'show', lambda: None)
    runpy.run_path(str(samples.ROOT / 'examples' / 'gallery' / 'plot_bites.py'))
    lines = {line.get_label(): line.get_ydata() for line in pyplot.gca().lines}
    # The inertia of S0's jaw is not quite symmetric.
    np.testing.assert_allclose(lines['molar_left'], lines['molar_right'], rtol=0.005)
    assert (lines['incisor'] > lines['molar_right']).all()  # both sides of the robot carry it
    assert all((np.diff(forces) < 0.0).all() for forces in lines.values())
