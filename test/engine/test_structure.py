# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loops that do not fit the joints are refused on construction, by name and amount."""

from __future__ import annotations

import copy
import dataclasses
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import samples
import small_robots
import yaml

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.closure_equations import all_constraints
from masticator_dynamics.engine.rebuilt import rebuilt
from masticator_dynamics.errors import ActuationError, DescriptionError

Edit = Callable[[dict[str, Any]], Any]


def edited(folder: pathlib.Path, name: str, edit: Edit, urdf: str | None = None) -> Mechanism:
    """A mechanism from an edited file, optionally with another URDF text."""
    file = samples.file_of(name)
    data = copy.deepcopy(yaml.safe_load(file.read_text(encoding='utf-8')))
    original = (file.parent / data['urdf']).resolve()
    data['urdf'] = str(original)
    if urdf is not None:
        data['urdf'] = original.name
        (folder / original.name).write_text(urdf, encoding='utf-8')
    edit(data)
    (folder / 'edited.yaml').write_text(yaml.safe_dump(data), encoding='utf-8')
    return Mechanism.load(folder / 'edited.yaml')


def refused(
    folder: pathlib.Path, name: str, edit: Edit, urdf: str | None = None
) -> DescriptionError:
    with pytest.raises(DescriptionError) as caught:
        edited(folder, name, edit, urdf)
    assert caught.value.file == str(folder / 'edited.yaml')
    return caught.value


def nothing(data: dict[str, Any]) -> None:
    pass


def urdf_of(name: str, old: str, new: str) -> str:
    file = {'five_bar': 'five_bar.urdf.xacro', 'ladder': 'ladder.urdf'}[name]
    text = (samples.OWN / file).read_text(encoding='utf-8')
    assert old in text
    return text.replace(old, new)


# Home


def test_a_loop_that_is_open_at_home(tmp_path: pathlib.Path) -> None:
    error = refused(tmp_path, 'five_bar', lambda data: data['home'].update(y=0.3255))
    assert error.key == 'closures[0] (leg_1)'
    assert 'does not close at home: gap 0.5 mm' in error.reason
    assert "'rod_1_tip'" in error.reason and "'pin'" in error.reason


def test_a_contact_that_is_off_its_plane_at_home(tmp_path: pathlib.Path) -> None:
    """An offset wrong by 10 mm is 10 / sqrt(5) mm from the plane with normal (2, 1, 0)."""
    error = refused(tmp_path, 'ladder', lambda data: data['contacts'][0].update(offset=-2.21))
    assert error.key == 'contacts[0] (wall)'
    assert "'head' is 4.47214 mm off its plane" in error.reason


def test_rounding_at_home_is_taken_out(tmp_path: pathlib.Path) -> None:
    """Half a micrometre may be the file's rounding; the mechanism then closes exactly."""
    mechanism = edited(tmp_path, 'five_bar', lambda data: data['home'].update(y=0.3250005))
    assert mechanism.home.closure_residual < 1e-15
    assert mechanism.home.y.tolist() == [0.0, 0.3250005]
    refused(tmp_path, 'five_bar', lambda data: data['home'].update(y=0.325002))


def test_a_home_where_a_joint_is_undetermined(tmp_path: pathlib.Path) -> None:
    """Where tan t = 1/2, the ladder's slide turns back and does not determine the tilt."""
    tilt = float(np.arctan(0.5))
    slide = float(1.1 - np.sin(tilt) / 2.0 - np.cos(tilt))
    error = refused(
        tmp_path,
        'ladder',
        lambda data: data.update(home={'tilt': tilt, 'slide': slide}, independent=['slide']),
    )
    assert error.key == 'home' and "'tilt'" in error.reason and 'condition' in error.reason


# Counting


def test_too_few_closures(tmp_path: pathlib.Path) -> None:
    error = refused(tmp_path, 'five_bar', lambda data: data['closures'].pop())
    assert '2 constraint equations for 4 dependent joints' in error.reason
    assert 'undetermined: motor_2, elbow_2;' in error.reason


def test_a_closure_that_says_what_another_says(tmp_path: pathlib.Path) -> None:
    """The usual slip: the second leg's closure names the first leg's tip."""
    error = refused(
        tmp_path,
        'five_bar',
        lambda data: data['closures'][1].update(frames=data['closures'][0]['frames']),
    )
    assert 'undetermined: motor_2, elbow_2;' in error.reason
    assert error.reason.endswith('; what others say already: leg_2')


