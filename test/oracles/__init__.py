# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Second derivations that the engine is tested against; none imports masticator_dynamics."""
