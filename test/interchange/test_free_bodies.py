# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Floating bodies that loops tie: efforts as MuJoCo's own loops need them, or by virtual work."""

from __future__ import annotations

import pathlib
import re
import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import DescriptionWarning
from masticator_dynamics.interchange.imported_description import import_robot

pytest.importorskip('mujoco', reason='the outside check needs MuJoCo')

from interchange import five_bars
from interchange.test_by_mujoco import assert_mujoco_agrees
from interchange.test_five_bar import assert_the_same

BODY = '<inertial pos="{at}" mass="{mass}" diaginertia="0.003 0.004 0.002"/>'


def body(name: str, pos: str, inside: str, at: str = '0 0 0', mass: float = 1.0) -> str:
    """An MJCF body with mass, joints and bodies in it."""
    return f'<body name="{name}" {pos}>{inside}{BODY.format(at=at, mass=mass)}</body>'


def mjcf(bodies: str, ties: str, motors: str = '', more: str = '') -> str:
    """An MJCF file; ties are its equalities, motors the joints with one."""
    driven = ''.join(f'<motor joint="{name}"/>' for name in motors.split())
    return (
        '<mujoco><compiler angle="radian" autolimits="true"/><option gravity="0 0 -9.81"/>'
        f'<worldbody>{bodies}</worldbody><equality>{ties}</equality>'
        f'<actuator>{driven}</actuator>{more}</mujoco>'
    )


def connect(one: str, other: str, anchor: str, name: str = '') -> str:
    return f'<connect body1="{one}" body2="{other}" anchor="{anchor}" {name}/>'


def words(values: np.ndarray) -> str:
    return ' '.join(repr(float(value)) for value in values)


FREE = '<freejoint/>'
# An arm of two links in the XZ plane, its hand at (0.7, 0, 0.1) of the base.
ARM = body(
    'upper', 'pos="0 0 0.1"', '<joint name="shoulder" axis="0 1 0"/>'
    + body('lower', 'pos="0.4 0 0"', '<joint name="elbow" axis="0 1 0"/>', '0.15 0 0.01', 0.8),
    '0.2 0 0.02', 1.2,
)  # fmt: skip
PAYLOAD = body('payload', 'pos="0.75 0.02 0.12" euler="0.4 -0.8 0.3"', FREE, '0.02 0 0.01', 2.0)


def rods(turned: str = '') -> str:
    """A five-bar of two cranks whose rods are free; ``turned`` (euler) is how their frames are."""
    legs = []
    for side, x in (('l', -1.0), ('r', 1.0)):
        crank = f'<joint name="m_{side}" axis="0 1 0"/>'
        legs.append(body(f'crank_{side}', f'pos="{0.05 * x} 0 0"', crank, f'{0.03 * x} 0 0.04'))
        place = f'pos="{0.11 * x} 0 0.08" {turned}'
        legs.append(body(f'rod_{side}', place, FREE, f'{-0.05 * x} 0 0.05', 0.4))
    return ''.join(legs)


PINS = ''.join(
    connect(f'crank_{side}', f'rod_{side}', f'{0.06 * x} {y} 0.08')
    for side, x in (('l', -1.0), ('r', 1.0))
    for y in (0, 0.1)
)


