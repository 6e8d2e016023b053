# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism with one contact and one motor, by Lagrange's equation on paper."""

import numpy as np
import pytest
import samples

from masticator_dynamics.errors import SingularityError

FOOT, ROTOR, RUNGS, RUNGS_INERTIA, CENTRE = 2.0, 1.5, 9.0, 0.8, np.array([0.45, 0.02])
GRAVITY = 9.81


def by_hand(tilt: float, rate: float, acceleration: float, wrench) -> tuple[float, float, float]:
    """Position of the slide (m), its force (N) and the wall's multiplier (N).

    The head (s + cos t, sin t) is on 2 x + y = 2.2; primes are derivatives by the tilt t.
    """
    c, s = np.cos(tilt), np.sin(tilt)
    slide = np.array([1.1 - s / 2.0 - c, -c / 2.0 + s, s / 2.0 + c])  # and its two derivatives
    a, b = CENTRE
    x1, x2 = slide[1] - a * s - b * c, slide[2] - a * c + b * s
    y1, y2 = a * c - b * s, -a * s - b * c
    mass = (FOOT + ROTOR) * slide[1] ** 2 + RUNGS * (x1**2 + y1**2) + RUNGS_INERTIA
    slope = 2.0 * (FOOT + ROTOR) * slide[1] * slide[2] + 2.0 * RUNGS * (x1 * x2 + y1 * y2)
    needed = mass * acceleration + 0.5 * slope * rate**2 + RUNGS * GRAVITY * y1
    force = (needed - wrench[0] * slide[1] - wrench[5]) / slide[1]
    slide_acceleration = slide[1] * acceleration + slide[2] * rate**2
    rungs_acceleration = x1 * acceleration + x2 * rate**2
    horizontal = (FOOT + ROTOR) * slide_acceleration + RUNGS * rungs_acceleration
    return slide[0], force, (horizontal - force - wrench[0]) / 2.0


def test_agrees_with_lagrange() -> None:
    mechanism = samples.mechanism('ladder')
    for y, y_dot, y_ddot, wrench in samples.states('ladder', 20, seed=61):
        slide, force, wall = by_hand(y[0], y_dot[0], y_ddot[0], wrench)
        effort = mechanism.feedforward(y, y_dot, y_ddot, wrench)
        assert effort.position[0] == pytest.approx(slide, abs=1e-13)
        assert effort.actuated[0] == pytest.approx(force, rel=1e-10)
        assert effort.contact[0] == pytest.approx(wall, rel=1e-10)


def test_the_wall_pushes_the_head_back() -> None:
    """At rest, the force points into the room, against the normal: a negative multiplier."""
    effort = samples.mechanism('ladder').feedforward([0.8])
    assert effort.contact[0] < 0.0
    assert effort.loop_force.shape == (0, 3)
    assert effort.actuated[0] == pytest.approx(-2.0 * effort.contact[0])


def test_where_the_slide_turns_back_it_has_no_hold() -> None:
    """The slide's position is extremal where tan t = 1/2."""
    tilt = np.arctan(0.5)
    mechanism = samples.mechanism('ladder')
    with pytest.raises(SingularityError, match='slide lose control at tilt = 0.4636'):
        mechanism.feedforward([tilt])
    assert mechanism.actuation_rank(mechanism.solve([tilt])) == 0
    assert mechanism.actuation_rank() == 1
