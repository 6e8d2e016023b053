# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The estimators that a node can answer with: the model, shipped files, and files of the user."""

from __future__ import annotations

from collections.abc import Sequence

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import InputError
from masticator_dynamics.estimation.estimator import FITTED, MODEL, Estimator, ModelEstimator
from masticator_dynamics.estimation.storage import read_estimator, shipped_file


class EstimatorSet:
    """Estimators of one mechanism by kind.

    A shipped file that was built for another mechanism of the same name is left out; one of the
    user's is refused.

    Parameters
    ----------
    mechanism : Mechanism
        For the model, and so for one thread alone.
    files : sequence of str
        Of the user; they come before shipped ones, empty names do not count.

    Raises
    ------
    InputError
        For a file of the user that cannot be read, or does not fit the mechanism.
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
        """Those there are."""
        return tuple(self._estimators)

    def __getitem__(self, kind: str) -> Estimator:
        """The estimator of a kind.

        Raises
        ------
        InputError
            Saying which kinds there are.
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
