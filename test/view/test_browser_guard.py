# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Real connections to the server of `view`, as browsers make them for pages of all kinds."""

import http.client
import socket

import pytest

pytest.importorskip('viser', reason='viser is not installed (pip extra "view")')

import viser
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from masticator_dynamics.errors import InputError
from masticator_dynamics.robot.view.server import guarded, serving


@pytest.fixture(scope='module')
def server():
    with serving('127.0.0.1', 0) as made:
        made.gui.add_slider('beta', 0.0, 1.0, 0.1, 0.5)
        yield made


def opened(port, host, origin):
    """Open a websocket with these headers and receive what a page of viser would."""
    with connect(
        f'ws://{host}/',
        sock=socket.create_connection(('127.0.0.1', port)),
        origin=origin,
        subprotocols=[f'viser-v{viser.__version__}'],
    ) as connection:
        return connection.recv(timeout=10.0)


def fetched(port, host, origin=None):
    """Status, frame policy and size of the page at /."""
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=10.0)
    connection.putrequest('GET', '/', skip_host=True)
    for name, value in (('Host', host), ('Origin', origin)):
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, answer.getheader('X-Frame-Options'), len(answer.read())


@pytest.mark.parametrize('name', ['localhost', '127.0.0.1', '[::1]', '192.168.1.7', 'LOCALHOST'])
def test_pages_of_this_computer_see_the_scene(server, name) -> None:
    host = f'{name}:{server.get_port()}'
    assert opened(server.get_port(), host, f'http://{host}')
    assert opened(server.get_port(), host, None)  # a program that is no browser
    status, frames, size = fetched(server.get_port(), host)
    assert (status, frames) == (200, 'SAMEORIGIN') and size > 1000


def test_names_of_this_computer_are_known(server) -> None:
    assert fetched(server.get_port(), socket.gethostname())[0] == 200


@pytest.mark.parametrize(
    ('host', 'origin'),
    [
        ('localhost:{port}', 'http://evil.example'),  # a page elsewhere
        ('localhost:{port}', 'http://localhost:9999'),  # another server on this computer
        ('localhost:{port}', 'null'),  # a file, or a frame in a sandbox
        ('localhost:{port}', ''),
        ('127.0.0.1:{port}', 'http://localhost:{port}'),
        ('localhost:{port}', 'http://localhost:{port}@evil.example'),
        ('localhost:{port}', 'http://evil.example/localhost:{port}'),
        ('evil.example:{port}', 'http://evil.example:{port}'),  # DNS rebinding
        ('evil.example:{port}', None),
        ('localhost.evil.example:{port}', 'http://localhost.evil.example:{port}'),
        ('127.0.0.1.evil.example:{port}', 'http://127.0.0.1.evil.example:{port}'),
    ],
)
def test_pages_of_strangers_are_refused(server, host, origin) -> None:
    port = server.get_port()
    host, origin = host.format(port=port), origin and origin.format(port=port)
    with pytest.raises(InvalidStatus) as refused:
        opened(port, host, origin)
    assert refused.value.response.status_code == 403
    assert fetched(port, host, origin)[0] == 403


@pytest.mark.parametrize('host', ['evil@localhost', 'localhost, evil.example', '[::1', ''])
def test_hosts_that_no_browser_sends_are_refused(server, host) -> None:
    assert fetched(server.get_port(), host)[0] == 403


def test_a_request_without_a_host_is_refused(server) -> None:
    with socket.create_connection(('127.0.0.1', server.get_port())) as connection:
        connection.sendall(b'GET / HTTP/1.1\r\n\r\n')
        assert b' 403 ' in connection.recv(1000).split(b'\r\n')[0]


def test_a_viser_that_would_not_be_guarded_is_not_served() -> None:
    with pytest.raises(InputError, match='cannot be guarded'), guarded('localhost'):
        pass
