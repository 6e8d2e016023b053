# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism with a screw, by Lagrange's equation on paper, and what other formats make of it."""

import pathlib
from xml.etree import ElementTree

import linkages
import numpy as np
import pytest
import samples
from linkages import Part

from masticator_dynamics import Mechanism
from masticator_dynamics.description.urdf_text import plain_urdf
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.interchange.imported_description import import_description

FOLDER = pathlib.Path(__file__).parent
LEAD = 0.1
PITCH = LEAD / (2.0 * np.pi)
TIP, PIVOT, PIN = np.array([0.1, 0.0]), np.array([0.3, 0.25]), np.array([-0.05, -0.2])
ROD = float(np.linalg.norm(PIVOT + PIN - TIP))
SPINDLE, ABOUT_X, OFF = 1.2, 0.003, np.array([0.04, 0.01, 0.02])
LEVER, ABOUT_Z, ARM = 3.0, 0.02, np.array([0.02, -0.1])
GRAVITY = np.array([0.3, -9.81, 0.5])


def load() -> Mechanism:
    return Mechanism.load(FOLDER / 'jack.yaml')


def lever_angle(q: float) -> float:
    """From the triangle of pivot, tip and pin."""
    to_tip = TIP + [PITCH * q, 0.0] - PIVOT
    far, arm = np.linalg.norm(to_tip), np.linalg.norm(PIN)
    corner = np.arccos((far**2 + arm**2 - ROD**2) / (2.0 * far * arm))
    return float(np.arctan2(to_tip[1], to_tip[0]) + corner - np.arctan2(PIN[1], PIN[0]))


def turned(angle: float, x: float, y: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * x - s * y, s * x + c * y])


def mass(q: float) -> float:
    """Kinetic energy is M q'^2 / 2."""
    slope = samples.five_point(lambda t: lever_angle(q + t), 1e-3)
    spindle = SPINDLE * (PITCH**2 + OFF[1] ** 2 + OFF[2] ** 2) + ABOUT_X
    return float(spindle + (ABOUT_Z + LEVER * ARM @ ARM) * slope**2)


def potential(q: float) -> float:
    spindle = np.array([OFF[0] + PITCH * q, *turned(q, OFF[1], OFF[2])])
    lever = turned(lever_angle(q), *ARM)
    return float(-SPINDLE * GRAVITY @ spindle - LEVER * GRAVITY[:2] @ lever)


@pytest.mark.parametrize('q', [0.0, 1.0, -2.5, 7.0, -3.0])
def test_agrees_with_lagrange(q: float) -> None:
    mechanism = load()
    for rate, acceleration in ((0.0, 0.0), (4.0, -20.0), (-9.0, 50.0)):
        slope = samples.five_point(lambda t: mass(q + t), 1e-2)
        weight = samples.five_point(lambda t: potential(q + t), 1e-3)
        expected = mass(q) * acceleration + 0.5 * slope * rate**2 + weight
        effort = mechanism.feedforward([q], [rate], [acceleration])
        pose = mechanism.frame_pose(effort, 'tip')
        assert pose.position == pytest.approx([*(TIP + [PITCH * q, 0.0]), 0.0], abs=1e-13)
        positions = dict(zip(mechanism.tree_joints, effort.q, strict=True))
        assert positions['pivot'] == pytest.approx(lever_angle(q), abs=1e-12)
        assert effort.actuated[0] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_twists_of_frames_and_their_rates() -> None:
    """On the axis, beside it, and driven by it, against differences of poses."""
    mechanism = load()
    state = np.array([0.7]), np.array([3.0]), np.array([-5.0])
    motion = mechanism.solve(*state)
    for frame in ('tip', 'rim', 'pin'):

        def position(t: float, frame: str = frame) -> np.ndarray:
            y = state[0] + t * state[1] + 0.5 * t * t * state[2]
            return np.array(mechanism.frame_pose(mechanism.solve(y), frame).position)

        twist = mechanism.frame_twist(motion, frame)
        assert twist[:3] == pytest.approx(samples.five_point(position, 1e-3), abs=1e-9)
        moving = mechanism.frame_acceleration(motion, frame)
        second = (position(1e-3) - 2.0 * position(0.0) + position(-1e-3)) * 1e6
        assert moving[:3] == pytest.approx(second, abs=1e-5)


def test_for_other_programs_it_is_a_turn_and_a_slide_that_mimics_it() -> None:
    """Pinocchio reads that, and agrees; so do ROS's tools, which know <mimic>."""
    mechanism = load()
    robot = ElementTree.fromstring(
        plain_urdf(mechanism.description.urdf_xml, mechanism.description.tree)
    )
    slide = robot.find("joint[@name='thread_advance']")
    assert slide is not None and slide.get('type') == 'prismatic'
    mimic = slide.find('mimic')
    assert mimic is not None and mimic.get('joint') == 'thread'
    assert float(mimic.get('multiplier', '')) == pytest.approx(PITCH)
    samples.pinocchio()
    from masticator_dynamics.interchange.second_opinion import SecondOpinion

    effort = mechanism.feedforward([1.3], [2.0], [4.0])
    opinion = SecondOpinion(mechanism.description, mechanism.tree_joints)
    found = opinion.of(effort, mechanism.driving)
    assert max(found.gap, found.velocity, found.effort) < 1e-9 and found.acceleration < 1e-5


