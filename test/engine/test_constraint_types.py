# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every type of closure and contact: rates, efforts, wrenches, and comparison with joints.

Where a machine can also be described with joints and a point closure, both must need the same
efforts, although their equations have nothing in common.
"""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import linkages
import numpy as np
import pytest
import samples
from linkages import Part, frame
from machines import (
    FOOT,
    ROCKER,
    ROD,
    ROD_MASS,
    SKEW,
    TIP,
    block_parts,
    crank,
    hinge_parts,
    rocker,
    rod,
    slot_parts,
    universal_parts,
    weld_parts,
)

from benchmark import constraint_types
from masticator_dynamics import Mechanism
from masticator_dynamics.errors import DescriptionError, ReachError
from masticator_dynamics.interchange.mjcf_export import export_mjcf
from masticator_dynamics.motion import MotionPath


def load(folder: pathlib.Path, parts: list[Part], name: str, **keys: Any) -> Mechanism:
    return Mechanism.load(linkages.write(folder, parts, name, **keys))


def by_joints(folder: pathlib.Path, kind: str = 'revolute', mass: float = ROD_MASS,
              **keys: Any) -> Mechanism:  # fmt: skip
    """The machine with the rod's tip on a ball joint of rocker or block."""
    parts = [crank(), *rod(mass), frame('tip', 'rod', ROD), rocker(kind)]
    parts.append(frame('seat', 'rocker', TIP - ROCKER))
    keys = {'independent': ['crank_joint'], 'actuated': ['crank_joint'], **keys}
    closures = [{'name': 'ball', 'frames': ['tip', 'seat']}]
    return load(folder, parts, 'by_joints', platform='rocker', closures=closures, **keys)


CASES: dict[str, tuple[list[Part], tuple[str, str], str]] = {
    'weld': (weld_parts(), ('cut', 'end'), 'revolute'),
    'hinge': (hinge_parts(), ('bearing', 'shaft'), 'revolute'),
    'universal': (universal_parts(), ('fork', 'foot'), 'revolute'),
    'slider': (block_parts(), ('rail', 'shoe'), 'prismatic'),
}


def agree(one: Mechanism, other: Mechanism, spread: float = 0.25) -> None:
    """Check for the same efforts for the same motion, and for what holds for any mechanism."""
    for state in linkages.states(one, 3, spread, seed=3):
        effort, wanted = one.feedforward(*state), other.feedforward(*state)
        assert samples.relative_error(effort.actuated, wanted.actuated) < 1e-9
        assert effort.closure_residual < 1e-12 and effort.balance_residual < 1e-9
        assert np.abs(wanted.actuated).max() > 0.1
        for mechanism in (one, other):
            linkages.check_rates(mechanism, state)
            linkages.check_efforts(mechanism, state)
            linkages.check_wrenches(mechanism, state)
            linkages.check_power(mechanism, state)


@pytest.mark.parametrize('kind', CASES)
def test_the_same_machine_cut_elsewhere(tmp_path: pathlib.Path, kind: str) -> None:
    parts, frames, joint = CASES[kind]
    driven = {'independent': ['crank_joint'], 'actuated': ['crank_joint']}
    if kind == 'hinge':  # its crank's joint is now that of the universal joint
        driven = {'independent': ['rocker_joint'], 'actuated': ['rocker_joint']}
    closures = [{'name': 'loop', 'type': kind, 'frames': list(frames)}]
    cut = load(tmp_path, parts, kind, platform='rocker', closures=closures, **driven)
    assert cut.structure.redundant == () and cut.structure.shared == frozenset()
    agree(cut, by_joints(tmp_path, joint, **driven))


