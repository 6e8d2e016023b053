# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Second derivations, with which the engine is tested; none imports masticator_dynamics."""
