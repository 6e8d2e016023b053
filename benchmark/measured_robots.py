# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What `masticator identify` explains of public recordings of real arms, beside least squares.

Run as ``python -m benchmark.measured_robots FOLDER``. FOLDER holds, at any depth, the recordings
and descriptions that the table names (docs/identification.md says where they are published); what
is absent is skipped, with the reason. Other robots are given with ``--robot NAME FILE RECORDING``,
files that lie there, too; FILE is a URDF or a description. Nothing is written.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import pathlib
import re
import tempfile
import time
from collections.abc import Sequence

from masticator_dynamics import Mechanism, load_description
from masticator_dynamics.cli import main as command
from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.identification.identify import identify
from masticator_dynamics.identification.measured_motion import usual_cutoff
from masticator_dynamics.identification.robot_log import checked, parted, read_log
from masticator_dynamics.identification.verdict import doubts


@dataclasses.dataclass(frozen=True)
class Case:
    """A robot, its recording, and what it is judged by."""

    name: str
    robot: str  # URDF, or a description (YAML)
    log: str
    held_out: str | None = None
    names: tuple[tuple[str, str], ...] = ()  # of the description, of the recording


_PANDA = tuple((f'panda_joint{k}', f'fer_joint{k}') for k in range(1, 8))
CASES = (
    Case('UR10, last quarter', 'ur10_robot.urdf', 'ur10_exciting_trajectory.db3'),
    Case(
        'UR10, model of its authors', 'ur10_robot.urdf', 'ur10_exciting_trajectory.db3',
        'validation_trajectory.db3',
    ),
    Case('Panda, 30 Hz', 'panda.urdf', 'panda_exciting_trajectory.db3', None, _PANDA),
)  # fmt: skip


def row(case: Case, folder: pathlib.Path, work: pathlib.Path) -> list[str]:
    """Errors of efforts in per cent: file, least squares, identified; and what was said."""
    files: dict[str, pathlib.Path] = {}
    for name in filter(None, (case.robot, case.log, case.held_out)):
        # Some names stand in several packages; any of them is the same file.
        paths = sorted(folder.rglob(f'*{name}'), key=lambda path: (len(path.parts), path))
        if not paths:
            return [case.name, *4 * ['-'], f'skipped: no {name} in {folder}']
        files[name] = paths[0]
    file = files[case.robot]
    if file.suffix != '.yaml':
        output = work / re.sub(r'\W+', '_', case.name.split(',')[0].lower())
        file = output / f'{output.name}.yaml'
        names = [f'--joints={here}={there}' for here, there in case.names]
        made = ['import', str(files[case.robot]), '--output', str(output), *names]
        with contextlib.redirect_stdout(io.StringIO()):
            if not file.exists() and command([*made, '--recording', str(files[case.log])]):
                return [case.name, *4 * ['-'], 'skipped: not imported']
    description = load_description(file)
    mechanism, start = Mechanism(description), time.perf_counter()
    log = checked(mechanism, read_log(str(files[case.log]), mechanism, None, dict(case.names)))
    if case.held_out is None:
        log, other = parted(log, 0.25)
    else:
        other = checked(mechanism, read_log(str(files[case.held_out]), mechanism))
    found = identify(description, log, other, cutoff=usual_cutoff(log, other))
    seconds = time.perf_counter() - start
    before, after = found.errors
    shares = (before, found.held_out.error(found.plain), after)
    told = '; '.join(doubts(found)) or 'nothing'
    return [case.name, *(f'{100.0 * share:.2f}' for share in shares), f'{seconds:.1f}', told]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folder', type=pathlib.Path, help='with recordings and descriptions')
    parser.add_argument(
        '--robot', nargs=3, action='append', default=[], metavar=('NAME', 'FILE', 'RECORDING'),
        help='another robot, of whose recording the last quarter is held out; may be repeated',
    )  # fmt: skip
    parsed = parser.parse_args(arguments)
    folder, others = parsed.folder, [Case(*files) for files in parsed.robot]
    _print(['robot', 'file %', 'least sq. %', 'identified %', 'time s', 'told'])
    with tempfile.TemporaryDirectory() as work:
        for case in (*CASES, *others):
            try:
                _print(row(case, folder, pathlib.Path(work)))
            except MasticatorError as error:
                _print([case.name, *4 * ['-'], str(error)])


def _print(cells: list[str]) -> None:
    name, *figures, told = cells
    print(f'{name:24}', *(f'{figure:>12}' for figure in figures), f'  {told}', flush=True)


if __name__ == '__main__':
    main()