def cylindrical(folder: pathlib.Path) -> tuple[Mechanism, Mechanism]:
    """The block also turns on its slide: two freedoms, of crank and rod. The same by joints."""
    driven = ['crank_joint', 'rod_joint']
    keys = {'independent': driven, 'actuated': driven, 'platform': 'rocker'}
    closures = [{'name': 'loop', 'type': 'cylindrical', 'frames': ['rail', 'shoe']}]
    cut = load(folder, block_parts(), 'cylindrical', closures=closures, **keys)
    parts = [
        crank(), *rod(), frame('tip', 'rod', ROD),
        Part('slide', 'ground', ROCKER, SKEW, 'prismatic'),
        Part('rocker', 'slide', axis=SKEW, mass=1.1, center=(0.02, 0.08, 0.03)),
        frame('seat', 'rocker', TIP - ROCKER),
    ]  # fmt: skip
    ball_on_seat = [{'name': 'ball', 'frames': ['tip', 'seat']}]
    return cut, load(folder, parts, 'by_joints', closures=ball_on_seat, **keys)


def test_a_cylindrical_guide(tmp_path: pathlib.Path) -> None:
    agree(*cylindrical(tmp_path), 0.1)


def test_a_rod_between_two_balls(tmp_path: pathlib.Path) -> None:
    """Without mass, the rod is a distance, whatever its spin."""
    parts = [
        crank(), frame('foot', 'crank', FOOT), rocker(), frame('seat', 'rocker', TIP - ROCKER),
    ]  # fmt: skip
    length = float(np.linalg.norm(ROD))
    closures = [{'name': 'rod', 'type': 'distance', 'frames': ['foot', 'seat'], 'length': length}]
    driven = {'independent': ['crank_joint'], 'actuated': ['crank_joint']}
    cut = load(tmp_path, parts, 'distance', platform='rocker', closures=closures, **driven)
    agree(cut, by_joints(tmp_path, mass=0.0))
    effort = cut.feedforward(*linkages.states(cut, 1, 0.2, seed=8)[0])
    ends = [cut.frame_pose(effort, name).position for name in ('foot', 'seat')]
    assert np.abs(np.cross(effort.loop_force[0], ends[1] - ends[0])).max() < 1e-9


def test_a_coupling_of_joints(tmp_path: pathlib.Path) -> None:
    """A cam and a belt: one motor does the work of two, by the slopes of the coupling."""
    parts = [
        crank(), Part('arm', 'crank', FOOT, (0.0, 0.6, 0.8), mass=0.8, center=(0.1, 0.0, 0.05)),
        Part('slide', 'arm', (0.1, 0.0, 0.0), (1.0, 0.2, 0.0), 'prismatic', mass=0.5),
    ]  # fmt: skip
    joints = [part.joint for part in parts]
    keys = {'platform': 'slide', 'independent': joints, 'actuated': joints}
    free = load(tmp_path, parts, 'free', **keys)
    cam = {'name': 'cam', 'type': 'coupling', 'joint': 'arm_joint', 'offset': 0.1,
           'of': {'crank_joint': [0.5, 0.3, -0.2]}}  # fmt: skip
    # Of two joints, one of which a coupling moves, listed before it.
    screw = {'name': 'screw', 'type': 'coupling', 'joint': 'slide_joint',
             'of': {'arm_joint': [0.05, 0.02], 'crank_joint': [-0.03]}}  # fmt: skip
    keys = {'platform': 'slide', 'independent': joints[:1], 'actuated': joints[:1]}
    keys['home'] = {'arm_joint': 0.1, 'slide_joint': 0.05 * 0.1 + 0.02 * 0.01}
    coupled = load(tmp_path, parts, 'coupled', closures=[screw, cam], **keys)
    for state in linkages.states(coupled, 3, 0.5, seed=9):
        linkages.check_rates(coupled, state)
        linkages.check_efforts(coupled, state)
        linkages.check_wrenches(coupled, state)
        linkages.check_power(coupled, state)
        linkages.check_forward_dynamics(coupled, state)
        effort = coupled.feedforward(*state)
        order = coupled.tree_indices(joints)
        q, v, a = effort.q[order], effort.v[order], effort.a[order]
        arm = 0.1 + 0.5 * q[0] + 0.3 * q[0] ** 2 - 0.2 * q[0] ** 3
        assert q[1] == pytest.approx(arm, rel=1e-13)
        assert q[2] == pytest.approx(0.05 * arm + 0.02 * arm**2 - 0.03 * q[0], rel=1e-12)
        three = free.feedforward(q, v, a, state.wrench).actuated
        slope = 0.5 + 0.6 * q[0] - 0.6 * q[0] ** 2
        slopes = [1.0, slope, (0.05 + 0.04 * arm) * slope - 0.03]
        assert effort.actuated[0] == pytest.approx(float(three @ slopes), rel=1e-10)
        assert effort.coupling_effort == pytest.approx(
            [three[2], three[1] + (0.05 + 0.04 * arm) * three[2]], rel=1e-9
        )


