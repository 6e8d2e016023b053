# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of nodes and drives wait or need the clock, and their files say which."""

import ctypes
import pathlib
import re

import numpy as np
import pytest

USES = re.compile(r'\b(ros_domain|NodeProcess|SimulatedDrives)\b')
MARK = re.compile(r'^(pytestmark = \[?\s*|@)pytest\.mark\.(waiting|clock)\b', re.MULTILINE)


def test_files_of_tests_with_nodes_or_drives_are_marked() -> None:
    folder, own = pathlib.Path(__file__).parent, pathlib.Path(__file__)
    texts = {file: file.read_text() for file in folder.rglob('test_*.py') if file != own}
    used = [file for file, text in texts.items() if USES.search(text)]
    assert len(used) > 20
    assert not [file.name for file in used if not MARK.search(texts[file])]


def test_blas_has_one_thread() -> None:
    """OpenBLAS of numpy's wheels says so itself."""
    file = next(pathlib.Path(np.__file__).parents[1].glob('numpy.libs/*openblas*'), None)
    count = getattr(ctypes.CDLL(file), 'scipy_openblas_get_num_threads64_', None) if file else None
    if count is None:
        pytest.skip('numpy has another BLAS')
    assert count() == 1
