# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""TriMule on S4's circular path: torques by the model and with estimated inertia (S4 Table 7)."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.analysis.load_inertia.sampling import load_inertia
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.mechanism import Mechanism
from papers.comparison.comparison_table import ComparisonTable, rows_of
from papers.comparison.inputs import Inputs
from papers.comparison.measures import column_rms
from papers.comparison.published_estimators import published

# S4, Experiments: R, H, h; 30 m/min, 5 m/s².
RADIUS, HEIGHT, OFFSET = 0.3, 1.2, -0.19
SPEED, ACCELERATION = 0.5, 5.0
SAMPLES = 2001
PRINTED_MODEL = ('0.27', '0.64', '0.50')
PRINTED_ESTIMATE = ('0.32', '0.66', '0.57')
SOURCE = 'S4 Experiments, Table 7, Fig. 18'
COLUMNS = ('', 'motor_1', 'motor_2', 'motor_3')


def compare(inputs: Inputs) -> list[ComparisonTable]:
    """Torques along the path, and how they change with estimated inertia."""
    trimule = Mechanism.load('trimule')
    y, y_dot, y_ddot = circle()
    effort = trimule.feedforward_batch(y, y_dot, y_ddot)
    torque = effort.actuated[:, :3]
    columns = trimule.tree_indices(trimule.actuated)
    ratios = [trimule.description.actuators[name].ratio for name in trimule.actuated]
    turning = effort.a[:, columns] * ratios  # of the motors, rad/s²
    inertia = np.array(load_inertia(trimule, y))
    estimate = published().ellipse.values(np.ascontiguousarray(y[:, :2]))
    diagonal = (estimate - inertia) * turning
    still = trimule.feedforward_batch(y).actuated
    alone = estimate * turning - (torque - _without_acceleration(trimule, y, y_dot))
    measured = np.array([PRINTED_ESTIMATE, PRINTED_MODEL], dtype=float)
    rows = {
        'torque by the model, largest': np.abs(torque).max(axis=0),
        'torque by the model, rms': column_rms(torque),
        '  of it for gravity, rms': column_rms(still),
        '  of it for acceleration, rms': column_rms(inertia * turning),
        'model off measurement, rms, printed': PRINTED_MODEL,
        'estimate off measurement, rms, printed': PRINTED_ESTIMATE,
        'estimate off model, rms: at least, by the two above': np.abs(np.diff(measured, axis=0)[0]),
        'estimate off model, rms: at most, by the two above': measured.sum(axis=0),
        'estimate off model, rms: load inertia estimated, ours': column_rms(diagonal),
        'estimate off model, rms: and without couplings, ours': column_rms(alone),
    }
    notes = (
        'S4 publishes neither the measured torques, nor its dimensions, nor the speed along the '
        'path. Ours is a circle about (0, -0.19) m at z = 1.2 m, started and stopped with the '
        'printed acceleration. Errors against measurement cannot be known.',
        'But two errors against the same measurement bound the difference between model and '
        'estimate from both sides (triangle inequality).',
        'Estimate: ellipse membership of S4 Table 4 with corrected angle, in the plane of its '
        'map, 68 mm further out than the path.',
    )
    return [
        ComparisonTable(
            f'Torques of the motors on a circle of {RADIUS:g} m, N m', SOURCE, COLUMNS,
            rows_of(rows), notes, digits=3,
        )
    ]  # fmt: skip


def circle() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Position of P, velocity and acceleration (N, 3), m and s: one circle from rest to rest."""
    length, ramp = 2.0 * np.pi * RADIUS, SPEED / ACCELERATION
    end = length / SPEED + ramp
    t = np.linspace(0.0, end, SAMPLES)
    rising, falling = t < ramp, t > end - ramp
    speed = np.where(rising, ACCELERATION * t, np.where(falling, ACCELERATION * (end - t), SPEED))
    travelled = np.where(
        rising,
        0.5 * ACCELERATION * t**2,
        np.where(
            falling,
            length - 0.5 * ACCELERATION * (end - t) ** 2,
            SPEED * (t - 0.5 * ramp),
        ),
    )
    gain = np.where(rising, ACCELERATION, np.where(falling, -ACCELERATION, 0.0))
    angle = travelled / RADIUS
    out = np.column_stack([np.cos(angle), np.sin(angle), np.zeros_like(t)])
    along = np.column_stack([-np.sin(angle), np.cos(angle), np.zeros_like(t)])
    position = np.array([0.0, OFFSET, HEIGHT]) + RADIUS * out
    acceleration = gain[:, None] * along - (speed**2 / RADIUS)[:, None] * out
    return position, speed[:, None] * along, acceleration


def _without_acceleration(trimule: Mechanism, y: FloatArray, y_dot: FloatArray) -> FloatArray:
    """Torques (N, 3) for the same velocities without acceleration of the actuators."""
    moving = trimule.feedforward_batch(y, y_dot)
    columns = trimule.tree_indices(trimule.actuated)
    jacobian = moving.tangent[:, columns]
    y_ddot = -np.linalg.solve(jacobian, moving.a[:, columns, None])[:, :, 0]
    return trimule.feedforward_batch(y, y_dot, y_ddot).actuated
