# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Exported C compiles without warnings, agrees with the engine, and refuses the same input."""

from __future__ import annotations

import ctypes
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
from xml.sax.saxutils import quoteattr

import linkages
import numpy as np
import pytest
import samples
import yaml

from masticator_dynamics import Mechanism
from masticator_dynamics.cli import main
from masticator_dynamics.description.data import JointFriction
from masticator_dynamics.engine.traced import c_files as export_c
from masticator_dynamics.engine.traced import c_statements
from masticator_dynamics.errors import InputError

STRICT = ('-std=c99', '-Wall', '-Wextra', '-Wpedantic', '-Werror')
COMPILERS = [name for name in ('gcc', 'clang') if shutil.which(name)]
needs_compiler = pytest.mark.skipif(not COMPILERS, reason='there is no C compiler')
ALL = bool(os.environ.get('EXPORT_ALL'))  # every mechanism, also optimised: minutes
PLAIN = ('torque', False)
GOALS = [PLAIN, ('torque', True), ('power', True), ('joint-force', True), ('contact-force', False)]
CASES = [
    ('masticator', '-O0', PLAIN),
    ('masticator', '-O0', ('torque', True)),
    ('masticator', '-O0', ('joint-force', False)),
    ('five_bar', '-O0', PLAIN),
    ('five_bar', '-O2', PLAIN),
    ('ladder', '-O2', PLAIN),
    ('rrr4', '-O2', ('power', True)),
]
USUAL = [*CASES[:2], CASES[3], CASES[6]]
EVERY = [
    (name, optimised, kind)
    for name in samples.NAMES
    for optimised in ('-O0', '-O2')
    for kind in (GOALS if name == 'masticator' else GOALS[:3])
]
TRIED = EVERY if ALL else samples.swept_rows(CASES, USUAL)


def written(name: str, folder: pathlib.Path, goal: str = 'torque', friction: bool = False) -> str:
    """Write a mechanism's files; returns its name in C."""
    mechanism = samples.mechanism(name)
    files = export_c.c_files(mechanism.description, mechanism.structure, goal, friction)
    for file, text in files.items():
        (folder / file).write_text(text, encoding='utf-8')
    return export_c.identifier(mechanism.name)


def joints_in_ranges(mechanism: Mechanism, y: samples.Array) -> bool:
    """Whether coordinates and motors are within the limits of the URDF."""
    q = dict(zip(mechanism.tree_joints, mechanism.solve(y).q, strict=True))
    joints = {joint.name: joint for joint in mechanism.description.tree.joints}
    told = {*mechanism.independent, *mechanism.actuated}
    return all(joints[name].lower <= q[name] <= joints[name].upper for name in told)


@needs_compiler
def test_a_pose_outside_the_ranges_has_a_code_of_its_own(tmp_path: pathlib.Path) -> None:
    """Degrees in place of radians, for example; at its ends a range still counts."""
    c_name = written('five_bar', tmp_path)
    source = tmp_path / f'{c_name}.c'
    library = tmp_path / 'library.so'
    subprocess.run([COMPILERS[0], '-shared', '-fPIC', '-o', library, source, '-lm'], check=True)
    function = getattr(ctypes.CDLL(str(library)), f'{c_name}_inverse_dynamics')
    mechanism = samples.mechanism('five_bar')
    home = mechanism.home.y
    upper = mechanism.limits.upper[mechanism.independent_rows]
    seen = set()
    for past in (-1e-3, 0.0, 1e-6, 1e-3):
        y = np.array([home[0], upper[1] + past])
        arrays = [y, np.zeros(2), np.zeros(2), np.zeros(6), np.zeros(2)]
        status = function(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))
        assert status == (2 if past > 0.0 else 0) == (0 if joints_in_ranges(mechanism, y) else 2)
        assert np.allclose(arrays[-1], mechanism.feedforward(y).actuated, rtol=1e-12, atol=0.0)
        seen.add(status)
    assert seen == {0, 2}


