# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The same job in numpy, written for the masticator alone: closed form, all limbs at once.

Every array may have leading axes, so the same code serves a single state and a batch vectorised
over samples. It gives torques only: no contact forces, no refusals.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from benchmark.states import Array
from papers.formulations.geometry import Geometry

_NEXT, _AFTER = [1, 2, 0], [2, 0, 1]


def cross(a: Array, b: Array) -> Array:
    """Cross product along the last axis, several times as fast as numpy's own."""
    return a[..., _NEXT] * b[..., _AFTER] - a[..., _AFTER] * b[..., _NEXT]


def dot(a: Array, b: Array) -> Array:
    """Scalar product along the last axis."""
    return np.einsum('...i,...i->...', a, b)


@dataclasses.dataclass(frozen=True)
class MandibleMotion:
    """Pose and motion of the mandible; twists are linear over angular, base axes."""

    position: Array  # (..., 3)
    rotation: Array  # (..., 3, 3)
    twist_map: Array  # (..., 6, 4) twist per independent velocity
    twist: Array  # (..., 6)
    twist_rate: Array  # (..., 6)


@dataclasses.dataclass(frozen=True)
class LimbLoads:
    """LimbLoads required by limbs and mandible without the couplers' axial forces; base axes."""

    platform: MandibleMotion
    arm: Array  # (..., 6, 3) platform origin to M
    coupler: Array  # (..., 6, 3) S to M
    gain: Array  # (..., 6) coupler . derivative of the crank pin by its angle
    theta_dot: Array  # (..., 6)
    on_pin: Array  # (..., 6, 3) force on the coupler at S, without axial force
    on_crank: Array  # (..., 6) torque, without axial force
    wrench_needed: Array  # (..., 6) on the platform, without axial forces


