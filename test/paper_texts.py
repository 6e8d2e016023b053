# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Words and numbers of the papers, if their texts are available next to the project."""

import re

import pytest
import samples

PAPERS = samples.ROOT.parent / 'shared' / 'papers'
FILES = {f'S{number}': f'{number:03d}_*.txt' for number in range(5)}


def paper(name: str) -> str:
    """Text of a paper, or a skip if it is missing."""
    found = sorted(PAPERS.glob(FILES[name]))
    if not found:
        pytest.skip('the texts of the papers are not beside this checkout')
    return re.sub(r'\s+', ' ', found[0].read_text(encoding='utf-8'))
