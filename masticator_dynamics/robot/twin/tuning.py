# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gains with which PD alone follows best while keeping the margins that a robot needs.

Margins are those of the servo loops of simulated drives. With equal gains the loops of all joints
decouple into one for each mode of the mechanism, with inertias J that solve det(M - J A^T A) = 0,
where M is the mass matrix of the independent coordinates and A the actuated velocities per
independent velocity. Each is the double integrator 1 / (J s^2) with a hold over the servo's step,
after the current loop's lag; the velocity is the filtered difference of positions. Friction, which
only damps, is left out.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import scipy.linalg

from masticator_dynamics.drives.configuration import Gains
from masticator_dynamics.drives.simulator.simulation_file import SimulatedDrive
from masticator_dynamics.engine.arrays import FloatArray, rms
from masticator_dynamics.errors import InputError, SimulationError
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.twin.control_chain import ControlKind
from masticator_dynamics.robot.twin.study import StudySetting
from masticator_dynamics.workers import Progress, in_order

_FREQUENCIES = 3000
_LOWEST = 1.0  # Hz


@dataclasses.dataclass(frozen=True)
class Margins:
    """Margins of a loop, or the least of several."""

    gain: float  # factor by which all gains can be raised; below 1 the loop is unstable
    phase: float  # rad


def modal_inertias(mechanism: Mechanism, poses: FloatArray) -> tuple[float, float]:
    """Least and largest modal inertia at the joints, kg m^2, over poses (N, n_y)."""
    modal = []
    for y in poses:
        motion = mechanism.solve(y)
        turned = mechanism.jacobian_actuated_from_independent(motion)
        modal.append(scipy.linalg.eigvalsh(mechanism.mass_matrix(motion), turned.T @ turned))
    return float(np.min(modal)), float(np.max(modal))


def margins(gains: Gains, inertia: float, drive: SimulatedDrive, step: float) -> Margins:
    """Margins of the loop that turns an inertia, kg m^2.

    Parameters
    ----------
    gains : Gains
        Of the position loop, at the joint.
    inertia : float
        At the joint, kg m^2.
    drive : SimulatedDrive
        For the lags of its filters and current loop.
    step : float
        Of the loop, s.
    """
    frequency = np.geomspace(_LOWEST, 0.499 / step, _FREQUENCIES)
    loop = _open_loop(gains, inertia, drive, step, np.exp(2j * np.pi * frequency * step))
    size, angle = np.abs(loop), np.unwrap(np.angle(loop))
    angle += math.tau * round((-math.pi - angle[0]) / math.tau)  # it begins near -180 degrees
    ahead = angle + math.pi
    falls = np.flatnonzero((ahead[:-1] > 0.0) & (ahead[1:] <= 0.0))
    crosses = np.flatnonzero((size[:-1] > 1.0) & (size[1:] <= 1.0))
    gain = 1.0 / float(size[falls].max()) if len(falls) else 0.0
    phase = float(ahead[crosses].min()) if len(crosses) else -math.inf
    return Margins(gain, phase)


def least_margins(
    gains: Gains, inertias: tuple[float, float], drives: list[SimulatedDrive], step: float
) -> Margins:
    """The least margins over a range of inertias and over drives.

    Parameters
    ----------
    gains : Gains
        Of the position loop, at the joint.
    inertias : tuple of float
        The least and the largest, kg m^2.
    drives : list of SimulatedDrive
        All that have these gains.
    step : float
        Of the loop, s.
    """
    by_case = [
        margins(gains, inertia, drive, step)
        for inertia in np.geomspace(*inertias, 3).tolist()
        for drive in dict.fromkeys(drives)
    ]
    return Margins(min(m.gain for m in by_case), min(m.phase for m in by_case))


def _open_loop(
    gains: Gains, inertia: float, drive: SimulatedDrive, step: float, z: FloatArray
) -> FloatArray:
    """Transfer function of controller, current loop and inertia, sampled by the step."""
    filter_pole = math.exp(-math.tau * drive.velocity_filter * step)
    velocity = (1.0 - filter_pole) / (1.0 - filter_pole / z) * (1.0 - 1.0 / z) / step
    pole = math.exp(-math.tau * drive.current_bandwidth * step)
    lag = 1.0 / (math.tau * drive.current_bandwidth * step)
    current = (1.0 - pole) / (z - pole)
    mean = 1.0 + (current - 1.0) * lag * (1.0 - pole)  # over the step, as the motor's effort is
    turned = step * step / (2.0 * inertia) * (z + 1.0) / (z - 1.0) ** 2
    loop: FloatArray = (gains.position + gains.velocity * velocity) * mean * turned
    return loop


