# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The papers' own inverse dynamics of 6-RSS and 6-PUS mechanisms, as a check of the engine.

Clear rather than fast, in the papers' notation with their equation numbers: S0 Cheng et al. 2024,
Mech. Sci. 15, 587; S1 Cheng et al. 2025, Biomimetics 10, 437; S2 Lopes and Almeida 2008, Dynamic
model of a 6-dof parallel manipulator using the generalized momentum approach. The papers contain
errors; corrections are noted next to the equations. Nothing here calls the engine.
"""

from papers.formulations.euler_angles import NewtonEulerAngles
from papers.formulations.euler_parameters import NewtonEulerParameters
from papers.formulations.formulation import (
    Formulation,
    RssFormulation,
    Solution,
)
from papers.formulations.generalized_momentum import (
    GeneralizedMomentum,
    LagrangeKoditschek,
    PusFormulation,
)
from papers.formulations.lagrange_dalembert import (
    HessianMatrix,
    LiangDerivatives,
)
from papers.formulations.lagrange_multipliers import LagrangeMultipliers

# For 6-RSS mechanisms.
FORMULATIONS: dict[str, type[RssFormulation]] = {
    'hessian': HessianMatrix,
    'liang': LiangDerivatives,
    'lagrange': LagrangeMultipliers,
    'euler-parameters': NewtonEulerParameters,
    'euler-angles': NewtonEulerAngles,
}
# For 6-PUS mechanisms.
PUS_FORMULATIONS: dict[str, type[PusFormulation]] = {
    'generalized-momentum': GeneralizedMomentum,
    'koditschek': LagrangeKoditschek,
}

__all__ = [
    'FORMULATIONS',
    'PUS_FORMULATIONS',
    'Formulation',
    'GeneralizedMomentum',
    'HessianMatrix',
    'LagrangeKoditschek',
    'LagrangeMultipliers',
    'LiangDerivatives',
    'NewtonEulerAngles',
    'NewtonEulerParameters',
    'PusFormulation',
    'RssFormulation',
    'Solution',
]
