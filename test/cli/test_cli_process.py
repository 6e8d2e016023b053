# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The program as a shell sees it: exit status, pipes, Ctrl-C, help, import time."""

import errno
import importlib.metadata
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

import click
import numpy as np
import pytest
import samples
from processes import PYTHON, completed

from masticator_dynamics import cli
from masticator_dynamics.engine.traced.effort_goals import GOALS
from masticator_dynamics.files import tables

PROGRAM = [sys.executable, '-m', 'masticator_dynamics']
PAPERS = [sys.executable, '-m', 'papers']
PATIENCE = 240  # s; a busy computer may have to compile first
MOTION = 'time,x,y,alpha,beta\n0,0,0,0,0\n1,0,0,0,0.01\n'
# A spline that begins or ends moving is told of, on standard error.
INVERSE = ['inverse-dynamics', 'masticator', '--at-rest', '--motion']


def start(*words: object, program: Sequence[str] = PROGRAM, **options: object) -> subprocess.Popen:
    options = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, 'text': True} | options
    return subprocess.Popen([*program, *map(str, words)], **options)


def test_help_lists_every_command_with_its_own_summary(run) -> None:
    answer = run('--help')
    assert (answer.status, answer.err) == (0, '')
    group = cli.commands
    context = click.Context(group)
    for name, (_, summary) in cli.COMMANDS.items():
        assert f'  {name} ' in answer.out
        assert group.get_command(context, name).name == name
        assert run(name, '--help').status == 0
        assert summary.endswith('.')


def documented() -> list[str]:
    """Commands of README, the documentation and the examples of the help, without comments."""
    pages = [samples.ROOT / 'README.md', *sorted((samples.ROOT / 'docs').glob('*.md'))]
    texts = [page.read_text(encoding='utf-8').replace('\\\n', '') for page in pages]
    lines = [line for text in texts for line in text.splitlines()]
    found = [line[2:].split('  #')[0] for line in lines if line.startswith('$ masticator ')]
    found += [f'masticator {name} {words}' for name, words in cli.EXAMPLES.items()]
    return sorted({re.split('[<>|]', line)[0].strip() for line in found})


@pytest.mark.parametrize('line', documented())
def test_documented_commands_have_these_options(line, tmp_path, monkeypatch) -> None:
    """Every documented command parses where the files that it names are there."""
    monkeypatch.chdir(tmp_path)
    for word in shlex.split(line)[1:]:
        if '.' in word or word.endswith('/'):
            file = tmp_path / word
            file.parent.mkdir(parents=True, exist_ok=True)
            file.mkdir(exist_ok=True) if word.endswith('/') else file.touch()
    group = cli.commands
    name, command, words = group.resolve_command(click.Context(group), shlex.split(line)[1:])
    command.make_context(name, words)


def test_every_help_has_an_example_and_there_is_a_version(run) -> None:
    for name in cli.COMMANDS:
        assert f'Example: masticator {name}' in ' '.join(run(name, '--help').out.split())
    answer = run('--version')
    assert answer.status == 0
    assert answer.out.split() == ['masticator', importlib.metadata.version('masticator_dynamics')]