@needs_compiler
@pytest.mark.parametrize('compiler', COMPILERS)
@pytest.mark.parametrize(
    ('name', 'optimised', 'kind'), EVERY if ALL else samples.swept_rows(CASES, USUAL)
)
def test_it_compiles_and_agrees(
    name: str, optimised: str, kind: tuple[str, bool], compiler: str, tmp_path: pathlib.Path
) -> None:
    c_name = written(name, tmp_path, *kind)
    library = tmp_path / 'library.so'
    subprocess.run(
        [compiler, *STRICT, optimised, '-shared', '-fPIC', '-o', library,
         tmp_path / f'{c_name}.c', '-lm'],
        check=True,
    )  # fmt: skip
    function = getattr(ctypes.CDLL(str(library)), f'{c_name}_inverse_dynamics')
    mechanism = samples.mechanism(name)

    def call(state) -> tuple[int, samples.Array]:
        effort = np.full(len(mechanism.actuated), -77.0)
        arrays = [np.ascontiguousarray(part, dtype=float) for part in (*state, effort)]
        status = function(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))
        return status, arrays[-1]

    for state in samples.states(name, 20, seed=921):
        status, effort = call(state)
        expected = mechanism.feedforward(*state, goal=kind[0], friction=kind[1]).actuated
        assert status == (0 if joints_in_ranges(mechanism, state.y) else 2)
        assert np.abs(effort - expected).max() <= 1e-12 * np.abs(expected).max()
    for bad in (np.nan, np.inf, 1e200):
        status, effort = call((state.y, state.y_dot, state.y_ddot, np.full(6, bad)))
        assert status != 0
        assert (effort == -77.0).all()
    status, _ = call((np.full(len(state.y), 1e3), state.y_dot, state.y_ddot, state.wrench))
    assert status != 0


