# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Names of joints and contacts that would be mistaken for other columns or topics of ours."""

import re
from collections.abc import Callable, Sequence

from masticator_dynamics.description.data import Contact

_TAKEN = {
    'time': 'the time',
    'closure_residual': 'the gap of the loops',
    **{f'f{axis}': f'the force along {axis} on the platform' for axis in 'xyz'},
    **{f't{axis}': f'the torque about {axis} on the platform' for axis in 'xyz'},
}
_WRENCH_ON_A_LINK = re.compile(r'[ft][xyz]@')
_BEFORE = ('position', 'velocity', 'acceleration', 'effort', 'contact', 'mci', 'error')
_AFTER = {'dot': 'velocity', 'ddot': 'acceleration'}
_TOPIC = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')


def check_column_names(
    independent: Sequence[str],
    actuated: Sequence[str],
    contacts: Sequence[Contact],
    refuse: Callable[[str, str], None],
) -> None:
    """Refuse names with which a column of our tables would have two meanings.

    Only joints whose names become columns count: coordinates and motors.

    Parameters
    ----------
    independent, actuated : sequence of str
        Joints of the mechanism.
    contacts : sequence of Contact
        Each has a topic ``contact_force/NAME``.
    refuse : callable
        Raises for a key and a reason.
    """
    for key, names in (('independent', independent), ('actuated', actuated)):
        for index, name in enumerate(names):
            meaning = _other_meaning(name, {*independent, *actuated})
            if meaning:
                refuse(
                    f'{key}[{index}]',
                    f'joint {name!r} has the name of a column of our tables, {meaning}; '
                    f'give it another name in the URDF, for example {f"joint_{name}"!r}',
                )
    for index, contact in enumerate(contacts):
        if not _TOPIC.fullmatch(contact.name):
            refuse(
                f'contacts[{index}].name',
                f'{contact.name!r} becomes part of a topic of ROS; letters, digits and _ are '
                'possible, and no digit first',
            )


def _other_meaning(name: str, joints: set[str]) -> str:
    """What else a column of a joint's name means; empty if nothing."""
    if name in _TAKEN:
        return _TAKEN[name]
    if _WRENCH_ON_A_LINK.match(name):
        return 'a wrench on a link'
    before, _, joint = name.partition('_')
    if before in _BEFORE and joint in joints:
        return f'{before} of joint {joint!r}'
    joint, _, after = name.rpartition('_')
    return f'{_AFTER[after]} of joint {joint!r}' if after in _AFTER and joint in joints else ''