def test_help_needs_neither_engine_nor_numpy_in_the_command_line() -> None:
    """Without counting the package's own __init__, which is not part of the command line."""
    script = (
        'import sys; import masticator_dynamics; before = set(sys.modules);'
        'import masticator_dynamics.cli as cli; cli.main(["--help"]);'
        'print(sorted(set(sys.modules) - before), file=sys.stderr)'
    )
    answer = completed(*PYTHON, '-c', script)
    assert 'masticator_dynamics.cli' in answer.stderr
    assert 'masticator_dynamics.commands' not in answer.stderr
    assert 'numpy' not in answer.stderr


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        ([], 'Missing command'),
        (['chew'], "No such command 'chew'"),
        (['--chew'], 'No such option'),
        (['inverse-dynamics'], "Missing argument 'MECHANISM'"),
        (['inverse-dynamics', 'masticator', '--output', '-'], "Missing option '--motion'"),
        ([*INVERSE, 'a.csv', '--output', '-', '--goal', 'x'], "Invalid value for '--goal'"),
        ([*INVERSE, 'none.csv', '--output', '-'], 'none.csv: No such file'),
        ([*INVERSE, 'a\nb.csv', '--output', '-'], 'a b.csv: No such file'),
        (['inverse-dynamics', 'jaw', '--motion', '-', '--output', '-'], 'no such mechanism'),
        (['coupling', 'jaw', '--motion', '-', '--output', '-'], 'no such mechanism'),
        (['study-feedforward', '--rate', 'inf'], '--rate inf is not from 20 to 2000: '),
        (['study-feedforward', '--strokes', '1000000000'], 'at most 3600 are chewed'),
        (['study-feedforward', '--gains', 'nan', '1'], '--gains nan is not from 0 to 100000: '),
        (['study-feedforward', '--known-friction', 'nan'], 'nan is not a finite number'),
        (['study-feedforward', '--known-friction', '11'], '11.0 is not in the range 0.0<=x<=10.0'),
        (['excite', 'five_bar', '--output', 'no.csv', '--duration', 'nan'], 'nan is not a finite'),
    ],
)
def test_bad_usage_and_bad_input_are_one_line_and_exit_2(run, words, message) -> None:
    answer = run(*words)
    assert answer.status == 2
    assert answer.err.startswith('masticator: error: ')
    assert message in answer.err
    assert answer.err.count('\n') == 1
    assert answer.out == ''


@pytest.mark.parametrize('goal', GOALS)
def test_every_goal_is_served_with_friction_and_without(run, tmp_path, goal) -> None:
    file, out = tmp_path / 'in.csv', tmp_path / 'out.csv'
    file.write_text(MOTION)
    for options in ([], ['--friction']):
        answer = run(*INVERSE, file, '--output', out, '--goal', goal, *options)
        assert (answer.status, answer.err) == (0, '')
        assert len(out.read_text().splitlines()) == len(MOTION.splitlines())


def test_failures_exit_1(run, tmp_path, monkeypatch) -> None:
    file, out = tmp_path / 'in.csv', tmp_path / 'out.csv'
    file.write_text(MOTION)
    out.write_text('precious')
    with monkeypatch.context() as patch:

        def full(*_: object) -> None:
            raise OSError(28, 'No space left on device')

        patch.setattr(os, 'replace', full)
        answer = run(*INVERSE, file, '--output', out)
    assert answer.status == 1
    assert 'No space left on device' in answer.err
    assert answer.err.count('\n') == 1
    with monkeypatch.context() as patch:
        patch.setattr(np, 'vstack', lambda *_: 1 / 0)
        answer = run(*INVERSE, file, '--output', out)
    assert answer.status == 1
    assert answer.err.splitlines()[-1].startswith('masticator: error: internal error: ZeroDiv')
    assert out.read_text() == 'precious'
    assert sorted(path.name for path in tmp_path.iterdir()) == ['in.csv', 'out.csv']


def test_standard_streams_carry_what_files_do(run, tmp_path) -> None:
    file, out = tmp_path / 'in.csv', tmp_path / 'out.csv'
    file.write_text(MOTION)
    assert run(*INVERSE, file, '--output', out).status == 0
    process = start(*INVERSE, '-', '--output', '-', stdin=subprocess.PIPE)
    printed, complaint = process.communicate(MOTION)
    assert (process.returncode, complaint) == (0, '')
    assert printed == out.read_text()


@pytest.mark.parametrize(
    ('words', 'columns'),
    [
        (['inverse-dynamics', 'masticator', '--motion'], 'time,x,y,alpha,beta'),
        (['coupling', 'masticator', '--motion'], 'time,x,y,alpha,beta'),
        (['load-inertia', 'masticator', '--motion'], 'time,x,y,alpha,beta'),
        (['flexible', 'rrr4', '--motion'], 'time,x,y,phi'),
        (['track-incisor', 'masticator', '--incisor'], 'time,incisor_x,incisor_y,incisor_z'),
        (['forward-kinematics', 'rcid', '--joints'], 'time'),
        (['track-tool', 'trimule_five_axis', '--tool'], 'time'),
        (['fit-food', '--thickness', '0.01'], 'displacement,force'),
    ],
)
def test_a_result_never_replaces_what_it_is_made_from(run, tmp_path, words, columns) -> None:
    file, link = tmp_path / 'in.csv', tmp_path / 'link.csv'
    content = columns + '\n' + ','.join(['0'] * len(columns.split(','))) + '\n'
    file.write_text(content)
    link.symlink_to(file)
    answer = run(*words, file, '--output', link)
    assert answer.status == 2 and file.read_text() == content
    assert 'link.csv: is what is read; choose another file' in answer.err


