# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Walls and floors of the package, from the sources; imports for types also count.

And that no module gives a name of its own twice: where files were joined, a constant of one took
the place of another's.
"""

import ast
import functools
import graphlib
import pathlib

import pytest
import samples

PACKAGE = 'masticator_dynamics'

# Rooms of the package from the ground up; those on one floor do not know one another. The core ends
# with `analysis`, `flexible` and `identification`, which also writes drives files; what is above,
# and `drives`, are the outer wings.
FLOORS = (
    'errors interrupt',
    'files optional',
    'description cli workers',
    'engine __main__',
    'limits interchange',
    'mechanism',
    'motion analysis drives',
    'flexible identification control',
    'ros',
    'robot',
    'design',
    'commands',
)

# The same within `robot/`.
ROBOT_FLOORS = ('twin recording view', 'acceptance laboratory', 'demo', 'force_demo')

# Parts of `engine/` above its own modules.
ENGINE = f'{PACKAGE}.engine'
ENGINE_PARTS = ('traced', 'evaluation')


def modules() -> dict[str, pathlib.Path]:
    """Files of the package by module name."""
    files = sorted((samples.ROOT / PACKAGE).rglob('*.py'))
    names = ('.'.join(file.relative_to(samples.ROOT).with_suffix('').parts) for file in files)
    return {name.removesuffix('.__init__'): file for name, file in zip(names, files, strict=True)}


@functools.cache
def imported(file: pathlib.Path) -> tuple[str, ...]:
    """Every name that a file imports, with its module."""
    names: list[str] = []
    for node in ast.walk(ast.parse(file.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names += (f'{node.module}.{alias.name}' for alias in node.names)
    return tuple(names)


@functools.cache
def graph() -> dict[str, set[str]]:
    """Modules that each module imports, with their parent packages, which run first."""
    files = modules()
    edges = {}
    for module, file in files.items():
        names = [name.split('.') for name in imported(file) if name.startswith(f'{PACKAGE}.')]
        whole = {'.'.join(name[:k]) for name in names for k in range(1, len(name) + 1)}
        around = {'.'.join(module.split('.')[:k]) for k in range(1, module.count('.') + 2)}
        edges[module] = whole & files.keys() - around
    return edges


def room(module: str, within: str = PACKAGE) -> str:
    """The folder or file right below a package that a module is in; empty for the package."""
    inside = module.removeprefix(f'{within}.')
    return '' if inside == module else inside.split('.')[0]


@pytest.mark.parametrize(
    ('within', 'floors'), [(PACKAGE, FLOORS), (f'{PACKAGE}.robot', ROBOT_FLOORS)]
)
def test_every_room_imports_lower_floors_only(within, floors) -> None:
    floor = {name: level for level, names in enumerate(floors) for name in names.split()}
    upward = {
        f'{module} -> {target}'
        for module, targets in graph().items()
        for target in targets
        if (here := room(module, within))
        and (there := room(target, within)) not in ('', here)
        and not floor[there] < floor[here]
    }
    assert upward == set()


def test_every_part_of_the_engine_imports_lower_parts_only() -> None:
    level = {name: k for k, name in enumerate(ENGINE_PARTS, 1)}
    upward = {
        f'{module} -> {target}'
        for module, targets in graph().items()
        for target in targets
        if module.startswith(f'{ENGINE}.')
        and target.startswith(f'{ENGINE}.')
        and level.get(room(target, ENGINE), 0) > level.get(room(module, ENGINE), 0)
    }
    assert upward == set()


def test_recordings_and_tables_are_opened_in_one_room() -> None:
    """One reader for all: who opened them beside it disagreed on times and names."""
    libraries = {'csv', 'mcap', 'rosbags', 'sqlite3'}
    users = {
        name
        for name, file in modules().items()
        if libraries & {other.partition('.')[0] for other in imported(file)}
    }
    assert f'{PACKAGE}.files.bag' in users
    assert {room(name) for name in users} == {'files'}


def test_modules_that_are_imported_exist() -> None:
    """Also those of commands, which are imported when they run."""
    files = modules()
    missing = {
        f'{module} -> {name}'
        for module, file in files.items()
        for name in imported(file)
        if name.startswith(f'{PACKAGE}.') and not {name, name.rpartition('.')[0]} & files.keys()
    }
    assert missing == set()


def test_the_package_needs_nothing_else_of_the_checkout() -> None:
    outside = {'benchmark', 'examples', 'papers', 'test', 'tools'}
    readers = {
        module
        for module, file in modules().items()
        if any(name.split('.')[0] in outside for name in imported(file))
    }
    assert readers == set()


def test_no_modules_import_one_another_in_a_circle() -> None:
    graphlib.TopologicalSorter(graph()).prepare()  # CycleError names the circle


def test_no_module_gives_a_name_twice() -> None:
    twice = set()
    for module, file in modules().items():
        body = ast.parse(file.read_text(encoding='utf-8')).body
        targets = [
            target
            for statement in body
            if isinstance(statement, (ast.Assign, ast.AnnAssign))
            for target in getattr(statement, 'targets', [getattr(statement, 'target', None)])
        ]
        names = [
            name.id for t in targets for name in getattr(t, 'elts', [t]) if hasattr(name, 'id')
        ]
        names += [s.name for s in body if isinstance(s, (ast.FunctionDef, ast.ClassDef))]
        twice |= {f'{module}.{name}' for name in names if names.count(name) > 1}
    assert twice == set()
