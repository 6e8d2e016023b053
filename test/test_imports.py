# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Imports between modules of the package, from the sources; imports for types also count."""

import ast
import graphlib
import pathlib
from collections.abc import Iterator

import samples

PACKAGE = 'masticator_dynamics'
PAPERS = f'{PACKAGE}.papers'


def modules() -> dict[str, pathlib.Path]:
    """Files of the package by module name."""
    files = sorted((samples.ROOT / PACKAGE).rglob('*.py'))
    names = ('.'.join(file.relative_to(samples.ROOT).with_suffix('').parts) for file in files)
    return {name.removesuffix('.__init__'): file for name, file in zip(names, files, strict=True)}


def imported(file: pathlib.Path) -> Iterator[str]:
    """Every name that a file imports, with its module."""
    for node in ast.walk(ast.parse(file.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f'{node.module}.{alias.name}' for alias in node.names)


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


def test_the_papers_are_read_by_their_command_alone() -> None:
    readers = {
        module
        for module, targets in graph().items()
        if not module.startswith(PAPERS) and any(name.startswith(PAPERS) for name in targets)
    }
    assert readers == {f'{PACKAGE}.commands.compare'}


def test_no_modules_import_one_another_in_a_circle() -> None:
    graphlib.TopologicalSorter(graph()).prepare()  # CycleError names the circle
