# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Timings of the engine and of other methods for the same job, side by side."""

import os

# One thread for every method, as the budgets require; numpy reads this on its first import. With
# more threads, its linear algebra on such small matrices mostly waits for them.
for _name in ('OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'OMP_NUM_THREADS'):
    os.environ.setdefault(_name, '1')
