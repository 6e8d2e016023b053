# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Complete definitions contain every nested message once."""

import pytest

from masticator_dynamics.errors import InputError
from masticator_dynamics.files.mcap_file import complete_definition

TEXTS = {
    'a_msgs/msg/Outer': 'std_msgs/Header header # comment/with/slashes\nInner[] many\nInner one\n'
    'float64[6] numbers\nstring<=5 name\nuint8 MAX=3\n',
    'a_msgs/msg/Inner': 'builtin_interfaces/msg/Time stamp\nfloat64 x 1.5\n',
    'std_msgs/msg/Header': 'builtin_interfaces/Time stamp\nstring frame_id\n',
    'builtin_interfaces/msg/Time': 'int32 sec\nuint32 nanosec\n',
}


def test_all_parts_once():
    text = complete_definition('a_msgs/msg/Outer', TEXTS.__getitem__)
    sections = text.split('=' * 80 + '\n')
    assert sections[0].startswith('std_msgs/Header header')
    names = [section.splitlines()[0] for section in sections[1:]]
    assert names == ['MSG: std_msgs/Header', 'MSG: a_msgs/Inner', 'MSG: builtin_interfaces/Time']


def test_missing_package_is_named():
    with pytest.raises(InputError, match='no_such_msgs'):
        complete_definition('no_such_msgs/msg/Thing')
