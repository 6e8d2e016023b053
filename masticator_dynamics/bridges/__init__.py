# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism as an object of other libraries, which are imported only here."""

from __future__ import annotations

import importlib
from typing import Any

from masticator_dynamics.errors import InputError
from masticator_dynamics.optional import remedy


def needed(module: str) -> Any:
    """A module of an optional package; raises InputError that says how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(remedy(error) or str(error)) from error
