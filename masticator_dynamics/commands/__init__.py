# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One command of the command line per file; ``masticator_dynamics.cli`` loads the one it runs."""
