# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Wrenches on any links: against Pinocchio, by power, and on the platform in either way."""

import numpy as np
import pytest
import samples

from masticator_dynamics.errors import InputError

RNG = np.random.default_rng(15)


def some_links(mechanism, count=4):
    """Names of moving links, including links fixed to others."""
    tree = mechanism.structure.tree
    moving = [link for link, place in tree.frames.items() if place.body >= 0]
    fixed = [link for link in moving if tree.frames[link].position.any()]
    return [*RNG.choice(moving, count), *RNG.choice(fixed, min(count, len(fixed)))]


def loaded(name, state):
    """A mechanism, wrenches (6,) by link, and the efforts with them."""
    mechanism = samples.mechanism(name)
    links = {link: RNG.normal(size=6) for link in some_links(mechanism)}
    given = state.y, state.y_dot, state.y_ddot
    return mechanism, links, mechanism.feedforward(*given, link_wrenches=links)


@pytest.mark.parametrize('name', ['masticator', 'rss6', 'rrr4', 'trimule', 'boom'])
def test_efforts_and_contacts_are_those_of_pinocchio(name):
    oracle = samples.oracle(name)
    for state in samples.states(name, 5, seed=41):
        mechanism, links, effort = loaded(name, state)
        given = state.y, state.y_dot, state.y_ddot, RNG.normal(size=6)
        effort = mechanism.feedforward(*given, link_wrenches=links)
        expected = oracle.inverse_dynamics(*given, links)
        assert samples.relative_error(effort.actuated, expected.actuated) < 1e-8
        assert samples.relative_error(effort.contact, expected.contact) < 1e-8
        free = mechanism.feedforward(*given).actuated
        assert samples.relative_error(free, expected.actuated) > 1e-5  # they count for something


@pytest.mark.parametrize('name', samples.NAMES)
def test_what_wrenches_do_motors_do_less(name):
    for state in samples.states(name, 3, seed=42):
        mechanism, links, effort = loaded(name, state)
        motion = mechanism.solve(state.y, state.y_dot, state.y_ddot)
        free = mechanism.inverse_dynamics(motion)
        velocity = motion.velocity * mechanism.transmission_ratios
        less = (free.actuated - effort.actuated) @ velocity
        twists = {link: mechanism.frame_jacobian(motion, link) @ state.y_dot for link in links}
        power = sum(links[link] @ twist for link, twist in twists.items())
        assert less == pytest.approx(power, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize('asked', [{}, {'goal': 'joint-force'}, {'friction': True}])
def test_on_the_platform_by_either_way(asked):
    mechanism = samples.mechanism('masticator')
    for state in samples.states('masticator', 3, seed=43):
        given, wrench = (state.y, state.y_dot, state.y_ddot), RNG.normal(size=6)
        one = mechanism.feedforward(*given, wrench, **asked)
        other = mechanism.feedforward(*given, link_wrenches={'mandible': wrench}, **asked)
        assert samples.relative_error(other.actuated, one.actuated) < 1e-10
        assert samples.relative_error(other.contact, one.contact) < 1e-10
        assert samples.relative_error(other.joint_reaction, one.joint_reaction) < 1e-9
        assert other.wrench == pytest.approx(0.0)


def test_machine_code_and_engine_agree_row_by_row():
    mechanism = samples.mechanism('masticator')
    states = samples.states('masticator', 7, seed=44)
    Y, Y_dot, Y_ddot = (np.array([getattr(s, n) for s in states]) for n in ('y', 'y_dot', 'y_ddot'))
    links = {'crank_1_link': RNG.normal(size=(7, 6)), 'incisor': RNG.normal(size=6)}
    batch = mechanism.feedforward_batch(Y, Y_dot, Y_ddot, link_wrenches=links)
    for row in range(7):
        here = {'crank_1_link': links['crank_1_link'][row], 'incisor': links['incisor']}
        motion = mechanism.solve(Y[row], Y_dot[row], Y_ddot[row])
        one = mechanism.inverse_dynamics(motion, link_wrenches=here)
        engine = mechanism.inverse_dynamics(motion, link_wrenches=here, goal={'torque': 1.0})
        assert samples.relative_error(one.actuated, batch.actuated[row]) < 1e-11
        assert samples.relative_error(engine.actuated, one.actuated) < 1e-9
        assert samples.relative_error(engine.contact, one.contact) < 1e-9


def test_wrenches_on_the_base_change_nothing():
    mechanism = samples.mechanism('masticator')
    effort = mechanism.feedforward(mechanism.home.y, link_wrenches={'maxilla': np.ones(6)})
    free = mechanism.feedforward(mechanism.home.y).actuated
    assert samples.relative_error(effort.actuated, free) < 1e-12


def test_bad_wrenches_are_refused_by_name():
    mechanism, home = samples.mechanism('masticator'), samples.mechanism('masticator').home.y
    for links, words in (
        ({'molar': np.ones(6)}, "no frame 'molar'"),
        ({'incisor': np.ones(3)}, r'the wrench on incisor has shape \(3,\), needed is \(6,\)'),
        ({'crank_2_link': [0, 0, np.nan, 0, 0, 0]}, 'wrench on crank_2_link fz is nan'),
    ):
        with pytest.raises(InputError, match=words):
            mechanism.feedforward(home, link_wrenches=links)
    with pytest.raises(InputError, match='the wrench on incisor has shape'):
        mechanism.feedforward_batch([home] * 2, link_wrenches={'incisor': np.ones((3, 6))})
