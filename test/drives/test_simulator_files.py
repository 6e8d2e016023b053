# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Files of simulated drives: what is refused, and with which message."""

import pytest
import yaml

from drives.simulated import SIMULATED, drives
from masticator_dynamics.drives.bring_up import read_eds
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.simulator.simulated_dictionary import ObjectDictionary, entries_of
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


def entries(folder, text):
    path = written(folder, text).rename(folder / 'file.eds')
    drive = drives().drives['crank_2'].model_copy(update={'eds': str(path)})
    return entries_of(*read_eds('crank_2', drive, ''))


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('', 'describes no objects'),
        ('nonsense', r'file\.eds is no EDS'),
        (OBJECT, "No option 'DataType' in section: '6041'"),
        (OBJECT + 'DataType=0x0F\n', '6041:00: None of data type 0x0F is not supported'),
        (
            OBJECT + 'DataType=6\nDefaultValue=0x10000\n',
            '6041:00: 65536 of data type 0x06 is not supported',
        ),
        (
            OBJECT + 'DataType=8\nDefaultValue=1e308\n',
            '6041:00: 1e[+]308 of data type 0x08 is not supported',
        ),
    ],
)
def test_bad_eds_files(tmp_path, text, message):
    with pytest.raises(DescriptionError, match=message):
        entries(tmp_path, text)


def test_numbers_of_an_eds(tmp_path):
    text = '\n'.join(
        f'[{name}]\nParameterName=x\nAccessType=rw\nDataType={kind}\nDefaultValue={value}\n'
        for name, kind, value in (
            ('1400', 7, '$NODEID+0x80000200'),
            ('2000', 3, '-1'),
            ('2001', 8, '0.25'),
            ('2002', 9, 'a name'),
            ('2003', 5, ''),
            ('2004', 9, ''),
        )
    )
    values = ObjectDictionary(entries(tmp_path, text), {}).values
    assert values == {
        (0x1400, 0): 0x80000202, (0x2000, 0): -1, (0x2001, 0): 0.25, (0x2002, 0): 'a name',
        (0x2003, 0): 0, (0x2004, 0): '',
    }  # fmt: skip
