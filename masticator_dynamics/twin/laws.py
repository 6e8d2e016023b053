# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How a body that only pushes pushes back."""

from masticator_dynamics.engine.jit import kernel


@kernel
def push(elastic, depth, rate, damping, ramp):
    """Force of a one-sided contact, N or N m, never negative.

    ``elastic`` is what the depth alone would give. Damping grows from zero at touch to its full
    value at the depth ``ramp``, so that the force has no jump; it never makes the contact pull.
    """
    return max(0.0, elastic + damping * rate * min(depth / ramp, 1.0))
