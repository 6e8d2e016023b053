# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runs in the browser: live with a scrub bar and curves, or as one HTML file.

They come from recordings, or from the robot's topics: joint_states, bite_force, contact forces.
"""

from __future__ import annotations

import base64
import html
import io
import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from masticator_dynamics.analysis.line_drawing import body_lines, views
from masticator_dynamics.analysis.pictures import png_figure
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import frame_poses
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.files.share import config_text
from masticator_dynamics.optional import from_checkout
from masticator_dynamics.robot.view.played_run import FRAME_RATE, PlayedRun
from masticator_dynamics.robot.view.scene import LENGTH, TORQUE, Scene, slider_ranges
from masticator_dynamics.robot.view.server import serving

if TYPE_CHECKING:
    import viser

    from masticator_dynamics.mechanism import Mechanism


_POINTS = 500  # of a curve
_DIGITS = 4
PALETTE = ('#1f77b4', '#ff7f0e', '#2ca02c', '#d62728', '#9467bd', '#8c564b', '#e377c2')
_NO_WEBGL = 'This browser cannot draw in three dimensions (WebGL is missing or switched off).'


def with_curves(page: str, runs: Sequence[PlayedRun]) -> str:
    """Add curves of efforts and forces, and a still picture, to a page made by viser."""
    charts = [
        _chart(run.time, title, values, names)
        for run in runs
        for title, values, names in run.charts()
    ]
    text = json.dumps(charts, separators=(',', ':')).replace('</', '<\\/')
    picture = base64.b64encode(_still(runs[0])).decode()
    added = (
        f'<script type="application/json" id="curves">{text}</script>'
        f'<template id="still"><p>{html.escape(_NO_WEBGL)}</p>'
        f'<img alt="{html.escape(runs[0].name)}" src="data:image/png;base64,{picture}"></template>'
        f'<script>{config_text("view/curves.js")}</script>'
    )
    end = page.rindex('</body>')
    return page[:end] + added + page[end:]


def _chart(time: FloatArray, title: str, values: FloatArray, names: Sequence[str]) -> Any:
    every = max(1, len(time) // _POINTS)
    curves = [
        {
            'name': name,
            'colour': PALETTE[k % len(PALETTE)],
            'values': [float(f'{v:.{_DIGITS}g}') for v in values[::every, k].tolist()],
        }
        for k, name in enumerate(names)
    ]
    return {'title': title, 'time': np.round(time[::every], 4).tolist(), 'curves': curves}


def _still(run: PlayedRun) -> bytes:
    """The mechanism as lines between joints, halfway through the run; PNG."""
    stream = io.BytesIO()
    with png_figure(stream, (5.0, 4.0), resolution=100) as figure:
        axes, lines = figure.subplots(), body_lines(run.mechanism, run.q[len(run.q) // 2])
        side, *_ = views(lines)
        for line in lines:
            side.plot(axes, line, '.-', color='#555', lw=2)
        if 'incisor' in run.mechanism.frames:
            path = frame_poses(run.mechanism, run.q, 'incisor')[0]
            side.plot(axes, path, color=PALETTE[2])
        axes.set_title(f'{run.name}, {side.name}')
    return stream.getvalue()


LONGEST = 600.0  # s, of a page, which takes minutes to make


class ScenePlayer:
    """Runs side by side in one scene, moved together."""

    def __init__(self, server: viser.ViserServer, runs: Sequence[PlayedRun]):
        self.runs = tuple(runs)
        self._server = server
        widest = max(run.mechanism.structure.extent() for run in runs)
        self._scenes = [
            Scene(server.scene, run.mechanism, f'run_{k}', (0.0, -1.4 * widest * k, 0.0))
            for k, run in enumerate(runs)
        ]
        self._scales = [
            _newton_per_length(run, scene) for run, scene in zip(runs, self._scenes, strict=True)
        ]
        for run, scene in zip(runs, self._scenes, strict=True):
            if 'incisor' in run.mechanism.frames:
                scene.path('incisor', frame_poses(run.mechanism, run.q, 'incisor')[0])
        look_at(server, runs[0].mechanism)
        self.end = max(run.time[-1] for run in runs)
        self.show(0.0)

    @property
    def missing(self) -> list[str]:
        """Sentences on truncated or damaged files, and on shapes that are not shown as written."""
        doubts = [doubt for run in self.runs for doubt in run.doubts]
        return [*doubts, *dict.fromkeys(text for scene in self._scenes for text in scene.missing)]

    def show(self, now: float) -> None:
        """Move all runs to a time, s."""
        for run, scene, scale in zip(self.runs, self._scenes, self._scales, strict=True):
            k = min(int(np.searchsorted(run.time, now - 1e-9)), len(run.time) - 1)
            scene.pose(run.q[k])
            for name, forces in run.forces.items():
                scene.arrow(name, forces.points[k], forces.vectors[k] / scale[0])
            if run.efforts.shape[1]:
                _show_efforts(run, scene, k, scale[1])

    def html(self) -> str:
        """The whole scene as one self-contained page.

        Raises
        ------
        InputError
            For a recording that is too long for a page.
        """
        if self.end > LONGEST:
            raise InputError(
                f'a page holds {LONGEST:g} s at most, the recording lasts {self.end:g} s; without '
                '--html it can be seen'
            )
        serializer = self._server.get_scene_serializer()
        for now in np.arange(0.0, self.end + 1e-9, 1.0 / FRAME_RATE):
            self.show(float(now))
            serializer.insert_sleep(1.0 / FRAME_RATE)
        return with_curves(serializer.as_html(), self.runs)

    def controls(self) -> None:
        """Play button, scrub bar and curves in the browser's panel."""
        from viser import uplot

        gui = self._server.gui
        playing = gui.add_checkbox('play', True)
        speed = gui.add_slider('speed', 0.1, 2.0, 0.1, 1.0)
        bar: Any = gui.add_slider('time, s', 0.0, float(self.end), 1.0 / FRAME_RATE, 0.0)
        for run in self.runs:
            for title, values, names in run.charts():
                _curves(gui, uplot, run, title, values, names)

        @bar.on_update
        def _(event: object) -> None:
            self.show(bar.value)

        self._playing, self._speed, self._bar = playing, speed, bar

    def play(self) -> None:
        """Play forever, starting over after the end."""
        before = time.monotonic()
        while True:
            time.sleep(1.0 / FRAME_RATE)
            now = time.monotonic()
            if self._playing.value:
                ahead = self._bar.value + self._speed.value * (now - before)
                self._bar.value = 0.0 if ahead > self.end else ahead
            before = now


