# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""RViz itself, where it is installed: launch files on a virtual display, looked at.

RViz reports no error and warns of nothing, the robot is inside the window, and so are arrows and
arcs. The pictures stay in the folder that MASTICATOR_PICTURES names, if it does.
"""

import contextlib
import ctypes
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from processes import PATIENCE, children, runs, wait_for

from masticator_dynamics.description import archetypes, load_description
from nodes.launch_files import needs_launch

pytestmark = [
    pytest.mark.clock,
    needs_launch,
    pytest.mark.skipif(not shutil.which('Xvfb'), reason='Xvfb, the virtual display, is missing'),
    pytest.mark.skipif(not shutil.which('import'), reason='ImageMagick takes the pictures'),
]
STARTS = 120.0  # s for nodes and RViz to be there, on a busy computer too
SETTLES = 8.0  # s more until everything is drawn
SIZE = 1200, 800  # of RViz's window
SCENE = slice(64, 768), slice(366, 1182)  # of it, rows and columns that show the robot
BACKGROUND = 70, 76, 84
TROUBLE = re.compile(r'^\[rviz2-\d+\].*(\[ERROR\]|\[WARN\]|dropping message)', re.MULTILINE)


def installed(package):
    from ament_index_python.packages import get_package_prefix

    try:
        get_package_prefix(package)
    except (LookupError, OSError):
        return False
    return True


@pytest.fixture(scope='module', autouse=True)
def rviz():
    for package in ('rviz2', 'robot_state_publisher'):
        if not installed(package):
            pytest.skip(f'{package} is not installed')


@pytest.fixture(scope='module')
def display(tmp_path_factory):
    """A virtual display of its own number."""
    number = tmp_path_factory.mktemp('display') / 'number'
    with number.open('w') as file:
        command = ['Xvfb', '-displayfd', str(file.fileno()), '-screen', '0', '1300x900x24']
        process = subprocess.Popen(command, pass_fds=[file.fileno()], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20.0
        while not number.read_text().strip() and time.monotonic() < deadline:
            time.sleep(0.2)
        yield f':{number.read_text().strip()}'
    finally:
        process.terminate()
        process.wait()


class Launched:
    """A launch file with RViz on a display."""

    def __init__(self, display, folder, name, **arguments):
        self._display = display
        self.log_file = folder / f'{name}.log'
        arguments = {'gui': 'true'} | arguments
        words = [f'{key}:={value}' for key, value in arguments.items() if value]
        start = 'from ros2cli.cli import main; raise SystemExit(main())'
        command = [
            sys.executable, '-c', start, 'launch', 'masticator_dynamics', f'{name}.launch.py',
            *words,
        ]  # fmt: skip
        environment = os.environ | {
            'DISPLAY': display, 'LIBGL_ALWAYS_SOFTWARE': '1', 'QT_X11_NO_MITSHM': '1',
            'ROS_LOG_DIR': str(folder), 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        }  # fmt: skip
        with self.log_file.open('w') as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env=environment,
                start_new_session=True,
            )  # fmt: skip

    def log(self):
        return self.log_file.read_text(errors='replace')

    def wait_for(self, pattern):
        deadline = time.monotonic() + STARTS
        while not re.search(pattern, self.log()):
            assert self._process.poll() is None, self.log()
            assert time.monotonic() < deadline, f'no {pattern!r}:\n{self.log()}'
            time.sleep(0.5)

    def picture(self, file, part=SCENE):
        """Colours (rows, columns, 3) of a part of the display: by default that with the robot."""
        window = f'{SIZE[0]}x{SIZE[1]}+0+0'
        command = ['import', '-display', self._display, '-window', 'root', '-crop', window]
        subprocess.run([*command, '+repage', '-depth', '8', str(file)], check=True, timeout=60)
        import matplotlib.image

        return np.rint(255 * matplotlib.image.imread(file)[..., :3])[part]

    def end(self, number=signal.SIGTERM):
        """End launch, and only it: what it has started ends with it."""
        started = children(self._process.pid) if self._process.poll() is None else []
        try:
            self._process.send_signal(number)
            self._process.wait(PATIENCE)
            wait_for(lambda: not any(map(runs, started)), f'the end of {started}')
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


@pytest.fixture
def launched(display, ros_domain, tmp_path):
    started = []

    def start(name, **arguments):
        started.append(Launched(display, tmp_path, name, **arguments))
        return started[-1]

    yield start
    for each in started:
        each.end()


@pytest.fixture
def food(ros_domain):
    """A bite of 60 N on a molar, in a namespace, from now on."""
    publish = """
    import sys, time
    import rclpy
    from geometry_msgs.msg import WrenchStamped
    rclpy.init()
    node = rclpy.create_node('food', namespace=sys.argv[1])
    publisher = node.create_publisher(WrenchStamped, 'bite_force', 5)
    message = WrenchStamped()
    message.header.frame_id, message.wrench.force.z = sys.argv[2], -60.0
    while True:
        publisher.publish(message)
        time.sleep(0.02)
    """
    started = []

    def bite(namespace, frame):
        import textwrap

        command = [sys.executable, '-c', textwrap.dedent(publish), namespace, frame]
        started.append(subprocess.Popen(command))

    yield bite
    for each in started:
        each.kill()
        each.wait()


def near(picture, colour, tolerance):
    """Pixels (rows, columns) whose hue and brightness are about those of a colour."""
    return np.abs(picture - np.array(colour)).max(axis=-1) <= tolerance


def is_grid(picture):
    """Thin grey lines on the background: all that is grey and not much brighter than it."""
    spread = picture.max(axis=-1) - picture.min(axis=-1)
    return (spread < 20) & (picture.max(axis=-1) < 135) & (picture.max(axis=-1) > 70)


def check_scene(picture):
    """The robot is seen, whole: something, not too little, and nothing at the window's edges."""
    thing = ~near(picture, BACKGROUND, 4) & ~is_grid(picture)
    assert 0.01 < thing.mean() < 0.6, f'{thing.mean():.1%} of the window show something'
    edge = np.concatenate(
        [thing[:3].ravel(), thing[-3:].ravel(), thing[:, :3].ravel(), thing[:, -3:].ravel()]
    )
    assert edge.mean() < 0.01, 'the robot is cut off'


