# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with other numbers against the same numbers in files, and the regressor.

``GEOMETRIES`` sets how many random geometries of each mechanism are tried, ``PARAMETERS`` how many
numbers of each are changed.
"""

from __future__ import annotations

import functools
import os
import pathlib
import re
import types
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
import samples
import yaml

from masticator_dynamics import Mechanism
from masticator_dynamics.description import archetypes
from masticator_dynamics.engine.evaluation import with_parameters
from masticator_dynamics.engine.evaluation.inertia_coupling import (
    actuated_inertia,
    inertia_coupling,
)
from masticator_dynamics.engine.traced import kernels, row_code
from masticator_dynamics.engine.traced.changed_home import changed_home
from masticator_dynamics.engine.traced.numbers import TooLargeError
from masticator_dynamics.engine.traced.variable import Variable, Variation
from masticator_dynamics.errors import (
    ActuationError,
    DescriptionWarning,
    InputError,
    MasticatorError,
    ReachError,
)

GEOMETRIES = int(os.environ.get('GEOMETRIES', '2'))
PARAMETERS = int(os.environ.get('PARAMETERS', '12'))
NAMES = (*samples.NAMES, *(f'archetype {name}' for name in archetypes()))
ANGLES = ('roll', 'pitch', 'yaw', 'nx', 'ny', 'nz')


@functools.cache
def mechanism(name: str) -> Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', DescriptionWarning)
        if name in samples.NAMES:
            return samples.mechanism(name)
        return Mechanism.load(name.removeprefix('archetype '))


@functools.cache
def free_to_change(name: str) -> dict[str, float]:
    """Some parameters of geometry, those on which the structure does not depend."""
    found, rng = mechanism(name), np.random.default_rng(3211)
    linear, known = found.parameters(), found.parameters(geometry=True)
    keys = [key for key in known if key not in linear and not key.endswith('.zero')]
    chosen: dict[str, float] = {}
    for key in rng.permutation(keys).tolist():
        value = known[key]
        if len(chosen) == PARAMETERS:
            break
        shift = 0.003 * rng.uniform(0.5, 1.0) * found.structure.extent()
        try:
            found.with_parameters({key: value})
            found.with_parameters({**{k: x + shift for k, x in chosen.items()}, key: value + shift})
        except InputError as error:  # the second: loops that close in a plane alone
            assert re.search('the structure of|with these numbers it does not', str(error))
            continue
        except ReachError:
            continue
        chosen[key] = value
    return chosen


def random_geometry(name: str, seed: int) -> dict[str, float]:
    found, rng = mechanism(name), np.random.default_rng(seed)
    size = found.structure.extent()
    return {
        key: value + 0.004 * (1.0 if key.split('.')[-1] in ANGLES else size) * rng.uniform(-1, 1)
        for key, value in free_to_change(name).items()
    }


def written(folder: pathlib.Path, old: Mechanism, new: Mechanism, changed: dict) -> Mechanism:
    """The mechanism loaded from files that say these numbers, at the home that was found."""
    robot = ElementTree.fromstring(old.description.urdf_xml)
    for joint in robot.findall('joint'):
        name = joint.get('name')
        origin = joint.find('origin')
        xyz, rpy = ((origin.get(key) if origin is not None else None) or '0 0 0'
                    for key in ('xyz', 'rpy'))  # fmt: skip
        numbers = dict(zip(('x', 'y', 'z'), xyz.split(), strict=True))
        numbers |= dict(zip(('roll', 'pitch', 'yaw'), rpy.split(), strict=True))
        mine = {key: changed[f'{name}.{key}'] for key in numbers if f'{name}.{key}' in changed}
        if any(key in mine for key in ('roll', 'pitch', 'yaw')):  # of one and the same rotation
            known = old.parameters(geometry=True)
            mine = {k: known[f'{name}.{k}'] for k in ('roll', 'pitch', 'yaw')} | mine
        if mine:
            if origin is None:
                origin = ElementTree.SubElement(joint, 'origin')
            text = {key: str(value) for key, value in (numbers | mine).items()}
            origin.set('xyz', ' '.join(text[key] for key in 'xyz'))
            origin.set('rpy', ' '.join(text[key] for key in ('roll', 'pitch', 'yaw')))
    data = yaml.safe_load(old.description.file.read_text(encoding='utf-8'))
    for contact in data.get('contacts', []):
        key = contact['name']
        for i, part in enumerate(('nx', 'ny', 'nz')):
            contact['normal'][i] = changed.get(f'{key}.{part}', contact['normal'][i])
        contact['offset'] = changed.get(f'{key}.offset', contact['offset'])
    for closure in data.get('closures', []):
        for part in ('length', 'offset'):
            if f'{closure["name"]}.{part}' in changed:
                closure[part] = changed[f'{closure["name"]}.{part}']
    for joint, own in (data.get('joints') or {}).items():
        if f'{joint}.reference' in changed:
            own['reference'] = changed[f'{joint}.reference']
    home = dict(zip(new.tree_joints, new.structure.home.tolist(), strict=True))
    data |= {'urdf': 'robot.urdf', 'home': home}
    data.pop('xacro_arguments', None)
    (folder / 'robot.urdf').write_text(ElementTree.tostring(robot, 'unicode'), 'utf-8')
    (folder / 'robot.yaml').write_text(yaml.safe_dump(data), 'utf-8')
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', DescriptionWarning)
        return Mechanism.load(folder / 'robot.yaml')


def states(name: str, count: int, seed: int) -> list[tuple[samples.Array, ...]]:
    if name in samples.NAMES:
        return [tuple(state) for state in samples.states(name, count, seed)]
    found, rng = mechanism(name), np.random.default_rng(seed)
    n, size = len(found.independent), found.structure.extent()
    units = [found.structure.tree.joints[j].unit for j in found.independent_rows]
    reach = np.where(np.array(units) == 'm', 0.05 * size, 0.1)
    return [
        (found.home.y + rng.uniform(-reach, reach), *rng.normal(size=(2, n)), rng.normal(size=6))
        for _ in range(count)
    ]


# Every code is compiled for each; all of them where geometries are asked for.
CHOSEN = NAMES if 'GEOMETRIES' in os.environ else (
    'masticator', 'rrr4', 'trimule', 'boom', 'archetype delta', 'archetype slider_crank',
    'archetype cable_planar',
)  # fmt: skip


def no_machine_code(*_: object) -> None:
    """In place of what finds it, or makes it: it may be there from another test."""
    raise TooLargeError('none is made')


@pytest.mark.parametrize('name', samples.swept(CHOSEN, ['masticator', 'trimule', 'boom']))
def test_geometry_against_files(
    name: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the files on floats: no machine code is made of them."""
    old = mechanism(name)
    compared = 0
    for seed in range(GEOMETRIES):
        changed = random_geometry(name, seed)
        new = old.with_parameters(changed)
        expected = written(tmp_path, old, new, changed)
        for state in states(name, 3, seed):
            try:
                with monkeypatch.context() as patch:
                    patch.setattr(row_code, 'library', no_machine_code)
                    right = expected.feedforward(*state)
                    assert right.q.size and not expected.kernels.available
            except MasticatorError:
                with pytest.raises(MasticatorError):
                    new.feedforward(*state)
                continue
            one = new.feedforward(*state)
            many = new.feedforward_batch(*(np.tile(x, (9, 1)) for x in state))
            motion = new.solve(*state[:3])
            for found in (
                one.actuated,
                many.actuated[8],
                new.inverse_dynamics(motion, state[3]).actuated,
            ):
                assert samples.relative_error(found, right.actuated) < 1e-11
            assert samples.relative_error(one.contact, right.contact) < 1e-11
            assert samples.relative_error(motion.q, right.q) < 1e-11
            assert samples.relative_error(one.joint_reaction, right.joint_reaction) < 1e-10
            if changed:
                assert samples.relative_error(old.feedforward(*state).actuated, one.actuated) > 1e-6
            compared += 1
    assert compared >= GEOMETRIES


