# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Types of service and action, or a skip if this machine cannot build them."""

import importlib
import importlib.util
import pathlib
from typing import Any

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[1] / 'masticator_interfaces'
INSTALLER = FOLDER / 'install_into_venv.py'


def estimate_inertia() -> Any:
    """EstimateInertia; the test fails if it could be built but was not."""
    return _built('srv', 'EstimateInertia')


def apply_force() -> Any:
    """ApplyForce, likewise."""
    return _built('action', 'ApplyForce')


def _built(kind: str, name: str) -> Any:
    pytest.importorskip('rclpy', reason='rclpy is not installed (pip extra "ros", or ROS 2)')
    try:
        return getattr(importlib.import_module(f'masticator_interfaces.{kind}'), name)
    except ImportError as error:
        reason = installer().missing()
        if reason:
            pytest.skip(f'masticator_interfaces is not built: missing is {reason}')
        raise AssertionError(f'make setup did not build masticator_interfaces: {error}') from None


def installer() -> Any:
    """The module that builds the interfaces for the wheels."""
    spec = importlib.util.spec_from_file_location('install_into_venv', INSTALLER)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
