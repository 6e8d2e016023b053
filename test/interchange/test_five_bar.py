# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One five-bar in every format: efforts are those of the description written by hand."""

from __future__ import annotations

import dataclasses
import pathlib
import re
from collections.abc import Callable

import numpy as np
import pytest
import samples

from interchange import five_bars
from masticator_dynamics import Mechanism
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.interchange.imported_description import import_description, import_robot

MOTORS = ('motor_1', 'motor_2')
ROTORS = 0.002  # kg m^2, of the description by hand; most formats cannot say it
Write = Callable[[str, str], pathlib.Path]


@pytest.fixture
def write(tmp_path: pathlib.Path) -> Write:
    def write(name: str, text: str) -> pathlib.Path:
        (tmp_path / name).write_text(text, encoding='utf-8')
        return tmp_path / name

    return write


def assert_the_same(
    path: pathlib.Path, turned: float = 0.0, rotors: float = 0.0, gear: float = 1.0,
    called: tuple[str, str] = MOTORS,
) -> None:  # fmt: skip
    """Efforts of both motors agree at random states; the imported loop closes to rounding."""
    described = import_description(path)
    if path.suffix != '.xml':  # formats that do not say it
        described = dataclasses.replace(described, gravity=(0.0, -9.81, 0.0))
    imported, ours = Mechanism(described), samples.mechanism('five_bar')
    assert set(imported.actuated) == set(imported.independent) == set(called)
    motors, order = ours.tree_indices(MOTORS), [imported.actuated.index(name) for name in called]
    for state in samples.states('five_bar', 10, seed=5):
        motion = ours.solve(state.y, state.y_dot, state.y_ddot)
        given = (motion.q[motors] - turned, motion.v[motors], motion.a[motors])
        effort = imported.feedforward(*(part[order] for part in given))
        expected = ours.inverse_dynamics(motion).actuated + (rotors - ROTORS) * given[2]
        assert effort.actuated[order] * gear == pytest.approx(expected, abs=1e-9)
        assert effort.closure_residual < 1e-12


@pytest.mark.parametrize('dialect', five_bars.DIALECTS)
def test_urdf_with_loops(write: Write, dialect: str) -> None:
    loop = five_bars.DIALECTS[dialect]
    assert_the_same(write('a.urdf', five_bars.urdf(loop + five_bars.TRANSMISSIONS)))


def test_gepetto_with_a_point(write: Write) -> None:
    write('robot.urdf', five_bars.urdf(five_bars.TIPS))
    assert_the_same(write('robot.yaml', five_bars.GEPETTO))


def test_gepetto_with_a_weld_that_is_open_at_zero(write: Write) -> None:
    """The rods end in hinged halves of a pin, which is one piece and does not spin by itself."""
    write('robot.urdf', five_bars.gepetto_welded())
    file = write(
        'robot.yaml',
        five_bars.GEPETTO.replace('3d', '6d')
        .replace('tip_', 'half_')
        .replace('half_A', 'half_1')
        .replace('half_B', 'hinge/2 é'),
    )
    assert_the_same(file, turned=0.3)
    # Where hinges have damping the weld stays: a hinge that is cut away would lose its own.
    text = five_bars.gepetto_welded().replace('<limit', '<dynamics damping="0.1"/><limit')
    write('robot.urdf', text)
    assert_the_same(file, turned=0.3)
    damped = {name: own.damping for name, own in import_description(file).joints.items()}
    joints = ('motor_1', 'motor_2', 'elbow_1', 'elbow_2', 'hinge/2 é')  # the pin turns with rod_1
    assert damped == dict.fromkeys(joints, 0.1)


@pytest.mark.parametrize('kind', ['revolute', 'ball'])
def test_sdf_with_a_link_of_two_parents(write: Write, kind: str) -> None:
    assert_the_same(write('a.sdf', five_bars.sdf(kind)))


@pytest.mark.parametrize('gear', [1.0, -20.0])
def test_mjcf_with_gears_and_reference_angles(write: Write, gear: float) -> None:
    pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
    path = write('a.xml', five_bars.mjcf(gear))
    assert_the_same(path, rotors=ROTORS, gear=gear)
    assert Mechanism.load(path).effort_limits == pytest.approx([3.0, 3.0])


