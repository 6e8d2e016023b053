# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The server that browsers connect to, and nothing else, so that it starts at once."""

from __future__ import annotations

import contextlib
import errno
import io
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

from masticator_dynamics.errors import InputError
from masticator_dynamics.robot.view.browser_guard import guarded

if TYPE_CHECKING:
    import viser


@contextlib.contextmanager
def serving(host: str, port: int) -> Iterator[viser.ViserServer]:
    """Serve browsers at a port (0: any free one) until the block ends.

    Raises
    ------
    InputError
        If viser is not installed, or the port cannot be served, say because it is in use.
    """
    try:
        import viser
    except ImportError as error:
        raise InputError("view needs viser: pip install 'masticator_dynamics[view]'") from error
    _check_free(host, port)
    with contextlib.redirect_stdout(io.StringIO()), guarded(host):  # without its own greeting
        server = viser.ViserServer(host=host, port=port, verbose=False)
    try:
        yield server
    finally:
        with contextlib.redirect_stdout(io.StringIO()):  # its own farewell
            server.stop()


def _check_free(host: str, port: int) -> None:
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (OSError, UnicodeError) as error:
        if getattr(error, 'errno', None) == errno.EADDRINUSE:
            raise InputError(
                f'port {port} of {host} is in use; choose another with --port'
            ) from error
        reason = getattr(error, 'strerror', None) or error
        raise InputError(f'port {port} of {host!r} cannot be served: {reason}') from error
