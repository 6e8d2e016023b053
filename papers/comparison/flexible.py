# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Flexible rods of rrr4: frequencies, drive modes, and S3's claims over layouts and paths."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from masticator_dynamics.description import MechanismDescription, load_description
from masticator_dynamics.flexible import FlexibleModel, run_flexible
from masticator_dynamics.flexible.links import frequency_roots
from masticator_dynamics.motion.path import MotionPath
from masticator_dynamics.motion.spiral import Spiral
from papers.comparison.comparison_table import ComparisonTable, rows_of
from papers.comparison.finite_segments import segmented
from papers.comparison.flexible_course import PLATFORM, Course, courses
from papers.comparison.flexible_segments import (
    DRIVEN,
    PIECES,
    JointMotion,
    against_pieces,
    run_in_pieces,
)
from papers.comparison.inputs import Inputs

SPIRAL = Spiral()
MODES = 'abc'
S3_SHAPES, SHIPPED = 'S3 shapes', 'as shipped'
S3_SPIRAL = "S3's spiral"
HALF_SIDE = 0.120  # m, as shipped
HALF_SIDES = (0.105, HALF_SIDE, 0.135)
# Accurate enough for ratios; soft rods do not need an implicit method.
SAMPLES, METHOD, RTOL = 401, 'dop853', 1e-6
FINE_SAMPLES = 2001  # for curves over time: rods vibrate at some 860 Hz
IN_PIECES = f'{PIECES} pieces'


@dataclasses.dataclass(frozen=True)
class Case:
    """A run: shapes of the rods, half the side of the motors' square (m), path, drive mode."""

    shapes: str
    half_side: float
    path: str
    mode: str


def compare(inputs: Inputs) -> list[ComparisonTable]:
    """Frequencies, the three drive modes on the spiral, and claims over layouts and paths."""
    found = inputs.results(run, CASES, 'flexible rods')
    pieces = found.pop(PIECES_CASE)
    by_mode = {case.mode: found[case] for case in ON_SPIRAL if case.shapes == S3_SHAPES}
    models = {f'{case.shapes}, mode {case.mode}': found[case].joints for case in AGAINST_PIECES}
    return [
        _frequencies(load_description('rrr4')),
        _drive_modes(found),
        *courses(by_mode),
        against_pieces(pieces, models),
        _claims(found),
    ]


def run(case: Case) -> Course | JointMotion:
    """Drive rrr4 along a path; for rods in pieces, return the motion of the joints."""
    path = _paths()[case.path]
    if case.shapes == IN_PIECES:
        return run_in_pieces(_layout(SHIPPED, case.half_side), path, case.mode, SAMPLES)
    samples = FINE_SAMPLES if case in ON_SPIRAL and case.shapes == S3_SHAPES else SAMPLES
    layout = _layout(case.shapes, case.half_side)
    return Course.of(
        run_flexible(layout, path, case.mode, samples=samples, method=METHOD, rtol=RTOL)
    )


@functools.cache
def _layout(shapes: str, half_side: float) -> MechanismDescription:
    description = load_description('rrr4')
    if half_side != HALF_SIDE:
        description = with_half_side(description, half_side)
    return one_fixed_free(description) if shapes == S3_SHAPES else description


def one_fixed_free(description: MechanismDescription) -> MechanismDescription:
    """S3's model: one fixed-free shape for every rod."""
    links = {
        name: link.changed(modes=1, boundary='fixed-free')
        for name, link in description.flexible.items()
    }
    return dataclasses.replace(description, flexible=links)


