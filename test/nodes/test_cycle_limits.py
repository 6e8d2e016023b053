# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The control cycle within limits, and the forces it reports, without ROS."""

import dataclasses
import types
from xml.etree import ElementTree

import numpy as np
import pytest
import samples
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import LimitError
from masticator_dynamics.limits.load_limits import largest_shortfalls
from masticator_dynamics.ros.dynamics import trajectory_checks
from masticator_dynamics.ros.dynamics.cycle import ExecutedMotion, FeedforwardCycle
from masticator_dynamics.ros.dynamics.effort_limits import EffortClamp, LoadWatch
from masticator_dynamics.ros.dynamics.measured_wrenches import BiteForce
from masticator_dynamics.ros.dynamics.settings import DynamicsSettings
from masticator_dynamics.ros.dynamics.trajectory_checks import TrajectoryPoints

S = 10**9
MOVING = ([0.001, -0.0005, 0.01, 0.1], [0.02, 0.01, -0.1, 0.8], [0.3, 0.2, 1.0, -20.0])


@pytest.fixture(scope='module')
def tight(tmp_path_factory):
    return Mechanism.load(samples.tight_masticator(tmp_path_factory.mktemp('limits')))


def urdf_joints(mechanism):
    """Child link and axis of each joint by name, from the URDF's text."""
    urdf = ElementTree.fromstring(mechanism.description.urdf_xml)
    return {
        joint.get('name'): (
            joint.find('child').get('link'),
            np.array(joint.find('axis').get('xyz').split(), dtype=float),
        )
        for joint in urdf.findall('joint')
        if joint.find('axis') is not None
    }


class Rig:
    """A cycle that holds home while somebody bites on the left."""

    def __init__(self, mechanism, **options):
        self.bite, self.clamp = BiteForce(mechanism), EffortClamp(mechanism)
        self.watch = LoadWatch(mechanism)
        motion = ExecutedMotion(mechanism.home.y)
        self.cycle = FeedforwardCycle(
            mechanism, motion, self.bite, self.clamp, watch=self.watch, **options
        )

    def __call__(self, force=0.0):
        self.bite.take('molar_left', 0, S, np.array([0.0, 0.0, -force, 0.0, 0.0, 0.0]))
        return self.cycle(S)


@pytest.mark.parametrize('friction', [False, True])
def test_efforts_stay_within_limits_before_the_motion_gives_way(tight, friction):
    rig = Rig(tight, friction=friction)
    held = rig(10.0)
    assert rig.watch.bound == 0 and not rig.watch.take_news().loads
    free = tight.feedforward(tight.home.y, wrench=held.effort.wrench * 9.0, friction=friction)
    assert np.abs(free.actuated).max() > 0.41
    # A bite of 90 N is borne by the other motors, exactly.
    answer = rig(90.0)
    assert np.abs(answer.actuated).max() <= 0.4
    assert not answer.effort.shortfall.any() and not rig.clamp.counts.any()
    assert (rig.watch.bound, rig.watch.gave_way, rig.watch.unmet) == (1, 0, 0)
    news = rig.watch.take_news()
    (load,) = news.loads.values()
    assert list(news.loads) == ['crank_6 effort']
    assert load.value == pytest.approx(-0.4, rel=1e-7)
    assert not largest_shortfalls(tight, news.shortfall)
    assert not rig.watch.take_news().loads  # told once


