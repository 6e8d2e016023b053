# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is said when an optional package is missing can be done."""

import importlib.metadata
import re

import pytest

from masticator_dynamics.optional import _REMEDIES, remedy


@pytest.mark.parametrize('module', _REMEDIES)
def test_a_hint_names_an_extra_that_exists(module) -> None:
    """This package is on no index: only from a checkout can pip find it."""
    said = remedy(ModuleNotFoundError(name=f'{module}.part'))
    assert module in said and 'masticator_dynamics[' not in said
    extras = importlib.metadata.metadata('masticator_dynamics').get_all('Provides-Extra')
    assert set(re.findall(r"'\.\[(\w+)\]'", said)) <= set(extras)


@pytest.mark.parametrize('module', ['canopen', 'can', 'msgpack'])
def test_drives_name_their_extra(module) -> None:
    assert "pip install '.[drives]' in a checkout" in remedy(ModuleNotFoundError(name=module))
