# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joints without a motor: held by a stiff spring, held at a stop by a soft one, or free."""

from __future__ import annotations

import pathlib

import pytest
import yaml

from masticator_dynamics.interchange.imported_description import import_robot

BODY = '<inertial pos="0.1 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>'


def robot(last: str) -> str:
    """An arm with a motor, a forearm on a stiff spring, and a hand on a chosen joint."""
    return (
        f'<mujoco><compiler angle="radian"/><worldbody><body>{BODY}<joint name="arm" '
        f'axis="0 1 0"/><body pos="0.2 0 0">{BODY}<joint name="forearm" axis="0 1 0" '
        f'stiffness="900" springref="0.1"/><body name="hand" pos="0.2 0 0">{BODY}<joint '
        f'name="wrist" axis="0 1 0" {last}/></body></body></body></worldbody><actuator>'
        '<motor joint="arm"/></actuator></mujoco>'
    )


@pytest.mark.parametrize(
    ('last', 'held'),
    [
        ('range="0 1" limited="true" stiffness="1" springref="-2"', True),
        ('range="0 1" limited="true" stiffness="1" springref="2"', False),  # leaves its stop
        ('range="-1 1" limited="true" stiffness="1" springref="-2"', False),  # no stop is near
    ],
)
def test_what_is_held(tmp_path: pathlib.Path, last: str, held: bool) -> None:
    pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
    (tmp_path / 'a.xml').write_text(robot(last))
    made = import_robot(tmp_path / 'a.xml', 'a')
    content, notes = yaml.safe_load(made.yaml), ' '.join(made.notes)
    assert 'joint forearm is held at 0.1 rad: it has a spring and no motor' in notes
    assert ('wrist is held at 0 rad: a spring presses it against its stop' in notes) == held
    assert content['actuated'] == ['arm']
    assert content['independent'] == (['arm'] if held else ['arm', 'wrist'])
    assert ('hold joints: --lock wrist' in notes) != held


@pytest.mark.parametrize(('stiffness', 'held'), [(2.0, False), (200.0, True)])
def test_a_spring_that_its_load_winds_up_holds_nothing(
    tmp_path: pathlib.Path, stiffness: float, held: bool
) -> None:
    """The hand weighs 1 N m at its wrist, whose spring rests where the file draws it."""
    pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
    (tmp_path / 'a.xml').write_text(robot(f'stiffness="{stiffness}"'))
    made = import_robot(tmp_path / 'a.xml', 'a')
    content = yaml.safe_load(made.yaml)
    assert content['independent'] == (['arm'] if held else ['arm', 'wrist'])
    assert ('wrist' in content.get('joints', {})) != held
