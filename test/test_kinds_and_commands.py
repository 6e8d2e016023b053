# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every kind of closure, contact and joint, and every mechanism included, by every command.

A cell of the table in ``docs/mechanisms.md`` is a test here, or a sentence why there is none; the
table is made of these, and ``WRITE_TABLE=1`` writes it there.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import pathlib
import shutil
import subprocess
import typing
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import samples
import small_robots
from demo.perfect_run import RATE, perfect_record
from interchange.mujoco_oracle import MujocoOracle, accelerates_softly

from masticator_dynamics import Mechanism
from masticator_dynamics.analysis.workspace_map import WorkspaceSurveyor
from masticator_dynamics.cli import main
from masticator_dynamics.description import archetypes, shipped_mechanisms
from masticator_dynamics.description.data import Closure, Contact
from masticator_dynamics.description.urdf import MOVING_TYPES
from masticator_dynamics.description.urdf_text import urdf_parts
from masticator_dynamics.engine.evaluation.closed_pose import closed_pose
from masticator_dynamics.engine.traced import c_files
from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.identification.excitation import exciting_motion
from masticator_dynamics.identification.identify import identify
from masticator_dynamics.identification.robot_log import RobotLog
from masticator_dynamics.interchange.mjcf_export import export_mjcf
from masticator_dynamics.robot.acceptance.checks import judge
from masticator_dynamics.robot.acceptance.link_motion import LinkMotion
from masticator_dynamics.robot.acceptance.passes import Pass, Run
from masticator_dynamics.robot.recording.demo_motion import built_in_script

pytestmark = pytest.mark.early

PAGE = samples.ROOT / 'docs' / 'mechanisms.md'
MARKS = '<!-- made by test_kinds_and_commands.py -->', '<!-- until here -->'
SMALL = small_robots.CLOSURES | small_robots.CONTACTS | small_robots.JOINTS
INCLUDED = tuple(sorted((*shipped_mechanisms(), *archetypes())))
ROBOTS = (*SMALL, *INCLUDED)
PULLING = {'cable_planar'}  # by cables: efforts have to be chosen within limits


@functools.cache
def folder() -> pathlib.Path:
    """Of the small robots of this process."""
    import tempfile

    return pathlib.Path(tempfile.mkdtemp(prefix='small_robots_'))


@pytest.fixture(scope='module', autouse=True)
def tidy() -> Iterator[None]:
    yield
    shutil.rmtree(folder())


@functools.cache
def file_of(name: str) -> str:
    return str(SMALL[name](folder())) if name in SMALL else name


@functools.cache
def robot(name: str) -> Mechanism:
    return Mechanism.load(file_of(name))


def states(name: str, count: int, seed: int) -> list[samples.State]:
    """Moving, loaded states a little away from home, where nothing is near the end of its range.

    Of the jaws, whose teeth are closed at home, in the middle of their range.
    """
    mechanism, rng = robot(name), np.random.default_rng(seed)
    extent = mechanism.structure.extent()
    joints = {joint.name: joint for joint in mechanism.structure.tree.joints}
    slides = np.array([joints[n].unit == 'm' for n in mechanism.independent])
    sizes, middle = np.where(slides, 0.02 * extent, 0.02), mechanism.home.y
    if name in ('masticator', 'rss6'):
        box = samples.BOXES[name]
        sizes, middle = 0.2 * (box.upper - box.lower), 0.5 * (box.lower + box.upper)
    return [
        samples.State(
            middle + sizes * rng.uniform(-1.0, 1.0, len(sizes)),
            10.0 * sizes * rng.normal(size=len(sizes)),
            50.0 * sizes * rng.normal(size=len(sizes)),
            rng.normal(size=6) * [3.0, 3.0, 3.0, 0.1, 0.1, 0.1],
        )
        for _ in range(count)
    ]  # fmt: skip


def command(*words: str) -> None:
    assert main([*words]) == 0


# Commands, by the title of their column


def check(name: str) -> None:
    command('check', file_of(name))


