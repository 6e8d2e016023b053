# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Who may do what over ROS 2: an SROS 2 policy that grants each node only what it needs.

``python -m tools.security_policy`` writes ``config/security/policy.xml``; with
``--check`` it says whether the file is up to date. `ros2 security generate_artifacts -p` makes keys
and permissions from it; see docs/robot.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import sys
from xml.etree import ElementTree

from masticator_dynamics.files.share import share_directory

FILE = 'config/security/policy.xml'
ENCLAVES = '/masticator'


@dataclasses.dataclass(frozen=True)
class Access:
    """What one node may do: names as the node uses them, relative ones below its namespace."""

    subscribe: tuple[str, ...] = ()
    publish: tuple[str, ...] = ()
    reply: tuple[str, ...] = ()
    request: tuple[str, ...] = ()
    execute: tuple[str, ...] = ()
    call: tuple[str, ...] = ()

    def __add__(self, other: Access) -> Access:
        """The union of both."""
        pairs = zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)
        return Access(*(tuple(sorted({*one, *two})) for one, two in pairs))


_PARAMETERS = (
    'describe_parameters', 'get_parameter_types', 'get_parameters', 'get_type_description',
    'list_parameters', 'set_parameters', 'set_parameters_atomically',
)  # fmt: skip
_STATES = (
    'change_state', 'get_state', 'get_available_states', 'get_available_transitions',
    'get_transition_graph',
)  # fmt: skip
_DRIVES = (
    'enable', 'approach', 'disable', 'reset', 'home', 'calibrate_zeros', 'emergency_stop',
)  # fmt: skip

_ANY = Access(('/clock',), ('/parameter_events', '/rosout'), tuple(f'~/{p}' for p in _PARAMETERS))
_OURS = _ANY + Access((), ('/diagnostics', '~/transition_event'), tuple(f'~/{s}' for s in _STATES))

_OF_NODES = {
    'dynamics': Access(
        ('joint_trajectory', 'bite_force', 'bite_force_estimate', 'external_wrench',
         'force_reference', 'joint_states'),
        ('feedforward_effort', 'feedforward_state', 'feedforward_trajectory', 'joint_states',
         'contact_force/*', 'contact_multipliers', 'external_effort', 'joint_force/*',
         'joint_effort/*', '~/markers'),
        execute=('follow_joint_trajectory', '~/apply_force'),
    ),
    'servo_drives': Access(
        ('~/command', '~/emergency_stop', 'external_effort', 'feedforward_state'),
        ('~/state',),
        tuple(f'~/{service}' for service in _DRIVES),
    ),
    'joint_state_completion': Access(('joint_states_in',), ('joint_states',)),
    'inertia_coupling': Access(('joint_states',), ('~/mci', '~/markers')),
    'inertia_estimator': Access(('joint_states',), ('~/load_inertia',), ('~/estimate',)),
    'frame_path': Access(('joint_states',), ('~/path',)),
    'bite_observer': Access(('joint_states',), ('bite_force_estimate', 'bite_force')),
    'twin': Access(('~/fault',), ('~/joint_states', 'bite_force')),
}  # fmt: skip
# Roles other than the nodes of this package.
_OF_OTHERS = {
    # May set the robot in motion, by hand.
    'operator': Access(
        ('/diagnostics', 'servo_drives/state', 'feedforward_state'),
        ('servo_drives/emergency_stop',),
        request=(
            *(f'servo_drives/{service}' for service in _DRIVES),
            *(f'{node}/{service}' for node in _OF_NODES for service in (*_PARAMETERS, *_STATES)),
        ),
    ),
    # Says where the robot goes; cannot enable anything.
    'planner': Access(
        ('feedforward_state', 'joint_states'),
        ('joint_trajectory',),
        call=('follow_joint_trajectory',),
    ),
    # ros2_control's manager with its controllers.
    'controller_manager': Access(
        ('servo_drives/state', 'joint_trajectory_controller/joint_trajectory',
         'effort_forward_controller/commands', 'feedforward_controller/reference', 'bite_force',
         'external_wrench'),
        ('servo_drives/command', 'joint_state_broadcaster/joint_states',
         'feedforward_controller/state', '/diagnostics'),
    ),
    # Only watches: RViz, rqt, a recorder. Cannot request anything.
    'viewer': Access(('*',)),
}  # fmt: skip


def access(node: str) -> Access:
    """What a node of this package, or another role, may do."""
    return _OURS + _OF_NODES[node] if node in _OF_NODES else _ANY + _OF_OTHERS[node]


def policy() -> str:
    """The policy in the format of SROS 2, version 0.2.0."""
    root = ElementTree.Element('policy', version='0.2.0')
    enclaves = ElementTree.SubElement(root, 'enclaves')
    for node in (*_OF_NODES, *_OF_OTHERS):
        enclave = ElementTree.SubElement(enclaves, 'enclave', path=f'{ENCLAVES}/{node}')
        profiles = ElementTree.SubElement(enclave, 'profiles')
        _add(ElementTree.SubElement(profiles, 'profile', ns='/', node=node), access(node))
    ElementTree.indent(root)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!-- Written by security_policy.py. -->\n'
    return f'{head}{ElementTree.tostring(root, encoding="unicode")}\n'


def _add(profile: ElementTree.Element, rights: Access) -> None:
    for group, item, right in (
        ('services', 'service', 'reply'), ('services', 'service', 'request'),
        ('actions', 'action', 'execute'), ('actions', 'action', 'call'),
        ('topics', 'topic', 'publish'), ('topics', 'topic', 'subscribe'),
    ):  # fmt: skip
        names = getattr(rights, right)
        if not names:
            continue
        element = ElementTree.SubElement(profile, group, {right: 'ALLOW'})
        for name in names:
            ElementTree.SubElement(element, item).text = name


def main() -> int:
    """Write the file, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--check', action='store_true', help='write nothing; exit 1 if it differs')
    file = pathlib.Path(share_directory() / FILE)
    if parser.parse_args().check:
        same = file.is_file() and file.read_text(encoding='utf-8') == policy()
        print(f'{FILE}: {"up to date" if same else "differs from what would be written"}')
        return 0 if same else 1
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(policy(), encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