def forces_not_seen(picture):
    """Which of food, sockets and torques have no arrows or arcs."""
    red, green, blue = np.moveaxis(picture, -1, 0)
    rear = np.arange(picture.shape[1]) > picture.shape[1] // 2  # columns; the path is before them
    arrows = {
        'food': (red > 150) & (red > 2.0 * green) & (red > 1.6 * blue),
        'sockets': (blue > 120) & (green > 120) & (red < 0.45 * blue) & rear,
        'torques': (green > 120) & (green > 1.8 * blue) & (green > 1.2 * red),
    }
    return [what for what, pixels in arrows.items() if pixels.sum() < 20]


def trouble(log):
    """Lines in which RViz complains."""
    return [line for line in log.splitlines() if TROUBLE.search(line)]


def enlarge(display, width, height):
    """Give all windows of a display a size; without a window manager they have their least."""
    x11 = ctypes.CDLL('libX11.so.6')
    x11.XOpenDisplay.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(x11.XOpenDisplay(display.encode()))
    x11.XDefaultRootWindow.restype = ctypes.c_ulong
    root, count = ctypes.c_ulong(x11.XDefaultRootWindow(connection)), ctypes.c_uint()
    windows, others = ctypes.POINTER(ctypes.c_ulong)(), (ctypes.c_ulong * 2)()
    first, second = (ctypes.byref(others, 8 * k) for k in range(2))
    x11.XQueryTree(connection, root, first, second, ctypes.byref(windows), ctypes.byref(count))
    for window in windows[: count.value]:
        x11.XResizeWindow(connection, ctypes.c_ulong(window), width, height)
    x11.XCloseDisplay(connection)


def kept(tmp_path, name):
    """File of a picture."""
    folder = os.environ.get('MASTICATOR_PICTURES')
    return pathlib.Path(folder or tmp_path) / f'{name}.png'


NAMES = ('masticator', 'rss6', 'rcid', 'rrr4', 'trimule', 'trimule_five_axis')
SOME = [str(a) for a in archetypes() if pathlib.Path(a).stem in ('excavator', 'stewart', 'delta')]


def moved_joints():
    """Names in the next message on joint_states_in."""
    import rclpy
    from sensor_msgs.msg import JointState

    context, names = rclpy.Context(), []
    rclpy.init(context=context)
    node = rclpy.create_node('onlooker', context=context)
    node.create_subscription(JointState, 'joint_states_in', lambda m: names.extend(m.name), 1)
    executor = rclpy.executors.SingleThreadedExecutor(context=context)
    executor.add_node(node)
    try:
        wait_for(lambda: executor.spin_once(0.1) or names, 'a message of the sliders')
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)
    return names


