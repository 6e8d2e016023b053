# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Assumed modes against rigid pieces on springs, moved by Pinocchio."""

import functools

import numpy as np
import pytest
import scipy.integrate

from flexible import beams
from masticator_dynamics.errors import InputError
from masticator_dynamics.flexible import FlexibleModel, simulate
from masticator_dynamics.flexible.links import frequency_roots
from papers.comparison.finite_segments import segmented

pytest.importorskip('pinocchio', reason='Pinocchio, which moves the segments, is not installed')
from flexible.segment_chain import SegmentChain

PINNED = np.pi**2 * beams.UNIT_FREQUENCY
CLAMPED = frequency_roots('clamped-pinned', 1)[0] ** 2 * beams.UNIT_FREQUENCY


def test_segments_weigh_what_the_links_weigh() -> None:
    description = beams.rrr4()
    cut = segmented(description, 9).description
    total = [sum(i.mass for i in d.tree.links.values()) for d in (description, cut)]
    assert total[1] == pytest.approx(total[0], rel=1e-12)
    assert cut.tree.links['rod_1'].mass * 18 == pytest.approx(description.tree.links['rod_1'].mass)


@pytest.mark.parametrize('half_ends', [True, False])
def test_free_motors_give_a_pinned_beam(half_ends) -> None:
    """The ends of a pinned beam do not bend, so S3's pieces need no springs there."""
    chain = SegmentChain(segmented(beams.rrr4(), 9 if half_ends else 8, half_ends))
    lowest = chain.frequencies(beams.PLATFORM)
    assert lowest[:8] == pytest.approx(np.full(8, PINNED), rel=1e-3)
    shapes = FlexibleModel(beams.rrr4()).frequencies(
        FlexibleModel(beams.rrr4()).home, beams.PLATFORM
    )
    assert shapes[:8] == pytest.approx(lowest[:8], rel=0.03)


def test_equal_pieces_are_too_stiff_where_a_beam_is_clamped() -> None:
    held = (*beams.PLATFORM, *beams.MOTORS)
    nine = SegmentChain(segmented(beams.rrr4(), 8, False)).frequencies(held)[4]
    half = SegmentChain(segmented(beams.rrr4(), 9, True)).frequencies(held)[4]
    assert half == pytest.approx(CLAMPED, rel=0.01)
    assert nine > 1.1 * CLAMPED


def test_frequencies_are_the_same_in_both_engines() -> None:
    segments = segmented(beams.rrr4(), 4)
    model = FlexibleModel(segments.description, segments.springs)
    ours, theirs = model.frequencies(model.home), SegmentChain(segments).frequencies()
    assert ours[3:] == pytest.approx(theirs[3:], rel=1e-6)


def push(time: float) -> float:
    return float(np.sin(np.pi * time / 2e-3) ** 2) if time < 2e-3 else 0.0


TORQUES = dict(zip(beams.MOTORS, (0.01, -0.008, 0.004, -0.01), strict=True))
TIMES = np.linspace(0.0, 6e-3, 41)


@functools.cache
def pushed_segments(cuts: int = 9) -> np.ndarray:
    """Tips (8, 41) from the near tangents, m, in Pinocchio."""
    segments = segmented(beams.rrr4(), cuts)
    chain = SegmentChain(segments)
    effort = np.array([TORQUES.get(name, 0.0) for name in chain.names])
    count = len(chain.names)

    def rates(time, state):
        q, v = state[:count], state[count:]
        return np.concatenate([v, chain.acceleration(q, v, push(time) * effort)])

    start = np.concatenate([chain.home, np.zeros(count)])
    solved = scipy.integrate.solve_ivp(
        rates, (0.0, TIMES[-1]), start, 'DOP853', TIMES, rtol=1e-5, atol=1e-8
    )
    arms = beams.LENGTH * (1.0 - (np.arange(cuts) + 0.5) / cuts)
    turns = [
        [
            solved.y[chain.names.index(name)]
            for name in segments.springs
            if name.startswith(f'rod_{i}_')
        ]
        for i in range(1, 9)
    ]
    return np.einsum('k,rkt->rt', arms, np.array(turns))


def pushed_shapes(description) -> np.ndarray:
    """Tips (8, 41) of assumed modes."""
    model = FlexibleModel(description)
    acting = beams.efforts(model, TORQUES)
    start = model.state(model.home, model.home[model.arrays.free])
    run = simulate(model, start, lambda t: push(t) * acting, TIMES, method='dop853', rtol=1e-6)
    tips = []
    for beam in model.beams.values():
        first = model.index(beam.coordinates[0])
        tips.append(run.q[:, first : first + beam.modes] @ beam.tip_deflection())
    return np.array(tips)


def test_rods_bend_and_vibrate_as_segments_do() -> None:
    """Two milliseconds of torque, then three vibrations, for all eight rods."""
    theirs = pushed_segments()
    largest = np.abs(theirs).max(axis=1)
    assert (largest > 1e-6).all() and (largest[:4] > 2e-5).all()
    assert (np.abs(theirs[:, TIMES > 2e-3]).max(axis=1) > 0.1 * largest).all()
    ours = pushed_shapes(beams.rrr4(6))
    # six cantilever shapes are near, not at, their limit; passive rods follow what is left
    assert (np.abs(ours - theirs).max(axis=1)[:4] < 0.025 * largest[:4]).all()
    assert (np.abs(ours - theirs).max(axis=1)[4:] < 0.05 * largest[4:]).all()


def test_one_fixed_free_shape_bends_otherwise() -> None:
    theirs = pushed_segments()
    ours = pushed_shapes(beams.rrr4(1, 'fixed-free'))
    assert (np.abs(ours - theirs).max(axis=1) > 0.5 * np.abs(theirs).max(axis=1)).all()


def test_less_than_one_cut_is_refused() -> None:
    with pytest.raises(InputError, match='0 cuts'):
        segmented(beams.rrr4(), 0)
