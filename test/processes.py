# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Processes of tests, read line by line, and the simulated buses between them."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
START = 480.0  # s; a cold cache compiles, on a busy machine slowly
PATIENCE = 60.0  # s; generous, since machines that test are busy
CHANNEL = '239.74.163.98'  # of buses between processes
PYTHON = (sys.executable,)
PROGRAM = (sys.executable, '-m', 'masticator_dynamics')


def wait_for(condition, what, patience=PATIENCE):
    """Return the first true value of a condition."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f'{what}: not within {patience} s')


@contextlib.contextmanager
def meanwhile(work, *arguments):
    """Run ``work(ended, *arguments)`` in a thread beside the block, whose end it is to look for."""
    ended = threading.Event()
    thread = threading.Thread(target=work, args=(ended, *arguments))
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class Process:
    """A process in the root of the checkout; all lines that it writes are kept.

    Parameters
    ----------
    *command : str or path
    **options
        Of `subprocess.Popen`. Standard error goes with the output unless they say otherwise, and
        standard input is a pipe.
    """

    def __init__(self, *command, **options):
        pipe = subprocess.PIPE
        streams = {'stdin': pipe, 'stdout': pipe, 'stderr': subprocess.STDOUT}
        options = {'cwd': ROOT} | streams | options
        options['env'] = options.get('env', os.environ) | {'PYTHONUNBUFFERED': '1'}
        self.process = subprocess.Popen([*map(str, command)], text=True, **options)
        self.pid, self.lines = self.process.pid, []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip('\n'))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    @property
    def text(self):
        return '\n'.join(self.lines)

    def log(self, text=''):
        """Lines that contain a text."""
        return [line for line in self.lines if text in line]

    def runs(self):
        return self.process.poll() is None

    def wait_for_line(self, text, patience=PATIENCE):
        """Lines that contain a text, once there is one; the process must not end before."""

        def found():
            runs = self.runs()
            if not runs:
                self._reader.join(PATIENCE)
            assert self.log(text) or runs, f'it has ended without {text!r}:\n{self.text}'
            return self.log(text)

        return wait_for(found, f'{text!r} in the output', patience)

    def wait(self, patience=PATIENCE):
        """The exit code, once everything that was written is read."""
        code = self.process.wait(patience)
        self._reader.join(PATIENCE)
        return code

    def end(self, number=signal.SIGINT, patience=PATIENCE):
        """Send a signal; the exit code."""
        try:
            if self.runs():
                self.process.send_signal(number)
            return self.wait(patience)
        finally:
            self.kill()

    def kill(self):
        """End it whatever it does; what it has written remains."""
        self.process.kill()
        self.wait()
        streams = [self.process.stdin, self.process.stderr]
        if not self._reader.is_alive():  # a child that lives on writes there: closing would wait
            streams.append(self.process.stdout)
        for stream in streams:
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


class SimulatedDrives(Process):
    """`masticator simulate-drives` with a drives file, once it is ready."""

    def __init__(self, file, wait=True):
        super().__init__(*PROGRAM, 'simulate-drives', '--drives', file)
        if wait:
            self.wait_for_line('ready: ', START)

    def tell(self, line):
        """Write a line; the answer to it."""
        before = len(self.lines)
        self.process.stdin.write(f'{line}\n')
        self.process.stdin.flush()

        def answers():
            return [text for text in self.lines[before:] if text.startswith(('ok: ', 'error: '))]

        return wait_for(answers, f'answer to {line}')[0]

    def fault(self, line):
        """Make a fault; the time of the request (s since 1970)."""
        asked = time.time()
        assert self.tell(line) == f'ok: {line}'
        return asked


def completed(*command, **options):
    """A process that has ended, with its exit code and what it wrote, as `subprocess.run`."""
    words = [*map(str, command)]
    return subprocess.run(
        words, **{'capture_output': True, 'text': True, 'timeout': START} | options
    )


def children(parent):
    """Processes that a process has started, by number."""
    files = (f'/proc/{parent}/task/{task}/children' for task in os.listdir(f'/proc/{parent}/task'))
    found = []
    for file in files:
        with open(file, encoding='ascii') as lines:
            found += map(int, lines.read().split())
    return found


def runs(process):
    try:
        with open(f'/proc/{process}/stat', encoding='ascii') as line:
            return line.read().rpartition(')')[2].split()[0] != 'Z'
    except FileNotFoundError:
        return False


def free_port(kind=socket.SOCK_DGRAM):
    """A port of UDP, or of another kind of socket, that is free, as is the one above it."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(('', 0))
        port = probe.getsockname()[1]
    return port if port < 65535 else port - 2


def simulated_bus(port=None):
    """Settings of a bus between processes of this machine."""
    return {'interface': 'udp_multicast', 'channel': CHANNEL, 'port': port or free_port()}


def has_multicast():
    """Whether frames can be sent from process to process on this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((CHANNEL, 45000))
        except OSError:
            return False
    return True


needs_multicast = pytest.mark.skipif(
    not has_multicast(), reason='no multicast route, so no CAN bus between processes'
)