def test_nothing_goes_to_standard_output_when_a_row_is_refused() -> None:
    process = start(*INVERSE, '-', '--output', '-', stdin=subprocess.PIPE)
    printed, complaint = process.communicate(MOTION + '2,0.2,0,0,0\n')
    assert process.returncode == 2
    assert printed == ''
    assert complaint.startswith('masticator: error: <stdin>: row 3 (line 4): limb_')
    assert complaint.count('\n') == 1


def test_a_full_disk_is_told_with_the_file(tmp_path: pathlib.Path) -> None:
    (tmp_path / 'in.csv').write_text(MOTION)
    process = start(*INVERSE, tmp_path / 'in.csv', '--output', '/dev/full')
    _, complaint = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert complaint == "masticator: error: [Errno 28] No space left on device: '/dev/full'\n"


def test_a_file_that_cannot_be_finished_is_named_and_not_there(tmp_path, monkeypatch) -> None:
    def full(*_) -> None:
        raise OSError(errno.ENOSPC, 'No space left on device')

    monkeypatch.setattr(tables.os, 'replace', full)
    with pytest.raises(OSError, match='out.csv') as caught:
        tables.write_text(str(tmp_path / 'out.csv'), 'text')
    assert 'part' not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_message_that_a_file_makes_long_is_cut(run) -> None:
    answer = run('check', 'x' * 5000)
    assert answer.status == 2 and len(answer.err) < 2500 and 'characters)' in answer.err


def test_a_message_never_steers_the_terminal(run, write, tmp_path) -> None:
    file = tmp_path / 'a\x1b]0;title\x07.csv'
    file.write_text('time,x\x1b[2J,\udcff'.encode('utf-8', 'replace').decode() + '\n0,0,0\n')
    answer = run(*INVERSE, file, '--output', '-')
    assert answer.status == 2
    assert r'a\x1b]0;title\x07.csv: ' in answer.err and r'x\x1b[2J' in answer.err
    assert answer.err.rstrip('\n').isprintable()


def test_a_lack_of_memory_takes_one_line(run, tmp_path, monkeypatch) -> None:
    file = tmp_path / 'in.csv'
    file.write_text(MOTION)
    monkeypatch.setattr(np, 'vstack', lambda *_: np.empty(10**17))
    answer = run(*INVERSE, file, '--output', tmp_path / 'out.csv')
    assert answer.status == 1
    assert re.match('masticator: error: not enough memory: .*711. PiB', answer.err)
    assert answer.err.count('\n') == 1


def test_a_reader_that_goes_away_is_no_crash(tmp_path: pathlib.Path) -> None:
    file = tmp_path / 'in.csv'
    rows = [f'{k / 100},0,0,0,0' for k in range(3000)]  # more output than a pipe holds
    file.write_text('\n'.join(['time,x,y,alpha,beta', *rows]))
    process = start(*INVERSE, file, '--output', '-')
    process.stdout.close()
    complaint = process.stderr.read()
    assert process.wait() == 1
    assert complaint == ''


