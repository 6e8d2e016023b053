# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Load limits of motors, bearings and contacts, and what a motion gives up to keep them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, as_floats
from masticator_dynamics.engine.evaluation.model import Model
from masticator_dynamics.engine.evaluation.results import Effort
from masticator_dynamics.errors import DescriptionError, InputError
from masticator_dynamics.limits.ranges import Ranged, RangeViolation, half_width

SMALLEST_UNIT = 1e-3  # N; ranges of contacts may be narrower, rounding is not
BINDING = 1e-6  # relative; a load closer to its limit than that is binding


@dataclasses.dataclass(frozen=True)
class LoadLimits:
    """Limits of the loads; infinite where there are none.

    Attributes
    ----------
    effort, power, axial_force, radial_force : array, shape (n_u,)
        Of each actuator: highest effort (N m or N), magnitude of effort times velocity (W), and
        force that its joint transmits along and across the joint's axis (N).
    contact_low, contact_high : array, shape (n_c,)
        Range of each contact's multiplier (N). Above 0, contacts are pressed at least that hard.
    effort_low : array, shape (n_u,), optional
        Lowest efforts; default: ``-effort``. A range that does not contain 0 is a preload: the
        effort keeps its sign.
    """

    effort: FloatArray
    power: FloatArray
    axial_force: FloatArray
    radial_force: FloatArray
    contact_low: FloatArray
    contact_high: FloatArray
    effort_low: FloatArray | None = None

    def __post_init__(self) -> None:
        """Refuse limits that would limit nothing, or everything (`InputError`)."""
        ranged: tuple[str, ...] = ('contact_low', 'contact_high', 'effort_low')
        if self.effort_low is not None:
            ranged += ('effort',)
        for field in dataclasses.fields(self):
            if getattr(self, field.name) is None:
                continue
            values = as_floats(getattr(self, field.name), field.name)
            if values.ndim != 1 or np.isnan(values).any():
                raise InputError(f'limit {field.name} is {values}, needed are numbers in a row')
            if field.name not in ranged and not (values > 0.0).all():
                raise InputError(f'limit {field.name} is {values.min():g}; above 0 is needed')
            object.__setattr__(self, field.name, values)
        for names in (('contact_low', 'contact_high'), ('effort_low', 'effort')):
            low, high = (getattr(self, name) for name in names)
            if low is not None and not (
                low.shape == high.shape
                and ((low <= high) & (low < np.inf) & (high > -np.inf)).all()
            ):
                raise InputError(f'{names[0]} {low} and {names[1]} {high} are no ranges')

    @classmethod
    def of(cls, mechanism: Model) -> LoadLimits:
        """From the description: ``actuators.<joint>.limits``, ``contacts[].force_range``, URDF.

        Raises
        ------
        DescriptionError
            Naming joints whose motors may exert no effort, or but one.
        """
        limits = [mechanism.description.actuators[name].limits for name in mechanism.actuated]
        ranges = [contact.force_range for contact in mechanism.description.contacts]

        def finite(values: list[float | None], default: float) -> FloatArray:
            return np.array([default if v is None else v for v in values], dtype=float)

        low, high = mechanism.effort_range
        if not (low < high).all():
            names = ', '.join(np.array(mechanism.actuated)[~(low < high)])
            reason = (
                'the highest effort is not above the lowest, by <limit> here and the limits of '
                'actuators: write what the motors can do, or inf for no limit'
            )
            raise DescriptionError(mechanism.description.urdf_file, f'joint {names}', reason)
        return cls(
            high,
            finite([limit.power for limit in limits], np.inf),
            finite([limit.axial_force for limit in limits], np.inf),
            finite([limit.radial_force for limit in limits], np.inf),
            finite([low for low, _ in ranges], -np.inf),
            finite([high for _, high in ranges], np.inf),
            None if (low == -high).all() else low,
        )

    @property
    def effort_range(self) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest efforts (n_u,)."""
        return -self.effort if self.effort_low is None else self.effort_low, self.effort

    @functools.cached_property
    def packed(self) -> tuple[str, FloatArray]:
        """Which limits are finite, and these, as ``LoadBounds.of`` takes them but for the slack."""
        low, high = self.effort_range
        contacts = self.contact_low, self.contact_high
        units = half_width(low, high), np.maximum(half_width(*contacts), SMALLEST_UNIT)
        parts = low, high, 1.0 / units[0], self.power, self.axial_force, self.radial_force
        every = np.concatenate([*parts, *contacts, 1.0 / units[1]])
        marks = np.where(np.isfinite(every), '1', np.where(every > 0.0, '+', '-'))
        return ''.join(marks.tolist()), every[np.isfinite(every)]

    def scaled(self, scale: float) -> LoadLimits:
        """The same limits with the efforts scaled."""
        low = None if self.effort_low is None else self.effort_low * scale
        return dataclasses.replace(self, effort=self.effort * scale, effort_low=low)


def limits_for(mechanism: Model, limits: LoadLimits | bool) -> LoadLimits:
    """Limits to keep: the description's for True, or those given if they fit the mechanism.

    Raises
    ------
    InputError
        For anything else.
    """
    if limits is True:
        return mechanism.made(LoadLimits.of)
    if not isinstance(limits, LoadLimits):
        raise InputError(f'limits is {limits!r}; True, False or LoadLimits is needed')
    for field in dataclasses.fields(limits):
        contact = field.name.startswith('contact')
        needed = len(mechanism.contacts if contact else mechanism.actuated)
        values = getattr(limits, field.name)
        count = needed if values is None else len(values)
        if count != needed:
            raise InputError(f'limit {field.name} has {count} values, {needed} are needed')
    return limits


def load_ranges(mechanism: Model, effort: Effort, limits: LoadLimits) -> Iterator[Ranged]:
    """Loads of a result, or of each row of a batch, with their ranges.

    Joint forces are included only if the result was computed with limits.

    Parameters
    ----------
    mechanism : Model
        For names and units.
    effort : Effort
        Of one row or a batch.
    """
    names, units = mechanism.actuated, mechanism.effort_units
    power = effort.actuated * effort.velocity * mechanism.transmission_ratios
    yield Ranged(names, 'effort', units, effort.actuated, *limits.effort_range)
    yield Ranged(names, 'power', ['W'] * len(names), power, -limits.power, limits.power)
    force = effort.bearing_force
    if force is not None:
        axial, radial = force[..., 2], np.hypot(force[..., 0], force[..., 1])
        bounds = limits.axial_force, limits.radial_force
        newtons = ['N'] * len(names)
        yield Ranged(names, 'axial force', newtons, axial, -bounds[0], bounds[0])
        yield Ranged(names, 'radial force', newtons, radial, -bounds[1], bounds[1])
    yield Ranged(
        mechanism.contacts, 'force', ['N'] * len(mechanism.contacts),
        effort.contact, limits.contact_low, limits.contact_high,
    )  # fmt: skip


def binding_loads(
    mechanism: Model, effort: Effort, limits: LoadLimits
) -> tuple[RangeViolation, ...]:
    """Loads of one result that are at a limit or beyond it.

    Parameters
    ----------
    mechanism : Model
        For names and units.
    effort : Effort
        Of one row.
    """
    return tuple(
        group.violation(int(index))
        for group in load_ranges(mechanism, effort, limits)
        for index in np.flatnonzero(group.signed_excess() >= -BINDING)
    )


@dataclasses.dataclass(frozen=True)
class Shortfall:
    """Acceleration that a coordinate gives up: magnitude, unit, and the row of the batch."""

    name: str
    value: float
    unit: str
    row: int = 0

    def __str__(self) -> str:
        """E.g. ``beta by 20.3 rad/s^2``."""
        return f'{self.name} by {self.value:.3g} {self.unit}'


def largest_shortfalls(mechanism: Model, shortfall: FloatArray) -> tuple[Shortfall, ...]:
    """The largest of rows (N, n_y), or of one (n_y,), for sliding and turning coordinates.

    Metres and radians cannot be compared, so there is one for each that gives anything up.
    """
    size = np.abs(np.atleast_2d(shortfall))
    joints = mechanism.structure.tree.joints
    units = [joints[j].unit for j in mechanism.tree_indices(mechanism.independent)]
    shortfalls = []
    for unit in dict.fromkeys(units):
        part = np.where([u == unit for u in units], size, 0.0)
        row, index = (int(k) for k in np.unravel_index(np.argmax(part), part.shape))
        if part[row, index] > 0.0:
            name, value = mechanism.independent[index], float(part[row, index])
            shortfalls.append(Shortfall(name, value, f'{unit}/s^2', row))
    return tuple(shortfalls)
