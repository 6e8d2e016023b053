# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that write never overwrite what they read, and leave nothing half-written."""

import functools
import os
import pathlib
import resource
import subprocess
import sys

import pytest
import samples
from processes import PYTHON, completed

PROGRAM = [sys.executable, '-m', 'masticator_dynamics']
PATIENCE = 240  # s; a busy computer may have to compile first
BAR = samples.OWN / 'five_bar.yaml'
MOTION = 'time,x,y\n0,0,0.3\n0.5,0.001,0.3\n1,0,0.3\n'


@pytest.fixture
def own(tmp_path) -> pathlib.Path:
    """A description of the user's, in a folder of its own."""
    folder = tmp_path / 'own'
    folder.mkdir()
    for file in (BAR, BAR.with_suffix('.urdf.xacro')):
        (folder / file.name).write_text(file.read_text())
    (folder / 'motion.csv').write_text(MOTION)
    return folder / BAR.name


@pytest.mark.parametrize(
    'words',
    [
        'inverse-dynamics {own} --motion {motion} --output {own}',
        'coupling {own} --motion {motion} --output {own}',
        'forward-kinematics {own} --joints {motion} --output {own}',
        'load-inertia {own} --motion {motion} --output {own}',
        'workspace {own} --output {own}',
        'workspace {own} --plot {own}',
        'build-estimator {own} --kind circle --output {own}',
        'export-mjcf {own} --output {own}',
        'view {motion} --mechanism {own} --html {motion}',
        'view {motion} --mechanism {own} --html {own}',
    ],
)
def test_what_is_read_is_not_overwritten(run, own, words) -> None:
    before = {file: file.read_bytes() for file in own.parent.iterdir()}
    files = {'own': own, 'motion': own.parent / 'motion.csv'}
    answer = run(*words.format(**files).split())
    assert answer.status == 2
    assert '; choose another file' in answer.err
    assert {file: file.read_bytes() for file in own.parent.iterdir()} == before


def test_import_does_not_overwrite_its_source(run, own) -> None:
    urdf = own.with_name('own.urdf')
    urdf.write_text('<robot name="own"/>')
    answer = run('import', urdf, '--output', own.parent)
    assert (answer.status, urdf.read_text()) == (2, '<robot name="own"/>')
    assert '; choose another file' in answer.err


@pytest.mark.parametrize('command', ['workspace', 'load-inertia'])
def test_two_outputs_do_not_go_to_one_file(run, own, tmp_path, command) -> None:
    both = tmp_path / 'both.png'
    answer = run(command, own, '--output', both, '--plot', both)
    assert answer.status == 2 and f'cannot both go to {both}' in answer.err
    assert not both.exists()


DISKS = [
    ('new {folder} --like stewart', 2500, 'mine.urdf.xacro'),
    ('export-c five_bar --output {folder}', 10_000, 'five_bar.c'),
    ('experiment {protocol} --processes 1 --output {folder}', 20000, 'mouthful_0001.mcap'),
]


@pytest.mark.parametrize(('words', 'most', 'file'), samples.swept_rows(DISKS, DISKS[1:2]))
def test_a_full_disk_leaves_nothing_half_written(tmp_path, words, most, file) -> None:
    """Files may have so many bytes; the first is smaller."""
    protocol = tmp_path / 'protocol.yaml'
    protocol.write_text('schema: 1\ntitle: one\nfood: soft\nstrokes: 1\nmotion: {period: 0.5}\n')
    folder = tmp_path / 'some' / 'mine'
    command = words.format(folder=folder, protocol=protocol).split()
    limit = functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE, (most, most))
    # What is compiled meanwhile must not meet the limit.
    subprocess.run([*PROGRAM, 'check', 'five_bar'], capture_output=True, timeout=PATIENCE)
    answer = subprocess.run(
        [*PROGRAM, *command], capture_output=True, text=True, preexec_fn=limit, timeout=PATIENCE
    )
    assert answer.returncode == 1
    last = answer.stderr.splitlines()[-1]
    assert last.startswith('masticator: error:') and 'File too large' in last and file in last
    assert 'Traceback' not in answer.stderr
    left = {name for _, _, names in os.walk(folder.parent) for name in names}
    assert left <= {'protocol.yaml'}  # of an experiment, which can go on
    assert folder.exists() == bool(left)


def test_little_is_imported_before_ctrl_c_ends_the_program() -> None:
    """Python would print a trace from any import of ours until then."""
    script = (
        'import sys; before = set(sys.modules); import masticator_dynamics.__main__;'
        'print(*sorted(set(sys.modules) - before))'
    )
    answer = completed(*PYTHON, '-c', script, check=True)
    heavy = {'typing', 'threading', 'dataclasses', 'inspect', 'numpy', 'click'}
    assert not heavy & set(answer.stdout.split())
    assert 'masticator_dynamics.interrupt' in answer.stdout
