# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Child processes of the demo: started with their own ROS domain, never left behind."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from masticator_dynamics.errors import MasticatorError

# Higher domains use ports that the system also gives to other programs.
_HIGHEST_DOMAIN = 101
_PATIENCE = 3.0  # s, for a process to end after each signal
_TAIL_LINES = 15
_PRIORITY = -10  # niceness
# Less than drives and twin request for themselves: their other threads may hold Python's lock.
_REAL_TIME = 5
_START = 120.0  # s, for a process to become ready
_POLL = 0.1  # s
_PR_SET_PDEATHSIG = 1
_FROZEN = 'T'  # in /proc

Parameters = dict[str, str | float | bool]


class RunError(MasticatorError):
    """The run was aborted; the message is for people and contains the end of the log."""


def ros_environment(logs: pathlib.Path) -> dict[str, str]:
    """Environment of the children: this host only, a domain of their own, logs in a folder."""
    environment = dict(os.environ)
    # PyPI's ROS wheels restart the interpreter with library paths, once per environment.
    environment.pop('_ROS_WHEELS_BOOTSTRAP_COMPLETE', None)
    environment.pop('ROS_LOCALHOST_ONLY', None)
    environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    environment['ROS_DOMAIN_ID'] = str(random.randint(1, _HIGHEST_DOMAIN))
    environment['ROS_LOG_DIR'] = str(logs)
    environment['PYTHONUNBUFFERED'] = '1'
    return environment


NODE_MODULE = 'masticator_dynamics.ros.executable'


def node_arguments(executable: str, parameters: Parameters, *remappings: str) -> list[str]:
    """Arguments for Python to run a node.

    Parameters
    ----------
    executable : str
        Such as ``dynamics_node``.
    parameters : mapping
        Values by parameter name.
    remappings : str
        As ``from:=to``.
    """
    arguments = ['-m', NODE_MODULE, executable, '--ros-args']
    for name, value in parameters.items():
        text = str(value).lower() if isinstance(value, bool) else value
        arguments += ['-p', f'{name}:={text}']
    for remapping in remappings:
        arguments += ['-r', remapping]
    return arguments


class Child:
    """A Python module that runs as its own process; its log goes to a file.

    Parameters
    ----------
    name : str
        For people.
    arguments : sequence of str
        For the interpreter, e.g. ``['-m', 'package.module']``.
    reports : bool
        Whether standard output is a pipe to the parent, not part of the log.
    """

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        environment: dict[str, str],
        log: pathlib.Path,
        *,
        reports: bool = False,
    ):
        self.name = name
        self.log = log
        with open(log, 'wb') as stream:
            self.process = subprocess.Popen(
                [sys.executable, *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if reports else stream,
                stderr=stream,
                start_new_session=True,  # Ctrl-C reaches only the parent, which ends its children
                preexec_fn=_end_with_parent if sys.platform == 'linux' else None,
            )

        # A control loop goes before other work, if the user has the permission.
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self.process.pid, _PRIORITY)

    def go_first(self) -> None:
        """Let all current threads run before other work, if the user has the permission.

        Threads that have put themselves under the real-time scheduler stay as they are.
        """
        with contextlib.suppress(OSError, AttributeError):  # not permitted, gone, or not Linux
            flag = os.SCHED_RESET_ON_FORK  # for none that they start
            for thread in os.listdir(f'/proc/{self.process.pid}/task'):
                if os.sched_getscheduler(int(thread)) & ~flag == os.SCHED_OTHER:
                    policy = os.SCHED_RR | flag
                    os.sched_setscheduler(int(thread), policy, os.sched_param(_REAL_TIME))

    def wait_until_logged(self, text: str) -> None:
        """Wait until the log contains a text.

        Raises
        ------
        RunError
            When the process ends before that, or takes too long.
        """
        deadline = time.monotonic() + _START
        while text not in self.log.read_text(encoding='utf-8', errors='replace'):
            self.check_alive()
            if time.monotonic() > deadline:
                raise RunError(
                    f'the {self.name} is not ready after {_START:.0f} s ({load_in_words()})'
                    f'{self.log_tail()}'
                )
            time.sleep(_POLL)

    def wait_until_ended(self, patience: float) -> None:
        """Wait until the process ends by itself, for so many seconds.

        Raises
        ------
        RunError
            When it takes longer.
        """
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            raise RunError(
                f'the {self.name} has not ended after {patience:g} s ({load_in_words()})'
                f'{self.log_tail()}'
            ) from None

    def check_alive(self) -> None:
        """Refuse to continue if the process has ended, or has been frozen.

        Raises
        ------
        RunError
            With the exit code, or the signal that froze it, and the end of its log.
        """
        code = self.process.poll()
        if code is not None:
            how = f'with exit code {code}' if code >= 0 else f'by signal {-code}'
            raise RunError(f'the {self.name} ended {how}{self.log_tail()}')
        with contextlib.suppress(OSError):  # not Linux, or it has just ended
            status = pathlib.Path(f'/proc/{self.process.pid}/stat').read_text(encoding='ascii')
            if status.rpartition(')')[2].split()[0] == _FROZEN:
                raise RunError(f'the {self.name} was frozen (SIGSTOP){self.log_tail()}')

    def log_tail(self) -> str:
        """Last lines of the log, for a message."""
        with contextlib.suppress(OSError):
            text = self.log.read_text(encoding='utf-8', errors='replace')
            lines = collections.deque(text.splitlines(), maxlen=_TAIL_LINES)
            if lines:
                return '; the end of its log:\n  ' + '\n  '.join(lines)
        return '; it logged nothing'

    def stop(self) -> None:
        """End the process: politely, then by force."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is None:
                self.process.send_signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(_PATIENCE)
        if self.process.stdout is not None:
            self.process.stdout.close()


def load_in_words() -> str:
    """How busy this computer is."""
    return f'load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors'


def _end_with_parent() -> None:
    """Have the kernel end a child whose parent was killed and could not end it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


@contextlib.contextmanager
def stopped_at_the_end(children: list[Child]) -> Iterator[None]:
    """Stop all children when the block ends, including by SIGTERM."""

    def on_termination(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    try:
        previous = signal.signal(signal.SIGTERM, on_termination)
    except ValueError:  # not in the main thread: its creator must handle SIGTERM
        previous = None
    try:
        yield
    finally:
        for child in reversed(children):
            child.stop()
        if previous is not None:
            signal.signal(signal.SIGTERM, previous)