@pytest.mark.parametrize('mechanism', [*NAMES, *SOME])
def test_view_shows_every_mechanism_whole_with_its_own_sliders(launched, mechanism, tmp_path):
    if not installed('joint_state_publisher_gui'):
        pytest.skip('joint_state_publisher_gui is not installed')
    seen = launched('view', mechanism=mechanism)
    seen.wait_for(r'rviz2.*OpenGl')
    seen.wait_for(r'\[joint_state_completion\]: \w+: ')
    time.sleep(SETTLES)
    check_scene(seen.picture(kept(tmp_path, f'view_{pathlib.Path(mechanism).stem}')))
    assert moved_joints() == list(load_description(mechanism).independent)
    assert trouble(seen.log()) == []


@pytest.mark.parametrize(('namespace', 'prefix'), [('', ''), ('left', 'left/')])
def test_bringup_shows_torques_sockets_and_food(launched, food, namespace, prefix, tmp_path):
    seen = launched('bringup', use_fake_planner='true', namespace=namespace, frame_prefix=prefix)
    seen.wait_for(r'rviz2.*OpenGl')
    seen.wait_for(r'dynamics\]: masticator: efforts of')
    food(namespace or '/', f'{prefix}molar_left')
    time.sleep(SETTLES)
    picture = seen.picture(kept(tmp_path, f'bringup_{namespace or "alone"}'))
    check_scene(picture)
    assert forces_not_seen(picture) == []
    assert trouble(seen.log()) == []


def test_a_bag_played_back_shows_robot_and_forces(launched, food, tmp_path, monkeypatch):
    """Recorded and played by rosbag2 itself, where it is installed."""
    if not installed('ros2bag'):
        pytest.skip('ros2bag is not installed')
    monkeypatch.chdir(tmp_path)
    recorded = launched('bringup', gui='false', record='true', use_fake_planner='true')
    recorded.wait_for(r'dynamics\]: masticator: efforts of')
    food('/', 'molar_left')
    time.sleep(SETTLES)
    recorded.end(signal.SIGINT)
    (bag,) = tmp_path.glob('masticator_*')
    seen = launched('view', bag=bag)
    seen.wait_for(r'rviz2.*OpenGl')
    file = kept(tmp_path, 'bag')
    # The recording begins before the node is there, and is played again and again.
    wait_for(lambda: not forces_not_seen(seen.picture(file)), 'forces', STARTS)
    check_scene(seen.picture(file))
    backwards = 'Detected jump back in time'  # the recording begins again
    assert [line for line in trouble(seen.log()) if backwards not in line] == []


def test_rqt_plot_started_with_the_node_shows_all_curves(launched, display, food, tmp_path):
    if not installed('rqt_plot'):
        pytest.skip('rqt_plot is not installed')
    seen = launched('bringup', gui='false', plots='true', use_fake_planner='true')
    seen.wait_for(r'dynamics\]: masticator: efforts of')
    food('/', 'molar_left')
    time.sleep(SETTLES)
    enlarge(display, 900, 480)
    time.sleep(SETTLES)
    beside_names = slice(120, 480), slice(350, 900)
    picture = seen.picture(kept(tmp_path, 'rqt_plot'), beside_names)
    curves = (0, 0, 255), (255, 0, 0), (0, 255, 255), (255, 0, 255), (0, 255, 0), (128, 128, 0)
    lacking = [curve for curve in curves if near(picture, curve, 60).sum() < 30]
    assert lacking == []


@pytest.mark.parametrize(('name', 'given'), [('robot', {'hardware': 'mock'}), ('twin', {})])
def test_the_robot_at_rest_and_its_twin_are_shown(launched, name, given, tmp_path):
    if not installed('controller_manager'):
        pytest.skip('controller_manager is not installed')
    seen = launched(name, **given)
    seen.wait_for(r'rviz2.*OpenGl')
    seen.wait_for(r'dynamics\]: masticator: efforts of')
    seen.wait_for(r'Configured and activated.*joint_trajectory_controller')
    time.sleep(SETTLES)
    check_scene(seen.picture(kept(tmp_path, name)))
    assert trouble(seen.log()) == []
