# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The commands, one per file; ``masticator_dynamics.cli`` loads the one it runs."""
