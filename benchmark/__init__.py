# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Timings of this engine and of the same job done by other means, side by side."""

import os

# One thread for everybody, as the budgets say; numpy reads this when it is first imported. With
# more, its linear algebra on matrices as small as here waits for threads more than it computes.
for _name in ('OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'OMP_NUM_THREADS'):
    os.environ.setdefault(_name, '1')
