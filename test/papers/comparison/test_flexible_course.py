# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Section flexible, curves over time: vibrations, windows, rods in pieces."""

import numpy as np
import pytest

from masticator_dynamics.description import load_description
from masticator_dynamics.flexible.flexible_run import driven_mechanism
from masticator_dynamics.motion.path import MotionPath
from papers.comparison import flexible_course, flexible_segments
from papers.comparison.flexible_course import Course, courses
from papers.comparison.flexible_segments import (
    against_pieces,
    run_in_pieces,
)

FREQUENCY = 860.0
TIME = np.linspace(0.0, 0.4, 2001)
WAVE = np.sin(2.0 * np.pi * FREQUENCY * TIME)


def course(size: float, late: float = 1.0) -> Course:
    """A course: rods bend slowly, and vibrate with an amplitude (m) that changes at 0.35 s."""
    shaking = size * WAVE * np.where(TIME < 0.35, 1.0, late)
    tips = np.tile((1e-3 * TIME + shaking)[:, None], 8)
    motion = {
        'displacement of P': tips[:, :2] + 1.0,
        'velocity of P': tips[:, :2] + 1.0,
        'angular rates of rods 1-4': tips[:, :4] + 1.0,
    }
    return Course(TIME, tips, tips, tips, tips[:, :3], motion, FREQUENCY, tips[:, 0], 0.0)


def rows(table) -> dict:
    return {row[0]: row[1:] for row in table.rows}


def test_vibration_is_what_the_running_mean_leaves() -> None:
    found = flexible_course.vibration(course(1e-5))[20:-20, 0]
    assert np.sqrt(np.mean(found**2)) == pytest.approx(1e-5 / np.sqrt(2.0), rel=0.05)
    still = flexible_course.vibration(course(0.0))[20:-20]
    assert still == pytest.approx(np.zeros_like(still), abs=1e-6)


def test_windows_tell_when_a_mode_vibrates_more() -> None:
    table = rows(courses({'a': course(3e-5, late=3.0), 'b': course(1e-5), 'c': course(1e-5)})[0])
    assert table['0-0.35 s, vibration, a/b'] == pytest.approx([3.0] * 5, rel=0.02)
    assert table['0.35-0.4 s, vibration, a/c'] == pytest.approx([9.0] * 5, rel=0.02)


def test_slopes_and_swings_are_those_of_the_vibration() -> None:
    one = course(1e-5)
    slope = flexible_course._slope(one)[50:-50, 0]
    assert np.ptp(slope) / 2.0 == pytest.approx(1e-5 * 2.0 * np.pi * FREQUENCY, rel=0.1)
    table = rows(courses({'a': one, 'b': one, 'c': one})[4])
    assert table['rods 1-4, acceleration, mean frequency, Hz'][0] == pytest.approx(
        FREQUENCY, rel=0.02
    )


def test_deviations_are_those_of_the_worst_curve() -> None:
    one = course(0.0)
    pieces = {what: curves[::5].copy() for what, curves in one.joints.items()}
    pieces['angular rates of rods 1-4'][:, 2] *= 1.1
    table = rows(against_pieces(pieces, {'model': one.joints}))
    assert table['model'] == pytest.approx([0.0, 0.0, 100.0 * 0.1 / 1.1], abs=1e-9)


def test_rods_in_pieces_follow_the_rigid_mechanism_when_moved_gently(monkeypatch) -> None:
    monkeypatch.setattr(flexible_segments, 'PIECES', 2)
    description = load_description('rrr4')
    mechanism, _ = driven_mechanism(description, 'b')
    still, home = np.zeros(3), mechanism.home.y
    there = home + [0.002, -0.001, 0.0]
    path = MotionPath.through(
        np.array([0.0, 0.1]), np.array([home, there]), start=(still, still), end=(still, still),
        names=mechanism.independent,
    )  # fmt: skip
    made = run_in_pieces(description, path, 'b', 11)
    y, y_dot, _ = path.sample(np.linspace(0.0, 0.1, 11))
    rigid = mechanism.feedforward_batch(y, y_dot)
    columns = mechanism.tree_indices(flexible_segments.MOTORS)
    assert made['displacement of P'] == pytest.approx(y[:, :2], abs=2e-6)
    scale = np.abs(rigid.v[:, columns]).max()
    assert made['angular rates of rods 1-4'] == pytest.approx(rigid.v[:, columns], abs=0.05 * scale)
