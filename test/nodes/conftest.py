# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One node and one client for most tests, in a ROS domain for this run."""

import os

import pytest


@pytest.fixture(scope='session')
def ros_domain():
    """Environment of nodes and clients: only this host, one domain per test run."""
    pytest.importorskip('rclpy', reason='rclpy is not installed (pip extra "ros", or ROS 2)')
    patch = pytest.MonkeyPatch()
    patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    patch.setenv('ROS_DOMAIN_ID', str(1 + os.getpid() % 101))
    patch.delenv('ROS_LOCALHOST_ONLY', raising=False)
    yield
    patch.undo()


@pytest.fixture
def ros_node(ros_domain):
    """A lifecycle node in this process, not spun."""
    import rclpy
    from rclpy.lifecycle import LifecycleNode

    context = rclpy.Context()
    rclpy.init(context=context)
    node = LifecycleNode('dynamics', context=context, namespace='here')
    yield node
    node.destroy_node()
    rclpy.shutdown(context=context)


@pytest.fixture(scope='module')  # it would keep the computer busy beside other tests
def node(ros_domain, request):
    """The node; by the clock with its own cycles, else with those that other tests leave it."""
    from nodes.harness import CYCLE, NodeProcess

    rates = {} if request.node.get_closest_marker('clock') else {'rate': 1e9 / CYCLE}
    process = NodeProcess(bite_force__timeout=0.2, **rates)
    yield process
    assert process.end() == 0
    assert not process.log('Traceback')


@pytest.fixture(scope='module')
def client(node, mechanism):
    from nodes.harness import Client

    client = Client(mechanism.contacts)
    client.connect()
    yield client
    client.close()


@pytest.fixture
def at_home(client, mechanism):
    """The client, once the mechanism is at rest at home."""
    client.finish(client.follow(mechanism.independent, [0.15], [mechanism.home.y]))
    return client
