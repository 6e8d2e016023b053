# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What ties bodies and drives them in MJCF: efforts are those of MuJoCo's own matrices."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
import yaml

from interchange.mujoco_oracle import MujocoOracle, assert_as_in_mujoco
from masticator_dynamics import Mechanism
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.interchange.imported_description import import_description, import_robot
from masticator_dynamics.interchange.mjcf_export import export_mjcf

mujoco = pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
HINGE, SLIDE = 'axis="0 1 0"', 'type="slide" axis="0 0 1"'


def body(name: str, joint: str, mass: float, pos: str = '0 0 0', inner: str = '') -> str:
    """A body on a joint of its name."""
    inertial = f'<inertial pos="0.1 0 0.02" mass="{mass}" diaginertia="0.02 0.03 0.04"/>'
    return f'<body name="{name}" pos="{pos}"><joint name="{name}" {joint}/>{inertial}{inner}</body>'


PAIR = body('a', HINGE, 1) + body('b', HINGE, 2, '0 1 0')
THREE = PAIR + body('c', SLIDE, 3, '0 2 0')
REACHER = '<site name="wall" pos="-0.3 0.1 0.6"/>' + body(
    'a', HINGE, 1, '0 0 0',
    '<site name="near" pos="0.3 0.02 0.1"/>'
    + body('b', HINGE, 2, '0.5 0 0.1', '<site name="far" pos="0.2 0 0.1"/>'),
)  # fmt: skip
BOOM = '<site name="slider" pos="0.3 0 -0.1" euler="0 0.3 0"/>' + body(
    'a', HINGE, 5, '0 0 0', '<site name="crank" pos="0.1 0 0.3"/>'
)
FOUR_BAR = body('a', HINGE, 1) + body('c', HINGE, 1, '0.5 0 0', body('d', HINGE, 1, '0 0 0.3'))
WELD = '<weld name="tip" body1="a" body2="d" anchor="-0.2 0 0" relpose="0.3 0 0.3 1 0 0 0" {}/>'


def fixed(**tendons: str) -> str:
    """Fixed tendons by name, each with pairs of joint and coefficient."""
    made = ''
    for name, text in tendons.items():
        pairs = (pair.split(':') for pair in text.split())
        joints = ''.join(f'<joint joint="{joint}" coef="{coef}"/>' for joint, coef in pairs)
        made += f'<fixed name="{name}">{joints}</fixed>'
    return f'<tendon>{made}</tendon>'


def straight(*sites: str) -> str:
    """A spatial tendon ``rope`` along sites."""
    along = ''.join(f'<site site="{site}"/>' for site in sites)
    return f'<tendon><spatial name="rope">{along}</spatial></tendon>'


def equal(text: str) -> str:
    return f'<equality>{text}</equality>'


def tendons_equal(second: str, powers: str) -> str:
    other = f'tendon2="{second}"' if second else ''
    return equal(f'<tendon name="tie" tendon1="one" {other} polycoef="{powers}"/>')


def driven(*motors: str) -> str:
    return f'<actuator>{"".join(f"<motor {motor}/>" for motor in motors)}</actuator>'


def robot(folder: pathlib.Path, world: str, rest: str) -> pathlib.Path:
    (folder / 'a.xml').write_text(
        f'<mujoco><compiler angle="radian" autolimits="true"/><worldbody>{world}</worldbody>'
        f'{rest}</mujoco>',
        encoding='utf-8',
    )
    return folder / 'a.xml'


