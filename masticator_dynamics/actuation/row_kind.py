# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A kind of row: which code computes it, and where its numbers are."""

from __future__ import annotations

from collections.abc import Mapping

from masticator_dynamics.traced.kernels import Code, Kernels
from masticator_dynamics.traced.reference import Reference


class RowKind:
    """How rows of output are computed, and what is in them.

    Parameters
    ----------
    kernels : Kernels
        Of the mechanism.
    code : Code
        Machine code, which is tried first.
    slices : mapping of str to slice
        Where each quantity is in a row.
    careful : Code, optional
        Computes the same for rows that the first hands over.

    Attributes
    ----------
    reference : Reference
        Computes the same for rows that machine code hands over.
    width : int
        Numbers in a row.
    """

    def __init__(
        self,
        kernels: Kernels,
        code: Code,
        slices: Mapping[str, slice],
        careful: Code | None = None,
    ):
        self.code, self.slices = code, dict(slices)
        careful = careful or code
        self.reference = Reference(kernels, careful.kind, careful.outputs, careful.told)
        self.width = code.told - 1
