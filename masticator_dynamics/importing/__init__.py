# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From files of other tools to a description: URDF with loops, Gepetto YAML, MJCF, SDF."""

from masticator_dynamics.importing.readers import is_foreign
from masticator_dynamics.importing.robot_import import (
    Imported,
    import_description,
    import_robot,
)

__all__ = ['Imported', 'import_description', 'import_robot', 'is_foreign']
