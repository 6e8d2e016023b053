# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What an experiment does: motion, food, factors, repetitions, order, and when to stop."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pydantic

from masticator_dynamics.errors import DescriptionError, InputError
from masticator_dynamics.files.tables import read_table
from masticator_dynamics.files.yaml_file import (
    Count,
    NotNegative,
    Positive,
    Strict,
    checked,
    read_mapping,
)
from masticator_dynamics.motion.chewing import WIDEST
from masticator_dynamics.robot.laboratory.mouthful_figures import openings
from masticator_dynamics.robot.twin.food import Food, load_food

STROKES = 10  # per mouthful by default
MOST = 9999  # mouthfuls per experiment
_FIRST_FORCE = 5.0  # N, at most, at which a rise begins: what contact is noticed by
_LARGEST_SPREAD = 0.5  # of a logarithm; beyond it, foods of the same name have nothing in common
_SHAPE = ('period', 'opening', 'occlusal_gap')  # of strokes
_APPROACHED = 1.0  # s, about, of a bite at a force before and after it
BYTES_PER_SECOND = 210_000  # of a recording, measured at 500 Hz


class ForceBite(Strict):
    """Bites at a force, in place of strokes: each closes until it has it, and opens again."""

    level: Positive = pydantic.Field(description='N')
    rise: NotNegative = pydantic.Field(
        0.0, description='s, in which the force rises to the level; 0: as fast as it may'
    )
    hold: Positive = pydantic.Field(0.5, description='s, for which the level is held: creep')
    relaxation: NotNegative = pydantic.Field(
        0.0, description='s, for which the teeth then stay where they are: relaxation'
    )
    approach: Positive = pydantic.Field(0.010, description='m/s, until the food is touched')
    repetitions: Count = pydantic.Field(1, description='bites of a mouthful, alike')

    @property
    def controlled(self) -> float:
        """For how long the force is controlled, s."""
        return self.rise + self.hold

    def wanted(self, time: float) -> float:
        """Wanted force, N, at a time since it is controlled, s."""
        if time >= self.rise:
            return self.level
        first = min(_FIRST_FORCE, 0.1 * self.level)
        return first + (self.level - first) * time / self.rise


class MouthfulMotion(Strict):
    """The subject's motion: strokes as :func:`masticator_dynamics.motion.chewing_stroke`."""

    side: Literal['left', 'right'] = pydantic.Field('left', description='working side')
    period: Positive = pydantic.Field(1.0, description='s, of one stroke')
    opening: Positive = pydantic.Field(0.15, description='rad, of the widest stroke')
    occlusal_gap: NotNegative = pydantic.Field(
        0.0, description='m, distance of the working molars when the mouth is closed'
    )
    recording: str = pydantic.Field(
        '', description="CSV of a subject's incisor, chewed in place of strokes made of these data"
    )
    force: ForceBite | None = pydantic.Field(
        None, description='bites at a force, in place of strokes made of these data'
    )


class Rest(Strict):
    """Rest position of the jaw before the strokes of a mouthful."""

    gap: NotNegative = pydantic.Field(0.0, description='m, of the working molars')
    time: NotNegative = pydantic.Field(0.0, description='s, for which the jaw stays there')


class Variation(Strict):
    """Spread of the food from mouthful to mouthful: standard deviation of the logarithm."""

    thickness: NotNegative = 0.0
    stiffness: NotNegative = 0.0
    yield_force: NotNegative = 0.0
    break_compression: NotNegative = 0.0


class Stop(Strict):
    """What ends a mouthful before its strokes are done."""

    force: Positive | None = pydantic.Field(None, description='N, of the food on the tooth')
    broken: bool = pydantic.Field(False, description='as soon as the food has broken')


class Limits(Strict):
    """Limits of the whole experiment."""

    time: Positive = pydantic.Field(86400.0, description='s of chewing')
    disk: Positive = pydantic.Field(10e9, description='bytes of recordings')


