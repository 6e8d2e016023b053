# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Food only pushes, gives no energy, yields, breaks and is renewed."""

import itertools
import pathlib

import numpy as np
import pytest
import samples
from crushing import crush
from hypothesis import given
from hypothesis import strategies as st

from masticator_dynamics.errors import DescriptionError, InputError
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.robot.twin import Food, MechanismPlant, load_food, shipped_foods
from masticator_dynamics.robot.twin.food import BROKEN, pack_bolus, relax

BITE = 2  # where packed food has the number of the bite
DATA = {
    'thickness': 0.008, 'stiffness': 1e4, 'damping': 30.0, 'yield_force': 40.0,
    'break_compression': 0.006, 'broken_force': 0.5, 'renewal_gap': 0.010,
    'softening': 0.5, 'bites': 3,
}  # fmt: skip


def bolus(**changes: object) -> samples.Array:
    """A food between the teeth, after the mouth was opened wide."""
    packed = pack_bolus(Food(**{**DATA, **changes}))
    crush(packed, 0.011, 0.0, True)
    return packed


def forces(food: samples.Array, gaps: samples.Array, rate: float = 0.0) -> samples.Array:
    return np.array([crush(food, gap, rate, True) for gap in gaps])


def test_elastic_then_plastic_then_broken() -> None:
    food = bolus()
    assert forces(food, np.array([0.009, 0.008])).tolist() == [0.0, 0.0]
    assert crush(food, 0.006, 0.0, True) == pytest.approx(20.0)  # 2 mm of 10 N/mm
    assert crush(food, 0.008, 0.0, True) == 0.0
    assert crush(food, 0.0035, 0.0, True) == pytest.approx(40.0)  # 4.5 mm: it flows from 4 mm on
    assert crush(food, 0.0055, 0.0, True) == pytest.approx(20.0)  # it is 7.5 mm thick now
    assert crush(food, 0.0075, 0.0, True) == 0.0
    assert crush(food, 0.0019, 0.0, True) == pytest.approx(20.0)  # 6.1 mm: broken, half is left
    assert food[BROKEN] == 1.0
    assert crush(food, 0.0099, 0.0, True) == 0.0 and food[BROKEN] == 1.0
    crush(food, 0.0101, 0.0, True)
    assert food[BROKEN] == 0.0 and food[BITE] == 1.0
    assert crush(food, 0.006, 0.0, True) == pytest.approx(10.0)  # the second bite is half as hard


def test_a_mouthful_ends_and_a_bite_at_nothing_does_not_count() -> None:
    food = bolus()
    seen = []
    for _ in range(4):
        forces(food, np.array([0.012, 0.007, 0.012]))  # elastic only
        seen.append(food[BITE])
        forces(food, np.array([0.003, 0.012]))
    assert seen == [0.0, 1.0, 2.0, 0.0]


def test_a_mouth_is_empty_until_it_opens() -> None:
    food = pack_bolus(Food(**DATA))
    assert not forces(food, np.linspace(0.0, 0.0099, 50)).any()


@given(
    st.lists(st.floats(-0.001, 0.012), min_size=1, max_size=8),
    st.floats(1e-3, 0.5),
    st.floats(0.0, 1.0),
)
def test_never_pulls_and_gives_no_energy(turns: list[float], speed: float, left: float) -> None:
    """Along any closing and opening motion that ends where it began."""
    food = bolus(broken_force=left)
    work, ends = 0.0, [0.011, *turns, 0.011]
    for start, end in itertools.pairwise(ends):
        steps = np.linspace(start, end, 200)
        rate = speed * np.sign(start - end)
        force = forces(food, steps, rate)
        assert (force >= 0.0).all()
        # On the teeth, opening them; of the larger force where opening and the smaller closing.
        pairs = np.stack([force[:-1], force[1:]])
        mean = pairs.mean(axis=0)
        work += float(mean @ np.diff(steps))
    assert work < 1e-4 * DATA['yield_force'] * DATA['thickness']


def test_trying_changes_nothing() -> None:
    food = bolus()
    before = food.copy()
    tried = crush(food, 0.001, 0.02, False)
    assert np.array_equal(food, before)
    assert tried == pytest.approx(crush(food, 0.004, 0.02, False), rel=1e-12)


