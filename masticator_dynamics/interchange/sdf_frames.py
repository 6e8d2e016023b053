# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Names and poses of SDF: models within models, included files, and frames relative to frames.

Parts of nested models are called ``MODEL::PART``, as in SDF itself.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

from masticator_dynamics.description.urdf import Array
from masticator_dynamics.description.xacro_file import expand_xacro
from masticator_dynamics.errors import DescriptionError, meant
from masticator_dynamics.files.text_file import LARGEST_DESCRIPTION, read_bytes, root_element
from masticator_dynamics.interchange.robot_model import is_true, numbers_in
from masticator_dynamics.interchange.unread import Unread, tag_of

VERSIONS = (
    '1.3', '1.4', '1.5', '1.6', '1.7', '1.8', '1.9', '1.10', '1.11', '1.12',
)  # fmt: skip
_EIGHTH = 0.25 * np.pi
_ROUNDED = 1e-5  # rad; 1.5708 is 3.7e-6 off a right angle
# Elements whose values are texts; attributes would leave them at their defaults.
_OF_TEXTS = ('mass', 'inertia', 'axis', 'axis2', 'limit', 'dynamics', 'parent', 'child')
_PATHS = ('SDF_PATH', 'GZ_SIM_RESOURCE_PATH', 'IGN_GAZEBO_RESOURCE_PATH', 'GAZEBO_MODEL_PATH')


class Scope(NamedTuple):
    """Where names are looked up: a prefix, and the name of the surrounding model's frame."""

    prefix: str
    model: str

    def absolute(self, name: str) -> str:
        """The name in the whole file of what is called so in this scope."""
        if name == '__model__':
            return self.model
        return name if name == 'world' else (self.prefix + name).removesuffix('::__model__')


class SdfPart(NamedTuple):
    """A link, joint, frame or model, and the scope of the names in it."""

    element: ElementTree.Element
    scope: Scope


def read_root(
    file: pathlib.Path, arguments: Mapping[str, str] | None = None
) -> ElementTree.Element:
    """``<sdf>`` of a file, which may be xacro with arguments, with axes as in version 1.5.

    Raises
    ------
    DescriptionError
        For another version or format.
    """
    try:
        content: str | bytes = read_bytes(file, LARGEST_DESCRIPTION)
    except OSError as error:
        raise DescriptionError(file, '', error.strerror or 'cannot be read') from error
    if file.suffix == '.xacro':
        content, _ = expand_xacro(file, arguments or {})
    root = root_element(content, file, 'SDF')
    if root.tag != 'sdf':
        raise DescriptionError(file, '', f'SDF: its root element is <{root.tag}>, not <sdf>')
    if any(tag_of(element).startswith('xacro:') for element in root.iter()):
        reason = 'has xacro elements, but its name does not end .sdf.xacro'
        raise DescriptionError(file, '', reason)
    version = root.get('version')
    if version not in VERSIONS:
        versions = f'{VERSIONS[0]} to {VERSIONS[-1]}'
        raise DescriptionError(
            file,
            '',
            f'SDF version {version!r} is not one of {versions}; convert it with `gz sdf -p`',
        )
    if version in VERSIONS[:4]:
        _rename_namesakes(root)
    if version in ('1.3', '1.4'):
        for axis in root.iterfind('.//joint/*'):
            if axis.tag in ('axis', 'axis2'):
                ElementTree.SubElement(axis, 'use_parent_model_frame').text = '1'
    return root


def _rename_namesakes(root: ElementTree.Element) -> None:
    """Rename links that are called like a joint of their model, as SDF before 1.7 allows."""
    for model in root.iter('model'):
        joints = model.findall('joint')
        taken = {joint.get('name') for joint in joints}
        ends = [end for joint in joints for end in joint if end.tag in ('parent', 'child')]
        for link in model.findall('link'):
            name = link.get('name')
            if name in taken:
                link.attrib |= {'name': f'{name}_link', 'renamed_from': str(name)}
                for end in ends:
                    if (end.text or '').strip() == name:
                        end.text = f'{name}_link'


