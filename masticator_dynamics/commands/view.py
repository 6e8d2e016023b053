# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator view``: a mechanism or a recording in the browser."""

from __future__ import annotations

import pathlib
import time

import click


@click.command()
@click.argument('what', metavar='[MECHANISM|RECORDING]...', nargs=-1)
@click.option('--ros', is_flag=True, help='Show what ROS topics tell: the robot, live.')
@click.option('--html', metavar='FILE', help='Write one page that opens anywhere, and end.')
@click.option('--mechanism', help='Of a recording. Default: the shipped one that has its joints.')
@click.option('--host', default='127.0.0.1', show_default=True, help='Where browsers connect.')
@click.option('--port', type=click.IntRange(1, 65535), default=8080, show_default=True)
def view(
    what: tuple[str, ...], ros: bool, html: str | None, mechanism: str | None, host: str, port: int
) -> None:
    """Show a mechanism (moved by sliders), recordings side by side, or the robot live.

    A RECORDING is a motion (CSV, as inverse-dynamics takes it) or MCAP, of the demo or of an
    experiment. Without one: the masticator.
    """
    from masticator_dynamics.errors import InputError
    from masticator_dynamics.files.tables import write_text
    from masticator_dynamics.mechanism import Mechanism
    from masticator_dynamics.view.player import Player, page_of, sliders, start_server
    from masticator_dynamics.view.run import load_run

    files = [pathlib.Path(name) for name in what if pathlib.Path(name).suffix in ('.csv', '.mcap')]
    if files and (len(files) < len(what) or ros):
        raise InputError('recordings are shown beside recordings alone')
    if not files and len(what) > 1:
        raise InputError('one mechanism at a time; several recordings go side by side')
    if html is not None and not files:
        raise InputError('--html writes recordings: name a CSV or MCAP file')
    runs = [load_run(file, mechanism) for file in files]
    if html is not None:
        page, missing = page_of(runs)
        for sentence in missing:
            click.echo(sentence, err=True)
        write_text(html, page)
        return
    server = start_server(host, port)
    address = f'http://{host}:{server.get_port()}'
    if runs:
        player = Player(server, runs)
        player.controls()
        _tell(address, player.missing)
        player.play()
    else:
        shown = Mechanism.load(mechanism or (what[0] if what else 'masticator'))
        if ros:
            from masticator_dynamics.view.live import show_topics
            from masticator_dynamics.view.scene import Scene

            scene = Scene(server.scene, shown)
            _tell(address, scene.missing)
            show_topics(scene)
        else:
            _tell(address, sliders(server, shown).missing)
            while True:
                time.sleep(3600.0)


def _tell(address: str, missing: list[str]) -> None:
    for sentence in missing:
        click.echo(sentence, err=True)
    click.echo(f'{address} (Ctrl-C ends)')
