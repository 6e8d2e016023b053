# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A twin of the robot: forward dynamics, food and stops, in steps of fixed length."""

from masticator_dynamics.engine.traced.simulation_data import Regularisation
from masticator_dynamics.robot.twin.food import Food, load_food, shipped_foods
from masticator_dynamics.robot.twin.mechanism_plant import MechanismPlant
from masticator_dynamics.robot.twin.stops import Stops
from masticator_dynamics.robot.twin.twin_dynamics import TwinDynamics

__all__ = [
    'Food',
    'TwinDynamics',
    'MechanismPlant',
    'Regularisation',
    'Stops',
    'load_food',
    'shipped_foods',
]