def close(name: str) -> None:
    """Home is found again from beside it, with the coordinates held."""
    mechanism, rng = robot(name), np.random.default_rng(3)
    home = dict(zip(mechanism.tree_joints, mechanism.home.q.tolist(), strict=True))
    held = {joint: home[joint] for joint in mechanism.independent}
    guess = {j: x + rng.uniform(-0.01, 0.01) for j, x in home.items() if j not in held}
    pose = closed_pose(mechanism.description, guess, held)
    assert pose.closed
    found = [pose.home[joint] for joint in mechanism.tree_joints]
    assert mechanism.largest_gap(found) < 1e-8
    assert found == pytest.approx(mechanism.home.q, abs=1e-6)


def demo(name: str) -> None:
    """A faultless run passes every check: a second telling of the physics agrees."""
    mechanism = robot(name)
    script = built_in_script(mechanism, 1)
    checks = judge(Run(Pass(mechanism, script, perfect_record(mechanism, script)), RATE))
    assert [(c.name, c.detail) for c in checks if c.passed is not True] == []


def view(name: str) -> None:
    pytest.importorskip('viser', reason='pages need the extra "view"')
    page = folder() / f'{name}.html'
    command('view', file_of(name), '--html', str(page))
    text = page.read_text(encoding='utf-8')
    assert all(joint in text for joint in robot(name).independent)


def export_c(name: str) -> None:
    """Compiled as it is, it answers as the engine does."""
    compiler = shutil.which('cc') or pytest.skip('there is no C compiler')
    mechanism, where = robot(name), folder() / f'{name}_c'
    where.mkdir()
    for file, text in c_files.c_files(mechanism.description, mechanism.structure).items():
        (where / file).write_text(text, encoding='utf-8')
    c_name, library = c_files.identifier(mechanism.name), where / 'library.so'
    source = where / f'{c_name}.c'
    subprocess.run([compiler, '-O0', '-shared', '-fPIC', '-o', library, source, '-lm'], check=True)
    function = getattr(ctypes.CDLL(str(library)), f'{c_name}_inverse_dynamics')
    for state in states(name, 2, seed=21):
        arrays = [np.array(part) for part in (*state, np.zeros(len(mechanism.actuated)))]
        assert function(*(ctypes.c_void_p(array.ctypes.data) for array in arrays)) == 0
        expected = mechanism.feedforward(*state).actuated
        assert np.abs(arrays[-1] - expected).max() <= 1e-12 * np.abs(expected).max()


def mjcf(name: str) -> None:
    """Efforts by MuJoCo's matrices, on the motions that its equalities leave, are ours."""
    mechanism, file = robot(name), folder() / f'{name}.xml'
    exported = export_mjcf(mechanism.description)
    if lost := [sentence for sentence in exported.left_out if 'riction' not in sentence]:
        raise MasticatorError(lost[0])
    if mechanism.contacts:
        accelerates_softly(mechanism, exported.text, 0.25)
        return
    file.write_text(exported.text, encoding='utf-8')
    oracle = MujocoOracle(file)
    y_ddot = np.linspace(1.0, 2.0, len(mechanism.independent))
    effort = mechanism.feedforward(states(name, 1, seed=14)[0].y, 0.0 * y_ddot, y_ddot)
    asked, places = np.zeros(oracle.model.nv), {}
    for joint in mechanism.structure.tree.joints:
        k = mechanism.tree_joints.index(joint.name)
        for part, factor in urdf_parts(joint).items():  # of a screw, a turn and a slide
            places[part] = factor * effort.q[k]
            asked[oracle.model.joint(part).dofadr[0]] = factor * effort.a[k]
    oracle.place(places)
    motors = [oracle.model.actuator(motor).id for motor in mechanism.actuated]
    assert samples.relative_error(oracle.efforts(asked)[motors], effort.actuated) < 1e-4


@functools.cache
def excitation(name: str):  # type: ignore[no-untyped-def]
    return exciting_motion(robot(name), duration=12.0, highest=1.0, rate=100.0, tries=2)


