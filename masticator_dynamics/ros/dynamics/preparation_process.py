# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Trajectories are read and checked in a process of their own, so that no cycle waits for that.

That process does what it is asked, one thing after the other. It ends when the node's end of the
link is closed, however the node ended.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from typing import Any

import numpy as np

from masticator_dynamics import Mechanism, interrupt
from masticator_dynamics.description.data import MechanismDescription
from masticator_dynamics.errors import LimitError, MasticatorError, RangeWarning, in_words
from masticator_dynamics.ros.dynamics.cycle import ExecutedMotion
from masticator_dynamics.ros.dynamics.settings import DynamicsSettings
from masticator_dynamics.ros.dynamics.trajectory_checks import PreparedTrajectory, TrajectoryPoints
from masticator_dynamics.ros.dynamics.trajectory_question import Question, answer

_START = 600.0  # s; code may have to be compiled
_PATIENCE, _TIMES = 10.0, 40.0  # s, and of the expected duration, after which it is stuck
_READING = 2e-6  # s for each byte of a message, on a slow computer
_GLANCE = 0.05  # s between two looks at whether it works
_PAUSE = 5.0  # s between two starts of a process that does not get as far as to work


class PreparationError(MasticatorError):
    """The process that checks trajectories has ended, or does not answer."""


@dataclasses.dataclass(frozen=True)
class _Refusal:
    kind: type[Exception]
    text: str

    def error(self) -> Exception:
        """The error, which may take other arguments when it is raised."""
        error = self.kind.__new__(self.kind, self.text)
        error.args = (self.text,)
        return error


class Preparer:
    """The node's end: starts the process, asks it, and starts another one when it fails.

    Parameters
    ----------
    log : callable
        Gets a sentence about a process that failed.

    Attributes
    ----------
    state : str
        Of the process: starts or ready.
    failures : int
        Processes that have ended by themselves, or had to be ended.
    failure : str
        What became of the last one, until the next is ready.
    """

    def __init__(
        self,
        description: MechanismDescription,
        settings: DynamicsSettings,
        log: Callable[[str], object],
    ):
        self._given, self._log = (description, settings), log
        self.state, self.failure, self.failures = 'starts', '', 0
        self._closed, self._exchanging = threading.Event(), threading.Lock()
        self._earliest = 0.0  # s, of the next start
        self._start()

    def prepare(self, question: Question) -> PreparedTrajectory:
        """What :func:`answer` returns.

        Raises
        ------
        MasticatorError
            For what is no motion, or one that cannot or must not be made.
        PreparationError
            If there is no answer.
        """
        self.start_up()
        expected = self._exchange(_PATIENCE + _TIMES * _READING * question.size, question)
        if isinstance(expected, float):  # it has been read
            answer = self._exchange(_PATIENCE + _TIMES * expected)
        else:
            answer = expected
        if isinstance(answer, _Refusal):
            raise answer.error()
        prepared: PreparedTrajectory = answer
        return prepared

    def start_up(self) -> None:
        """Wait until the process works: for the thread that asks it.

        Raises
        ------
        PreparationError
            If it ends instead.
        """
        if self._process.poll() is not None:
            self._fail()
        if self.state == 'ready':
            return
        refusal = self._exchange(_START, self._given)
        if refusal is not None:
            self._fail(str(refusal.error()))
        self.state, self.failure = 'ready', ''

    def wait_until_ready(self) -> None:
        """Wait until the process works, while another thread looks after it.

        Raises
        ------
        PreparationError
            If it ends instead, or this process is told to end.
        """
        failures = self.failures
        while self.state != 'ready':
            if self.failures > failures or interrupt.requested():
                raise PreparationError(self.failure or 'the node ends')
            time.sleep(_GLANCE)

    def look(self) -> None:
        """Notice what has become of the process while nothing is asked of it."""
        with contextlib.suppress(PreparationError):
            self.start_up()

    def close(self) -> None:
        """End the process; who waits for an answer gets none. From any thread."""
        with self._exchanging:
            self._closed.set()
            self._process.kill()
            self._process.wait()

    def _start(self) -> None:
        self.state, self._earliest = 'starts', time.monotonic() + _PAUSE
        self._link, theirs = Pipe()
        with theirs, interrupt.starting_deaf(interrupt.SIGNALS):
            self._process = subprocess.Popen(
                [sys.executable, '-c', f'import {__name__} as own; own.main({theirs.fileno()})'],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
            )  # fmt: skip

    def _exchange(self, limit: float, *questions: Any) -> Any:
        """Send what is asked, if anything, and wait for the next answer."""
        begin = time.monotonic()
        end_it = threading.Timer(limit, self._process.kill)  # it may have stopped half way
        end_it.start()
        try:
            for question in questions:
                _send(self._link, question)
            return _receive(self._link)
        except (OSError, EOFError):
            if time.monotonic() - begin < limit:
                return self._fail()
            return self._fail(f'it has not answered for {limit:.0f} s')
        finally:
            end_it.cancel()

    def _fail(self, reason: str = '') -> None:
        """Start another process, not too often, and raise `PreparationError`."""
        self._process.kill()
        code = self._process.wait()
        if self.state == 'starts':
            self._closed.wait(max(self._earliest - time.monotonic(), 0.0))
        if not reason:
            reason = f'signal {-code} ended it' if code < 0 else f'it ended with exit code {code}'
        with self._exchanging:
            if self._closed.is_set():
                raise PreparationError('the node ends')
            self._link.close()
            self._start()
        self.failures += 1
        text = f'the process that checks trajectories has failed: {reason}'
        self.failure = text
        self._log(f'{text}; another one is started, and the motion goes on')
        raise PreparationError(text)