def test_a_coupling_to_a_joint_on_a_body_that_the_loop_moves(tmp_path: pathlib.Path) -> None:
    """A telescopic crank drives a carriage by a cable; the carriage places the crank."""
    parts = [
        Part('crank', 'ground', mass=0.8, center=(0.1, 0.02, 0.0)),
        Part('tube', 'crank', (0.2, 0.0, 0.0), (1.0, 0.0, 0.0), 'prismatic', mass=0.5),
        Part('carriage', 'ground', (0.5, 0.0, 0.0), (1.0, 0.0, 0.0), 'prismatic', mass=0.7),
        Part('rod', 'carriage', mass=0.6, center=(-0.1, 0.1, 0.0)),
        frame('tip', 'rod', (-0.3, 0.2, 0.0)),
        frame('end', 'tube', (0.0, 0.2, 0.0)),
    ]
    path = linkages.write(
        tmp_path, parts, independent=['tube_joint'], actuated=['tube_joint'], platform='rod',
        closures=[
            {'name': 'cable', 'type': 'coupling', 'joint': 'carriage_joint',
             'of': {'tube_joint': [0.4, 0.5]}},
            {'name': 'pin', 'frames': ['tip', 'end']},
        ],
    )  # fmt: skip
    machine = Mechanism.load(path)
    for state in linkages.states(machine, 3, 0.03, seed=10):
        linkages.check_rates(machine, state)
        linkages.check_efforts(machine, state)
        linkages.check_wrenches(machine, state)
        linkages.check_power(machine, state)
        linkages.check_forward_dynamics(machine, state)


DRIVEN = {'independent': ['crank_joint'], 'actuated': ['crank_joint'], 'platform': 'rocker'}


def test_a_plane_that_moves(tmp_path: pathlib.Path) -> None:
    """A slot as a contact on the rocker, and as a block that slides on it."""
    wall = {'name': 'slot', 'frame': 'pin', 'carrier': 'slot', 'normal': [0, 0, 2.0], 'offset': 0.0}
    slot = load(tmp_path, slot_parts(), 'slot', contacts=[wall], **DRIVEN)
    block = [
        *slot_parts(),
        Part('block', 'rocker', (0.3, 0.0, 0.0), (1.0, 0.0, 0.0), 'prismatic'),
    ]
    closures = [{'name': 'pin', 'frames': ['pin', 'block']}]
    agree(slot, load(tmp_path, block, 'block', closures=closures, **DRIVEN), 0.6)


HUMP = ((0.0, 0.0, 0.0, 0.0), (0.3, 0.1, 0.0, 0.0), (-2.0, 0.4, 0.0, 0.0), (5.0, 0.0, 0.0, 0.0))


def on_a_surface(folder: pathlib.Path, height: dict[str, Any], name: str) -> Mechanism:
    """A pin on a leaning crank, on a curved surface of the rocker: a ball on a cam."""
    parts = slot_parts()
    parts[0] = Part('crank', 'ground', axis=(0.1, 0.2, 1.0), mass=0.9, center=(0.05, 0.0, 0.0))
    parts[3] = frame('slot', 'rocker', (0.3, 0.0, 0.0), (1.5707963267948966, 0.0, 0.0))
    cam = {'name': 'cam', 'type': 'surface', 'frame': 'pin', 'carrier': 'slot', 'height': height,
           'friction': {'coulomb': 0.1, 'viscous': 0.2}}  # fmt: skip
    return load(folder, parts, name, contacts=[cam], **DRIVEN)


