# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The same torques from C
=======================

Inverse dynamics as C99 for a microcontroller, compiled here, and next to Python's.
"""

import ctypes
import pathlib
import subprocess
import tempfile

import matplotlib.pyplot as plt
import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.traced.c_files import c_files
from masticator_dynamics.motion import chewing_stroke

jaw = Mechanism.load('masticator')
folder = pathlib.Path(tempfile.mkdtemp())
for name, text in c_files(jaw.description, jaw.structure).items():
    (folder / name).write_text(text)
library = folder / 'jaw.so'
subprocess.run(
    ['cc', '-O1', '-shared', '-fPIC', folder / 'masticator.c', '-o', library, '-lm'], check=True
)
compute = ctypes.CDLL(str(library)).masticator_inverse_dynamics
compute.argtypes = [np.ctypeslib.ndpointer(float)] * 5

path = chewing_stroke(strokes=1)
rows = path.sample(np.linspace(0.0, path.end, 100))
efforts = np.empty((100, 6))
for effort, *motion in zip(efforts, *rows, strict=True):
    assert compute(*motion, np.zeros(6), effort) == 0
difference = np.abs(efforts - jaw.feedforward_batch(*rows).actuated).max(axis=1)
plt.figure(layout='constrained')
plt.semilogy(np.maximum(difference, 1e-18), '.')
plt.xlabel('row')
plt.ylabel('largest difference from Python, N m')
print(f'differences up to {difference.max():.1e} N m')
plt.show()
