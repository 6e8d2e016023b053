# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What node `dynamics` draws for RViz: numbers of the drawings against efforts, forces, limits."""

import math

import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism
from masticator_dynamics.description import archetypes
from masticator_dynamics.description.visuals import shapes

rclpy = pytest.importorskip('rclpy', reason='rclpy is not installed (pip extra "ros", or ROS 2)')

from processes import ROOT, wait_for  # noqa: E402
from visualization_msgs.msg import Marker, MarkerArray  # noqa: E402

from masticator_dynamics.ros.common import markers  # noqa: E402
from masticator_dynamics.ros.common.markers import PERIOD  # noqa: E402
from masticator_dynamics.ros.dynamics.cycle import ExecutedMotion, FeedforwardCycle  # noqa: E402
from masticator_dynamics.ros.dynamics.effort_limits import EffortClamp  # noqa: E402
from masticator_dynamics.ros.dynamics.force_markers import ForceMarkers  # noqa: E402
from masticator_dynamics.ros.dynamics.force_scale import (  # noqa: E402
    ForceScale,
    Reference,
    drawn_length,
    effort_limits,
)
from masticator_dynamics.ros.dynamics.measured_wrenches import (  # noqa: E402
    BiteForce,
    MeasuredWrenches,
)

pytestmark = pytest.mark.waiting

NOW = 10**18
OPEN = [0.002, 0.001, 0.02, 0.2]  # m and rad: no frame of the mandible is parallel to the base


class Easel:
    """Drawings of a mechanism, as a subscriber gets them."""

    def __init__(self, node, mechanism, prefix='', pose=None):
        self.mechanism, self.time = mechanism, NOW
        self.bite, self.external = BiteForce(mechanism), MeasuredWrenches(mechanism)
        self.clamp = EffortClamp(mechanism)
        motion = ExecutedMotion(mechanism.home.y if pose is None else pose)
        self.cycle = FeedforwardCycle(
            mechanism, motion, self.bite, self.clamp, external=self.external
        )
        self.markers = ForceMarkers(
            node, mechanism, prefix, self.cycle, self.bite, self.external, self.clamp
        )
        self.listener = rclpy.create_node('onlooker', context=node.context, namespace='here')
        self.messages = []
        name = f'/here/{node.get_name()}/markers'
        self.subscription = self.listener.create_subscription(
            MarkerArray, name, self.messages.append, 10
        )
        self.answer = self.cycle(self.time)
        self.executor = rclpy.executors.SingleThreadedExecutor(context=node.context)
        self.executor.add_node(self.listener)
        wait_for(lambda: self.markers._board._publisher.get_subscription_count(), 'a subscription')

    def draw(self):
        """The drawings of the next cycle, by group and number; None for what goes."""
        self.time += PERIOD
        self.answer = self.cycle(self.time)
        self.markers.show(self.time, self.answer)
        self.messages.clear()

        def received():
            self.executor.spin_once(timeout_sec=0.1)
            return self.messages

        wait_for(received, 'drawings')
        drawn = self.messages[-1].markers
        return {(m.ns, m.id): m if m.action == Marker.ADD else None for m in drawn}

    def close(self):
        self.markers.destroy()
        self.listener.destroy_node()


@pytest.fixture
def easel(ros_node):
    ros_node.trigger_configure()
    made = []

    def make(mechanism, prefix='', pose=None):
        made.append(Easel(ros_node, mechanism, prefix, pose))
        ros_node.trigger_activate()
        return made[-1]

    yield make
    for each in made:
        each.close()


def positions(marker):
    return np.array([[p.x, p.y, p.z] for p in marker.points])


def arrow(marker):
    assert marker.type == Marker.ARROW
    start, end = positions(marker)
    np.testing.assert_array_equal(start, 0.0)
    return end