def on_a_cam(folder: pathlib.Path) -> tuple[Mechanism, Mechanism]:
    """A pin on a cam of one axis, or on two slides, the second coupled by a polynomial."""
    heights = [0.3, -2.0, 5.0]
    parts = slot_parts()
    parts[3] = frame('slot', 'rocker', (0.3, 0.0, 0.0), (1.5707963267948966, 0.0, 0.0))
    hump = {'name': 'cam', 'type': 'surface', 'frame': 'pin', 'carrier': 'slot',
            'height': {'polynomial': [[0.0], *([h] for h in heights)]}}  # fmt: skip
    surface = load(folder, parts, 'surface', contacts=[hump], **DRIVEN)
    slides = [
        *parts,
        Part('along', 'rocker', (0.3, 0.0, 0.0), (1.0, 0.0, 0.0), 'prismatic'),
        Part('up', 'along', axis=(0.0, -1.0, 0.0), kind='prismatic'),
    ]
    closures = [
        {'name': 'pin', 'frames': ['pin', 'up']},
        {'name': 'cam', 'type': 'coupling', 'joint': 'up_joint', 'of': {'along_joint': heights}},
    ]
    return surface, load(folder, slides, 'slides', closures=closures, **DRIVEN)


def test_a_cam_is_a_slide_on_a_slide(tmp_path: pathlib.Path) -> None:
    agree(*on_a_cam(tmp_path), 0.4)


def test_a_curved_surface(tmp_path: pathlib.Path) -> None:
    """Polynomial and spline give the same surface if the polynomial is a cubic."""
    x, y = np.linspace(-0.3, 0.2, 7), np.array([-0.2, -0.05, 0.02, 0.08, 0.3])
    table = np.polynomial.polynomial.polygrid2d(x, y, HUMP)
    polynomial = on_a_surface(tmp_path, {'polynomial': [list(row) for row in HUMP]}, 'polynomial')
    shifted = {'polynomial': [list(row) for row in HUMP], 'x': [-0.3, 0.2], 'y': [-0.2, 0.3]}
    bounded = on_a_surface(tmp_path, shifted, 'bounded')
    heights = {'x': x.tolist(), 'y': y.tolist(), 'heights': table.tolist()}
    spline = on_a_surface(tmp_path, heights, 'spline')
    agree(polynomial, bounded, 0.4)
    agree(polynomial, spline, 0.4)
    state = linkages.states(spline, 1, 0.4, seed=10)[0]
    linkages.check_rates(spline, state)
    linkages.check_efforts(spline, state)
    linkages.check_forward_dynamics(spline, state)
    effort = spline.feedforward(*state)
    # The force stands on the surface: across two steps along it.
    pose, pin = spline.frame_pose(effort, 'slot'), spline.frame_pose(effort, 'pin').position
    at = pose.rotation.T @ (pin - pose.position)

    def surface(x: float, y: float) -> samples.Array:
        return np.array([x, y, np.polynomial.polynomial.polyval2d(x, y, HUMP)])

    force = pose.rotation.T @ effort.contact_force[0]
    assert at[2] == pytest.approx(surface(*at[:2])[2], abs=1e-12)
    for step in ((1e-5, 0.0), (0.0, 1e-5)):
        along = surface(*(at[:2] + step)) - surface(*(at[:2] - step))
        assert abs(force @ along) < 1e-8 * np.linalg.norm(force) * np.linalg.norm(along)
    with pytest.raises(ReachError):
        spline.solve([3.0])
    with pytest.raises(DescriptionError, match='outside the grid of its surface at home'):
        on_a_surface(tmp_path, {**shifted, 'x': [0.1, 0.2]}, 'elsewhere')


# In a second simulator