def sliders(server: viser.ViserServer, mechanism: Mechanism) -> Scene:
    """Sliders over the independent coordinates; all loops stay closed."""
    scene = Scene(server.scene, mechanism)
    look_at(server, mechanism)
    readout = server.gui.add_markdown('')
    handles = []
    homes = mechanism.home.y.tolist()
    ranges = slider_ranges(mechanism)
    for name, home, (unit, per, low, high, step) in zip(
        mechanism.independent, homes, ranges, strict=True
    ):
        at = min(max(round(home / per / step) * step, low), high)
        handles.append((server.gui.add_slider(f'{name}, {unit}', low, high, step, at), per))

    def move(event: object) -> None:
        try:
            effort = mechanism.feedforward([slider.value * per for slider, per in handles])
        except MasticatorError as error:
            readout.content = f'**{error}**'
            return
        scene.pose(effort.q)
        names = zip(
            mechanism.actuated, effort.actuated.tolist(), mechanism.effort_units, strict=True
        )
        readout.content = '\n'.join(f'- {name}: {value:.4g} {unit}' for name, value, unit in names)

    for slider, _ in handles:
        slider.on_update(move)
    move(None)
    return scene


def page_of(runs: Sequence[PlayedRun]) -> tuple[str, list[str]]:
    """One page of runs side by side, and a sentence for each thing missing from it."""
    with serving('127.0.0.1', 0) as server:
        player = ScenePlayer(server, runs)
        return player.html(), player.missing


def look_at(server: viser.ViserServer, mechanism: Mechanism) -> None:
    """Make new browsers look at a mechanism from the front and slightly above."""
    poses = mechanism.structure.tree.poses(mechanism.home.q)
    middle = 0.5 * (poses.origins.max(axis=0) + poses.origins.min(axis=0))
    extent = mechanism.structure.extent()
    server.scene.set_up_direction('+z')
    # Shadows take three quarters of the drawing work.
    server.scene.configure_default_lights(cast_shadow=False)
    server.initial_camera.position = tuple(middle + extent * np.array([0.8, 1.0, 0.4]))
    server.initial_camera.look_at = tuple(middle)


