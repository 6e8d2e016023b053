# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is played to a robot of any kind, and that a faultless run of it passes; without ROS.

The mechanisms included are in ``test_kinds_and_commands.py``.
"""

import contextlib

import linkages
import numpy as np
import pytest
import samples
import yaml
from linkages import Part, frame
from matplotlib.figure import Figure

from demo.perfect_run import RATE, perfect_record
from masticator_dynamics import Mechanism
from masticator_dynamics.engine.evaluation.frames import frame_poses
from masticator_dynamics.errors import LimitError
from masticator_dynamics.robot.acceptance import plot
from masticator_dynamics.robot.acceptance.checks import judge
from masticator_dynamics.robot.acceptance.passes import Pass, Run
from masticator_dynamics.robot.recording.demo_motion import built_in_script, has_jaw
from masticator_dynamics.robot.recording.nodes import dynamics_alone
from masticator_dynamics.robot.recording.script import Script

ARCHETYPES = samples.ROOT / 'config' / 'archetypes'


def archetype(folder, name, **keys):
    """An archetype with other keys in its YAML file."""
    content = yaml.safe_load((ARCHETYPES / f'{name}.yaml').read_text(encoding='utf-8'))
    content['urdf'] = str(ARCHETYPES / content['urdf'])
    file = folder / f'{name}.yaml'
    file.write_text(yaml.safe_dump(content | keys), encoding='utf-8')
    return Mechanism.load(file)


def two_arms(folder, closures=(), actuated=('a_joint',), at=(0.3, 0.0, 0.0), **keys):
    """Two arms on the ground that turn about Z, 0.3 m apart."""
    parts = [
        Part('a', 'ground', mass=0.5, center=(0.05, 0.0, 0.0)),
        Part('b', 'ground', at, mass=0.5, center=(0.05, 0.0, 0.0)),
        frame('a_tip', 'a', (0.1, 0.1, 0.0)), frame('b_tip', 'b', (0.1, 0.1, 0.0)),
    ]  # fmt: skip
    keys = {'independent': list(actuated), 'actuated': list(actuated), 'platform': 'b'} | keys
    return Mechanism.load(linkages.write(folder, parts, 'arms', closures=list(closures), **keys))


def judged(mechanism):
    script = built_in_script(mechanism, 1)
    return script, judge(Run(Pass(mechanism, script, perfect_record(mechanism, script)), RATE))


def assert_passes(mechanism):
    script, checks = judged(mechanism)
    assert [(check.name, check.detail) for check in checks if check.passed is not True] == []
    assert np.ptp(script.y, axis=0).max() > 1e-3  # it moves
    return script


ROD = {'name': 'rod', 'type': 'distance', 'frames': ['a_tip', 'b_tip'], 'length': 0.3}
WELD = {'name': 'glue', 'type': 'weld', 'frames': ['a', 'b']}
GEARS = {'name': 'gears', 'type': 'coupling', 'joint': 'b_joint', 'of': {'a_joint': [-2.0]}}
FIVE_BAR = {
    'a spring at a motor': {'joints': {'motor_1': {'stiffness': 0.5}}},
    'springs at joints without motors': {
        'joints': {
            'elbow_1': {'stiffness': 3.0, 'reference': -0.2},
            'z': {'stiffness': 900.0, 'armature': 0.3},
        },
    },
    'a gear': {'actuators': {'motor_1': {'transmission': {'ratio': 5}}}},
    'a gear that reverses': {
        'actuators': {
            'motor_1': {'transmission': {'ratio': -3}, 'rotor_inertia': 1e-3},
            'motor_2': {'rotor_inertia': 2e-3},
        },
    },
    'friction, which nothing is told of': {
        'actuators': {'motor_1': {'friction': {'coulomb': 0.05, 'viscous': 0.01}}},
    },
}  # fmt: skip


@pytest.mark.parametrize('keys', FIVE_BAR.values(), ids=FIVE_BAR)
def test_five_bars(tmp_path, keys):
    assert_passes(archetype(tmp_path, 'five_bar', **keys))


@pytest.mark.parametrize('closures', [[ROD], [WELD], [GEARS]], ids=['rod', 'weld', 'gears'])
def test_closures_that_are_no_points(tmp_path, closures):
    at = (0.0, 0.0, 0.0) if closures == [WELD] else (0.3, 0.0, 0.0)
    assert_passes(two_arms(tmp_path, closures, at=at))


def test_no_closures_at_all(tmp_path):
    assert_passes(two_arms(tmp_path, actuated=('a_joint', 'b_joint')))


def test_motors_that_slide_on_screws(tmp_path):
    legs = {f'leg_{i}': {'transmission': {'lead': 0.005}, 'rotor_inertia': 1e-5} for i in range(3)}
    legs = {f'leg_{i + 1}': leg for i, leg in enumerate(legs.values())}
    script = assert_passes(archetype(tmp_path, 'stewart', actuators=legs))
    assert len(script.coordinates) == 6


@pytest.mark.parametrize(('name', 'labels'), [
    ('slider_crank', ['rotation', 'force', 'effort']),
    ('five_bar', ['position', 'force', 'effort']),
    ('cable_planar', ['position', 'rotation', 'force', 'effort']),
    ('jaw_6pus', ['position', 'rotation', 'force', 'effort', 'normal force']),
])  # fmt: skip
def test_the_figure_of_a_run_has_no_empty_panel(tmp_path, monkeypatch, name, labels):
    figure = Figure()
    monkeypatch.setattr(plot, 'png_figure', lambda file, size: contextlib.nullcontext(figure))
    mechanism = archetype(tmp_path, name)
    script = built_in_script(mechanism, 1)
    plot.plot_run(
        tmp_path / 'run.png', Run(Pass(mechanism, script, perfect_record(mechanism, script)), RATE)
    )
    panels = [
        axes for axes in figure.axes if axes.get_xlabel() not in ('left (mm)', 'forward (mm)')
    ]
    assert [axes.get_ylabel().partition('\n')[0] for axes in panels] == labels
    assert all(axes.lines for axes in panels)
    assert panels[0].get_title() == 'Independent coordinates'


def test_a_weld_that_is_open_by_an_angle_is_seen(tmp_path):
    """By sin 0.5 rad, though the two origins coincide; a rod by its length."""
    weld = two_arms(tmp_path, [WELD], at=(0.0, 0.0, 0.0))
    assert weld.largest_gap([0.2, 0.7]) == pytest.approx(np.sin(0.5), rel=1e-12)
    rod = two_arms(tmp_path, [ROD])
    assert rod.largest_gap([0.0, 0.0]) < 1e-15
    opened = rod.largest_gap([0.0, 1e-6])  # the tip moves by 0.1 m per rad along the rod
    assert opened == pytest.approx(1e-7, rel=1e-4)


@pytest.mark.parametrize('turned', [False, True])
def test_cables_only_pull(tmp_path, turned):
    """With four cables there are such efforts, and the node is asked for them."""
    robot = archetype(tmp_path, 'cable_planar', gravity=[0.0, 0.0, 9.81 if turned else -9.81])
    script = assert_passes(robot)
    assert script.limits
    (node,) = dynamics_alone(robot, 500.0, script.limits)
    assert node.parameters['limits'] is True
    script.save(tmp_path / 'script.npz')
    assert Script.load(tmp_path / 'script.npz').limits is True
    effort = perfect_record(robot, script).effort
    assert effort.max() < 1e-6 < 1.0 < np.abs(effort).max()


def test_a_home_at_the_end_of_a_range(tmp_path):
    """It swings to the one side that there is."""
    parts = [Part('table', 'ground', axis=(1.0, 0.0, 0.0), kind='prismatic', mass=2.0)]
    joints = ['table_joint']
    file = linkages.write(tmp_path, parts, 'table', independent=joints, actuated=joints)
    urdf = tmp_path / 'table.urdf'
    urdf.write_text(urdf.read_text().replace('lower="-9" upper="9"', 'lower="0" upper="0.4"'))
    script = assert_passes(Mechanism.load(file))
    assert script.y.min() == 0.0 < 0.05 < script.y.max() <= 0.4


def test_what_cannot_move_says_why_in_one_sentence(tmp_path):
    motors = {name: {'limits': {'effort': [-0.01, 0.01]}} for name in ('motor_1', 'motor_2')}
    with pytest.raises(LimitError, match=r'nowhere to move within its limits: at .* s: .*motor_'):
        built_in_script(archetype(tmp_path, 'five_bar', actuators=motors), 1)
    home = {'a_joint': 9.5, 'b_joint': 9.5}
    with pytest.raises(LimitError, match=r'no room to move .*a_joint position 9.5 rad is outside'):
        built_in_script(two_arms(tmp_path, actuated=('a_joint', 'b_joint'), home=home), 1)


def test_jaws_chew_and_others_swing():
    for name, chews in (('masticator', True), ('rss6', True), ('jaw_6pus', True), ('rcid', False),
                        ('delta', False)):  # fmt: skip
        robot = Mechanism.load(name)
        assert has_jaw(robot) is chews, name
        script = built_in_script(robot, 1)
        assert ('stroke' in script.source) is chews
        q = robot.feedforward_batch(script.y).q
        if chews:  # the mouth opens: down by centimetres, and shuts
            incisor = frame_poses(robot, q, 'incisor')[0][:, 2]
            assert np.ptp(incisor) > 0.01 and incisor[0] == pytest.approx(incisor.max(), abs=1e-3)
            assert incisor[-1] == pytest.approx(incisor[0], abs=1e-12)


def test_a_stage_with_a_jaws_names_is_no_jaw(tmp_path):
    """Coordinates x, y, alpha, beta alone do not make one, nor does x that turns."""
    turns = [Part(n, p) for n, p in (('x', 'ground'), ('y', 'x'), ('alpha', 'y'))]
    parts = [*turns, Part('beta', 'alpha', mass=1.0, center=(0.1, 0.0, 0.0)),
             frame('incisor', 'beta', (0.1, 0.0, 0.0))]  # fmt: skip
    names = ['x', 'y', 'alpha', 'beta']
    file = linkages.write(tmp_path, parts, 'wrist', independent=names, actuated=names)
    urdf = tmp_path / 'wrist.urdf'
    urdf.write_text(urdf.read_text().replace('_joint"', '"'))
    assert has_jaw(Mechanism.load(file)) is False