def test_what_cannot_be_driven_gives_way_and_is_counted(tight):
    rig = Rig(tight)
    effort = rig(140.0).effort
    assert np.abs(effort.actuated).max() <= 0.4 * (1.0 + 1e-8)
    assert (rig.watch.bound, rig.watch.gave_way, rig.watch.unmet) == (1, 1, 0)
    assert not rig.clamp.counts.any()
    told = largest_shortfalls(tight, rig.watch.take_news().shortfall)
    assert [shortfall.unit for shortfall in told] == ['m/s^2', 'rad/s^2']
    for shortfall, kind in zip(told, (slice(0, 2), slice(2, 4)), strict=True):
        assert shortfall.value == np.abs(effort.shortfall[kind]).max() > 1.0
        index = tight.independent.index(shortfall.name)
        assert abs(effort.shortfall[index]) == shortfall.value
    # The efforts belong to the motion that is left, and so do the forces of the joints.
    for name, wrench, torque in zip(
        tight.actuated, rig.cycle.joint_forces(effort), effort.actuated, strict=True
    ):
        assert wrench[3:] @ urdf_joints(tight)[name][1] == pytest.approx(torque, abs=1e-9)
    left = tight.feedforward(effort.y, effort.y_dot, -effort.shortfall, effort.wrench)
    tangent = tight.jacobian_actuated_from_independent(left)
    assert tangent.T @ effort.actuated == pytest.approx(tangent.T @ left.actuated, abs=1e-9)


def test_where_nothing_keeps_limits_the_clamp_does(tight):
    rig = Rig(tight)
    span = np.array([1000.0, 1000.0])  # sockets that must be pressed harder than motors can
    rig.watch.limits = dataclasses.replace(
        rig.watch.limits, contact_low=span, contact_high=span + 1.0
    )
    answer = rig(140.0)
    assert rig.watch.unmet == 1 and 'no efforts keep the limits' in rig.watch.take_news().unmet
    wanted = tight.feedforward(tight.home.y, wrench=answer.effort.wrench).actuated
    assert answer.actuated == pytest.approx(np.clip(wanted, -0.4, 0.4), abs=1e-12)
    assert rig.clamp.counts.any() and not rig.cycle.failure


def test_a_hair_is_cut_but_does_not_count(mechanism):
    clamp = EffortClamp(mechanism)
    hair = np.array([1.0, -1.0, 1.0, 0.0, 0.0, 0.0]) * (5.0 * (1.0 + 5e-9))
    assert np.abs(clamp(hair)).max() == 5.0
    assert not clamp.counts.any() and not np.any(clamp.take_largest())
    clamp(hair * (1.0 + 1e-6))
    assert clamp.counts.tolist() == [1, 1, 1, 0, 0, 0]


def test_limits_are_scaled_where_they_are_efforts(tight):
    limits = tight.load_limits.scaled(0.5)
    assert limits.effort.tolist() == [0.2] * 6
    assert limits.contact_high.tolist() == [20.0, 20.0]


def points(mechanism, seconds, beta):
    """Trajectory points that open the jaw from rest to rest."""
    positions = np.array([mechanism.home.y, [0.0, 0.0, 0.0, beta]])
    rest = np.zeros((2, 4))
    return TrajectoryPoints(('', ''), np.array([0.0, seconds]), (positions, rest, rest))


def prepare(mechanism, scale, limits, seconds=0.06, **options):
    at_home = mechanism.home.y, np.zeros(4), np.zeros(4)
    given = points(mechanism, seconds, 0.08)
    settings = DynamicsSettings(effort_limit_scale=scale, limits=limits, **options)
    return trajectory_checks.prepare(mechanism, given, at_home, at_home, S, S, settings)


def told(prepared):
    """Positions and efforts (N, n_u) in the message."""
    points = deserialize_message(prepared.message, JointTrajectory).points
    return types.SimpleNamespace(
        position=np.array([point.positions for point in points]),
        effort=np.array([point.effort for point in points]),
    )


def test_trajectories_use_what_limits_allow_and_no_more(tight):
    free = told(prepare(tight, 1.0, False))
    largest = np.abs(free.effort).max() / 0.4
    with pytest.raises(LimitError, match=r'^at 0\.\d+ s: crank_\d effort .* is outside'):
        prepare(tight, 0.97 * largest, False)
    prepared = prepare(tight, 0.97 * largest, True)
    kept = told(prepared)
    assert np.abs(kept.effort).max() <= 0.97 * largest * 0.4 * (1.0 + 1e-8)
    # The same motion, by two evaluations that round differently.
    assert np.allclose(kept.position, free.position, rtol=0.0, atol=1e-12)
    path = prepared.piece.path
    poses = path.sample(path.start + prepared.joints.times)[0]
    for y, one, other in zip(poses, kept.effort, free.effort, strict=True):  # the same motion
        jacobian = tight.jacobian_actuated_from_independent(tight.solve(y))
        assert jacobian.T @ one == pytest.approx(jacobian.T @ other, abs=1e-7)
    with pytest.raises(LimitError, match=r'^at \S+ s: no efforts keep the limits .* crank_\d'):
        prepare(tight, 0.3 * largest, True)


