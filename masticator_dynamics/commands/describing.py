# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that make or mend a description: close, new, import."""

from __future__ import annotations

import dataclasses
import pathlib
import re
import warnings
from collections.abc import Collection, Iterator, Mapping

import click
import yaml

from masticator_dynamics.commands.check import spaces
from masticator_dynamics.commands.options import named_values, recording_options, split_names
from masticator_dynamics.commands.terminal import section, warn
from masticator_dynamics.description import (
    MechanismDescription,
    archetypes,
    description_from_text,
    load_description,
    shipped_mechanisms,
)
from masticator_dynamics.description.urdf import FARTHEST
from masticator_dynamics.engine.evaluation.closed_pose import (
    BRANCH_STARTS,
    ClosedPose,
    closed_pose,
)
from masticator_dynamics.errors import (
    ClosureError,
    DescriptionError,
    DescriptionWarning,
    InputError,
    MasticatorError,
    meant,
)
from masticator_dynamics.files.folder import results_in
from masticator_dynamics.files.recorded_joints import recorded_ranges
from masticator_dynamics.files.tables import check_writable, replacing, write_bytes, write_text
from masticator_dynamics.interchange.imported_description import (
    Imported,
    import_robot,
    leaning_axes,
)
from masticator_dynamics.mechanism import Mechanism

_ZERO = 1e-14  # rad or m
_MOVED = 1e-3  # rad or m; less was rounded in a drawing
_ILL_CONDITIONED = 1000.0  # shipped mechanisms have at most 900 at home


def _number(text: str) -> float:
    number = float(text)
    if not abs(number) <= FARTHEST:
        raise ValueError
    return number


@click.command()
@click.argument('file')
@click.option(
    '--from', 'guess', metavar='JOINT=VALUE', multiple=True,
    callback=named_values(f'JOINT=VALUE with a number of at most {FARTHEST:g}', _number),
    help='Where to begin, rad or m; may be given again. Default: home as it stands, or 0.',
)  # fmt: skip
@click.option(
    '--hold', 'held', metavar='JOINT=VALUE', multiple=True,
    callback=named_values(f'JOINT=VALUE with a number of at most {FARTHEST:g}', _number),
    help='A position that stays as it is, rad or m; may be given again.',
)  # fmt: skip
@click.option('--write', is_flag=True, help='Write the pose found into FILE, as its home.')
def close(file: str, guess: dict[str, float], held: dict[str, float], write: bool) -> None:
    """Find a closed pose of a description and print it as its home.

    Searches from home as it stands (or from 0), with the positions of --from, then from many
    starts around it. All joints of open loops move, also those of --from; those of --hold stay.
    Where no start leads to a closed pose, the closures that stay open are named. Says how many
    other branches it saw: other ways in which the loops close at the same independent joints.
    """
    both = sorted({*guess, *held} - ({*guess} ^ {*held}))
    if both:
        raise click.BadParameter(f'{both[0]!r} is in --from as well', param_hint="'--hold'")
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', DescriptionWarning)  # about a home that will be replaced
        description = load_description(file)
    pose = closed_pose(description, guess, held)
    if not pose.closed:
        raise ClosureError(_why(description, pose, held))
    text = yaml.safe_dump({'home': _home(pose)}, sort_keys=False, allow_unicode=True)
    warn(*(f'{joint} is {far:.6g} outside its range' for joint, far in pose.outside.items()))
    warn(*_doubts(description, pose))
    if moved := _moved(description, pose, {**description.home, **guess, **held}):
        warn(f'free joints moved: {", ".join(moved)}; --hold JOINT=VALUE keeps one where it was')
    click.echo(_branches(pose.branches), err=True)
    if write:
        write_home(description.file, text)
        click.echo(f'wrote home of {len(_home(pose))} joints to {description.file}', err=True)
    else:
        click.echo(text, nl=False)


def _home(pose: ClosedPose) -> dict[str, float]:
    """Joints that are not at 0, apart from rounding."""
    return {joint: value for joint, value in pose.home.items() if abs(value) > _ZERO}


def _branches(others: int) -> str:
    """How many other branches there are."""
    many = {0: 'no other branch', 1: 'another branch'}.get(others, f'{others} other branches')
    elsewhere = '; --from positions near to another one leads there' if others else ''
    return f'{many} seen from {BRANCH_STARTS} starts{elsewhere}'