class SdfFrames:
    """All parts of a model and of the models in it, by name, and where they are."""

    def __init__(self, model: ElementTree.Element, unread: Unread):
        self.unread, self.file = unread, unread.file
        self.parts: dict[str, SdfPart] = {}
        self.straightened = 0.0  # rad; by which angles were off a multiple of 45 degrees
        self.scopes: dict[str, Scope] = {}  # of the names in each model
        self._included = 0  # bytes
        self._add(model, '__model__', Scope('', 'world'), '', (self.file.resolve(),))

    def of(self, tag: str) -> Iterator[tuple[str, SdfPart]]:
        """Names and parts of a kind: link, joint, frame or model."""
        return ((name, part) for name, part in self.parts.items() if part.element.tag == tag)

    # Models within models

    def _add(
        self, model: ElementTree.Element, name: str, outer: Scope, prefix: str,
        files: tuple[pathlib.Path, ...],
    ) -> None:  # fmt: skip
        """Enter a model of a name and its parts, whose names begin with a prefix."""
        self._enter(name, model, outer)
        scope = self.scopes[name] = Scope(prefix, name)
        for element in model:
            inner = prefix + str(element.get('name'))
            if element.tag in ('link', 'joint', 'frame'):
                self._enter(inner, element, scope)
            elif element.tag == 'model':
                self._add(element, inner, scope, f'{inner}::', files)
            elif element.tag == 'include':
                refuse_changes(element, self.unread)
                source = included_file(element, files[-1])
                self._account_for(source, files)
                included = included_model(element, source)
                inner = prefix + str(included.get('name'))
                merged = is_true(element.get('merge'), self.file, f'include {inner} merge')
                # As in SDF: what is merged keeps a frame of its own, and gives up its prefix.
                frame = f'{prefix}_merged__{included.get("name")}__model__' if merged else inner
                within = prefix if merged else f'{inner}::'
                self._add(included, frame, scope, within, (*files, source))

    def _enter(self, name: str, element: ElementTree.Element, scope: Scope) -> None:
        place = f'{element.tag} {name}'
        if name in self.parts:
            raise DescriptionError(self.file, place, 'appears twice')
        for part in element.iter() if element.tag in ('link', 'joint') else ():
            if part.tag == 'origin' or (part.tag in _OF_TEXTS and part.attrib):
                reason = f'<{part.tag}> is as in URDF; SDF has <pose>, and numbers as texts'
                raise DescriptionError(self.file, place, reason)
        self.parts[name] = SdfPart(element, scope)

    def _account_for(self, source: pathlib.Path, files: tuple[pathlib.Path, ...]) -> None:
        """Refuse files without end: models that include themselves, or many of many."""
        if source in files:
            raise DescriptionError(source, '', 'SDF: it includes itself')
        self._included += source.stat().st_size
        if self._included > LARGEST_DESCRIPTION:
            largest = f'{LARGEST_DESCRIPTION * 1e-6:g} MB'
            raise DescriptionError(self.file, 'include', f'included files exceed {largest} in all')

    # Poses

    def local(self, element: ElementTree.Element, place: str) -> tuple[Array, Array]:
        """``<pose>`` of an element as written."""
        pose = element.find('pose')
        if pose is None or not (pose.text or '').strip():
            return np.zeros(3), np.eye(3)
        if pose.get('rotation_format') == 'quat_xyzw':
            numbers = np.array(numbers_in(str(pose.text), 7, self.file, f'{place} pose'))
            if not np.linalg.norm(numbers[3:]) > 0.0:
                raise DescriptionError(self.file, f'{place} pose', 'its quaternion is zero')
            return numbers[:3], Rotation.from_quat(numbers[3:]).as_matrix()
        numbers = np.array(numbers_in(str(pose.text), 6, self.file, f'{place} pose'))
        if is_true(pose.get('degrees'), self.file, f'{place} pose degrees'):
            numbers[3:] = np.radians(numbers[3:])
        angles = numbers[3:]
        whole = np.round(angles / _EIGHTH) * _EIGHTH
        near = np.abs(angles - whole) < _ROUNDED
        self.straightened = max(
            self.straightened, float(np.abs(angles - whole)[near].max(initial=0))
        )
        turned = Rotation.from_euler('xyz', np.where(near, whole, angles)).as_matrix()
        return numbers[:3], turned

    def pose(
        self, name: str, within: str = 'world', seen: frozenset[tuple[str, str]] = frozenset()
    ) -> tuple[Array, Array]:
        """Pose of a part in the world, or in a model that it is in."""
        if name == within:
            return np.zeros(3), np.eye(3)
        place = f'pose of {name}'
        if (name, within) in seen:
            raise DescriptionError(self.file, place, 'refers to itself')
        if name not in self.parts:
            raise DescriptionError(self.file, place, f'there is no link, joint or frame {name!r}')
        seen |= {(name, within)}
        element, scope = self.parts[name]
        position, rotation = self.local(element, name)
        placement = element.get('placement_frame') if element.tag == 'model' else None
        if placement:
            # The pose is that of a frame in the model, instead of the model's own.
            inner = self.scopes[name].absolute(placement)
            at, turned = self.pose(inner, name, seen)
            rotation = rotation @ turned.T
            position = position - rotation @ at
        pose = element.find('pose')
        relative = None if pose is None else pose.get('relative_to') or pose.get('frame')
        if not relative:
            default = {'joint': (element.findtext('child') or '').strip()}.get(element.tag)
            relative = default or element.get('attached_to') or '__model__'
        other = scope.absolute(relative)
        if other not in self.parts and other != within:
            reason = f'there is no link, joint or frame {relative!r}{meant(other, self.parts)}'
            raise DescriptionError(self.file, place, reason)
        at, turned = self.pose(other, within, seen)
        return at + turned @ position, turned @ rotation

    def link_of(self, name: str, place: str) -> str:
        """The link that a frame, joint, link or model of a name is part of; or the world."""
        for _ in range(len(self.parts) + 1):
            if name == 'world' or name not in self.parts:
                break
            element, scope = self.parts[name]
            if element.tag == 'link':
                return name
            if element.tag == 'model':
                scope, canonical = self.scopes[name], element.get('canonical_link')
                name = scope.absolute(canonical) if canonical else self._first(scope)
            elif element.tag == 'joint':
                name = scope.absolute((element.findtext('child') or '').strip())
            else:
                name = scope.absolute(element.get('attached_to') or '__model__')
        if name != 'world':
            raise DescriptionError(self.file, place, f'link {name!r} does not exist')
        return name

    def _first(self, scope: Scope) -> str:
        """The first link of a model, else of the first model in it."""
        for tag in ('link', 'model'):
            for name, part in self.of(tag):
                if part.scope == scope:
                    return name
        return f'{scope.model}::'