def test_ctrl_c_leaves_nothing_behind(tmp_path: pathlib.Path) -> None:
    pipe, out = tmp_path / 'in.csv', tmp_path / 'out.csv'
    os.mkfifo(pipe)
    out.write_text('precious')
    process = start(
        *INVERSE, pipe, '--output', out,
        # Shells that start tests in the background make their children ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    with open(pipe, 'w') as writer:  # opens when the program reads
        writer.write(MOTION)
        writer.flush()
        time.sleep(0.5)  # until it waits for more
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert complaint.strip() == ''
    assert out.read_text() == 'precious'
    assert sorted(path.name for path in tmp_path.iterdir()) == ['in.csv', 'out.csv']


def read_to_the_end(terminal: int) -> str:
    """Everything that a program writes to a terminal, which buffers only some kilobytes."""
    shown = b''
    while True:
        try:
            shown += os.read(terminal, 10000)
        except OSError:  # nobody can write to it any more
            os.close(terminal)
            return shown.decode()


def test_progress_is_shown_on_a_terminal_only(tmp_path: pathlib.Path) -> None:
    file = tmp_path / 'in.csv'
    rows = [f'{k / 100},0,0,0,0' for k in range(4100)]
    file.write_text('\n'.join(['time,x,y,alpha,beta', *rows]))
    master, slave = os.openpty()
    process = start(*INVERSE, file, '--output', tmp_path / 'out.csv', stderr=slave)
    os.close(slave)
    shown = read_to_the_end(master)
    assert process.wait(PATIENCE) == 0
    assert 'inverse dynamics' in shown
    assert '100%' in shown
    process = start(*INVERSE, file, '--output', tmp_path / 'out.csv')
    assert process.communicate(timeout=PATIENCE)[1] == ''


def test_a_demo_is_run_with_its_options(run, tmp_path, monkeypatch) -> None:
    import masticator_dynamics.robot.demo as module

    asked = []
    monkeypatch.setattr(module, 'run_demo', lambda *words: asked.append(words) or 3)
    incisor = tmp_path / 'incisor.csv'
    incisor.touch()
    answer = run('demo', '--output', tmp_path / 'results', '--incisor', incisor)
    assert answer.status == 3
    assert asked == [(tmp_path / 'results', incisor, 'masticator')]
    assert run('demo', '--incisor', tmp_path / 'none.csv').status == 2


@pytest.mark.parametrize('library', ['numpy', '_csv'])
def test_ctrl_c_while_modules_load_says_nothing(library: str) -> None:
    """The shared objects that a process has mapped show how far it has come."""
    process = start(*INVERSE, 'none.csv', '--output', '-')
    maps = pathlib.Path(f'/proc/{process.pid}/maps')
    end = time.monotonic() + PATIENCE
    while library not in maps.read_text() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=PATIENCE)
    assert (process.returncode, told) == (-signal.SIGINT, '')


@pytest.mark.parametrize('patience', samples.swept([0.0, 0.05, 0.5], [0.05]))
def test_ctrl_c_while_workers_start_says_nothing(patience: float) -> None:
    """A terminal sends it to every process of the group.

    All sections: of few, a fast computer is through before the signal comes.
    """
    process = start(
        '--processes', '2', program=PAPERS, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    children = pathlib.Path(f'/proc/{process.pid}/task/{process.pid}/children')
    end = time.monotonic() + PATIENCE
    while len(children.read_text().split()) < 3 and time.monotonic() < end:  # one keeps the books
        time.sleep(0.002)
    time.sleep(patience)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=PATIENCE)
    assert (process.returncode, told.strip()) == (130, '')


def test_what_a_terminal_cannot_show_is_written_another_way() -> None:
    process = start('parameters', program=PAPERS, env=os.environ | {'PYTHONIOENCODING': 'ascii'})
    shown, told = process.communicate(timeout=PATIENCE)
    assert (process.returncode, told) == (0, '')
    assert shown.isascii() and r'\x' in shown


@pytest.mark.parametrize(
    ('closed', 'words', 'message'),
    [
        (1, [*INVERSE, 'FILE', '--output', '-'], 'standard output is closed'),
        (1, ['build-estimator', 'rrr4', '--kind', 'circle', '--output', '-'], 'output is closed'),
        (0, [*INVERSE, '-', '--output', '-'], 'standard input is closed'),
    ],
)
def test_a_stream_that_is_closed_is_named(tmp_path, closed, words, message) -> None:
    (tmp_path / 'in.csv').write_text(MOTION)
    words = [str(tmp_path / 'in.csv') if word == 'FILE' else word for word in words]
    process = start(*words, stdin=subprocess.DEVNULL, preexec_fn=lambda: os.close(closed))
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert told.startswith('masticator: error: ') and told.endswith(f'{message}\n')
    assert told.count('\n') == 1