def renamed(text: str, **names: str) -> str:
    """A robot whose links are called otherwise; ``{}`` in names is the number of the leg."""
    for old, new in names.items():
        for leg in five_bars.SIDES:
            text = text.replace(f'{old}_{leg}', new.format(leg))
    return text


def test_links_may_be_named_after_joints(write: Write) -> None:
    """A joint off its link's origin needs a link of its own, whose name must not be taken."""
    pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
    text = renamed(five_bars.mjcf(), rod='elbow_{}_link', crank='motor_{}_link')
    for leg in five_bars.SIDES:
        for joint in (f'motor_{leg}', f'elbow_{leg}'):
            text = text.replace(f'<joint name="{joint}"', f'<joint name="{joint}" pos="0 0 0.1"')
    assert_the_same(write('a.xml', text), rotors=ROTORS)
    text = renamed(five_bars.sdf(), crank='motor_{}_link')
    for leg in five_bars.SIDES:
        child = f'<child>motor_{leg}_link</child>'
        moved = f'{child}<pose relative_to="motor_{leg}_link">0 0 0.1'
        text = text.replace(
            f'<parent>world</parent>{child}<pose>0 0 0', f'<parent>world</parent>{moved}'
        )
    assert_the_same(write('a.sdf', text))


def effort_at_home(path: pathlib.Path) -> np.ndarray:
    """Efforts that hold an imported robot at its closed pose, by the file's own gravity."""
    mechanism = Mechanism(import_description(path))
    rest = np.zeros(len(mechanism.independent))
    return mechanism.feedforward(mechanism.home.y, rest, rest).actuated


def test_sdf_models_and_bases_may_lie_on_their_side(write: Write) -> None:
    """Gravity points down in the world, however the model or the link that becomes the base is."""
    plain = five_bars.sdf().replace('<model', '<world name="w"><gravity>0 -9.81 0</gravity><model')
    plain = plain.replace('</model>', '</model></world>')
    upright = effort_at_home(write('plain.sdf', plain))
    assert np.abs(upright).max() > 1.0
    on_its_side = plain.replace('0 -9.81 0', '0 0 -9.81').replace(
        '<model name="five_bar">', '<model name="five_bar"><pose degrees="true">0 0 2 90 0 0</pose>'
    )
    assert effort_at_home(write('pose.sdf', on_its_side)) == pytest.approx(upright, abs=1e-9)
    quaternion = on_its_side.replace(
        '<pose degrees="true">0 0 2 90 0 0', '<pose rotation_format="quat_xyzw">0 0 2 1 0 0 1'
    )
    assert effort_at_home(write('quaternion.sdf', quaternion)) == pytest.approx(upright, abs=1e-9)
    # A floating base whose own axes are turned against the model's.
    base = '<link name="base"><pose degrees="true">0 0 0 90 0 0</pose></link>'
    floating = plain.replace('<link name="crank_1">', f'{base}<link name="crank_1">')
    floating = floating.replace('<parent>world</parent>', '<parent>base</parent>')
    assert effort_at_home(write('floating.sdf', floating)) == pytest.approx(upright, abs=1e-9)


def test_sdf_joints_between_frames(write: Write) -> None:
    """Since SDF 1.7 a joint may name frames: those of links, of other frames, of joints."""
    frames = (
        '<frame name="axle" attached_to="crank_1"/><frame name="mark" attached_to="axle"/>'
        '<joint name="motor_1"'
    )
    text = five_bars.sdf().replace('<joint name="motor_1"', frames)
    text = text.replace('<child>crank_1</child>', '<child>mark</child>')
    assert_the_same(write('a.sdf', text))
    with pytest.raises(DescriptionError, match="joint motor_1: link 'lost' does not exist"):
        import_description(write('b.sdf', text.replace('to="axle"', 'to="lost"')))
    ring = text.replace('<frame name="axle" attached_to="crank_1"/>', '<frame name="axle" '
                        'attached_to="mark"/>')  # fmt: skip
    with pytest.raises(DescriptionError, match="joint motor_1: link '(mark|axle)' does not exist"):
        import_description(write('c.sdf', ring))