def _newton_per_length(run: PlayedRun, scene: Scene) -> tuple[float, float]:
    """Scale of arrows, N and N m per metre: the run's largest spans a third of the robot's size."""
    largest = max((np.abs(f.vectors).max(initial=0.0) for f in run.forces.values()), default=0.0)
    efforts = np.abs(run.efforts).max(initial=0.0)
    length = LENGTH * scene.extent
    return max(largest, 1e-9) / length, max(efforts, 1e-9) / length


def _show_efforts(run: PlayedRun, scene: Scene, k: int, scale: float) -> None:
    """Efforts as arrows along the axes of their joints."""
    poses = run.mechanism.structure.tree.poses(run.q[k])
    for name, joint, effort in zip(
        run.mechanism.actuated, run.mechanism.actuated_rows, run.efforts[k], strict=True
    ):
        axis = poses.rotations[joint, :, 2]
        scene.arrow(f'effort_{name}', poses.origins[joint], axis * effort / scale, TORQUE)


def _curves(gui, uplot, run, title, values, names):  # type: ignore[no-untyped-def]
    """Curves over time in the panel, about a thousand points each."""
    every = max(1, len(run.time) // 1000)
    data = (run.time[::every], *np.ascontiguousarray(values[::every].T))
    series = [uplot.Series(label='s')]
    series += [
        uplot.Series(label=name, stroke=PALETTE[k % len(PALETTE)], width=1)
        for k, name in enumerate(names)
    ]
    # The abscissa is seconds of the run, not a date.
    scales = {'x': uplot.Scale(time=False)}
    gui.add_uplot(data, tuple(series), title=title, scales=scales, aspect=1.6)


FULL_ARROW = 100.0  # N, for a third of the robot's size


def show_topics(scene: Scene) -> None:
    """Follow the topics until Ctrl-C.

    Messages are only stored on arrival, and drawn 25 times a second: a slow viewer delays no one
    else.

    Raises
    ------
    InputError
        If rclpy is not installed.
    """
    try:
        import rclpy
        from geometry_msgs.msg import WrenchStamped
        from rclpy.qos import qos_profile_sensor_data
        from sensor_msgs.msg import JointState
    except ImportError as error:
        raise InputError(f'--ros needs rclpy: ROS 2, or {from_checkout("ros")}') from error
    mechanism = scene.mechanism
    latest: dict[str, Any] = {}
    rclpy.init()
    node = rclpy.create_node('masticator_view')

    def remember(topic: str) -> Any:
        return lambda message: latest.__setitem__(topic, message)

    node.create_subscription(
        JointState, 'joint_states', remember('joint_states'), qos_profile_sensor_data
    )
    for topic in ('bite_force', *(f'contact_force/{name}' for name in mechanism.contacts)):
        node.create_subscription(WrenchStamped, topic, remember(topic), qos_profile_sensor_data)
    q = mechanism.home.q.copy()

    node.create_timer(1.0 / FRAME_RATE, lambda: _draw(scene, q, latest))
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
        pass
    finally:
        node.destroy_node()
        rclpy.utilities.try_shutdown()


def _draw(scene: Scene, q: FloatArray, latest: dict[str, Any]) -> None:
    """Draw the newest messages; joints that none names stay where they are in ``q``."""
    mechanism = scene.mechanism
    message = latest.get('joint_states')
    if message is not None:
        positions = dict(zip(message.name, message.position, strict=False))
        for j, name in enumerate(mechanism.tree_joints):
            if np.isfinite(positions.get(name, np.nan)):
                q[j] = positions[name]
        scene.pose(q)
    for topic, load in latest.items():
        if topic == 'joint_states' or load.header.frame_id not in mechanism.frames:
            continue
        force = load.wrench.force
        point, turn = frame_poses(mechanism, q, load.header.frame_id)
        vector = turn @ np.array([force.x, force.y, force.z])
        shown = vector * LENGTH * scene.extent / FULL_ARROW
        if np.isfinite(shown).all():
            scene.arrow(topic.replace('/', '_'), point, shown)
