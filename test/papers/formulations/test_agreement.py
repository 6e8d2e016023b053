# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every formulation agrees with the engine, on the shipped mechanisms and on changed ones."""

from __future__ import annotations

import ast
import dataclasses
import functools
import pathlib

import numpy as np
import pytest
import samples
from hypothesis import given, settings
from hypothesis import strategies as st

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import InputError, ReachError
from papers import formulations
from papers.formulations import FORMULATIONS

TOLERANCE = 1e-10  # the promise is 1e-8
MECHANISMS = ('masticator', 'rss6')


@functools.cache
def formulation(name: str, method: str):
    return FORMULATIONS[method](samples.mechanism(name).description)


def disagreement(mechanism: Mechanism, solution, state: samples.State) -> dict[str, float]:
    """Largest difference of all results of a formulation, over the engine's largest value."""
    effort = mechanism.feedforward(*state)
    found = {'torque': samples.relative_error(solution.actuated, effort.actuated)}
    if solution.contact is not None:
        found['contact'] = samples.relative_error(solution.contact, effort.contact)
    if solution.pin_force is not None:
        reaction = dict(zip(mechanism.tree_joints, effort.joint_reaction, strict=True))
        pins = [reaction[f'universal_{i}_first'][:3] for i in range(1, 7)]
        shafts = [reaction[f'crank_{i}'][:3] for i in range(1, 7)]
        found['pin'] = samples.relative_error(solution.pin_force, pins)
        found['shaft'] = samples.relative_error(solution.shaft_force, shafts)
    return found


@pytest.mark.parametrize('method', FORMULATIONS)
@pytest.mark.parametrize('name', MECHANISMS)
def test_random_motions_with_random_wrenches(name: str, method: str) -> None:
    mechanism = samples.mechanism(name)
    for state in samples.states(name, 40, seed=71):
        solution = formulation(name, method).inverse_dynamics(*state)
        for quantity, error in disagreement(mechanism, solution, state).items():
            assert error < TOLERANCE, quantity


def test_nothing_of_the_engine_is_used() -> None:
    """Agreement proves something only if the two are independent."""
    folder = pathlib.Path(formulations.__file__).parent
    imported = set()
    for file in folder.glob('*.py'):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom):
                imported.add(node.module)
            elif isinstance(node, ast.Import):
                imported |= {name.name for name in node.names}
    ours = {name for name in imported if name.startswith(('masticator_dynamics', 'papers'))}
    own = {name for name in ours if name.startswith('papers.formulations')}
    assert len(own) > 5
    assert ours - own == {
        'masticator_dynamics.description',
        'masticator_dynamics.description.urdf',
        'masticator_dynamics.engine.arrays',  # types and the conversion of input
        'masticator_dynamics.errors',
    }


def test_what_each_method_gives() -> None:
    state = samples.states('masticator', 1, seed=72)[0]
    gives = {
        method: [
            field.name
            for field in dataclasses.fields(solution)
            if getattr(solution, field.name) is not None
        ]
        for method in FORMULATIONS
        for solution in [formulation('masticator', method).inverse_dynamics(*state)]
    }
    everything = ['actuated', 'contact', 'pin_force', 'shaft_force']
    assert gives == {
        'hessian': ['actuated'],
        'liang': ['actuated'],
        'lagrange': ['actuated', 'contact'],
        'euler-parameters': everything,
        'euler-angles': everything,
    }


unit = st.floats(0.0, 1.0)
signed = st.floats(-1.0, 1.0)


@pytest.mark.parametrize('name', MECHANISMS)
@settings(max_examples=25)
@given(data=st.data())
def test_anywhere_in_the_workspace(name: str, data: st.DataObject) -> None:
    """Corners, rest and symmetric poses included, which random numbers miss.

    Corners may be out of reach, for the engine and the formulations alike.
    """
    box, mechanism = samples.BOXES[name], samples.mechanism(name)
    count = len(box.lower)

    def draw(numbers: st.SearchStrategy, length: int) -> samples.Array:
        return np.array(data.draw(st.lists(numbers, min_size=length, max_size=length)))

    state = samples.State(
        box.lower + draw(unit, count) * (box.upper - box.lower),
        3.0 * draw(signed, count) * box.rates,
        3.0 * draw(signed, count) * box.accelerations,
        2.0 * draw(signed, 6) * samples.LARGEST_WRENCH,
    )
    try:
        mechanism.feedforward(*state)
    except ReachError:
        for method in FORMULATIONS:
            with pytest.raises(ReachError):
                formulation(name, method).inverse_dynamics(*state)
        return
    for method in FORMULATIONS:
        solution = formulation(name, method).inverse_dynamics(*state)
        for quantity, error in disagreement(mechanism, solution, state).items():
            assert error < 1e-8, (method, quantity)


# Changed mechanisms: numbers come from the description.


def written(tmp_path: pathlib.Path, name: str, *changes: tuple[str, str]) -> Mechanism:
    """A shipped mechanism with changed lines in its YAML."""
    text = samples.file_of(name).read_text()
    urdf = f'urdf: {samples.ROOT}/urdf/masticator.urdf.xacro'
    for old, new in (('urdf: ../../urdf/masticator.urdf.xacro', urdf), *changes):
        assert old in text
        text = text.replace(old, new)
    file = tmp_path / 'changed.yaml'
    file.write_text(text)
    return Mechanism.load(file)