def sweep(marker, axis):
    """Angle of an arc about an axis, right-handed; the last three points are its barbs."""
    assert marker.type == Marker.LINE_STRIP
    points = positions(marker)[:-3]
    assert np.abs(points @ axis).max() < 1e-12
    before, after = points[:-1], points[1:]
    turned = np.cross(before, after) @ axis
    return np.arctan2(turned, (before * after).sum(axis=1)).sum()


def test_every_motor_has_its_share_of_the_limit(easel):
    """Under loads of all sizes: angle and colour from effort and limit, about the right axis."""
    drawing = easel(samples.mechanism('masticator'), 'left/')
    joints = {j.name: j for j in drawing.mechanism.description.tree.joints}
    for load in (0.0, -60.0, -500.0, 5000.0):
        drawing.bite.take('molar_left', drawing.time, drawing.time + PERIOD, load * np.eye(6)[2])
        drawn = drawing.draw()
        efforts = drawing.answer.actuated
        for number, (name, effort) in enumerate(
            zip(drawing.mechanism.actuated, efforts, strict=True)
        ):
            share = abs(effort) / 5.0  # N m, in the URDF
            marker = drawn.get(('efforts', number))
            if share < 0.001:
                assert marker is None
                continue
            assert marker.header.frame_id == f'left/{joints[name].child}'
            angle = sweep(marker, joints[name].axis)
            assert np.sign(angle) == np.sign(effort)
            wanted = 1.8 * math.pi * min(share, 1.0) ** (1 / 3)
            assert abs(angle) == pytest.approx(wanted, abs=0.04)
            colour = marker.color.r, marker.color.g, marker.color.b
            np.testing.assert_allclose(colour, markers.by_share(share), atol=1e-6)
        text = drawn['efforts', -1].text
        most = int(np.abs(efforts).argmax())
        assert text.startswith(f'{drawing.mechanism.actuated[most]}: {efforts[most]:.3g} N m')
        assert text.endswith(f'{100 * abs(efforts[most]) / 5.0:.2g}% of its limit')


def test_forces_of_sockets_and_food_point_and_measure_what_they_should(easel):
    """Turned into the base, arrows of sockets, food and weight hold the mandible in balance."""
    drawing = easel(samples.mechanism('masticator'), pose=OPEN)
    mechanism = drawing.mechanism
    wrench = np.array([3.0, -4.0, -60.0, 0.0, 0.0, 0.0])
    drawing.bite.take('molar_left', drawing.time, drawing.time + PERIOD, wrench)
    drawn = drawing.draw()
    food = arrow(drawn['bite_force', 0])
    assert drawn['bite_force', 0].header.frame_id == 'molar_left'
    np.testing.assert_allclose(np.cross(food, wrench[:3]), 0.0, atol=1e-9)
    assert food @ wrench[:3] > 0.0 and drawn['bite_force', 1].text == '60.2 N'
    lengths = [np.linalg.norm(food)]
    for number, contact in enumerate(mechanism.contacts):
        marker = drawn['contacts', 3 * number]
        along = mechanism.frame_pose(drawing.answer.effort, marker.header.frame_id)
        force = drawing.answer.effort.contact_force[number]
        tip = along.rotation @ arrow(marker)
        np.testing.assert_allclose(np.cross(tip, force), 0.0, atol=1e-9)
        assert tip @ force > 0.0, contact
        lengths.append(np.linalg.norm(tip))
    amounts = [
        np.linalg.norm(wrench[:3]),
        *np.linalg.norm(drawing.answer.effort.contact_force, axis=1),
    ]
    ratios = np.array(lengths) ** 3 / np.array(amounts)
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-9)


