# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Estimators as files (JSON, version 1, numbers to seven digits), and all those that are there."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.analysis.load_inertia.estimator import (
    FITTED,
    MODEL,
    Estimator,
    FittedEstimator,
    MeasuredError,
    ModelEstimator,
)
from masticator_dynamics.analysis.load_inertia.maps import Region
from masticator_dynamics.analysis.load_inertia.sampling import element_indices
from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.share import share_directory
from masticator_dynamics.files.text_file import read_text
from masticator_dynamics.mechanism import Mechanism

FORMAT, VERSION = 'masticator_dynamics estimator', 1
_LARGEST = 50_000_000  # bytes; the largest shipped has half a million
_DIGITS = 7


def shipped_file(mechanism: str, kind: str) -> pathlib.Path:
    """Path that an estimator shipped with the package would have."""
    return share_directory() / 'config/estimators' / f'{mechanism}_{kind}.json'


def as_text(estimator: FittedEstimator) -> str:
    """Estimator as the content of a file."""
    content: dict[str, Any] = {'format': FORMAT, 'version': VERSION}
    for field in dataclasses.fields(estimator):
        content[field.name] = _plain(getattr(estimator, field.name))
    lines = [f'  {json.dumps(key)}: {_dumped(value)}' for key, value in content.items()]
    return '{\n' + ',\n'.join(lines) + '\n}\n'


def rounded(estimator: FittedEstimator) -> FittedEstimator:
    """The estimator as read back from a file, so that what is measured is what is stored."""
    return from_text(as_text(estimator), 'estimator')


def read_estimator(file: str | pathlib.Path, mechanism: Mechanism) -> FittedEstimator:
    """Read an estimator of a mechanism.

    Raises
    ------
    InputError
        For a file that cannot be read, is damaged, or was built for another mechanism or for
        another version of this one.
    """
    try:
        text = read_text(file, _LARGEST)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f'{file}: {getattr(error, "strerror", None) or error}') from None
    estimator = from_text(text, str(file))
    names = mechanism.independent, mechanism.actuated
    if estimator.fingerprint != fingerprint(mechanism.description):
        fitted = estimator.mechanism
        what = 'another version of it' if fitted == mechanism.name else fitted
        raise InputError(
            f'{file}: built for {what}, not for {mechanism.name} as it is described now; build it '
            f'again with masticator build-estimator'
        )
    if (estimator.independent, estimator.actuated) != names:
        raise InputError(f'{file}: its joints are not those of {mechanism.name}')
    return estimator