def plate(free: str, place: str = 'pos="0 0 0.5"') -> str:
    """A hexapod: six slides on crosses, and a plate that is a free body."""
    legs = []
    for k in range(6):
        angle = np.pi / 3.0 * (k // 2) * 2.0 + (0.3 if k % 2 else -0.3)
        turned = angle + (0.5 if k % 2 else -0.5)
        foot = np.array([0.4 * np.cos(angle), 0.4 * np.sin(angle), 0.0])
        tip = np.array([0.25 * np.cos(turned), 0.25 * np.sin(turned), 0.5])
        along = (tip - foot) / np.linalg.norm(tip - foot)
        x = np.cross([0.0, 0.0, 1.0], along)
        x /= np.linalg.norm(x)
        slide = f'<joint name="s_{k}" type="slide"/>'
        piston = body(f'piston_{k}', 'pos="0 0 0.2"', slide, '0 0 0.1', 0.3)
        cross = '<joint axis="1 0 0"/><joint axis="0 1 0"/>'
        stands = f'pos="{words(foot)}" xyaxes="{words(x)} {words(np.cross(along, x))}"'
        legs.append(body(f'cylinder_{k}', stands, cross + piston, '0 0 0.1', 0.8))
    return ''.join(legs) + body('plate', place, free, '0.01 0 0.02', 5.0)


def tips() -> str:
    """What ties the plate to the pistons."""
    found = []
    for k in range(6):
        angle = np.pi / 3.0 * (k // 2) * 2.0 + (0.3 if k % 2 else -0.3)
        turned = angle + (0.5 if k % 2 else -0.5)
        flat = np.hypot(
            0.4 * np.cos(angle) - 0.25 * np.cos(turned), 0.4 * np.sin(angle) - 0.25 * np.sin(turned)
        )
        found.append(connect(f'piston_{k}', 'plate', f'0 0 {float(np.hypot(flat, 0.5)) - 0.2!r}'))
    return ''.join(found)


def five_bar(*euler: float) -> tuple[str, str, str, int]:
    """Free rods whose frames are turned, and what ties them."""
    pin = Rotation.from_euler('XYZ', euler).inv().apply([0.11, 0.0, 0.1])
    ties = PINS + connect('rod_l', 'rod_r', words(pin))
    return rods(f'euler="{euler[0]} {euler[1]} {euler[2]}"'), ties, 'm_l m_r', 2


def leg(side: str, y: float) -> str:
    """Three hinges and a foot below a pelvis."""
    names = [f'{side}_{part}' for part in ('hip', 'knee', 'ankle')]
    hinges = [f'<joint name="{name}" axis="0 1 0"/>' for name in names]
    foot = body(f'{side}_foot', 'pos="0 0 -0.35"', hinges[2], '0.03 0 -0.03', 0.5)
    shin = body(f'{side}_shin', 'pos="0.15 0 -0.35"', hinges[1] + foot, '0 0 -0.15', 1.5)
    return body(f'{side}_thigh', f'pos="0 {y} 0"', hinges[0] + shin, '0.05 0 -0.15', 2.5)


SLIDES = ' '.join(f's_{k}' for k in range(6))
WELD = '<weld body1="lower" body2="payload"/>'
SPOT = [connect('lower', 'payload', at) for at in ('0.3 0 0', '0.3 0.1 0', '0.3 0 0.1')]
CART = body('cart', 'pos="0.1 0.2 0.3" euler="0.1 0.2 0"', FREE + ARM)
PELVIS = body('pelvis', 'pos="0 0 0.75"', FREE + leg('l', 0.1) + leg('r', -0.1), '0 0 .1', 8.0)
STAND = ''.join(
    connect(f'{side}_foot', 'world', at)
    for side in 'lr'
    for at in ('0.1 0 -0.05', '-0.1 0 -0.05', '0 0.05 -0.05')
)
ROBOTS = {
    'a payload that is welded': (ARM + PAYLOAD, WELD, 'shoulder elbow', 2),
    'a payload that is welded, named first': (
        ARM + PAYLOAD, '<weld body1="payload" body2="lower"/>', 'shoulder elbow', 2,
    ),
    'a payload on three points': (ARM + PAYLOAD, ''.join(SPOT), 'shoulder elbow', 2),
    'two payloads, one on the other': (
        ARM + PAYLOAD + body('more', 'pos="0.8 0 0.3"', FREE),
        '<weld body1="more" body2="payload"/>' + WELD, 'shoulder elbow', 2,
    ),
    'a five-bar with free rods': five_bar(0.0, 0.0, 0.0),
    'free rods with turned frames': five_bar(1.0, 1.5, -2.0),
    'a plate that lies on its side': (
        plate(FREE, 'pos="0.02 0.01 0.5" euler="0.3 1.57 -0.7"'), tips(), SLIDES, 6,
    ),
    'an arm that a free stay holds': (
        ARM + body('stay', 'pos="0.7 0 0.1"', FREE, '0 0 -0.2'),
        connect('lower', 'stay', '0.3 0 0') + connect('stay', 'world', '0 0 -0.5'),
        'shoulder', 1,
    ),
    'an arm on a free cart that is welded to the world': (
        CART, '<weld body1="cart" body2="world"/>', 'shoulder elbow', 2,
    ),
    'an arm on a free cart that hangs on a body moved by a program': (
        f'<body name="hook" mocap="true" pos="0.1 0.2 0.3"/>{CART}',
        '<weld body1="cart" body2="hook"/>', 'shoulder elbow', 2,
    ),
    'a pelvis that stands on two feet': (
        PELVIS, STAND, 'l_hip l_knee l_ankle r_hip r_knee r_ankle', 3,
    ),
}  # fmt: skip


@pytest.fixture
def write(tmp_path: pathlib.Path):
    def write(text: str, name: str = 'a.xml') -> pathlib.Path:
        (tmp_path / name).write_text(text, encoding='utf-8')
        return tmp_path / name

    return write


@pytest.mark.parametrize('name', ROBOTS)
def test_free_bodies_count(write, name: str) -> None:
    bodies, ties, motors, freedoms = ROBOTS[name]
    with warnings.catch_warnings():
        warnings.filterwarnings('error', '.*(floats|rotation)')
        mechanism = assert_mujoco_agrees(write(mjcf(bodies, ties, motors)))
    assert len(mechanism.independent) == freedoms
    assert len(mechanism.tree_joints) <= 24


def test_a_plate_moves_as_if_it_had_six_joints_in_the_file(write) -> None:
    """Other coordinates of the plate, the same efforts at other poses and in motion."""
    axes = ('1 0 0', '0 1 0', '0 0 1')
    six = ''.join(f'<joint name="p{k}" type="slide" axis="{a}"/>' for k, a in enumerate(axes))
    six += ''.join(f'<joint name="r{k}" axis="{a}"/>' for k, a in enumerate(axes[::-1]))
    turned = 'pos="0 0 0.5" euler="0 0 1"'
    free, explicit = (
        Mechanism.load(write(mjcf(plate(joints, turned), tips(), SLIDES))) for joints in (FREE, six)
    )
    assert free.independent == explicit.independent == tuple(SLIDES.split())
    assert free.description.platform == explicit.description.platform == 'plate'
    assert free.kernels.reason == explicit.kernels.reason == ''
    rng = np.random.default_rng(3)
    for _ in range(5):
        y, y_dot, y_ddot = (size * rng.uniform(-1, 1, 6) for size in (0.02, 0.3, 2.0))
        wrench = rng.uniform(-20, 20, 6)
        one = free.feedforward(y, y_dot, y_ddot, wrench)
        other = explicit.feedforward(y, y_dot, y_ddot, wrench)
        assert one.actuated == pytest.approx(other.actuated, rel=1e-8, abs=1e-8)


def test_a_payload_may_swing_on_a_pin(write) -> None:
    made = import_robot(write(mjcf(ARM + PAYLOAD, ''.join(SPOT[:2]), 'shoulder elbow')), 'a')
    told = 'payload floats: it turns on lower instead of equality_1, equality_2'
    assert told in made.notes
    assert '3 freedoms, of which motors drive 2' in ' '.join(made.notes)


def test_points_that_do_not_fit_are_no_hinge(write) -> None:
    """Two points at another distance on one body than on the other can never close."""
    sites = [f'<site name="{k}" pos="0.3 {y} 0"/>' for k, y in (('a', 0), ('b', 0.1))]
    arm = ARM.replace('<joint name="elbow"', f'{"".join(sites)}<joint name="elbow"')
    held = PAYLOAD.replace(FREE, f'{FREE}<site name="c"/><site name="d" pos="0 0.3 0"/>')
    ties = '<connect site1="a" site2="c"/><connect site1="b" site2="d"/>'
    with pytest.raises(Exception, match='no pose was found that closes all'):
        import_robot(write(mjcf(arm + held, ties, 'shoulder elbow')), 'a')


def test_a_chain_of_free_bodies_alone(write) -> None:
    """Two pendulums on pins, without motors: each freedom counts as one."""
    chain = body('one', 'pos="0 0 1"', FREE, '0.2 0 0') + body('two', 'pos="0.4 0 1"', FREE,
                                                               '0.1 0 0.05')  # fmt: skip
    ties = ''.join(
        connect(first, other, at)
        for first, other, ends in (('one', 'world', '0 0 0'), ('two', 'one', '0 0 0'))
        for at in (ends, '0 0.2 0')
    )
    mechanism = Mechanism.load(write(mjcf(chain, ties)))
    assert len(mechanism.independent) == len(mechanism.tree_joints) == 2
    # Weights on arms: 1 kg at 0.2 m and 1 kg at 0.5 m of the first pin, 0.1 m of the second one.
    held = mechanism.feedforward(mechanism.home.y, np.zeros(2), np.zeros(2)).actuated
    assert np.abs(held) == pytest.approx([9.81 * 0.7, 9.81 * 0.1], rel=1e-9)


def test_free_bodies_that_hold_one_another_need_a_base(write) -> None:
    """The one that carries most joints is fixed, and a warning names it."""
    gripper = body('gripper', 'pos="0 0 1"', FREE + ARM)
    held = body('payload', 'pos="0.7 0 1.1"', FREE)
    file = write(mjcf(held + gripper, WELD, 'shoulder elbow'))
    with pytest.warns(DescriptionWarning, match='gripper floats: it is fixed where the file'):
        mechanism = Mechanism.load(file)
    fixed = write(mjcf(held + gripper.replace(FREE, ''), WELD, 'shoulder elbow'), 'fixed.xml')
    expected = assert_mujoco_agrees(fixed).feedforward([0.0, 0.0]).actuated
    assert mechanism.feedforward([0.0, 0.0]).actuated == pytest.approx(expected, rel=1e-9)


def test_what_nothing_ties_is_fixed_with_a_warning(write) -> None:
    with pytest.warns(DescriptionWarning, match='payload floats: it is fixed where the file'):
        assert_mujoco_agrees(write(mjcf(ARM + PAYLOAD, '', 'shoulder elbow')))


def test_the_keyframe_says_where_free_bodies_are(write) -> None:
    """There, and not in the first pose, orientations count from."""
    text = mjcf(plate(FREE), tips(), SLIDES)
    model = Mechanism.load(write(text))
    at = [0.02, -0.02, 0.01, 0.0, 0.015, 0.0]
    pose = model.frame_pose(model.solve(at), 'plate')
    q = dict(zip(model.tree_joints, model.solve(at).q, strict=True))
    legs = [q[name] for name in model.tree_joints if 'plate' not in name]
    x, y, z, w = Rotation.from_matrix(pose.rotation).as_quat()
    values = ' '.join(map(repr, [*legs, *pose.position.tolist(), w, x, y, z]))
    more = f'<keyframe><key qpos="{values}"/></keyframe>'.replace('np.float64(', '').replace(
        ')', ''
    )
    text = text.replace('</mujoco>', f'{more}</mujoco>')
    moved = assert_mujoco_agrees(write(text))
    assert moved.home.y == pytest.approx(at, abs=1e-6)
    home = dict(zip(moved.tree_joints, moved.home.q, strict=True))
    turns = [value for name, value in home.items() if '_turn_' in name]
    assert len(turns) == 3 and turns == pytest.approx([0.0] * 3, abs=1e-6)


@pytest.mark.parametrize('kind', ['revolute', 'fixed'])
def test_urdf(write, kind: str) -> None:
    """Floating rods that hinges hold to the cranks; a floating effector that is welded."""
    text = five_bars.urdf(five_bars.DIALECTS['isaac'] + five_bars.TRANSMISSIONS)
    if kind == 'fixed':
        text = text.replace(
            'name="effector_fix" type="fixed"', 'name="effector_fix" type="floating"'
        )
        text = text.replace(
            '</robot>', '<loop_joint name="w" type="fixed"><link1 link="rod_1" xyz="0.22 0.165 0"/>'
            '<link2 link="effector"/></loop_joint></robot>',
        )  # fmt: skip
    else:
        for number, side in five_bars.SIDES.items():
            text = text.replace(f'name="elbow_{number}" type="revolute"',
                                f'name="elbow_{number}" type="floating"')  # fmt: skip
            text = text.replace(
                '</robot>', f'<loop_joint name="pin_{number}" type="revolute"><link1 '
                f'link="crank_{number}" xyz="{side * 0.12} 0.16 0"/><link2 link="rod_{number}"/>'
                '<axis xyz="0 0 1"/></loop_joint></robot>',
            )  # fmt: skip
    assert_the_same(write(text, 'a.urdf'))


def test_sdf(write) -> None:
    """Rods that no joints connect, with two points in each elbow; a payload that is held."""
    text = re.sub('<joint name="elbow.*?</joint>', '', five_bars.sdf())
    frames = ''.join(
        f'<frame name="closing_{leg}{z}_1" attached_to="crank_{leg}"><pose>{side * 0.12} 0.16 {z} '
        f'0 0 0</pose></frame><frame name="closing_{leg}{z}_2" attached_to="rod_{leg}"><pose>0 0 '
        f'{z} 0 0 0</pose></frame>'
        for leg, side in five_bars.SIDES.items()
        for z in (0, 1)
    )
    assert_the_same(write(text.replace('</model>', f'{frames}</model>'), 'a.sdf'))
    held = re.sub('<joint name="effector_fix.*?</joint>', '', five_bars.sdf())
    plugin = (
        '<plugin name="gz::sim::systems::DetachableJoint" filename="detachable-joint-system">'
        '<parent_link>rod_1</parent_link><child_model>five_bar</child_model><child_link>effector'
        '</child_link></plugin></model>'
    )
    assert_the_same(write(held.replace('</model>', plugin), 'b.sdf'))


def test_the_base_of_an_sdf_without_a_world(write) -> None:
    """Not the payload, though it comes first in the file."""
    inertia = '<inertial><mass>2</mass></inertial>'
    hinge = '<joint name="{0}" type="revolute"><parent>{1}</parent><child>{0}_link</child><axis>'
    hinge += '<xyz>0 1 0</xyz></axis></joint><link name="{0}_link"><pose>{2}</pose>{3}</link>'
    ends = ''.join(
        f'<frame name="closing_{x}{z}_{k}" attached_to="{link}"><pose>{x} 0 {z} 0 0 0</pose>'
        '</frame>'
        for k, link in ((1, 'wrist_link'), (2, 'payload'))
        for x, z in ((0, 0), (1, 0), (0, 1))
    )
    text = (
        f'<sdf version="1.9"><model name="m"><link name="payload"><pose>1 0 0 0 0 0</pose>{inertia}'
        f'</link><link name="stand"/>{hinge.format("arm", "stand", "0.5 0 0 0 0 0", inertia)}'
        f'{hinge.format("wrist", "arm_link", "1 0 0 0 0 0", inertia)}{ends}</model></sdf>'
    )
    with pytest.warns(DescriptionWarning, match='stand floats: it is fixed and becomes the base'):
        mechanism = Mechanism.load(write(text, 'a.sdf'))
    # Hinges are at the links' origins: 4 kg at the wrist, at 0.5 m of the arm's hinge.
    held = mechanism.feedforward([0.0, 0.0]).actuated
    gravity = mechanism.description.gravity[2]
    assert np.abs(held) == pytest.approx([4 * 0.5 * abs(gravity), 0.0], abs=1e-9)


BOOM = body('boom', 'pos="0 0 0.5"', '<joint name="b" axis="0 1 0"/>', '1 0 0', 50) + body(
    'cylinder', 'pos="0.3 0 0"', '<joint name="c" axis="0 1 0"/>'
    + body('piston', 'pos="0 0 0.2"', '<joint name="s" type="slide"/>', '0 0 0.15'), '0 0 0.1',
)  # fmt: skip
RSSR = body(
    'crank', '', '<joint name="c" axis="0 0 1"/>'
    + body('rod', 'pos="0 0.3 0.1"', '<joint name="ball" type="ball"/>', '0.5 -0.3 0.15'),
) + body('rocker', 'pos="1 0 0"', '<joint name="r" axis="0 1 0"/>')  # fmt: skip
PLATFORMS = {
    'hexapod': (plate(FREE), tips(), SLIDES, 'plate'),
    'five-bar': (*five_bar(0.0, 0.0, 0.0)[:3], 'rod_'),
    'on two feet, which stand still': (PELVIS, STAND, 'l_hip r_hip', 'pelvis'),
    'boom': (BOOM, connect('piston', 'boom', '0 0 0.3'), 's', 'boom'),
    'crank and rocker': (RSSR, connect('rod', 'rocker', '1 -0.3 0.4'), 'c', 'rocker'),
}


@pytest.mark.parametrize('name', PLATFORMS)
def test_the_platform_is_what_a_user_would_name(write, name: str) -> None:
    """Not a cylinder, a piston or a crank, nor what does not move."""
    *robot, platform = PLATFORMS[name]
    made = import_robot(write(mjcf(*robot)), 'a')
    assert f'platform: {platform}' in made.yaml


HUNG = {
    'a pendulum': ('axis="0 1 0"', '0.1 0 -0.02', 'bob'),
    'a slide': ('type="slide" axis="0 0 1"', '0 0 0', 'bob'),
    'a ball': ('type="ball"', '0 0 -0.3', 'bob_x, bob_y'),
}


@pytest.mark.parametrize('what', HUNG)
def test_what_hangs_is_not_held(tmp_path: pathlib.Path, what: str) -> None:
    """Its weight and inertia act on the motor, though no motor moves it; a wheel may be held."""
    joint, centre, free = HUNG[what]
    tool = body('tool', 'pos="0.5 0 0"', '', mass=0.2)
    file = tmp_path / 'a.xml'

    def arm(joint: str, centre: str) -> str:
        bob = body('bob', 'pos="0.3 0 0"', f'<joint name="bob" {joint}/>', centre, 0.5)
        return mjcf(body('arm', '', f'<joint name="arm" axis="0 1 0"/>{bob}{tool}'), '', 'arm')

    file.write_text(arm(joint, centre), encoding='utf-8')
    made = import_robot(file, 'a')
    assert f'without: {free}. Kinematics work, efforts are refused' in made.notes[-1]
    file.write_text(arm('axis="0 1 0"', '0 0.1 0'), encoding='utf-8')
    assert any('joint bob is held' in note for note in import_robot(file, 'a').notes)


def test_a_load_on_a_rope_swings(tmp_path: pathlib.Path) -> None:
    sites = '<site name="{}" pos="{}"/>'
    arm = body('arm', '', '<joint name="arm" axis="0 1 0"/>' + sites.format('s', '0.5 0 0'))
    load = body('load', 'pos="0.5 0 -0.6"', FREE + sites.format('t', '0 0 0'))
    rope = '<tendon><spatial name="r"><site site="s"/><site site="t"/></spatial></tendon>'
    file = tmp_path / 'a.xml'
    file.write_text(mjcf(arm + load, '<tendon tendon1="r"/>', 'arm', rope), encoding='utf-8')
    assert 'without: load_x, load_y.' in import_robot(file, 'a', platform='arm').notes[-1]
