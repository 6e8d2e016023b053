# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which middleware settings are made, and which are left to users with settings of their own."""

from xml.etree import ElementTree

import pytest

from masticator_dynamics.files.share import share_directory
from masticator_dynamics.ros import middleware

CONFIG = share_directory() / 'config'
EVERYWHERE = {middleware.PROFILES: str(CONFIG / 'fastdds.xml'), middleware.HEEDED: '1'}
HERE = {
    middleware.PROFILES: str(CONFIG / 'fastdds_localhost.xml'),
    middleware.HEEDED: '1',
    middleware.RANGE: 'SYSTEM_DEFAULT',
}


@pytest.mark.parametrize(
    ('environment', 'wanted'),
    [
        ({}, EVERYWHERE),
        ({'RMW_IMPLEMENTATION': 'rmw_fastrtps_cpp'}, EVERYWHERE),
        ({'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp'}, {}),
        ({middleware.RANGE: 'SUBNET'}, EVERYWHERE),
        ({middleware.RANGE: 'LOCALHOST'}, HERE),
        ({middleware.RANGE: 'localhost', 'ROS_STATIC_PEERS': '10.0.0.1'}, {}),
        ({'ROS_LOCALHOST_ONLY': '1'}, HERE | {'ROS_LOCALHOST_ONLY': '0'}),
        ({middleware.PROFILES: 'mine.xml'}, {}),
    ],
)
def test_settings(environment, wanted) -> None:
    assert middleware.settings(environment) == wanted
    assert middleware.settings(environment | wanted) == {} or not wanted


LOCALLY = 'every program of this computer in ROS domain '


@pytest.mark.parametrize(
    ('environment', 'words'),
    [
        ({}, 'every host that this one reaches by network, in ROS domain 0; ROS_AUTOMATIC'),
        ({'ROS_DOMAIN_ID': '7'}, 'every host that this one reaches by network, in ROS domain 7'),
        ({middleware.RANGE: 'SUBNET'}, 'every host'),
        ({middleware.RANGE: 'SYSTEM_DEFAULT'}, 'every host'),
        ({'ROS_STATIC_PEERS': '10.0.0.1'}, 'every host'),
        ({middleware.RANGE: 'localhost'}, f'{LOCALLY}0'),
        ({'ROS_LOCALHOST_ONLY': '1', 'ROS_DOMAIN_ID': '3'}, f'{LOCALLY}3'),
        (
            {middleware.RANGE: 'LOCALHOST', 'ROS_STATIC_PEERS': '10.0.0.1'},
            'every program of this computer and of 10.0.0.1 (ROS_STATIC_PEERS) in ROS domain 0',
        ),
        ({middleware.RANGE: 'OFF'}, 'nobody but its own process'),
        ({'ROS_SECURITY_ENABLE': 'true', 'ROS_SECURITY_STRATEGY': 'Enforce'}, 'nodes with keys'),
        # Nodes without keys are let in, too.
        ({'ROS_SECURITY_ENABLE': 'true', 'ROS_SECURITY_STRATEGY': 'Permissive'}, 'every host'),
    ],
)
def test_who_may_command(environment, words) -> None:
    """The same once the settings for Fast DDS, which take the range's place, have been made."""
    for given in (environment, environment | middleware.settings(environment)):
        assert middleware.who_may_command(given).startswith(words)


@pytest.mark.parametrize('name', ['fastdds.xml', 'fastdds_localhost.xml'])
def test_profiles_name_udp_and_nothing_else(name: str) -> None:
    spaces = {'d': 'http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles'}
    root = ElementTree.parse(CONFIG / name).getroot()
    assert [kind.text for kind in root.iterfind('.//d:type', spaces)] == ['UDPv4']
    participant = root.find('.//d:participant', spaces)
    assert participant.get('is_default_profile') == 'true'
    assert participant.findtext('.//d:useBuiltinTransports', namespaces=spaces) == 'false'


@pytest.mark.parametrize('name', ['fastdds.xml', 'fastdds_localhost.xml'])
def test_profiles_say_what_the_middleware_then_leaves_to_them(name: str) -> None:
    """Fast DDS's defaults differ: discovery would fail at 5000 bytes, and data would be shared."""
    spaces = {'d': 'http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles'}
    root = ElementTree.parse(CONFIG / name).getroot()
    for kind in ('reader', 'writer'):
        ends = {end.get('profile_name'): end for end in root.iterfind(f'.//d:data_{kind}', spaces)}
        assert set(ends) == {kind, 'service', 'client'}
        for name, end in ends.items():
            assert (end.get('is_default_profile') == 'true') == (name == kind)
            assert end.findtext('d:historyMemoryPolicy', namespaces=spaces) == 'DYNAMIC'
            assert end.findtext('.//d:data_sharing/d:kind', namespaces=spaces) == 'OFF'
        builtin = root.findtext(f'.//d:builtin/d:{kind}HistoryMemoryPolicy', namespaces=spaces)
        assert builtin == 'PREALLOCATED_WITH_REALLOC'
    mode = root.findtext('.//d:data_writer//d:publishMode/d:kind', namespaces=spaces)
    assert mode == 'SYNCHRONOUS'
