# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The main job, end to end, with no robot: a chewing motion played to the dynamics node."""

from masticator_dynamics.demo.run import run_demo

__all__ = ['run_demo']
