# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Topics of joint states, each message answered with something computed from it."""
