# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Class Feedforward of package masticator_control, compiled without ROS, against Python.

It is played by ``masticator_control/test/feedforward_main.cpp``, under sanitizers, with the
exported C of each mechanism. ``CONTROLLER_STATES`` sets how many states of each are tried.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import subprocess
from collections.abc import Iterable

import numpy as np
import pytest
import samples

from masticator_dynamics.engine.traced.c_files import c_files

PACKAGE = samples.ROOT / 'masticator_control'
STATES = int(os.environ.get('CONTROLLER_STATES', '2000'))
NAMES = ['masticator', 'rcid', 'rrr4', 'five_bar', 'trimule']
STRICT = ('-Wall', '-Wextra', '-Wpedantic', '-Werror')
SANITIZED = ('-fsanitize=address,undefined', '-fno-sanitize-recover=all')
NOT_FINITE, FAR = 'not finite', 'too far from the last pose'
UNREACHABLE = 'out of reach or near a singularity'
OUT_OF_RANGE, OPEN_LOOPS = 'outside the ranges of joints', 'the loops do not close'
WITHOUT_COMPILER = not (shutil.which('gcc') and shutil.which('g++'))
pytestmark = pytest.mark.skipif(WITHOUT_COMPILER, reason='there is no g++')


def words(*arrays: object) -> str:
    return ' '.join(repr(float(x)) for array in arrays for x in np.ravel(array))


class Rows:
    """Steps as printed."""

    def __init__(self, lines: list[str], motors: int):
        parts = [line.split('#') for line in lines]
        self.refusal = np.array([reason.strip() for _, reason in parts])
        numbers = np.array([[float(x) for x in row.split()] for row, _ in parts])
        self.good, self.failed = self.refusal == '', numbers[:, 0] == 0
        self.clamped, self.stale = numbers[:, 1] == 1, numbers[:, 2]
        assert not numbers[:, 3].any(), 'a step has allocated memory'
        self.efforts, self.positions, self.velocities, self.accelerations = np.split(
            numbers[:, 4:], 4, axis=1
        )
        assert self.efforts.shape[1] == motors