class Protocol(Strict):
    """An experiment, as described in its YAML file."""

    schema_version: Literal[1] = pydantic.Field(alias='schema', description='of this format')
    title: str
    metadata: dict[str, str | int | float] = pydantic.Field(
        {}, description='of the samples, for the report: product, batch, temperature or any other'
    )
    motion: MouthfulMotion = MouthfulMotion()
    food: str = pydantic.Field(description='name of a shipped food, or path of a YAML file')
    strokes: Count | None = pydantic.Field(
        None,
        description='of a mouthful; 10 unless told, or those of a recording or of motion.force',
    )
    rest: Rest = Rest()
    samples: list[Count] = pydantic.Field(
        [], description='strokes after which food is taken out; each is a mouthful of its own'
    )
    factors: dict[str, list[Any]] = pydantic.Field(
        {}, description='levels of food, strokes or motion.<key>; all are crossed'
    )
    repetitions: Count = 1
    order: Literal['given', 'random'] = 'given'
    seed: int = pydantic.Field(0, ge=0, description='of order and variation')
    variation: Variation = Variation()
    sockets: Literal['slot', 'open'] = pydantic.Field(
        'slot', description='slot: they hold the balls both ways; open: the balls can leave them'
    )
    stop: Stop = Stop()
    pause: NotNegative = pydantic.Field(
        0.0, description='s before each mouthful, for the robot to be served; the twin needs none'
    )
    on_fault: Literal['next', 'end'] = pydantic.Field(
        'next', description='after a fault: the next mouthful, or the end of the experiment'
    )
    limits: Limits = Limits()


@dataclasses.dataclass(frozen=True)
class Mouthful:
    """One mouthful of an experiment."""

    number: int  # position in the order of chewing, from 1
    levels: Mapping[str, Any]  # levels of the factors, by name; with ``strokes`` if food is sampled
    repetition: int  # from 1
    motion: MouthfulMotion
    food: Food  # of this mouthful, its variation included
    food_name: str  # as the protocol has it: a shipped food, or a file
    strokes: int
    rest: Rest
    duration: float  # approximate, s

    @property
    def name(self) -> str:
        """Name of its recording, without suffix."""
        return f'mouthful_{self.number:04d}'


def load_protocol(file: str | pathlib.Path) -> Protocol:
    """Read and check a protocol.

    Raises
    ------
    DescriptionError
        Naming file, key and reason.
    """
    return checked(Protocol, read_mapping(file), file)


def plan(protocol: Protocol, file: str | pathlib.Path) -> tuple[Mouthful, ...]:
    """All mouthfuls, in the order in which they are chewed.

    Parameters
    ----------
    file
        Source of the protocol: paths of foods are relative to its folder.

    Raises
    ------
    DescriptionError
        For unknown factors, invalid levels, unknown foods, or more mouthfuls than the limits
        allow.
    """
    for name, spread in dict(protocol.variation).items():
        if spread > _LARGEST_SPREAD:
            raise DescriptionError(file, f'variation.{name}', f'is above {_LARGEST_SPREAD}')
    runs = []
    named: dict[str, str] = {}
    for levels in _conditions(protocol, file):
        chosen = _condition(protocol, levels, file)
        source, name = chosen[1], chosen[2].name
        if named.setdefault(name, source) != source:
            raise DescriptionError(
                file, 'factors.food', f'{named[name]} and {source} are both called {name!r}'
            )
        levels = {**levels, 'food': name} if 'food' in levels else levels
        for repetition in range(1, protocol.repetitions + 1):
            runs.append((levels, chosen, repetition))
    order = np.arange(len(runs))
    if protocol.order == 'random':
        order = np.random.default_rng(protocol.seed).permutation(len(runs))
    mouthfuls = []
    for number, index in enumerate(order.tolist(), start=1):
        levels, (motion, food_name, food, strokes), repetition = runs[index]
        # Seeded by the run, not by its position, so that the order changes no food.
        random = np.random.default_rng([protocol.seed, index])
        varied = _varied(food, protocol.variation, random, f'{file}: {food_name}')
        duration = protocol.pause + protocol.rest.time + _duration(motion, strokes)
        mouthfuls.append(
            Mouthful(
                number, levels, repetition, motion, varied, food_name, strokes, protocol.rest,
                duration,
            )
        )  # fmt: skip
    _check_limits(protocol, mouthfuls, file)
    return tuple(mouthfuls)