# The least that textbooks on servo loops require: 6 dB and 30 degrees.
NEEDED = Margins(2.0, math.radians(30.0))
POSITION_GAINS = np.geomspace(2.0, 128.0, 13)
VELOCITY_GAINS = np.geomspace(0.01, 0.32, 11)
_POSES = 9
_RIPPLE_TIME = 0.05  # s at the end, at rest


@dataclasses.dataclass(frozen=True)
class Trial:
    """PD alone with some gains."""

    gains: Gains
    margins: Margins
    incisor_rms: float  # m; infinite where the loop is unstable
    # Standard deviation, N m, of the worst motor's torque over the last 0.05 s, at rest.
    ripple: float

    @property
    def safe(self) -> bool:
        """Whether margins are kept."""
        return self.margins.gain >= NEEDED.gain and self.margins.phase >= NEEDED.phase


@dataclasses.dataclass(frozen=True)
class Tuning:
    """All trials."""

    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial:
        """The trial with the least error that keeps the margins."""
        return min((t for t in self.trials if t.safe), key=lambda trial: trial.incisor_rms)

    def text(self) -> str:
        """Both, as readable text."""
        return '\n'.join(
            f'{title}: {trial.gains.position:.3g} N m/rad, {trial.gains.velocity:.3g} N m s/rad; '
            f'incisor {1e3 * trial.incisor_rms:.4f} mm; margins '
            f'{20.0 * math.log10(trial.margins.gain):.1f} dB, '
            f'{math.degrees(trial.margins.phase):.0f} degrees; '
            f'torque ripple at rest {1e3 * trial.ripple:.1f} mN m'
            for title, trial in (
                ('Best of PD alone with 6 dB and 30 degrees', self.best),
                ('Best of PD alone without margins', min(self.trials, key=lambda t: t.incisor_rms)),
            )
        )

    def table(self) -> tuple[list[str], FloatArray]:
        """Columns and rows, SI units; margins as a factor and in rad."""
        rows = [
            [t.gains.position, t.gains.velocity, t.margins.gain, t.margins.phase, t.incisor_rms,
             t.ripple]
            for t in self.trials
        ]  # fmt: skip
        names = ['position_gain', 'velocity_gain', 'gain_margin', 'phase_margin', 'incisor_rms']
        return [*names, 'ripple'], np.array(rows)


def tune(setting: StudySetting, progress: Progress = lambda share: None) -> Tuning:
    """Try PD alone with all pairs of gains whose linear loops are stable.

    ``progress`` is called with the fraction that is done, 0 to 1.

    Raises
    ------
    InputError
        If none keeps the margins.
    """
    poses = setting.path.sample(np.linspace(setting.path.start, setting.path.end, _POSES))[0]
    inertias = modal_inertias(setting.model, poses)
    servos = list(setting.simulation.drives.values())
    pairs = []
    for position in POSITION_GAINS.tolist():
        for velocity in VELOCITY_GAINS.tolist():
            gains = Gains(position=position, velocity=velocity)
            margins = least_margins(gains, inertias, servos, setting.simulation.step)
            if margins.gain > 1.0 and margins.phase > 0.0:
                pairs.append((gains, margins))
    if not any(Trial(*pair, 0.0, 0.0).safe for pair in pairs):
        raise InputError('no gains of the search keep the margins')
    trials = in_order(_try, [(setting, *pair) for pair in pairs], progress=progress)
    return Tuning(tuple(trials))


def _try(setting: StudySetting, gains: Gains, margins: Margins) -> Trial:
    try:
        record = setting.run(ControlKind.NONE, gains)
    except SimulationError:
        return Trial(gains, margins, math.inf, math.inf)
    rest = round(_RIPPLE_TIME * setting.drives.cycle_rate)
    return Trial(
        gains,
        margins,
        rms(record.distance),
        float(record.effort[-rest:].std(axis=0).max()),
    )
