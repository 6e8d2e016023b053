# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The page of a mechanism: sliders, what it draws, and its formulas against the engine's."""

import json
import pathlib
import re
import shutil

import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism
from masticator_dynamics.cli import main

pytest.importorskip('viser', reason='viser is not installed (pip extra "view")')

CHROMIUM = next(filter(None, map(shutil.which, ('chromium', 'chromium-browser'))), None)
ARCHETYPES = samples.ROOT / 'config' / 'archetypes'


def bare(name: str, folder: pathlib.Path) -> pathlib.Path:
    """A shipped archetype without any <visual>."""
    urdf = Mechanism.load(name).description.urdf_xml
    (folder / f'{name}.urdf').write_text(re.sub(r'<visual.*?</visual>', '', urdf, flags=re.DOTALL))
    text = (ARCHETYPES / f'{name}.yaml').read_text()
    file = folder / f'{name}.yaml'
    file.write_text(re.sub(r'^urdf:.*$', f'urdf: {name}.urdf', text, flags=re.MULTILINE))
    return file


def content(page: str) -> dict:
    return json.loads(re.search(r'id="mechanism">(.*?)</script>', page)[1])


def test_a_page_of_a_mechanism_is_whole_and_asks_for_nothing(tmp_path) -> None:
    file = tmp_path / 'jaw.html'
    assert main(['view', '--html', str(file)]) == 0
    page = file.read_text()
    assert not re.findall(r'(?:src|href)=|https?:', page) and len(page) < 2e6
    jaw = Mechanism.load('masticator')
    assert [f['name'] for f in content(page)['freedoms']] == list(jaw.independent)
    kept = file.read_bytes()
    assert main(['view', '--html', str(file)]) in (0, 2) and file.read_bytes() == kept


def test_sliders_have_round_steps_that_stay_inside_the_ranges() -> None:
    from masticator_dynamics.robot.view.scene import slider_ranges

    for name in ('masticator', 'stewart', 'scara', 'trimule'):
        robot = Mechanism.load(name)
        for joint, (_, per, low, high, step) in zip(
            robot.independent, slider_ranges(robot), strict=True
        ):
            digit = f'{step:e}'.split('.')[0]
            assert digit in '125' and float(f'{step:.0e}') == step <= 1.0
            assert 150 <= round((high - low) / step) <= 400 or step == 1.0
            j = robot.tree_joints.index(joint)
            if np.isfinite(robot.limits.lower[j]):
                assert robot.limits.lower[j] - 1e-9 <= low * per
                assert high * per <= robot.limits.upper[j] + 1e-9


@pytest.mark.parametrize('name', ['ankle', 'delta', 'stewart'])
def test_a_robot_without_visuals_is_drawn_up_to_the_ends_of_its_loops(name, tmp_path) -> None:
    """Sticks of both sides meet where a loop closes, and the platform is a plate."""
    from masticator_dynamics.robot.view.scene import solids

    robot = Mechanism.load(str(bare(name, tmp_path)))
    found, _, missing = solids(robot)
    tree, poses = robot.structure.tree, robot.structure.tree.poses(robot.home.q)
    assert not missing
    drawn = {}
    for solid in found:
        world = solid.mesh.vertices @ poses.rotations[solid.body].T + poses.origins[solid.body]
        drawn.setdefault(solid.body, []).append(world)
    for closure in robot.description.closures:
        for frame in closure.frames:
            place = tree.frames[frame]
            end = poses.point(place.body, place.position)
            away = [np.linalg.norm(v - end, axis=1).min() for v in drawn[place.body]]
            assert min(away) < 0.02 * robot.structure.extent()
    platform = tree.frames[robot.description.platform].body
    assert any((s.mesh.visual.face_colors[0][:3] == (110, 150, 200)).all() for s in found
               if s.body == platform)  # fmt: skip


