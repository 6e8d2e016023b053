# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Files read in bounded time and memory, and written whole or not at all."""
