# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The papers' own inverse dynamics of the 6-RSS mechanism, as proof of the engine.

Clear rather than fast, in the papers' notation with their equation numbers: S0 Cheng et al. 2024,
Mech. Sci. 15, 587; S1 Cheng et al. 2025, Biomimetics 10, 437. The papers are wrong in places; what
was corrected stands next to the equation. None of this calls the engine.
"""

from masticator_dynamics.formulations.euler_angles import NewtonEulerAngles
from masticator_dynamics.formulations.euler_parameters import NewtonEulerParameters
from masticator_dynamics.formulations.formulation import Formulation, Solution
from masticator_dynamics.formulations.hessian_matrix import HessianMatrix
from masticator_dynamics.formulations.lagrange_multipliers import LagrangeMultipliers
from masticator_dynamics.formulations.liang import LiangDerivatives

FORMULATIONS: dict[str, type[Formulation]] = {
    'hessian': HessianMatrix,
    'liang': LiangDerivatives,
    'lagrange': LagrangeMultipliers,
    'euler-parameters': NewtonEulerParameters,
    'euler-angles': NewtonEulerAngles,
}

__all__ = [
    'FORMULATIONS',
    'Formulation',
    'HessianMatrix',
    'LagrangeMultipliers',
    'LiangDerivatives',
    'NewtonEulerAngles',
    'NewtonEulerParameters',
    'Solution',
]