@pytest.mark.parametrize(('name', 'away'), [
    ('stewart', [0.0, 0.0, 0.12, 0.0, 0.0, 0.0]), ('cable_planar', [0.4, 0.3, 0.1]),
])  # fmt: skip
def test_a_leg_that_slides_has_no_gap(name, away, tmp_path) -> None:
    """Along each leg, from pivot to end, what is drawn of its two bodies overlaps."""
    from masticator_dynamics.robot.view.scene import solids

    robot = Mechanism.load(str(bare(name, tmp_path)))
    tree, (drawn, _, _) = robot.structure.tree, solids(robot)
    q = robot.solve(robot.home.y + np.array(away)).q
    poses, longer = tree.poses(q), q[robot.actuated_rows] > robot.home.q[robot.actuated_rows]
    assert longer.any()
    for rod in robot.actuated_rows:
        bodies = (tree.placements[rod].body, rod)
        pivot, end = poses.origins[[*bodies]]
        along = (end - pivot) / np.linalg.norm(end - pivot)
        tube, slid = (
            [
                (s.mesh.vertices @ poses.rotations[body].T + poses.origins[body] - pivot) @ along
                for s in drawn
                if s.body == body
            ]
            for body in bodies
        )
        assert min(map(np.min, slid)) <= max(map(np.max, tube)) + 1e-9


def test_a_rod_of_a_distance_reaches_from_ball_to_ball() -> None:
    from masticator_dynamics.robot.view.scene import rod_pose

    rng = np.random.default_rng(0)
    for _ in range(20):
        start, end = rng.normal(size=(2, 3))
        middle, rotation = rod_pose(start, end)
        half = 0.5 * np.linalg.norm(end - start)
        np.testing.assert_allclose(middle + rotation @ [0, 0, half], end, atol=1e-12)
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(rotation) > 0.0


@pytest.fixture(scope='module')
def browser():
    sync_api = pytest.importorskip('playwright.sync_api', reason='playwright is not installed')
    if CHROMIUM is None:
        pytest.skip('no Chromium on this computer')
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
        )
        yield found
        found.close()


@pytest.mark.parametrize('name', samples.swept(['masticator', 'stewart', 'scara'], ['masticator']))
def test_in_a_browser_loops_and_efforts_are_those_of_the_engine(name, browser, tmp_path) -> None:
    file = tmp_path / 'page.html'
    assert main(['view', str(name), '--html', str(file)]) == 0
    page, faults = browser.new_page(viewport={'width': 1000, 'height': 700}), []
    page.on('pageerror', lambda error: faults.append(str(error)))
    page.goto(file.as_uri())
    robot = Mechanism.load(name)
    rng = np.random.default_rng(1)
    ranges = [
        (f['low'] * f['per'], f['high'] * f['per']) for f in content(file.read_text())['freedoms']
    ]
    near = np.array([0.1 * (high - low) for low, high in ranges])
    count, body = len(robot.actuated), -1
    for _ in range(5):
        y = robot.home.y + near * rng.uniform(-0.3, 0.3, len(near))
        effort = robot.feedforward(y)
        valid, _, *numbers = page.evaluate(f'solve({y.tolist()})')
        assert valid > 0.0
        np.testing.assert_allclose(numbers[:count], effort.actuated, rtol=1e-9, atol=1e-12)
        poses = robot.structure.tree.poses(effort.q)
        bodies = np.array(numbers[count:]).reshape(-1, 12)
        np.testing.assert_allclose(bodies[:, 9:], poses.origins[:body], atol=1e-11)
        np.testing.assert_allclose(
            bodies[:, :9].reshape(-1, 3, 3), poses.rotations[:body], atol=1e-11
        )
    first = page.locator('input[type=range]').first
    shown = page.locator('label span').nth(1)
    before, picture = shown.inner_text(), page.screenshot()
    first.focus()
    for _ in range(5):
        page.keyboard.press('ArrowRight')
    page.wait_for_timeout(300)
    assert shown.inner_text() != before and page.screenshot() != picture
    assert not faults
    page.close()