def _frequencies(shipped: MechanismDescription) -> ComparisonTable:
    """Lowest vibration of a driven rod with the platform held, motors free and held."""
    beam = next(iter(FlexibleModel(shipped).beams.values()))
    unit = np.sqrt(beam.stiffness[0] / beam.mass_per_length) / beam.length**2 / (2.0 * np.pi)
    boundaries = 'pinned-pinned', 'clamped-pinned'
    exact = [frequency_roots(boundary, 1)[0] ** 2 * unit for boundary in boundaries]
    rows: dict[str, Any] = {'beam theory: pinned-pinned; clamped-pinned': exact}
    models = {
        'one fixed-free shape per rod, as S3': FlexibleModel(one_fixed_free(shipped)),
        'shapes as shipped': FlexibleModel(shipped),
    }
    for name, cuts, half_ends in (
        ('nine equal pieces on springs, as S3', 8, False),
        ('nine springs, end pieces of half the length', 9, True),
    ):
        segments = segmented(shipped, cuts, half_ends)
        models[name] = FlexibleModel(segments.description, segments.springs)
    motors = shipped.actuated
    for name, model in models.items():
        # The four passive rods, between pins, never have a higher frequency than the driven ones.
        free = model.frequencies(model.home, PLATFORM)[7]
        held = model.frequencies(model.home, (*PLATFORM, *motors))
        rows[name] = free, held[4] if len(held) > 4 else None
    return ComparisonTable(
        'Lowest frequency of a driven rod, platform held, Hz',
        'S3 Secs. 3 and 5, Fig. 14',
        ('', 'motors free', 'motors held'),
        rows_of(rows),
        (
            'S3 prints no frequency. Its motors are sources of torque, so a driven rod is free to '
            'turn at both ends: one fixed-free shape gives a frequency 48 % too high. With held '
            'motors, that shape cannot bend at all, because its tip would have to move.',
            'Equal pieces have no spring in their outer halves, which matters only if a beam '
            'carries a moment at its end: with held motors they are too stiff, with free motors '
            'they are not.',
        ),
    )


def _drive_modes(found: dict[Case, Course]) -> ComparisonTable:
    rows = {}
    for case in ON_SPIRAL:
        course = found[case]
        tips = 1e3 * np.abs(course.tip_deflection).max(axis=0)
        rows[f'{case.shapes}, mode {case.mode}'] = [
            *tips[:DRIVEN], tips[DRIVEN:].max(), np.abs(course.driven_rates).max(),
            1e6 * course.end_point_error.max(), course.energy_gap,
        ]  # fmt: skip
    return ComparisonTable(
        "Flexible rods along S3's spiral, largest values",
        'S3 Sec. 4, Figs. 8 to 12',
        (
            '', 'tip 1, mm', 'tip 2, mm', 'tip 3, mm', 'tip 4, mm', 'tips 5-8, mm',
            'rate error 1-4, rad/s', 'end point, µm', 'energy gap',
        ),
        rows_of(rows),
        (
            'S3 prints only curves, and neither the positions of its motors nor the inertia of '
            'its platform: ours are assumptions.',
            'Mode a leaves motor 4 idle, so rod 4 hardly bends in it, and the other three bend '
            'more.',
            'In all modes, the rods follow the torques slowly: the modes differ in torque, and '
            'the vibration is caused by the step of acceleration at the beginning of the path.',
        ),
    )  # fmt: skip


