# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A thread that works on what arrived last, and drops what that makes pointless."""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

_UNREAD = 32_000_000  # bytes that may wait; a sender of more has changed its mind
_WAITING = 4  # items that were read and may wait; as above


class OvertakenError(Exception):
    """Raised within work that a newer item makes pointless; it is resumed if need be."""


class Item(Protocol):
    """Something to be done from a time on, in place of everything that begins later.

    Items are told apart by identity.
    """

    @property
    def data(self) -> bytes | memoryview:
        """Its content; the amount that may wait unread is limited."""

    @property
    def begin(self) -> int:
        """When it begins, ns; 0: at once. Not asked for before it has been read."""


Work = TypeVar('Work', bound=Item)


class NewestFirst(Generic[Work]):
    """Reads what arrives and works on it, the newest first.

    An accepted item replaces every earlier arrival, except those that begin before it: they are
    dropped, even one that is being worked on. A refused one changes nothing: those before it get
    their turn. What begins earlier than a newer item is done before it.

    Parameters
    ----------
    name : str
        Of the thread.
    read : callable
        Gets an item that arrived; False if it is refused. Cheap compared with the work.
    work : callable
        Gets an item; True when it is accepted. Calls :meth:`give_way` now and then.
    overtaken : callable
        Gets what was dropped, read or not.
    """

    def __init__(
        self,
        name: str,
        read: Callable[[Work], bool],
        work: Callable[[Work], bool],
        overtaken: Callable[[Sequence[Work]], None],
    ):
        self._read, self._work, self._overtaken = read, work, overtaken
        self._came: collections.deque[Work] = collections.deque()
        self._items: list[Work] = []  # read, in the order of arrival
        self._present: Work | None = None
        self._changed = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, item: Work) -> None:
        """Have something read and worked on."""
        with self._changed:
            self._came.append(item)
            dropped = []
            while sum(len(one.data) for one in self._came) > _UNREAD and len(self._came) > 1:
                dropped.append(self._came.popleft())
            self._changed.notify()
        if dropped:
            self._overtaken(dropped)

    def close(self) -> None:
        """End the thread; what is waiting is discarded, and work under way abandoned."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join()

    def give_way(self) -> None:
        """Continue the work, unless something newer replaces it.

        Raises
        ------
        OvertakenError
            To end the work.
        """
        if self._ended:
            raise OvertakenError
        if self._came and self._present is not None:
            self._read_waiting()
            if _next(self._items) is not self._present:
                raise OvertakenError

    def _run(self) -> None:
        while self._wait():
            self._read_waiting()
            if not self._items:
                continue
            self._present = item = _next(self._items)
            try:
                accepted = self._work(item)
            except OvertakenError:
                continue
            finally:
                self._present = None
            place = self._items.index(item)
            dropped = self._items[:place] if accepted else []
            del self._items[0 if accepted else place : place + 1]
            if dropped:
                self._overtaken(dropped)

    def _wait(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._came or self._items)
            return not self._ended

    def _read_waiting(self) -> None:
        for _ in range(len(self._came)):  # no more than these: work must go on despite a flood
            with self._changed:
                item = self._came.popleft()
            if self._read(item):
                self._items.append(item)
        if dropped := self._items[:-_WAITING]:
            del self._items[:-_WAITING]
            self._overtaken(dropped)


def _next(items: list[Work]) -> Work:
    """The newest, unless an older one begins before it: then the newest of those, and so on."""
    place = len(items) - 1
    while True:
        earlier = [k for k in range(place) if items[k].begin < items[place].begin]
        if not earlier:
            return items[place]
        place = earlier[-1]
