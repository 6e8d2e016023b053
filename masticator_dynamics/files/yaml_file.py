# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads and checks YAML files; errors name the file and the key.

Only features common to pydantic 1.10 and 2 are used: Ubuntu 24.04 ships the former.
"""

from __future__ import annotations

import functools
import operator
import pathlib
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pydantic
import yaml
from yaml.composer import Composer
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import Resolver
from yaml.scanner import Scanner

from masticator_dynamics.errors import DescriptionError, meant
from masticator_dynamics.files.text_file import read_text
from masticator_dynamics.files.yaml_form import form

try:
    from yaml.cyaml import CParser as _Events  # libyaml: a quarter of the time
except ImportError:

    class _Events(Reader, Scanner, Parser):  # type: ignore[no-redef,misc]
        def __init__(self, text: str):
            Reader.__init__(self, text)
            Scanner.__init__(self)
            Parser.__init__(self)


if TYPE_CHECKING:
    Finite = float
    NotNegative = float
    Positive = float
    Count = int
else:
    # YAML has .nan and .inf; neither is a valid length or mass.
    Finite = pydantic.confloat(allow_inf_nan=False)
    NotNegative = pydantic.confloat(ge=0.0, allow_inf_nan=False)
    Positive = pydantic.confloat(gt=0.0, allow_inf_nan=False)
    Count = pydantic.conint(ge=1)

_LARGEST = 1_000_000  # bytes; reading that much takes some seconds
_MOST_MERGED = 100_000  # keys; merging merged mappings again multiplies them, to no end
_QUOTED = re.compile(
    r'(alias|anchor|tag handle|the tag) .*', re.DOTALL
)  # what PyYAML quotes follows
_SHOWN = 100  # characters of a value
_SIZE = re.compile(r'\s*[+-]?[\d.]+\s*[^\W\d_/]+')  # such as 5mm
_MISREAD = re.compile('[_:]|^[-+]?0[0-9]')
_UNKNOWN = 'unknown key'
_PLAIN = {
    'missing': 'is missing',
    'value_error.missing': 'is missing',
    'extra_forbidden': _UNKNOWN,
    'value_error.extra': _UNKNOWN,
}  # names in the two versions of pydantic


_WANTED = {
    'tuple_type': 'should be a list',
    'type_error.tuple': 'should be a list',
    'list_type': 'should be a list',
    'type_error.list': 'should be a list',
    'dict_type': 'should be a mapping of keys to values',
    'type_error.dict': 'should be a mapping of keys to values',
    'model_type': 'should be a mapping of keys to values',
}  # likewise; pydantic's own words are Python's


class _NumberError(ValueError):
    """A number is too large to compute with or print, or not what it looks like."""


class _Loader(Composer, _Events, SafeConstructor, Resolver):  # type: ignore[misc]
    """Merges (``<<``) only so much; reads no number too large, or other than it looks.

    Refuses a key that a mapping has twice, of which PyYAML would silently take the last. Composing
    is left to Python: libyaml's composer recurses without end where brackets are nested deeply.
    """

    _merged = 0

    def __init__(self, text: str):
        for part in (_Events, Composer, SafeConstructor, Resolver):
            part.__init__(self, *[text] if part is _Events else [])

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        """As PyYAML does, before anything is merged."""
        node = super().compose_mapping_node(anchor)
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != 'tag:yaml.org,2002:merge':
                if (key.tag, key.value) in seen:
                    raise ConstructorError(None, None, 'a key appears twice', key.start_mark)
                seen.add((key.tag, key.value))
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """As PyYAML does; names the place of a value that is not what its tag says."""
        try:
            return super().construct_object(node, deep)
        except (yaml.YAMLError, RecursionError):
            raise
        except Exception as error:
            kind = (
                node.tag.rpartition(':')[2] if node.tag in SafeConstructor.yaml_constructors else ''
            )
            reason = (
                str(error) if isinstance(error, _NumberError) else f'no valid {kind or "value"}'
            )
            raise ConstructorError(None, None, reason, node.start_mark) from error

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """As PyYAML does, which comes here for every mapping that it merges."""
        super().flatten_mapping(node)
        self._merged += len(node.value)
        if self._merged > _MOST_MERGED:
            raise ConstructorError(
                None, None, f'it merges more than {_MOST_MERGED} keys', node.start_mark
            )


def _number(loader: _Loader, node: yaml.ScalarNode) -> float:
    """YAML 1.1 reads 010 as 8, 1:30 as 90 and 1_0 as 10."""
    if _MISREAD.search(node.value):
        raise _NumberError('a number that begins with 0, or has _ or : in it')
    if node.tag == 'tag:yaml.org,2002:float':
        return float(loader.construct_yaml_float(node))
    number: int = loader.construct_yaml_int(node)
    if number.bit_length() > 63:
        raise _NumberError(f'a whole number of {number.bit_length()} bits, above 63')
    return number


for _kind in ('int', 'float'):
    _Loader.add_constructor(f'tag:yaml.org,2002:{_kind}', _number)
# Of the words that YAML 1.1 takes for true or false, only these are no names, and no numbers.
_BOOL = 'tag:yaml.org,2002:bool'
_Loader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] != _BOOL]
    for first, pairs in Resolver.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_BOOL, re.compile('(true|True|TRUE|false|False|FALSE)$'), [*'tTfF'])


class Strict(pydantic.BaseModel, extra='forbid', frozen=True):
    """Unknown keys are refused: a misspelt key must not be ignored."""


Kind = TypeVar('Kind', bound=pydantic.BaseModel)


def read_mapping(file: str | pathlib.Path) -> dict[str, Any]:
    """Keys and values of a YAML file.

    Raises
    ------
    DescriptionError
        When it cannot be read, is not YAML, or holds something else.
    """
    try:
        content = yaml.load(read_text(file, _LARGEST), _Loader)
    except OSError as error:
        raise DescriptionError(file, '', error.strerror or 'cannot be read') from error
    except RecursionError as error:
        raise DescriptionError(file, '', 'not YAML: it is nested too deeply') from error
    except Exception as error:
        raise DescriptionError(file, '', f'not YAML: {_without_content(error)}') from None
    if not isinstance(content, dict):
        raise DescriptionError(file, '', 'not a mapping of keys to values')
    for key in content:
        if not isinstance(key, str):
            raise DescriptionError(file, str(key), 'is no text, as keys must be')
    return content


def _without_content(error: Exception) -> str:
    """What is wrong, and in which line; the file may be any, with secrets in it."""
    if isinstance(error, UnicodeError):
        return 'not a text in UTF-8'
    if isinstance(error, yaml.reader.ReaderError):
        return f'{error.reason}, character {error.position + 1}'
    if not isinstance(error, yaml.MarkedYAMLError):
        return type(error).__name__
    mark = error.problem_mark or error.context_mark
    reason = _QUOTED.sub(r'\1', error.problem or error.context or '')
    return f'{reason}, line {mark.line + 1}, column {mark.column + 1}' if mark else reason


def checked(kind: type[Kind], content: dict[str, Any], file: str | pathlib.Path) -> Kind:
    """Contents of a file, as the data type that checks them.

    Parameters
    ----------
    kind : type
        The pydantic model to make.
    content : dict
        What was read from the file.
    file : str or pathlib.Path
        Name for messages.

    Raises
    ------
    DescriptionError
        Naming file, key and reason of the first problem.
    """
    try:
        read = kind(**content)
    except pydantic.ValidationError as error:
        key, reason = _first_problem(error, content, kind)
        if reason == _UNKNOWN:
            reason += _meant(kind, key)
        raise DescriptionError(file, key, reason) from error
    except RecursionError as error:
        raise DescriptionError(file, '', f'cannot be used: {error}') from error
    for key, value in _misread(content, read):
        raise DescriptionError(file, key.lstrip('.'), f'{_short(value)} is not a number')
    return read


def _misread(content: Any, read: Any, path: str = '') -> Iterator[tuple[str, Any]]:
    """Values that are no numbers, and that pydantic made numbers of: true, and '1_0'."""
    number = isinstance(read, int | float) and not isinstance(read, bool)
    if number and (isinstance(content, bool) or '_' in str(content)):
        yield path, content
    elif isinstance(content, dict):
        for key, value in content.items():
            other = read.get(key) if isinstance(read, dict) else getattr(read, str(key), None)
            yield from _misread(value, other, f'{path}.{key}')
    elif isinstance(content, list) and isinstance(read, list | tuple):
        for place, pair in enumerate(zip(content, read, strict=False)):
            yield from _misread(*pair, f'{path}[{place}]')


def _first_problem(
    error: pydantic.ValidationError, content: Any, kind: type[pydantic.BaseModel]
) -> tuple[str, str]:
    """Key path and reason of the first problem, e.g. ``('closures[2].frames', '...')``."""
    problems = error.errors()
    # A key that is missing may be there, misspelt.
    unknown = [p for p in problems if _PLAIN.get(p['type']) == _UNKNOWN]
    missing = _PLAIN.get(problems[0]['type']) == 'is missing'
    problem = unknown[0] if missing and unknown else problems[0]
    path = ''.join(f'[{p}]' if isinstance(p, int) else f'.{p}' for p in problem['loc'])
    if problem['type'] in _PLAIN:
        return path.lstrip('.'), _PLAIN[problem['type']]
    value = problem['input'] if 'input' in problem else _at(content, problem['loc'])
    shown = '' if isinstance(value, dict | list) or value is None else f' (got {_short(value)})'
    reason = _WANTED.get(problem['type'], re.sub(r'^Value error, ', '', problem['msg']))
    if problem['type'] in _WANTED:
        return path.lstrip('.'), reason + shown + form(_schema(kind), problem['loc'], value)
    if isinstance(value, str) and _SIZE.fullmatch(value):
        shown += '; numbers are in SI units and stand without the unit'
    return path.lstrip('.'), reason + shown


def _at(content: Any, path: Sequence[str | int]) -> Any:
    """What stands at a path, which pydantic 1 does not say; None if nothing does."""
    try:
        return functools.reduce(operator.getitem, path, content)
    except (KeyError, IndexError, TypeError):
        return None


def _meant(kind: type[pydantic.BaseModel], path: str) -> str:
    """The key that an unknown one resembles most, if any, as a question."""

    def keys(schema: Any) -> Iterator[str]:
        if isinstance(schema, dict):
            yield from schema.get('properties', ())
        for part in schema.values() if isinstance(schema, dict) else schema:
            if isinstance(part, dict | list):
                yield from keys(part)

    wrong = path.rpartition('.')[2]  # which may be a key elsewhere
    return meant(wrong, {*keys(_schema(kind))} - {wrong})


def _schema(kind: type[pydantic.BaseModel]) -> dict[str, Any]:
    # `schema` is pydantic 1's name, which 2 keeps with a warning.
    schema: dict[str, Any] = (getattr(kind, 'model_json_schema', None) or kind.schema)()
    return schema


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f'{text[:_SHOWN]}...'