def _conditions(protocol: Protocol, file: str | pathlib.Path) -> list[dict[str, Any]]:
    """Levels of all factors crossed; sampling is a factor of its own."""
    factors = dict(protocol.factors)
    if protocol.samples:
        if 'strokes' in factors:
            raise DescriptionError(file, 'samples', "there is a factor 'strokes' already")
        factors['strokes'] = list(protocol.samples)
    for name, levels in factors.items():
        if not levels:
            raise DescriptionError(file, f'factors.{name}', 'has no levels')
        if len({repr(level) for level in levels}) < len(levels):
            raise DescriptionError(file, f'factors.{name}', f'names a level twice: {levels}')
    count = protocol.repetitions * math.prod(map(len, factors.values()))
    if count > MOST:
        raise DescriptionError(
            file, 'factors', f'make {count} mouthfuls with repetitions; at most {MOST} are chewed'
        )
    names = list(factors)
    return [dict(zip(names, row, strict=True)) for row in itertools.product(*factors.values())]


def _condition(
    protocol: Protocol, levels: Mapping[str, Any], file: str | pathlib.Path
) -> tuple[MouthfulMotion, str, Food, int]:
    """Motion, food and strokes with the levels of the factors in place."""
    motion = dict(protocol.motion)
    settings: dict[str, Any] = {'food': protocol.food, 'strokes': protocol.strokes}
    for name, level in levels.items():
        key = name.removeprefix('motion.')
        place = motion if name.startswith('motion.') else settings
        if key.startswith('force.') and place is motion:
            key = key.removeprefix('force.')
            place = motion['force'] = dict(motion['force'] or ()) | {key: None}
        if key not in place:
            names = ', '.join([*settings, *(f'motion.{k}' for k in motion)])
            raise DescriptionError(file, f'factors.{name}', f'unknown factor; there are: {names}')
        place[key] = level
    checked_motion = _checked_motion(motion, file)
    strokes = settings['strokes']
    if checked_motion.force:
        strokes = _bites(checked_motion.force, strokes, protocol.rest, file)
    if checked_motion.recording:
        recorded, _ = _recorded(checked_motion.recording)
        if strokes is not None:
            raise DescriptionError(
                file, 'strokes', f'are those of the recording, {recorded}; leave it out'
            )
        strokes = recorded
    elif strokes is None:
        strokes = STROKES
    if not isinstance(strokes, int) or isinstance(strokes, bool) or strokes < 1:
        raise DescriptionError(file, 'factors.strokes', f'{strokes!r} is no number of strokes')
    source = str(settings['food'])
    food = load_food(food_source(source, file))
    # The food of a mouthful softens from its first bite to its last; nothing is served in between.
    changed = {
        'name': food.name or source, 'side': checked_motion.side, 'bites': strokes + 1
    }  # fmt: skip
    return checked_motion, source, Food(**{**dict(food), **changed}), strokes


def food_source(name: str, file: str | pathlib.Path) -> str | pathlib.Path:
    """A food of a protocol as :func:`load_food` takes it; paths are relative to the protocol."""
    return pathlib.Path(file).parent / name if pathlib.Path(name).suffix else name