def _moved(
    description: MechanismDescription, pose: ClosedPose, start: Mapping[str, float]
) -> list[str]:
    """Independent joints that are not where the search began, 0 unless told."""
    pairs = [(name, start.get(name, 0.0), pose.home[name]) for name in description.independent]
    return [f'{name} from {a:.4g} to {b:.4g}' for name, a, b in pairs if abs(a - b) > _MOVED]


def _doubts(description: MechanismDescription, pose: ClosedPose) -> Iterator[str]:
    """Why the pose found may be a bad home."""
    try:
        mechanism = Mechanism(dataclasses.replace(description, home=pose.home))
        home = mechanism.home
    except MasticatorError as error:
        yield f'with this home the mechanism does not load: {error}'
        return
    for what, condition in (
        ('loops are', home.condition_number_loops),
        ('motors are', home.condition_number_actuation),
    ):
        if condition > _ILL_CONDITIONED:
            yield (
                f'home is close to a pose in which {what} singular (condition number '
                f'{condition:.4g}); begin elsewhere with --from, or keep a joint away from there '
                'with --hold'
            )


def _why(description: MechanismDescription, pose: ClosedPose, held: Collection[str]) -> str:
    """Which closures remain open, and by how much."""
    open_by = {name: size for name, size in pose.gaps.items() if size > 1e-6}
    units = pose.units
    parts = ', '.join(f'{name} by {size:.6g} {units[name]}' for name, size in open_by.items())
    return (
        f'{description.file}: no closed pose from {pose.starts} starts; at the nearest, open stay '
        f'{parts}; try --from with positions nearer to a closed one, '
        + (f'hold less than {", ".join(held)}, ' if held else '')
        + 'or look at the frames of these'
    )


def write_home(file: pathlib.Path, text: str) -> None:
    """Replace the ``home: ...`` of a file, or append it; everything else stays.

    Raises
    ------
    DescriptionError
        When the file cannot be written.
    """
    content = file.read_text(encoding='utf-8')
    node = yaml.compose(content)
    start = end = len(content)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == 'home':
                start, end = key.start_mark.index, value.end_mark.index
    before = content[:start].rstrip('\n') + '\n' if start == len(content) else content[:start]
    after = content[end:]
    try:
        with replacing(file) as stream:
            stream.write(before + text.rstrip('\n') + ('\n' + after if after.strip() else '\n'))
    except OSError as error:
        raise DescriptionError(file, '', error.strerror or 'cannot be written') from error


@click.command()
@click.argument('name')
@click.option(
    '--like', 'archetype', metavar='ARCHETYPE', required=True,
    help='What to begin with: delta, stewart, five_bar, slider_crank, palletiser, excavator, '
    'scissor_lift, cable_planar, ankle, three_rrs, scara or jaw_6pus.',
)  # fmt: skip
def new(name: str, archetype: str) -> None:
    """Begin a description of your own with a common mechanism.

    Writes a folder NAME (or the folder of that path) with two files of that name, to change.
    """
    if archetype not in archetypes():
        near = meant(archetype, archetypes()) or f'; there are: {", ".join(archetypes())}'
        raise InputError(f'--like: no archetype {archetype!r}{near}')
    if not name:
        raise InputError('NAME: is empty')
    folder = pathlib.Path(name).absolute()
    if not re.fullmatch(r'[A-Za-z]\w*', folder.name, re.ASCII):
        raise InputError(f'NAME: {folder.name!r} is not letters, digits and _, a letter first')
    described = load_description(archetype)
    texts = {
        folder / f'{folder.name}.urdf.xacro': described.urdf_file.read_text(encoding='utf-8'),
        folder / f'{folder.name}.yaml': described.file.read_text(encoding='utf-8'),
    }
    for file in texts:
        if file.exists():
            raise InputError(f'{file} exists; choose another NAME')
    with results_in(folder) as work:
        for file, text in texts.items():
            text = text.replace(f'name: {archetype}\n', f'name: {folder.name}\n')
            text = text.replace(f'<robot name="{archetype}"', f'<robot name="{folder.name}"')
            text = text.replace(f'{archetype}.urdf.xacro', f'{folder.name}.urdf.xacro')
            # Their author is the user who changes them.
            text = re.sub(r'(?m)^(# |<!-- )(Copyright|SPDX).*\n', '', text).replace('#\n', '', 1)
            write_text(str(work / file.name), text)
    for file in texts:
        click.echo(str(file))
    click.echo(f'next: masticator check {folder / folder.name}.yaml')
    if folder.name in (*archetypes(), *shipped_mechanisms()):
        click.echo(f'{folder.name!r} alone, without a path, is the one that is shipped', err=True)


