# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every file, command and output of docs/tutorial.md; ``...`` there stands for anything."""

import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import samples

PAGE = samples.ROOT / 'docs' / 'tutorial.md'
BLOCK = re.compile(r'```(\w*)\n(.*?)```', re.DOTALL)
FILES = {'xml': 'ankle.urdf.xacro', 'yaml': 'ankle.yaml', '': 'motion.csv'}


def blocks() -> list[tuple[str, str]]:
    return BLOCK.findall(PAGE.read_text(encoding='utf-8'))


def commands(block: str) -> list[tuple[str, str]]:
    """Commands of a console, each with the output below it."""
    parts = re.split(r'^\$ ', block, flags=re.MULTILINE)[1:]
    return [tuple(part.split('\n', 1)) for part in parts]


def agrees(shown: str, printed: str) -> bool:
    pattern = re.sub(r'([\[\]*?])', r'[\1]', shown).replace('...', '*')
    return fnmatch.fnmatchcase(printed, pattern) if shown.strip() else not printed.strip()


def test_the_comparison_can_fail() -> None:
    assert agrees('a\n...\nb 1.5...\n', 'a\nx\ny\nb 1.52\n')
    assert not agrees('a\n...\nb 1.5...\n', 'a\nx\nb 1.62\n')
    assert not agrees('', 'printed')


@pytest.mark.skipif(not shutil.which('cc'), reason='there is no C compiler')
def test_the_tutorial_is_true(tmp_path: pathlib.Path) -> None:
    bin_folder = pathlib.Path(sys.executable).parent
    environment = os.environ | {'PATH': f'{bin_folder}{os.pathsep}{os.environ["PATH"]}'}
    ran = 0
    for kind, text in blocks():
        if kind == 'console':
            for command, shown in commands(text):
                answer = subprocess.run(
                    command, shell=True, cwd=tmp_path, env=environment, capture_output=True,
                    text=True, check=False,
                )  # fmt: skip
                assert answer.returncode == 0, answer.stderr
                assert agrees(shown, answer.stdout), f'{command}: {answer.stdout}'
                ran += 1
        elif kind == 'python':
            subprocess.run([sys.executable, '-c', text], cwd=tmp_path, check=True)
            ran += 1
        elif kind in FILES and not text.lstrip('.').startswith(('ros2', 'venv')):
            (tmp_path / FILES[kind]).write_text(text, encoding='utf-8')
    assert ran == 9
