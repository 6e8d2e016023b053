# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Food between the molars: it resists, yields, breaks, and is replaced.

A bolus lies on one side and touches the mandible's tooth when that is closer to occlusion than the
bolus is thick. It pushes the tooth along -z of the base, without friction. Squeezed, it is
a spring up to the yield force and then flows at that force, keeping its new thickness; squeezed
farther it breaks, and what is left pushes with a fraction of the force. When the mouth opens wide a
new bolus takes its place: the next bite of the same mouthful, weaker by a factor, or after some
bites a fresh mouthful. The first one comes with the first wide opening. No cycle of closing and
opening gains energy from it. The arithmetic of this law is ``Bolus`` in
``engine/traced/stops_and_food.py``.

A share of the stiffness may relax: it is then a spring in series with a damper, a Maxwell branch,
beside the rest (the standard linear solid). Held at a compression the force falls to what the rest
bears, and under a constant force the food creeps.
"""

from __future__ import annotations

import math
import pathlib
from typing import TYPE_CHECKING, Literal

import numpy as np
import pydantic

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.traced.stops_and_food import Bolus
from masticator_dynamics.errors import DescriptionError, InputError
from masticator_dynamics.files.share import find_yaml, shipped_names
from masticator_dynamics.files.yaml_file import (
    Count,
    NotNegative,
    Positive,
    Strict,
    checked,
    read_mapping,
)

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism

    Part = float
    Share = float
    Length = float
    Force = float
    Stiffness = float
else:
    Part = pydantic.confloat(ge=0.0, le=1.0, allow_inf_nan=False)
    Share = pydantic.confloat(ge=0.0, lt=1.0, allow_inf_nan=False)
    # More is a mistake of units: no mouth is so wide, no analyser so strong, and steel no stiffer.
    Length = pydantic.confloat(gt=0.0, le=0.2, allow_inf_nan=False)
    Force = pydantic.confloat(gt=0.0, le=2e4, allow_inf_nan=False)
    Stiffness = pydantic.confloat(gt=0.0, le=1e9, allow_inf_nan=False)

# Packed: the numbers of `Bolus`, then its last results.
BROKEN, HEIGHT, RELAXED, GAP, FORCE = 1, 7, Bolus.WIDTH - 1, Bolus.WIDTH, Bolus.WIDTH + 1
_POINT = slice(4, 7)


class Food(Strict):
    """A bolus; distances are along base z, from the bitten tooth's place at home."""

    name: str = pydantic.Field('', description='in reports; by default that of its file')
    side: Literal['left', 'right'] = pydantic.Field('left', description='acts at molar_<side>')
    thickness: Length = pydantic.Field(description='m, gap at which the teeth touch it')
    stiffness: Stiffness = pydantic.Field(description='N/m')
    damping: NotNegative = pydantic.Field(0.0, description='N s/m')
    damping_depth: Positive = pydantic.Field(
        1e-4, description='m of compression over which damping grows to its full value'
    )
    yield_force: Force = pydantic.Field(description='N, at which it flows')
    break_compression: Positive = pydantic.Field(
        description='m of compression at which it breaks; above the thickness: never'
    )
    broken_force: Part = pydantic.Field(1.0, description='part of the force that is left then')
    renewal_gap: Positive = pydantic.Field(description='m, opening that brings the next bite')
    softening: Part = pydantic.Field(
        1.0, description='stiffness, damping and yield force of a bite over those of the one before'
    )
    bites: Count = pydantic.Field(1, description='of a mouthful; then comes a fresh one')
    relaxing_share: Share = pydantic.Field(
        0.0, description='part of the stiffness that relaxes, below 1'
    )
    relaxation_time: Positive = pydantic.Field(
        1.0, description='s, in which it falls to 1/e at a held compression'
    )

    @property
    def frame(self) -> str:
        """URDF link at whose origin it acts."""
        return f'molar_{self.side}'


def shipped_foods() -> tuple[str, ...]:
    """Names of the foods that come with the package."""
    return shipped_names('foods')


def load_food(name_or_path: str | pathlib.Path) -> Food:
    """Read a shipped food by name, or any by the path of its YAML file.

    Raises
    ------
    DescriptionError
        Naming file, key and reason.
    """
    path = find_yaml(name_or_path, 'food', 'foods')
    food = checked(Food, read_mapping(path), path)
    problem = _problem(food)
    if problem:
        raise DescriptionError(path, 'renewal_gap', problem)
    return food


def pack_food(food: Food | None, mechanism: Mechanism) -> FloatArray:
    """A food as a row of numbers; empty if there is none.

    Raises
    ------
    InputError
        If the mechanism has no such molar, or the food's data contradict one another.
    """
    if food is None:
        return np.zeros(0)
    if food.frame not in mechanism.frames:
        raise InputError(f'{mechanism.name} has no frame {food.frame!r} to chew with')
    placement = mechanism.structure.tree.frames[food.frame]
    if placement.body != mechanism.structure.tree.frames[mechanism.description.platform].body:
        raise InputError(f'{food.frame} is no part of the platform {mechanism.name} moves')
    packed = pack_bolus(food)
    packed[_POINT] = placement.position
    packed[HEIGHT] = mechanism.frame_pose(mechanism.home, food.frame).position[2]
    return packed


def pack_bolus(food: Food) -> FloatArray:
    """The data of a food, and a mouth that is empty until it opens; where it acts is not set.

    Raises
    ------
    InputError
        If the next bite would appear between the teeth.
    """
    problem = _problem(food)
    if problem:
        raise InputError(f'renewal_gap: {problem}')
    bites = food.bites - 1
    bolus = Bolus(
        food.thickness, 0.0, bites, food.softening**bites, [0.0, 0.0, 0.0], 0.0, food.thickness,
        food.stiffness, food.damping, food.damping_depth, food.yield_force,
        food.break_compression, food.broken_force, food.renewal_gap, food.softening, food.bites,
        0.0,
    )  # fmt: skip
    return np.array([*bolus.numbers(), 0.0, 0.0])


def relax(packed: FloatArray, food: Food, duration: float) -> None:
    """Let the Maxwell branch of packed food flow, at the gap of its last results, for some seconds.

    Its damper takes more and more of the compression, ``inner``; what no longer resists is
    ``share * inner``. Food that is renewed has not flowed.
    """
    if not food.relaxing_share:
        return
    gap, share = packed[GAP], food.relaxing_share
    depth = max(food.thickness - packed[0] - gap, 0.0)
    inner = packed[RELAXED] / share
    inner = depth + (inner - depth) * math.exp(-duration / food.relaxation_time)
    packed[RELAXED] = 0.0 if gap > food.renewal_gap else share * inner


def _problem(food: Food) -> str:
    if food.renewal_gap > food.thickness:
        return ''
    return (
        f'{food.renewal_gap} m is within the thickness of {food.thickness} m: the next bite would '
        'appear between the teeth'
    )