def test_everything_follows_the_numbers(tmp_path: pathlib.Path) -> None:
    """Friction, goals, workspaces, forward kinematics, derivatives and the URDF text."""
    old = mechanism('masticator')
    changed = random_geometry('masticator', 5)
    new = old.with_parameters(changed)
    expected = written(tmp_path, old, new, changed)
    assert new.with_parameters({}).parameters(geometry=True) == new.parameters(geometry=True)
    (state,) = states('masticator', 1, 6)
    for options in ({'friction': True}, {'limits': True}):
        found, right = (m.feedforward(*state, **options).actuated for m in (new, expected))
        assert samples.relative_error(found, right) < 1e-10
    u = expected.solve(state[0]).position
    np.testing.assert_allclose(new.forward_kinematics(u), state[0], atol=1e-9)
    far = old.home.y + np.array([0.0, 0.02, 0.0, 0.1]) * np.linspace(0.1, 1.0, 9)[:, None]
    assert (new.attempt(far).closed == expected.attempt(far).closed).all()
    found, right = (m.feedforward_derivatives(*state).by_y for m in (new, expected))
    assert samples.relative_error(found, right) < 1e-9
    (tmp_path / 'again.urdf').write_text(new.description.urdf_xml, encoding='utf-8')
    text = (tmp_path / 'robot.yaml').read_text(encoding='utf-8')
    (tmp_path / 'again.yaml').write_text(text.replace('robot.urdf', 'again.urdf'), 'utf-8')
    again = Mechanism.load(tmp_path / 'again.yaml').feedforward(*state).actuated
    assert samples.relative_error(again, new.feedforward(*state).actuated) < 1e-11


