# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Identification of other mechanisms, from efforts of the same with other masses and noise."""

import numpy as np
import pytest
import samples
from matplotlib.figure import Figure

from identification.hard_truths import measured, sines
from masticator_dynamics import Mechanism
from masticator_dynamics.identification import report as pages
from masticator_dynamics.identification.identify import identify
from masticator_dynamics.identification.measured_motion import measured_motion
from masticator_dynamics.identification.robot_log import RobotLog

RATE, NOISE = 500.0, 0.002  # Hz; of the usual effort


def _log(mechanism: Mechanism, name: str) -> RobotLog:
    """12 s of sums of sines well inside the workspace, with masses up to 20 % other."""
    box, rng, time = samples.BOXES[name], np.random.default_rng(1), np.arange(6000) / RATE
    rows = np.zeros((3, len(time), len(box.lower)))
    for j, size in enumerate(0.075 * (box.upper - box.lower)):
        for w in 2.0 * np.pi * np.array([0.4, 0.9, 1.3, 1.9]):
            angle = w * time + rng.uniform(0.0, 6.28)
            rows[:, :, j] += size * np.array(
                [np.sin(angle), w * np.cos(angle), -w * w * np.sin(angle)]
            )
    rows[0] += 0.5 * (box.lower + box.upper)
    known = mechanism.parameters()
    links = [name.removesuffix('.mass') for name in known if name.endswith('.mass')]
    factors = {link: 1.0 + 0.2 * rng.uniform(-1.0, 1.0) for link in links}
    owners = {name: name.rpartition('.')[0] for name in known}
    other = mechanism.with_parameters(
        {n: x * factors[owners[n]] for n, x in known.items() if owners[n] in factors}
    )
    effort = np.array(other.feedforward_batch(*rows).actuated)
    noise = NOISE * np.sqrt((effort**2).mean()) * rng.normal(size=effort.shape)
    position = np.array(mechanism.solve_batch(*rows).position)
    return RobotLog(name, time, position, effort + noise, None)


@pytest.mark.parametrize('name', samples.swept(['rcid', 'rrr4', 'five_bar', 'trimule']))
def test_masses_are_found(name, monkeypatch) -> None:
    mechanism = Mechanism.load(samples.file_of(name))
    log = _log(mechanism, name)
    found = identify(mechanism.description, log.part(slice(0, 4500)), log.part(slice(4500, None)))
    before, after = found.errors
    assert after < NOISE < 0.5 * before
    alone = len(mechanism.actuated) == len(mechanism.independent)
    figures: list[Figure] = []
    monkeypatch.setattr(pages, 'image', lambda figure, text: figures.append(figure) or '')
    page = pages.report(found, name, name)
    assert ('encoders cannot be checked' in page) == alone
    # Motors of rcid and trimule slide their joints, those of trimule by a screw: efforts in N m.
    slides = name in ('rcid', 'trimule')
    labels = [axis.get_xlabel() for axis in figures[-1].axes]
    assert labels == [f'velocity of the joint, {"m" if slides else "rad"}/s'] * len(labels)
    for parameter in found.determined:
        ending = parameter.rpartition('.')[2]
        turns = name != 'rcid'  # rotors of trimule turn
        unit = {'mass': 'kg', 'mx': 'kg m', 'rotor_inertia': 'kg m^2' if turns else 'kg'}.get(
            ending
        )
        assert unit is None or f'<td>{parameter}</td><td>{unit}</td>' in page


@pytest.mark.parametrize('name', ['trimule', 'rrr4'])
def test_encoders_tell_the_pose_whatever_gears_are_between(name) -> None:
    """Screws of trimule turn 100 times per metre; what no model blurs leaves nothing open."""
    mechanism = Mechanism.load(samples.file_of(name))
    log = _log(mechanism, name).part(slice(0, 500))
    measured = measured_motion(mechanism, log, 15.0)
    assert np.abs(measured.misfit).max() < 1e-9


def test_friction_of_motors_that_drive_two_joints() -> None:
    """Nuts of a SCARA's spindle turn and lift it together; friction and rotors are the nuts'."""
    file = samples.file_of('archetype scara')
    mechanism = Mechanism.load(file)
    reach = 0.5 * np.array(samples.ARCHETYPES['scara'])
    robot = measured(file, sines(mechanism, mechanism.home.y, reach, 24.0, 2), 1)
    end = round(0.75 * len(robot.log.time))
    parts = robot.log.part(slice(0, end)), robot.log.part(slice(end, None))
    found = identify(robot.description, *parts, cutoff=10.0)
    assert found.mistakes == ()
    assert found.errors[1] < 1.2 * found.held_out.error(found.plain)
    for joint in mechanism.actuated:
        friction = found.values[f'{joint}.friction']
        assert friction == pytest.approx(robot.truth[f'{joint}.friction'], rel=0.15)