TWO = fixed(one='a:1.5', two='b:-2')
DIFFERENTIAL = fixed(one='a:1 b:1', two='c:2')
READ = {
    'two tendons': (PAIR, TWO + tendons_equal('two', '0.1 0.7 0 0 0') + driven('joint="a"'), 1),
    'a curve': (PAIR, TWO + tendons_equal('two', '0 0.7 0.2 -0.1 0.05') + driven('joint="a"'), 1),
    'a curve from its other end': (
        PAIR, TWO + tendons_equal('two', '0 0.7 0.2 0 0') + driven('joint="b" gear="3"'), 1,
    ),
    'references': (
        PAIR.replace('axis', 'ref="0.3" axis', 1),
        TWO + tendons_equal('two', '0.1 0.7 0.3 0 0') + driven('joint="a"'), 1,
    ),
    'a curve of joints': (
        PAIR.replace('axis', 'ref="0.3" axis', 1),
        equal('<joint joint1="a" joint2="b" polycoef="0.05 0.7 0.2 -0.1 0.05"/>')
        + driven('joint="a"'), 1,
    ),
    'a differential': (
        THREE, DIFFERENTIAL + tendons_equal('two', '0 1 0.3 0 0')
        + driven('joint="a"', 'joint="c"'), 2,
    ),
    'a joint in both': (
        THREE, fixed(one='a:1 b:1', two='a:0.5 c:2') + tendons_equal('two', '0 1 0 0 0')
        + driven('joint="a"', 'joint="c"'), 2,
    ),
    'one tendon': (
        THREE, DIFFERENTIAL + tendons_equal('', '0.1 0 0 0 0')
        + driven('joint="a"', 'joint="c"'), 2,
    ),
    'a rod': (
        REACHER, straight('wall', 'far') + equal('<tendon tendon1="rope" polycoef="0.02 0 0 0 0"/>')
        + driven('joint="b"'), 1,
    ),
    'a weld without torque': (
        FOUR_BAR, equal(WELD.format('torquescale="0"')) + driven('joint="a"'), 1,
    ),
    'a motor of two joints': (
        PAIR, fixed(one='a:1 b:-2') + driven('tendon="one" gear="2"', 'joint="b"'), 2,
    ),
    'a motor of a hinge and a slide': (
        THREE, fixed(one='a:0.3 c:2') + driven('tendon="one"', 'joint="b"', 'joint="c"'), 3,
    ),
    'two cylinders in space': (
        '<site name="l" pos="0.3 0.6 0.6"/><site name="r" pos="0.3 -0.6 0.6"/>'
        + body('a', 'axis="0 0 1"', 3, '0 0 0',
               body('b', HINGE, 2, '0.1 0 0.1', '<site name="tip" pos="0.5 0.05 0.1"/>')),
        straight('l', 'tip') + straight('tip', 'r').replace('rope', 'line')
        + driven('tendon="rope" gear="-1"', 'tendon="line"'), 2,
    ),
    'a slider-crank in space, on a moving body': (
        body('a', HINGE, 5, '0 0 0', '<site name="slider" pos="0.1 0 0.1" euler="0.1 0.4 0"/>'
             + body('b', HINGE, 2, '0.4 0.05 0.1', '<site name="crank" pos="0.1 0 0.2"/>')),
        driven('cranksite="crank" slidersite="slider" cranklength="0.5" gear="-2"', 'joint="a"'), 2,
    ),
    'a telescopic cylinder': (
        REACHER, straight('wall', 'near') + driven('tendon="rope" gear="-1.5"', 'joint="b"'), 2,
    ),
    'a cylinder from a keyframe': (
        REACHER, straight('near', 'wall') + driven('tendon="rope"', 'joint="b"')
        + '<keyframe><key qpos="0.4 -0.4"/></keyframe>', 2,
    ),
    'a slider-crank': (
        BOOM, driven('cranksite="crank" slidersite="slider" cranklength="0.5" gear="4"'), 1,
    ),
    'a slider-crank without gear': (
        BOOM, driven('cranksite="crank" slidersite="slider" cranklength="0.45"'), 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize('what', READ)
def test_what_is_read(tmp_path: pathlib.Path, what: str) -> None:
    world, rest, freedoms = READ[what]
    assert_as_in_mujoco(robot(tmp_path, world, rest), freedoms, reach=0.05)


def test_a_tendon_that_leaves_a_joint_out_by_a_coefficient_of_0(tmp_path: pathlib.Path) -> None:
    motors = '<motor name="m" tendon="one" gear="2"/><motor name="n" tendon="two" gear="-3"/>'
    rest = fixed(one='a:1 b:0', two='a:0 b:0.5') + f'<actuator>{motors}</actuator>'
    mechanism = assert_as_in_mujoco(robot(tmp_path, PAIR, rest), 2)
    assert mechanism.tree_joints == ('a', 'b')


def test_tendons_by_virtual_work(tmp_path: pathlib.Path) -> None:
    """A mass of 1 kg sinks by 3 d where one of 2 kg rises by d: a force of 9.81 (1 - 2/3) N."""
    slides = body('a', SLIDE, 1) + body('b', SLIDE, 2, '0 1 0')
    ties = fixed(one='a:1', two='b:3') + tendons_equal('two', '0 -1 0 0 0')
    mechanism = Mechanism.load(robot(tmp_path, slides, ties + driven('joint="a"')))
    assert mechanism.actuated == mechanism.independent == ('a',)
    effort = mechanism.feedforward([0.0], [0.0], [0.0]).actuated
    assert effort == pytest.approx([9.81 * (1.0 - 2.0 / 3.0)], abs=1e-12)


def hexapod(rest: str) -> tuple[str, str]:
    """A plate that floats above six points of the ground, with a tendon to each."""
    low, high, ropes = '', '', ''
    for n in range(6):
        lower = 2 * np.pi * (n // 2) / 3 + (0.2 if n % 2 else -0.2)
        upper = 2 * np.pi * ((n + 1) // 2 % 3) / 3 - np.pi / 3 + (-0.15 if n % 2 else 0.15)
        low += f'<site name="b{n}" pos="{0.5 * np.cos(lower)} {0.5 * np.sin(lower)} 0"/>'
        high += f'<site name="p{n}" pos="{0.25 * np.cos(upper)} {0.25 * np.sin(upper)} -0.02"/>'
        ropes += f'<spatial name="t{n}"><site site="b{n}"/><site site="p{n}"/></spatial>'
    inertial = '<inertial pos="0.02 0.01 0.03" mass="3" diaginertia="0.02 0.03 0.04"/>'
    plate = f'<body name="plate" pos="0.01 0.02 0.5"><freejoint/>{inertial}{high}</body>'
    return f'{low}{plate}', f'<tendon>{ropes}</tendon>{rest}'


def test_a_hexapod_of_tendons(tmp_path: pathlib.Path) -> None:
    """Six cylinders, or five rods and a cylinder, carry the plate as in MuJoCo."""
    cylinders = driven(*(f'tendon="t{n}"' for n in range(6)))
    rods = equal(''.join(f'<tendon tendon1="t{n}"/>' for n in range(5)))
    for rest, freedoms in ((cylinders, 6), (rods + driven('tendon="t5"'), 1)):
        path = robot(tmp_path, *hexapod(rest))
        oracle, ours = MujocoOracle(path), Mechanism.load(path)
        oracle.place({})
        assert oracle.motions().shape[1] == len(ours.independent) == freedoms
        still = np.zeros(freedoms)
        effort = ours.feedforward(ours.home.y, still, still).actuated
        assert effort == pytest.approx(oracle.efforts(np.zeros(6)), rel=1e-9)


def test_joints_that_others_follow_may_be_held(tmp_path: pathlib.Path) -> None:
    """By the file: ``a`` at 0.2, and so ``b`` at 0.1 + 2 x 0.2."""
    held = '<joint joint1="a" polycoef="0.2 0 0 0 0"/>'
    follows = '<joint joint1="b" joint2="a" polycoef="0.1 2 0 0 0"/>'
    for order in (held + follows, follows + held):
        path = robot(tmp_path, THREE, equal(order) + driven('joint="c"'))
        made = import_robot(path, 'a')
        assert 'joint b is held by' in ' '.join(made.notes)
        assert yaml.safe_load(made.yaml)['independent'] == ['c']
        turned = Mechanism.load(path).description.tree.joints
        angles = {joint.name: np.arccos(joint.rotation[0, 0]) for joint in turned}
        assert (angles['a'], angles['b']) == pytest.approx((0.2, 0.5), abs=1e-12)


SPRING = '<tendon><fixed name="one" {}="3"><joint joint="a" coef="1"/><joint joint="b" coef="-1"/>'
REFUSED = {
    'a curve of two joints': (
        THREE, DIFFERENTIAL + equal('<tendon name="tie" tendon1="two" tendon2="one" '
                                    'polycoef="0 1 0.3 0 0"/>'), 'equality tendon tie', 'tie',
    ),
    'a rope over a pulley': (
        REACHER, straight('wall', 'near', 'far') + equal('<tendon name="tie" tendon1="rope"/>'),
        'equality tendon tie', 'tendon',
    ),
    'a rope and a joint': (
        REACHER, straight('wall', 'near').replace('</tendon>', fixed(one='b:1')[8:])
        + equal('<tendon name="tie" tendon1="one" tendon2="rope"/>'),
        'equality tendon tie', 'equality tendon tie',
    ),
    'a motor of a rope over a pulley': (
        REACHER, straight('wall', 'near', 'far') + driven('name="winch" tendon="rope"'),
        'actuator winch', 'winch',
    ),
    'a thruster': (
        PAIR + '<site name="s"/>', driven('name="jet" site="s" gear="0 0 1 0 0 0"'),
        'actuator jet', 'actuator',
    ),
    'a motor of what stands still': (
        PAIR, fixed(one='a:1 b:1') + equal('<joint joint1="a" joint2="b" polycoef="0 -1 0 0 0"/>')
        + driven('name="idle" tendon="one"'), 'actuator idle', 'idle',
    ),
    'a motor of a held joint': (
        PAIR, equal('<joint joint1="a" polycoef="0.1 0 0 0 0"/>') + driven('name="m" joint="a"'),
        'actuator m', 'm',
    ),
    'a motor of a ball': (
        PAIR + body('e', 'type="ball"', 1), driven('name="gimbal" joint="e" gear="1 0 0"'),
        'actuator gimbal', 'gimbal',
    ),
    'a spring': (PAIR, SPRING.format('stiffness') + '</fixed></tendon>', 'tendon one', 'one'),
    'a damper': (PAIR, SPRING.format('damping') + '</fixed></tendon>', 'tendon one', 'tendon'),
    'friction': (PAIR, SPRING.format('frictionloss') + '</fixed></tendon>', 'tendon one', 'one'),
    'a joint whose damping is a curve': (
        body('a', HINGE + ' damping="1 2"', 1), '', 'joint a', 'a',
    ),
    'a ball with a spring': (
        PAIR + body('e', 'type="ball" stiffness="5"', 1), '', 'joint stiffness e', 'stiffness',
    ),
    'a ball with a flywheel': (
        PAIR + body('e', 'type="ball" armature="0.1"', 1), '', 'joint armature e', 'e',
    ),
    'a taut cable': (
        REACHER, straight('wall', 'far').replace('"rope"', '"rope" range="0 1"'), 'tendon rope',
        'rope',
    ),
    'a tendon without play': (
        PAIR, fixed(one='a:1 b:-1').replace('"one"', '"one" range="-1e-4 1e-4"'), 'tendon one',
        'one',
    ),
    'a damper beside a motor': (
        PAIR, driven('joint="a"', 'joint="b"')[:-11] + '<damper name="d" joint="a" kv="3" '
        'ctrlrange="0 1"/></actuator>', 'actuator d', 'd',
    ),
    'a spring that is called an actuator': (
        PAIR, driven('joint="b"')[:-11] + '<general name="g" joint="a" gainprm="0" '
        'biastype="affine" biasprm="0 -30 0"/></actuator>', 'actuator g', 'g',
    ),
    'a flexible body': (
        PAIR + '<flexcomp name="skin" type="grid" count="3 3 1" dim="2" spacing="0.1 0.1 0.1" '
        'mass="1"/>', '', 'flex skin', 'flex',
    ),
}  # fmt: skip


@pytest.mark.parametrize('what', REFUSED)
def test_what_is_refused(tmp_path: pathlib.Path, what: str) -> None:
    """By type and name; it can be left out on purpose, by its name or type."""
    world, rest, label, ignore = REFUSED[what]
    path = robot(tmp_path, world, rest)
    with pytest.raises(DescriptionError, match=f'{label}: .* not understood. .* --ignore '):
        import_robot(path, 'a')
    if what != 'a flexible body':  # whose vertices have no other mass
        assert f'{label} is left out, as asked' in import_robot(path, 'a', ignore=[ignore]).notes
        assert Mechanism.load(path, ignore=[ignore]).tree_joints
    with pytest.raises(DescriptionError, match="'no such' is no element that would be refused"):
        import_robot(path, 'a', ignore=[ignore, 'no such'])


def test_what_is_harmless(tmp_path: pathlib.Path) -> None:
    """Limits of tendons and adhesion are told; sensors, pairs and exclusions are not."""
    ball = '<geom name="{}" size="0.1" mass="0"/>'
    world = body('a', HINGE, 1, '0 0 0', ball.format('g')) + body(
        'b', HINGE, 2, '0 1 0', ball.format('h')
    )
    rest = (
        fixed(one='a:1 b:1').replace('"one"', '"one" range="-1 1"')
        + '<contact><pair geom1="g" geom2="h"/><exclude body1="a" body2="b"/></contact><sensor>'
        '<tendonpos tendon="one"/></sensor><actuator><adhesion name="pad" body="a" '
        'ctrlrange="0 1"/><motor joint="a"/><motor joint="b"/></actuator>'
    )
    made = import_robot(robot(tmp_path, world, rest), 'a')
    told = [note for note in made.notes if not note.startswith('platform')]
    assert told == [
        'actuator pad is left out: adhesion acts on contacts only',
        'tendon one: its range is left out',
    ]


SPRUNG = body('a', HINGE + ' stiffness="9" springref="0.6" frictionloss="2"', 1) + body(
    'b', HINGE, 2, '0 1 0'
)
BELT = equal('<joint joint1="b" joint2="a" polycoef="0 2 0 0 0"/>')


@pytest.mark.parametrize(
    ('flag', 'freedoms'), [('equality', 2), ('constraint', 2), ('spring', 1), ('gravity', 1)]
)
def test_what_flags_disable(tmp_path: pathlib.Path, flag: str, freedoms: int) -> None:
    motors = driven('joint="a"', 'joint="b"') if freedoms == 2 else driven('joint="a"')
    path = robot(tmp_path, SPRUNG, BELT + motors)
    disabled = f'<worldbody/><option><flag {flag}="disable"/></option>'
    path.write_text(path.read_text(encoding='utf-8').replace('</mujoco>', f'{disabled}</mujoco>'))
    assert_as_in_mujoco(path, freedoms)
    assert f'its flags disable {flag}: so it is here' in import_robot(path, 'a').notes


@pytest.mark.parametrize(('flag', 'friction'), [('frictionloss', 0.0), ('damper', 2.0)])
def test_losses_that_flags_disable(tmp_path: pathlib.Path, flag: str, friction: float) -> None:
    world = SPRUNG.replace('frictionloss', 'damping="3" frictionloss')
    path = robot(tmp_path, world, f'<option><flag {flag}="disable"/></option>')
    joint = import_description(path).joints['a']
    assert (joint.friction, joint.damping) == (friction, 0.0 if friction else 3.0)


@pytest.mark.parametrize(
    ('joint', 'motor', 'expected'),
    [
        ('actuatorfrcrange="-3 4"', '<motor joint="a" gear="2"/>', (-1.5, 2.0)),
        ('', '<motor joint="a" gear="2" ctrlrange="-3 4"/>', (-3.0, 4.0)),
        ('', '<general joint="a" gainprm="5" dyntype="filter" ctrlrange="-1 1"/>', (-5.0, 5.0)),
        ('', '<general joint="a" biastype="affine" biasprm="3" ctrlrange="-1 1"/>', (2.0, 4.0)),
        ('', '<muscle joint="a" lengthrange="0 1"/>', (-np.inf, np.inf)),
        ('actuatorfrcrange="-5 5"', '<motor joint="a" forcerange="-7 2"/>', (-5.0, 2.0)),
    ],
)
def test_ranges_of_force(
    tmp_path: pathlib.Path, joint: str, motor: str, expected: tuple[float, float]
) -> None:
    """The narrowest of those of actuator, control and joint; a muscle's control is no force."""
    world = body('a', f'{HINGE} {joint}', 1)
    mechanism = Mechanism.load(robot(tmp_path, world, f'<actuator>{motor}</actuator>'))
    limits = mechanism.load_limits
    low = -limits.effort if limits.effort_low is None else limits.effort_low
    assert (low[0], limits.effort[0]) == pytest.approx(expected)


def test_names_that_nameless_parts_would_have(tmp_path: pathlib.Path) -> None:
    """A link that was its own parent had no end."""
    named = f'<joint name="body_1__joint_1" {HINGE}/><geom size="0.1"/>'
    inner = f'<body name="body_1" pos="1 0 0">{named}</body>'
    world = f'<body><joint {HINGE}/><geom size="0.1"/>{inner}</body>'
    joints = import_description(robot(tmp_path, world, '')).tree.joints
    assert {joint.name for joint in joints} == {'body_1__joint_1', 'body_1__joint_1_'}
    assert {joint.child for joint in joints} == {'body_1', 'body_1_'}


def test_a_mesh_that_is_missing_and_had_the_mass(tmp_path: pathlib.Path) -> None:
    shape = '<geom type="mesh" mesh="m"/><geom size="0.1"/>'
    world = f'<body name="a"><joint name="a" {HINGE}/>{shape}</body>'
    mesh = '<asset><mesh name="m" file="m.stl"/></asset>'
    # MuJoCo takes the mass of the shapes instead of <inertial> if the compiler is told so.
    told = '<inertial pos="0 0 0" mass="5" diaginertia="1 1 1"/>'
    unused = world.replace('<geom type="mesh"', f'{told}<geom type="mesh"')
    by_shapes = '<compiler inertiafromgeom="true"/>'
    for text, more in ((world, mesh), (unused, mesh + by_shapes)):
        path = robot(tmp_path, text, more)
        with pytest.raises(DescriptionError, match='mesh m: the mass of body a follows from it'):
            import_robot(path, 'a')
    path = robot(
        tmp_path,
        world.replace('"m"/>', '"m" mass="0"/>'),
        '<asset><mesh name="m" file="m.stl"/></asset>',
    )
    assert import_robot(path, 'a').urdf


def test_two_actuators_of_one_joint_are_told(tmp_path: pathlib.Path) -> None:
    motors = driven('name="m" joint="a"', 'name="n" joint="a" gear="2"', 'joint="b"')
    notes = import_robot(robot(tmp_path, PAIR, motors), 'a').notes
    assert 'joint a has several actuators: n takes the place of the actuator before it' in notes


def test_nobody_offers_to_hold_what_was_left_out(tmp_path: pathlib.Path) -> None:
    """An equality that is switched off, or left out on purpose, is no reason to lock a joint."""
    tie = TWO + tendons_equal('two', '0 1 0 0 0') + driven('joint="a"')
    off = tie.replace('name="tie"', 'name="tie" active="false"')
    pulley = straight('wall', 'near', 'far') + equal('<tendon name="tie" tendon1="rope"/>')
    for world, rest, ignore in (
        (PAIR, off, []), (REACHER, pulley + driven('joint="a"'), ['tie']),
    ):  # fmt: skip
        made = import_robot(robot(tmp_path, world, rest), 'a', platform='a', ignore=ignore)
        assert '--lock' not in ' '.join(made.notes)
        assert 'may tie them, as a closure or coupling would: equality' in made.notes[-1]
        assert not any('is held' in note for note in made.notes)


def test_rods_come_back_from_mjcf(tmp_path: pathlib.Path) -> None:
    """Exported, a distance is a tendon between two sites, which is read as a rod again."""
    world, rest, _ = READ['a rod']
    first = Mechanism.load(robot(tmp_path, world, rest))
    (tmp_path / 'b.xml').write_text(export_mjcf(first.description).text, encoding='utf-8')
    back = Mechanism.load(tmp_path / 'b.xml')
    assert [c.type for c in back.description.closures] == ['distance']
    efforts = [m.feedforward(m.home.y, [0.0], [1.0]).actuated for m in (first, back)]
    assert efforts[1] == pytest.approx(efforts[0], abs=1e-4)
