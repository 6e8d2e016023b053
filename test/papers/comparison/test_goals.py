# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Section goals: the seven indices by a second derivation, and relations among them."""

import dataclasses
import re

import numpy as np
import pytest
import samples
from oracles import rss_oracle as rss
from paper_texts import paper

from papers.comparison import goal_indices, goal_variants, goals
from papers.comparison.goal_indices import (
    F_G,
    F_S,
    F_T,
    F_Z,
    GOALS,
    M_C,
    RSS6,
    TAU,
    TAU_F,
    all_indices,
    fitted_bite,
    norms,
)
from papers.comparison.render import as_text

CRANK_MASS = np.array([0.0702] * 4 + [0.15669] * 2)  # S1 Table 2
MU_C, MU_CI, ARM, VISCOUS, VISCOUS_JOINT = 0.02, 0.02, 0.015, 3e-5, 4.5e-10


def norms_by_hand(effort) -> np.ndarray:
    """S1 Eqs. 28, 29, 38, 42, 44, 46, with the condyles' forces as loads on the free mechanism."""
    masticator, free = rss.RssOracle('masticator'), rss.RssOracle('rss6')
    platform = masticator.platform_motion(effort.y, effort.y_dot, effort.y_ddot)
    position, velocity, _ = platform.point(rss.CONDYLES)
    speed = np.linalg.norm(velocity, axis=1)[:, None]
    push = effort.contact[:, None] * rss.CONTACT_NORMAL
    slip = MU_C * np.linalg.norm(push, axis=1)[:, None] * velocity / speed + VISCOUS * velocity
    force = push - slip
    load = effort.wrench + np.append(
        force.sum(axis=0), np.cross(position - platform.pose[:3], force).sum(axis=0)
    )
    found = free.inverse_dynamics(platform.pose, platform.pose_dot, platform.pose_ddot, load)
    pins, (crank, _) = found.pin_force, free._crank_vectors(found.theta)
    bearing = pins - CRANK_MASS[:, None] * rss.GRAVITY
    along = np.sum(bearing * free.crank_z, axis=1)[:, None] * free.crank_z
    friction = VISCOUS_JOINT * found.theta_dot + ARM * MU_CI * np.sign(
        found.theta_dot
    ) * np.linalg.norm(bearing - along, axis=1)
    moment = np.cross(crank, pins)
    moment -= np.sum(moment * free.crank_z, axis=1)[:, None] * free.crank_z
    vectors = (found.effort + friction, pins, effort.contact, moment, friction, bearing, slip)
    return np.array([np.linalg.norm(vector) for vector in vectors])


@pytest.mark.parametrize('goal', GOALS.values())
def test_norms_from_hand_written_newton_euler(goal) -> None:
    mechanism = samples.mechanism('masticator')
    for state in samples.states('masticator', 5, seed=7):
        effort = mechanism.feedforward(*state, goal=goal, friction=True)
        expected = norms_by_hand(effort)
        assert norms(mechanism, effort) == pytest.approx(expected, rel=1e-8, abs=1e-12)


def test_each_goal_is_least_in_its_own_index() -> None:
    mechanism = samples.mechanism('masticator')
    for state in samples.states('masticator', 20, seed=8):
        found = {
            name: norms(mechanism, mechanism.feedforward(*state, goal=goal, friction=True))
            for name, goal in GOALS.items()
        }
        for index, best in ((TAU, 'G1'), (F_S, 'G2'), (F_Z, 'G3')):
            assert all(found[best][index] <= f[index] * (1 + 1e-9) + 1e-12 for f in found.values())


@pytest.fixture(scope='module')
def fitted(chewing):
    return fitted_bite(chewing, goals.FITTED)


def test_the_fitted_bite_gives_rss6_the_printed_force(chewing, fitted) -> None:
    scale, inputs = fitted
    indices = all_indices(inputs)
    assert indices[RSS6][F_S] == pytest.approx(27.3214, abs=1e-8)
    assert inputs.motion.wrench == pytest.approx(scale * chewing.motion.wrench)
    doubled = dataclasses.replace(chewing.motion, wrench=2.0 * chewing.motion.wrench)
    assert fitted_bite(chewing.having(doubled), goals.FITTED)[0] == pytest.approx(scale / 2.0)
    # Without contact forces the sockets are not there, but for their viscous friction.
    assert indices['G3'][F_Z] < 1e-12
    assert indices['G3'][[TAU, F_S, M_C, TAU_F, F_G]] == pytest.approx(
        indices[RSS6][[TAU, F_S, M_C, TAU_F, F_G]], rel=1e-5
    )
    assert np.all(indices[RSS6][[F_Z, F_T]] == 0.0)


def test_there_is_no_fit_without_a_bite_or_above_the_wanted_force(chewing) -> None:
    still = dataclasses.replace(chewing.motion, wrench=np.zeros_like(chewing.motion.wrench))
    assert fitted_bite(chewing.having(still), goals.FITTED) is None
    assert fitted_bite(chewing, 1e-3) is None


def test_tables_hold_printed_and_ours_side_by_side(chewing, fitted) -> None:
    report = {'goals': goals.compare(chewing)}
    assert max(map(len, as_text(report).splitlines())) <= 120
    tables = {table.title: table for table in report['goals']}
    indices = all_indices(fitted[1])
    (scaled,) = (table for title, table in tables.items() if title.endswith('scaled'))
    rows = {row[0]: row[1:] for row in scaled.rows}
    assert rows['G2 joint-force, printed, Euler parameters'] == goals.PRINTED['G2'][0]
    assert rows['G2 joint-force, ours'] == tuple(indices['G2'])
    assert rows['rss6, ours'][F_Z] is None
    (inputs_matter,) = (table for title, table in tables.items() if 'unpublished' in title)
    unchanged = next(row for row in inputs_matter.rows if row[0] == 'as it is')
    assert unchanged[1:] == pytest.approx(indices['G1'], rel=1e-9)
    assert len({row[1] for row in inputs_matter.rows}) == 7  # every input does something


def test_the_printed_columns_are_what_the_note_says() -> None:
    """F7 = mu_C sqrt(p1^2 + 1) F3 to the last digit, and F5 is just below R mu_Ci F6."""
    for goal in ('G1', 'G2'):
        for printed in goals.PRINTED[goal]:
            _, _, f3, _, f5, f6, f7 = (float(cell) for cell in printed)
            assert f7 == pytest.approx(MU_C * np.hypot(1.1, 1.0) * f3, abs=5.1e-5)
            assert 0.97 * ARM * MU_CI * f6 < f5 < ARM * MU_CI * f6


def as_printed(cell: str | None) -> str:
    """Pattern of a cell in the extracted text, where a tab may replace the start of a word."""
    if cell is None:
        return '-'
    mantissa, e, exponent = cell.partition('e')
    figure = re.escape(mantissa)
    return rf'\${figure} .?t?imes 10\^\{{{exponent}\}}\$' if e else figure


def test_printed_figures_are_those_of_the_paper() -> None:
    text = paper('S1')
    for rows in goals.PRINTED.values():
        for row in rows:
            assert re.search(' '.join(map(as_printed, row)), text), row


def test_nothing_is_computed_twice(chewing, monkeypatch) -> None:
    computed = []

    def noted(inputs, mechanism, states, goal):
        key = (mechanism.description.urdf_xml, goal, *(s.tobytes() for s in states))
        computed.append(hash(key))
        return np.ones(7)

    for module in (goal_indices, goal_variants):
        monkeypatch.setattr(module, 'mean_indices', noted)
    goals.compare(chewing)
    assert len(computed) == len(set(computed)) == 13