def _usable(made: Imported, file: pathlib.Path, source: str) -> Mechanism:
    """The mechanism of an imported description; errors name the source, which is there."""
    leaning = ''
    try:
        description = description_from_text(file, made.yaml, made.urdf)
        leaning = leaning_axes(description)
        return Mechanism(description)
    except DescriptionError as error:
        reason = f'the description made of it cannot be used: {error.reason}'
        if 'independent' in error.key:
            reason += (
                f'{leaning}. Other coordinates are chosen by --independent; --lock holds joints '
                'that only give way'
            )
        raise DescriptionError(source, error.key, reason) from error


@click.command('import')
@click.argument('source')
@click.option('-o', '--output', 'folder', metavar='FOLDER', required=True, help='Folder to write.')
@click.option(
    '--actuated', metavar='NAMES', callback=split_names,
    help='Joints with motors, comma separated, instead of those that the file gives motors.',
)  # fmt: skip
@click.option(
    '--independent',
    metavar='NAMES',
    callback=split_names,
    help='Joints that are the degrees of freedom, instead of a choice.',
)
@click.option(
    '--lock', metavar='NAMES', callback=split_names, help='Joints to hold at the closed pose.'
)
@click.option(
    '--recording', metavar='FILE',
    help='Of the robot in motion: joints that rest in it, or that it does not have, are held.',
)  # fmt: skip
@recording_options()
@click.option('--platform', metavar='LINK', default='', help='Platform, instead of a choice.')
@click.option(
    '--argument', 'arguments', metavar='NAME=VALUE', multiple=True,
    callback=named_values('NAME=VALUE', str),
    help='Argument of a xacro file; may be given several times.',
)  # fmt: skip
@click.option(
    '--ignore', metavar='ELEMENT', multiple=True,
    help='Name or type of an element that would be refused, to leave out; may be given several '
    'times.',
)  # fmt: skip
def import_(
    source: str,
    folder: str,
    actuated: tuple[str, ...] | None,
    independent: tuple[str, ...] | None,
    lock: tuple[str, ...] | None,
    recording: str | None,
    topic: str | None,
    names: dict[str, str],
    platform: str,
    arguments: dict[str, str],
    ignore: tuple[str, ...],
) -> None:
    """Make a description of SOURCE that every command takes.

    SOURCE is a URDF or xacro file (with loops as other tools write them, or <mimic>), MJCF, SDF,
    or the YAML file of Gepetto's example-parallel-robots. FOLDER gets a YAML and a URDF file
    named after it; what was in these before, and was something else, is kept with a ~ behind the
    name. What was left out or decided is printed, and written into the YAML file.
    Elements that tie links or joints to each other and are not understood are refused.
    """
    if (topic or names) and not recording:
        raise click.UsageError('--topic and --joints need --recording')
    path = pathlib.Path(folder).absolute()
    file = path / f'{path.name}.yaml'
    for written in (path / f'{path.name}.urdf', file):
        if written.exists():
            check_writable(str(written), source)
    made = import_robot(
        pathlib.Path(source), path.name,
        actuated=actuated or (), independent=independent or (), locked=lock or (),
        recorded=recorded_ranges(recording, topic, names) if recording else None,
        platform=platform, arguments=arguments, ignore=ignore,
    )  # fmt: skip
    loaded = _usable(made, file, source)
    others = _written(path, {f'{path.name}.urdf': made.urdf, file.name: made.yaml})
    rows = [
        *spaces(loaded),
        ('closures', str(len(loaded.closures)), ' '.join(loaded.closures)),
        ('platform', '', loaded.description.platform),
    ]
    click.echo(section(str(file), rows))
    for note in [
        *made.notes,
        *(f'{name} was there and was another: it is kept as {name}~' for name in others),
    ]:
        click.echo(f'- {note}')


def _written(folder: pathlib.Path, texts: Mapping[str, str]) -> list[str]:
    """Write files by name; return those that were there and were others, kept with a ``~``."""
    others = [
        name for name, text in texts.items()
        if (folder / name).is_file() and (folder / name).read_bytes() != text.encode()
    ]  # fmt: skip
    with results_in(folder) as work:
        for name in others:  # somebody may have changed it
            write_bytes(str(work / f'{name}~'), (folder / name).read_bytes())
        for name, text in texts.items():
            write_text(str(work / name), text)
    return others