def test_mjcf_actuators_with_several_controls(write: Write) -> None:
    """Each control has a range; those of the second motor are not those with its number."""
    mujoco = pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
    if not hasattr(mujoco.MjModel, 'actuator_ctrladr'):
        pytest.skip('this MuJoCo has one control for each actuator')
    text = five_bars.mjcf(1.0)
    first = re.search(r'<motor joint="motor_1".*?/>', text)
    assert first
    several = '<dcmotor joint="motor_1" motorconst="1" resistance="1" input="pos vel" '
    several += 'controller="0 0 5"/>'
    imported = Mechanism.load(write('a.xml', text.replace(first.group(), several)))
    limits = dict(zip(imported.actuated, imported.effort_limits, strict=True))
    assert limits == {'motor_1': np.inf, 'motor_2': 3.0}


def test_mjcf_with_textures_that_are_not_there(write: Write) -> None:
    pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
    text = five_bars.mjcf(1.0).replace(
        '<worldbody>',
        '<asset><texture name="t" type="2d" file="no.png"/><material name="m" texture="t"/></asset>'
        '<worldbody><geom type="plane" size="1 1 1" material="m"/>',
    )
    assert_the_same(write('a.xml', text), rotors=ROTORS)


def test_mjcf_without_joints(write: Write) -> None:
    """What floats and is tied by nothing is fixed; a point makes a ball of it, wherever it was."""
    pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
    body = '<body name="a"><freejoint/><geom size="0.1"/><site name="t"/></body>'
    text = f'<mujoco><worldbody>{body}<site name="s" pos="1 0 0"/></worldbody></mujoco>'
    with pytest.raises(DescriptionError, match='nothing with mass moves in it'):
        import_robot(write('a.xml', text), 'a')
    tied = '</worldbody><equality><connect name="loop" site1="s" site2="t"/></equality>'
    mechanism = Mechanism.load(write('a.xml', text.replace('</worldbody>', tied)))
    assert len(mechanism.independent) == 3
    assert mechanism.frame_pose(mechanism.home, 'a').position == pytest.approx([1.0, 0.0, 0.0])


NESTED = {
    'model': ('<model name="leg" placement_frame="rod_2">{pose}{parts}</model>', 'leg::'),
    'include': (
        '<include><name>leg</name><uri>model://half</uri><placement_frame>rod_2</placement_frame>'
        '{pose}</include>', 'leg::',
    ),
    'merge': (
        '<include merge="true"><uri>half</uri><placement_frame>rod_2</placement_frame>'
        '{pose}</include>', '',
    ),
}  # fmt: skip


@pytest.mark.parametrize('kind', NESTED)
def test_sdf_models_in_models(write: Write, kind: str, tmp_path: pathlib.Path) -> None:
    """A leg is a model of its own, placed by a frame in it relative to a link outside of it."""
    text, prefix = NESTED[kind]
    plain = five_bars.sdf(version='1.9')
    parts = [m.group() for m in re.finditer(
        r'<(link|joint) name="(?:crank|rod|motor|elbow)_2".*?</\1>', plain, re.DOTALL
    )]  # fmt: skip
    assert len(parts) == 4
    for part in parts:
        plain = plain.replace(part, '')
    # Everything in the leg is relative to a frame of its own, wherever that is.
    inside = '<frame name="f"><pose>0.3 0.1 -0.2 0.4 0.5 0.6</pose></frame>' + ''.join(
        part.replace('<pose>', '<pose relative_to="f">', 1) if part.startswith('<link') else part
        for part in parts
    )
    side = five_bars.SIDES[2] * 0.22
    pose = f'<pose relative_to="effector">{side} {0.16 - 0.325} 0 0 0 0</pose>'
    leg = text.format(pose=pose, parts=inside)
    outside = plain.replace('<parent>rod_2<', f'<parent>{prefix}rod_2<')
    outside = outside.replace('</model>', f'{leg}</model>')
    (tmp_path / 'half').mkdir()
    write('half/model.config', '<model><sdf version="1.9">half.sdf</sdf></model>')
    write('half/half.sdf', f'<sdf version="1.9"><model name="half">{inside}</model></sdf>')
    assert_the_same(write('a.sdf', outside), called=('motor_1', f'{prefix}motor_2'))


def test_sdf_that_includes_itself_or_nothing(write: Write) -> None:
    text = '<sdf version="1.9"><model name="m"><include><uri>{}</uri></include></model></sdf>'
    for uri, message in {'a.sdf': 'it includes itself', 'b.sdf': 'there is no such model'}.items():
        with pytest.raises(DescriptionError, match=message):
            import_robot(write('a.sdf', text.format(uri)), 'a')


