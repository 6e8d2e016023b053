# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
import copy
import shutil

import pytest
import yaml

from masticator_dynamics.drives.configuration import RANGES, Drives, bus_load, load_drives
from masticator_dynamics.drives.network import DriveNetwork
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.files.share import share_directory

SHIPPED = share_directory() / 'config' / 'drives.yaml'


def data():
    """The shipped file as data, without YAML aliases."""
    return copy.deepcopy(yaml.safe_load(SHIPPED.read_text(encoding='utf-8')))


def change(content, path, value):
    """Set a key, or remove it for ``...``."""
    *parents, last = path.split('/')
    for parent in parents:
        content = content[parent]
    if value is ...:
        del content[last]
    else:
        content[last] = value


def separate(content):
    """Drives that share no mapping through YAML anchors."""
    content['drives'] = {name: copy.deepcopy(d) for name, d in content['drives'].items()}
    return content


@pytest.fixture
def written(tmp_path):
    def write(path=None, value=None):
        content = separate(data())
        if path is not None:
            change(content, path, value)
        file = tmp_path / 'drives.yaml'
        file.write_text(yaml.safe_dump(content), encoding='utf-8')
        return file

    return write


def test_the_shipped_file_fits_the_masticator():
    drives = load_drives('drives.yaml')
    assert list(drives.drives) == [f'crank_{i}' for i in range(1, 7)]
    # Six drives at 500 Hz on 1 Mbit/s: 11 to 15 % are left for everything else.
    assert bus_load(drives) == pytest.approx((0.6895, 0.8375))
    DriveNetwork(drives, SHIPPED)


MOTOR = 'drives/crank_2/motor'
LIMITS = 'drives/crank_2/limits'


@pytest.mark.parametrize(
    ('path', 'value', 'message'),
    [
        ('drives/crank_3/node_id', ..., 'node_id'),
        ('drives/crank_3/node_id', 0, 'node_id'),
        ('drives/crank_3/node_id', 128, 'node_id'),
        ('drives/crank_3/node_id', 1, '1 is also that of crank_1'),
        ('drives/crank_3/node_id', 126, '126 is also that of heartbeat.master'),
        (f'{MOTOR}/rated_torque', 0.0, 'rated_torque'),
        (f'{MOTOR}/rated_torque', float('nan'), 'rated_torque'),
        (f'{MOTOR}/gear_ratio', ..., 'gear_ratio'),
        (f'{MOTOR}/gear_ratio', -4.8, 'gear_ratio'),
        (f'{MOTOR}/efficiency', 1.2, 'efficiency'),
        (f'{MOTOR}/efficiency', 0.0, 'efficiency'),
        (f'{MOTOR}/counts_per_turn', 0, 'counts_per_turn'),
        (f'{MOTOR}/direction', 2, 'direction'),
        (f'{MOTOR}/zero', float('inf'), 'zero'),
        (f'{MOTOR}/peak_torque', 0.05, '0.05 N m is not within 1 and 32.767 times'),
        (f'{MOTOR}/peak_torque', 5.0, '5 N m is not within 1 and 32.767 times'),
        (f'{MOTOR}/ratio', 3.0, 'ratio'),
        (f'{LIMITS}/effort', 1.1, "1.1 N m is beyond the drive's 1.01606 N m"),
        (f'{LIMITS}/effort', float('nan'), 'effort'),
        (f'{LIMITS}/velocity', ..., 'velocity'),
        (f'{LIMITS}/following_error', -0.1, 'following_error'),
        (f'{LIMITS}/deceleration', 37.4, '37.4 rad/s^2 takes 0.802 s from 30 rad/s'),
        (f'{LIMITS}/deceleration', 0.0, 'deceleration'),
        (f'{MOTOR}/absolute', 'sometimes', 'absolute'),
        ('drives/crank_2/gains', {'position': 3.0}, 'velocity'),
        ('drives', {}, 'is empty'),
        ('drives', ..., 'drives'),
        ('mode', 'torque', 'mode'),
        ('bus/interface', 'serial', 'interface'),
        ('bus/port', 70000, 'port'),
        ('cycle_rate', 0.0, 'cycle_rate'),
        ('cycle_rate', 1000.0, '1000 Hz would fill at least 138 %'),
        ('bus/bitrate', 500000, '500 Hz would fill at least 138 %'),
        ('heartbeat/timeout', 0.05, '0.05 s is not longer than the period of 0.05 s'),
        ('heartbeat/timeout', 70.0, '70 is not from 0.002 to 1: drives go on for so long'),
        ('heartbeat/period', 0.0015, '0.0015 s is shorter than a cycle'),
        ('schema', 2, 'schema'),
    ],
)
def test_refused(written, path, value, message):
    file = written(path, value)
    with pytest.raises(DescriptionError) as caught:
        load_drives(file)
    assert str(file) in str(caught.value)
    assert message in str(caught.value)
    assert '\n' not in str(caught.value)


