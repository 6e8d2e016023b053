# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command ``masticator``: its subcommands, and how their errors are reported."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import io
import itertools
import keyword
import pathlib
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import TextIO

import click
import yaml

from masticator_dynamics.errors import MasticatorError, RangeWarning, meant
from masticator_dynamics.files.share import share_directory
from masticator_dynamics.interrupt import ending_at_once
from masticator_dynamics.optional import remedy

PROGRAM = 'masticator'
_LONGEST = 2000  # characters of a message
_MOST_FILES, _SIMILAR = 2000, 0.75  # of a folder, that a misspelt name is compared with
SUCCESS, FAILURE, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
# Of every command: its module in `commands/`, a summary for the list, and an example for its help.
_TABLE = yaml.safe_load((share_directory() / 'config' / 'commands.yaml').read_text('utf-8'))
COMMANDS = {name: (row['module'], row['summary']) for name, row in _TABLE.items()}
EXAMPLES = {name: row['example'] for name, row in _TABLE.items()}


class LazyGroup(click.Group):
    """Loads a command only when it runs: importing the engine would slow down the help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        function = cmd_name.replace('-', '_')
        function += '_' if keyword.iskeyword(function) else ''
        with ending_at_once():
            place = f'masticator_dynamics.commands.{COMMANDS[cmd_name][0]}'
            command: click.Command = getattr(importlib.import_module(place), function)
        example = f'Example: {PROGRAM} {cmd_name} {EXAMPLES[cmd_name]}'.rstrip()
        if example not in (command.epilog or ''):
            command.epilog = f'{command.epilog}\n\n{example}' if command.epilog else example
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; a command that does not exist is answered with the nearest that does."""
        if args[0] not in COMMANDS and (near := meant(args[0], COMMANDS)):
            ctx.fail(f'No such command {args[0]!r}{near}')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section('Commands'):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={'help_option_names': ['-h', '--help']},
    no_args_is_help=False,  # a missing command is bad usage, whatever the version of click
)
@click.version_option(package_name='masticator_dynamics', message='%(prog)s %(version)s')
def commands() -> None:
    """Dynamics of closed-loop robots.

    Files are CSV: comma separated, one header row, SI units, '-' for standard input or output.
    MECHANISM is the name of a shipped mechanism or the path of a description (YAML).
    Exit status: 0 success, 2 bad usage or bad input, 1 failure.
    """


def main(arguments: Sequence[str] | None = None, command: click.Command = commands) -> int:
    """Run the command line and return the exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command-line arguments; default: those the program was started with.
    command : click.Command
        What they are for, if not for ``masticator``.

    Raises
    ------
    SystemExit
        With status 1, from click, when the reader of standard output goes away.
    """
    warnings.showwarning = _warn
    warnings.simplefilter('ignore', RangeWarning)  # commands count such rows themselves
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors='backslashreplace')  # in encodings that lack a character
    try:
        status = command.main(
            arguments,
            prog_name=PROGRAM if command is commands else command.name,
            standalone_mode=False,
        )
    except click.ClickException as error:
        context = getattr(error, 'ctx', None)
        where = f' (see {context.command_path} --help)' if context else ''
        return _complain(_asking(error.format_message(), arguments) + where, BAD_INPUT)
    except MasticatorError as error:
        return _complain(_asking(str(error), arguments), BAD_INPUT)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except OSError as error:
        return _complain(_asking(str(error), arguments), FAILURE)
    except MemoryError as error:
        return _complain(f'not enough memory: {error}', FAILURE)
    except Exception as error:
        missing = remedy(error) if isinstance(error, ModuleNotFoundError) else ''
        if missing:
            return _complain(missing, FAILURE)
        # A bug of ours: show where.
        traceback.print_exc()
        return _complain(f'internal error: {type(error).__name__}: {error}', FAILURE)
    return status if isinstance(status, int) else SUCCESS


def _warn(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print one line to standard error, about the input rather than the code that warns."""
    click.echo(f'{PROGRAM}: warning: {_one_line(message)}', err=True)


def _asking(message: str, arguments: Sequence[str] | None) -> str:
    """A message; with a question, if it is about a missing file and one beside it resembles it."""
    if 'No such file' not in message and 'does not exist' not in message:
        return message
    for path in map(pathlib.Path, sys.argv[1:] if arguments is None else arguments):
        if f'{path}: ' in message or f"'{path}'" in message:
            with contextlib.suppress(OSError):  # a folder that must not be read
                beside = [] if path.exists() else path.parent.iterdir()
                names = [file.name for file in itertools.islice(beside, _MOST_FILES)]
                for near in difflib.get_close_matches(path.name, names, 1, _SIMILAR):
                    return f'{message.rstrip(".")}; is {str(path.with_name(near))!r} meant?'
    return message


def _complain(message: object, status: int) -> int:
    """Print one line to standard error, which a file may have made long."""
    line = _one_line(message)
    if len(line) > _LONGEST:
        line = f'{line[:_LONGEST]} ... ({len(line)} characters)'
    click.echo(f'{PROGRAM}: error: {line}', err=True)
    return status


def _one_line(message: object) -> str:
    """Text in one line; characters that could steer a terminal are written as escapes."""
    line = ' '.join(str(message).split())
    return ''.join(c if c.isprintable() else repr(c)[1:-1] for c in line)
