# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Other software: its files read and written, mechanisms as its objects, its second opinion."""