def _claims(found: dict[Case, Course]) -> ComparisonTable:
    """Ratios between drive modes over layouts and paths."""
    rows: dict[str, Any] = {}
    for side, path in itertools.product(HALF_SIDES, PATHS):
        a, b, c = (found[Case(S3_SHAPES, side, path, mode)].sizes() for mode in MODES)
        rows[f'half side {side * 1e3:.0f} mm, {path}'] = np.concatenate([a / b, c / b])
    spread = np.array(list(rows.values()))
    rows['S3 claims'] = '2-3', '2-3', '> 1', '> 1', '> 1', None
    rows['ours, median'] = np.median(spread, axis=0)
    rows['ours, smallest'] = spread.min(axis=0)
    rows['ours, largest'] = spread.max(axis=0)
    better = (spread > 1.0).sum(axis=0)
    rows['cases above 1'] = [f'{n} of {len(spread)}' for n in better]
    columns = [
        f'{what}, {pair}'
        for pair in ('a/b', 'c/b')
        for what in ('tips 1-4', 'rates 1-4', 'end point')
    ]
    return ComparisonTable(
        "S3's claims over layouts and paths: ratios of root mean squares between drive modes",
        'S3 Secs. 4 and 6',
        ('', *columns),
        rows_of(rows),
        (
            'S3 claims that amplitudes are two to three times as large in mode a as in b and c, '
            'and that b is slightly better than c. Ours are from the same model, one fixed-free '
            'shape per rod.',
            'Tips and rates: root mean square, over time and the driven rods, of the deflection '
            'and of the deviation of the angular rate. End point: root mean square of its '
            'distance from the path.',
            'On the line, which begins and ends gently, rods vibrate a hundred times less than on '
            'the spiral, so its ratios of rates are ratios of very small values, known to some 10 '
            '%.',
        ),
        digits=3,
    )


def with_half_side(description: MechanismDescription, half_side: float) -> MechanismDescription:
    """Return rrr4 with its motors on another square, with home chosen as in its YAML file."""
    joints = []
    home = dict(description.home)
    reach = np.array([np.cos(SPIRAL.phi), np.sin(SPIRAL.phi)]) * 0.035
    for joint in description.tree.joints:
        if joint.name.startswith('motor_'):
            leg = int(joint.name[-1])
            corner = np.sign(joint.position[:2]) * half_side
            joint = dataclasses.replace(joint, position=np.array([*corner, 0.0]))
            turn = 0.5 * np.pi * (leg - 1)
            c, s = np.cos(turn), np.sin(turn)
            across = np.array([[c, -s], [s, c]]) @ reach - corner
            bend = np.arccos(0.5 * np.linalg.norm(across) / 0.1)
            angle = np.arctan2(across[1], across[0]) + bend
            home[f'motor_{leg}'] = float(np.arctan2(np.sin(angle), np.cos(angle)))
            home[f'elbow_{leg}'] = float(-2.0 * bend)
        joints.append(joint)
    tree = dataclasses.replace(description.tree, joints=tuple(joints))
    return dataclasses.replace(description, tree=tree, home=home)


def _path(points: npt.NDArray[Any]) -> MotionPath:
    """A path through points x + iy (m), at rest at its ends."""
    t = np.linspace(0.0, SPIRAL.duration, len(points))
    rows = np.column_stack([points.real, points.imag, np.full(len(t), SPIRAL.phi)])
    still = (np.zeros(3), np.zeros(3))
    return MotionPath.through(t, rows, start=still, end=still, names=PLATFORM)


@functools.cache
def _paths() -> dict[str, MotionPath]:
    share = np.linspace(0.0, 1.0, 41)
    smooth = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    circle = 0.015 * np.exp(2j * np.pi * smooth) - 0.015
    return {
        S3_SPIRAL: SPIRAL.path(),
        'the spiral, other way': Spiral(turn=-SPIRAL.turn).path(),
        'circle of 15 mm': _path(circle),
        'line to (20, 10) mm': _path(smooth * (0.020 + 0.010j)),
    }


PATHS = tuple(_paths())
ON_SPIRAL = [
    Case(shapes, HALF_SIDE, S3_SPIRAL, mode) for shapes in (S3_SHAPES, SHIPPED) for mode in MODES
]
ELSEWHERE = itertools.starmap(Case, itertools.product([S3_SHAPES], HALF_SIDES, PATHS, MODES))
AGAINST_PIECES = [case for case in ON_SPIRAL if case.mode == 'b']
PIECES_CASE = Case(IN_PIECES, HALF_SIDE, S3_SPIRAL, 'b')
# The longest runs first.
CASES = list(dict.fromkeys([PIECES_CASE, *reversed(ON_SPIRAL), *ELSEWHERE]))
