# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The SROS 2 policy is what the script writes, and allows only what nodes use."""

import fnmatch
import importlib.util
from xml.etree import ElementTree

import pytest

from masticator_dynamics.files.share import share_directory
from tools.security_policy import ENCLAVES, FILE, access, policy


def rights(right):
    """Rights of each enclave, from the file."""
    root = ElementTree.parse(share_directory() / FILE).getroot()
    return {
        enclave.get('path').removeprefix(f'{ENCLAVES}/'): {
            item.text for group in enclave.iterfind(f'.//*[@{right}="ALLOW"]') for item in group
        }
        for enclave in root.iter('enclave')
    }


def test_the_file_is_what_the_script_writes():
    assert (share_directory() / FILE).read_text(encoding='utf-8') == policy()


def test_only_the_operator_may_ask_for_what_moves_or_frees_the_robot():
    asked = {f'servo_drives/{name}' for name in ('enable', 'approach', 'reset', 'home')} | {
        'servo_drives/change_state',
        'dynamics/change_state',
        'servo_drives/set_parameters',
    }
    for who, names in rights('request').items():
        assert asked <= names if who == 'operator' else not names, who


@pytest.mark.parametrize(
    ('topic', 'allowed'),
    [
        ('joint_trajectory', {'planner'}),
        ('servo_drives/command', {'controller_manager'}),
        ('servo_drives/emergency_stop', {'operator'}),
        ('bite_force', {'bite_observer', 'twin'}),
        ('feedforward_trajectory', {'dynamics'}),
    ],
)
def test_who_may_publish_what_moves_it(topic, allowed):
    assert {who for who, names in rights('publish').items() if topic in names} == allowed


def test_goals_come_from_the_planner_alone():
    assert {who for who, names in rights('call').items() if names} == {'planner'}


def test_who_looks_on_may_do_nothing_else():
    assert rights('publish')['viewer'] == {'/parameter_events', '/rosout'}
    assert not rights('request')['viewer']


def test_what_node_dynamics_uses_is_allowed_and_nothing_else(client):
    """Compared with topics and services of the running node in the ROS graph."""
    from processes import wait_for

    node, name = client.node, 'dynamics'
    wait_for(lambda: name in node.get_node_names(), 'discovery of the node')
    found = {
        'subscribe': node.get_subscriber_names_and_types_by_node(name, '/'),
        'publish': node.get_publisher_names_and_types_by_node(name, '/'),
        'reply': node.get_service_names_and_types_by_node(name, '/'),
    }
    goals = importlib.util.find_spec('control_msgs') is not None
    follow, press = access(name).execute
    assert press == '~/apply_force'  # there with drives only, as are its topics
    parts = {'publish': ('feedback', 'status'), 'subscribe': (),
             'reply': ('send_goal', 'cancel_goal', 'get_result')}  # fmt: skip
    for right, pairs in found.items():
        used = {topic for topic, _ in pairs}
        allowed = {
            entry.replace('~', f'/{name}') if entry[0] in '~/' else f'/{entry}'
            for entry in getattr(access(name), right)
        }
        allowed -= {'/force_reference', '/bite_force_estimate'}
        if goals:
            allowed |= {f'/{follow}/_action/{part}' for part in parts[right]}
        else:
            allowed -= {'/joint_states'} if right == 'subscribe' else set()
        for topic in used:
            assert any(fnmatch.fnmatch(topic, entry) for entry in allowed), (right, topic)
        # With use_sim_time only, and with effort_topics.
        for entry in allowed - {'/clock', '/joint_effort/*'}:
            assert fnmatch.filter(used, entry), (right, entry)
