# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Topics of messages of any size, fetched while other threads compute.

rclpy fetches a message without letting other Python threads run: 2 ms for each megabyte. The same
function of the ROS client library, called through ctypes, does not keep them waiting.
"""

from __future__ import annotations

import ctypes
import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.type_support import check_for_type_support

from masticator_dynamics.drives import real_time
from masticator_dynamics.ros.common.direct_subscription import DirectSubscription

_PAUSE = 0.1  # s after a failure


class LargeMessages(DirectSubscription):
    """A topic whose messages are handed over as they were serialised, by a thread of its own.

    Parameters
    ----------
    node : rclpy.node.Node
    kind : type
        Of the messages.
    topic : str
    qos : QoSProfile
    take : callable
        Called with the bytes of each message, in that thread.
    largest : int, optional
        Bytes of a message that is handed over; as for `DirectSubscription`.
    """

    def __init__(
        self,
        node: Node,
        kind: type,
        topic: str,
        qos: QoSProfile,
        take: Callable[[memoryview], None],
        largest: int | None = None,
    ):
        super().__init__(node, kind, topic, qos, largest)
        self._give = take
        self._ended, context = threading.Event(), node.context.handle
        self._end = rclpy_implementation.GuardCondition(context)
        self._either = rclpy_implementation.WaitSet(1, 1, 0, 0, 0, 0, context)
        self._thread = threading.Thread(target=self._run, name=topic, daemon=True)
        self._thread.start()

    def destroy(self) -> None:
        """End the thread and destroy the subscription."""
        self._ended.set()
        self._end.trigger_guard_condition()
        self._thread.join()
        self._end.destroy_when_not_in_use()
        super().destroy()

    def _run(self) -> None:
        # This thread may hold Python's lock when a cycle needs it.
        real_time.request(real_time.SERVICE)
        handle = self._subscription.handle
        while not self._ended.is_set():
            try:
                with handle:
                    self._either.clear_entities()
                    self._either.add_subscription(handle)
                    self._either.add_guard_condition(self._end)
                    self._either.wait(-1)
                    # Somebody who sends without pause must not keep this thread from ending.
                    while not self._ended.is_set() and (data := fetched(handle)) is not None:
                        self._hand_over(data)
            except Exception as error:  # whatever it was, the thread survives
                self._refuse(error)
                self._ended.wait(_PAUSE)

    def _hand_over(self, data: memoryview) -> None:
        if self._is_too_large(data):
            return
        try:
            self._give(data)
        except Exception as error:  # whatever came, the others still count
            self._refuse(error)


class _Allocator(ctypes.Structure):
    """``rcutils_allocator_t``."""

    _fields_ = [
        (name, ctypes.c_void_p)
        for name in ('allocate', 'deallocate', 'reallocate', 'zero_allocate', 'state')
    ]


class _Bytes(ctypes.Structure):
    """``rcl_serialized_message_t``."""

    _fields_ = [
        ('buffer', ctypes.c_void_p),
        ('length', ctypes.c_size_t),
        ('capacity', ctypes.c_size_t),
        ('allocator', _Allocator),
    ]


_NOTHING_WAITS = 401  # RCL_RET_SUBSCRIPTION_TAKE_FAILED


def fetched(subscription: Any) -> memoryview | None:
    """The next waiting message of a subscription's handle, as it was serialised; None if none is.

    Raises
    ------
    RuntimeError
        With the client library's number of what went wrong.
    """
    library, allocator = _library()
    content = _Bytes(allocator=allocator)
    code = library.rcl_take_serialized_message(
        subscription.pointer, ctypes.byref(content), None, None
    )
    if code == 0:
        return _view(content)
    _give_up(content)
    if code == _NOTHING_WAITS:
        return None
    raise RuntimeError(f'no message could be fetched: the ROS client library returns {code}')


def serialized(message: int, kind: Any) -> memoryview:
    """A message of the C library, at an address, in its serialised form; other threads go on.

    Raises
    ------
    RuntimeError
        With the middleware's number of what went wrong.
    """
    check_for_type_support(kind)
    library, allocator = _library()
    content = _Bytes(allocator=allocator)
    code = library.rmw_serialize(
        ctypes.c_void_p(message), ctypes.c_void_p(capsule_pointer(type(kind)._TYPE_SUPPORT)),
        ctypes.byref(content),
    )  # fmt: skip
    if code == 0:
        return _view(content)
    _give_up(content)
    raise RuntimeError(f'no message could be serialised: the middleware returns {code}')


def capsule_pointer(capsule: Any) -> int:
    """The address in a capsule, by which Python modules hand on what C code needs."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get(capsule, None))


def _view(content: _Bytes) -> memoryview:
    """The bytes, which are freed with the last reference to them."""
    library, _ = _library()
    held = (ctypes.c_uint8 * content.length).from_address(content.buffer or 0)
    release = weakref.finalize(held, library.rcutils_uint8_array_fini, ctypes.byref(content))
    release.atexit = False  # another thread may still be reading
    return np.frombuffer(held, np.uint8).data


def _give_up(content: _Bytes) -> None:
    library, _ = _library()
    library.rcutils_uint8_array_fini(ctypes.byref(content))
    library.rcutils_reset_error()


@functools.cache
def _library() -> tuple[ctypes.CDLL, _Allocator]:
    """The ROS client library, which rclpy has loaded, and its allocator."""
    library = ctypes.CDLL('librcl.so')
    library.rcl_take_serialized_message.argtypes = [ctypes.c_void_p] * 4
    library.rcutils_get_default_allocator.restype = _Allocator
    return library, library.rcutils_get_default_allocator()