def excite(name: str) -> None:
    """The motion keeps all ranges and limits, and its columns are derivatives of one another."""
    mechanism, motion = robot(name), excitation(name)
    y, y_dot, y_ddot = motion.rows
    assert np.ptp(y, axis=0).min() > 0.0
    step = motion.time[1] - motion.time[0]
    for value, rate in ((y, y_dot), (y_dot, y_ddot)):
        slope = np.gradient(value, step, axis=0, edge_order=2)[5:-5]
        assert np.abs(slope - rate[5:-5]).max() < 0.02 * np.abs(rate).max()
    effort = mechanism.feedforward_batch(y, y_dot, y_ddot, friction=True, limits=name in PULLING)
    assert np.all(effort.in_ranges)


def identify_(name: str) -> None:
    """Masses that are 15 % other are explained: what is left is a part of what was."""
    mechanism, motion = robot(name), excitation(name)
    rows, rng = motion.rows, np.random.default_rng(6)
    known = mechanism.parameters()
    owners = {n: n.rpartition('.')[0] for n in known}
    masses = [n.removesuffix('.mass') for n in known if n.endswith('.mass')]
    factors = dict(zip(masses, rng.choice([0.85, 1.15], len(masses)), strict=True))
    other = mechanism.with_parameters(
        {n: x * factors[owners[n]] for n, x in known.items() if owners[n] in factors}
    )
    effort = np.array(other.feedforward_batch(*rows, limits=name in PULLING).actuated)
    effort += 1e-3 * np.sqrt((effort**2).mean(axis=0)) * rng.normal(size=effort.shape)
    log = RobotLog(name, motion.time, np.array(mechanism.solve_batch(*rows).position), effort, None)
    found = identify(mechanism.description, log.part(slice(0, 900)), log.part(slice(900, None)))
    before, after = found.errors
    assert after < 0.3 * before and after < 0.02


def workspace(name: str) -> None:
    """Home, and poses close to it, are of a class; home is in reach."""
    mechanism = robot(name)
    poses = np.array([mechanism.home.y, *(state.y for state in states(name, 4, seed=11))])
    survey = WorkspaceSurveyor(mechanism).survey(poses)
    assert survey.closed.all()
    assert np.isfinite(survey.condition_actuation).all() and (survey.type_2 > 0.0).all()


def inertia_in_actuated_space(name: str) -> tuple[np.ndarray, np.ndarray]:
    """From the mechanism, and by kinetic energy: velocities of motors give it."""
    mechanism = robot(name)
    motion = mechanism.solve(states(name, 1, seed=5)[0].y)
    jacobian = mechanism.jacobian_actuated_from_independent(motion)
    jacobian = mechanism.transmission_ratios[:, None] * jacobian
    actuated = jacobian.T @ mechanism.actuated_inertia(motion) @ jacobian
    return actuated, mechanism.mass_matrix(motion)


def load_inertia(name: str) -> None:
    """Of motions that the loops allow, it is the mass matrix; it is positive and symmetric."""
    actuated, independent = inertia_in_actuated_space(name)
    assert actuated == pytest.approx(independent, rel=1e-6, abs=1e-6 * np.abs(independent).max())
    matrix = robot(name).actuated_inertia(robot(name).home)
    assert matrix == pytest.approx(matrix.T, abs=1e-12 * np.abs(matrix).max())
    assert np.diag(matrix).min() > 0.0


def coupling(name: str) -> None:
    """The share of an actuator's inertia that others' accelerations meet, from the matrix."""
    mechanism = robot(name)
    motion = mechanism.solve(states(name, 1, seed=6)[0].y)
    matrix, index = mechanism.actuated_inertia(motion), mechanism.inertia_coupling(motion)
    others = np.abs(matrix).sum(axis=1) - np.abs(np.diag(matrix))
    assert index.shape == (len(mechanism.actuated),) and (index >= 0.0).all()
    assert np.array_equal(index > 1e-9, others > 1e-9 * np.abs(np.diag(matrix)))


