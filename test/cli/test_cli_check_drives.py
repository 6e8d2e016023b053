# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""check-drives: prints what a drives file means at the joints, or what is wrong with it."""

import math
import re

import pytest
import yaml

from masticator_dynamics.files.share import share_directory

pytest.importorskip('canopen', reason='canopen is not installed')


@pytest.fixture
def write(tmp_path):
    """The shipped drives file with one value changed."""

    def write(*keys_and_value):
        text = (share_directory() / 'config/drives.yaml').read_text(encoding='utf-8')
        content = yaml.safe_load(text)
        place, *keys, last, value = content, *keys_and_value
        for key in keys:
            place[key] = dict(place[key])  # shares nothing through YAML's anchors
            place = place[key]
        place[last] = value
        file = tmp_path / 'mine.yaml'
        file.write_text(yaml.safe_dump(content), encoding='utf-8')
        return file

    return write


def lines(answer):
    return [re.sub(' +', ' ', line.strip()) for line in answer.out.splitlines()]


def test_the_shipped_drives(run):
    answer = run('check-drives')
    assert (answer.status, answer.err) == (0, '')
    found = lines(answer)
    assert 'bus load 69 to 84 % of 1000000 bit/s' in found
    assert 'crank_1 [-1.68, 1.68] rad 30 rad/s 0.9 N m 100 N m/s 0.2 rad' in found
    units = [line for line in found if 'cia402_servo.eds' in line]
    assert len(units) == 6
    # 4096 counts a turn, 4.8 turns per turn of the crank, 88.2 mN m.
    count, per_mille = re.search(r'eds (\S+) rad (\S+) N m', units[0]).groups()
    assert float(count) == pytest.approx(math.tau / 4096 / 4.8, rel=1e-2)
    assert float(per_mille) == pytest.approx(0.0882 * 4.8 / 1000.0, rel=1e-2)
    assert 'time-out 107.2 ms' in found  # 0.1 s and 3.6 cycles of 2 ms


def test_slower_cycles_react_later(run, write):
    found = lines(run('check-drives', write('cycle_rate', 250.0)))
    assert 'fault 14.4 ms' in found and 'bus load 34 to 42 % of 1000000 bit/s' in found


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (('drives', 'crank_2', 'node_id', 1), 'node_id: 1 is also that of crank_1'),
        (('drives', 'crank_2', 'eds', 'other.eds'), 'crank_2.eds: there is no file other.eds'),
        (('drives', 'crank_2', 'motor', 'rated_torque', 0.0), 'crank_2.motor.rated_torque'),
        (('drives', 'crank_2', 'limits', 'effort', 50.0), "50 N m is beyond the drive's"),
        (('drives', 'crank_2', 'limits', 'position_margin', 2.0), 'leaves nothing of the range'),
        (
            ('drives', 'crank_2', 'motor', 'gear_ratio', 4800.0),
            'motor.gear_ratio: 4800 turns the motor 1.38e+06 times a minute at the limit of 30 ',
        ),
        (
            ('drives', 'crank_2', 'limits', 'effort', 0.005),
            'one per mille of the rated torque is 0.000423 N m at the joint, 12 of which are the ',
        ),
        (('cycle_rate', 1000.0), 'would fill at least 1'),
    ],
)
def test_what_is_wrong_is_named(run, write, change, words):
    answer = run('check-drives', write(*change))
    assert (answer.status, answer.out) == (2, '')
    assert words in answer.err


def test_drives_of_another_mechanism(run):
    answer = run('check-drives', '--mechanism', 'trimule')
    assert answer.status == 2
    assert 'the actuated joints of trimule are limb_1, limb_2, limb_3' in answer.err


def test_limits_of_a_motor_behind_a_screw_are_torques(run, write):
    """A limb of TriMule slides, but its effort is the torque of its motor."""
    text = (share_directory() / 'config/drives.yaml').read_text(encoding='utf-8')
    drive = yaml.safe_load(text)['drives']['crank_1']
    limbs = {f'limb_{k}': drive | {'node_id': k} for k in (1, 2, 3)}
    answer = run('check-drives', write('drives', limbs), '--mechanism', 'trimule')
    assert (answer.status, answer.err) == (0, '')
    (limits,) = [line for line in lines(answer) if line.startswith('limb_1 [')]
    assert 'm/s 0.9 N m 100 N m/s' in limits
