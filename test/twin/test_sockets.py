# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sockets that only push: balls leave instead of being pulled, and land with the stated energy."""

import dataclasses

import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.description.loader import load_description
from masticator_dynamics.errors import InputError
from masticator_dynamics.robot.twin import MechanismPlant

STEP = 1e-3  # s
OPENED = np.array([0.0, 0.0, 0.0, 0.06])  # well inside all ranges


def pushing(low=0.0, high=None):
    """The masticator with balls that can leave their sockets."""
    description = load_description('masticator')
    contacts = tuple(dataclasses.replace(c, force_range=(low, high)) for c in description.contacts)
    return Mechanism(dataclasses.replace(description, contacts=contacts))


@pytest.fixture(scope='module')
def jaw():
    return pushing()


def pressing(jaw, left, right):
    """Efforts that hold the open jaw and load its sockets with these multipliers, N."""
    plant = MechanismPlant(jaw, stops=False, start=OPENED, step=STEP)

    def answer(efforts):
        plant._run(efforts[None], 0)
        return np.concatenate([plant.acceleration, plant.contact])

    nothing = answer(np.zeros(6))
    response = np.array([answer(row) - nothing for row in np.eye(6)]).T
    return np.linalg.solve(response, np.array([0.0, 0.0, 0.0, 0.0, left, right]) - nothing)


def energy(plant):
    return sum(plant.energy)


def flight_of(jaw, restitution):
    """Pull the balls off for 10 ms, then press them on; returns what happened in every step."""
    plant = MechanismPlant(jaw, stops=False, start=OPENED, step=STEP, restitution=restitution)
    pull, press = pressing(jaw, -2.0, -1.5), pressing(jaw, 2.0, 2.0)
    rows = []
    for k in range(80):
        efforts = pull if k < 10 else press
        before, where, count = energy(plant), plant.position, len(plant.events)
        plant.advance(efforts)
        gained = energy(plant) - before - efforts @ (plant.position - where)
        gaps = [plant._sockets.gap(name) for name in jaw.contacts]
        rows.append((gained, plant.events[count:], plant.contact, gaps))
    return plant, rows


@pytest.fixture(scope='module', params=[0.0, 0.5], ids=['without rebound', 'with rebound'])
def flight(request, jaw):
    return flight_of(jaw, request.param)


def test_condyles_leave_their_sockets_and_land(flight) -> None:
    plant, rows = flight
    left = [e for e in plant.events if not e.landed]
    landed = [e for e in plant.events if e.landed]
    assert {e.contact for e in left} == {'condyle_left', 'condyle_right'}
    assert {e.contact for e in landed} == {'condyle_left', 'condyle_right'}
    assert max(max(row[3]) for row in rows) > 1e-4  # they did go
    for *_, contact, gaps in rows:
        assert min(contact) >= -1e-9  # sockets never pull
        assert min(gaps) > -1e-9  # nor are they entered
        for force, gap in zip(contact, gaps, strict=True):
            assert force == 0.0 or gap < 1e-9


def test_every_landing_takes_the_energy_that_is_stated(flight) -> None:
    _, rows = flight
    hard = 0
    for gained, events, *_ in rows:
        lost = sum(event.energy for event in events)
        assert gained == pytest.approx(-lost, rel=1e-3, abs=1e-8)
        hard += sum(event.energy > 1e-4 for event in events)
    assert hard >= 1  # something was to be measured


def test_restitution_is_the_ratio_of_speeds(jaw) -> None:
    """In the same landing, a rebound keeps the fraction e^2 of the energy otherwise lost."""
    firsts = []
    for restitution in (0.0, 0.5):
        plant, _ = flight_of(jaw, restitution)
        firsts.append(next(event for event in plant.events if event.landed))
    soft, hard = firsts
    assert (soft.contact, soft.speed) == (hard.contact, pytest.approx(hard.speed, rel=1e-6))
    assert hard.energy == pytest.approx(0.75 * soft.energy, rel=1e-6)


def test_where_a_socket_lets_go_nothing_jumps(jaw) -> None:
    """At a multiplier of zero, the mechanism moves the same with and without the contact."""
    efforts = pressing(jaw, 0.0, 0.0)
    moving = np.array([OPENED, [0.02, 0.01, 0.1, 0.3]])
    plant = MechanismPlant(jaw, stops=False, start=moving, step=STEP)

    def forces(more):
        plant._run((efforts + more)[None], 0)
        return plant.contact

    still = forces(np.zeros(6))
    response = np.array([forces(row) - still for row in np.eye(6)]).T
    efforts = efforts - np.linalg.pinv(response) @ still
    assert np.abs(forces(np.zeros(6))).max() < 1e-9
    held = plant.acceleration
    plant._state = plant._sockets.change(frozenset(jaw.contacts))
    plant._run(efforts[None], 0)
    assert len(plant._state) == 12  # six freedoms
    assert np.allclose(plant.acceleration, held, rtol=1e-8, atol=1e-8)
    assert np.abs(held).max() > 0.1


def test_slots_hold_both_ways_as_before(jaw) -> None:
    plant = MechanismPlant(Mechanism.load('masticator'), stops=False, start=OPENED, step=STEP)
    efforts = pressing(jaw, -2.0, -1.5)
    for _ in range(5):
        plant.advance(efforts)
    assert not plant.events and plant.contact.max() < -1.0


def test_restitution_is_checked(jaw) -> None:
    with pytest.raises(InputError, match='restitution'):
        MechanismPlant(jaw, restitution=1.5)
