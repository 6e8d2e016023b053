# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The shipped JSON Schema says what the package checks."""

import copy
import json

import pydantic
import pytest
import samples
import yaml
from processes import PYTHON, completed

from masticator_dynamics.description.reading import json_schema

jsonschema = pytest.importorskip('jsonschema', reason='jsonschema is not installed')
FILE = samples.ROOT / 'config' / 'mechanism.schema.json'
SCHEMA = json.loads(FILE.read_text(encoding='utf-8'))
DESCRIPTIONS = [*sorted(samples.SHIPPED.glob('*.yaml')), *sorted(samples.OWN.glob('*.yaml'))]
NEW_ENOUGH = tuple(int(part) for part in pydantic.VERSION.split('.')[:2]) >= (2, 10)


def test_it_is_a_schema() -> None:
    jsonschema.validators.validator_for(SCHEMA).check_schema(SCHEMA)


@pytest.mark.skipif(
    not NEW_ENOUGH, reason='pydantic before 2.10 writes the same schema in other words'
)
def test_it_is_up_to_date() -> None:
    """To update it: python -m tools.mechanism_schema > config/mechanism.schema.json."""
    assert json.loads(json.dumps(json_schema())) == SCHEMA


def test_the_command_prints_it() -> None:
    run = completed(*PYTHON, '-m', 'tools.mechanism_schema', check=True, cwd=samples.ROOT)
    assert json.loads(run.stdout) == json.loads(json.dumps(json_schema()))


@pytest.mark.parametrize('file', DESCRIPTIONS, ids=lambda file: file.stem)
def test_descriptions_are_valid(file) -> None:
    jsonschema.validate(yaml.safe_load(file.read_text(encoding='utf-8')), SCHEMA)


@pytest.mark.parametrize(
    ('path', 'edit'),
    [
        ([], lambda data: data.pop('platform')),
        ([], lambda data: data.update(platfrom='pin')),
        (['schema'], lambda data: data.update(schema=2)),
        (['gravity'], lambda data: data.update(gravity=[0.0, 1.0])),
        (['gravity', 1], lambda data: data.update(gravity=[0.0, 'much', 0.0])),
        (['closures', 0, 'type'], lambda data: data['closures'][0].update(type='welded')),
        (['actuators', 'motor_1', 'rotor_inertia'],
         lambda data: data['actuators']['motor_1'].update(rotor_inertia=-1.0)),
    ],
)  # fmt: skip
def test_it_refuses_what_the_package_refuses(path: list, edit) -> None:
    data = copy.deepcopy(yaml.safe_load(samples.file_of('five_bar').read_text(encoding='utf-8')))
    edit(data)
    with pytest.raises(jsonschema.ValidationError) as caught:
        jsonschema.validate(data, SCHEMA)
    assert list(caught.value.absolute_path) == path
