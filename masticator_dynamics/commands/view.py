# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator view``: a mechanism or a recording in the browser."""

from __future__ import annotations

import pathlib
import time
from typing import TYPE_CHECKING

import click

from masticator_dynamics.commands.options import joint_names_option

if TYPE_CHECKING:
    import viser


@click.command()
@click.argument('what', metavar='[MECHANISM|RECORDING]...', nargs=-1)
@click.option('--ros', is_flag=True, help='Show the robot live, from ROS topics.')
@click.option('--html', metavar='FILE', help='Write one page that opens anywhere, and end.')
@click.option('--mechanism', help='Of a recording. Default: the included one with its joints.')
@joint_names_option()
@click.option('--host', default='127.0.0.1', show_default=True, help='Where browsers connect.')
@click.option('--port', type=click.IntRange(1, 65535), default=8080, show_default=True)
def view(
    what: tuple[str, ...],
    ros: bool,
    html: str | None,
    mechanism: str | None,
    names: dict[str, str],
    host: str,
    port: int,
) -> None:
    """Show a mechanism (moved by sliders), recordings side by side, or the robot live.

    A RECORDING is a motion (CSV, as inverse-dynamics takes it), or a bag or a file of one: of a
    robot, of the demo or of an experiment. Without one: the masticator.
    """
    from masticator_dynamics.errors import InputError
    from masticator_dynamics.files.bag import is_bag
    from masticator_dynamics.files.tables import check_writable

    paths = [pathlib.Path(name) for name in what]
    files = [path for path in paths if path.suffix == '.csv' or is_bag(path)]
    if files and (len(files) < len(what) or ros):
        raise InputError('recordings are shown beside recordings alone')
    if not files and len(what) > 1:
        raise InputError('one mechanism at a time; several recordings go side by side')
    if what and mechanism is not None and not files:
        raise InputError(
            f'{what[0]}: no recording (CSV, a bag, or a file of one), which --mechanism is for'
        )
    if html is not None and ros:
        raise InputError('--html writes a mechanism or recordings, not the live robot')
    if html is not None:
        check_writable(html, *what, mechanism)
        _write(files, mechanism or (what[0] if what and not files else None), html, names)
        return
    from masticator_dynamics.robot.view.server import serving

    with serving(host, port) as server:  # first: browsers load its page while the rest is loaded
        if files:
            _play(server, files, mechanism, names)
        else:
            _show(server, mechanism or (what[0] if what else 'masticator'), ros)


def _write(
    files: list[pathlib.Path], mechanism: str | None, html: str, names: dict[str, str]
) -> None:
    from masticator_dynamics.files.tables import write_text
    from masticator_dynamics.mechanism import Mechanism
    from masticator_dynamics.robot.view.played_run import load_run

    if files:
        from masticator_dynamics.robot.view.scene_player import page_of

        page, missing = page_of([load_run(file, mechanism, names) for file in files])
    else:
        from masticator_dynamics.robot.view.slider_page import slider_page

        page, missing = slider_page(Mechanism.load(mechanism or 'masticator'))
    for sentence in missing:
        click.echo(sentence, err=True)
    write_text(html, page)


def _play(
    server: viser.ViserServer,
    files: list[pathlib.Path],
    mechanism: str | None,
    names: dict[str, str],
) -> None:
    from masticator_dynamics.robot.view.played_run import load_run
    from masticator_dynamics.robot.view.scene_player import ScenePlayer

    player = ScenePlayer(server, [load_run(file, mechanism, names) for file in files])
    player.controls()
    _tell(server, player.missing)
    player.play()


def _show(server: viser.ViserServer, name: str, ros: bool) -> None:
    from masticator_dynamics.mechanism import Mechanism

    shown = Mechanism.load(name)
    if ros:
        from masticator_dynamics.robot.view.scene import Scene
        from masticator_dynamics.robot.view.scene_player import show_topics

        scene = Scene(server.scene, shown)
        _tell(server, scene.missing)
        show_topics(scene)
    else:
        from masticator_dynamics.robot.view.scene_player import sliders

        _tell(server, sliders(server, shown).missing)
        while True:
            time.sleep(3600.0)


def _tell(server: viser.ViserServer, missing: list[str]) -> None:
    for sentence in missing:
        click.echo(sentence, err=True)
    click.echo(f'http://{server.get_host()}:{server.get_port()} (Ctrl-C ends)')