def _checked_motion(motion: Mapping[str, Any], file: str | pathlib.Path) -> MouthfulMotion:
    """A validated motion, with the full path of its recording."""
    checked_motion = checked(MouthfulMotion, dict(motion), f'{file}: factors')
    if checked_motion.force:
        _refuse_set(checked_motion, (*_SHAPE, 'recording'), 'is for strokes', file)
    if not checked_motion.recording:
        return checked_motion
    _refuse_set(checked_motion, _SHAPE, 'is what the recording says', file)
    recorded = pathlib.Path(file).parent / checked_motion.recording
    return MouthfulMotion(**{**dict(checked_motion), 'recording': str(recorded)})


def _refuse_set(
    motion: MouthfulMotion, keys: Sequence[str], why: str, file: str | pathlib.Path
) -> None:
    for key in keys:
        if getattr(motion, key) != getattr(MouthfulMotion(), key):
            raise DescriptionError(file, f'motion.{key}', f'{why}; leave it out')


def _bites(force: ForceBite, strokes: Any, rest: Rest, file: str | pathlib.Path) -> int:
    """How many bites at a force a mouthful has; refuses what is for strokes."""
    if strokes is not None:
        raise DescriptionError(
            file, 'strokes', f'are those of motion.force, {force.repetitions}; leave it out'
        )
    if rest != Rest():
        raise DescriptionError(file, 'rest', 'is for strokes; leave it out')
    return force.repetitions


@functools.cache
def _recorded(name: str) -> tuple[int, float]:
    """Number of strokes and duration (s) of a recorded incisor; z: displacement from occlusion."""
    table = read_table(name)
    times, height = table.times(), table.numbers(['incisor_z'])[:, 0]
    count = len(openings(-height))
    if not count:
        raise InputError(f'{name}: the mouth does not open and close again: there is no stroke')
    return count, float(times[-1] - times[0])


def _duration(motion: MouthfulMotion, strokes: int) -> float:
    """Duration of a mouthful's strokes and of the opening after them, s."""
    if motion.force:
        return strokes * (motion.force.controlled + motion.force.relaxation + _APPROACHED)
    chewed = _recorded(motion.recording)[1] if motion.recording else strokes * motion.period
    return chewed + WIDEST * motion.period


def _varied(food: Food, variation: Variation, random: np.random.Generator, source: str) -> Food:
    """A food as in one mouthful: its data times lognormal factors."""
    changed = {
        name: getattr(food, name) * float(np.exp(spread * random.standard_normal()))
        for name, spread in dict(variation).items()
    }
    return checked(Food, {**dict(food), **changed}, source)


def _check_limits(
    protocol: Protocol, mouthfuls: Sequence[Mouthful], file: str | pathlib.Path
) -> None:
    for mouthful in mouthfuls:
        if mouthful.food.renewal_gap <= mouthful.food.thickness:
            raise DescriptionError(
                file, 'variation.thickness',
                f'makes {mouthful.food.name} of mouthful {mouthful.number} '
                f'{1e3 * mouthful.food.thickness:.3g} mm thick, beyond the opening of '
                f'{1e3 * mouthful.food.renewal_gap:.3g} mm that brings the next bite',
            )  # fmt: skip
    time = sum(mouthful.duration for mouthful in mouthfuls)
    if time > protocol.limits.time:
        raise DescriptionError(
            file, 'limits.time',
            f'{len(mouthfuls)} mouthfuls take {time:.0f} s of chewing, allowed are '
            f'{protocol.limits.time:.0f} s',
        )  # fmt: skip
    size = disk_space(mouthfuls)
    if size > protocol.limits.disk:
        raise DescriptionError(
            file, 'limits.disk',
            f'{len(mouthfuls)} mouthfuls take some {size / 1e6:.0f} MB, allowed are '
            f'{protocol.limits.disk / 1e6:.0f} MB',
        )  # fmt: skip


def disk_space(mouthfuls: Sequence[Mouthful]) -> float:
    """Bytes that recordings of these mouthfuls need, estimated."""
    return BYTES_PER_SECOND * sum(mouthful.duration + 1.0 for mouthful in mouthfuls)
