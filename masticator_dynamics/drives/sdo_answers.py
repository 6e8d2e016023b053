# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""SDO answers set against SDO requests: one more answer than requests is another node's."""

from __future__ import annotations

import enum
import threading
import time
from typing import NamedTuple

_LATEST = 5.0  # s after its request; an answer that comes even later is taken for another node's
_FRAME = 8  # bytes of every SDO frame
# Command of the answer to each command of a request (CiA 301), and whether both name the object.
_ABORT = 4  # as a request it has no answer; as an answer it fits all requests
_ANSWERS = {
    0: (1, False),  # segment of a download
    1: (3, True),  # download
    2: (2, True),  # upload
    3: (0, False),  # segment of an upload
    5: (6, True),  # upload in blocks
    6: (5, True),  # download in blocks
    7: (_ABORT, True),  # unknown
}


class Answer(enum.Enum):
    """Whose request an answer belongs to."""

    OURS = 'this master asked'
    OTHERS = 'another node asked'
    NOBODYS = 'nobody asked'


class _Request(NamedTuple):
    time: float
    ours: bool
    command: int  # of its answer
    entry: bytes  # index and subindex; empty where the answer has none


class SdoAnswers:
    """Requests to one drive that wait for an answer, this master's and others'.

    Used by the threads that send and the one that receives.
    """

    def __init__(self) -> None:
        self._waiting: list[_Request] = []
        self._lock = threading.Lock()

    def requested(self, data: bytes, *, ours: bool) -> None:
        """Note a request, before it is sent or as it came.

        Parameters
        ----------
        data : bytes
            Of the frame.
        ours : bool
            Whether this master sends it.
        """
        if len(data) != _FRAME or data[0] >> 5 not in _ANSWERS:  # which no drive answers
            return
        command, named = _ANSWERS[data[0] >> 5]
        request = _Request(time.monotonic(), ours, command, data[1:4] if named else b'')
        with self._lock:
            self._waiting = [r for r in self._waiting if r.time > request.time - _LATEST]
            self._waiting.append(request)

    def take(self, data: bytes) -> Answer:
        """Whose request this answer is for, of this master's and others' first this master's."""
        if len(data) != _FRAME:
            return Answer.NOBODYS
        command, entry, now = data[0] >> 5, data[1:4], time.monotonic()
        with self._lock:
            fitting = [
                request
                for request in self._waiting
                if request.time > now - _LATEST
                and command in (request.command, _ABORT)
                and request.entry in (entry, b'')
            ]
            if not fitting:
                return Answer.NOBODYS
            request = max(fitting, key=lambda one: one.ours)
            self._waiting.remove(request)
        return Answer.OURS if request.ours else Answer.OTHERS
