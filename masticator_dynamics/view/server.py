# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The server that browsers connect to, and nothing else, so that it starts at once."""

from __future__ import annotations

import contextlib
import io
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

from masticator_dynamics.errors import InputError

if TYPE_CHECKING:
    import viser


@contextlib.contextmanager
def serving(host: str, port: int) -> Iterator[viser.ViserServer]:
    """Serve browsers at a port (0: any free one) until the block ends.

    Raises
    ------
    InputError
        If viser is not installed, or the port is in use.
    """
    try:
        import viser
    except ImportError as error:
        raise InputError("view needs viser: pip install 'masticator_dynamics[view]'") from error
    with socket.socket() as probe:
        if probe.connect_ex((host, port)) == 0:
            raise InputError(f'port {port} of {host} is in use; choose another with --port')
    with contextlib.redirect_stdout(io.StringIO()):  # its own greeting
        server = viser.ViserServer(host=host, port=port, verbose=False)
    try:
        yield server
    finally:
        with contextlib.redirect_stdout(io.StringIO()):  # its own farewell
            server.stop()