def refuse_changes(include: ElementTree.Element, unread: Unread) -> None:
    """Refuse ``<experimental:params>``, which changes elements of what is included.

    Raises
    ------
    DescriptionError
        Unless it is to be left out.
    """
    uri = (include.findtext('uri') or '').strip()
    for part in include:
        if tag_of(part).endswith(':params'):
            reason = f'it changes elements of {uri}'
            unread.refuse(tag_of(part), '', reason, 'Read are files as they are')


def included_model(include: ElementTree.Element, file: pathlib.Path) -> ElementTree.Element:
    """The model of a file, called and placed as an ``<include>`` says."""
    model = read_root(file).find('model')
    if model is None:
        raise DescriptionError(file, '', 'SDF: it has no <model>')
    model.set('name', (include.findtext('name') or model.get('name') or '').strip())
    placement, pose = include.findtext('placement_frame'), include.find('pose')
    if placement:
        model.set('placement_frame', placement.strip())
    if pose is not None:
        for old in model.findall('pose'):
            model.remove(old)
        model.append(pose)
    for old in model.findall('static') if include.find('static') is not None else ():
        model.remove(old)
    model.extend([*include.findall('plugin'), *include.findall('static')])
    return model


def included_file(include: ElementTree.Element, file: pathlib.Path) -> pathlib.Path:
    """The file that an ``<include>`` in another file names.

    Raises
    ------
    DescriptionError
        When there is none.
    """
    uri = (include.findtext('uri') or '').strip()
    path = next(filter(pathlib.Path.is_file, _places(uri, file)), None)
    if path is None:
        reason = f'there is no such model beside the file, above it, or in {_PATHS[1]}'
        raise DescriptionError(file, f'include {uri}', reason)
    return path.resolve()


def _places(uri: str, file: pathlib.Path) -> Iterator[pathlib.Path]:
    """Files that may be meant by a URI: beside a file, in folders above it, or on search paths."""
    path = pathlib.Path(uri.split('://', 1)[-1])
    folders = [*file.absolute().parents]
    for variable in _PATHS:
        folders += map(pathlib.Path, filter(None, os.environ.get(variable, '').split(os.pathsep)))
    for folder in folders:
        yield folder / path
        yield folder / path / _described(folder / path / 'model.config')
        yield folder / path / 'model.sdf'


def _described(config: pathlib.Path) -> str:
    """Name of the SDF file that a ``model.config`` names last, that of the newest version."""
    try:
        return ElementTree.parse(config).findall('sdf')[-1].text or ''
    except (OSError, IndexError, ElementTree.ParseError, LookupError, ValueError):
        return ''
