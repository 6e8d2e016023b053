# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The server that browsers connect to, and nothing else, so that it starts at once.

Keeps pages of strangers, open in the same browser, away from the server.

A browser lets any page ask a server on this computer for a websocket, and names the page's own
address as Origin. A page can also have its own name resolve to this computer (DNS rebinding), but
then its browser names that as Host. So the Host must be this computer, and the Origin the Host.
"""

from __future__ import annotations

import contextlib
import errno
import http
import io
import ipaddress
import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from masticator_dynamics.errors import InputError
from masticator_dynamics.optional import needed

if TYPE_CHECKING:
    import viser
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

    Processor = Callable[[ServerConnection, Request], Response | None]


@contextlib.contextmanager
def guarded(host: str) -> Iterator[None]:
    """Guard the websocket server that viser starts within the block.

    viser (up to 1.1) has no setting for this, so the function is wrapped by which it serves.

    Parameters
    ----------
    host : str
        Where browsers connect: a name of this computer besides its own.

    Raises
    ------
    InputError
        If viser serves by another function, so that nothing was guarded.
    """
    from websockets.asyncio import server

    original, used = server.serve, []

    def serve(*arguments: Any, process_request: Processor, **options: Any) -> Any:
        used.append(True)
        return original(*arguments, process_request=_checking(process_request, host), **options)

    server.serve = serve  # type: ignore[misc, assignment]
    try:
        yield
    finally:
        server.serve = original  # type: ignore[misc]
    if not used:
        raise InputError('this version of viser cannot be guarded against pages of strangers')


def refusal(hosts: list[str], origins: list[str], host: str) -> str:
    """Why a request is refused, by its headers Host and Origin; empty if it is not."""
    if len(hosts) != 1 or not _is_here(hosts[0], host):
        return f'Host {", ".join(hosts) or "is missing"}: not a name of this computer'
    # Programs that are no browsers send no Origin.
    if origins and [urlsplit(origin).netloc.lower() for origin in origins] != [hosts[0].lower()]:
        return f'Origin {", ".join(origins)}: a page of another server'
    return ''


def _checking(process_request: Processor, host: str) -> Processor:
    def checked(connection: ServerConnection, request: Request) -> Response | None:
        headers = request.headers
        reason = refusal(headers.get_all('Host'), headers.get_all('Origin'), host)
        if reason:
            return connection.respond(http.HTTPStatus.FORBIDDEN, f'{reason}\n')
        response = process_request(connection, request)
        if response is not None:
            response.headers['X-Frame-Options'] = 'SAMEORIGIN'  # nobody clicks through a frame
        return response

    return checked


def _is_here(address: str, host: str) -> bool:
    """Whether a Host is this computer: an address, which no DNS can redirect, or a name of it."""
    try:
        name = (urlsplit(f'//{address}').hostname or '').removesuffix('.')
    except ValueError:
        return False
    if '@' in address:
        return False
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(name)
        return True
    hostname = socket.gethostname().lower()
    return name in ('localhost', host.lower(), hostname, f'{hostname.partition(".")[0]}.local')


@contextlib.contextmanager
def serving(host: str, port: int) -> Iterator[viser.ViserServer]:
    """Serve browsers at a port (0: any free one) until the block ends.

    Raises
    ------
    InputError
        If viser is not installed, or the port cannot be served, say because it is in use.
    """
    make = needed('viser').ViserServer
    _check_free(host, port)
    with contextlib.redirect_stdout(io.StringIO()), guarded(host):  # without its own greeting
        server: viser.ViserServer = make(host=host, port=port, verbose=False)
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