def off_in_mujoco(mechanism: Mechanism, machine: Mechanism, step: float) -> float:
    """Error of MuJoCo's joints after a motion of 0.2 rad under our efforts, as a fraction of it.

    The motion starts and ends at rest. Equalities are as soft as the step (s) allows.

    Parameters
    ----------
    mechanism : Mechanism
        Gives the efforts.
    machine : Mechanism
        The same machine, described with what MuJoCo has; this one is moved.
    """
    mujoco = pytest.importorskip('mujoco', reason='MuJoCo is not installed')
    made = export_mjcf(machine.description)
    assert made.left_out == ()
    model = mujoco.MjModel.from_xml_string(made.text)
    model.opt.timestep, model.eq_solref[:] = step, [4.0 * step, 1.0]
    model.actuator_ctrllimited[:] = 0
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    home, rest = mechanism.home.y, np.zeros(len(mechanism.independent))
    path = MotionPath.through(
        [0.0, 0.2], [home, home + 0.2], start=(rest, rest), end=(rest, rest)
    )  # fmt: skip
    times = np.arange(round(path.end / step)) * step
    motors = [model.actuator(name).id for name in mechanism.actuated]
    for effort in mechanism.feedforward_batch(*path.sample(times + 0.5 * step)).actuated:
        data.ctrl[motors] = effort
        mujoco.mj_step(model, data)
    got = [data.qpos[model.joint(name).qposadr[0]] for name in machine.tree_joints]
    wanted = machine.solve(path(path.end)[0]).q
    return float(np.abs(got - wanted)[machine.tree_indices(machine.independent)].max() / 0.2)


def machines(folder: pathlib.Path, kind: str) -> tuple[Mechanism, Mechanism]:
    """A machine with a closure or contact of a kind, and its equivalent for MuJoCo."""
    crank_driven = {'independent': ['crank_joint'], 'actuated': ['crank_joint']}
    if kind == 'weld':  # both halves heavy: MuJoCo's bodies without mass have 1 mg
        parts = weld_parts()
        parts[-3] = dataclasses.replace(parts[-3], mass=0.4, center=-0.3 * ROD)
        weld = [{'name': 'loop', 'type': 'weld', 'frames': ['cut', 'end']}]
        made = load(folder, parts, kind, platform='rocker', closures=weld, **crank_driven)
        return made, made
    if kind == 'hinge':
        driven = {'independent': ['rocker_joint'], 'actuated': ['rocker_joint']}
        loop = [{'name': 'loop', 'type': 'hinge', 'frames': ['bearing', 'shaft']}]
        made = load(folder, hinge_parts(), kind, platform='rocker', closures=loop, **driven)
        return made, made
    if kind == 'coupling':
        parts = [crank(), Part('arm', 'crank', FOOT, (0.0, 0.6, 0.8), mass=0.8, center=(0.1, 0, 0))]
        cam = {'name': 'cam', 'type': 'coupling', 'joint': 'arm_joint', 'offset': 0.1,
               'of': {'crank_joint': [0.5, 0.3, -0.2]}}  # fmt: skip
        keys = {**crank_driven, 'platform': 'arm', 'home': {'arm_joint': 0.1}}
        made = load(folder, parts, kind, closures=[cam], **keys)
        return made, made
    if kind == 'differential':
        parts = [
            crank(), Part('arm', 'crank', FOOT, (0.0, 0.6, 0.8), mass=0.8, center=(0.1, 0, 0)),
            Part('slide', 'arm', (0.1, 0.0, 0.0), (1.0, 0.2, 0.0), 'prismatic', mass=0.5),
        ]  # fmt: skip
        belt = {'name': 'belt', 'type': 'coupling', 'joint': 'slide_joint', 'offset': 0.03,
                'of': {'arm_joint': [0.4], 'crank_joint': [-0.7]}}  # fmt: skip
        driven = ['crank_joint', 'arm_joint']
        keys = {'independent': driven, 'actuated': driven, 'home': {'slide_joint': 0.03}}
        made = load(folder, parts, kind, platform='slide', closures=[belt], **keys)
        return made, made
    if kind == 'distance':
        parts = [  # drawn with the crank elsewhere: at zero its ends are not as far apart
            dataclasses.replace(crank(), turn=(0.0, 0.0, -0.3)), frame('foot', 'crank', FOOT),
            rocker(), frame('seat', 'rocker', TIP - ROCKER),
        ]  # fmt: skip
        length = float(np.linalg.norm(ROD))
        bar = [{'name': 'rod', 'type': 'distance', 'frames': ['foot', 'seat'], 'length': length}]
        keys = {**crank_driven, 'platform': 'rocker', 'home': {'crank_joint': 0.3}}
        made = load(folder, parts, kind, closures=bar, **keys)
        return made, made
    if kind == 'cylindrical':
        return cylindrical(folder)
    if kind == 'surface':
        return on_a_cam(folder)
    if kind == 'plane':
        wall = {'name': 'slot', 'frame': 'pin', 'carrier': 'slot', 'normal': [0, 0, 1.0]}
        slot = load(folder, slot_parts(), kind, contacts=[{**wall, 'offset': 0.0}], **DRIVEN)
        sliding = Part('block', 'rocker', (0.3, 0.0, 0.0), (1.0, 0.0, 0.0), 'prismatic')
        pin = [{'name': 'pin', 'frames': ['pin', 'block']}]
        return slot, load(folder, [*slot_parts(), sliding], 'block', closures=pin, **DRIVEN)
    parts, frames, joint = CASES[kind]
    loop = [{'name': 'loop', 'type': kind, 'frames': list(frames)}]
    made = load(folder, parts, kind, platform='rocker', closures=loop, **crank_driven)
    return made, by_joints(folder, joint)