def test_missing_and_broken_files(tmp_path):
    with pytest.raises(DescriptionError, match='No such file'):
        load_drives(tmp_path / 'none.yaml')
    broken = tmp_path / 'broken.yaml'
    broken.write_text('drives: [', encoding='utf-8')
    with pytest.raises(DescriptionError, match='broken.yaml'):
        load_drives(broken)
    broken.write_text('- 1', encoding='utf-8')
    with pytest.raises(DescriptionError, match='not a mapping'):
        load_drives(broken)


EDS = share_directory() / 'config' / 'cia402_servo.eds'


def refusal(file):
    with pytest.raises(DescriptionError) as caught:
        DriveNetwork(load_drives(file), file)
    return str(caught.value)


def test_eds_that_is_missing(written):
    file = written('drives/crank_4/eds', 'vendor.eds')
    assert refusal(file) == f'{file}: drives.crank_4.eds: there is no file vendor.eds'


def test_eds_that_is_none(written, tmp_path):
    file = written('drives/crank_4/eds', 'vendor.eds')
    (tmp_path / 'vendor.eds').write_text('a picture', encoding='utf-8')
    assert 'drives.crank_4.eds' in refusal(file)
    assert 'vendor.eds is no EDS' in refusal(file)
    (tmp_path / 'vendor.eds').write_bytes(b'\xff\xfe\x00picture')
    assert 'vendor.eds is no EDS' in refusal(file)


ENDLESS = """
[20FE]
ParameterName=x
ObjectType=8
DataType=7
AccessType=rw
CompactSubObj=1
[20FEName]
NrOfEntries=99999999999
"""


@pytest.mark.parametrize(
    ('added', 'reason'),
    [
        (ENDLESS, 'NrOfEntries is 99999999999, above 254'),
        (ENDLESS.replace('Nr', ' Nr'), 'NrOfEntries is 99999999999, above 254'),
        (ENDLESS.replace('=999', '=+999'), 'NrOfEntries is +99999999999, above 254'),
        (ENDLESS.replace('\n', '\r'), 'NrOfEntries is 99999999999, above 254'),
        ('[2002Name]\nNrOfEntries=1\n', 'not subscriptable'),
        (ENDLESS.replace('Name]', 'sub1e9]'), '[20FEsub1e9]: a subindex has two digits'),
        ('[20FF]\nParameterName=x\nDataType=[\n', 'invalid literal'),
        ('; ' + 'x' * 10_000_000, 'larger than 10 MB'),
    ],
)
def test_eds_with_what_no_parser_expects(written, tmp_path, added, reason):
    file = written('drives/crank_4/eds', 'vendor.eds')
    (tmp_path / 'vendor.eds').write_text(EDS.read_text(encoding='utf-8') + '\n' + added)
    told = refusal(file)
    assert 'vendor.eds is no EDS: ' in told and reason in told and '\n' not in told


def without(text, *sections):
    parts = text.split('\n[')
    return '\n['.join(part for part in parts if part.split(']')[0] not in sections)


@pytest.mark.parametrize(
    ('section', 'message'),
    [
        ('60B2', '0x60B2 torque offset is missing'),
        ('6077', '0x6077 torque actual value is missing'),
        ('6076', '0x6076 motor rated torque is missing'),
        ('6007', '0x6007 abort connection option code is missing'),
        ('605A', '0x605A quick stop option code is missing'),
        ('1016sub1', '0x1016:01 consumer heartbeat time is missing'),
        ('2001sub2', '0x2001:02 velocity gain is missing'),
    ],
)
def test_eds_without_what_is_needed(written, tmp_path, section, message):
    file = written('drives/crank_4/eds', 'vendor.eds')
    text = without(EDS.read_text(encoding='utf-8'), section)
    (tmp_path / 'vendor.eds').write_text(text, encoding='utf-8')
    assert message in refusal(file)


def test_eds_of_another_type(written, tmp_path):
    file = written('drives/crank_4/eds', 'vendor.eds')
    text = EDS.read_text(encoding='utf-8')
    before, after = text.split('[6077]')
    (tmp_path / 'vendor.eds').write_text(
        before + '[6077]' + after.replace('DataType=0x0003', 'DataType=0x0004', 1), encoding='utf-8'
    )
    assert '0x6077 torque actual value has data type 0x0004, needed is 0x0003' in refusal(file)


