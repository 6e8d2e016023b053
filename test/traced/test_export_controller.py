# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Exported C for controllers: what measured joints tell, against Python and against itself.

``CONTROLLER_STATES`` sets how many states of each mechanism are tried.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pages
import pytest
import samples

from masticator_dynamics.engine.traced.c_files import c_files, identifier
from masticator_dynamics.errors import ReachError

PAGE = samples.ROOT / 'docs' / 'export-c.md'
STATES = int(os.environ.get('CONTROLLER_STATES', '40'))
STRICT = ('-Wall', '-Wextra', '-Wpedantic', '-Werror')
COMPILER = shutil.which('gcc') or shutil.which('clang')
pytestmark = pytest.mark.skipif(not COMPILER, reason='there is no C compiler')


class Compiled:
    """A mechanism, and its functions for controllers."""

    def __init__(self, name: str, folder: pathlib.Path, friction: bool = False):
        self.mechanism = mechanism = samples.mechanism(name)
        self.freedoms, self.motors = len(mechanism.independent), len(mechanism.actuated)
        files = c_files(
            mechanism.description, mechanism.structure, 'torque', friction,
            effort_range=mechanism.effort_range,
        )  # fmt: skip
        for file, text in files.items():
            (folder / file).write_text(text, encoding='utf-8')
        self.folder, self.name = folder, identifier(mechanism.name)
        library = folder / 'library.so'
        subprocess.run(
            [COMPILER, '-std=c99', *STRICT, '-O1', '-shared', '-fPIC', '-o', library,
             folder / f'{self.name}.c', '-lm'],
            check=True,
        )  # fmt: skip
        self.library = ctypes.CDLL(str(library))

        class Motion(ctypes.Structure):
            _fields_ = [
                *((part, ctypes.c_double * self.freedoms) for part in ('y', 'y_dot', 'y_ddot')),
                ('off', ctypes.c_double * self.motors),
                ('residual', ctypes.c_double),
                ('change', ctypes.c_double),
                ('conditioning', ctypes.c_double),
                ('steps', ctypes.c_int),
            ]

        self._motion = Motion

    def call(self, function: str, *arguments: object) -> int:
        """Status of a function of arrays and of motions."""
        passed = [
            ctypes.c_void_p(x.ctypes.data)
            if isinstance(x, np.ndarray)
            else x
            if isinstance(x, int)
            else ctypes.byref(x)
            for x in arguments
        ]
        status: int = getattr(self.library, f'{self.name}_{function}')(*passed)
        return status

    def names(self, constant: str, count: int) -> list[str]:
        """Texts of the header."""
        texts = (ctypes.c_char_p * count).in_dll(self.library, f'{self.name}_{constant}')
        return [text.decode() for text in texts]

    def at_home(self) -> ctypes.Structure:
        """A motion from which a search begins at home, as the header says."""
        home = (ctypes.c_double * self.freedoms).in_dll(self.library, f'{self.name}_home')
        return self._motion(y=home)

    def measured(self, state) -> tuple[samples.Array, samples.Array, samples.Array]:
        """Positions, velocities and accelerations of the actuated joints, by Python."""
        motion = self.mechanism.solve(state.y, state.y_dot, state.y_ddot)
        rows = self.mechanism.actuated_rows
        return tuple(np.ascontiguousarray(x[rows]) for x in (motion.q, motion.v, motion.a))


@pytest.fixture(scope='module')
def compiled(tmp_path_factory: pytest.TempPathFactory):
    made: dict[tuple[str, bool], Compiled] = {}

    def of(name: str, friction: bool = False) -> Compiled:
        if (name, friction) not in made:
            made[name, friction] = Compiled(name, tmp_path_factory.mktemp('c'), friction)
        return made[name, friction]

    return of


def test_the_program_of_the_page_prints_the_efforts_at_home(compiled, tmp_path) -> None:
    of = compiled('masticator')
    program = next(text for _, text in pages.blocks(PAGE) if 'int main' in text)
    (tmp_path / 'measured.c').write_text(program, encoding='utf-8')
    subprocess.run(
        [COMPILER, '-std=c99', *STRICT, f'-I{of.folder}', '-o', tmp_path / 'measured',
         tmp_path / 'measured.c', of.folder / 'masticator.c', '-lm'],
        check=True,
    )  # fmt: skip
    answer = subprocess.run([tmp_path / 'measured'], capture_output=True, text=True, check=True)
    printed = [line.split() for line in answer.stdout.splitlines()]
    assert [words[0] for words in printed] == list(of.mechanism.actuated)
    expected = of.mechanism.feedforward(of.mechanism.home.y).actuated
    assert np.abs([float(words[1]) for words in printed] - expected).max() < 1e-6


NAMES = ['masticator', 'rcid', 'rrr4', 'five_bar', 'trimule']


