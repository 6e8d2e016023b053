# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The configuration of RViz that launch files make, against the description it is made from."""

import math
import pathlib
import re

import numpy as np
import pytest
import samples
import yaml

from masticator_dynamics import Mechanism
from masticator_dynamics.description import archetypes
from masticator_dynamics.description.visuals import shapes
from masticator_dynamics.errors import InputError
from masticator_dynamics.ros.rviz_configuration import DRAWINGS, configuration, grid_cell, tf_prefix

ROOT = pathlib.Path(__file__).resolve().parents[1]
FIELD_OF_VIEW = math.radians(45)  # of RViz's camera, vertical
WIDE = 1.1  # width of its view relative to the height, at least


@pytest.fixture(scope='module', params=[*samples.NAMES, *(str(a) for a in archetypes())])
def mechanism(request):
    if request.param in samples.NAMES:
        return samples.mechanism(request.param)
    return Mechanism.load(request.param)


def content(mechanism, prefix='', nodes=DRAWINGS):
    return yaml.safe_load(configuration(mechanism, prefix, nodes))


def displays(configured):
    shown = configured['Visualization Manager']['Displays']
    return {display['Name']: display for display in shown}


def xyz(vector):
    return np.array([vector[axis] for axis in 'XYZ'])


def points(mechanism):
    """Origins of links and frames at home, base axes."""
    return np.array([mechanism.frame_pose(mechanism.home, f).position for f in mechanism.frames])


def rod_ends(mechanism):
    """Middles of drawn boxes and balls, and both ends of the axes of cylinders, base axes."""
    description, ends = mechanism.description, []
    for shape in shapes(description.urdf_xml, description.urdf_file.parent)[0]:
        pose = mechanism.frame_pose(mechanism.home, shape.link)
        roll, pitch, yaw = shape.angles
        axis = np.array([
            math.cos(yaw) * math.sin(pitch) * math.cos(roll) + math.sin(yaw) * math.sin(roll),
            math.sin(yaw) * math.sin(pitch) * math.cos(roll) - math.cos(yaw) * math.sin(roll),
            math.cos(pitch) * math.cos(roll),
        ])  # fmt: skip
        half = 0.5 * shape.size[1] if shape.kind == 'cylinder' else 0.0
        ends += [
            pose.position + pose.rotation @ (shape.position + k * half * axis) for k in (-1, 1)
        ]
    return np.array(ends).reshape(-1, 3)


def test_the_camera_stands_outside_and_sees_the_whole_mechanism(mechanism):
    view = content(mechanism)['Visualization Manager']['Views']['Current']
    yaw, pitch, distance = view['Yaw'], view['Pitch'], view['Distance']
    back = np.array([
        math.cos(yaw) * math.cos(pitch), math.sin(yaw) * math.cos(pitch), math.sin(pitch),
    ])  # fmt: skip
    camera = xyz(view['Focal Point']) + distance * back
    aside = np.array([-math.sin(yaw), math.cos(yaw), 0.0])
    drawn = rod_ends(mechanism)
    rays = np.vstack([points(mechanism), drawn]) - camera
    ahead = -rays @ back
    assert ahead.min() > 0.5 * distance > view['Near Clip Distance']
    half = math.tan(FIELD_OF_VIEW / 2)
    assert (np.abs(rays @ aside) < WIDE * half * ahead).all()
    assert (np.abs(rays @ np.cross(back, aside)) < half * ahead).all()
    seen = np.ptp(np.vstack([points(mechanism), drawn]), axis=0).max()
    assert seen > 0.2 * distance, 'the mechanism is a speck'


def test_the_grid_is_a_floor_of_round_cells(mechanism):
    grid = displays(content(mechanism))['Grid']
    gravity = np.array(mechanism.description.gravity)
    square = {'XY': 2, 'XZ': 1, 'YZ': 0}[grid['Plane']]
    if gravity.any():
        assert np.abs(np.delete(gravity, square)).max() < abs(gravity[square])
    down = 1.0 if gravity[square] > 0.0 else -1.0
    assert (down * xyz(grid['Offset'])[square] > down * points(mechanism)[:, square]).all()
    cell = grid['Cell Size']
    assert f'{cell:.0e}'[0] in '125' and cell == float(f'{cell:.0e}')
    extent = np.ptp(points(mechanism), axis=0).max()
    assert extent / 8 < cell <= extent / 2.4


