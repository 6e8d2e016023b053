# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The papers' own methods and figures, next to ours; ``python -m papers`` shows them."""
