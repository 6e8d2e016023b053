# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The observer on a jaw that MuJoCo moves: it shares no equation of motion with us.

``EMPTY_MINUTES`` sets how long the jaw chews nothing, in pieces of a minute at most.
"""

import functools
import itertools
import os

import numpy as np
import pytest
import samples

pytest.importorskip('mujoco', reason='mujoco is not installed')

from identification import robots

from masticator_dynamics import Mechanism
from masticator_dynamics.identification.bite_observer import (
    BiteObserver,
    ObserverSettings,
)
from oracles.mujoco_plant import RATE, Drive, Hidden, Plant

EMPTY_MINUTES = float(os.environ.get('EMPTY_MINUTES', '0.1'))
POINT, BITE = 'molar_left', 30.0  # N
OBSERVED = 250.0  # Hz
STEPS = {'count': 2.0 * np.pi / Drive().counts, 'torque_step': Drive().torque}
# By name: friction and inertia of the plant over those of the file, and what the observer is told.
KNOWN, MORE, LESS, UNTOLD = 'known', 'more', 'less', 'more than told'
SETTINGS = dict.fromkeys((KNOWN, UNTOLD), ObserverSettings(friction_error=0.1, **STEPS))
SETTINGS |= dict.fromkeys((MORE, LESS), ObserverSettings(friction_error=0.3, **STEPS))


@functools.cache
def robot(folder, kind):
    return Mechanism.load(robots.description(folder, kind))


def numbers(file, case, seed):
    """The plant's: 2 % off in inertia; in friction 10 % each, or 30 % all."""
    found = robots.hidden(file, seed, inertia=0.02, friction=0.1 if case == KNOWN else 0.0)
    factor = {KNOWN: 1.0, MORE: 1.3, LESS: 0.7, UNTOLD: 1.3}[case]
    rubbing = (found.dry, found.viscous, found.bearing, found.sliding)
    return Hidden(found.mass, *({n: factor * x for n, x in part.items()} for part in rubbing))


def strokes(seconds, seed):
    """Chewing (3, N, 4) with strokes of other lengths, widths and rates for each seed."""
    rng = np.random.default_rng(seed)
    time, w = np.arange(round(seconds * RATE)) / RATE, 2.0 * np.pi * rng.uniform(0.8, 1.4)
    opening = np.array([-0.001, 0.0, 0.0, 0.11]) * rng.uniform(0.5, 1.0)
    sideways = np.array([0.0, 0.0012, 0.03, 0.0]) * rng.uniform(0.3, 1.0)
    s, c = (f[:, None] for f in (np.sin(w * time), np.cos(w * time)))
    return np.array([
        opening * (1.0 - c) + sideways * s,
        w * (opening * s + sideways * c),
        w * w * (opening * c - sideways * s),
    ])  # fmt: skip


@functools.lru_cache(maxsize=4)
def recorded(folder, kind, case, bite, seconds, seed):
    """Rows of what drives measure, and the force (N, 3) on the jaw."""
    model, rows = robot(folder, kind), strokes(seconds, seed)
    effort = model.feedforward_batch(*rows, friction=True)
    joints = dict(zip(model.tree_joints, effort.q[0], strict=True))
    plant = Plant(model.description.file, numbers(model.description.file, case, seed), seed)
    share = np.maximum(0.0, np.sin(2.0 * np.pi * 1.2 * np.arange(len(rows[0])) / RATE)) ** 2
    force = bite * share[:, None] * np.array([0.15, 0.1, -1.0])
    wrench = np.hstack([force, np.zeros_like(force)])
    log = plant.run(
        joints, np.array(effort.position), np.array(effort.actuated), wrench=wrench, link=POINT
    )
    return log, force


def observed(folder, kind, case, bite=0.0, seconds=5.0, seed=1):
    """Estimates after the first second, and the true force at their times."""
    log, force = recorded(folder, kind, case, bite, seconds, seed)
    observer = BiteObserver(robot(folder, kind), POINT, SETTINGS[case])
    every = slice(None, None, round(RATE / OBSERVED))
    found = [
        observer.step(*sample)
        for sample in zip(log.time[every], log.position[every], log.effort[every], strict=True)
    ]
    first = round(OBSERVED)
    return found[2 + first :], force[every][1 + first : -1]


def rms(values):
    return float(np.sqrt(np.mean(np.sum(np.atleast_2d(values.T) ** 2, axis=0))))


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('robots')


BITES = [*itertools.product((KNOWN, MORE), (0.0, BITE))]
EMPTY = [*itertools.product((KNOWN, MORE, LESS, UNTOLD), (robots.CONSTANT, robots.LOADED))]
OFTEN = [(LESS, robots.CONSTANT), (UNTOLD, robots.LOADED)]


@pytest.mark.parametrize(('case', 'bite'), samples.swept_rows(BITES, [(KNOWN, BITE), (MORE, BITE)]))
def test_a_bite_in_another_simulator(folder, case, bite) -> None:
    estimates, force = observed(folder, robots.LOADED, case, bite)
    off = np.array([e.force for e in estimates]) - force
    allowed = 1.0 if case == KNOWN else 2.0
    assert rms(off[:, 2]) < 0.3 * allowed and rms(off) < 0.6 * allowed
    assert (np.abs(off) < np.array([e.bound for e in estimates])).mean() > 0.95
    assert not any(e.model_fault(SETTINGS[case]) for e in estimates)
    if case == MORE:
        assert estimates[-1].friction_excess == pytest.approx(0.3, abs=0.1)
    if bite:
        large = np.linalg.norm(force, axis=1) > 1.0
        begun = np.flatnonzero(large[1:] & ~large[:-1]) + 1
        contact = np.array([e.contact for e in estimates])
        assert len(begun) > 3 and contact.any()
        # One sample later, since an estimate is of the sample before.
        late = [(np.argmax(contact[row:]) + 1) / OBSERVED for row in begun]
        assert max(late) <= 0.010


@pytest.mark.parametrize(('case', 'kind'), samples.swept_rows(EMPTY, OFTEN))
def test_no_bite_in_empty_chewing(folder, case, kind) -> None:
    pieces = int(np.ceil(EMPTY_MINUTES))
    for seed in range(pieces):
        seconds = 1.0 + 60.0 * EMPTY_MINUTES / pieces
        estimates, _ = observed(folder, kind, case, seconds=seconds, seed=10 + seed)
        assert not [e for e in estimates if e.contact], f'seed {10 + seed}'
