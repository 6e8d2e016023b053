# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Requests to the action ``follow_joint_trajectory``, received while other threads compute.

rclpy receives and converts a goal without letting other Python threads run. The same functions of
the ROS client library, called through ctypes, do not keep them waiting; the points of a goal stay
as they were serialised, for those who read messages of the topic.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.action.server import ActionServer
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import (
    QoSProfile,
    qos_profile_action_status_default,
    qos_profile_services_default,
)
from trajectory_msgs.msg import JointTrajectory

from masticator_dynamics.errors import InputError
from masticator_dynamics.ros.common.guard import guard_of
from masticator_dynamics.ros.common.large_messages import capsule_pointer, serialized

_NOTHING_WAITS = 2201  # RCL_RET_ACTION_SERVER_TAKE_FAILED
_KEPT = 10  # s that a result can be asked for
_LARGEST = 8192  # bytes besides the points; names and tolerances of all joints have 3000
# Bytes of a request in C: its id is followed by the trajectory's stamp, frame, names and points.
_ID = 16
_POINTS = _ID + 8 + 24 + 24


@dataclasses.dataclass
class ReceivedGoal:
    """A goal's trajectory as it was serialised, and everything else.

    Attributes
    ----------
    trajectory : memoryview
    rest : FollowJointTrajectory.Goal or InputError
        Its trajectory has no points; the error says that there is too much of it to be read.
    """

    trajectory: memoryview
    rest: Any


class GoalServer(ActionServer):
    """An action server whose goals are `ReceivedGoal`, and wait without a thread or coroutine.

    Parameters
    ----------
    node : LifecycleNode
    kind : type
        The action.
    name : str
    callbacks
        As for rclpy's action server.
    """

    def __init__(self, node: LifecycleNode, kind: type, name: str, **callbacks: Any):
        super().__init__(node, kind, name, lambda handle: None, **callbacks)
        self._name, self._guard = name, guard_of(node)
        # rclpy has no way to bring one's own.
        self._handle.destroy_when_not_in_use()
        services = qos_profile_services_default.get_c_qos_profile()
        with node.handle, node.get_clock().handle:
            self._handle = _Handle(
                node.handle,
                node.get_clock().handle,
                kind,
                name,
                *(services, services, services),
                QoSProfile(depth=10).get_c_qos_profile(),
                qos_profile_action_status_default.get_c_qos_profile(),
                _KEPT,
            )

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Do nothing at the beginning; at the end, with a callback, send the result."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)

    def take_data(self) -> dict[str, Any]:
        """Take what waits; what cannot be read is reported."""
        try:
            taken: dict[str, Any] = super().take_data()
        except Exception as error:  # whatever came, the others still count
            self._guard.take(self._name, error)
            return {}
        return taken


class _Header(ctypes.Structure):
    """``rmw_request_id_t``."""

    _fields_ = [('writer', ctypes.c_int8 * 16), ('number', ctypes.c_int64)]


def _goal(message: int, kind: Any) -> Any:
    """What rclpy looks at in a request with a goal; of its points only the bytes."""
    trajectory = serialized(message + _ID, JointTrajectory)
    _forget_points()(message + _POINTS)
    size = len(serialized(message, kind))
    if size <= _LARGEST:
        request = _converted(message, kind)
        goal = ReceivedGoal(trajectory, request.goal)
        return types.SimpleNamespace(goal_id=request.goal_id, goal=goal)
    goal_id = kind().goal_id
    goal_id.uuid = np.frombuffer(ctypes.string_at(message, _ID), np.uint8)
    error = InputError(f'{size} bytes besides the points; at most {_LARGEST} are read')
    return types.SimpleNamespace(goal_id=goal_id, goal=ReceivedGoal(memoryview(b''), error))


def _converted(message: int, kind: Any) -> Any:
    return _function(kind, 'CONVERT_TO_PY')(message)


class _Handle(rclpy_implementation.ActionServer):  # type: ignore[misc]
    """rclpy's action server in C++, with other ways to take and answer requests."""

    def _take(
        self, what: str, read: Callable[[int, Any], Any], kind: Any
    ) -> tuple[_Header | None, Any]:
        header, message = _Header(), _function(kind, 'CREATE_ROS_MESSAGE')()
        try:
            take = getattr(_library(), f'rcl_action_take_{what}_request')
            code = take(ctypes.c_void_p(self.pointer), ctypes.byref(header), message)
            if code == _NOTHING_WAITS:
                _library().rcutils_reset_error()
                return None, None
            _check(code, f'{what} request received')
            return header, read(message.value, kind)
        finally:
            _function(kind, 'DESTROY_ROS_MESSAGE')(message)

    def _send(self, what: str, header: _Header, response: Any) -> None:
        kind: Any = type(response)
        message = _function(kind, 'CREATE_ROS_MESSAGE')()
        try:
            _function(kind, 'CONVERT_FROM_PY')(response, message)
            send = getattr(_library(), f'rcl_action_send_{what}_response')
            code = send(ctypes.c_void_p(self.pointer), ctypes.byref(header), message)
            _check(code, f'answer to a {what} request sent')
        finally:
            _function(kind, 'DESTROY_ROS_MESSAGE')(message)

    take_goal_request = functools.partialmethod(_take, 'goal', _goal)
    take_cancel_request = functools.partialmethod(_take, 'cancel', _converted)
    take_result_request = functools.partialmethod(_take, 'result', _converted)
    send_goal_response = functools.partialmethod(_send, 'goal')
    send_cancel_response = functools.partialmethod(_send, 'cancel')
    send_result_response = functools.partialmethod(_send, 'result')


def _check(code: int, what: str) -> None:
    if code:
        _library().rcutils_reset_error()
        raise rclpy_implementation.RCLError(f'no {what}: the ROS client library returns {code}')


class _Message(ctypes.c_void_p):
    """A message in C; unlike plain addresses, ctypes does not turn it into a number."""


# Functions of a message type in C: their signatures, and whether they need Python's lock.
_SIGNATURES = {
    'CREATE_ROS_MESSAGE': ctypes.CFUNCTYPE(_Message),
    'DESTROY_ROS_MESSAGE': ctypes.CFUNCTYPE(None, _Message),
    'CONVERT_FROM_PY': ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.py_object, _Message),
    'CONVERT_TO_PY': ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p),
}


@functools.cache
def _function(kind: Any, name: str) -> Any:
    """A function that the message type's C code lends to rclpy."""
    return _SIGNATURES[name](capsule_pointer(getattr(type(kind), f'_{name}')))


@functools.cache
def _library() -> ctypes.CDLL:
    """The ROS client library for actions, which rclpy has loaded."""
    return ctypes.CDLL('librcl_action.so')


@functools.cache
def _forget_points() -> Any:
    """The function that frees the points of a trajectory and leaves it with none."""
    library = ctypes.CDLL('libtrajectory_msgs__rosidl_generator_c.so')
    forget = library.trajectory_msgs__msg__JointTrajectoryPoint__Sequence__fini
    forget.argtypes = [ctypes.c_void_p]
    return forget