def test_sdf_is_not_cut_at_joints_with_motors(write: Write) -> None:
    """Motors are those that are asked for, or that plugins drive; any joint can have one."""
    plain = five_bars.sdf()
    for motors in (('motor_1', 'motor_2'), ('elbow_2', 'pin'), ('pin', 'motor_2')):
        made = import_robot(write('a.sdf', plain), 'a', actuated=motors)
        assert f'actuated: [{", ".join(motors)}]' in made.yaml
        plugins = (
            '<plugin filename="joint-state-publisher"><joint_name>elbow_1</joint_name></plugin>'
        )
        for name in motors:
            plugins += f'<plugin filename="controller"><joint_name>{name}</joint_name></plugin>'
        driven = write('a.sdf', plain.replace('</model>', f'{plugins}</model>'))
        assert f'actuated: [{", ".join(motors)}]' in import_robot(driven, 'a').yaml


def test_sdf_joints_with_losses_are_not_cut_if_others_can_be(write: Write) -> None:
    plain = five_bars.sdf()
    lossy = '<axis><dynamics><damping>0.7</damping></dynamics>'
    start = plain.index('<joint name="pin"')
    made = import_robot(write('a.sdf', plain[:start] + plain[start:].replace('<axis>', lossy)), 'a')
    assert 'pin: {damping: 0.7}' in made.yaml
    everywhere = import_robot(write('a.sdf', plain.replace('<axis>', lossy)), 'a')
    assert any('its losses and spring are left out' in note for note in everywhere.warnings)


def test_sdf_robots_in_a_world(write: Write) -> None:
    """Light and ground are none, whether they are there or not; the robot may be included."""
    plain = five_bars.sdf()
    robot = plain[plain.index('<model') : plain.index('</sdf>')]
    ground = '<model name="ground"><static>1</static><link name="plate"/></model>'
    sun = '<include><uri>model://sun</uri></include>'
    write('robot.sdf', plain)
    for inside in (robot, '<include><uri>robot.sdf</uri></include>'):
        text = f'<sdf version="1.7"><world name="w">{sun}{ground}{inside}</world></sdf>'
        made = import_robot(write('a.sdf', text), 'a', actuated=MOTORS)
        assert 'platform: effector' in made.yaml
    with pytest.raises(DescriptionError, match='include model://sun: there is no such model'):
        import_robot(write('a.sdf', text.replace(inside, '')), 'a')


def test_sdf_robots_beside_the_one_that_is_read_are_told(write: Write) -> None:
    plain = five_bars.sdf()
    robot = plain[plain.index('<model') : plain.index('</sdf>')]
    twin = robot.replace('<model name="', '<model name="second_')
    sun = '<include><uri>model://sun</uri></include>'
    text = f'<sdf version="1.7"><world name="w">{sun}{robot}{twin}</world></sdf>'
    made = import_robot(write('a.sdf', text), 'a', actuated=MOTORS)
    name = re.search('<model name="(.*?)"', robot)[1]
    assert made.warnings == (f'read is model {name}; left out: sun, second_{name}',)
    still = robot.replace('<link', '<static>true</static><link', 1)
    made = import_robot(write('a.sdf', plain.replace(robot, still)), 'a', actuated=MOTORS)
    assert made.warnings == (f'model {name} is static in the file, and can move here',)


def test_sdf_base_that_is_a_static_model_in_the_model(write: Write) -> None:
    plain = five_bars.sdf().replace('<parent>world<', '<parent>ground::__model__<')
    ground = '<model name="ground"><static>true</static><link name="plate"/></model>'
    assert_the_same(write('a.sdf', plain.replace('</model>', f'{ground}</model>')))


def test_axes_of_sdf_before_version_1_5_are_those_of_the_model(write: Write) -> None:
    """The effector is turned, and so would be the axis of its pin."""
    plain = five_bars.sdf(version='1.4')
    turned = plain.replace('<pose>0 0.325 0 0 0 0</pose>', '<pose>0 0.325 0 0.7 0 0</pose>')
    assert turned != plain
    assert_the_same(write('a.sdf', turned))


def test_links_joined_twice(write: Write) -> None:
    """Effector and rod are welded; that they also turn about one axis changes nothing."""
    again = (
        '<joint name="again" type="revolute"><parent>rod_1</parent><child>effector</child>'
        '<axis><xyz>0 0 1</xyz></axis></joint></model>'
    )
    path = write('a.sdf', five_bars.sdf().replace('</model>', again))
    assert_the_same(path)
    notes = import_robot(path, 'a').notes
    assert 'again is left out: rod_1 and effector are parts of one rigid body' in notes