def test_too_few_independent_joints(tmp_path: pathlib.Path) -> None:
    error = refused(tmp_path, 'five_bar', lambda data: data.update(independent=['x']))
    assert '4 constraint equations for 5 dependent joints' in error.reason
    assert 'undetermined: y;' in error.reason


def test_too_many_independent_joints(tmp_path: pathlib.Path) -> None:
    error = refused(
        tmp_path, 'five_bar', lambda data: data.update(independent=['x', 'y', 'motor_1'])
    )
    assert '4 constraint equations for 3 dependent joints' in error.reason
    assert 'left over: leg_1' in error.reason


def test_axes_that_are_not_quite_parallel(tmp_path: pathlib.Path) -> None:
    """The loop can then also open sideways, and no joint can close it."""
    elbow = '<origin xyz="${side * 0.12} 0.16 0"/>\n      <axis xyz="0 0 1"/>'
    skewed = urdf_of('five_bar', elbow, elbow.replace('0 0 1', '0.01 0 1'))
    error = refused(tmp_path, 'five_bar', nothing, skewed)
    assert '6 constraint equations for 4 dependent joints' in error.reason


# What is handled


def test_an_open_chain_is_a_mechanism_too(tmp_path: pathlib.Path) -> None:
    """The ladder falls without its wall: a pendulum on a cart, derived by hand."""
    free = {'contacts': [], 'independent': ['slide', 'tilt'], 'actuated': ['slide', 'tilt']}
    mechanism = edited(tmp_path, 'ladder', lambda data: data.update(free))
    a, b, mass = 0.45, 0.02, 9.0
    for slide, tilt, v, w, acceleration, spin in np.random.default_rng(7).normal(size=(10, 6)):
        c, s = np.cos(tilt), np.sin(tilt)
        arm = np.array([a * c - b * s, a * s + b * c])
        center = np.array([acceleration, 9.81]) + spin * np.array([-arm[1], arm[0]]) - w**2 * arm
        force = (2.0 + 1.5) * acceleration + mass * center[0]
        torque = 0.8 * spin + mass * (arm[0] * center[1] - arm[1] * center[0])
        effort = mechanism.feedforward([slide, tilt], [v, w], [acceleration, spin])
        assert effort.actuated == pytest.approx([force, torque], rel=1e-12, abs=1e-10)
        assert effort.closure_residual == 0.0
    assert mechanism.home.condition_number_loops == 1.0


def test_too_few_motors_are_told_when_efforts_are_asked(tmp_path: pathlib.Path) -> None:
    free = {'contacts': [], 'independent': ['slide', 'tilt']}
    mechanism = edited(tmp_path, 'ladder', lambda data: data.update(free))
    assert mechanism.actuation_rank() == 1
    with pytest.raises(ActuationError, match='slide control 1 of 2 degrees of freedom'):
        mechanism.feedforward([0.0, 0.5])


def test_one_of_the_limbs_of_several_is_one_block() -> None:
    """Each limb of a platform is closed by itself, which makes the engine fast."""
    for name, limbs in (('rss6', 6), ('rcid', 6), ('five_bar', 2)):
        mechanism = samples.mechanism(name)
        blocks = [mechanism.block_names(b + 1) for b in range(len(mechanism.structure.blocks))]
        assert sorted(blocks) == sorted((closure,) for closure in mechanism.closures)
        assert len(blocks) == limbs


def test_a_coupling_with_other_coefficients_is_rebuilt_with_these(tmp_path: pathlib.Path) -> None:
    mechanism = Mechanism.load(small_robots.coupling(tmp_path))
    description, structure = mechanism.description, mechanism.structure
    closures = tuple(
        dataclasses.replace(c, of={joint: (0.7, -0.1) for joint in c.of})
        for c in description.closures
    )
    other = dataclasses.replace(description, closures=closures)
    again = rebuilt(structure, other, {}, structure.home)
    q = np.array([0.3, -0.2, 0.1])
    poses = again.tree.poses(q)
    expected = {c.name: c.gaps(poses) for c in all_constraints(other, again.tree)}
    for constraint in again.constraints:
        assert constraint.gaps(poses) == pytest.approx(expected[constraint.name], abs=1e-15)
