# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Links that bend
===============

Natural frequencies of a planar robot with flexible links, by how far it is from home.
"""

import matplotlib.pyplot as plt
import numpy as np

from masticator_dynamics.description import load_description
from masticator_dynamics.flexible import FlexibleModel

model = FlexibleModel(load_description('rrr4'))
frequencies = model.frequencies(model.home, held=('x', 'y', 'phi'))
plt.bar(np.arange(1, len(frequencies) + 1), frequencies)
plt.xlabel('mode')
plt.ylabel('frequency, Hz')
plt.yscale('log')
plt.show()