def inverse_dynamics(name: str) -> None:
    """Loops close, forces balance, and power is the rate of energy by the description alone."""
    mechanism = robot(name)
    for state in states(name, 2, seed=7):
        effort = mechanism.feedforward(*state)
        assert effort.closure_residual < 1e-12
        largest = max(np.abs(effort.actuated).max(), 1.0)
        assert effort.balance_residual < 1e-9 * largest

        def energy(t: float, state: samples.State = state) -> float:
            y, y_dot, y_ddot, _ = state
            moved = mechanism.solve(y + t * y_dot + 0.5 * t * t * y_ddot, y_dot + t * y_ddot)
            rows = moved.q[None], moved.v[None]
            return float(
                LinkMotion(mechanism.description, mechanism.tree_joints, *rows).energy()[0]
            )

        motors = effort.actuated * mechanism.transmission_ratios * effort.velocity
        platform = mechanism.description.platform
        links = LinkMotion(
            mechanism.description, mechanism.tree_joints, effort.q[None], effort.v[None]
        )
        twist = np.concatenate([links.velocity[platform][0], links.angular[platform][0]])
        parts = [*motors, state.wrench @ twist]
        gained = float(samples.five_point(energy, 1e-3))
        scale = max(np.abs(parts).max(), 1e-3 * largest)
        assert abs(sum(parts) - gained) < 1e-6 * scale


def forward_dynamics(name: str) -> None:
    """It undoes inverse dynamics."""
    mechanism = robot(name)
    for y, y_dot, y_ddot, wrench in states(name, 2, seed=8):
        effort = mechanism.feedforward(y, y_dot, y_ddot, wrench).actuated
        accelerations = mechanism.forward_dynamics(y, y_dot, effort, wrench)
        assert samples.relative_error(accelerations, y_ddot) < 1e-7


def derivatives(name: str) -> None:
    """Against differences along a random direction."""
    mechanism = robot(name)
    (state,) = states(name, 1, seed=9)
    (way,) = states(name, 1, seed=10)
    steps = [np.asarray(part) for part in way]
    steps[0] = steps[0] - state.y
    slopes = mechanism.feedforward_derivatives(*state)
    along = (
        slopes.by_y @ steps[0] + slopes.by_y_dot @ steps[1] + slopes.by_y_ddot @ steps[2]
        + slopes.by_wrench @ steps[3]
    )  # fmt: skip

    def effort(t: float) -> np.ndarray:
        moved = (part + t * step for part, step in zip(state, steps, strict=True))
        return np.array(mechanism.feedforward(*moved).actuated)

    assert samples.relative_error(along, samples.five_point(effort, 1e-3)) < 1e-6


def pinocchio(name: str) -> None:
    """Virtual work of the efforts is that of Pinocchio's open tree."""
    pin = samples.pinocchio()
    mechanism = robot(name)
    model = mechanism.to_pinocchio().model
    data = model.createData()
    for state in states(name, 2, seed=12):
        effort = mechanism.feedforward(*state)
        needed = pin.rnea(model, data, effort.q, effort.v, effort.a)
        for joint, physics in mechanism.description.joints.items():
            k = mechanism.tree_joints.index(joint)
            needed[k] += physics.stiffness * (effort.q[k] - physics.reference)
        pin.computeJointJacobians(model, data, effort.q)
        pin.updateFramePlacements(model, data)
        frame = model.getFrameId(mechanism.description.platform, pin.FrameType.BODY)
        axes = pin.LOCAL_WORLD_ALIGNED
        needed -= pin.getFrameJacobian(model, data, frame, axes).T @ state.wrench
        driven = np.zeros(len(needed))
        driven[mechanism.actuated_rows] = effort.actuated * mechanism.transmission_ratios
        work, expected = effort.tangent.T @ driven, effort.tangent.T @ needed
        assert samples.relative_error(work, expected) < 1e-8


COMMANDS: dict[str, Callable[[str], None]] = {
    'check': check,
    'close': close,
    'demo': demo,
    'view': view,
    'export-c': export_c,
    'export-mjcf': mjcf,
    'excite': excite,
    'identify': identify_,
    'workspace': workspace,
    'coupling': coupling,
    'load-inertia': load_inertia,
    'inverse dynamics': inverse_dynamics,
    'forward dynamics': forward_dynamics,
    'derivatives': derivatives,
    '`to_pinocchio`': pinocchio,
}


class Refusal(NamedTuple):
    """Part of the message by which a command says that it cannot, and why, for the page."""

    said: str
    why: str


