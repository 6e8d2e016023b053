# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Dynamics of closed-loop robots: from mechanism files to actuator efforts."""

import importlib

TYPE_CHECKING = False  # for type checkers; typing takes long to import
if TYPE_CHECKING:
    from masticator_dynamics.description import MechanismDescription, load_description
    from masticator_dynamics.engine.evaluation.dynamics import Energy
    from masticator_dynamics.engine.evaluation.kinematics import FramePose
    from masticator_dynamics.engine.evaluation.results import Effort, Motion
    from masticator_dynamics.engine.traced.simulation_data import Regularisation
    from masticator_dynamics.errors import (
        ActuationError,
        ClosureError,
        DescriptionError,
        InputError,
        LimitError,
        MasticatorError,
        ReachError,
        SingularityError,
    )
    from masticator_dynamics.limits.load_limits import LoadLimits
    from masticator_dynamics.mechanism import Mechanism

__all__ = [
    'ActuationError',
    'ClosureError',
    'DescriptionError',
    'Effort',
    'Energy',
    'FramePose',
    'InputError',
    'LimitError',
    'LoadLimits',
    'MasticatorError',
    'Mechanism',
    'MechanismDescription',
    'Motion',
    'ReachError',
    'Regularisation',
    'SingularityError',
    'load_description',
]

_MODULES = {
    'Effort': 'engine.evaluation.results',
    'Energy': 'engine.evaluation.dynamics',
    'FramePose': 'engine.evaluation.kinematics',
    'LoadLimits': 'limits.load_limits',
    'Mechanism': 'mechanism',
    'MechanismDescription': 'description',
    'Motion': 'engine.evaluation.results',
    'Regularisation': 'engine.traced.simulation_data',
    'load_description': 'description',
}


def __getattr__(name: str) -> object:
    """Import the engine on first use: the command line's help does not need it."""
    if name not in __all__:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    module = importlib.import_module(f'{__name__}.{_MODULES.get(name, "errors")}')
    return getattr(module, name)


def __dir__() -> list[str]:
    """Public names, including those not yet imported."""
    return sorted({*globals(), *__all__})
