# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The five-bar of test/mechanisms as other tools would write it, with its loop closed at zero.

Moments of inertia about x and y are not those of slender rods: nothing turns about these axes, and
simulators refuse bodies that are physically impossible.
"""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

SIDES = {1: -1.0, 2: 1.0}
PIN = {1: (0.22, 0.165), 2: (-0.22, 0.165)}  # of each rod, in its own frame


def _rod(x: float, y: float, mass: float) -> tuple[float, float, float, float]:
    """Centre, mass and moment of inertia of a slender rod from the origin to (x, y)."""
    return x / 2, y / 2, mass, mass * (x * x + y * y) / 12


def _inertial(x: float, y: float, mass: float, moment: float) -> str:
    return (
        f'<inertial><origin xyz="{x} {y} 0"/><mass value="{mass}"/><inertia ixx="{moment}" '
        f'ixy="0" ixz="0" iyy="{moment}" iyz="0" izz="{moment}"/></inertial>'
    )


def _joint(name: str, parent: str, child: str, xyz: str, turned: float = 0.0) -> str:
    return (
        f'<joint name={quoteattr(name)} type="revolute"><parent link="{parent}"/>'
        f'<child link="{child}"/><origin xyz="{xyz}" rpy="0 0 {turned}"/><axis xyz="0 0 1"/>'
        '<limit effort="15" velocity="20"/></joint>'
    )


def _fixed(child: str, parent: str, xyz: str) -> str:
    return (
        f'<link name="{child}"/><joint name="{child}_fix" type="fixed"><parent link="{parent}"/>'
        f'<child link="{child}"/><origin xyz="{xyz}"/></joint>'
    )


def urdf(loop: str, turned: float = 0.0) -> str:
    """URDF of the open tree; ``loop`` closes it, and ``turned`` (rad) opens it at zero."""
    parts = ['<link name="ground"/>']
    for leg, side in SIDES.items():
        x, y = PIN[leg]
        parts += [
            f'<link name="crank_{leg}">{_inertial(*_rod(side * 0.12, 0.16, 0.3))}</link>',
            f'<link name="rod_{leg}">{_inertial(*_rod(x, y, 0.25))}</link>',
            _joint(f'motor_{leg}', 'ground', f'crank_{leg}', f'{side * 0.1} 0 0', turned),
            _joint(f'elbow_{leg}', f'crank_{leg}', f'rod_{leg}', f'{side * 0.12} 0.16 0'),
        ]
    pin = f'<link name="effector">{_inertial(0.0, 0.0, 0.5, 0.0)}</link>'
    place = '<origin xyz="0.22 0.165 0"/>'
    pin += (
        '<joint name="effector_fix" type="fixed"><parent link="rod_1"/><child link="effector"/>'
        f'{place}</joint>'
    )
    drake = 'xmlns:drake="http://drake.mit.edu"'
    return f'<robot name="five_bar" {drake}>{"".join(parts)}{pin}{loop}</robot>'


TRANSMISSIONS = ''.join(
    f'<transmission name="t{leg}"><joint name="motor_{leg}"/></transmission>' for leg in SIDES
)
ENDS = [f'{PIN[leg][0]} {PIN[leg][1]} 0' for leg in SIDES]
DIALECTS = {
    'urdfdom': (
        '<constraint name="loop" type="spherical"><parent link="rod_1"/>'
        f'<parent_origin xyz="{ENDS[0]}"/><child link="rod_2"/><child_origin xyz="{ENDS[1]}"/>'
        '</constraint>'
    ),
    'urdfdom_hinge': (
        '<constraint name="loop" type="revolute"><parent link="rod_1"/>'
        f'<parent_origin xyz="{ENDS[0]}"/><parent_axis xyz="0 0 1"/><child link="rod_2"/>'
        f'<child_origin xyz="{ENDS[1]}" rpy="0 0 1"/><child_axis xyz="0 0 1"/></constraint>'
    ),
    'isaac': (
        f'<loop_joint name="loop" type="spherical"><link1 link="rod_1" xyz="{ENDS[0]}"/>'
        f'<link1 link="rod_2" xyz="{ENDS[1]}"/></loop_joint>'
    ),
    'gazebo': (
        '<gazebo><joint name="loop" type="revolute"><parent>rod_1</parent><child>rod_2</child>'
        f'<pose>{ENDS[1]} 0 0 0</pose><axis><xyz>0 0 1</xyz></axis></joint></gazebo>'
    ),
    'drake': (
        '<drake:ball_constraint><drake:ball_constraint_body_A name="rod_1"/>'
        '<drake:ball_constraint_body_B name="rod_2"/>'
        f'<drake:ball_constraint_p_AP value="{ENDS[0]}"/>'
        f'<drake:ball_constraint_p_BQ value="{ENDS[1]}"/></drake:ball_constraint>'
    ),
    'onshape': _fixed('closing_pin_1', 'rod_1', ENDS[0])
    + _fixed('closing_pin_2', 'rod_2', ENDS[1]),
}

GEPETTO = 'closed_loop: [[tip_A, tip_B]]\ntype: [3d]\nname_mot: [motor_1, motor_2]\n'
TIPS = _fixed('tip_A', 'rod_1', ENDS[0]) + _fixed('tip_B', 'rod_2', ENDS[1])


def gepetto_welded() -> str:
    """URDF whose loop is closed by a weld ``6d`` of two half pins on hinges."""
    halves = ''.join(
        f'<link name="half_{leg}">{_inertial(0.0, 0.0, 0.0, 0.0)}</link>'
        + _joint(f'hinge/{leg} é', f'rod_{leg}', f'half_{leg}', ENDS[leg - 1])
        for leg in SIDES
    )
    return urdf(halves, 0.3)


def mjcf(gear: float = 1.0) -> str:
    """MJCF with ``connect``."""
    legs = []
    for leg, side in SIDES.items():
        x, y = PIN[leg]
        (cx, cy, cm, ci), (rx, ry, rm, ri) = _rod(side * 0.12, 0.16, 0.3), _rod(x, y, 0.25)
        pin = (
            f'<body name="effector" pos="{x} {y} 0"><inertial pos="0 0 0" mass="0.5" '
            'diaginertia="1e-14 1e-14 1e-14"/></body>'
        )
        legs.append(
            f'<body name="crank_{leg}" pos="{side * 0.1} 0 0"><inertial pos="{cx} {cy} 0" '
            f'mass="{cm}" diaginertia="{ci} {ci} {ci}"/>'
            f'<joint name="motor_{leg}" axis="0 0 1" ref="{leg}" armature="0.002"/>'
            f'<body name="rod_{leg}" pos="{side * 0.12} 0.16 0"><inertial pos="{rx} {ry} 0" '
            f'mass="{rm}" diaginertia="{ri} {ri} {ri}"/><joint name="elbow_{leg}" axis="0 0 1"/>'
            f'{pin if leg == 1 else ""}</body></body>'
        )
    motors = ''.join(
        f'<motor joint="motor_{leg}" gear="{gear}" ctrllimited="true" ctrlrange="-3 3"/>'
        for leg in SIDES
    )
    return (
        '<mujoco><compiler angle="radian"/><option gravity="0 -9.81 0"/>'
        f'<worldbody>{"".join(legs)}</worldbody><equality><connect name="loop" body1="rod_1" '
        f'body2="rod_2" anchor="{ENDS[0]}"/></equality><actuator>{motors}</actuator></mujoco>'
    )


def sdf(pin: str = 'revolute', version: str = '1.7') -> str:
    """SDF in which rod_1 and rod_2 share the pin."""
    links, joints = [], []

    def link(name: str, at: str, x: float, y: float, mass: float, moment: float) -> None:
        values = ''.join(
            f'<{k}>{moment if k in ("ixx", "iyy", "izz") else 0}</{k}>'
            for k in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
        )
        links.append(
            f'<link name="{name}"><pose>{at} 0 0 0</pose><inertial><pose>{x} {y} 0 0 0 0</pose>'
            f'<mass>{mass}</mass><inertia>{values}</inertia></inertial></link>'
        )

    def joint(name: str, kind: str, parent: str, child: str, pose: str = '0 0 0') -> None:
        axis = '<axis><xyz>0 0 1</xyz></axis>' if kind == 'revolute' else ''
        joints.append(
            f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>'
            f'<pose>{pose} 0 0 0</pose>{axis}</joint>'
        )

    for leg, side in SIDES.items():
        x, y = PIN[leg]
        link(f'crank_{leg}', f'{side * 0.1} 0 0', *_rod(side * 0.12, 0.16, 0.3))
        link(f'rod_{leg}', f'{side * 0.22} 0.16 0', *_rod(x, y, 0.25))
        joint(f'motor_{leg}', 'revolute', 'world', f'crank_{leg}')
        joint(f'elbow_{leg}', 'revolute', f'rod_{leg}', f'crank_{leg}', f'{side * 0.12} 0.16 0')
    link('effector', '0 0.325 0', 0.0, 0.0, 0.5, 0.0)
    joint('effector_fix', 'fixed', 'rod_1', 'effector')
    joint('pin', pin, 'rod_2', 'effector')
    return (
        f'<sdf version="{version}"><model name="five_bar">{"".join(links + joints)}</model></sdf>'
    )
