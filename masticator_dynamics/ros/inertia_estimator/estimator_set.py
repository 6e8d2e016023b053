# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The estimators that a node can use: the model, shipped files, and the user's files."""

from __future__ import annotations

from collections.abc import Sequence

from masticator_dynamics import Mechanism
from masticator_dynamics.analysis.load_inertia.estimator import (
    FITTED,
    MODEL,
    Estimator,
    ModelEstimator,
)
from masticator_dynamics.analysis.load_inertia.storage import read_estimator, shipped_file
from masticator_dynamics.errors import InputError


class EstimatorSet:
    """Estimators of one mechanism by kind.

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
            found = read_estimator(file, mechanism)
            if found.kind in self._estimators:
                raise InputError(f'{file}: there are two files of kind {found.kind!r}')
            self._estimators[found.kind] = found
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