def _warmed_up(description: MechanismDescription, settings: DynamicsSettings) -> Mechanism:
    """A mechanism for which all has run once, so that code is compiled and caches are filled."""
    mechanism = Mechanism(description)
    mechanism.load_code(settings.goal, settings.friction)
    home = mechanism.home
    rows = np.zeros((3, 2, len(mechanism.actuated)))
    rows[0] = home.position
    points = TrajectoryPoints(mechanism.actuated, np.array([0.1, 0.2]), tuple(rows))
    schedule = ExecutedMotion(home.y).schedule
    question = Question(points, 0, schedule, 1, settings)
    # A home beyond a limit is no reason not to start: trajectories will be refused.
    with contextlib.suppress(LimitError):
        answer(mechanism, question, lambda expected: None)
    return mechanism


def _send(link: Connection, content: Any) -> None:
    """Send anything, arrays without copying them."""
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(content, 5, buffer_callback=buffers.append)
    link.send(len(buffers))
    for part in (memoryview(data), *(buffer.raw() for buffer in buffers)):
        link.send_bytes(part)


def _receive(link: Connection) -> Any:
    """What is sent; its arrays cannot be changed."""
    buffers = link.recv()
    data, *parts = (link.recv_bytes() for _ in range(1 + buffers))
    return pickle.loads(data, buffers=parts)


def _attempt(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Exception as error:  # the process survives whatever a message does
        return _Refusal(type(error) if isinstance(error, MasticatorError) else MasticatorError,
                        in_words(error))  # fmt: skip


def main(file: int) -> None:
    """Answer until the node has gone; ``file``: number of this end of the link."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter('ignore', RangeWarning)  # trajectories are refused for that
    link = Connection(file)
    announce = functools.partial(_send, link)
    with contextlib.suppress(EOFError, OSError):
        mechanism = _attempt(functools.partial(_warmed_up, *_receive(link)))
        _send(link, mechanism if isinstance(mechanism, _Refusal) else None)
        while True:
            _send(link, _attempt(functools.partial(answer, mechanism, _receive(link), announce)))
