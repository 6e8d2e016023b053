# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a mechanism file (YAML, schema 1) may contain: the plain data as pydantic models."""

import dataclasses
import functools
import pathlib
import typing
from typing import Annotated, Any, Literal

import pydantic

from masticator_dynamics.description.data import (
    Actuator,
    Bound,
    Closure,
    Contact,
    Finite,
    FlexibleLink,
    JointPhysics,
    Vector3,
)
from masticator_dynamics.files.yaml_file import Strict, checked


@dataclasses.dataclass(frozen=True, kw_only=True)
class MechanismFile:
    """A closed-loop mechanism: a URDF tree plus what closes and drives it (schema 1)."""

    version: Annotated[Literal[1], 'version of this format'] = dataclasses.field(
        metadata={'alias': 'schema'}
    )
    name: str
    description: str = ''
    urdf: Annotated[str, 'URDF or xacro file, relative to this file']
    xacro_arguments: dict[str, str] = dataclasses.field(default_factory=dict)
    base: Annotated[str, 'root link of the URDF']
    platform: Annotated[str, 'link that the external wrench acts on']
    gravity: Annotated[Vector3, 'm/s^2, base axes'] = (0.0, 0.0, -9.80665)
    independent: Annotated[tuple[str, ...], 'joints: degrees of freedom']
    actuated: Annotated[tuple[str, ...], 'joints driven by motors']
    home: Annotated[dict[str, Finite], 'joint: position; others are 0'] = dataclasses.field(
        default_factory=dict
    )
    closures: tuple[Closure, ...] = ()
    contacts: tuple[Contact, ...] = ()
    actuators: dict[str, Actuator] = dataclasses.field(default_factory=dict)
    joints: Annotated[dict[str, JointPhysics], 'springs, losses and armature of joints'] = (
        dataclasses.field(default_factory=dict)
    )
    force_joints: Annotated[
        tuple[str, ...], 'joints whose transmitted forces the goal joint-force keeps small'
    ] = ()
    flexible: Annotated[dict[str, FlexibleLink], 'links that bend'] = dataclasses.field(
        default_factory=dict
    )


_FIELDS = '__dataclass_fields__'  # of dataclasses


def checked_file(content: dict[str, Any], file: pathlib.Path) -> MechanismFile:
    """Contents of a mechanism file, every value checked for type and bounds.

    Raises
    ------
    DescriptionError
        Naming file, key and reason of the first problem.
    """
    plain: MechanismFile = _plain(checked(_form(MechanismFile), content, file))
    return plain


def json_schema() -> dict[str, Any]:
    """JSON Schema of a mechanism file, for editors and other languages."""
    form: Any = _form(MechanismFile)
    if pydantic.VERSION.startswith('1.'):
        return dict(form.schema())
    draft = 'https://json-schema.org/draft/2020-12/schema'
    return {'$schema': draft, **form.model_json_schema()}


@functools.cache
def _form(kind: Any) -> Any:
    """A pydantic model with the fields of a dataclass; numbers keep their bounds."""
    hints = typing.get_type_hints(kind, include_extras=True)
    fields: dict[str, Any] = {'__module__': __name__, '__doc__': kind.__doc__, 'plain': kind}
    fields['__annotations__'] = {'plain': typing.ClassVar[type]}
    for field in dataclasses.fields(kind):
        notes = getattr(hints[field.name], '__metadata__', ())
        description = next((note for note in notes if isinstance(note, str)), None)
        fields['__annotations__'][field.name] = _checking(hints[field.name])
        fields[field.name] = pydantic.Field(
            _default(field), description=description, **field.metadata
        )
    model: Any = type(Strict)
    return model(kind.__name__, (Strict,), fields)


def _default(field: dataclasses.Field[Any]) -> Any:
    """Default of a field of a model; ``...`` where it is required."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    if field.default is dataclasses.MISSING:
        return ...
    plain: Any = field.default
    kind: Any = type(plain)
    return _form(kind)() if hasattr(kind, _FIELDS) else plain


def _checking(hint: Any) -> Any:
    """The pydantic type that checks a type of the plain data."""
    if hasattr(hint, _FIELDS):
        return _form(hint)
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        bounds = [note for note in parts if isinstance(note, Bound)]
        if bounds:
            return pydantic.confloat(allow_inf_nan=False, **bounds[0]._asdict())
        return _checking(parts[0])
    if not parts or origin is Literal:
        return hint
    inner = tuple(map(_checking, parts))
    return origin[inner] if origin in (tuple, dict) else typing.Union[inner]  # noqa: UP007


def _plain(value: Any) -> Any:
    """Plain data from checked data."""
    if isinstance(value, Strict):
        kind = value.plain  # type: ignore[attr-defined]
        return kind(**{f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(kind)})
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
