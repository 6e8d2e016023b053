# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of nodes and drives wait or need the clock, and their files say which."""

import pathlib
import re

USES = re.compile(r'\b(ros_domain|NodeProcess|SimulatedDrives)\b')
MARK = re.compile(r'^(pytestmark = \[?\s*|@)pytest\.mark\.(waiting|clock)\b', re.MULTILINE)


def test_files_of_tests_with_nodes_or_drives_are_marked() -> None:
    folder, own = pathlib.Path(__file__).parent, pathlib.Path(__file__)
    texts = {file: file.read_text() for file in folder.rglob('test_*.py') if file != own}
    used = [file for file, text in texts.items() if USES.search(text)]
    assert len(used) > 20
    assert not [file.name for file in used if not MARK.search(texts[file])]
