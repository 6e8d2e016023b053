# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Limits of the loads of motors, bearings and contacts, and how far loads are beyond them."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

from masticator_dynamics.engine.traced.inverse_dynamics import InverseDynamics
from masticator_dynamics.engine.traced.numbers import (
    absolute,
    greater,
    lane_pick,
    lesser,
    reciprocal,
    select,
)
from masticator_dynamics.engine.traced.sign_pattern import Row

FAR = 1e30  # N or N m; a limit by power where nothing moves
FIELDS = (
    'effort_low', 'effort', 'per_effort', 'power', 'axial_force', 'radial_force',
    'contact_low', 'contact_high', 'per_contact',
)  # fmt: skip


@dataclasses.dataclass
class LoadBounds:
    """Limits of the loads, infinite where there are none; per actuator, and per contact."""

    effort_low: list[Any]
    effort: list[Any]
    per_effort: list[Any]  # one over what an excess is a part of: half the width of a range
    power: list[Any]
    axial_force: list[Any]
    radial_force: list[Any]
    contact_low: list[Any]
    contact_high: list[Any]
    per_contact: list[Any]  # one over what an excess is a part of: half the width of a range
    slack: Any  # number: part by which all may be exceeded

    @classmethod
    def of(cls, finite: str, numbers: Sequence[Any], actuators: int, contacts: int) -> LoadBounds:
        """From the finite ones.

        Parameters
        ----------
        finite : str
            For each limit, in the order of ``FIELDS``: 1, or - and + for infinite ones.
        numbers : sequence of number
            The finite ones, and the slack.
        actuators, contacts : int
            How many there are.
        """
        rest, none = iter(numbers), {'-': -math.inf, '+': math.inf}
        every = [none[mark] if mark in none else next(rest) for mark in finite]
        lengths = [contacts if name.startswith('contact') else actuators for name in FIELDS]
        ends = list(itertools.accumulate(lengths))
        parts = [every[end - length : end] for end, length in zip(ends, lengths, strict=True)]
        return cls(**dict(zip(FIELDS, parts, strict=True)), slack=next(rest))

    @property
    def on_bearings(self) -> bool:
        """Whether forces of the actuated joints are limited."""
        return not all(infinite(x) for x in (*self.axial_force, *self.radial_force))

    def excesses(
        self, efforts: Row, rates: Row, contacts: Row, axial: Row, radial: Row
    ) -> list[Any]:
        """How far loads are beyond their limits, as parts of these; negative within.

        Parameters
        ----------
        efforts, rates : list of number
            Of the motors.
        contacts : list of number
            Multipliers.
        axial, radial : list of number
            Forces of the actuated joints; empty where they are not limited.
        """
        ends = [(efforts, self.effort, self.effort_low, self.per_effort),
                (contacts, self.contact_high, self.contact_low, self.per_contact)]  # fmt: skip
        excesses = []
        for loads, high, low, parts in ends:
            for x, most, least, part in zip(loads, high, low, parts, strict=True):
                if not (infinite(most) or infinite(least)):
                    middle = 0.5 * (most + least)
                    excesses.append((absolute(x - middle) - (most - middle)) * part)
                elif not infinite(most):
                    excesses.append((x - most) * part)
                elif not infinite(least):
                    excesses.append((least - x) * part)
        powers = [e * rate for e, rate in zip(efforts, rates, strict=True)]
        for sizes, limits in (
            (powers, self.power), (axial, self.axial_force), (radial, self.radial_force),
        ):  # fmt: skip
            for x, most in zip(sizes, limits, strict=False):
                excesses += [absolute(x) * reciprocal(most) - 1.0] if not infinite(most) else []
        return excesses

    def limb_by_limb(self, run: InverseDynamics) -> LoadBounds:
        """The same in the order of the limbs' motors, with power as a limit of efforts."""
        motors = [(m, lane) for m in run.forces.motors for lane in range(m.lanes)]
        order = [m.joint.actuator[lane] for m, lane in motors]
        rates = [lane_pick(m.ratio * m.joint.velocity, lane) for m, lane in motors]
        ends = [self._with_power(i, rate) for i, rate in zip(order, rates, strict=True)]
        high, low, parts = ([end[k] for end in ends] for k in range(3))
        axial, radial = (
            [force[i] for i in order] for force in (self.axial_force, self.radial_force)
        )
        return dataclasses.replace(
            self, effort=high, effort_low=low, per_effort=parts, power=[math.inf] * len(order),
            axial_force=axial, radial_force=radial,
        )  # fmt: skip

    def _with_power(self, i: int, rate: Any) -> tuple[Any, Any, Any]:
        """Highest and lowest effort by range and power; one over what an excess is a part of."""
        high, low, part, power = (
            getattr(self, name)[i] for name in ('effort', 'effort_low', 'per_effort', 'power')
        )
        if infinite(power):
            return high, low, part
        speed = absolute(rate)
        most = select(speed, power * reciprocal(speed), FAR)
        if infinite(high) and infinite(low):
            return most, -most, reciprocal(most)
        return (
            most if infinite(high) else lesser(high, most),
            -most if infinite(low) else greater(low, -most),
            greater(part, reciprocal(most)),
        )

    def parts(self) -> list[Any]:
        """All numbers, nested."""
        return [getattr(self, field.name) for field in dataclasses.fields(self)]


def infinite(x: Any) -> bool:
    """Whether a number is known to be infinite: no limit."""
    return isinstance(x, float) and math.isinf(x)