@needs_compiler
def test_long_functions_are_the_same_in_parts(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit, with derivatives: numbers that later parts need are handed on."""
    mechanism = samples.mechanism('five_bar')
    n, motors = len(mechanism.independent), len(mechanism.actuated)
    found = []
    for long, part in ((10**6, 1), (200, 30)):
        monkeypatch.setattr(c_statements, 'LONG', long)
        monkeypatch.setattr(c_statements, 'PART', part)
        files = export_c.c_files(mechanism.description, mechanism.structure, derivatives=True)
        folder = tmp_path / str(part)
        folder.mkdir()
        for file, text in files.items():
            (folder / file).write_text(text, encoding='utf-8')
        assert (files['five_bar.c'].count('static APART void') > 20) == (part > 1)
        library = folder / 'library.so'
        command = [COMPILERS[0], *STRICT, '-O1', '-ffp-contract=off', '-shared', '-fPIC', '-o']
        subprocess.run([*command, library, folder / 'five_bar.c', '-lm'], check=True)
        function = ctypes.CDLL(str(library)).five_bar_inverse_dynamics_derivatives
        for state in samples.states('five_bar', 5, seed=923):
            out = [np.zeros(motors), np.zeros(motors * (3 * n + 6))]
            arrays = [np.ascontiguousarray(part, dtype=float) for part in state] + out
            assert function(*(ctypes.c_void_p(array.ctypes.data) for array in arrays)) == 0
            found.append(np.concatenate(out))
    np.testing.assert_array_equal(found[:5], found[5:])
    assert np.isfinite(found).all() and np.ptp(found) > 0.1


@needs_compiler
def test_the_example_runs(tmp_path: pathlib.Path) -> None:
    name = written('five_bar', tmp_path)
    files = [tmp_path / f'{name}_example.c', tmp_path / f'{name}.c']
    subprocess.run([COMPILERS[0], *STRICT, '-o', tmp_path / 'example', *files, '-lm'], check=True)
    printed = subprocess.run(
        [tmp_path / 'example'], check=True, capture_output=True, text=True
    ).stdout.split()
    mechanism = samples.mechanism('five_bar')
    assert printed[::2] == list(mechanism.actuated)
    expected = mechanism.feedforward(mechanism.home.y).actuated
    found = np.array([float(number) for number in printed[1::2]])
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()


@needs_compiler
def test_the_example_tells_joints_by_any_name(tmp_path: pathlib.Path) -> None:
    names = ['a"b', '100%s \\n', '??/x', 'épaule']
    parts = [
        linkages.Part(
            f'link_{k}', f'link_{k - 1}' if k else 'ground', (0.1, 0.0, 0.0), (0.0, 1.0, 0.0),
            mass=0.5, center=(0.05, 0.0, 0.01),
        )
        for k in range(len(names))
    ]  # fmt: skip
    joints = [part.joint for part in parts]
    file = linkages.write(tmp_path, parts, independent=joints, actuated=joints, platform='link_3')
    text = plain = file.with_suffix('.urdf').read_text(encoding='utf-8')
    for name, joint in zip(names, joints, strict=True):
        text = text.replace(f'name="{joint}"', f'name={quoteattr(name)}')
    assert text != plain
    file.with_suffix('.urdf').write_text(text, encoding='utf-8')
    content = yaml.safe_load(file.read_text(encoding='utf-8'))
    file.write_text(yaml.safe_dump(content | dict.fromkeys(('independent', 'actuated'), names)))
    assert main(['export-c', str(file), '--output', str(tmp_path / 'c')]) == 0
    sources = [*(tmp_path / 'c').glob('*.c')]
    subprocess.run([COMPILERS[0], *STRICT, '-o', tmp_path / 'example', *sources, '-lm'], check=True)
    printed = subprocess.run([tmp_path / 'example'], check=True, capture_output=True).stdout
    assert [line.rpartition(' ')[0] for line in printed.decode().splitlines()] == names


def test_the_source_is_free_of_state_and_names_what_it_computes(tmp_path: pathlib.Path) -> None:
    name = written('five_bar', tmp_path)
    source = (tmp_path / f'{name}.c').read_text()
    assert re.findall(r'#include (\S+)', source) == [f'"{name}.h"', '<math.h>']
    assert not re.search(r'\b(static|malloc|extern)\b', source)
    for closure in samples.mechanism('five_bar').closures:
        assert closure in source
    header = (tmp_path / f'{name}.h').read_text()
    for joint in samples.mechanism('five_bar').actuated:
        assert f'{joint}, N m' in header


def test_names_become_names_of_c() -> None:
    assert export_c.identifier('5-bar, plane') == 'm_5_bar__plane'
    assert export_c.identifier('Käfer') == 'k_fer'


def test_a_folder_without_a_name_is_not_the_one_worked_in(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(['export-c', 'five_bar', '--output', '']) == 2
    assert '--output: is empty' in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_what_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_c, 'MOST_OPERATIONS', 50)
    mechanism: Mechanism = samples.mechanism('five_bar')
    with pytest.raises(InputError, match='too large to be written out: more than 50'):
        export_c.c_files(mechanism.description, mechanism.structure)


@needs_compiler
@pytest.mark.parametrize(
    ('name', 'goal', 'friction'),
    [('five_bar', *PLAIN), ('five_bar', 'torque', True), ('rrr4', 'power', False)]
    + [('masticator', 'torque', True), ('masticator', 'joint-force', False)] * ALL,
)
def test_derivatives(name: str, goal: str, friction: bool, tmp_path: pathlib.Path) -> None:
    mechanism = samples.mechanism(name)
    if friction and name == 'five_bar':  # its file says none
        law = JointFriction(coulomb=0.1, radius=0.02, viscous=1e-3)
        motors = mechanism.description.actuators
        motors = {key: dataclasses.replace(m, friction=law) for key, m in motors.items()}
        mechanism = Mechanism(dataclasses.replace(mechanism.description, actuators=motors))
    of = mechanism.description, mechanism.structure
    for file, text in export_c.c_files(*of, goal, friction, derivatives=True).items():
        (tmp_path / file).write_text(text, encoding='utf-8')
    library = tmp_path / 'library.so'
    sources = [*STRICT, '-shared', '-fPIC', '-o', library, tmp_path / f'{name}.c', '-lm']
    subprocess.run([COMPILERS[0], *sources], check=True)
    function = getattr(ctypes.CDLL(str(library)), f'{name}_inverse_dynamics_derivatives')
    count, inputs = len(mechanism.actuated), mechanism.kernels.inputs

    def call(state) -> tuple[int, samples.Array, samples.Array]:
        out = np.zeros(count), np.zeros((count, inputs))
        arrays = [*(np.ascontiguousarray(part, dtype=float) for part in state), *out]
        return function(*(ctypes.c_void_p(array.ctypes.data) for array in arrays)), *out

    for state in samples.states(name, 5, seed=3220):
        status, efforts, slopes = call(state)
        assert status == (0 if joints_in_ranges(mechanism, state.y) else 2)
        found = mechanism.feedforward_derivatives(*state, goal=goal, friction=friction)
        parts = [found.by_y, found.by_y_dot, found.by_y_ddot, found.by_wrench]
        assert samples.relative_error(efforts, found.actuated) < 1e-12
        assert samples.relative_error(slopes, np.hstack(parts)) < 1e-10
        if friction:
            without = mechanism.feedforward_derivatives(*state, goal=goal).by_y
            assert samples.relative_error(slopes[:, : len(state.y)], without) > 1e-6
    if friction:  # Coulomb friction has no derivative at rest
        assert call((state.y, 0.0 * state.y_dot, state.y_ddot, state.wrench))[0] == 1