SDF = """<sdf version="1.10"><model name="press">
<link name="frame"><inertial><mass>1</mass></inertial></link>
<joint name="held" type="fixed"><parent>world</parent><child>frame</child></joint>
<link name="ram"><inertial><mass>2</mass><inertia><ixx>0.02</ixx><iyy>0.02</iyy><izz>0.03</izz>
</inertia></inertial></link>
<joint name="thread" type="screw"><parent>frame</parent><child>ram</child>
<axis><xyz>0 0 1</xyz></axis>{lead}</joint></model></sdf>"""


@pytest.mark.parametrize(
    ('tag', 'lead'),
    [
        ('<screw_thread_pitch>0.02</screw_thread_pitch>', 0.02),
        ('<thread_pitch>-314.1592653589793</thread_pitch>', 0.02),  # Gazebo's old way
        ('<screw_thread_pitch>-0.05</screw_thread_pitch>', -0.05),
        ('', 1.0),
    ],
)
def test_of_sdf(tmp_path: pathlib.Path, tag: str, lead: float) -> None:
    """The effort at rest holds the weight on the thread, and carries its inertia."""
    file = tmp_path / 'press.sdf'
    file.write_text(SDF.format(lead=tag), encoding='utf-8')
    mechanism = Mechanism(import_description(file))
    pitch = lead / (2.0 * np.pi)
    effort = mechanism.feedforward([0.3], [0.0], [2.0])
    needed = (0.03 + 2.0 * pitch**2) * 2.0 + 2.0 * 9.80665 * pitch
    assert effort.actuated[0] == pytest.approx(needed, rel=1e-5)


@pytest.mark.parametrize(('joint', 'lead'), [('thread', 0.0), ('end', 0.1)])
def test_refusals(tmp_path: pathlib.Path, joint: str, lead: float) -> None:
    for ending in ('urdf', 'yaml'):
        text = (FOLDER / f'jack.{ending}').read_text(encoding='utf-8')
        text = text.replace('thread: {lead: 0.1}', f'{joint}: {{lead: {lead}}}')
        (tmp_path / f'jack.{ending}').write_text(text, encoding='utf-8')
    with pytest.raises(DescriptionError, match=rf'joints\.{joint}'):
        Mechanism.load(tmp_path / 'jack.yaml')


def test_a_loop_of_a_slide_a_hinge_and_a_screw(tmp_path: pathlib.Path) -> None:
    """Three unknown joints, of which one only slides and one only turns: no formula closes it."""
    meeting = np.array([0.5, 0.3, 0.2])
    parts = [
        Part('slide', 'ground', axis=(1.0, 0.2, 0.1), kind='prismatic', mass=0.7),
        Part('arm', 'slide', (0.2, 0.0, 0.1), (0.1, 0.3, 1.0), mass=0.5, center=(0.1, 0.0, 0.0)),
        Part('hand', 'arm', (0.2, 0.1, 0.0), (0.0, 1.0, 0.2), mass=0.4, center=(0.0, 0.1, 0.0)),
        linkages.frame('tip', 'hand', meeting - [0.4, 0.1, 0.1]),
        Part('nut', 'ground', (0.4, 0.0, 0.0), (0.2, 1.0, 0.3), mass=0.6),
        linkages.frame('end', 'nut', meeting - [0.4, 0.0, 0.0]),
    ]
    mechanism = Mechanism.load(
        linkages.write(
            tmp_path, parts, platform='hand', independent=['hand_joint'],
            actuated=['nut_joint'], joints={'nut_joint': {'lead': 0.2}},
            closures=[{'name': 'loop', 'frames': ['tip', 'end']}],
        )
    )  # fmt: skip
    for state in linkages.states(mechanism, 3, 0.03, seed=3):
        linkages.check_rates(mechanism, state)
        linkages.check_forward_dynamics(mechanism, state)
        motion = mechanism.solve(state.y, state.y_dot, state.y_ddot)
        ends = [mechanism.frame_pose(motion, name).position for name in ('tip', 'end')]
        assert ends[0] == pytest.approx(ends[1], abs=1e-12)
        # Power of the motor is the gain of energy.
        effort = mechanism.feedforward(state.y, state.y_dot, state.y_ddot)

        def energy(t: float, y=state.y, y_dot=state.y_dot, y_ddot=state.y_ddot) -> float:
            moved = mechanism.solve(y + t * y_dot + 0.5 * t * t * y_ddot, y_dot + t * y_ddot)
            return float(sum(mechanism.energy(moved)))

        speed = mechanism.jacobian_actuated_from_independent(motion) @ state.y_dot
        power = float(effort.actuated @ speed)
        assert power == pytest.approx(samples.five_point(energy, 1e-4), rel=1e-7, abs=1e-7)