@pytest.mark.parametrize('name', samples.swept(NAMES, ['masticator', 'rrr4']))
def test_measured_joints_tell_the_motion_and_its_efforts(name: str, compiled) -> None:
    """From a pose a millisecond away; and from home, where that leads to the same pose."""
    of = compiled(name)
    mechanism, from_home = of.mechanism, 0
    for state in samples.states(name, STATES, seed=5001):
        measured, expected = of.measured(state), mechanism.feedforward(*state)
        effort, near, wrench = np.full(of.motors, np.nan), of.at_home(), state.wrench.copy()
        near.y[:] = state.y + 1e-3 * state.y_dot
        assert of.call('feedforward_actuated', *measured, wrench, near, effort) in (0, 2)
        assert samples.relative_error(np.array(near.y), state.y, floor=1e-3) < 1e-9
        assert samples.relative_error(np.array(near.y_dot), state.y_dot) < 1e-9
        assert samples.relative_error(np.array(near.y_ddot), state.y_ddot) < 1e-8
        assert near.residual < 1e-9
        # Next to a singularity, where controllers refuse, a step gains less.
        assert near.steps <= 5 or near.conditioning < 0.025
        assert samples.relative_error(effort, expected.actuated) < 1e-8
        cold = of.at_home()
        status = of.call('forward_kinematics', *measured, cold)
        try:
            y = mechanism.forward_kinematics(measured[0], tolerance=1.0)
        except ReachError:
            continue
        assert status in (0, 2)
        assert np.abs(np.array(cold.y) - y).max() < 1e-7
        from_home += np.abs(y - state.y).max() < 1e-7
    assert from_home > STATES // 2


@pytest.mark.parametrize('name', samples.swept(NAMES, ['masticator', 'rrr4']))
def test_kinematics_and_equations_are_those_of_python(name: str, compiled) -> None:
    of = compiled(name)
    mechanism, n, motors = of.mechanism, of.freedoms, of.motors
    for state in samples.states(name, 5, seed=5002):
        y, y_dot = np.ascontiguousarray(state.y), np.ascontiguousarray(state.y_dot)
        q, jacobian, drift = np.empty(motors), np.empty((motors, n)), np.empty(motors)
        assert of.call('actuated', y, y_dot, q, jacobian, drift) in (0, 2)
        at, _, accelerations = of.measured(state)
        assert samples.relative_error(q, at) < 1e-12
        expected = mechanism.jacobian_actuated_from_independent(mechanism.solve(y))
        assert samples.relative_error(jacobian, expected) < 1e-10
        assert samples.relative_error(jacobian @ state.y_ddot + drift, accelerations) < 1e-10
        mass, bias = np.empty((n, n)), np.empty(n)
        assert of.call('equations', y, y_dot, mass, bias) in (0, 2)
        mass_alone, bias_alone = np.empty((n, n)), np.empty(n)
        assert of.call('mass_matrix', y, mass_alone) in (0, 2)
        assert of.call('bias', y, y_dot, bias_alone) in (0, 2)
        assert (mass_alone == mass).all() and (bias_alone == bias).all()
        motion = mechanism.solve(y, y_dot)
        rotation, origin = np.empty((3, 3)), np.empty(3)
        assert of.call('platform', y, rotation, origin) in (0, 2)
        pose = mechanism.frame_pose(motion, mechanism.description.platform)
        assert np.abs(rotation - pose.rotation).max() < 1e-12
        assert np.abs(origin - pose.position).max() < 1e-12
        assert samples.relative_error(mass, mechanism.mass_matrix(motion)) < 1e-10
        assert samples.relative_error(bias, mechanism.bias(motion)) < 1e-10


@pytest.mark.parametrize('name', ['masticator', 'rrr4'])
def test_a_wrench_is_moved_from_where_it_was_measured(name: str, compiled) -> None:
    """Its power is the same for every velocity, in the frames and on the platform."""
    of, rng = compiled(name), np.random.default_rng(5006)
    mechanism, platform = of.mechanism, of.mechanism.description.platform
    count = re.search(rf'{of.name.upper()}_FRAMES (\d+)', (of.folder / f'{of.name}.h').read_text())
    frames = of.names('frame_names', int(count[1]))
    assert platform in frames and mechanism.description.base in frames
    for state in samples.states(name, 5, seed=5006):
        motion = mechanism.solve(state.y)
        for axes, point in rng.integers(len(frames), size=(10, 2)):
            measured, wrench = rng.normal(size=6), np.zeros(6)
            status = of.call(
                'add_wrench', np.ascontiguousarray(state.y), int(axes), int(point), measured, wrench
            )
            assert status in (0, 2)
            turn = mechanism.frame_pose(motion, frames[axes]).rotation
            at = mechanism.frame_pose(motion, frames[point]).position
            arm = at - mechanism.frame_pose(motion, platform).position
            velocity, spin = rng.normal(size=3), rng.normal(size=3)
            power = (turn @ measured[:3]) @ (velocity + np.cross(spin, arm))
            power += (turn @ measured[3:]) @ spin
            assert wrench[:3] @ velocity + wrench[3:] @ spin == pytest.approx(power, abs=1e-12)
            of.call('add_wrench', np.ascontiguousarray(state.y), int(axes), int(point),
                    -measured, wrench)  # fmt: skip
            assert np.abs(wrench).max() < 1e-12