@pytest.mark.parametrize('bite', [0.0, -60.0])
def test_arrows_of_sockets_stick_out_of_the_condyles(easel, bite):
    """At rest and in chewing, where they carry some hundredths of what they may, or less."""
    drawing = easel(samples.mechanism('masticator'))
    drawing.bite.take('molar_left', drawing.time, drawing.time + PERIOD, bite * np.eye(6)[2])
    drawn, description = drawing.draw(), drawing.mechanism.description
    balls = [s for s in shapes(description.urdf_xml, ROOT)[0] if s.kind == 'sphere']
    for number, contact in enumerate(description.contacts):
        at = drawing.mechanism.frame_pose(drawing.mechanism.home, contact.frame).position
        poses = [drawing.mechanism.frame_pose(drawing.mechanism.home, b.link) for b in balls]
        around = [
            ball.size[0] for ball, pose in zip(balls, poses, strict=True)
            if np.linalg.norm(pose.position + pose.rotation @ ball.position - at) < ball.size[0]
        ]  # fmt: skip
        assert around
        force = np.linalg.norm(drawing.answer.effort.contact_force[number])
        assert force < 0.05 * drawing.markers._scale.force.limit
        assert np.linalg.norm(arrow(drawn['contacts', 3 * number])) > 2.5 * max(around)


def test_an_arrow_goes_with_its_force(easel):
    """A bite that is too old to count is not drawn, and drawings of a node that died end, too."""
    drawing = easel(samples.mechanism('masticator'))
    drawing.bite.take('incisor', drawing.time, drawing.time + PERIOD, -30.0 * np.eye(6)[2])
    drawing.external.take('mandible', drawing.time, drawing.time + PERIOD, 20.0 * np.eye(6)[0])
    drawn = drawing.draw()
    assert drawn['bite_force', 0] and drawn['external_wrench', 0]
    assert all(0 < m.lifetime.sec + m.lifetime.nanosec * 1e-9 < 1.0 for m in drawn.values() if m)
    drawing.time += 200_000_000  # beyond the timeout of 0.1 s
    drawn = drawing.draw()
    assert drawn['bite_force', 0] is None and drawn['external_wrench', 0] is None
    assert drawn['bite_force', 1] is None, 'its text'
    assert ('bite_force', 0) not in drawing.draw()


def test_torques_and_the_point_of_the_bite_are_those_of_the_node(easel):
    """With a point frame, the force is drawn there, in the axes it was measured in."""
    drawing = easel(samples.mechanism('masticator'), pose=OPEN)
    drawing.bite.point_frame = 'incisor'
    wrench = np.array([0.0, 0.0, -40.0, 0.0, -2.0, 0.0])
    drawing.bite.take('crank_5_link', drawing.time, drawing.time + PERIOD, wrench)
    drawn = drawing.draw()
    pose = [
        drawing.mechanism.frame_pose(drawing.answer.effort, f) for f in ('crank_5_link', 'incisor')
    ]
    turn = pose[1].rotation.T @ pose[0].rotation
    assert drawn['bite_force', 0].header.frame_id == 'incisor'
    np.testing.assert_allclose(
        np.cross(arrow(drawn['bite_force', 0]), turn @ wrench[:3]), 0.0, atol=1e-9
    )
    assert sweep(drawn['bite_force', 2], turn @ [0.0, -1.0, 0.0]) > 0.0


def test_forces_in_closures_are_drawn_on_request(easel):
    drawing = easel(samples.mechanism('masticator'), pose=OPEN)
    assert not [key for key in drawing.draw() if key[0] == 'closures']
    drawing.markers.closures = True
    drawing.bite.take('incisor', drawing.time, drawing.time + PERIOD, -60.0 * np.eye(6)[2])
    drawn = drawing.draw()
    effort, seen = drawing.answer.effort, 0
    for number, closure in enumerate(drawing.mechanism.description.closures):
        marker = drawn.get(('closures', 3 * number))
        if marker is not None:
            seen += 1
            assert marker.header.frame_id == closure.frames[1]
            turn = drawing.mechanism.frame_pose(effort, closure.frames[1]).rotation
            tip = turn @ arrow(marker)
            np.testing.assert_allclose(np.cross(tip, effort.loop_force[number]), 0.0, atol=1e-9)
            assert tip @ effort.loop_force[number] > 0.0
    assert seen >= 4


