# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The interfaces match the contract; a machine that cannot build them gets a reason."""

import os

import interfaces
import pytest
from processes import PYTHON, completed

REQUEST = {
    'joint_names': 'sequence<string>',
    'positions': 'sequence<double>',
    'estimator': 'string',
    'off_diagonals': 'boolean',
}
RESPONSE = {
    'success': 'boolean',
    'message': 'string',
    'estimator': 'string',
    'actuated_joints': 'sequence<string>',
    'inertia': 'sequence<double>',
    'expected_error': 'sequence<double>',
}


def test_fields_of_the_service() -> None:
    kind = interfaces.estimate_inertia()
    assert kind.Request.get_fields_and_field_types() == REQUEST
    assert kind.Response.get_fields_and_field_types() == RESPONSE


def test_setup_without_a_compiler_says_so() -> None:
    if 'compiler' not in interfaces.installer().missing() and interfaces.installer().missing():
        pytest.skip(f'missing is {interfaces.installer().missing()}, which is told first')
    run = completed(*PYTHON, interfaces.INSTALLER, env=os.environ | {'CXX': '/none/c++'})
    assert run.returncode == 3
    assert 'NOT installed' in run.stderr
    assert 'Missing is a C++ compiler' in run.stderr