class NumpyMethod:
    """The masticator's minimum-norm torques."""

    def __init__(self, geometry: Geometry):
        assert geometry.sockets is not None
        self.geometry, self.sockets = geometry, geometry.sockets

    def torques(self, y: Array, y_dot: Array, y_ddot: Array, wrench: Array) -> Array:
        """Efforts (..., 6); arguments (..., 4), (..., 4), (..., 4), (..., 6)."""
        loads = self.loads(y, y_dot, y_ddot, wrench)
        of_twist = np.concatenate([loads.coupler, cross(loads.arm, loads.coupler)], axis=-1)
        jacobian = (of_twist / loads.gain[..., None]) @ loads.platform.twist_map
        transposed = np.swapaxes(jacobian, -1, -2)
        load = (
            np.swapaxes(loads.platform.twist_map, -1, -2) @ loads.wrench_needed[..., None]
            + transposed @ loads.on_crank[..., None]
        )
        return (jacobian @ np.linalg.solve(transposed @ jacobian, load))[..., 0]

    def loads(self, y: Array, y_dot: Array, y_ddot: Array, wrench: Array) -> LimbLoads:
        """Motion and loads of the limbs and the mandible; arguments as in :meth:`torques`."""
        g = self.geometry
        platform = self._platform(y, y_dot, y_ddot)
        arm = g.M @ np.swapaxes(platform.rotation, -1, -2)
        omega, omega_dot = platform.twist[..., None, 3:], platform.twist_rate[..., None, 3:]
        arm_dot = cross(omega, arm)
        joint_dot = platform.twist[..., None, :3] + arm_dot
        joint_ddot = (
            platform.twist_rate[..., None, :3] + cross(omega_dot, arm) + cross(omega, arm_dot)
        )
        crank, lever = self._cranks(platform.position[..., None, :] + arm - g.G)
        coupler = platform.position[..., None, :] + arm - g.G - crank
        gain = dot(coupler, lever)
        theta_dot = dot(coupler, joint_dot) / gain
        coupler_dot = joint_dot - theta_dot[..., None] * lever
        bend = dot(coupler_dot, coupler_dot) + theta_dot**2 * dot(coupler, crank)
        theta_ddot = (dot(coupler, joint_ddot) + bend) / gain

        # The ends of a uniform rod carry a third of its mass each, coupled by a sixth.
        pin_ddot = theta_ddot[..., None] * lever - theta_dot[..., None] ** 2 * crank - g.g
        tip_ddot = joint_ddot - g.g
        sixth = g.m_S[:, None] / 6.0
        on_pin, on_tip = sixth * (2.0 * pin_ddot + tip_ddot), sixth * (pin_ddot + 2.0 * tip_ddot)

        wrench_needed = self._platform_load(platform) - wrench
        wrench_needed[..., :3] += on_tip.sum(axis=-2)
        wrench_needed[..., 3:] += cross(arm, on_tip).sum(axis=-2)
        on_crank = g.I_G * theta_ddot + dot(lever, on_pin)
        return LimbLoads(platform, arm, coupler, gain, theta_dot, on_pin, on_crank, wrench_needed)

    def _platform(self, y: Array, y_dot: Array, y_ddot: Array) -> MandibleMotion:
        """Pose and motion with closed contacts: gamma and z follow from the other four."""
        sockets, n = self.sockets, self.sockets.M_H
        sines, cosines = np.sin(y[..., 2:]), np.cos(y[..., 2:])
        sa, sb, ca, cb = sines[..., 0], sines[..., 1], cosines[..., 0], cosines[..., 1]
        zero = np.zeros_like(sa)
        first = np.array([1.0, 0.0, 0.0])
        second = np.stack([zero, ca, sa], axis=-1)
        untwisted = np.stack([cb, sa * sb, -ca * sb], axis=-1)
        third = np.stack([sb, -sa * cb, ca * cb], axis=-1)
        # The line through the condyles, the platform's y axis, stays in the plane.
        sine, cosine = second @ n, untwisted @ n
        length = np.hypot(sine, cosine)[..., None]
        sine, cosine = sine[..., None] / length, cosine[..., None] / length
        x_axis = cosine * untwisted + sine * second
        y_axis = cosine * second - sine * untwisted
        rotation = np.stack([x_axis, y_axis, third], axis=-1)
        along = x_axis @ n
        gamma_a = cross(first, y_axis) @ n / along
        gamma_b = cross(second, y_axis) @ n / along
        arm = rotation @ sockets.middle
        position = np.stack([y[..., 0], y[..., 1], zero], axis=-1)
        position[..., 2] = -(position @ n + arm @ n + sockets.p2) / n[2]

        twist_map = np.zeros((*y.shape[:-1], 6, 4))
        twist_map[..., 0, 0] = twist_map[..., 1, 1] = 1.0
        twist_map[..., 2, :2] = -n[:2] / n[2]
        twist_map[..., 3:, 2] = first + gamma_a[..., None] * third
        twist_map[..., 3:, 3] = second + gamma_b[..., None] * third
        for k in (2, 3):
            twist_map[..., 2, k] = -cross(twist_map[..., 3:, k], arm) @ n / n[2]
        twist = (twist_map @ y_dot[..., None])[..., 0]

        # The part of the accelerations that remains when y_ddot is zero.
        a_dot, b_dot = y_dot[..., 2, None], y_dot[..., 3, None]
        omega = twist[..., 3:]
        carried = a_dot * first + b_dot * second
        gamma_dot = a_dot * gamma_a[..., None] + b_dot * gamma_b[..., None]
        bias = a_dot * b_dot * cross(first, second) + gamma_dot * cross(carried, third)
        turned = cross(bias, y_axis) + cross(omega, cross(omega, y_axis))
        bias = bias + (turned @ n / along)[..., None] * third
        twist_rate = (twist_map @ y_ddot[..., None])[..., 0]
        twist_rate[..., 3:] += bias
        centripetal = cross(bias, arm) + cross(omega, cross(omega, arm))
        twist_rate[..., 2] -= centripetal @ n / n[2]
        return MandibleMotion(position, rotation, twist_map, twist, twist_rate)

    def _cranks(self, reach: Array) -> tuple[Array, Array]:
        """Vectors (..., 6, 3) from shaft to pin, and their derivatives by the crank angles."""
        g = self.geometry
        a, b = dot(reach, g.X_C), dot(reach, g.Y_C)
        c = dot(reach, reach) + g.r**2 - g.L**2
        c = c / (2.0 * g.r)
        square = a * a + b * b
        root = g.branch * np.sqrt(square - c * c)
        cosine = ((a * c - b * root) / square)[..., None]
        sine = ((b * c + a * root) / square)[..., None]
        length = g.r[:, None]
        crank = length * (cosine * g.X_C + sine * g.Y_C)
        return crank, length * (cosine * g.Y_C - sine * g.X_C)

    def _platform_load(self, platform: MandibleMotion) -> Array:
        """Wrench (..., 6) about its origin that the mandible's motion and weight require."""
        g = self.geometry
        transposed = np.swapaxes(platform.rotation, -1, -2)
        inertia = platform.rotation @ g.I_EE @ transposed
        omega = platform.twist[..., 3:]
        momentum = (inertia @ omega[..., None])[..., 0]
        change = (inertia @ platform.twist_rate[..., 3:, None])[..., 0]
        force = g.m_EE * (platform.twist_rate[..., :3] - g.g)
        return np.concatenate([force, change + cross(omega, momentum)], axis=-1)
