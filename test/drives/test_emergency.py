# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
import pytest

from masticator_dynamics.drives.other_master import emergency_words


@pytest.mark.parametrize(
    ('code', 'text'),
    [
        (0x0000, 'no error (0x0000)'),
        (0x1000, 'generic error (0x1000)'),
        (0x2310, 'continuous overcurrent (0x2310)'),
        (0x3220, 'DC link under-voltage (0x3220)'),
        (0x4310, 'excess temperature of the drive (0x4310)'),
        (0x7305, 'incremental sensor 1 fault (0x7305)'),
        (0x8130, 'life guard or heartbeat error (0x8130)'),
        (0x8250, 'PDO timeout (0x8250)'),
        (0x8611, 'following error (0x8611)'),
    ],
)
def test_codes_of_the_standards(code, text):
    assert emergency_words(code) == text


@pytest.mark.parametrize(
    ('code', 'text'),
    [
        (0x2399, 'current, output side (0x2399)'),  # of its group
        (0x2999, 'current (0x2999)'),  # of the group above it
        (0x90FF, 'external error (0x90FF)'),
        (0xFF07, 'specific to the device (0xFF07)'),
        (0xA123, 'unknown error (0xA123)'),
    ],
)
def test_codes_of_manufacturers_are_named_by_group(code, text):
    assert emergency_words(code) == text


def test_every_code_says_something():
    for code in range(0x10000):
        assert emergency_words(code).endswith(f' (0x{code:04X})')
