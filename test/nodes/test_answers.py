# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every request of every service is answered, whatever it asks for; with nodes in processes."""

import math
import textwrap

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState
from processes import PYTHON, START, completed, wait_for
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)

from nodes.harness import NodeProcess, Peer

pytestmark = pytest.mark.waiting

IMPOSSIBLE = {  # in each state, some transitions that it does not have
    State.PRIMARY_STATE_UNCONFIGURED: (0, 2, 3, 4, 6, 7, 10, 99, 255),
    State.PRIMARY_STATE_INACTIVE: (0, 1, 4, 5, 7, 30, 200),
    State.PRIMARY_STATE_ACTIVE: (1, 2, 3, 5, 6, 60),
    State.PRIMARY_STATE_FINALIZED: (1, 2, 3, 4, 5, 6, 7),
}


@pytest.fixture(name='peer', scope='module')
def fixture_peer(ros_domain):
    process = NodeProcess('frame_path', namespace='asked', wait=False, autostart=False)
    peer = Peer('frame_path', 'asked')
    yield peer
    peer.close()
    assert process.end() == 0, process.lines
    assert not process.log('Traceback') and not process.log('internal error'), process.lines


def ask_all(peer, kind, service, requests):
    """Send all requests, eight at once, of which a client loses none; return the answers."""
    client = peer.node.create_client(kind, f'{peer.peer}/{service}')
    assert client.wait_for_service(START)
    answers = []
    for begin in range(0, len(requests), 8):
        some = requests[begin : begin + 8]
        futures = peer.ask(lambda some=some: [client.call_async(request) for request in some])
        wait_for(lambda each=futures: all(f.done() for f in each), f'answers of {service}')
        answers += [future.result() for future in futures]
    peer.node.destroy_client(client)
    return answers


def change(number, label=''):
    return ChangeState.Request(transition=Transition(id=number, label=label))


def parameter(name, kind, **value):
    return Parameter(name=name, value=ParameterValue(type=kind, **value))


def width(value):
    return parameter('line_width', ParameterType.PARAMETER_DOUBLE, double_value=value)


def test_transitions_that_there_are_not_are_answered_in_every_state(peer):
    steps = (None, Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE,
             Transition.TRANSITION_ACTIVE_SHUTDOWN)  # fmt: skip
    for (state, numbers), step in zip(IMPOSSIBLE.items(), steps, strict=True):
        if step is not None:
            peer.change(step)
        requests = [change(number) for number in numbers]
        requests += [change(0, label) for label in ('configure!', 'transition_success', 'é')]
        answers = ask_all(peer, ChangeState, 'change_state', requests * 3)
        assert not any(answer.success for answer in answers)
        assert peer.state() == state
        if state == State.PRIMARY_STATE_INACTIVE:
            check_what_is_reported(peer)


def check_what_is_reported(peer):
    reason = 'InputError: no transition é in state inactive; there are: cleanup (2), activate (3)'
    status = peer.wait_for_status('messages', 'WARN', reason)
    assert '/asked/frame_path/change_state' in status[1] and 'request refused' in status[1]
    peer.wait_for_value('messages', 'unreadable', '0')
    peer.wait_for_status('messages', 'OK')


MANY = """
    import sys
    import time

    import rclpy
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState, GetState

    from masticator_dynamics.ros import middleware

    middleware.prepare()
    rclpy.init()
    node = rclpy.create_node('many')
    changes = [node.create_client(ChangeState, sys.argv[1] + '/change_state') for _ in range(15)]
    states = [node.create_client(GetState, sys.argv[1] + '/get_state') for _ in range(15)]
    assert all(client.wait_for_service(60.0) for client in changes + states)
    time.sleep(1.0)
    futures = []
    for _ in range(4):
        wanted = ChangeState.Request(transition=Transition(id=77))
        futures += [client.call_async(wanted) for client in changes]
        futures += [client.call_async(GetState.Request()) for client in states]
    end = time.monotonic() + 60.0
    while time.monotonic() < end and not all(future.done() for future in futures):
        rclpy.spin_once(node, timeout_sec=0.1)
    print(sum(future.done() for future in futures), 'of', len(futures))
"""


def test_thirty_clients_at_once_are_all_answered(peer):
    """ROS keeps ten requests of a service, however many clients it has, and drops the others."""
    done = completed(*PYTHON, '-c', textwrap.dedent(MANY), '/asked/frame_path')
    assert done.stdout == '120 of 120\n', done


def test_each_parameter_has_a_result(peer):
    """Also those beside one whose type there is not; what was set before it stays set."""
    asked = [
        width(0.002),
        parameter('duration', 200),
        parameter('duration', ParameterType.PARAMETER_DOUBLE, double_value=4.0),
        parameter('duration', ParameterType.PARAMETER_STRING, string_value='long'),
        parameter('duration', ParameterType.PARAMETER_NOT_SET),
        parameter('frame', ParameterType.PARAMETER_STRING, string_value='tail'),
        parameter('nothing', ParameterType.PARAMETER_BOOL, bool_value=True),
        parameter('a..b', ParameterType.PARAMETER_INTEGER_ARRAY, integer_array_value=[1]),
        width(math.nan),
        width(math.inf),
        width(-1.0),
    ]
    request = SetParameters.Request(parameters=asked)
    (answer,) = ask_all(peer, SetParameters, 'set_parameters', [request])
    assert [result.successful for result in answer.results] == [True, False, True] + [False] * 8
    assert all(result.reason for result in answer.results if not result.successful)
    get = GetParameters.Request(names=['line_width', 'duration'])
    (got,) = ask_all(peer, GetParameters, 'get_parameters', [get])
    assert [value.double_value for value in got.values] == [0.002, 4.0]


@pytest.mark.parametrize('bad', [parameter('duration', 99), width(math.nan), width(1e9)])
def test_a_set_of_parameters_is_refused_as_a_whole(peer, bad):
    before = GetParameters.Request(names=['line_width'])
    (was,) = ask_all(peer, GetParameters, 'get_parameters', [before])
    request = SetParametersAtomically.Request(parameters=[width(0.03), bad])
    (answer,) = ask_all(peer, SetParametersAtomically, 'set_parameters_atomically', [request])
    assert not answer.result.successful and answer.result.reason
    (now,) = ask_all(peer, GetParameters, 'get_parameters', [before])
    assert now == was


@pytest.mark.parametrize(
    ('kind', 'service', 'request_'),
    [
        (GetParameters, 'get_parameters', GetParameters.Request(names=['no', '', 'é'])),
        (GetParameterTypes, 'get_parameter_types', GetParameterTypes.Request(names=['no'])),
        (DescribeParameters, 'describe_parameters', DescribeParameters.Request(names=['', 'x.'])),
        (ListParameters, 'list_parameters', ListParameters.Request(prefixes=['..'], depth=2**63)),
        (SetParameters, 'set_parameters', SetParameters.Request()),
    ],
)
def test_questions_about_what_there_is_not_are_answered(peer, kind, service, request_):
    assert len(ask_all(peer, kind, service, [request_] * 5)) == 5
