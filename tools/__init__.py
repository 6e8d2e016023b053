# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a checkout needs but the package does not: files and tables made from its sources."""