@pytest.mark.parametrize(
    'kind',
    ['weld', 'hinge', 'coupling', 'differential', 'distance', 'plane', 'universal', 'slider',
     'cylindrical', 'surface'],
)  # fmt: skip
def test_mujoco_moves_under_our_efforts_as_asked(tmp_path: pathlib.Path, kind: str) -> None:
    """For types that MuJoCo lacks, the machine is described by joints, points and couplings.

    The error depends on MuJoCo's step, and on the softness of its equalities, which depends on
    the step: it is MuJoCo's, not ours. A cam's coupling and pin, one on the other, are
    softer: 5, 1.3, 0.34, 0.08, 0.02 % of the way as the step is halved from 0.5 to 0.03 ms.
    """
    mechanism, machine = machines(tmp_path, kind)
    finer = kind in ('surface', 'differential')
    steps = (1.25e-4, 3.125e-5) if finer else (5e-4, 1.25e-4)
    coarse, fine = (off_in_mujoco(mechanism, machine, step) for step in steps)
    # Slides that stand for a contact have no mass here, and 1 mg there.
    most = 1e-3 if kind in ('plane', 'surface') else 1e-4
    assert fine < most and fine < 0.5 * coarse, (coarse, fine)


# Redundant equations of these types


def test_a_weld_in_a_planar_loop(tmp_path: pathlib.Path) -> None:
    """A rod welded in its middle: because of the hinges, three of six equations are independent."""
    whole = [
        *linkages.crank_and_rod('1', (0, 0, 0), 'ground', (0.0, 0.2, 0.0), (0.4, 0.1, 0.0)),
        Part('rocker', 'ground', (0.4, 0.0, 0.0), mass=1.0, center=(0.0, 0.1, 0.0)),
        frame('seat', 'rocker', (0.0, 0.3, 0.0)),
    ]
    halves = [
        *whole,
        Part('half', 'rocker', (0.0, 0.3, 0.0)),
        frame('cut', 'rod_1', (0.2, 0.05, 0.0), (0.3, 0.5, 0.7)),
        frame('end', 'half', (-0.2, -0.05, 0.0), (0.3, 0.5, 0.7)),
    ]
    driven = {'independent': ['crank_1_joint'], 'actuated': ['crank_1_joint']}
    keys = {**driven, 'platform': 'rocker'}
    pin = [{'name': 'pin', 'frames': ['tip_1', 'seat']}]
    weld = [{'name': 'weld', 'type': 'weld', 'frames': ['cut', 'end']}]
    cut = load(tmp_path, halves, 'cut', closures=weld, **keys)
    assert [(r.equations, r.independent) for r in cut.structure.redundant] == [(6, 3)]
    agree(cut, load(tmp_path, whole, 'whole', closures=pin, **keys), 0.4)


