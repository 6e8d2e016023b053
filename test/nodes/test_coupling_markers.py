# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Drawings of node `inertia_coupling`, the path beside the teeth, and topics named by joints."""

import itertools
import types

import numpy as np
import pytest
import samples

rclpy = pytest.importorskip('rclpy', reason='rclpy is not installed (pip extra "ros", or ROS 2)')

from processes import wait_for  # noqa: E402
from rclpy.lifecycle import LifecycleNode  # noqa: E402
from std_msgs.msg import Float64  # noqa: E402
from visualization_msgs.msg import Marker, MarkerArray  # noqa: E402

from masticator_dynamics.ros.common import markers  # noqa: E402
from masticator_dynamics.ros.common.markers import PERIOD  # noqa: E402
from masticator_dynamics.ros.dynamics.dynamics_topics import Publishers  # noqa: E402
from masticator_dynamics.ros.dynamics.settings import DynamicsSettings, effort_topic  # noqa: E402
from masticator_dynamics.ros.frame_path_node import _outward  # noqa: E402
from masticator_dynamics.ros.joint_states.coupling_markers import (  # noqa: E402
    CouplingMarkers,
    pair_indices,
)

pytestmark = pytest.mark.waiting

WARN, ERROR = np.log(2), np.log(3)


@pytest.fixture
def ros_node(ros_domain):
    context = rclpy.Context()
    rclpy.init(context=context)
    node = LifecycleNode('inertia_coupling', context=context, namespace='here')
    node.trigger_configure()
    yield node
    node.destroy_node()
    rclpy.shutdown(context=context)


@pytest.fixture
def listen(ros_node):
    """Messages of a topic as they come; called to wait for the next."""
    listener = rclpy.create_node('onlooker', context=ros_node.context, namespace='here')
    executor = rclpy.executors.SingleThreadedExecutor(context=ros_node.context)
    executor.add_node(listener)

    def subscribe(kind, topic):
        messages = []
        listener.create_subscription(kind, topic, messages.append, 10)

        def newest():
            wait_for(lambda: executor.spin_once(timeout_sec=0.1) or messages, 'a message')
            return messages.pop()

        return newest

    yield subscribe
    listener.destroy_node()


@pytest.mark.parametrize('name', ['masticator', 'rcid', 'rrr4'])
def test_ratios_of_a_pair_add_up_to_those_of_the_index(name):
    mechanism = samples.mechanism(name)
    pairs = pair_indices(mechanism.actuated_inertia(mechanism.home))
    mean = np.expm1(pairs).sum(axis=1) / (len(pairs) - 1)
    np.testing.assert_allclose(np.log1p(mean), mechanism.inertia_coupling(mechanism.home))
    assert not pairs.diagonal().any()


def test_lines_join_the_motors_that_feel_one_another(ros_node, listen):
    mechanism = samples.mechanism('rcid')
    drawn = CouplingMarkers(ros_node, mechanism, 'left/')
    ros_node.trigger_activate()
    newest = listen(MarkerArray, 'inertia_coupling/markers')
    wait_for(lambda: drawn._board._publisher.get_subscription_count(), 'a subscription')
    pairs = pair_indices(mechanism.actuated_inertia(mechanism.home))
    stronger = np.maximum(pairs, pairs.T)
    joints = {j.name: j for j in mechanism.description.tree.joints}
    places = [
        mechanism.frame_pose(mechanism.home, joints[name].child).position
        for name in mechanism.actuated
    ]
    for time, warn, error in ((0, WARN, ERROR), (PERIOD, 0.0, 10.0), (2 * PERIOD, 0.0, 0.0)):
        drawn.show(time, mechanism.home, warn, error)
        shown = {(m.ns, m.id): m for m in newest().markers}
        for number, (i, j) in enumerate(itertools.combinations(range(6), 2)):
            line = shown.get(('pairs', number))
            if line is None:
                assert stronger[i, j] < 0.02
                continue
            assert line.type == Marker.LINE_STRIP and line.header.frame_id == 'left/base'
            ends = [[p.x, p.y, p.z] for p in line.points]
            np.testing.assert_allclose(ends, [places[i], places[j]], atol=1e-12)
            level = int(stronger[i, j] > warn) + int(stronger[i, j] > error)
            colour = (markers.GREEN, markers.AMBER, markers.RED)[level]
            np.testing.assert_allclose(
                (line.color.r, line.color.g, line.color.b), colour, atol=1e-6
            )
        for number, (joint, index) in enumerate(
            zip(mechanism.actuated, mechanism.inertia_coupling(mechanism.home), strict=True)
        ):
            assert shown['indices', number].text == f'{joint}: {index:.2f}'
    drawn.destroy()


def test_the_path_is_drawn_in_front_of_the_teeth():
    mechanism = samples.mechanism('masticator')
    outward = _outward(mechanism, mechanism.frame_chain('incisor'))
    np.testing.assert_allclose(outward, [1.0, 0.0, 0.0], atol=1e-9)
    five_bar = samples.mechanism('five_bar')
    base = five_bar.description.base
    assert np.isfinite(_outward(five_bar, five_bar.frame_chain(base))).all()


def test_texts_have_blanks_that_rviz_can_show():
    """Without a width, those of RViz are a metre wide."""
    text = markers.marker(Marker.TEXT_VIEW_FACING, 'words', 0, 'base')
    markers.write(text, 'crank_1: 1 N m', np.zeros(3), 0.01)
    assert 0.0 < text.scale.x < text.scale.z == 0.01


def test_efforts_have_topics_named_by_joints(ros_node, listen):
    mechanism = samples.mechanism('five_bar')
    second = mechanism.actuated[1]
    cycle = types.SimpleNamespace(joint_frames=mechanism.actuated)
    publishers = Publishers(ros_node, mechanism, DynamicsSettings(effort_topics=True), cycle)
    publishers.show_joints(False, active=False)
    ros_node.trigger_activate()
    newest = listen(Float64, f'joint_effort/{second}')
    cycle.contact_forces = cycle.joint_forces = None  # nobody asks for these
    wait_for(lambda: publishers._by_joint[1].wanted, 'a subscription')
    publishers.visual(0, types.SimpleNamespace(effort=None, actuated=np.array([0.25, -0.5])))
    assert newest().data == -0.5
    publishers.destroy(ros_node)


def test_no_topic_of_an_effort_could_be_a_field_of_another():
    """rqt_plot takes the first topic with which the name of a curve begins."""
    from tools.security_policy import access

    name = effort_topic('crank_1')
    assert not [topic for topic in access('dynamics').publish if name.startswith(f'{topic}/')]
    assert any(name.startswith(topic.rstrip('*')) for topic in access('dynamics').publish)
