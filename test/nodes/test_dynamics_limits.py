# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node `dynamics` with parameter `limits`, as a process, and joint forces as topics."""

import dataclasses
import functools
import types

import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.traced import row_code
from masticator_dynamics.errors import LimitError

pytest.importorskip('rclpy', reason='rclpy is not installed')

import rclpy
from geometry_msgs.msg import WrenchStamped
from processes import wait_for

from masticator_dynamics.ros.common.managed_node import declare
from masticator_dynamics.ros.dynamics.runtime import (
    DynamicsRuntime,
    Publishers,
)
from masticator_dynamics.ros.dynamics.settings import DynamicsSettings
from nodes.harness import Client, NodeProcess, nanoseconds

pytestmark = pytest.mark.waiting


@pytest.fixture(scope='module')
def limited(ros_domain, tmp_path_factory):
    """Mechanism, node and client; motors carry 0.4 N m, sockets 20 N."""
    file = samples.tight_masticator(tmp_path_factory.mktemp('limits'))
    mechanism = Mechanism.load(file)
    # At a rate that a busy computer can keep.
    given = {'mechanism': str(file), 'limits': True, 'frame_prefix': 'left/', 'rate': 100.0}
    process = NodeProcess(namespace='limited', **given)
    client = Client(mechanism.contacts, namespace='limited')
    client.connect()
    yield mechanism, process, client
    client.close()
    assert process.end() == 0
    assert not process.log('Traceback')


def wanted(mechanism, force, **options):
    """Efforts at home with a bite force on the left."""
    bite = (0.0, 0.0, -force), (0.0, 0.0, 0.0), 'molar_left', 'molar_left'
    wrench = mechanism.wrench_on_platform(mechanism.home, *bite)
    return mechanism.feedforward(mechanism.home.y, wrench=wrench, **options)


def test_a_limit_that_binds_is_kept_and_told(limited):
    mechanism, process, client = limited
    client.wait_for_status('effort', 'OK', 'within limits')
    kept = wanted(mechanism, 90.0, limits=True).actuated
    assert np.abs(wanted(mechanism, 90.0).actuated).max() > 0.41
    assert np.abs(kept).max() <= 0.4 * (1.0 + 1e-8)
    with client.biting('molar_left', (0.0, 0.0, -90.0)):
        assert client.settles_at(kept)
        _, text, values = client.wait_for_status('effort', 'WARN')
        assert text == 'at limits: crank_6 effort'
        line = process.wait_for_line('limits bind')[-1]
    assert line.startswith('[WARN]')
    assert 'crank_6 effort -0.4 N m of [-0.4, 0.4]' in line
    assert int(values['cycles at limits']) > 0
    assert int(values['cycles in which the motion gave way']) == 0
    assert all(int(values[f'clamped cycles {name}']) == 0 for name in mechanism.actuated)
    client.wait_for_status('effort', 'OK')


def test_a_motion_that_must_give_way_is_told(limited):
    mechanism, process, client = limited
    effort = wanted(mechanism, 140.0, limits=True, nearest=True)
    with client.biting('molar_left', (0.0, 0.0, -140.0)):
        assert client.settles_at(np.clip(effort.actuated, -0.4, 0.4))
        _, text, values = client.wait_for_status('effort', 'WARN', 'gives way')
        line = process.wait_for_line('the motion gives way')[-1]
    largest = [
        max(zip(np.abs(effort.shortfall[kind]), mechanism.independent[kind], strict=True))
        for kind in (slice(0, 2), slice(2, 4))
    ]
    assert text.endswith(f'the motion gives way: {largest[0][1]}, {largest[1][1]}')
    for (value, name), unit in zip(largest, ('m/s^2', 'rad/s^2'), strict=True):
        assert f'{name} by {value:.3g} {unit}' in line
    assert int(values['cycles in which the motion gave way']) > 0
    assert int(values['cycles in which nothing kept limits']) == 0