class Player:
    """The class for a mechanism."""

    def __init__(self, name: str, folder: pathlib.Path):
        self.mechanism = mechanism = samples.mechanism(name)
        self.motors = len(mechanism.actuated)
        files = c_files(
            mechanism.description, mechanism.structure, effort_range=mechanism.effort_range,
            name='exported',
        )  # fmt: skip
        for file, text in files.items():
            (folder / file).write_text(text, encoding='utf-8')
        table = (PACKAGE / 'cmake' / 'mechanism.c.in').read_text(encoding='utf-8')
        table = table.replace('@name@', 'exported').replace('@upper@', 'EXPORTED')
        (folder / 'table.c').write_text(table, encoding='utf-8')
        include = [f'-I{PACKAGE / "include"}', f'-I{folder}']
        self._program = folder / 'player'
        objects = []
        for source in (folder / 'exported.c', folder / 'table.c'):
            objects.append(source.with_suffix('.o'))
            compiled(
                'gcc', '-std=c99', '-O0', *SANITIZED, *include, '-c', source, '-o', objects[-1]
            )
        compiled(
            'g++', '-std=c++17', '-O1', '-Wconversion', '-Wshadow', *SANITIZED, *include,
            PACKAGE / 'test' / 'feedforward_main.cpp', *objects, '-o', self._program,
        )  # fmt: skip

    def play(self, commands: Iterable[str]) -> list[str]:
        """The printed lines."""
        done = subprocess.run(
            [self._program], input='\n'.join(commands), capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.splitlines()

    def started(self, q: samples.Array, **given: float) -> list[str]:
        """Commands that set up the class, and begin at joint positions and efforts of 0."""
        settings = {
            'proportional': 0.0, 'derivative': 0.0, 'limit': 0.0, 'tolerance': 0.01,
            'conditioning': 0.02, 'step': 0.1, 'hold': 0.05, 'ramp': 0.0, 'cutoff': 300.0,
            'timeout': 0.1,
        } | given  # fmt: skip
        return [f'settings {words(*settings.values())}', f'start {words(q, np.zeros(self.motors))}']

    def step(self, q, v, a, measured=None, rates=None, period=0.001) -> str:
        measured = q if measured is None else measured
        rates = v if rates is None else rates
        return f'step {words(period, q, v, a, measured, rates)}'

    def wrench(self, slot: int, axes: str, point: str, value: samples.Array, age: float) -> str:
        frames = [frame for frame in self.mechanism.structure.tree.frames if self.rigid(frame)]
        return f'wrench {slot} {frames.index(axes)} {frames.index(point)} {words(value, age)}'

    def rigid(self, frame: str) -> bool:
        """Whether a frame is fixed to the platform or to the base."""
        frames = self.mechanism.structure.tree.frames
        return frames[frame].body in (-1, frames[self.mechanism.description.platform].body)

    def rows(self, commands: Iterable[str]) -> Rows:
        """Steps after the start."""
        first, *lines = self.play(commands)
        assert first == '', first
        return Rows(lines, self.motors)

    def joints(self, state) -> tuple[samples.Array, ...]:
        """Positions, velocities and accelerations (..., n_u) of the actuated joints, by Python."""
        motion = self.mechanism.solve(state.y, state.y_dot, state.y_ddot)
        return tuple(x[self.mechanism.actuated_rows] for x in (motion.q, motion.v, motion.a))


def compiled(compiler: str, *arguments: object) -> None:
    done = subprocess.run([compiler, *STRICT, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode and 'asan' in done.stderr:
        pytest.skip('there are no sanitizers')
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope='module')
def players(tmp_path_factory: pytest.TempPathFactory):
    made: dict[str, Player] = {}

    def of(name: str) -> Player:
        if name not in made:
            made[name] = Player(name, tmp_path_factory.mktemp('player'))
        return made[name]

    return of


def by_python(mechanism, states, wrenches=None) -> samples.Array:
    """Efforts (N, n_u) within the motors' limits."""
    parts = [np.array([getattr(s, part) for s in states]) for part in ('y', 'y_dot', 'y_ddot')]
    efforts = mechanism.feedforward_batch(*parts, wrenches).actuated
    return np.clip(efforts, *mechanism.effort_range)


@pytest.mark.parametrize('name', samples.swept(NAMES, ['masticator']))
def test_efforts_are_those_of_python(name: str, players) -> None:
    """Each state from the last one, far away; with the wrench of a frame of the mechanism.

    Jumps of rrr4 are in another test.
    """
    player = players(name)
    mechanism = player.mechanism
    states = samples.states(name, STATES, seed=5101)
    if name == 'rrr4':
        home, way = mechanism.home.y, states[0].y - mechanism.home.y
        turns = np.sin(np.linspace(0.0, 2.0 * np.pi, STATES))
        states = [
            dataclasses.replace(state, y=home + turn * way)
            for state, turn in zip(states, turns, strict=True)
        ]
    motion = mechanism.solve_batch(*(
        np.array([getattr(s, part) for s in states]) for part in ('y', 'y_dot', 'y_ddot')
    ))  # fmt: skip
    frames = [mechanism.description.platform, mechanism.frames[0], mechanism.frames[-1]]
    frames = [frame for frame in frames if player.rigid(frame)]
    at = mechanism.actuated_rows
    commands, wrenches = player.started(mechanism.home.q[at], hold=1e9, step=1e9), []
    for i, state in enumerate(states):
        axes, point = frames[i % len(frames)], frames[i // 2 % len(frames)]
        wrenches.append(on_platform(mechanism, state, axes, point))
        commands.append(player.wrench(0, axes, point, state.wrench, 0.0))
        commands.append(player.step(motion.q[i, at], motion.v[i, at], motion.a[i, at]))
    rows = player.rows(commands)
    expected = by_python(mechanism, states, np.array(wrenches))
    error = np.abs(rows.efforts - expected).max(axis=1) / np.abs(expected).max(axis=1)
    inside = motion.in_ranges
    assert rows.good[inside].mean() > 0.98
    assert set(rows.refusal[~rows.good & ~inside]) <= {OUT_OF_RANGE}
    assert error[rows.good].max() < 1e-9


def jumps(player: Player, count: int) -> tuple[list[object], list[str]]:
    """States of rrr4 on home's side of its singularity, and steps to them, each from the last one.

    There, at an angle of 1.70 to 1.73 rad, all four legs lose hold of the platform's turn at once;
    a pose beyond it fits nearly the same motors.
    """
    rng = np.random.default_rng(5105)
    states, steps = [], []
    for state in samples.states('rrr4', count, seed=5105):
        if states:  # half of them are within reach of the last pose
            part = 10.0 ** rng.uniform(-2.0, 0.0)
            last = states[-1].y
            state = dataclasses.replace(state, y=last + part * (state.y - last))
        if state.y[2] > 1.75:
            states.append(state)
            steps.append(player.step(*player.joints(state)))
    return states, steps


def test_no_jump_is_closed_on_another_branch(players) -> None:
    """What is not refused has the efforts of the state that was meant, wherever it came from."""
    player = players('rrr4')
    at_home = player.mechanism.home.q[player.mechanism.actuated_rows]
    states, steps = jumps(player, STATES)
    rows = player.rows([*player.started(at_home, hold=1e9), *steps])
    expected = by_python(player.mechanism, states)
    error = np.abs(rows.efforts - expected).max(axis=1)[rows.good]
    assert set(rows.refusal) <= {'', FAR, UNREACHABLE}
    assert rows.good.sum() > 0.2 * len(states) and (rows.refusal == FAR).sum() > 0.1 * len(states)
    assert error.max() < 1e-9 * np.abs(expected).max()


def test_a_pose_that_motors_hardly_determine_is_refused(players) -> None:
    """Of rrr4 next to its singularity, at a fiftieth of the hold that motors have at home."""
    player = players('rrr4')
    mechanism = player.mechanism
    poses = [mechanism.solve([0.0, 0.0, angle]) for angle in (1.8, 1.73)]
    q, near = (pose.q[mechanism.actuated_rows] for pose in poses)
    step = player.step(near, 0.0 * near, 0.0 * near)
    for least, refusal in ((0.02, UNREACHABLE), (0.0, '')):
        rows = player.rows([*player.started(q, conditioning=least, step=1e9), step])
        assert rows.refusal.tolist() == [refusal]


def test_a_reference_far_away_is_refused(player, state) -> None:
    """Beyond `largest_step` of any motor, from the last one or from where it was activated."""
    q, v, a = player.joints(state)
    motion = player.mechanism.solve(state.y + np.array([0.0, 0.0, 0.0, 0.1]))
    far = motion.q[player.mechanism.actuated_rows]
    step = np.abs(far - q).max()
    for largest, refusal in ((1.1 * step, ''), (0.9 * step, FAR)):
        rows = player.rows([*player.started(q, step=largest), player.step(far, 0.0 * v, 0.0 * a)])
        assert rows.refusal.tolist() == [refusal]
        np.testing.assert_array_equal(rows.positions[0], q if refusal else far)


def on_platform(mechanism, state, axes: str, point: str) -> samples.Array:
    """The state's wrench, in a frame's axes at another's origin, on the platform in base axes."""
    motion = mechanism.solve(state.y)
    turn = mechanism.frame_pose(motion, axes).rotation
    platform = mechanism.frame_pose(motion, mechanism.description.platform).position
    force, torque = turn @ state.wrench[:3], turn @ state.wrench[3:]
    arm = mechanism.frame_pose(motion, point).position - platform
    return np.concatenate([force, torque + np.cross(arm, force)])


def test_references_off_by_counts_are_fitted(players) -> None:
    player = players('masticator')
    mechanism, rng = player.mechanism, np.random.default_rng(5102)
    count = 2.0 * np.pi / 4096 / 4.8
    commands, expected = player.started(mechanism.home.q[mechanism.actuated_rows], step=1e9), []
    for state in samples.states('masticator', 100, seed=5102):
        q, v, a = player.joints(state)
        noisy = q + rng.uniform(-0.5, 0.5, player.motors) * count
        commands.append(player.step(noisy, v, a))
        y = mechanism.forward_kinematics(noisy, tolerance=0.01)
        motion = mechanism.solve(y)
        jacobian = mechanism.jacobian_actuated_from_independent(motion)
        y_dot = np.linalg.lstsq(jacobian, v, rcond=None)[0]
        drift = mechanism.solve(y, y_dot).a[mechanism.actuated_rows]
        y_ddot = np.linalg.lstsq(jacobian, a - drift, rcond=None)[0]
        expected.append(mechanism.feedforward(y, y_dot, y_ddot).actuated)
    rows = player.rows(commands)
    assert rows.good.all()
    assert samples.relative_error(rows.efforts, expected) < 1e-7


@pytest.fixture
def player(players) -> Player:
    return players('masticator')


@pytest.fixture
def state():
    return samples.states('masticator', 1, seed=5103)[0]


def test_what_is_refused_is_held_for_a_time_and_then_fails(player, state) -> None:
    q, v, a = player.joints(state)
    far, broken, endless = q.copy(), q.copy(), v.copy()
    far[:] += [2.0, -2.0, 2.0, -2.0, 2.0, -2.0]
    broken[2], endless[4] = np.nan, np.inf
    open_loop = q + 0.05 * np.eye(6)[3]
    for row, reasons in (
        ((far, v, a), {UNREACHABLE, OPEN_LOOPS, OUT_OF_RANGE, FAR}),
        ((broken, v, a), {NOT_FINITE}),
        ((q, endless, a), {NOT_FINITE}),
        ((open_loop, v, a), {OPEN_LOOPS}),
    ):
        steps = [player.step(q, v, a), *[player.step(*row)] * 52, player.step(q, v, a)]
        rows = player.rows(player.started(q) + steps)
        assert rows.good.tolist() == [True, *[False] * 52, True]
        assert set(rows.refusal[1:-1]) <= reasons
        assert not rows.failed[:50].any() and rows.failed[52:-1].all() and not rows.failed[-1]
        for held in (rows.efforts, rows.positions, rows.velocities):
            np.testing.assert_array_equal(held[1:-1], held[[0] * 52])
            np.testing.assert_allclose(held[-1], held[0], rtol=1e-12)


def test_a_pose_beyond_the_ranges_is_refused(players) -> None:
    """The five-bar's motors turn through 2.9 rad; its C says so by code 2."""
    player = players('rcid')
    upper = player.mechanism.limits.upper[player.mechanism.actuated_rows]
    assert np.isfinite(upper).all()
    home = player.mechanism.home.q[player.mechanism.actuated_rows]
    beyond, zero = upper + 0.01, np.zeros(player.motors)
    rows = player.rows([*player.started(home, step=1e9), player.step(beyond, zero, zero)])
    assert not rows.failed[0] and rows.refusal[0] in (OUT_OF_RANGE, UNREACHABLE)


def test_no_reference_holds_the_pose_of_activation(player, state) -> None:
    q, _, _ = player.joints(state)
    unknown = np.full(player.motors, np.nan)
    rows = player.rows([*player.started(q), player.step(unknown, unknown, unknown, q, 0.0 * q)])
    expected = player.mechanism.feedforward(state.y).actuated
    assert samples.relative_error(rows.efforts[0], expected) < 1e-9


def test_activation_needs_closed_loops(player, state) -> None:
    q, _, _ = player.joints(state)
    settings, _ = player.started(q)
    wrong = q + 0.2 * np.eye(6)[1]
    for position, said in ((wrong, 'crank_2 is off by'), (q * np.nan, 'not finite'), (q + 3.0, '')):
        (line,) = player.play([settings, f'start {words(position, 0.0 * q)}'])
        assert line != '' and said in line


def test_activation_begins_at_the_commanded_efforts(player, state) -> None:
    q, v, a = player.joints(state)
    settings, _ = player.started(q, ramp=0.2)
    commanded = np.linspace(-0.1, 0.1, player.motors)
    start = f'start {words(q, commanded)}'
    steps = [player.step(q, v, a)] * 202
    efforts = player.rows([settings, start, *steps]).efforts
    own = player.mechanism.feedforward(state.y, state.y_dot, state.y_ddot).actuated
    np.testing.assert_array_equal(efforts[0], commanded)
    np.testing.assert_allclose(efforts[100], (commanded + own) / 2.0, atol=1e-9)
    np.testing.assert_allclose(efforts[-1], own, atol=1e-9)
    assert np.abs(np.diff(efforts, axis=0)).max() < np.abs(own - commanded).max() / 199.0


def test_feedback_is_limited_and_all_is_clamped(player, state) -> None:
    q, v, a = player.joints(state)
    own = player.mechanism.feedforward(state.y, state.y_dot, state.y_ddot).actuated
    given = {'proportional': 2.0, 'derivative': 0.1, 'limit': 0.03}
    error, slip = (
        np.array([0.01, -0.01, 0.004, 0.0, 1.0, -1.0]),
        np.array([0.0, 0.0, 0.1, 0.2, 0, 0]),
    )
    wanted = np.clip(2.0 * error + 0.1 * slip, -0.03, 0.03)
    rows = player.rows([*player.started(q, **given), player.step(q, v, a, q - error, v - slip)])
    np.testing.assert_allclose(rows.efforts[0], own + wanted, atol=1e-9)
    highest = player.mechanism.effort_range[1]
    given = {'proportional': 1e3, 'derivative': 0.0, 'limit': 1e3}
    rows = player.rows([*player.started(q, **given), player.step(q, v, a, q - 1.0)])
    np.testing.assert_allclose(rows.efforts[0], highest)
    assert rows.clamped[0]
    unknown = player.step(q, v, a, q * np.nan)
    rows = player.rows([*player.started(q, **given), unknown])
    assert rows.refusal[0] == NOT_FINITE


def test_a_wrench_that_stops_coming_counts_as_zero(player, state) -> None:
    """Until it is as old as the time-out, its age at arrival included; two sources add up."""
    q, v, a = player.joints(state)
    frame = player.mechanism.description.platform
    step, bite = player.step(q, v, a), player.wrench(0, frame, frame, state.wrench, 0.0)
    other = player.wrench(1, frame, frame, state.wrench, 0.0)
    late = player.wrench(0, frame, frame, state.wrench, 0.0405)
    rows = player.rows([*player.started(q), step, late, *[step] * 70, other, step])
    free = rows.efforts[0]
    with_bite = np.abs(rows.efforts - free).max(axis=1) > 1e-6
    assert with_bite.tolist() == [False] + [True] * 60 + [False] * 10 + [True]
    assert rows.stale.tolist() == [0] * 60 + [1] * 12
    np.testing.assert_allclose(rows.efforts[-1], rows.efforts[1], atol=1e-12)
    both = player.rows([*player.started(q), bite, other, step]).efforts[0]
    np.testing.assert_allclose(both - free, 2.0 * (rows.efforts[1] - free), atol=1e-9)


def test_a_wrench_of_before_activation_does_not_count(player, state) -> None:
    """However old it was when it arrived: since then nobody has counted."""
    q, v, a = player.joints(state)
    frame = player.mechanism.description.platform
    settings, start = player.started(q)
    bite, step = player.wrench(0, frame, frame, state.wrench, 0.0), player.step(q, v, a)
    rows = player.rows([settings, bite, start, step, bite, step])
    free = player.mechanism.feedforward(state.y, state.y_dot, state.y_ddot).actuated
    np.testing.assert_allclose(rows.efforts[0], free, atol=1e-9)
    assert np.abs(rows.efforts[1] - free).max() > 1e-3


def test_positions_alone_are_differentiated(player) -> None:
    """A slow sine has its derivatives, behind by 2 / cutoff."""
    mechanism = player.mechanism
    home = mechanism.home.q[mechanism.actuated_rows]
    times = np.arange(4000) * 1e-3
    omega = 2.0 * np.pi
    y = np.zeros((len(times), 4)) + mechanism.home.y
    y[:, 3] += 0.05 * (1.0 - np.cos(omega * times))
    y_dot, y_ddot = np.zeros_like(y), np.zeros_like(y)
    y_dot[:, 3], y_ddot[:, 3] = (
        0.05 * omega * np.sin(omega * times),
        0.05 * omega**2 * np.cos(omega * times),
    )
    motion = mechanism.solve_batch(y, y_dot, y_ddot)
    q, v, a = (x[:, mechanism.actuated_rows] for x in (motion.q, motion.v, motion.a))
    unknown = np.full(player.motors, np.nan)
    steps = [player.step(row, unknown, unknown, row, 0.0 * row) for row in q]
    rows = player.rows(player.started(home) + steps)
    assert rows.good.all()
    settled = slice(1000, None)
    for values, expected in ((rows.velocities, v), (rows.accelerations, a)):
        # Behind by 2 / cutoff, and weakened by (omega / cutoff)^2.
        delayed = np.abs(values[settled] - expected[settled]).max()
        fastest = np.abs(np.gradient(expected, 1e-3, axis=0)).max()
        assert delayed < 1.1 * 2.0 / 300.0 * fastest
        late = int(round(1000 * 2.0 / 300.0))
        shifted = np.abs(values[settled] - expected[1000 - late : -late]).max()
        assert shifted < 0.01 * np.abs(expected).max()