def from_text(text: str, source: str) -> FittedEstimator:
    """Read the content of a file.

    Raises
    ------
    InputError
        Naming the source, if the content is not an estimator of this version.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f'{source}: not JSON: {error}') from None
    if not isinstance(content, dict) or content.get('format') != FORMAT:
        raise InputError(f'{source}: not an estimator')
    if content.get('version') != VERSION:
        raise InputError(
            f'{source}: format version {content.get("version")!r}, this package reads {VERSION}'
        )
    try:
        estimator = _parsed(content)
        _check(estimator)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        reason = f'{error} is missing' if isinstance(error, KeyError) else str(error)
        raise InputError(f'{source}: damaged: {reason}') from None
    return estimator


def _parsed(content: dict[str, Any]) -> FittedEstimator:
    error, kind = content['error'], str(content['kind'])
    if kind not in FITTED:
        raise ValueError(f'kind {kind!r} is none of {", ".join(FITTED)}')
    independent, region = (
        tuple(map(str, content['independent'])),
        _arrays(Region, content['region']),
    )
    if not region.normals.size:  # a box that nothing cuts: JSON does not tell how wide no rows are
        region = dataclasses.replace(region, normals=np.empty((0, len(independent))))
    return FittedEstimator(
        kind,
        str(content['mechanism']),
        str(content['fingerprint']),
        independent,
        tuple(map(str, content['actuated'])),
        region,
        _arrays(FITTED[kind], content['elements']),
        MeasuredError(
            int(error['poses']),
            *(_array(error[name]) for name in ('maximum', 'mean', 'inertia')),
        ),
        {str(key): int(value) for key, value in content['built'].items()},
    )


def _check(estimator: FittedEstimator) -> None:
    """Check for matching shapes and finite numbers, so that nothing fails later."""
    count, elements = len(estimator.independent), len(element_indices(len(estimator.actuated))[0])
    if estimator.region.center.shape != (count,) or estimator.region.half_width.shape != (count,):
        raise ValueError('the region has another number of coordinates')
    if estimator.region.normals.shape != (len(estimator.region.offsets), count):
        raise ValueError('the planes of the region do not fit')
    for name, array in vars(estimator.error).items():
        if name != 'poses' and array.shape != (elements,):
            raise ValueError(f'error.{name} has shape {array.shape}, needed is ({elements},)')
    for part in (estimator.region, estimator.error, estimator.elements):
        for name, array in vars(part).items():
            if not np.isfinite(array).all() and estimator.elements is not part:
                raise ValueError(f'{name} has numbers that are not finite')
    probe = estimator.elements.values(np.zeros((1, count)))
    if probe.shape != (1, elements):
        raise ValueError(f'there are {probe.shape[1]} elements, needed are {elements}')
    if estimator.kind != 'grid' and not np.isfinite(probe).all():
        raise ValueError('elements have numbers that are not finite')


def _arrays(kind: Any, content: dict[str, Any]) -> Any:
    return kind(**{field.name: _array(content[field.name]) for field in dataclasses.fields(kind)})


def _array(values: Any) -> FloatArray:
    # Missing numbers (a grid's unreachable nodes) are null in JSON, NaN here.
    return np.array(values, dtype=float)


def _plain(value: Any) -> Any:
    """Arrays as lists, numbers rounded, NaN as None."""
    if dataclasses.is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist()) if value.size else value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(f'{value:.{_DIGITS - 1}e}') if np.isfinite(value) else None
    return value


def _dumped(value: Any) -> str:
    """JSON with one line per key, at the top level and one level below."""
    if isinstance(value, dict):
        parts = [f'    {json.dumps(key)}: {_dumped(part)}' for key, part in value.items()]
        return '{\n' + ',\n'.join(parts) + '\n  }'
    return json.dumps(value, separators=(',', ':'), allow_nan=False)


class EstimatorSet:
    """Estimators of one mechanism by kind: the model, shipped files, the user's files.

    A shipped file built for another mechanism of the same name is left out; such a file of the
    user is refused.

    Parameters
    ----------
    mechanism : Mechanism
        Used by the model, and therefore only in one thread.
    files : sequence of str
        The user's files, which replace shipped ones of the same kind; empty names are ignored.

    Raises
    ------
    InputError
        If a user's file cannot be read or does not fit the mechanism, or two have the same kind.
    """

    def __init__(self, mechanism: Mechanism, files: Sequence[str] = ()):
        self._mechanism = mechanism.name
        self._estimators: dict[str, Estimator] = {MODEL: ModelEstimator(mechanism)}
        self._refused: dict[str, str] = {}
        for file in filter(None, files):
            estimator = read_estimator(file, mechanism)
            if estimator.kind in self._estimators:
                raise InputError(f'{file}: there are two files of kind {estimator.kind!r}')
            self._estimators[estimator.kind] = estimator
        for kind in FITTED:
            shipped = shipped_file(mechanism.name, kind)
            if kind in self._estimators or not shipped.is_file():
                continue
            try:
                self._estimators[kind] = read_estimator(shipped, mechanism)
            except InputError as error:
                self._refused[kind] = str(error)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The available kinds."""
        return tuple(self._estimators)

    def __getitem__(self, kind: str) -> Estimator:
        """The estimator of a kind.

        Raises
        ------
        InputError
            If there is no such estimator; says how to get one, or which kinds there are.
        """
        if kind in self._refused:
            raise InputError(self._refused[kind])
        if kind in FITTED and kind not in self._estimators:
            raise InputError(
                f'there is no {kind} estimator of {self._mechanism}: build one with masticator '
                'build-estimator and name its file in parameter estimator_files'
            )
        if kind not in self._estimators:
            raise InputError(f'no estimator {kind!r}; there are: {", ".join(self.kinds)}')
        return self._estimators[kind]


_COMPARED, _ZERO = 9, 1e-12


def fingerprint(description: MechanismDescription) -> str:
    """Digest of joints, bodies, loops, contacts, actuators and home.

    Shapes, ranges, friction and gravity do not affect inertia. Numbers are compared to nine digits:
    the last ones of an expanded xacro differ from machine to machine.
    """
    lines = [f'{description.independent} {description.actuated}']
    for joint in description.tree.joints:
        names = f'{joint.name} {joint.type} {joint.parent} {joint.child}'
        placed = [*joint.position, *np.ravel(joint.rotation), *joint.axis]
        placed += [getattr(joint, dimension) for dimension in joint.kind.dimensions]
        lines.append(f'{names} {_text(placed)}')
    for name, inertia in sorted(description.tree.links.items()):
        numbers = [inertia.mass, *inertia.center_of_mass, *np.ravel(inertia.about_center)]
        lines.append(f'{name} {_text(numbers)}')
    lines += [f'{c.name} {c.frames}' for c in description.closures]
    lines += [f'{c.frame} {_text([*c.normal, c.offset])}' for c in description.contacts]
    actuators = [description.actuators[name] for name in description.actuated]
    lines.append(_text([number for a in actuators for number in (a.rotor_inertia, a.ratio)]))
    lines += [f'{j} {_text([p.armature])}' for j, p in description.joints.items() if p.armature]
    lines += [f'{name} {_text([value])}' for name, value in sorted(description.home.items())]
    return hashlib.sha256('\n'.join(lines).encode()).hexdigest()


def _text(numbers: Iterable[float]) -> str:
    """Numbers with the digits that count."""
    return ' '.join(
        '0' if abs(n) < _ZERO else f'{n:.{_COMPARED - 1}e}' for n in map(float, numbers)
    )
