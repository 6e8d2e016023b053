# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics of the twin at a single state, with everything that it reports."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import samples

from masticator_dynamics import Regularisation
from masticator_dynamics.robot.twin.twin_dynamics import TwinDynamics


class Report(NamedTuple):
    """Accelerations and forces, as `Mechanism.forward_dynamics` and `Effort` have them."""

    y_ddot: samples.Array
    contact: samples.Array
    friction: samples.Array
    contact_friction: samples.Array
    balance_residual: float


class Forward(TwinDynamics):
    """The twin's equations, evaluated once."""

    def __call__(
        self,
        y: samples.Array,
        y_dot: samples.Array,
        efforts: samples.Array,
        wrench: samples.Array | None = None,
    ) -> Report:
        """Report at a state, for efforts and a wrench on the platform."""
        load = np.zeros(6) if wrench is None else wrench
        self.run(np.concatenate([y, y_dot]), efforts[None], load)
        return Report(
            self.field('y_ddot').copy(),
            self.tree('multipliers')[self.mechanism.contact_rows],
            self.field('joint_friction').copy(),
            self.field('contact_friction').reshape(-1, 3).copy(),
            float(self.field('report')[2]),
        )


JUMP = Regularisation(contact=0.0, turning=0.0, sliding=0.0)  # the law of inverse dynamics