def test_two_hinges_in_line(tmp_path: pathlib.Path) -> None:
    """A door: the second hinge adds no constraint to the first."""
    parts = [
        Part('door', 'ground', mass=3.0, center=(0.4, 0.0, 0.5)),
        frame('above', 'door', (0.0, 0.0, 1.0)), frame('jamb', 'ground', (0.0, 0.0, 1.0)),
    ]  # fmt: skip
    driven = {'independent': ['door_joint'], 'actuated': ['door_joint']}
    second = [{'name': 'second', 'type': 'hinge', 'frames': ['jamb', 'above']}]
    door = load(tmp_path, parts, 'door', closures=second, **driven)
    plain = load(tmp_path, parts, 'plain', **driven)
    assert [(r.equations, r.independent) for r in door.structure.redundant] == [(5, 0)]
    for state in linkages.states(door, 2, 1.0, seed=11):
        effort = door.feedforward(*state)
        assert effort.actuated == pytest.approx(plain.feedforward(*state).actuated, rel=1e-12)
        assert not effort.loop_force_unique.any() and not effort.loop_force.any()


def test_frames_that_face_away(tmp_path: pathlib.Path) -> None:
    """Sines are also 0 for opposed axes; such a home is refused."""
    parts = hinge_parts()
    parts[-1] = frame('bearing', 'ground', (0.0, 0.0, 0.0), (np.pi, 0.0, 0.0))
    driven = {'independent': ['rocker_joint'], 'actuated': ['rocker_joint']}
    closures = [{'name': 'loop', 'type': 'hinge', 'frames': ['bearing', 'shaft']}]
    with pytest.raises(DescriptionError, match='axes Z of its frames are opposed at home'):
        load(tmp_path, parts, 'away', platform='rocker', closures=closures, **driven)


@pytest.mark.parametrize(
    ('closure', 'reason'),
    [
        ({'type': 'wield', 'frames': ['cut', 'end']}, "constraint type 'wield' is not supported"),
        ({'type': 'weld'}, r'closures\[0\].frames: is missing'),
        ({'type': 'weld', 'frames': ['cut']}, 'two links are needed'),
        ({'type': 'distance', 'frames': ['cut', 'end']}, r'closures\[0\].length: is missing'),
        ({'type': 'weld', 'frames': ['cut', 'end'], 'length': 1.0}, "'weld' takes no such key"),
        ({'type': 'coupling', 'joint': 'crank_joint'}, r'closures\[0\].of: is missing'),
        ({'type': 'coupling', 'joint': 'x', 'of': {'crank_joint': [1.0]}}, "joint 'x' does not"),
        ({'type': 'coupling', 'joint': 'crank_joint', 'of': {'x': [1.0]}}, "joint 'x' does not"),
        (
            {'type': 'coupling', 'joint': 'crank_joint', 'of': {'crank_joint': [1.0]}},
            'cannot be coupled to itself',
        ),
        (
            {'type': 'coupling', 'joint': 'crank_joint', 'of': {'cross_joint': [0.0]}},
            'a coefficient other than 0 is needed',
        ),
    ],
)
def test_what_a_type_needs(tmp_path: pathlib.Path, closure: dict[str, Any], reason: str) -> None:
    driven = {'independent': ['crank_joint'], 'actuated': ['crank_joint']}
    with pytest.raises(DescriptionError, match=reason):
        load(tmp_path, weld_parts(), 'bad', closures=[{'name': 'loop', **closure}], **driven)


@pytest.mark.parametrize('pair', [constraint_types.welds, constraint_types.hinges])
def test_a_weld_is_three_points_and_a_hinge_two(pair: Any) -> None:
    """The benchmark compares the same machine, with as many independent rows."""
    closure, points = pair()
    rows = [sum(c.size for c in m.structure.constraints) for m in (closure, points)]
    assert rows[0] == rows[1] and points.structure.redundant
    for state in linkages.states(closure, 3, 0.15, seed=12):
        wanted = closure.feedforward(*state).actuated
        assert points.feedforward(*state).actuated == pytest.approx(wanted, rel=1e-9)