def test_nothing_is_compiled_for_other_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equations of motion, forward dynamics and inertia in actuated space, against new code."""
    old, names = mechanism('masticator'), [*free_to_change('masticator')]
    names = [key for key in names if not key.startswith('universal')]
    (state,) = states('masticator', 1, 10)
    mass = {'mandible.mass': old.parameters()['mandible.mass'] * 1.2}

    def everything(of: Mechanism) -> list[samples.Array]:
        effort, motion = of.feedforward(*state), of.solve(*state[:3])
        driven = [
            of.forward_dynamics(*state[:2], effort.actuated, state[3], friction=rubs)
            for rubs in (False, True)
        ]
        assert samples.relative_error(driven[0], state[2]) < 1e-9
        inertia, frame = of.actuated_inertia(motion), 'incisor'
        position, rotation = vars(of.frame_pose(motion, frame)).values()
        for back in (
            of.inverse_kinematics(frame, np.array(position), start=np.array(motion.y)),
            of.forward_kinematics(np.array(motion.position)),
        ):
            assert np.abs(back - motion.y).max() < 1e-9
        return [
            position, rotation, of.frame_jacobian(motion, frame), of.frame_twist(motion, frame),
            of.mass_matrix(motion), of.bias(motion), of.gravity(motion),
            np.array(of.energy(motion)), of.tangent_rate(motion), *driven, inertia,
        ]  # fmt: skip

    numbers = [random_geometry('masticator', seed) for seed in (11, 12)]
    first, second = ({key: found[key] for key in names} for found in numbers)
    for _ in range(with_parameters.AT_FIRST + 1):
        new = old.with_parameters(first | mass)
    everything(new)
    monkeypatch.setattr(row_code, 'object_code', None)
    new = old.with_parameters(second | mass)
    found = everything(new)
    monkeypatch.undo()
    for one, right in zip(found, everything(Mechanism(new.description)), strict=True):
        assert samples.relative_error(one, right) < 1e-10
    for k in (0, 4, -1):
        assert samples.relative_error(found[k], everything(old)[k]) > 1e-4


@pytest.mark.parametrize('name', samples.swept(CHOSEN, ['masticator', 'rrr4', 'boom']))
def test_home_by_machine_code_is_that_of_floats(name: str) -> None:
    """Numbers from small to impossible: the same home to rounding, or the same refusal."""
    root = Mechanism(mechanism(name).description)
    names, size, rng = [*free_to_change(name)], root.structure.extent(), np.random.default_rng(4905)
    known = root.parameters(geometry=True)
    home = root.made(with_parameters._homes)[tuple(n for n in known if n in names)]
    home._asked = with_parameters.AT_FIRST
    closed = 0
    for far in (1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.3, 1.0, 3.0):
        units = [1.0 if key.split('.')[-1] in ANGLES else size for key in names]
        shifts = far * rng.uniform(-1.0, 1.0, len(names)) * units
        changes = dict(zip(names, (known[k] + x for k, x in zip(names, shifts, strict=True)),
                           strict=True))  # fmt: skip
        answers: list[Mechanism | str] = []
        for ask in (root.with_parameters, lambda x: with_parameters.closed_structure(root, x)):
            try:
                answers.append(ask({key: changes[key] for key in known if key in changes}))
            except MasticatorError as error:
                answers.append(str(error))
        found, right = answers
        if isinstance(found, str) or isinstance(right, str):
            assert found == right or 'is needed' in str(found), far
            continue
        closed += 1
        np.testing.assert_allclose(found.home_positions, right.home, atol=1e-12, rtol=0.0)
        np.testing.assert_array_equal(found.structure.home, found.home_positions)
        assert found.structure.largest_gap(found.home_positions) < 1e-12 * max(size, 1.0)
    assert closed >= 3 and home._code.available


def test_an_equation_that_was_left_out_must_follow_from_others_still() -> None:
    """Machine code leaves it to floats, which refuse."""
    root, (key,) = mechanism('rrr4'), ('elbow_2.z',)
    known = root.parameters(geometry=True)
    with pytest.raises(InputError, match=f'depends on {key}: .* followed in part'):
        root.with_parameters({key: known[key] + 1e-3})
    of = Variation(root.description, root.structure, root.structure, (key,))
    shifts = [x[root.independent_rows].tolist() for x in with_parameters._shifts(root)]
    allowed = with_parameters._allowed_gaps(root, root.structure.extent())
    code, start = changed_home(of, shifts, allowed), root.structure.home
    for shift, counts in ((0.0, 1.0), (1e-9, 1.0), (1e-3, 0.0), (np.nan, 0.0)):
        numbers = Variable(of, {key: known[key] + shift}, start).numbers
        assert code(numbers)[0] == counts


def test_one_row_of_other_numbers_is_served_by_the_entry() -> None:
    """The same bits as of its machine code, and close to the method in Python."""
    old = mechanism('masticator')
    (state,) = states('masticator', 1, 13)
    heavier = [old.with_parameters({'crank_1.rotor_inertia': x}) for x in (1e-5, 5e-5)]
    for new in heavier:
        expected, found = Mechanism.feedforward(new, *state), new.feedforward(*state)
        assert isinstance(new.feedforward, types.BuiltinFunctionType)
        by_code = new.kernels.evaluate(np.concatenate([*state]))[kernels.EFFORT :]
        assert (found.actuated == by_code[: len(found.actuated)]).all()
        for name in ('actuated', 'contact', 'q'):
            assert samples.relative_error(getattr(found, name), getattr(expected, name)) < 1e-12
        assert samples.relative_error(old.feedforward(*state).actuated, found.actuated) > 1e-6


def test_a_shifted_encoder_reads_otherwise_and_nothing_else_changes() -> None:
    old = mechanism('masticator')
    new = old.with_parameters({'crank_2.zero': 0.05, 'crank_5.zero': -0.3})
    shift = np.array([0.0, 0.05, 0.0, 0.0, -0.3, 0.0])
    for state in states('masticator', 3, 8):
        found, right = new.feedforward(*state), old.feedforward(*state)
        np.testing.assert_allclose(found.position, right.position - shift, atol=1e-12)
        assert samples.relative_error(found.actuated, right.actuated) < 1e-11


def test_masses_and_friction_against_the_regressor() -> None:
    """Efforts are linear in them: another derivation of what the changed mechanism needs."""
    old, rng = mechanism('masticator'), np.random.default_rng(3212)
    factors = rng.uniform(0.9, 1.1, 13)
    links = dict.fromkeys(name.rpartition('.')[0] for name in old.parameters() if '.mass' in name)
    assert len(links) == 13
    changed = {
        name: value * factors[list(links).index(link)]
        for name, value in old.parameters().items()
        if (link := name.rpartition('.')[0]) in links
    }
    changed |= {'crank_1.rotor_inertia': 3e-5, 'crank_4.rotor_inertia': 1e-5}
    new = old.with_parameters(changed)
    assert {key: new.parameters()[key] for key in changed} == pytest.approx(changed, rel=1e-12)
    numbers = np.array(list((old.parameters() | changed).values()))
    for y, y_dot, y_ddot, _ in states('masticator', 4, 9):
        motion = old.solve(y, y_dot, y_ddot)
        expected = old.regressor(motion).matrix @ numbers
        assert samples.relative_error(new.feedforward(y, y_dot, y_ddot).actuated, expected) < 1e-12
    laws = {'crank_1.coulomb': 0.05, 'condyle_left.coulomb': 0.1, 'crank_2.viscous': 1e-4}
    rubbing = new.with_parameters(laws)
    effort = rubbing.feedforward(y, y_dot, y_ddot, friction=True)
    found = rubbing.regressor(motion, friction=True)
    numbers = np.array(list(rubbing.parameters(friction=True).values()))
    assert found.names == tuple(rubbing.parameters(friction=True))
    rates = motion.tangent[old.actuated_rows] * old.transmission_ratios[:, None]
    needed = rates.T @ effort.actuated
    assert samples.relative_error(found.generalized @ numbers, needed) < 1e-12
    without = rates.T @ old.feedforward(y, y_dot, y_ddot).actuated
    assert samples.relative_error(without, needed) > 1e-2


@pytest.mark.parametrize('name', samples.swept(NAMES))
def test_regressor_times_parameters_are_efforts(name: str) -> None:
    found = mechanism(name)
    numbers = np.array(list(found.parameters().values()))
    parts = [np.array(part) for part in zip(*states(name, 30, 3213), strict=True)][:3]
    closed = found.attempt(parts[0]).closed
    parts = [part[closed] for part in parts]
    batch = found.feedforward_batch(*parts)
    regressor = found.regressor(batch)
    assert regressor.names == tuple(found.parameters())
    assert regressor.matrix.shape == (closed.sum(), len(found.actuated), len(numbers))
    for row, effort in zip(regressor.matrix @ numbers, batch.actuated, strict=True):
        assert samples.relative_error(row, effort) < 1e-12
    motion = found.solve(*(part[0] for part in parts))
    one = found.regressor(motion).matrix
    assert samples.relative_error(one, regressor.matrix[0]) < 1e-11
    base = regressor.base_parameters()
    rows = regressor.generalized.reshape(-1, len(numbers))
    columns = rows[:, [regressor.names.index(parameter) for parameter in base.names]]
    sizes = np.linalg.norm(rows, axis=0)
    counts = sizes > 1e-14 * sizes.max()  # others are nothing but rounding
    missing = np.abs(columns @ base.combinations - rows).max(axis=0)
    assert (missing[counts] / sizes[counts]).max() < 1e-6
    assert not base.combinations[:, ~counts].any()
    assert np.linalg.matrix_rank(columns / np.linalg.norm(columns, axis=0)) == len(base.names)
    assert len(base.names) < len(numbers)


def test_refused() -> None:
    found, bar = mechanism('masticator'), mechanism('five_bar')
    cases = [
        (found, {'mandible.mas': 1.0}, InputError, "'mandible.mas'; is 'mandible.mass' meant"),
        (found, {'mandible.mass': -1.0}, InputError, 'mandible.mass is -1 kg; 0 or more is needed'),
        (found, {'mandible.mx': 1.0}, InputError, 'mandible would have a negative moment'),
        (found, {'mandible.mass': np.nan}, InputError, 'not a finite number'),
        (found, {'mandible.mass': 'heavy'}, InputError, "is 'heavy', not a number"),
        (found, {'crank_1.x': 1.0}, ReachError, 'cannot close at home .*mm are missing'),
        (found, {'crank_1.viscous': -1.0}, InputError, '0 or more is needed'),
        (bar, {'motor_1.z': 0.01}, InputError, 'the structure of five_bar depends on motor_1.z'),
    ]
    for of, values, error, message in cases:
        with pytest.raises(error, match=message):
            of.with_parameters(values)


# Batches


def test_a_batch_of_geometries_against_mechanisms_with_these_numbers() -> None:
    found = mechanism('masticator')
    names = [*free_to_change('masticator')]
    batch = found.parameter_batch(names)
    numbers = np.array([[*random_geometry('masticator', seed).values()] for seed in range(5)])
    numbers[3, :] = batch.values
    Y, V, A, W = (np.array(part) for part in zip(*states('masticator', 6, 3214), strict=True))
    Y[4] = found.home.y + 1.0  # nothing reaches there
    efforts = batch.feedforward(numbers, Y, V, A, W)
    assert efforts.closed.all()
    assert not efforts.valid[:, 4].any() and not efforts.actuated[:, 4].any()
    served = [0, 1, 2, 3, 5]
    assert efforts.valid[:, served].all()
    for g, row in enumerate(numbers):
        one = found.with_parameters(dict(zip(names, row, strict=True)))
        right = one.feedforward_batch(*(part[served] for part in (Y, V, A, W)))
        assert samples.relative_error(efforts.actuated[g, served], right.actuated) < 1e-11
        assert samples.relative_error(efforts.contact[g, served], right.contact) < 1e-11
    right = found.feedforward_batch(*(part[served] for part in (Y, V, A, W)))
    assert samples.relative_error(efforts.actuated[3, served], right.actuated) < 1e-11
    slopes = batch.feedforward(numbers, Y, V, A, W, derivatives=True)
    for k, step in enumerate(np.eye(len(names)) * 1e-5):
        expected = samples.five_point(
            lambda t, step=step: batch.feedforward(numbers + t * step, Y, V, A, W).actuated, 1.0
        )
        error = np.abs(slopes.by_parameters[..., k] - expected / 1e-5).max()
        assert error < 1e-6 * max(np.abs(slopes.by_parameters).max(), 1e-3), names[k]
    weights = np.random.default_rng(3).normal(size=efforts.actuated.shape)
    gradient, valid = batch.gradient(weights, numbers, Y, V, A, W)
    assert (valid == efforts.valid).all()
    expected = np.einsum('gnu,gnup->gnp', weights, slopes.by_parameters)
    assert samples.relative_error(gradient, expected) < 1e-10


def test_geometries_that_do_not_close_are_told_apart() -> None:
    found = mechanism('five_bar')
    batch = found.parameter_batch(['rod_1_end.x', 'rod_1_end.y'])
    assert batch.names == ('rod_1_end.x', 'rod_1_end.y')
    far = batch.values * 4.0 + 1.0
    efforts = batch.feedforward([batch.values, far], found.home.y[None])
    assert efforts.closed.tolist() == [True, False]
    assert efforts.valid.tolist() == [[True], [False]] and not efforts.actuated[1].any()
    with pytest.raises(ReachError, match='mm are missing'):
        found.with_parameters(dict(zip(batch.names, far, strict=True)))
    masses = found.parameter_batch(['rod_1.mass'])
    for numbers, message in (
        ([[1.0, 2.0]], r'shape \(1, 2\), needed is \(G, 1\)'),
        ([[1.0], [-1.0]], 'parameters, row 2: rod_1.mass is -1 kg; 0 or more is needed'),
        ([[1.0], [np.inf]], 'parameters, row 2: rod_1.mass is inf'),
    ):
        with pytest.raises(InputError, match=message):
            masses.feedforward(numbers, found.home.y[None])
    with pytest.raises(InputError, match='named twice'):
        found.parameter_batch(['rod_1.mass', 'rod_1.mass'])


def test_states_outside_ranges_are_valid_all_the_same() -> None:
    masticator = mechanism('masticator')
    batch = masticator.parameter_batch(['crank_1.x'])
    Y = np.array([[0.0, 0.0, 0.0, 0.35], [0.0, 0.0, 0.0, 0.1]])  # cranks 3 and 4 past 1.7 rad
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        expected = masticator.feedforward_batch(Y)
    assert list(expected.in_ranges) == [False, True]
    found = batch.feedforward(batch.values[None], Y)
    assert found.valid.all()
    assert np.abs(found.actuated[0] - expected.actuated).max() < 1e-12


@pytest.mark.parametrize(
    'name', samples.swept(['masticator', 'rrr4', 'rcid', 'trimule', 'archetype jaw_6pus'])
)
def test_positions_of_encoders_by_parameters(name) -> None:
    found = mechanism(name)
    zeros = [f'{joint}.zero' for joint in found.actuated[:2]]
    names = [*zeros, *free_to_change(name)]
    batch = found.parameter_batch(names)
    chosen = name.removeprefix('archetype ')
    Y = np.array(states(name, 4, 3217), dtype=object)[:, 0].tolist()
    positions = batch.positions(batch.values[None], Y)
    assert positions.valid.all(), chosen
    motion = found.solve_batch(Y)
    tangent = motion.tangent[:, found.actuated_rows]
    assert samples.relative_error(positions.position[0], motion.position) < 1e-11
    assert samples.relative_error(positions.by_y[0], tangent) < 1e-11
    assert positions.by_parameters is not None
    largest = np.abs(positions.by_parameters).max()
    for k, step in enumerate(np.eye(len(names)) * 1e-5):
        slope = samples.five_point(
            lambda t, step=step: batch.positions(batch.values[None] + t * step, Y).position, 1.0
        )
        error = np.abs(positions.by_parameters[..., k] - slope / 1e-5).max()
        assert error < 1e-7 * largest, names[k]


QUANTITIES = (
    'actuated', 'power', 'contact', 'joint_force', 'bearing_force', 'loop_force', 'position',
    'velocity', 'q', 'jacobian', 'condition', 'mass', 'actuated_inertia', 'load_inertia',
    'inertia_coupling',
)  # fmt: skip


def of_one_mechanism(found: Mechanism, state: tuple[samples.Array, ...]) -> dict[str, object]:
    """The same quantities by the calls for single states."""
    effort, motion = found.feedforward(*state), found.solve(*state[:3])
    inertia = actuated_inertia(found, motion)
    reactions = dict(zip(found.tree_joints, effort.joint_reaction, strict=True))
    bearing = []
    for joint in found.actuated:
        k = found.tree_joints.index(joint)
        axes = found.structure.tree.poses(motion.q).rotations[k]
        bearing.append(axes.T @ reactions[joint][:3])
    return {
        'actuated': effort.actuated,
        'power': effort.actuated * effort.velocity * found.transmission_ratios,
        'contact': effort.contact,
        'joint_force': [reactions[joint][:3] for joint in found.description.force_joints],
        'bearing_force': bearing,
        'loop_force': effort.loop_force,
        'position': motion.position,
        'velocity': motion.velocity,
        'q': motion.q,
        'jacobian': found.jacobian_actuated_from_independent(motion),
        'condition': motion.condition_number_actuation,
        'mass': found.mass_matrix(motion),
        'actuated_inertia': inertia,
        'load_inertia': np.diagonal(inertia),
        'inertia_coupling': inertia_coupling(inertia),
    }


@pytest.mark.parametrize('name', samples.swept(['masticator', 'five_bar', 'rss6']))
def test_quantities_of_a_batch_against_files(name: str, tmp_path: pathlib.Path) -> None:
    """Each quantity against a mechanism loaded from a file written with that geometry."""
    old = mechanism(name)
    # Others move the ends of rods away from their lines.
    names = [key for key in free_to_change(name) if not key.startswith('universal')]
    batch = old.parameter_batch(names)
    geometries = [random_geometry(name, seed) for seed in range(GEOMETRIES - 1)]
    numbers = np.array([[changed[key] for key in names] for changed in geometries])
    chosen = states(name, 3, 3215)
    Y, V, A, W = (np.array(part) for part in zip(*chosen, strict=True))
    known = [key for key in QUANTITIES if key != 'loop_force' or old.structure.least_norm]
    found = batch.quantities(known, numbers, Y, V, A, W)
    assert found.valid.all() and not found.status.any() and found.closed.all()
    assert (found.closure_residual < 1e-12).all()
    for g, row in enumerate(numbers):
        changed = dict(zip(names, row, strict=True))
        expected = written(tmp_path, old, old.with_parameters(changed), changed)
        for n, state in enumerate(chosen):
            right = of_one_mechanism(expected, state)
            for key in known:
                value = np.reshape(right[key], found[key].shape[2:])
                assert samples.relative_error(found[key][g, n], value) < 1e-10, key


def test_quantities_of_what_does_not_close() -> None:
    found = mechanism('masticator')
    batch = found.parameter_batch(['crank_1.x'])
    Y = np.array([found.home.y, found.home.y + 1.0])
    result = batch.quantities(['load_inertia'], batch.values[None], Y)
    assert result.valid.tolist() == [[True, False]] and result.status.tolist() == [[0, 1]]
    assert not result['load_inertia'][0, 1].any()
    bent = found.parameter_batch(['coupler_4_tip_fixed.y', 'coupler_4_tip_fixed.z'])
    with pytest.raises(ActuationError, match='row 2: .*_4: the rod has its centre of mass off'):
        bent.quantities(['load_inertia'], [bent.values, bent.values + 0.001], Y)
    with pytest.raises(InputError, match="no quantity 'mas'; there are: actuated, power"):
        batch.quantities(['mas'], batch.values[None], Y)
    with pytest.raises(InputError, match='named twice'):
        batch.quantities(['mass', 'mass'], batch.values[None], Y)
