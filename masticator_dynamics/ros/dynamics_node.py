# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node ``dynamics``: feedforward efforts for a trajectory and a measured bite force."""

from __future__ import annotations

import functools
import sys

from masticator_dynamics.ros.common import process
from masticator_dynamics.ros.common.managed_node import ManagedNode
from masticator_dynamics.ros.dynamics.runtime import DynamicsRuntime
from masticator_dynamics.ros.dynamics.settings import DynamicsSettings
from masticator_dynamics.ros.dynamics.supervision import Supervision


class SupervisedRuntime(DynamicsRuntime):
    """The control cycle with its diagnostics."""

    def __init__(self, node: ManagedNode, settings: DynamicsSettings):
        super().__init__(node, settings)
        self._supervision = Supervision(node, self)

    def destroy(self) -> None:
        """Destroy topics and threads."""
        self._supervision.destroy()
        super().destroy()


make_node = functools.partial(ManagedNode, 'dynamics', DynamicsSettings, SupervisedRuntime)

if __name__ == '__main__':
    sys.exit(process.run(make_node))