_NO_EQUALITY = Refusal(
    'MuJoCo has no equality for type',
    'MuJoCo has no equality of this kind (of couplings, it has those of one joint to one other, '
    'and of several with constant ratios): '
    'the file is written without, and the command says so',
)
_ONLY_PLANES = Refusal(
    'only planes fixed to the base are written',
    'only planes fixed to the base are written: other contacts are left out, and the command says '
    'so',
)
_NO_RODS = Refusal(
    '4 motors move 3 freedoms: .* that of cable_1 is none: pivot_1 comes before it',
    'inertia of more motors than freedoms is defined for limbs of a driven link and a rod',
)
REFUSED: dict[tuple[str, str], Refusal] = {
    **{(name, 'export-mjcf'): _NO_EQUALITY for name in (
        'universal', 'cylindrical', 'slider', 'coupling', 'rack')},
    **{(name, 'export-mjcf'): _ONLY_PLANES for name in ('plane', 'surface')},
    **{('cable_planar', column): _NO_RODS for column in ('coupling', 'load-inertia')},
}  # fmt: skip
# In `make test`, too; other cells are left to `make test-all`. Every kind has every command, but
# those that take long only some of them, and mechanisms that consist of such kinds few.
ALWAYS = ('check', 'close', 'inverse dynamics')
OFTEN = ('masticator', 'rrr4', 'five_bar', 'scara', 'slider_crank')
LONG = {'excite': ('point', 'coupling', 'prismatic', 'slider_crank')}
LONG['identify'] = LONG['excite']


def often(column: str, name: str) -> bool:
    if column in LONG:
        return name in LONG[column]
    return column in ALWAYS or (name, column) in REFUSED or name in (*SMALL, *OFTEN)


def cells() -> Iterator[Any]:
    for column, name in itertools.product(COMMANDS, ROBOTS):
        marks = [] if often(column, name) else [pytest.mark.sweep]
        yield pytest.param(column, name, id=f'{column}-{name}', marks=marks)


@pytest.mark.filterwarnings('ignore::masticator_dynamics.errors.RangeWarning')
@pytest.mark.parametrize(('column', 'name'), [*cells()])
def test_cell(column: str, name: str) -> None:
    refusal = REFUSED.get((name, column))
    if refusal is None:
        COMMANDS[column](name)
    else:
        with pytest.raises(MasticatorError, match=refusal.said):
            COMMANDS[column](name)


def test_every_kind_has_a_row() -> None:
    """A new kind of closure, contact or joint fails here until it has one."""
    kinds = (typing.get_args(typing.get_type_hints(of)['type']) for of in (Closure, Contact))
    assert {kind for of in kinds for kind in of} | {*MOVING_TYPES} == {*SMALL}


def table() -> str:
    """In Markdown; refusals are footnotes."""
    why_not = {cell: refusal.why for cell, refusal in REFUSED.items()}
    notes = list(dict.fromkeys(why_not.values()))
    lines = ['| | ' + ' | '.join(COMMANDS) + ' |', '|---|' + ':-:|' * len(COMMANDS)]
    for name in ROBOTS:
        kind = next((k for k, part in KINDS.items() if name in part), '')
        cells = [
            f'{notes.index(why_not[name, c]) + 1}' if (name, c) in why_not else '✓'
            for c in COMMANDS
        ]
        lines.append(f'| {kind}`{name}` | ' + ' | '.join(cells) + ' |')
    told = [f'{k}. {note}' for k, note in enumerate(notes, 1)]
    return '\n'.join([*lines, '', *told]).strip() + '\n'


KINDS = {
    'closure ': small_robots.CLOSURES,
    'contact ': small_robots.CONTACTS,
    'joint ': small_robots.JOINTS,
}


def test_the_page_has_this_table() -> None:
    text = PAGE.read_text(encoding='utf-8')
    before, rest = text.split(MARKS[0])
    shown, after = rest.split(MARKS[1])
    if os.environ.get('WRITE_TABLE'):
        PAGE.write_text(f'{before}{MARKS[0]}\n\n{table()}\n{MARKS[1]}{after}', encoding='utf-8')
    else:
        assert shown.strip() == table().strip(), 'WRITE_TABLE=1 writes the table into the page'