def test_limits_of_efforts_are_scaled_and_trajectories_refused(limited):
    mechanism, _, client = limited
    assert client.set_parameter('effort_limit_scale', 0.01) == (True, '')
    try:
        client.send(mechanism.independent, [0.5], [(0.0, 0.0, 0.0, 0.08)])
        _, text, _ = client.wait_for_status('trajectory', 'ERROR', 'no efforts keep the limits')
        _, efforts, _ = client.wait_for_status('effort', 'WARN', 'gives way')
    finally:
        client.set_parameter('effort_limit_scale', 1.0)
    assert ' s: no efforts keep the limits at ' in text
    assert 'crank_1 effort ' in text and '[-0.004, 0.004] N m' in text
    assert 'crank_1 effort' in efforts
    assert np.abs(client.states[-1].effort).max() <= 0.4
    client.follow(mechanism.independent, [0.5], [mechanism.home.y])


def test_forces_of_actuated_joints_are_published_on_their_child_links(limited):
    mechanism, _, client = limited
    client.finish(client.follow(mechanism.independent, [0.15], [mechanism.home.y]))
    messages = [client.record(WrenchStamped, f'joint_force/{name}') for name in mechanism.actuated]
    effort = wanted(mechanism, 0.0, limits=True)
    joints = {joint.name: joint for joint in mechanism.structure.tree.joints}
    for name, received, torque in zip(mechanism.actuated, messages, effort.actuated, strict=True):
        wait_for(lambda received=received: len(received) > 10, name)
        message, frame = received[-1], joints[name].child
        assert message.header.frame_id == f'left/{frame}'
        force, moment = (
            np.array([getattr(v, c) for c in 'xyz'])
            for v in (message.wrench.force, message.wrench.torque)
        )
        rotation = mechanism.frame_pose(effort, frame).rotation
        reaction = effort.joint_reaction[mechanism.tree_joints.index(name)]
        assert rotation @ force == pytest.approx(reaction[:3], abs=1e-9)
        assert rotation @ moment == pytest.approx(reaction[3:], abs=1e-9)
        assert np.linalg.norm(moment) > 0.5 * abs(torque) > 0.0
        stamps = [nanoseconds(m.header.stamp) for m in received]
        assert np.median(np.diff(stamps)) == 20_000_000


@pytest.mark.parametrize('limits', [False, True])
def test_what_limits_need_has_run_before_the_node_works(ros_node, monkeypatch, limits):
    """Code for efforts, for nearest motions, and for reasons of refusal has been loaded."""
    declare(ros_node, DynamicsSettings)
    runtime = DynamicsRuntime(ros_node, DynamicsSettings(limits=limits))
    try:
        assert runtime.watch is None or runtime.watch.bound == 0
        assert not runtime.clamp.counts.any()
        monkeypatch.setattr(row_code, 'library', None)  # what loads code, or compiles it
        mechanism = runtime.mechanism
        ask = functools.partial(mechanism.feedforward, mechanism.home.y, wrench=np.ones(6))
        wide = mechanism.load_limits.scaled(1.0)
        few = dataclasses.replace(wide, effort=np.full(6, 1e-3), effort_low=None)
        if not limits:
            with pytest.raises(TypeError, match='not callable'):
                ask(limits=wide)
            return
        assert np.abs(ask(limits=wide).actuated).max() > 1e-3
        assert np.abs(ask(limits=few, nearest=True).actuated).max() < 1.001e-3
        with pytest.raises(LimitError, match='no efforts keep the limits'):
            ask(limits=few)
    finally:
        runtime.destroy()


def test_forces_of_joints_are_wanted_when_somebody_listens(ros_node, mechanism):
    asked, forces = [], [np.zeros(6)] * 6
    cycle = types.SimpleNamespace(
        joint_frames=[f'link_{k}' for k in range(6)], contact_forces=None,
        joint_forces=lambda effort: asked.append(effort) or forces,
    )  # fmt: skip
    publishers = Publishers(ros_node, mechanism, DynamicsSettings(), cycle)
    answer = types.SimpleNamespace(effort='effort', actuated=())
    listener = rclpy.create_node('listener', context=ros_node.context, namespace='here')
    try:
        publishers.visual(0, answer)
        assert not asked
        listener.create_subscription(WrenchStamped, 'joint_force/crank_4', print, 1)
        wait_for(lambda: publishers.visual(0, answer) or asked, 'a subscription')
    finally:
        publishers.destroy(ros_node)
        listener.destroy_node()