@pytest.mark.parametrize('name', ['masticator', 'rrr4', 'trimule'])
def test_conditioning_is_1_at_home_and_0_where_motors_lose_hold(name: str, compiled) -> None:
    """By a QR factorisation of the Jacobian; rrr4 is singular near an angle of 1.72 rad."""
    of = compiled(name)
    mechanism, zero = of.mechanism, np.zeros(of.motors)
    joints = [mechanism.structure.tree.joints[row] for row in mechanism.actuated_rows]
    travel = [joint.upper - joint.lower if joint.slides else 1.0 for joint in joints]

    def parts(motion):
        jacobian = mechanism.jacobian_actuated_from_independent(motion) / np.array(travel)[:, None]
        return np.abs(np.diag(np.linalg.qr(jacobian)[1])), np.linalg.norm(jacobian, axis=0)

    _, usual = parts(mechanism.home)
    poses = [state.y for state in samples.states(name, 5, seed=5007)]
    if name == 'rrr4':
        poses.append(np.array([0.0, 0.0, 1.72]))
    told = []
    for y in poses:
        motion, pose = of.at_home(), mechanism.solve(y)
        motion.y[:] = y
        position = np.ascontiguousarray(pose.position)
        assert of.call('forward_kinematics', position, zero, zero, motion) in (0, 2)
        told.append(motion.conditioning)
        assert motion.conditioning == pytest.approx(min(1.0, *(parts(pose)[0] / usual)), abs=1e-6)
        assert motion.change < 1e-9
    assert told[-1] < 0.05 if name == 'rrr4' else min(told) > 0.2


def test_encoders_that_do_not_agree_are_fitted_by_least_squares(compiled) -> None:
    """Where six cranks have no exact pose, the rest is at right angles to what the jaw can do."""
    of = compiled('masticator')
    mechanism, rng = of.mechanism, np.random.default_rng(5003)
    zero = np.zeros(of.motors)
    for state in samples.states('masticator', STATES, seed=5003):
        q, _, _ = of.measured(state)
        noisy = q + rng.normal(scale=1e-3, size=of.motors)
        motion = of.at_home()
        assert of.call('forward_kinematics', noisy, zero, zero, motion) in (0, 2)
        off = noisy - mechanism.solve(np.array(motion.y)).position
        jacobian = mechanism.jacobian_actuated_from_independent(mechanism.solve(np.array(motion.y)))
        assert np.abs(jacobian.T @ off).max() < 1e-6 * np.abs(off).max() * np.abs(jacobian).max()
        np.testing.assert_allclose(motion.off, off, atol=1e-8)
        assert (
            motion.residual == pytest.approx(np.abs(off).max(), abs=1e-8)
            and 1e-5 < np.abs(off).max()
        )
        theirs = mechanism.forward_kinematics(noisy, tolerance=0.01)
        assert np.abs(np.array(motion.y) - theirs).max() < 1e-8


def test_what_does_not_count_leaves_everything_as_it_was(compiled) -> None:
    of = compiled('masticator')
    state = samples.states('masticator', 1, seed=5004)[0]
    measured = of.measured(state)
    for place in range(3):
        for bad in (np.nan, np.inf, 1e200):
            wrong = [x.copy() for x in measured]
            wrong[place][2] = bad
            motion, effort = of.at_home(), np.full(of.motors, -77.0)
            before = bytes(motion)
            assert of.call('feedforward_actuated', *wrong, np.zeros(6), motion, effort) == 1
            assert (effort == -77.0).all() and bytes(motion) == before
    motion, before = of.at_home(), bytes(of.at_home())
    out_of_reach = measured[0] + np.array([2.0, -2.0, 2.0, -2.0, 2.0, -2.0])
    if of.call('forward_kinematics', out_of_reach, *measured[1:], motion) == 1:
        assert bytes(motion) == before
    else:
        assert motion.residual > 0.1
    lost = of.at_home()
    lost.y[:] = [9.0] * of.freedoms  # a pose that does not close: the search begins at home
    assert of.call('forward_kinematics', *measured, lost) in (0, 2)
    assert np.abs(np.array(lost.y) - state.y).max() < 1e-9