def test_sdf_masses_that_follow_from_shapes_are_refused(write: Write) -> None:
    text = five_bars.sdf().replace('<inertial>', '<inertial auto="true">', 1)
    with pytest.raises(DescriptionError, match=r'link crank_1: .*auto.*: write mass and inertia'):
        import_description(write('a.sdf', text))


def test_mjcf_without_gravity(write: Write) -> None:
    """The flag counts for more than the option."""
    pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
    gravity = '<option gravity="0 -9.81 0"/>'
    disabled = gravity.replace('/>', '><flag gravity="disable"/></option>')
    path = write('a.xml', five_bars.mjcf().replace(gravity, disabled))
    assert effort_at_home(path) == pytest.approx(0.0, abs=1e-12)


def test_forces_of_mjcf_that_are_left_out_are_warned_of(write: Write) -> None:
    pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
    text = five_bars.mjcf().replace('<body name="rod_1"', '<body name="rod_1" gravcomp="1"')
    text = text.replace('<option ', '<option density="1.2" ')
    warned = ' '.join(import_robot(write('a.xml', text), 'a').warnings)
    assert 'body rod_1: its gravity compensation (gravcomp 1) is left out' in warned
    assert 'forces of the fluid around it (density, viscosity) are left out' in warned


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('<axis><xyz>0 0 1', '<axis><xyz>0 0 0', r'joint loop axis: .* no direction'),
        ('<axis><xyz>0 0 1', '<axis><xyz>0 1', r'joint loop axis: .* 3 finite numbers'),
        (' 0 0 0</pose>', ' 0 0</pose>', r'loop pose: .* 6 finite numbers'),
    ],
)
def test_numbers_of_a_gazebo_joint(write: Write, old: str, new: str, message: str) -> None:
    loop = five_bars.DIALECTS['gazebo'].replace(old, new)
    with pytest.raises(DescriptionError, match=message):
        import_description(write('a.urdf', five_bars.urdf(loop)))


def test_what_floats_in_urdf_is_fixed(write: Write) -> None:
    """As in MJCF and SDF: where the file puts it, and that is said."""
    text = five_bars.urdf(five_bars.DIALECTS['isaac'] + five_bars.TRANSMISSIONS)
    floating = text.replace(
        '</robot>',
        '<link name="tag"/><joint name="mark" type="floating"><parent link="effector"/>'
        '<child link="tag"/></joint></robot>',
    )
    assert_the_same(write('a.urdf', floating))
    notes = import_robot(write('a.urdf', floating), 'a').notes
    assert 'joint mark floats: it is fixed where the file puts it' in notes


def test_platform_is_a_link_of_the_file(write: Write) -> None:
    """A joint off its link's origin needs a link of its own, which is no tool."""
    text = (
        '<sdf version="1.9"><model name="m"><link name="arm"/><joint name="j" type="revolute">'
        '<pose>1 0 0 0 0 0</pose><parent>world</parent><child>arm</child><axis><xyz>0 0 1</xyz>'
        '</axis></joint></model></sdf>'
    )
    body = '<inertial><mass>1</mass></inertial>'
    made = import_robot(write('a.sdf', text.replace('"arm"/>', f'"arm">{body}</link>')), 'a')
    assert 'platform: arm' in made.yaml


LEG = """<mujoco><compiler angle="radian"/><worldbody>
<body name="thigh">BODY<joint name="thigh" axis="0 1 0" range="0.2 1.2"/>
<body name="shank" pos="0.4 0 0">BODY<joint name="knee" axis="0 1 0" range="-2.4 -0.3"/></body>
</body>
<body name="heel">BODY<joint name="length" type="slide" axis="0 0 -1" range="0.1 0.7"/></body>
</worldbody><equality><connect body1="shank" body2="heel" anchor="-0.4 0 0"/></equality>
<actuator><motor joint="length"/></actuator><keyframe><key qpos="0 0 0"/></keyframe></mujoco>"""


def test_poses_outside_of_ranges_are_left(write: Write) -> None:
    """The keyframe has the leg folded to no length, where it is closed, but out of its ranges."""
    pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
    body = '<inertial pos="0 0 0.1" mass="1" diaginertia="0.1 0.1 0.1"/>'
    mechanism = Mechanism.load(write('a.xml', LEG.replace('BODY', body)))
    assert not mechanism.range_violations(mechanism.home)
    assert mechanism.independent == ('length',)


