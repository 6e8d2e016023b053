# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Picture in a real browser, live and from an HTML file, against Pinocchio's poses."""

import io
import shutil

import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.robot.view.played_run import FRAME_RATE, PlayedRun, PointForces

pin = pytest.importorskip('pinocchio')
viser = pytest.importorskip('viser', reason='viser is not installed (pip extra "view")')
sync_api = pytest.importorskip('playwright.sync_api', reason='playwright is not installed')
CHROMIUM = next(filter(None, map(shutil.which, ('chromium', 'chromium-browser'))), None)
if CHROMIUM is None:
    pytest.skip('no Chromium on this computer', allow_module_level=True)

SIZE = {'width': 1200, 'height': 800}
NEAR = 2.0  # pixels
AROUND = 30  # pixels in which a marker is looked for
PATIENCE = 120_000  # ms; without a graphics card, on a busy computer
QUIET = (
    '--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader',
    '--disable-background-networking', '--disable-component-update', '--disable-sync',
    '--no-first-run', '--disable-default-apps',
)  # fmt: skip


@pytest.fixture(scope='module')
def browser():
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield found
        found.close()


@pytest.fixture
def page(browser):
    """A page; its ``asked`` holds the addresses that it requested."""
    opened = browser.new_page(viewport=SIZE)
    opened.set_default_timeout(PATIENCE)
    opened.asked = []
    opened.on('request', lambda request: opened.asked.append(request.url))
    opened.on('websocket', lambda socket: opened.asked.append(socket.url))
    yield opened
    opened.close()


@pytest.fixture
def server():
    from masticator_dynamics.robot.view.server import serving

    with serving('127.0.0.1', 0) as made:
        yield made


@pytest.fixture(scope='module')
def run():
    """Two seconds of chewing with 30 N on the left molar."""
    jaw = Mechanism.load('masticator')
    path = chewing_stroke(strokes=2)
    time = np.linspace(0.0, path.end, 401)
    effort = jaw.feedforward_batch(*path.sample(time))
    from masticator_dynamics.engine.evaluation.frames import frame_poses

    tooth, _ = frame_poses(jaw, effort.q, 'molar_left')
    force = PointForces(tooth, np.tile([0.0, 0.0, -30.0], (len(time), 1)))
    return PlayedRun('chewing', jaw, time, effort.q, {'food': force}, effort.actuated)


def origins(mechanism, q):
    """Link origins by Pinocchio, (joints, 3)."""
    model = pin.buildModelFromXML(mechanism.description.urdf_xml)
    full = pin.neutral(model)
    for name, value in zip(mechanism.tree_joints, q, strict=True):
        joint = model.joints[model.getJointId(name)]
        full[joint.idx_q : joint.idx_q + joint.nq] = (
            value if joint.nq == 1 else [np.cos(value), np.sin(value)]
        )
    data = model.createData()
    pin.forwardKinematics(model, data, full)
    return np.array([data.oMi[model.getJointId(n)].translation for n in mechanism.tree_joints])


def marked(server, scene):
    """A flat point with its own colour at every link's origin; shapes are hidden."""
    levels = (0, 110, 180, 255)
    colours = [(r, g, b) for g in levels for r in levels for b in levels if max(r, g, b) == 255]
    chosen = [c for c in colours if min(c) < 200][: len(scene._bodies)]
    for body, colour in zip(scene._bodies, chosen, strict=True):
        server.scene.add_point_cloud(
            f'{body.name}/marker', np.zeros((1, 3)), colour, point_size=0.012 * scene.extent,
            point_shape='square', precision='float32',
        )  # fmt: skip
    return np.array(chosen)


class Camera:
    """Projects like the browser when it has just opened a view."""

    def __init__(self, server, box):
        start = server.initial_camera
        self.eye = np.array(start.position)
        ahead = np.array(start.look_at) - self.eye
        self.ahead = ahead / np.linalg.norm(ahead)
        side = np.cross(self.ahead, [0.0, 0.0, 1.0])
        self.side = side / np.linalg.norm(side)
        self.up = np.cross(self.side, self.ahead)
        self.scale = 0.5 * box['height'] / np.tan(0.5 * start.fov)
        self.middle = np.array([box['x'] + 0.5 * box['width'], box['y'] + 0.5 * box['height']])

    def __call__(self, points):
        away = np.atleast_2d(points) - self.eye
        depth = away @ self.ahead
        return self.middle + self.scale * np.stack(
            [away @ self.side / depth, -(away @ self.up) / depth], axis=1
        )


def picture(page):
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(page.screenshot())).convert('RGB')).astype(int)


def seen_markers(pixels, colours, expected):
    """Centre (x, y) of each marker seen completely near a given place, NaN for the others."""
    found, areas = np.full((len(colours), 2), np.nan), np.zeros(len(colours))
    for k, (colour, place) in enumerate(zip(colours, np.round(expected).astype(int), strict=True)):
        left, top = np.maximum(place - AROUND, 0)
        part = pixels[top : place[1] + AROUND, left : place[0] + AROUND]
        rows, columns = np.nonzero(np.abs(part - colour).max(axis=2) <= 10)
        if len(rows) > 8:
            found[k] = left + columns.mean() + 0.5, top + rows.mean() + 0.5
            areas[k] = len(rows)
    whole = areas > 0.85 * np.median(areas[areas > 0.0]) if areas.any() else areas > 0.0
    return np.where(whole[:, None], found, np.nan)


