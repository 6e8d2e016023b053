# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which joints the search for a closed home moves: those of open loops, and no others."""

from __future__ import annotations

import numpy as np
import pytest

from interchange import five_bars
from interchange.test_five_bar import Write, write
from masticator_dynamics.interchange.imported_description import import_description

__all__ = ['write']
MASS = (
    '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
    '</inertial>'
)
PELVIS = tuple(f'{kind}_{axis}' for kind in ('slide', 'turn') for axis in 'xyz')
LOOP = five_bars.DIALECTS['urdfdom']


def carried(text: str) -> str:
    """A robot whose ground is a pelvis on three slides and a ball, with an arm at its side."""
    parts, before = ['<link name="world"/>'], 'world'
    for name in (*PELVIS, 'arm'):
        link = 'ground' if name == PELVIS[-1] else f'{name}_link'
        kind = 'prismatic' if name.startswith('slide') else 'continuous'
        axis = {'x': '1 0 0', 'y': '0 1 0', 'z': '0 0 1'}.get(name[-1], '0 1 0')
        parts.append(f'<link name="{link}">{MASS}</link>' if link != 'ground' else '')
        parts.append(
            f'<joint name="{name}" type="{kind}"><parent link="{before}"/><child link="{link}"/>'
            f'<axis xyz="{axis}"/></joint>'
        )
        before = link
    return text.replace('</robot>', f'{"".join(parts)}</robot>')


def renamed(text: str, mark: str) -> str:
    """The five-bar's legs with other names, on the same ground."""
    start, end = text.index('<link name="crank_1"'), text.index('</robot>')
    body = text[start:end]
    for name in ('crank', 'rod', 'motor', 'elbow', 'effector', 'loop'):
        body = body.replace(f'"{name}', f'"{mark}{name}')
    return body


@pytest.mark.parametrize('turned', [0.3, -0.2, 0.0, 1.4])
def test_what_carries_a_loop_stays(write: Write, turned: float) -> None:
    home = import_description(write('a.urdf', carried(five_bars.urdf(LOOP, turned)))).home
    still = {name: home.get(name, 0.0) for name in (*PELVIS, 'arm')}
    assert still == dict.fromkeys((*PELVIS, 'arm'), 0.0)
    assert bool(turned) == any(abs(home.get(f'elbow_{leg}', 0.0)) > 1e-3 for leg in (1, 2))


@pytest.mark.parametrize('turned', [0.3, 2.0, 3.0])
def test_loops_that_are_closed_stay(write: Write, turned: float) -> None:
    """Beside an open loop; the two share the ground, and no joint."""
    closed = renamed(five_bars.urdf(LOOP), 'other_')
    text = five_bars.urdf(LOOP, turned).replace('</robot>', f'{closed}</robot>')
    home = import_description(write('a.urdf', text)).home
    moved = {name for name, value in home.items() if abs(value) > 1e-9}
    assert moved == {f'{kind}_{leg}' for kind in ('motor', 'elbow') for leg in (1, 2)}


@pytest.mark.parametrize('turned', [0.3, 1.0, 2.0])
def test_closed_loops_that_carry_an_open_one_stay(write: Write, turned: float) -> None:
    """As a knee's linkage with an ankle's: turning the knee turns the ankle's gap, too."""
    ankle = renamed(five_bars.urdf(LOOP, turned), 'other_').replace('link="ground"', 'link="rod_1"')
    home = import_description(
        write('a.urdf', five_bars.urdf(LOOP).replace('</robot>', f'{ankle}</robot>'))
    ).home
    moved = {name for name, value in home.items() if abs(value) > 1e-9}
    assert moved == {f'other_{kind}_{leg}' for kind in ('motor', 'elbow') for leg in (1, 2)}


def test_followers_take_part(write: Write) -> None:
    """A joint that follows one of an open loop moves with it, though no loop contains it."""
    gripper = (
        f'<link name="finger">{MASS}</link><joint name="grip" type="continuous"><parent '
        'link="effector"/><child link="finger"/><axis xyz="0 0 1"/><mimic joint="motor_1" '
        'multiplier="2" offset="0.1"/></joint>'
    )
    text = five_bars.urdf(LOOP, 0.3).replace('</robot>', f'{gripper}</robot>')
    home = import_description(write('a.urdf', text)).home
    assert home['grip'] == pytest.approx(2.0 * home['motor_1'] + 0.1, abs=1e-9)
    assert np.abs([home['motor_1'], home['motor_2']]).max() > 0.01