def test_eds_whose_object_goes_into_no_pdo(written, tmp_path):
    file = written('drives/crank_4/eds', 'vendor.eds')
    before, after = EDS.read_text(encoding='utf-8').split('[6077]')
    (tmp_path / 'vendor.eds').write_text(
        before + '[6077]' + after.replace('PDOMapping=1', 'PDOMapping=0', 1), encoding='utf-8'
    )
    assert '0x6077 torque actual value cannot be mapped into a PDO' in refusal(file)


def test_gains_are_asked_of_the_eds_only_where_they_are_written(written, tmp_path):
    file = written('drives/crank_4/eds', 'vendor.eds')
    text = without(EDS.read_text(encoding='utf-8'), '2001', '2001sub0', '2001sub1', '2001sub2')
    (tmp_path / 'vendor.eds').write_text(text, encoding='utf-8')
    assert '0x2001:01 position gain is missing' in refusal(file)
    content = yaml.safe_load(file.read_text(encoding='utf-8'))
    content['drives']['crank_4']['gains'] = None
    file.write_text(yaml.safe_dump(content), encoding='utf-8')
    DriveNetwork(load_drives(file), file)


def test_eds_in_the_character_set_of_its_standard(written, tmp_path):
    """CiA 306 has ISO 8859-1, and vendors use it for units."""
    file = written('drives/crank_4/eds', 'vendor.eds')
    text = EDS.read_text(encoding='utf-8').replace('=Motor temperature', '=Motor temperature, °C')
    (tmp_path / 'vendor.eds').write_text(text, encoding='latin-1')
    assert len(DriveNetwork(load_drives(file), file).names) == 6


def test_eds_beside_the_drives_file_comes_before_the_shipped_one(written, tmp_path):
    file = written()
    shutil.copy(EDS, tmp_path / 'cia402_servo.eds')
    text = without((tmp_path / 'cia402_servo.eds').read_text(encoding='utf-8'), '6502')
    (tmp_path / 'cia402_servo.eds').write_text(text, encoding='utf-8')
    assert '0x6502 supported drive modes is missing' in refusal(file)


def test_what_is_left_out_has_a_default():
    drive = {
        'node_id': 1,
        'motor': {
            'rated_torque': 0.1,
            'peak_torque': 0.1,
            'gear_ratio': 1.0,
            'counts_per_turn': 1000,
        },
        'limits': {'velocity': 1.0, 'effort': 0.1, 'effort_rate': 1.0, 'following_error': 0.1},
    }
    drives = Drives(schema=1, drives={'motor': drive})
    assert (drives.mode, drives.bus.interface) == ('position', 'socketcan')
    assert drives.drives['motor'].gains is None


def test_the_slowest_quick_stop_that_is_allowed(written):
    assert load_drives(written(f'{LIMITS}/deceleration', 100.0)).drives['crank_2']


INSANE = {
    'command_lead': 1e6,
    'closure_tolerance': 1000.0,
    'command_closure': 3.0,
    'command_timeout': 60.0,
    'cycle_rate': 4.0,
    'heartbeat/timeout': 60.0,
    f'{LIMITS}/following_error': 100.0,
    f'{LIMITS}/acceleration': 1e6,
    f'{LIMITS}/temperature': 1000.0,
    'drives/crank_2/motor/efficiency': 1e-3,
}


@pytest.mark.parametrize('key', INSANE)
def test_values_that_no_person_would_call_sane_are_refused_with_the_reason(written, key):
    _, _, reason = RANGES[key.removeprefix('drives/crank_2/').replace('/', '.')]
    text = refusal(written(key, INSANE[key]))
    assert key.replace('/', '.') in text and reason in text


def test_every_range_is_of_a_number_that_the_file_has():
    drives = load_drives('drives.yaml')
    for path in RANGES:
        found = [_value(settings, path) for settings in (drives, drives.drives['crank_1'])]
        assert found != [None, None] or path == 'effort_lead' or path == 'command_lead'


def _value(settings, path):
    for name in path.split('.'):
        settings = getattr(settings, name, None)
    return settings


def test_a_file_of_before_the_gate_has_its_limits(written):
    drives = load_drives(written('cycle_rate', 250.0))
    assert drives.command_closure == 0.01
    plain = dict(drives.drives['crank_1'].limits)
    del plain['acceleration']
    assert type(drives.drives['crank_1'].limits)(**plain).acceleration == 2000.0


def test_a_name_that_no_file_can_have_is_refused_as_others_are():
    with pytest.raises(DescriptionError, match='File name too long'):
        load_drives('x' * 300)