def test_the_farthest_link_is_far_from_the_first_joint(write: Write) -> None:
    """Not from the world's origin, on which the robot stands."""
    pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
    body = '<inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>'
    text = (
        f'<mujoco><worldbody><body name="upper" pos="0 0 1">{body}<joint axis="0 1 0"/>'
        f'<body name="lower" pos="0 0 -0.5">{body}<joint axis="0 1 0"/></body></body></worldbody>'
        '</mujoco>'
    )
    assert 'platform: lower' in import_robot(write('a.xml', text), 'a').yaml


def test_rods_do_not_spin_though_no_motors_are_named(write: Write) -> None:
    """A rod between two balls is held; a tool that turns at the end of a chain is not."""
    pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
    body = '<inertial pos="0.1 0 0.01" mass="1" diaginertia="0.1 0.1 0.1"/>'
    tool = (
        f'<body name="drill" pos="0.1 0 0.4">{body}<joint name="drill_turns" axis="1 0 0"/></body>'
    )
    text = (
        f'<mujoco><worldbody><body name="crank">{body}<joint name="crank" axis="0 0 1"/>'
        f'<body name="rod" pos="0 0.3 0.1">{body}<joint name="ball" type="ball"/></body></body>'
        f'<body name="rocker" pos="1 0 0">{body}<joint name="rocker" axis="0 1 0"/>{tool}</body>'
        '</worldbody><equality><connect body1="rod" body2="rocker" anchor="1 -0.3 0.4"/></equality>'
        '</mujoco>'
    )
    made = import_robot(write('a.xml', text), 'a', platform='rocker')
    spins = [note for note in made.notes if 'it would spin idly' in note]
    assert len(spins) == 1 and 'joint ball_' in spins[0]
    assert len(Mechanism.load(write('a.xml', text)).independent) == 2


def test_a_leg_without_motors_moves_though_the_platform_is_the_other_foot(write: Write) -> None:
    """A leg with a loop of its own turns as one piece about the hip; it is no rod."""
    pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
    link = (
        '<body name="{0}{1}" pos="{2}"><inertial pos="0.1 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>'
        '<joint name="{0}{1}" axis="{3}"/>'
    )

    def leg(side: str, y: float) -> str:
        hip = link.format(side, 'hip', f'0 {y} 0', '1 0 0')
        crank = link.format(side, 'crank', '0 0 0', '0 1 0')
        rod = link.format(side, 'rod', '0 0 -0.3', '0 1 0')
        rocker = link.format(side, 'rocker', '0.5 0 0', '0 1 0')
        return f'{hip}{crank}{rod}</body></body>{rocker}</body></body>'

    connect = '<connect body1="{0}rod" body2="{0}rocker" anchor="0.5 0 0"/>'
    text = (
        f'<mujoco><worldbody>{leg("l", 0.2)}{leg("r", -0.2)}</worldbody><equality>'
        f'{connect.format("l")}{connect.format("r")}</equality></mujoco>'
    )
    made = import_robot(write('a.xml', text), 'a', platform='lrocker')
    assert not any('idly' in note for note in made.notes)
    assert len(Mechanism.load(write('a.xml', text)).independent) == 4


def test_mimic_becomes_a_coupling(write: Write) -> None:
    """Two cranks without a loop, one of which mimics the other: one motor drives both."""
    mimic = '<mimic joint="motor_1" multiplier="-2" offset="0.1"/>'
    text = five_bars.urdf(five_bars.TRANSMISSIONS.replace('motor_2', 'motor_1'))
    at = text.index('<parent', text.index('name="motor_2"'))
    path = write('a.urdf', text[:at] + mimic + text[at:])
    imported = Mechanism(
        import_description(path)
    )  # the elbows hang freely: they are coordinates without motors
    motion = imported.solve(imported.home.y, np.eye(len(imported.independent))[0])
    one, two = imported.tree_indices(['motor_1', 'motor_2'])
    assert motion.q[two] == pytest.approx(0.1 - 2.0 * motion.q[one], abs=1e-12)
    assert motion.v[two] == pytest.approx(-2.0 * motion.v[one], abs=1e-12)
    assert abs(motion.v[one]) > 0.1