@pytest.mark.parametrize(
    ('extent', 'cell'),
    [
        (0.144, 0.05),
        (0.125, 0.05),
        (0.1249, 0.02),
        (2.5, 1.0),
        (5.85, 2.0),
        (12.5, 5.0),
        (1e-3, 2e-4),
    ],
)
def test_grid_cells_are_steps_of_one_two_five(extent, cell):
    assert grid_cell(extent) == cell


def test_displays_are_those_of_the_mechanism_and_of_the_nodes(mechanism):
    shown = displays(content(mechanism, 'left/', ['dynamics']))
    assert set(shown) == {'Grid', 'Robot', 'Frames', 'Forces'}
    assert shown['Forces']['Class'] == 'rviz_default_plugins/MarkerArray'
    assert shown['Forces']['Topic']['Value'] == 'dynamics/markers'
    assert shown['Robot']['Description Topic']['Durability Policy'] == 'Transient Local'
    wanted = re.compile(shown['Frames']['Filter (whitelist)'])
    frames = {f'left/{name}' for name in mechanism.frames if wanted.search(f'left/{name}')}
    description = mechanism.description
    meant = [description.base, description.platform, *(c.frame for c in description.contacts)]
    closed = {frame for closure in description.closures for frame in closure.frames}
    assert {f'left/{frame}' for frame in meant if frame not in closed} <= frames
    assert not frames & {f'left/{frame}' for frame in closed}
    assert not any(map(wanted.search, mechanism.frames)), 'another robot has no prefix'
    assert set(displays(content(mechanism, '', []))) == {'Grid', 'Robot', 'Frames'}


def test_no_display_drops_messages_until_transforms_are_there(mechanism):
    """Displays that filter messages, such as Wrench, write a line for each: only the path's may.

    It is drawn in the fixed frame, which needs none.
    """
    kinds = {name: display['Class'] for name, display in displays(content(mechanism)).items()}
    at_once = {'Grid', 'RobotModel', 'TF', 'MarkerArray'}
    assert {n for n, kind in kinds.items() if kind.split('/')[1] not in at_once} == {'Path'}


def test_every_drawing_has_a_node_that_publishes_it():
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    from tools.security_policy import access

    shown = displays(content(samples.mechanism('five_bar'))).values()
    topics = [display['Topic']['Value'] for display in shown if 'Topic' in display]
    assert len(topics) == len(DRAWINGS)
    for topic in topics:
        node, _, name = topic.partition('/')
        assert f'~/{name}' in access(node).publish


def test_forces_inside_and_behind_the_robot_are_seen(mechanism):
    """RViz draws no marker over what is in front of it: a robot with forces is half transparent."""
    assert displays(content(mechanism))['Robot']['Alpha'] <= 0.7
    assert displays(content(mechanism, nodes=['frame_path']))['Robot']['Alpha'] == 1


@pytest.mark.parametrize(('prefix', 'shown'), [('', ''), ('left/', 'left'), ('a/b/', 'a/b')])
def test_rviz_itself_puts_a_slash_after_its_prefix(prefix, shown):
    mechanism = samples.mechanism('five_bar')
    configured = content(mechanism, prefix)
    assert displays(configured)['Robot']['TF Prefix'] == shown == tf_prefix(prefix)
    fixed = configured['Visualization Manager']['Global Options']['Fixed Frame']
    assert fixed == prefix + mechanism.description.base


@pytest.mark.parametrize('prefix', ['left_', 'left', 'left//', '/'])
def test_a_prefix_that_rviz_cannot_show_is_refused(prefix):
    with pytest.raises(InputError, match=rf"'{prefix}'.*left/ \(gui:=false"):
        configuration(samples.mechanism('five_bar'), prefix)


def test_nothing_but_the_displays_takes_the_left_column():
    """A Views panel takes half of it, though collapsed."""
    panels = content(samples.mechanism('masticator'))['Panels']
    assert [panel['Class'] for panel in panels] == ['rviz_common/Displays']


def test_names_of_frames_are_seen_on_the_background():
    """RViz writes them in white; 3 is the contrast that WCAG wants for large letters."""
    configured = content(samples.mechanism('masticator'))
    colour = configured['Visualization Manager']['Global Options']['Background Color']
    parts = [int(part) / 255 for part in colour.split(';')]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    luminance = float(np.dot([0.2126, 0.7152, 0.0722], linear))
    assert 1.05 / (luminance + 0.05) > 3


def test_the_shipped_file_is_that_of_the_jaw():
    written = (ROOT / 'rviz/masticator.rviz').read_text(encoding='utf-8')
    assert written == configuration(Mechanism.load('masticator')), 'python -m tools.rviz_file'