def assert_agreement(mechanism: Mechanism, name: str, seed: int) -> None:
    for method, kind in FORMULATIONS.items():
        changed = kind(mechanism.description)
        differs = False
        for state in samples.states(name, 4, seed):
            solution = changed.inverse_dynamics(*state)
            for quantity, error in disagreement(mechanism, solution, state).items():
                assert error < TOLERANCE, (method, quantity)
            shipped = formulation(name, method).inverse_dynamics(*state).actuated
            differs |= samples.relative_error(solution.actuated, shipped) > 1e-3
        assert differs, 'the change makes no difference, so nothing was tested'


def test_another_condyle(tmp_path: pathlib.Path) -> None:
    mechanism = written(
        tmp_path, 'masticator', ('base: maxilla', "xacro_arguments: {tx: '0.004'}\nbase: maxilla")
    )
    assert_agreement(mechanism, 'masticator', 73)


def test_another_plane_as_steep_again(tmp_path: pathlib.Path) -> None:
    """Through the condyles at home, (-2.5, ±72, 15.965) mm, with a normal of another length."""
    offset = -2.0 * (0.6 * -0.0025 + 0.015965)
    mechanism = written(
        tmp_path, 'masticator',
        ('normal: [1.1, 0.0, 1.0]', 'normal: [1.2, 0.0, 2.0]'),
        ('offset: -0.013215', f'offset: {offset!r}'),
    )  # fmt: skip
    assert_agreement(mechanism, 'masticator', 74)


@pytest.mark.parametrize('name', MECHANISMS)
def test_rotors_and_tilted_gravity(tmp_path: pathlib.Path, name: str) -> None:
    mechanism = written(
        tmp_path, name,
        ('crank_3: {', 'crank_3: {rotor_inertia: 3.0e-5, '),
        ('gravity: [0.0, 0.0, -9.8]', 'gravity: [2.0, -3.0, -8.0]'),
    )  # fmt: skip
    assert_agreement(mechanism, name, 75)


@pytest.mark.parametrize('name', MECHANISMS)
def test_masses_and_couplers_that_are_not_uniform(name: str) -> None:
    description = samples.mechanism(name).description
    links = dict(description.tree.links)
    rod = links['coupler_5']
    links['coupler_5'] = dataclasses.replace(
        rod, mass=0.05, center_of_mass=1.3 * rod.center_of_mass, about_center=2.0 * rod.about_center
    )
    links['mandible'] = dataclasses.replace(links['mandible'], mass=0.5)
    links['crank_2_link'] = dataclasses.replace(links['crank_2_link'], mass=0.3)
    # Mass on a frame that is fixed to the mandible belongs to it; two of them balance.
    for side in ('left', 'right'):
        links[f'condyle_{side}'] = dataclasses.replace(links[f'condyle_{side}'], mass=0.01)
    arm = np.array([-0.0025, 0.0, 0.015965])
    links['mandible'] = dataclasses.replace(links['mandible'], center_of_mass=-0.02 / 0.5 * arm)
    tree = dataclasses.replace(description.tree, links=links)
    assert_agreement(Mechanism(dataclasses.replace(description, tree=tree)), name, 76)


def test_another_home(tmp_path: pathlib.Path) -> None:
    """Home only determines the branch; joints keep their zeros."""
    shipped = samples.mechanism('masticator')
    q = shipped.solve([0.002, 0.001, 0.01, 0.1]).q
    home = ', '.join(f'{n}: {v!r}' for n, v in zip(shipped.tree_joints, q.tolist(), strict=True))
    mechanism = written(tmp_path, 'masticator', ('# No home:', f'home: {{{home}}}\n# No home:'))
    for method, kind in FORMULATIONS.items():
        for state in samples.states('masticator', 3, 77):
            moved = kind(mechanism.description).inverse_dynamics(*state)
            expected = formulation('masticator', method).inverse_dynamics(*state)
            assert samples.relative_error(moved.actuated, expected.actuated) < TOLERANCE


# Bad input.


@pytest.mark.parametrize('method', FORMULATIONS)
def test_derivatives_and_wrench_may_be_left_out(method: str) -> None:
    effort = samples.mechanism('masticator').feedforward([0.001, 0.0, 0.01, 0.1])
    solution = formulation('masticator', method).inverse_dynamics([0.001, 0.0, 0.01, 0.1])
    assert samples.relative_error(solution.actuated, effort.actuated) < TOLERANCE


@pytest.mark.parametrize('method', FORMULATIONS)
def test_refused_states(method: str) -> None:
    solve = formulation('masticator', method).inverse_dynamics
    with pytest.raises(InputError, match=r'y_dot has shape \(3,\), needed is \(4,\)'):
        solve(np.zeros(4), np.zeros(3))
    with pytest.raises(InputError, match='wrench is not finite'):
        solve(np.zeros(4), wrench=[0.0, 0.0, np.nan, 0.0, 0.0, 0.0])
    with pytest.raises(InputError, match='y is not an array of numbers'):
        solve(['a', 'b', 'c', 'd'])
    with pytest.raises(ReachError, match='crank_.: crank and coupler do not reach'):
        solve([0.5, 0.0, 0.0, 0.0])
