# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The one place where messages, requests and timers fail, none of which may end a process."""

from __future__ import annotations

import contextlib
import functools
import struct
from collections.abc import Awaitable, Callable
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters
from rclpy.client import Client
from rclpy.exceptions import InvalidHandle
from rclpy.executors import SingleThreadedExecutor, await_or_execute
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.service import Service
from rclpy.subscription import Subscription

from masticator_dynamics.errors import MasticatorError, in_words
from masticator_dynamics.ros.common.diagnostics import Rejections, shortened


async def answer(service: Service, request: Any, failed: Callable[[Exception], None]) -> Any:
    """Response of a service, a refusal if its callback raises.

    Parameters
    ----------
    service : rclpy.service.Service
    request : Any
    failed : callable
        Gets what the callback raised.
    """
    kind: Any = service.srv_type
    if kind is SetParameters and len(request.parameters) > 1:
        # Each has a result of its own: those before one that cannot be read have been set.
        single = [SetParameters.Request(parameters=[each]) for each in request.parameters]
        answers = [await answer(service, each, failed) for each in single]
        return kind.Response(results=[result for each in answers for result in each.results])
    try:
        return await await_or_execute(service.callback, request, kind.Response())
    except Exception as error:  # whatever it was, an answer is owed
        failed(error)
        return refusal(service, error)


def refusal(service: Service, error: Exception) -> Any:
    """A response without success, and with the reason where its type has a field for it."""
    kind: Any = service.srv_type
    response, reason = kind.Response(), shortened(in_words(error))
    result = SetParametersResult(successful=False, reason=reason)
    values = {
        ('message', 'string'): reason,
        ('failure_reason', 'string'): reason,
        ('result', 'rcl_interfaces/SetParametersResult'): result,
        ('results', 'sequence<rcl_interfaces/SetParametersResult>'): [result],
    }
    for field in response.get_fields_and_field_types().items():
        if field in values:
            setattr(response, field[0], values[field])
    return response


# What nonsensical data lead to. Anything else is a bug of ours that they brought to light.
_OF_DATA = (
    MasticatorError,
    ValueError,  # UnicodeError among them
    ArithmeticError,
    struct.error,
    rclpy_implementation.RCLError,
    rclpy_implementation.RMWError,
)

Coroutine = Callable[[], Awaitable[None]]


class Guard:
    """Counts and reports what failed in the callbacks of a node.

    Parameters
    ----------
    failed : callable
        Gets a sentence about an error of ours, before anything else is done about it.

    Attributes
    ----------
    unreadable : Rejections
        Messages of any topic or service that were refused because they cannot be read.
    requests : Rejections
        Requests of any service that were refused because their callback failed.
    failures : Rejections
        Errors of ours.
    """

    def __init__(self, node: Node, failed: Callable[[str], None] = lambda sentence: None):
        log = node.get_logger().error
        self.unreadable, self.failures = Rejections(log), Rejections(log)
        self.requests = Rejections(log)
        self._failed = failed

    def take(self, source: str, error: Exception, *, message: bool = True) -> None:
        """Handle an error in a callback.

        Parameters
        ----------
        source : str
            Topic, service or whatever else called.
        message : bool
            A message was being read, so it may be the message's fault.
        """
        self._count(source, error, (self.unreadable, 'message refused, ') if message else None)

    def refuse(self, service: str, error: Exception) -> None:
        """Handle an error in the callback of a service, which answers that it was refused."""
        self._count(service, error, (self.requests, 'request refused, '))

    def _count(self, source: str, error: Exception, refused: tuple[Rejections, str] | None) -> None:
        what = f'{source}: {type(error).__name__}: {error}'
        if refused and isinstance(error, _OF_DATA):
            rejections, prefix = refused
            rejections.reject(prefix, what)
            return
        self._failed(f'internal error, {shortened(what)}')
        self.failures.reject('internal error, ', what)


def guard_of(node: Node) -> Guard:
    """The guard of a node; a new one for a node that has none yet."""
    guard = getattr(node, 'guard', None)
    if not isinstance(guard, Guard):
        guard = vars(node)['guard'] = Guard(node)  # kept, so that its log stays short
    return guard


class GuardedExecutor(SingleThreadedExecutor):
    """Carries on with all topics, whatever a callback raises.

    An exception while a message is taken, before its callback, would otherwise leave the topic,
    and with it the callback group, marked as busy for good.
    """

    def _make_handler(
        self, entity: Any, node: Node, take_from_wait_list: Callable[[Any], Coroutine | None]
    ) -> Any:
        guard = guard_of(node)
        if isinstance(entity, Service):
            take_from_wait_list = functools.partial(_take_request, guard)
        take = functools.partial(_guarded, guard, take_from_wait_list)
        return super()._make_handler(entity, node, take)


def _guarded(
    guard: Guard, take: Callable[[Any], Coroutine | None], entity: Any
) -> Coroutine | None:
    """What rclpy awaits for something that is ready: it never raises."""
    failed = functools.partial(
        guard.take, _title(entity), message=isinstance(entity, Subscription | Service | Client)
    )
    try:
        call = take(entity)
    except Exception as error:
        failed(error)
        return None
    if call is None:
        return None

    async def execute() -> None:
        try:
            await call()
        except Exception as error:
            failed(error)

    return execute


def _take_request(guard: Guard, service: Service) -> Coroutine | None:
    """What answers a request that waits."""
    kind: Any = service.srv_type
    with contextlib.suppress(InvalidHandle), service.handle:
        request, header = service.handle.service_take_request(kind.Request)
        if header is not None:
            return functools.partial(_answer, guard, service, request, header)
    return None


async def _answer(guard: Guard, service: Service, request: Any, header: Any) -> None:
    failed = functools.partial(guard.refuse, service.srv_name)
    with (
        service.handle
    ):  # stays until it has answered, although the node may be shut down meanwhile
        response = await answer(service, request, failed)
        try:
            _send(service, response, header)
        except Exception as error:  # a response that cannot be sent is no answer
            failed(error)
            _send(service, refusal(service, error), header)


def _send(service: Service, response: Any, header: Any) -> None:
    """As rclpy does, which refuses to for a service that is to be destroyed."""
    kind: Any = service.srv_type
    if not isinstance(response, kind.Response):
        raise TypeError(f'the answer is a {type(response).__name__}')
    service.handle.service_send_response(response, header.request_id)


def _title(entity: Any) -> str:
    if isinstance(entity, Subscription):
        return str(entity.topic_name)
    if isinstance(entity, Service | Client):
        return str(entity.service_name)
    return type(entity).__name__.lower()
