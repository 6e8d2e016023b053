# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Dynamics of closed-loop robots: from mechanism files to actuator efforts."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism

__all__ = ['Mechanism']


def __getattr__(name: str) -> Any:
    """Import the engine when it is first asked for: the command line's help does not need it."""
    if name == 'Mechanism':
        from masticator_dynamics.mechanism import Mechanism

        return Mechanism
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