@pytest.mark.parametrize(
    ('name', 'side'), zip(shipped_foods(), itertools.cycle(['left', 'right']), strict=False)
)
def test_a_stroke_on_shipped_food(name: str, side: str) -> None:
    """Feedforward with measured bite and weak gains: the food's own force, well within limits."""
    mechanism = samples.mechanism('masticator')
    data = load_food(name)
    food = type(data)(**{**{k: getattr(data, k) for k in DATA}, 'side': side})
    plant = MechanismPlant(mechanism, step=1e-3, friction=True, food=food)
    path = chewing_stroke(strokes=1, side=side)
    bites, torques, absorbed = [], [], 0.0
    for k in range(1000):
        y, y_dot, y_ddot = path(k * 1e-3)
        effort = mechanism.feedforward(y, y_dot, y_ddot, plant.bite_wrench)
        efforts = effort.actuated + 2.0 * (effort.position - plant.position)
        efforts += 0.008 * (effort.velocity - plant.velocity)
        before = plant.food_gap, plant.food_force[2]
        plant.advance(efforts)
        force = plant.food_force
        assert force[2] <= 0.0 and not force[:2].any()
        absorbed += 0.5 * (before[1] + force[2]) * (plant.food_gap - before[0])
        torques.append(np.abs(efforts).max())
        bites.append(-force[2])
        motion = mechanism.solve(*plant.state)
        wrench = mechanism.wrench_on_platform(motion, force, np.zeros(3), point=f'molar_{side}')
        assert np.allclose(plant.bite_wrench, wrench, rtol=1e-9, atol=1e-12)
    # The force at which it flows, or that of the spring when the teeth meet; damping on top.
    reached = food.stiffness * min(food.thickness, food.break_compression)
    most = min(food.yield_force, reached)
    assert 0.95 * most < max(bites) < most + 0.25 * food.damping
    assert max(torques) < 0.2 * mechanism.effort_limits.min()
    # What flows takes that force along its way, at least until it breaks.
    flow = min(food.thickness, food.break_compression) - most / food.stiffness
    assert absorbed > 0.9 * most * flow, 'crushing takes energy, J'
    assert np.abs(plant.state[0] - path(1.0)[0]).max() < 5e-3


def test_bad_food_is_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(DescriptionError, match='no such food.*nut'):
        load_food('granite')
    good = '\n'.join(f'{key}: {value}' for key, value in DATA.items()) + '\n'
    file = tmp_path / 'food.yaml'
    file.write_text(good, encoding='utf-8')
    assert load_food(file) == Food(**DATA)
    for old, new, match in (
        ('stiffness: 10000.0', 'stiffness: -1.0', 'stiffness'),
        ('stiffness: 10000.0', 'stiffness: .nan', 'stiffness'),
        ('stiffness: 10000.0', 'hardness: 3', 'hardness: unknown key|stiffness: is missing'),
        ('broken_force: 0.5', 'broken_force: 1.5', 'broken_force'),
        ('bites: 3', 'bites: 0', 'bites'),
        ('renewal_gap: 0.01', 'renewal_gap: 0.005', 'renewal_gap: .* between the teeth'),
    ):
        assert old in good
        file.write_text(good.replace(old, new), encoding='utf-8')
        with pytest.raises(DescriptionError, match=match):
            load_food(file)
    file.write_text('- 1', encoding='utf-8')
    with pytest.raises(DescriptionError, match='not a mapping'):
        load_food(file)
    with pytest.raises(DescriptionError, match='food.yml'):
        load_food(tmp_path / 'food.yml')
    with pytest.raises(InputError, match='between the teeth'):
        pack_bolus(Food(**{**DATA, 'renewal_gap': 0.001}))


RELAXING = {'relaxing_share': 0.4, 'relaxation_time': 0.5, 'yield_force': 500.0, 'damping': 0.0,
            'break_compression': 1.0}  # fmt: skip


def relaxed_for(packed: samples.Array, food: Food, gap: float, seconds: float, steps: int) -> float:
    """Force after a time at a gap."""
    for _ in range(steps):
        crush(packed, gap, 0.0, True)
        relax(packed, food, seconds / steps)
    return crush(packed, gap, 0.0, True)


def test_held_food_relaxes_to_what_does_not() -> None:
    food = Food(**{**DATA, **RELAXING})
    packed = bolus(**RELAXING)
    assert crush(packed, 0.006, 0.0, True) == pytest.approx(20.0)
    after = relaxed_for(packed, food, 0.006, 0.5, 1000)
    assert after == pytest.approx(12.0 + 8.0 * np.exp(-1.0), rel=1e-6)
    assert relaxed_for(packed, food, 0.006, 50.0, 100) == pytest.approx(12.0)


def test_steps_of_relaxation_are_exact_at_a_held_gap() -> None:
    food = Food(**{**DATA, **RELAXING})
    coarse, fine = bolus(**RELAXING), bolus(**RELAXING)
    assert relaxed_for(coarse, food, 0.005, 0.3, 1) == pytest.approx(
        relaxed_for(fine, food, 0.005, 0.3, 300)
    )


def test_relaxing_food_gives_no_energy_and_a_renewed_bite_has_not_relaxed() -> None:
    food = Food(**{**DATA, **RELAXING})
    packed, work, before = bolus(**RELAXING), 0.0, 0.009
    times = np.linspace(0.0, 4.0 * np.pi, 4000)
    for gap in (0.0065 + 0.0025 * np.cos(times)).tolist():
        force = crush(packed, gap, 0.0, True)
        relax(packed, food, 1e-3)
        work, before = work + force * (before - gap), gap
    assert work > 0.0
    assert relaxed_for(packed, food, 0.006, 1.0, 100) < 18.0
    crush(packed, 0.0101, 0.0, True)
    relax(packed, food, 1e-3)
    packed[:2] = 0.0  # as if it were a fresh one
    assert crush(packed, 0.006, 0.0, True) == pytest.approx(20.0 * packed[3])


def test_a_relaxing_share_leaves_something() -> None:
    for share in (1.0, -0.1, float('nan')):
        with pytest.raises(ValueError, match='relaxing_share'):
            Food(**{**DATA, 'relaxing_share': share})
