# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a mechanism's files and checks that they agree: every name must resolve.

What the YAML file (schema 1) may contain is said by pydantic models of the plain data.
"""

import dataclasses
import functools
import os
import pathlib
import re
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import pydantic
import yaml

from masticator_dynamics.description import data, urdf
from masticator_dynamics.description.checks import Bound, Finite, Refusal, Vector3, require_known
from masticator_dynamics.description.closures import COUPLING, KINDS, Names
from masticator_dynamics.description.contacts import NEEDED, Contact, check_contacts
from masticator_dynamics.description.data import (
    Actuator,
    Closure,
    FlexibleLink,
    JointPhysics,
)
from masticator_dynamics.description.joints import SCREW
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.files.yaml_file import Strict, checked, read_mapping


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


def _checked(content: dict[str, Any], file: pathlib.Path) -> MechanismFile:
    """Contents of a mechanism file, every value checked for type and bounds.

    Raises
    ------
    DescriptionError
        Naming file, key and reason of the first problem.
    """
    _check_keys(content, file)
    plain: MechanismFile = _plain(checked(_form(MechanismFile), content, file))
    return plain


# By group and type: keys that the type requires, and keys that it allows, besides those of all.
_TYPES: dict[str, dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    'closures': {name: (kind.needed, kind.optional) for name, kind in KINDS.items()},
    'contacts': {name: (needed, ()) for name, needed in NEEDED.items()},
}


def _check_keys(content: Mapping[str, Any], file: pathlib.Path) -> None:
    """Refuse unknown types, and missing or unknown keys of a type.

    Raises
    ------
    DescriptionError
        Naming the key.
    """
    for group, types in _TYPES.items():
        special = {key for needed, more in types.values() for key in (*needed, *more)}
        items = content.get(group)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if not isinstance(item, dict):
                continue
            place, kind = f'{group}[{index}]', item.get('type', next(iter(types)))
            if not isinstance(kind, str) or kind not in types:
                raise DescriptionError(
                    file, f'{place}.type',
                    f'constraint type {kind!r} is not supported; supported: {", ".join(types)}',
                )  # fmt: skip
            needed, more = types[kind]
            for key in needed:
                if key not in item:
                    raise DescriptionError(file, f'{place}.{key}', 'is missing')
            for key in special.intersection(item) - {*needed, *more}:
                raise DescriptionError(file, f'{place}.{key}', f'type {kind!r} takes no such key')


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


def of_files(
    file: pathlib.Path, xacro_arguments: Mapping[str, str]
) -> tuple[data.MechanismDescription, list[pathlib.Path]]:
    """A description, and all files that it was read from.

    Raises
    ------
    DescriptionError
        As :func:`masticator_dynamics.description.load_description`.
    """
    content = _checked(read_mapping(file), file)
    urdf_file = pathlib.Path(os.path.normpath(file.parent / content.urdf))
    xml, files = urdf.expansion(urdf_file, {**content.xacro_arguments, **xacro_arguments})
    return _described(file, content, urdf_file, xml), [file, *files]


def of_texts(file: pathlib.Path, yaml_text: str, urdf_text: str) -> data.MechanismDescription:
    """A description from texts; ``file`` is the name of the YAML file in messages.

    Parameters
    ----------
    file : pathlib.Path
        Where the YAML text would be; other files are looked for in its folder.
    yaml_text, urdf_text : str
        Contents of the two files.
    """
    content = _checked(yaml.safe_load(yaml_text), file)
    return _described(file, content, file.parent / content.urdf, urdf_text)


def _described(
    file: pathlib.Path, content: MechanismFile, urdf_file: pathlib.Path, xml: str
) -> data.MechanismDescription:
    tree = _threaded(urdf.parse(xml, urdf_file), content.joints, file)
    closures, home = _with_mimics(content, tree)
    _check_names(content, closures, tree, file)
    actuators = {j: content.actuators.get(j, data.Actuator()) for j in content.actuated}
    return data.MechanismDescription(
        file, content.name, content.description, urdf_file, xml, tree, content.base,
        content.platform, content.gravity, content.independent, content.actuated,
        home, closures, content.contacts, actuators, content.force_joints,
        dict(content.flexible), dict(_physics(content, tree)),
        (*tree.warnings, *_outside(home, tree)),
    )  # fmt: skip


def _threaded(tree: urdf.Tree, joints: Mapping[str, JointPhysics], file: pathlib.Path) -> urdf.Tree:
    """The tree with the screws that the YAML file makes of turning joints."""

    def threaded(joint: urdf.Joint) -> urdf.Joint:
        physics = joints.get(joint.name)
        if physics is None or physics.lead is None:
            return joint
        if not joint.turns or physics.lead == 0.0:
            reason = 'a screw is a turning joint of the URDF, and its lead is not 0'
            raise DescriptionError(file, f'joints.{joint.name}.lead', reason)
        return dataclasses.replace(joint, type=SCREW.name, lead=physics.lead)

    return dataclasses.replace(tree, joints=tuple(map(threaded, tree.joints)))


def _with_mimics(
    content: MechanismFile, tree: urdf.Tree
) -> tuple[tuple[data.Closure, ...], dict[str, float]]:
    """Closures with a coupling for each ``<mimic>`` of the URDF, and a home that satisfies them."""
    couplings = tuple(
        data.Closure(
            name=f'{m.joint}_mimic', type=COUPLING.name, joint=m.joint,
            of={m.other: (m.multiplier,)}, offset=m.offset,
        )
        for m in tree.mimics
    )  # fmt: skip
    home = dict(content.home)
    for m in len(tree.mimics) * tree.mimics:  # chains are resolved in whatever order
        if m.joint not in content.home:
            home[m.joint] = m.multiplier * home.get(m.other, 0.0) + m.offset
    return (*content.closures, *couplings), home


def _physics(content: MechanismFile, tree: urdf.Tree) -> Iterator[tuple[str, data.JointPhysics]]:
    """What joints do by themselves; losses in the YAML override those of the URDF."""
    for joint in tree.joints:
        physics = content.joints.get(joint.name, data.JointPhysics())
        losses = {
            'damping': joint.damping if physics.damping is None else physics.damping,
            'friction': joint.friction if physics.friction is None else physics.friction,
        }
        counts = physics.stiffness, physics.armature, physics.stiction, *losses.values()
        if joint.moves and any(counts):
            yield joint.name, dataclasses.replace(physics, **losses)


def _outside(home: Mapping[str, float], tree: urdf.Tree) -> Iterator[str]:
    """Joints that home places outside their range."""
    for joint in tree.joints:
        value = home.get(joint.name, 0.0)
        if joint.moves and not joint.lower <= value <= joint.upper:
            yield (
                f'joint {joint.name}: home {value:.6g} {joint.unit} is outside its range '
                f'[{joint.lower:.6g}, {joint.upper:.6g}]'
            )


def _check_names(
    content: MechanismFile,
    closures: tuple[data.Closure, ...],
    tree: urdf.Tree,
    file: pathlib.Path,
) -> None:
    """Check that all names in the YAML exist, once, and that its numbers are usable."""

    def refuse(key: str, reason: str) -> None:
        raise DescriptionError(file, key, reason)

    moving = {j.name: j for j in tree.joints if j.moves}
    if content.xacro_arguments and not content.urdf.endswith('.xacro'):
        refuse('xacro_arguments', f'{content.urdf} is not a .xacro file and takes none')
    if content.base != tree.root:
        refuse('base', f'{content.base!r} is not the root link {tree.root!r} of the URDF')
    require_known(content.platform, tree.links, 'platform', 'link', refuse)
    _check_joint_lists(content, moving, refuse)
    for name in content.home:
        require_known(name, moving, f'home.{name}', 'moving joint', refuse)
    for name, physics in content.joints.items():
        require_known(name, moving, f'joints.{name}', 'moving joint', refuse)
        if physics.stiction and not physics.stiction_velocity:
            refuse(f'joints.{name}.stiction_velocity', 'stiction needs one, above 0')
    for name in content.actuators:
        require_known(name, content.actuated, f'actuators.{name}', 'actuated joint', refuse)
    for name, actuator in content.actuators.items():
        _check_transmission(actuator.transmission, moving[name].slides, f'actuators.{name}', refuse)
    for name in content.flexible:
        require_known(name, tree.links, f'flexible.{name}', 'link', refuse)
    constraints = [c.name for c in closures] + [c.name for c in content.contacts]
    _unique(constraints, 'closures, contacts', refuse)
    carriers = tree.carriers()
    if carriers[content.platform] == tree.root:
        refuse('platform', f'{content.platform!r} does not move against the base')
    for index, closure in enumerate(closures):
        closure.kind.check(closure, f'closures[{index}]', Names(carriers, moving), refuse)
    check_contacts(content.contacts, tree, refuse)
    check_column_names(content.independent, content.actuated, content.contacts, refuse)


def _check_joint_lists(
    content: MechanismFile, moving: Mapping[str, urdf.Joint], refuse: Refusal
) -> None:
    """Check the lists of moving joints."""
    joint_lists = {
        'independent': content.independent,
        'actuated': content.actuated,
        'force_joints': content.force_joints,
    }
    for key, names in joint_lists.items():
        for index, name in enumerate(names):
            require_known(name, moving, f'{key}[{index}]', 'moving joint', refuse)
        _unique(names, key, refuse)
        if not names and key != 'force_joints':
            refuse(key, 'at least one joint is needed')


def _check_transmission(
    transmission: data.Transmission | None, slides: bool, key: str, refuse: Refusal
) -> None:
    if transmission is None:
        return
    key = f'{key}.transmission'
    if (transmission.ratio is None) == (transmission.lead is None):
        refuse(key, "either 'ratio' or 'lead' is needed")
    if transmission.ratio == 0.0:
        refuse(f'{key}.ratio', 'with 0 the motor would not move the joint')
    if transmission.lead is not None and not slides:
        refuse(f'{key}.lead', 'a screw drives a prismatic joint; give the ratio of a turning one')


def _unique(names: Iterable[str], key: str, refuse: Refusal) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            refuse(key, f'{name!r} appears twice')
        seen.add(name)


_TAKEN = {
    'time': 'the time',
    'closure_residual': 'the gap of the loops',
    **{f'f{axis}': f'the force along {axis} on the platform' for axis in 'xyz'},
    **{f't{axis}': f'the torque about {axis} on the platform' for axis in 'xyz'},
}
_WRENCH_ON_A_LINK = re.compile(r'[ft][xyz]@')
_BEFORE = ('position', 'velocity', 'acceleration', 'effort', 'contact', 'mci', 'error')
_AFTER = {'dot': 'velocity', 'ddot': 'acceleration'}
_TOPIC = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')


def check_column_names(
    independent: Sequence[str],
    actuated: Sequence[str],
    contacts: Sequence[Contact],
    refuse: Refusal,
) -> None:
    """Refuse names with which a column of our tables would have two meanings.

    Only joints whose names become columns count: coordinates and motors.

    Parameters
    ----------
    independent, actuated : sequence of str
        Joints of the mechanism.
    contacts : sequence of Contact
        Each has a topic ``contact_force/NAME``.
    refuse : callable
        Raises for a key and a reason.
    """
    for key, names in (('independent', independent), ('actuated', actuated)):
        for index, name in enumerate(names):
            meaning = _other_meaning(name, {*independent, *actuated})
            if meaning:
                refuse(
                    f'{key}[{index}]',
                    f'joint {name!r} has the name of a column of our tables, {meaning}; '
                    f'give it another name in the URDF, for example {f"joint_{name}"!r}',
                )
    for index, contact in enumerate(contacts):
        if not _TOPIC.fullmatch(contact.name):
            refuse(
                f'contacts[{index}].name',
                f'{contact.name!r} becomes part of a topic of ROS; letters, digits and _ are '
                'possible, and no digit first',
            )


def _other_meaning(name: str, joints: set[str]) -> str:
    """What else a column of a joint's name means; empty if nothing."""
    if name in _TAKEN:
        return _TAKEN[name]
    if _WRENCH_ON_A_LINK.match(name):
        return 'a wrench on a link'
    before, _, joint = name.partition('_')
    if before in _BEFORE and joint in joints:
        return f'{before} of joint {joint!r}'
    joint, _, after = name.rpartition('_')
    return f'{_AFTER[after]} of joint {joint!r}' if after in _AFTER and joint in joints else ''