@pytest.mark.parametrize('friction', samples.swept([False, True], [True]))
def test_contacts_have_the_forces_of_python(friction: bool, compiled) -> None:
    of = compiled('masticator', friction)
    for state in samples.states('masticator', 10, seed=5005):
        effort, contact, plain = np.empty(of.motors), np.empty(2), np.empty(of.motors)
        arrays = [np.ascontiguousarray(part) for part in state]
        status = of.call('inverse_dynamics_with_contacts', *arrays, effort, contact)
        if status == 1:
            continue
        expected = of.mechanism.feedforward(*state, friction=friction)
        assert samples.relative_error(contact, expected.contact) < 1e-9
        assert of.call('inverse_dynamics', *arrays, plain) == status
        np.testing.assert_array_equal(plain, effort)


def test_names_and_limits_are_those_of_the_files(compiled) -> None:
    of = compiled('masticator')
    mechanism = of.mechanism

    def numbers(name: str, count: int) -> samples.Array:
        return np.array((ctypes.c_double * count).in_dll(of.library, f'{of.name}_{name}'))

    assert of.names('actuator_names', of.motors) == list(mechanism.actuated)
    assert of.names('freedom_names', of.freedoms) == list(mechanism.independent)
    limits, rows = mechanism.limits, mechanism.actuated_rows
    for bound in ('lower', 'upper', 'velocity'):
        np.testing.assert_array_equal(
            numbers(f'actuator_{bound}', of.motors), getattr(limits, bound)[rows]
        )
    low, high = mechanism.effort_range
    np.testing.assert_array_equal(numbers('actuator_effort_lower', of.motors), low)
    np.testing.assert_array_equal(numbers('actuator_effort_upper', of.motors), high)
    np.testing.assert_array_equal(numbers('home', of.freedoms), mechanism.home.y)


def test_the_header_says_how_much_code_there_is(compiled) -> None:
    """Operations by their results: a sum, product or function to each name of the source."""
    of = compiled('masticator')
    header, source = ((of.folder / f'{of.name}.{end}').read_text() for end in 'hc')
    count, size = re.search(r'(\d+) operations in all functions,\n \* (\d+) kB', header).groups()
    results = [line for line in source.splitlines() if line.startswith('  const double t')]
    assert int(count) == sum('= kept[' not in line for line in results) > 6000
    assert int(size) == (of.folder / f'{of.name}.c').stat().st_size // 1000


def test_it_is_reentrant_and_compiles_as_cpp(compiled) -> None:
    """No state but the caller's: nothing that can be written to is outside functions."""
    of = compiled('masticator')
    source = (of.folder / f'{of.name}.c').read_text(encoding='utf-8')
    assert not re.search(r'\b(malloc|calloc|realloc|free)\b', source)
    static = [line for line in source.splitlines() if re.match(r'\s*static\b', line)]
    assert all('(' in line or 'const' in line for line in static)
    if compiler := shutil.which('g++'):
        program = (
            f'#include "{of.name}.h"\nint main() {{ {of.name}_motion m = {{}}; return m.steps; }}\n'
        )
        (of.folder / 'user.cpp').write_text(program, encoding='utf-8')
        subprocess.run(
            [compiler, '-std=c++17', *STRICT, '-fsyntax-only', of.folder / 'user.cpp'], check=True
        )


def test_memory_and_undefined_behaviour(compiled, tmp_path: pathlib.Path) -> None:
    """Far away, out of reach and with numbers that are none, under the sanitizers."""
    of = compiled('five_bar')
    program = r"""
#include <math.h>
#include "five_bar.h"
int main(void) {
  const double bad[] = {0.0, 1.0, -3.0, 100.0, 1e300, HUGE_VAL, NAN};
  int i, j, k = 0;
  for (i = 0; i < 7; ++i) for (j = 0; j < 7; ++j) {
    five_bar_motion motion = {{0}, {0}, {0}, {0}, 0, 0, 0, 0};
    const double q[] = {bad[i], bad[j]}, wrench[6] = {0};
    double effort[2];
    for (k = 0; k < 2; ++k) motion.y[k] = five_bar_home[k];
    (void)five_bar_feedforward_actuated(q, q, q, wrench, &motion, effort);
  }
  return 0;
}
"""
    (of.folder / 'wild.c').write_text(program, encoding='utf-8')
    binary = tmp_path / 'wild'
    flags = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all', '-g']
    sources = [of.folder / 'wild.c', of.folder / 'five_bar.c']
    built = subprocess.run(
        [COMPILER, '-std=c99', *flags, '-o', binary, *sources, '-lm'],
        capture_output=True,
        text=True,
    )
    if built.returncode and 'asan' in built.stderr:
        pytest.skip('there are no sanitizers')
    assert built.returncode == 0, built.stderr
    subprocess.run([binary], check=True, timeout=60)