def test_sliders_are_drawn_as_straight_arrows_along_them(easel):
    drawing = easel(samples.mechanism('rcid'))
    drawn, size = drawing.draw(), drawing.mechanism.structure.extent()
    joints = {j.name: j for j in drawing.mechanism.description.tree.joints}
    efforts = drawing.answer.actuated
    for number, name in enumerate(drawing.mechanism.actuated):
        tip, share = arrow(drawn['efforts', number]), abs(efforts[number]) / 200.0  # N, in the URDF
        wanted = np.sign(efforts[number]) * joints[name].axis * size * share ** (1 / 3)
        np.testing.assert_allclose(tip, wanted, atol=1e-9)
    assert ' N, 1.9% of its limit' in drawn['efforts', -1].text


@pytest.mark.parametrize('name', [*samples.NAMES, *(str(a) for a in archetypes())])
def test_every_mechanism_is_drawn_within_its_size(name, easel):
    """At rest and far beyond the limits: finite numbers, no arrow longer than the robot."""
    known = name in samples.NAMES
    drawing = easel(samples.mechanism(name) if known else Mechanism.load(name))
    platform, size = drawing.mechanism.description.platform, drawing.mechanism.structure.extent()
    for load in (0.0, 1e-3, 1e5):
        drawing.bite.take(platform, drawing.time, drawing.time + PERIOD, load * np.ones(6))
        drawn = drawing.draw()
        assert drawn['efforts', -1].text
        for marker in filter(None, drawn.values()):
            assert marker.header.frame_id in drawing.mechanism.frames and marker.frame_locked
            points = positions(marker)
            if len(points):
                assert np.isfinite(points).all()
                assert np.linalg.norm(points, axis=1).max() <= size * (1 + 1e-9)
            assert all(0.0 <= c <= 1.0 for c in (marker.color.r, marker.color.g, marker.color.b))


def test_nothing_is_computed_while_nobody_looks(ros_node):
    mechanism = samples.mechanism('masticator')
    bite, clamp = BiteForce(mechanism), EffortClamp(mechanism)
    drawn = ForceMarkers(ros_node, mechanism, '', None, bite, MeasuredWrenches(mechanism), clamp)
    drawn.show(NOW, None)  # would fail if it looked at them
    drawn.destroy()


def test_the_reference_force_takes_a_motor_to_its_limit():
    """Of the five-bar: along an axis, the drawn reference is at most that force."""
    mechanism = samples.mechanism('five_bar')
    scale, home = ForceScale.of(mechanism), mechanism.home.y
    rest = mechanism.feedforward(home).actuated
    largest = []
    for axis in np.eye(6)[:3]:
        change = mechanism.feedforward(home, wrench=scale.force.limit * axis).actuated - rest
        largest.append((np.abs(change) / effort_limits(mechanism, change, 1.0)).max())
    assert max(largest) == pytest.approx(1.0)


def test_shares_and_lengths():
    assert Reference(5.0).share(10.0) == 2.0
    without = Reference(math.inf)
    assert [without.share(a) for a in (0.0, 2.0, 1.0, 4.0, 2.0)] == [0.0, 1.0, 0.5, 1.0, 0.5]
    drawn = [drawn_length(share) for share in (0.0, 0.125, 1.0, 7.0)]
    assert drawn == pytest.approx([0.0, 0.5, 1.0, 1.0])


def test_a_motor_that_only_pulls_has_the_limit_of_that_side():
    mechanism = Mechanism.load(next(str(a) for a in archetypes() if 'cable_planar' in str(a)))
    lowest, highest = mechanism.effort_range
    assert (lowest < 0.0).all() and (highest == 0.0).all()
    for sign in (-1.0, 1.0):
        limits = effort_limits(mechanism, sign * np.ones(4), 0.5)
        np.testing.assert_array_equal(limits, -0.5 * lowest)