def test_efforts_can_be_left_out(tight):
    """For controllers that do not command efforts; the rest of the message is the same."""
    full, plain = (
        deserialize_message(
            prepare(tight, 1.0, False, trajectory_efforts=given).message, JointTrajectory
        )
        for given in (True, False)
    )
    assert all(len(point.effort) == 6 for point in full.points)
    assert not any(point.effort for point in plain.points)
    for point in full.points:
        point.effort = []
    assert full.points == plain.points


# Forces


def test_contact_forces_include_friction_against_the_slip(mechanism):
    rig = Rig(mechanism, friction=True)
    effort = mechanism.feedforward(*MOVING, friction=True)
    motion = mechanism.solve(*MOVING)
    forces = rig.cycle.contact_forces(effort)
    contacts = mechanism.description.contacts
    for contact, force, multiplier in zip(contacts, forces, effort.contact, strict=True):
        in_base = mechanism.frame_pose(motion, contact.frame).rotation @ force
        slip = mechanism.frame_jacobian(motion, contact.frame)[:3] @ MOVING[1]
        normal = np.array(contact.normal)
        pressure = multiplier * np.linalg.norm(normal)
        speed = np.linalg.norm(slip)
        # S1 Table 2: 0.02 of the normal force, and 0.03 g/s, both against the slip.
        rubbing = -slip / speed * (0.02 * abs(pressure) + 3.0e-5 * speed)
        assert np.linalg.norm(rubbing) > 1e-3 * np.linalg.norm(in_base) > 0.0
        assert in_base == pytest.approx(multiplier * normal + rubbing, abs=1e-9)


def test_joint_forces_carry_the_mechanism_and_turn_the_cranks(mechanism):
    """With the sockets, they carry all weight, force and moment; masses are read from the URDF."""
    rig = Rig(mechanism)
    effort = mechanism.feedforward(MOVING[0])
    urdf = ElementTree.fromstring(mechanism.description.urdf_xml)
    joints = urdf_joints(mechanism)
    force, moment = np.zeros(3), np.zeros(3)

    def add(frame, wrench):
        pose = mechanism.frame_pose(effort, frame)
        in_base = pose.rotation @ wrench[:3]
        force[:] += in_base
        moment[:] += np.cross(pose.position, in_base) + pose.rotation @ wrench[3:]

    wrenches = rig.cycle.joint_forces(effort)
    rows = zip(mechanism.actuated, rig.cycle.joint_frames, wrenches, effort.actuated, strict=True)
    for name, frame, wrench, torque in rows:
        child, axis = joints[name]
        assert frame == child
        assert wrench[3:] @ axis == pytest.approx(torque, abs=1e-12)
        add(frame, wrench)
    borne = force.copy()
    for contact, push in zip(
        mechanism.description.contacts, rig.cycle.contact_forces(effort), strict=True
    ):
        add(contact.frame, np.concatenate([push, np.zeros(3)]))
    for link in urdf.findall('link'):
        inertial = link.find('inertial')
        if inertial is not None and link.get('name') != mechanism.description.base:
            origin = inertial.find('origin')
            centre = '0 0 0' if origin is None else origin.get('xyz', '0 0 0')
            pose = mechanism.frame_pose(effort, link.get('name'))
            weight = np.array([0.0, 0.0, -9.8]) * float(inertial.find('mass').get('value'))
            force += weight
            where = pose.position + pose.rotation @ np.array(centre.split(), dtype=float)
            moment += np.cross(where, weight)
    assert np.abs(borne).max() > 1.0
    assert np.abs(force).max() < 1e-9 and np.abs(moment).max() < 1e-10
