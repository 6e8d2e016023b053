# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Answers of services whose callbacks fail: who asks must not wait for ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters
from rclpy.executors import await_or_execute
from rclpy.service import Service

from masticator_dynamics.errors import in_words
from masticator_dynamics.ros.common.diagnostics import shortened


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
