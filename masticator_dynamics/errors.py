# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of this package, by cause; messages name the thing and the amount with units."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def meant(wrong: str, candidates: Iterable[str], similarity: float = 0.6) -> str:
    """``"; is 'candidate' meant?"`` for a name that does not exist; empty if none is similar."""
    import difflib  # here: only a misspelt name needs it

    names = list(candidates)
    near = [name for name in names if name.casefold() == wrong.casefold()]
    near = near or difflib.get_close_matches(wrong, names, 1, similarity)
    return f'; is {near[0]!r} meant?' if near else ''


class MasticatorError(ValueError):
    """Root of all errors raised on purpose by this package.

    Attributes
    ----------
    row : int or None
        For batches, the index of the row at fault.
    """

    row: int | None = None

    @property
    def without_row(self) -> str:
        """What is wrong, without the row that a batch names first."""
        return str(self) if self.row is None else str(self).removeprefix(f'row {self.row + 1}: ')


class DescriptionError(MasticatorError):
    """A mechanism description cannot be used.

    Parameters
    ----------
    file : path-like or str
        The file at fault.
    key : str
        Where in the file, e.g. ``closures[2].frames``; empty for the file as a whole.
    reason : str
        What is wrong, with the amount.
    """

    def __init__(self, file: object, key: str, reason: str):
        self.file, self.key, self.reason = str(file), key, reason
        super().__init__(f'{file}: {key}: {reason}' if key else f'{file}: {reason}')


class DescriptionWarning(UserWarning):
    """A description can be used, but something in it is ignored or looks wrong."""


class RangeWarning(UserWarning):
    """A motion is outside the ranges of its joints: computed all the same, and told once."""


class InputError(MasticatorError):
    """Numbers, names or files passed in are malformed (shape, NaN, unknown joint, time order)."""


class ReachError(MasticatorError):
    """The loops cannot be closed at the requested pose.

    Parameters
    ----------
    reason : str or callable
        What is wrong, or a function that finds out: some milliseconds of search, spent only when
        the message is read.
    """

    def __init__(self, reason: str | Callable[[], str]):
        super().__init__(reason)

    def __str__(self) -> str:
        """The reason, determined once."""
        (reason,) = self.args
        if callable(reason):
            reason = reason()
            self.args = (reason,)
        return str(reason)

    def __repr__(self) -> str:
        """With the reason."""
        return f'{type(self).__name__}({str(self)!r})'

    def __reduce__(self) -> tuple[type[ReachError], tuple[str]]:
        """Pickle the reason as text."""
        return type(self), (str(self),)


class ClosureError(MasticatorError):
    """Given joint values are inconsistent with the loops by more than the tolerance."""


class SingularityError(MasticatorError):
    """The mechanism loses or gains a degree of freedom at the requested pose."""


class ActuationError(MasticatorError):
    """The chosen actuators cannot drive the mechanism."""


class LimitError(MasticatorError):
    """A range of a socket, a joint or an actuator is exceeded where ranges are enforced."""


class DriveError(MasticatorError):
    """A servo drive, or the bus it is on, cannot be used.

    Parameters
    ----------
    drive : str
        Name and node id of the drive at fault, or of the bus.
    reason : str
        What is wrong, with the object and the amount.
    """

    def __init__(self, drive: str, reason: str):
        self.drive, self.reason = drive, reason
        super().__init__(f'{drive}: {reason}')


class AbsentError(DriveError):
    """A bus, or drives on it, are not there; they may just be late."""


class SimulationError(MasticatorError):
    """A simulated mechanism reached a state where its equations of motion cannot be evaluated."""


def in_words(error: Exception) -> str:
    """What an error says; with its class unless it is raised on purpose, or by the system."""
    expected = isinstance(error, MasticatorError | OSError)
    return str(error) if expected else f'{type(error).__name__}: {error}'
