# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever a callback raises, the node and all of its topics continue; with real rclpy."""

import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

import rclpy
from processes import wait_for
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from rclpy.task import Future
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String
from std_srvs.srv import Trigger

from masticator_dynamics.errors import InputError
from masticator_dynamics.ros.common.connections import who_asks, who_publishes
from masticator_dynamics.ros.common.direct_subscription import DirectSubscription
from masticator_dynamics.ros.common.guard import Guard, GuardedExecutor

pytestmark = pytest.mark.waiting


class Room:
    """A node in a guarded executor, with another node to talk to it."""

    def __init__(self):
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.failed = []
        self.node = rclpy.create_node('guarded', context=self.context)
        self.node.guard = Guard(self.node, self.failed.append)
        self.peer = rclpy.create_node('stranger', context=self.context)
        self.executor = GuardedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.executor.add_node(self.peer)

    def publisher(self, kind, topic):
        publisher = self.peer.create_publisher(kind, topic, 10)
        wait_for(publisher.get_subscription_count, topic)
        return publisher

    def spin_until(self, condition, what):
        def turned():
            self.executor.spin_once(timeout_sec=0.02)
            return condition()

        return wait_for(turned, what)

    def close(self):
        self.executor.shutdown()
        for node in (self.node, self.peer):
            node.destroy_node()
        rclpy.shutdown(context=self.context)


@pytest.fixture(name='room')
def fixture_room(ros_domain):
    room = Room()
    yield room
    room.close()


@pytest.mark.parametrize('error', [InputError('no'), UnicodeError('no'), OverflowError('no')])
def test_a_message_that_makes_no_sense_is_refused_and_told(room, error):
    heard = []

    def take(message):
        heard.append(message.data)
        if message.data == 'bad':
            raise error

    room.node.create_subscription(String, 'words', take, 10)
    publisher = room.publisher(String, 'words')
    for word in ('bad', 'good'):
        publisher.publish(String(data=word))
    room.spin_until(lambda: heard == ['bad', 'good'], 'both words')
    assert room.node.guard.unreadable.rejected == 1
    assert room.node.guard.unreadable.last == f'/words: {type(error).__name__}: no'
    assert not room.failed


def test_a_mistake_of_ours_is_told_before_anything_else(room):
    room.node.create_subscription(String, 'words', lambda message: message.missing, 10)
    room.publisher(String, 'words').publish(String())
    room.spin_until(lambda: room.failed, 'a failure')
    assert len(room.failed) == 1
    assert room.failed[0].startswith('internal error, /words: AttributeError: ')
    assert room.node.guard.failures.rejected == 1


def test_a_timer_that_fails_goes_on(room):
    calls = []

    def look():
        calls.append(1)
        raise ValueError('no message is at fault here')

    room.node.create_timer(0.01, look)
    room.spin_until(lambda: len(calls) > 2, 'three calls')
    assert len(room.failed) == len(calls)


def test_a_service_that_fails_answers_the_next(room):
    def answer(request, response):
        if not room.failed:
            raise KeyError('once')
        response.success = True
        return response

    room.node.create_service(Trigger, 'do', answer)
    client = room.peer.create_client(Trigger, 'do')
    wait_for(lambda: client.wait_for_service(0.1), 'service')
    client.call_async(Trigger.Request())
    room.spin_until(lambda: room.failed, 'a failure')
    second = client.call_async(Trigger.Request())
    assert room.spin_until(second.result, 'an answer').success


@pytest.mark.parametrize('answer', [None, 'yes', String(), SetParameters.Response()])
def test_what_is_no_answer_is_a_refusal(room, answer):
    room.node.create_service(Trigger, 'do', lambda request, response: answer)
    client = room.peer.create_client(Trigger, 'do')
    wait_for(lambda: client.wait_for_service(0.1), 'service')
    future = client.call_async(Trigger.Request())
    given = room.spin_until(future.result, 'an answer')
    assert not given.success and given.message.startswith('TypeError: the answer is a ')


def test_a_request_is_answered_although_its_service_ends_meanwhile(room):
    done = Future()

    async def answer(request, response):
        response.success, response.message = True, await done
        return response

    service = room.node.create_service(Trigger, 'do', answer)
    client = room.peer.create_client(Trigger, 'do')
    wait_for(lambda: client.wait_for_service(0.1), 'service')
    future = client.call_async(Trigger.Request())
    end = time.monotonic() + 0.5
    room.spin_until(lambda: time.monotonic() > end, 'the request')
    room.node.destroy_service(service)
    done.set_result('after all')
    assert room.spin_until(future.result, 'an answer').message == 'after all'
    assert not room.failed
    room.spin_until(lambda: not client.service_is_ready(), 'the end of the service')


def test_bytes_of_another_message_do_not_stop_a_topic(room, monkeypatch):
    """If rclpy cannot take a message, it would never read the topic again."""
    heard = []
    words = room.node.create_subscription(String, 'words', lambda m: heard.append(m.data), 10)
    take, calls = room.executor._take_subscription, []

    def fail_once(subscription):
        taken = take(subscription)
        if subscription is words and not calls:
            calls.append(1)
            raise RuntimeError('as rclpy does')
        return taken

    monkeypatch.setattr(room.executor, '_take_subscription', fail_once)
    publisher = room.publisher(String, 'words')
    publisher.publish(String(data='bad'))
    room.spin_until(lambda: calls, 'the failure')
    publisher.publish(String(data='good'))
    room.spin_until(lambda: heard == ['good'], 'the word after it')


def test_time_before_the_beginning_is_refused(room):
    """rclpy's own callback of /clock raises for negative times."""
    room.node.set_parameters([Parameter('use_sim_time', value=True)])
    clock = room.publisher(Clock, '/clock')
    message = Clock()
    message.clock.sec = -5
    clock.publish(message)
    room.spin_until(lambda: room.node.guard.unreadable.rejected, 'the refusal')
    message.clock.sec = 7
    clock.publish(message)
    room.spin_until(lambda: room.node.get_clock().now().nanoseconds == 7 * 10**9, 'the time')


def test_who_may_have_asked_is_named(room):
    """By the existing clients and publishers, since rclpy gives no more information."""
    room.node.create_service(Trigger, '~/enable', lambda request, response: response)
    room.node.create_subscription(String, 'words', print, 10)
    assert who_asks(room.node, '~/enable') == 'somebody who has gone'
    room.peer.create_client(Trigger, '/guarded/enable')
    room.publisher(String, 'words')
    wait_for(lambda: who_asks(room.node, '~/enable') == '/stranger', 'the client')
    wait_for(lambda: who_publishes(room.node, 'words') == '/stranger', 'the publisher')
    other = rclpy.create_node('other', context=room.context, namespace='lab')
    other.create_client(Trigger, '/guarded/enable')
    wait_for(lambda: who_asks(room.node, '~/enable') == '/lab/other or /stranger', 'both')
    other.destroy_node()


def test_messages_too_large_or_cut_off_are_not_converted(room):
    words = DirectSubscription(room.node, String, 'words', QoSProfile(depth=10), largest=100)
    publisher = room.publisher(String, 'words')
    whole = serialize_message(String(data='good'))
    for content in (serialize_message(String(data='x' * 1000)), whole[:-3], whole):
        publisher.publish(content)
    heard = []

    def taken():
        heard.extend(message.data for message, _ in words.take())
        return heard

    assert wait_for(taken, 'the good word') == ['good']
    assert room.node.guard.unreadable.rejected == 2
    assert 'read' in room.node.guard.unreadable.last or 'deserialize' in (
        room.node.guard.unreadable.last
    )
    words.destroy()
    time.sleep(0.05)
