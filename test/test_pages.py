# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands, files and outputs that README, tutorial, quick start and help show are true.

Commands that run until they are interrupted, or chew in real time, are in
demo/test_documented.py. ``...`` in an output shown stands for anything.
"""

import fnmatch
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import click
import pages
import pytest
import samples

from masticator_dynamics.cli import commands, main
from masticator_dynamics.robot.twin import tuning

pytestmark = pytest.mark.early

FILES = {'xml': 'ankle.urdf.xacro', 'yaml': 'ankle.yaml', '': 'motion.csv'}
# Ends with 1 where this computer lacks something that a robot needs.
REPORTS = {'masticator check-robot'}


def agrees(shown: str, printed: str) -> bool:
    pattern = re.sub(r'([\[\]*?])', r'[\1]', shown).replace('...', '*')
    return fnmatch.fnmatchcase(printed, pattern) if shown.strip() else not printed.strip()


def test_the_comparison_can_fail() -> None:
    assert agrees('a\n...\nb 1.5...\n', 'a\nx\ny\nb 1.52\n')
    assert not agrees('a\n...\nb 1.5...\n', 'a\nx\nb 1.62\n')
    assert not agrees('', 'printed')


def shell(command: str, folder: pathlib.Path) -> str:
    """Standard output of a command that must succeed."""
    path = f'{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ["PATH"]}'
    answer = subprocess.run(
        command, shell=True, cwd=folder, env=os.environ | {'PATH': path}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert answer.returncode == 0, f'{command}: {answer.stderr}'
    return answer.stdout


@pytest.mark.skipif(not shutil.which('cc'), reason='there is no C compiler')
def test_the_tutorial_is_true(tmp_path: pathlib.Path, monkeypatch, capsys) -> None:
    def answer(command: str) -> str:
        words = shlex.split(command)
        if words[0] != 'masticator':
            return shell(command, tmp_path)
        assert main(words[1:]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    monkeypatch.chdir(tmp_path)
    ran = 0
    for kind, text in pages.blocks(pages.TUTORIAL):
        if kind == 'console':
            for command, shown in pages.commands(text):
                printed = answer(command)
                assert agrees(shown, printed), f'{command}: {printed}'
                ran += 1
        elif kind == 'python':
            if 'rclpy' not in text:  # demo/test_documented.py runs it beside the node
                subprocess.run([sys.executable, '-c', text], cwd=tmp_path, check=True)
                ran += 1
        elif kind in FILES and not text.lstrip('.').startswith(('ros2', 'venv', 'motor')):
            (tmp_path / FILES[kind]).write_text(text, encoding='utf-8')
    assert ran == 9


def test_the_quick_start_is_true(tmp_path: pathlib.Path) -> None:
    ran = []
    for kind, text in pages.blocks(pages.QUICK_START):
        lines = [line for line, _ in pages.commands(text)] if kind == 'console' else []
        for line in lines:
            if line.split()[0] not in pages.EXCUSED:
                shell(line, tmp_path)
                ran.append(line)
        if kind == 'python':
            exec(text, {})
            ran.append(kind)
    assert len(ran) == 4 and (tmp_path / 'torques.csv').stat().st_size > 200


def test_the_protocol_of_the_laboratory_is_six_mouthfuls(tmp_path, monkeypatch, capsys) -> None:
    blocks = pages.blocks(samples.ROOT / 'docs' / 'laboratory.md')
    protocol = next(text for kind, text in blocks if kind == 'yaml')
    (tmp_path / 'first.yaml').write_text(protocol, encoding='utf-8')
    plan = next(line for _, text in blocks for line, _ in pages.commands(text) if '--plan' in line)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(plan, comments=True)[1:]) == 0
    assert capsys.readouterr().out.count('3 strokes') == 6


def test_the_python_of_the_readme_runs_from_top_to_bottom(capsys) -> None:
    texts = [text for kind, text in pages.blocks(pages.README) if kind == 'python']
    names: dict = {}
    exec('\n'.join(texts), names)
    assert len(texts) == 2 and 'contact condyle_left' in capsys.readouterr().out
    assert names['effort'].actuated.shape == (6,)


def prose(page: pathlib.Path) -> str:
    return re.sub('^ *```.*?^ *```', '', page.read_text(encoding='utf-8'), flags=re.M | re.S)


def anchors(page: pathlib.Path) -> set[str]:
    """Names by which links find the headings of a page, as GitHub and myst make them."""
    titles = re.findall(r'^#+ (.*)$', prose(page), re.MULTILINE)
    plain = [re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', title).lower() for title in titles]
    return {re.sub(r'[^\w\- ]', '', title).replace(' ', '-') for title in plain}


def test_links_between_pages_lead_somewhere() -> None:
    """The site is built without a word about those that do not, since a site has no folders."""
    lost, found = [], 0
    for page in [*samples.ROOT.glob('*.md'), *(samples.ROOT / 'docs').glob('*.md')]:
        for target in re.findall(r'\]\(([^)\s]+)\)', prose(page)):
            file, _, anchor = target.partition('#')
            to = page.parent / file if file else page
            if not target.startswith('http') and not file.startswith('gallery/'):
                found += 1
                if not to.exists() or (anchor and anchor not in anchors(to)):
                    lost.append(f'{page.name}: {target}')
    assert not lost and found > 100


@pytest.fixture(scope='module')
def stocked(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp('stock')
    pages.stock(folder)
    return folder


def state(folder: pathlib.Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob('*') if f.is_file()}


LINES = [line for line in pages.documented() if not pages.waits(line)]
# What these do has tests of its own; `make test` looks whether their words are understood.
LONG = tuple(
    f'masticator {name}'
    for name in ('excite', 'experiment', 'identify', 'study-feedforward', 'study-force')
)
QUICK = [line for line in LINES if not line.startswith(LONG)]


@pytest.mark.parametrize('line', [line for line in LINES if line not in QUICK])
def test_a_documented_command_is_understood(line, stocked, monkeypatch) -> None:
    monkeypatch.chdir(stocked)
    _, command, words = commands.resolve_command(click.Context(commands), shlex.split(line)[1:])
    assert command is not None
    command.make_context(command.name, words)


@pytest.mark.parametrize('line', samples.swept(LINES, QUICK))
def test_a_documented_command_does_what_it_says(
    line, stocked, tmp_path, monkeypatch, capsys
) -> None:
    """It ends well, and every file that it names for its results is there and new."""
    folder = tmp_path / 'work'
    shutil.copytree(stocked, folder)
    for name in pages.results(shlex.split(line)):  # but for what another command reads
        (folder / name).unlink(missing_ok=True)
    monkeypatch.chdir(folder)
    # Others use the processors, too, and a worker takes longer to start than what it would do.
    monkeypatch.setattr(os, 'cpu_count', lambda: 1)
    # Of 143 pairs of gains, those next to the best.
    monkeypatch.setattr(tuning, 'POSITION_GAINS', tuning.POSITION_GAINS[6:8])
    monkeypatch.setattr(tuning, 'VELOCITY_GAINS', tuning.VELOCITY_GAINS[6:7])
    before, words = state(folder), pages.smaller(line)
    if words[0] == 'python':
        printed = shell(shlex.join(words), samples.ROOT)
    else:
        status = main(words[1:])
        printed, told = capsys.readouterr()
        assert status == 0 or (line in REPORTS and status == 1), told
        assert 'error:' not in told
    after = state(folder)
    changed = {name for name in after if after[name] != before.get(name)}
    for name in pages.results(words):
        found = {file for file in changed if file == name or file.startswith(f'{name}/')}
        assert found and all(after[file] for file in found), f'{name} was not written'
    assert changed or printed.strip()
