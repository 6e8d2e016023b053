# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Files of simulated drives: what is refused, and with which message."""

import pytest
import yaml

from drives.simulated import SIMULATED, drives
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.simulator.dictionary import load_eds
from masticator_dynamics.drives.simulator.simulation_file import load_simulation
from masticator_dynamics.errors import DescriptionError


def written(folder, text):
    file = folder / 'file'
    file.write_text(text)
    return file


def simulation_text(**changes):
    drive = {**SIMULATED, **changes}
    return yaml.safe_dump({'schema': 1, 'drives': {'crank_1': drive, 'crank_2': drive}})


def test_the_shipped_file_fits_the_shipped_drives():
    shipped = load_drives('drives.yaml')
    simulation = load_simulation('simulated_drives.yaml', shipped)
    assert set(simulation.drives) == set(shipped.drives)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('schema: 2\ndrives: {}', 'schema'),
        ('- 1', 'not a mapping'),
        ('{', 'file: '),
        ('schema: 1\ndrives: {}', 'drives: has no crank_1, which the drives file has'),
        ('schema: 1\nstep: 0\ndrives: {}', 'step: '),
        (simulation_text(colour='red'), 'drives.crank_1.colour'),
        (simulation_text(resistance=0.0), 'drives.crank_1.resistance'),
        (simulation_text(torque_constant=float('nan')), 'drives.crank_1.torque_constant'),
        (simulation_text(temperature_limit=20.0), '20 is not above the ambient temperature of 25'),
        (simulation_text(friction={'viscous': 0.1}), 'friction.viscous: 0.1 N m s/rad is too much'),
    ],
)
def test_bad_simulation_files(tmp_path, text, message):
    with pytest.raises(DescriptionError, match=message):
        load_simulation(written(tmp_path, text), drives())


def test_a_file_that_is_not_there():
    with pytest.raises(DescriptionError, match=r'nowhere\.yaml: No such file'):
        load_simulation('nowhere.yaml', drives())


OBJECT = '[6041]\nParameterName=Statusword\nObjectType=7\nAccessType=ro\n'


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('', 'describes no objects'),
        ('nonsense', 'file: '),
        (OBJECT, r'\[6041\]: cannot be read'),
        (OBJECT + 'DataType=0x0F\n', 'data type 0x0F is not supported'),
        (OBJECT + 'DataType=6\nDefaultValue=zero\n', r'\[6041\]: cannot be read'),
        (
            OBJECT + 'DataType=6\nDefaultValue=0x10000\n',
            '0x10000 does not fit its type',
        ),
        (OBJECT + 'DataType=8\nDefaultValue=1e308\n', '1e308 does not fit its type'),
    ],
)
def test_bad_eds_files(tmp_path, text, message):
    with pytest.raises(DescriptionError, match=message):
        load_eds(written(tmp_path, text), 1)


def test_numbers_of_an_eds(tmp_path):
    text = '\n'.join(
        f'[{name}]\nDataType={kind}\nDefaultValue={value}\nLowLimit={low}\n'
        for name, kind, value, low in (
            ('1400sub1', 7, '$NODEID+0x80000200', ''),
            ('2000', 3, '0xFFFF', '-0x10'),
            ('2001', 8, '0.25', ''),
            ('2002', 9, 'a name', ''),
            ('2003', 5, '', '1'),
        )
    )
    entries = load_eds(written(tmp_path, text), 5)
    found = {key: (entry.default, entry.low) for key, entry in entries.items()}
    assert found == {
        (0x1400, 1): (0x80000205, None), (0x2000, 0): (-1, -16), (0x2001, 0): (0.25, None),
        (0x2002, 0): ('a name', None), (0x2003, 0): (0, 1),
    }  # fmt: skip