def check_markers(page, colours, expected, camera):
    """Check that all markers seen are at Pinocchio's origins."""
    for _ in range(60):  # what is asked for is drawn a little later
        wanted = camera(expected)
        away = np.linalg.norm(seen_markers(picture(page), colours, wanted) - wanted, axis=1)
        count = np.count_nonzero(np.isfinite(away))
        if count >= 8 and np.nanmax(away) <= NEAR:
            return
        page.wait_for_timeout(500)
    raise AssertionError(f'{count} markers, away by {np.round(away, 1)} pixels')


def hide_shapes(server):
    """Hide everything that could cover markers and forces; other tests show shapes."""
    for name, handle in server.scene._handle_from_node_name.items():
        kept = name.endswith('marker') or name.endswith('/arrows/food')
        if not kept and not isinstance(handle, viser.FrameHandle):
            handle.visible = False


def stays_here(page, *prefixes):
    allowed = ('data:', 'blob:', *prefixes)
    return [address for address in page.asked if not address.startswith(allowed)] == []


def scrubbed(page, bar, wanted):
    """The time on the scrub bar once it has reached the requested one, s."""
    for _ in range(120):
        now = float(bar.get_attribute('aria-valuenow'))
        if abs(now - wanted) < 0.1:
            return now
        page.wait_for_timeout(250)
    raise AssertionError(f'{now} s on the bar, {wanted} s was asked for')


def canvas_of(page):
    """The largest canvas, on which the scene is drawn."""
    boxes = [c.bounding_box() for c in page.locator('canvas').all()]
    return max(filter(None, boxes), key=lambda box: box['width'] * box['height'])


@pytest.mark.sweep  # the live view is the same page
def test_html_file_shows_links_arrows_and_curves_in_time(page, server, run, tmp_path) -> None:
    from masticator_dynamics.robot.view.scene_player import ScenePlayer

    player = ScenePlayer(server, [run])
    (scene,) = player._scenes
    colours = marked(server, scene)
    hide_shapes(server)
    file = tmp_path / 'run.html'
    file.write_text(player.html(), encoding='utf-8')
    page.goto(file.as_uri())
    bar = page.locator('[role=slider]')
    bar.wait_for(state='attached')
    page.keyboard.press('Space')  # pause
    track = page.locator('.mantine-Slider-track').first.bounding_box()
    camera = Camera(server, canvas_of(page))
    for part in (0.75, 0.3):  # forth, and back
        page.mouse.click(track['x'] + part * track['width'], track['y'] + 0.5 * track['height'])
        now = scrubbed(page, bar, part * player.end)
        shown = np.floor(now * FRAME_RATE + 1e-6) / FRAME_RATE
        row = int(np.searchsorted(run.time, shown - 1e-9))
        check_markers(page, colours, origins(run.mechanism, run.q[row]), camera)

        force, scale = run.forces['food'], player._scales[0][0]
        middle = force.points[row] + 0.5 * force.vectors[row] / scale
        ((x, y),) = np.round(camera(middle)).astype(int)
        red, green, _ = picture(page)[y - 2 : y + 3, x - 2 : x + 3].reshape(-1, 3).mean(axis=0)
        assert red > 1.5 * green, (red, green)

        told = page.evaluate(
            """() => [...document.querySelectorAll('#curves-panel canvas')].map(canvas => {
                const pen = canvas.getContext('2d');
                const row = pen.getImageData(0, 1, canvas.width, 1).data;
                const whole = pen.getImageData(0, 0, canvas.width, canvas.height).data;
                let at = -1, blue = 0;
                for (let x = 0; x < canvas.width; x++) if (row[4 * x + 3] > 200) at = x;
                for (let k = 0; k < whole.length; k += 4)
                  if (whole[k] < 120 && whole[k + 2] > 150 && whole[k + 3] > 100) blue++;
                return [+canvas.dataset.time, at, blue];
            })"""
        )
        assert len(told) == 2  # efforts and forces
        for time, at, blue in told:
            assert time == pytest.approx(now, abs=1e-6) and blue > 50
            assert at == pytest.approx(44 + (320 - 48) * now / run.time[-1], abs=1.5)
    assert stays_here(page, file.as_uri())


@pytest.mark.sweep
def test_html_file_without_webgl_says_so_and_shows_a_still(page, server, run, tmp_path) -> None:
    from masticator_dynamics.robot.view.scene_player import ScenePlayer

    file = tmp_path / 'run.html'
    file.write_text(ScenePlayer(server, [run]).html(), encoding='utf-8')
    page.add_init_script(
        """const make = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function(kind, ...more) {
          return kind.startsWith('webgl') ? null : make.call(this, kind, ...more);
        };"""
    )
    page.goto(file.as_uri())
    page.get_by_text('cannot draw in three dimensions').wait_for()
    width = page.locator('img[alt=chewing]').evaluate('image => image.naturalWidth')
    assert width == 500


def test_live_view_shows_links_where_they_are(page, server, run) -> None:
    from masticator_dynamics.robot.view.scene import Scene
    from masticator_dynamics.robot.view.scene_player import look_at

    scene = Scene(server.scene, run.mechanism)
    look_at(server, run.mechanism)
    colours = marked(server, scene)
    hide_shapes(server)
    address = f'http://127.0.0.1:{server.get_port()}'
    page.goto(address)
    page.locator('canvas').first.wait_for()
    for row in (0, 100):
        scene.pose(run.q[row])
        camera = Camera(server, canvas_of(page))
        check_markers(page, colours, origins(run.mechanism, run.q[row]), camera)
    assert stays_here(page, address, address.replace('http', 'ws'))
