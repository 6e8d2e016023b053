# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of all nodes as Markdown, from their declarations.

``python -m tools.parameter_tables docs/topics.md`` updates the tables in a
page: each is between ``<!-- parameters of NODE -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import importlib
import pathlib
import re
import sys
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor

from masticator_dynamics.ros.common.managed_node import declarations
from masticator_dynamics.ros.executable import module_of

# Where the settings are, if not next to the node itself.
_ELSEWHERE = {'dynamics': 'masticator_dynamics.ros.dynamics.settings'}
_TABLE = re.compile(r'(<!-- parameters of (\w+) -->\n).*?(<!-- end -->)', re.DOTALL)


def settings_of(node: str) -> type:
    """Class of a node's settings: `TwinSettings` of ``twin``, for example."""
    module = _ELSEWHERE.get(node) or module_of(f'{node}_node')
    name = ''.join(part.title() for part in node.split('_'))
    found: type = getattr(importlib.import_module(module), f'{name}Settings')
    return found


def parameter_table(node: str) -> str:
    """Markdown table of the parameters of a node."""
    rows = ['| parameter | default | | may change |', '|---|---|---|---|']
    for name, _, default, descriptor in declarations(settings_of(node)):
        changes = '' if descriptor.read_only else 'yes'
        rows.append(f'| `{name}` | {_default(default)} | {_text(descriptor)} | {changes} |')
    return '\n'.join(rows)


def with_tables(page: str) -> str:
    """A page with all its tables updated."""
    return _TABLE.sub(lambda found: f'{found[1]}{parameter_table(found[2])}\n{found[3]}', page)


def _default(value: Any) -> str:
    if value == '':
        return 'empty'
    return f'`{str(value).lower() if isinstance(value, bool) else value}`'


def _text(descriptor: ParameterDescriptor) -> str:
    parts = [descriptor.description.rstrip('.')]
    for interval in descriptor.floating_point_range:
        parts.append(f'{interval.from_value:g} to {interval.to_value:g}')
    if descriptor.additional_constraints:
        parts.append(descriptor.additional_constraints)
    return '; '.join(parts)


def main() -> None:
    """Rewrite the pages named on the command line."""
    for name in sys.argv[1:]:
        page = pathlib.Path(name)
        page.write_text(with_tables(page.read_text(encoding='utf-8')), encoding='utf-8')


if __name__ == '__main__':
    main()
