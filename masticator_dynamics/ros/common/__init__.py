# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What all nodes share: life cycle, parameters, diagnostics, processes."""
