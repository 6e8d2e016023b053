# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Measured wrenches, of food and others: the newest, for as long as they are fresh."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import check_frame, turned
from masticator_dynamics.engine.evaluation.results import Effort, Motion
from masticator_dynamics.errors import InputError

COMPONENTS = ('fx', 'fy', 'fz', 'tx', 'ty', 'tz')
LARGEST = 1e6  # N and N m; more is not a measurement and would drown everything else in rounding


class MeasuredWrench(NamedTuple):
    """Force and torque (6,) of the environment, in the axes of ``frame``, N and N m."""

    frame: str
    time: int  # ns, when it was measured
    wrench: FloatArray


Vector = list[float]  # (3,)


class Transport(NamedTuple):
    """How wrenches in a frame are transferred to the platform in one pose.

    In plain numbers: numpy takes several times as long for a few.
    """

    frame: str  # axes of the wrench
    point: str  # frame at whose origin it acts
    rotation: list[Vector]  # from the frame's axes to the base's, rows
    arm: Vector  # from the platform's origin to the point, base axes, m

    def __call__(self, wrench: FloatArray) -> FloatArray:
        """Wrench (6,) on the platform, base axes, about its origin: R f and R t + r x R f."""
        numbers, (rx, ry, rz) = wrench.tolist(), self.arm
        x, y, z = _turned(self.rotation, numbers[:3])
        tx, ty, tz = _turned(self.rotation, numbers[3:])
        return np.array((x, y, z, tx + ry * z - rz * y, ty + rz * x - rx * z, tz + rx * y - ry * x))


def _turned(rotation: list[Vector], vector: Vector) -> Vector:
    x, y, z = vector
    return [a * x + b * y + c * z for a, b, c in rotation]


class MeasuredWrenches:
    """The newest measured wrench on the link of each frame.

    Attributes
    ----------
    timeout : float
        Age from which on one does not count, s.
    publishers : int
        How many there were when the topic was read last.
    """

    def __init__(self, mechanism: Mechanism):
        self._mechanism, self.timeout = mechanism, 0.1
        self.publishers = 0
        self._newest: dict[str, MeasuredWrench] = {}

    def take(self, frame: str, stamp: int, received: int, wrench: FloatArray) -> None:
        """Keep a measurement.

        Parameters
        ----------
        frame : str
            Axes, and point unless ``point_frame`` is set.
        stamp, received : int
            When it was measured (0: unknown) and when it arrived, ns.
        wrench : (6,) array
            Force and torque, N and N m.

        Raises
        ------
        InputError
            For an unknown frame, or a component that is not finite or absurdly large.
        """
        check_frame(self._mechanism, frame)
        for name, value in zip(COMPONENTS, wrench.tolist(), strict=True):
            if not -LARGEST <= value <= LARGEST:
                unit = 'N' if name[0] == 'f' else 'N m'
                raise InputError(f'{name} is {value} {unit}, not a number up to {LARGEST:g}')
        # A stamp from the future (unsynchronised clocks) must not keep a force alive.
        time = min(stamp, received) if stamp else received
        self._newest[self._place(frame)] = MeasuredWrench(frame, time, wrench)

    def forget(self) -> None:
        """Forget all: after the clock was set back, old measurements would count as fresh."""
        self._newest.clear()

    def _place(self, frame: str) -> str:
        """Key of a measurement: those of the same place replace one another."""
        return frame

    def age(self, now: int, frames: Container[str] | None = None) -> float | None:
        """Seconds since the newest measurement of the oldest place, of all or of some frames.

        None before the first measurement.
        """
        newest = tuple(self._newest.values())
        times = [m.time for m in newest if frames is None or m.frame in frames]
        return (now - min(times)) * 1e-9 if times else None

    def state(self, now: int) -> str:
        """``none`` so far, ``fresh`` or ``stale``."""
        if not self._newest:
            return 'none'
        return 'stale' if self.stale(now) else 'fresh'

    def stale(self, now: int) -> list[str]:
        """Frames whose newest measurement is too old to be used at a time (ns)."""
        newest = tuple(self._newest.values())
        return [m.frame for m in newest if (now - m.time) * 1e-9 > self.timeout]

    def all_fresh(self, now: int) -> list[MeasuredWrench]:
        """The measurements that are fresh at a time (ns)."""
        newest = tuple(self._newest.values())
        return [m for m in newest if (now - m.time) * 1e-9 <= self.timeout]

    def on_links(self, measured: list[MeasuredWrench], q: FloatArray) -> dict[str, FloatArray]:
        """Wrenches (6,) in base axes about the links' origins, at tree positions (n_q,)."""
        chain = self._mechanism.frame_chain
        return {m.frame: turned(m.wrench, chain(m.frame).poses(q)[1]) for m in measured}


class BiteForce(MeasuredWrenches):
    """The newest measured wrench, whatever its frame, and its effect on the platform."""

    def __init__(self, mechanism: Mechanism):
        super().__init__(mechanism)
        self.point_frame = ''
        self._arms: dict[tuple[str, str], Vector | None] = {}

    def _place(self, frame: str) -> str:
        return ''

    def fresh(self, now: int) -> MeasuredWrench | None:
        """Return the measurement that is fresh at a time (ns), if any."""
        return next(iter(self.all_fresh(now)), None)

    def transport(self, frame: str, motion: Motion | Effort) -> Transport:
        """How wrenches in a frame are transferred to the platform in a motion."""
        point = self.point_frame or frame
        position, rotation = self._pose(motion, frame)
        if (frame, point) not in self._arms:
            self._arms[frame, point] = self._fixed_arm(frame, point)
        fixed = self._arms[frame, point]
        if fixed is not None:
            return Transport(frame, point, rotation, _turned(rotation, fixed))
        origin = position if point == frame else self._pose(motion, point)[0]
        start, _ = self._pose(motion, self._mechanism.description.platform)
        return Transport(
            frame, point, rotation, [a - b for a, b in zip(origin, start, strict=True)]
        )

    def _pose(self, motion: Motion | Effort, frame: str) -> tuple[Vector, list[Vector]]:
        """Position and rotation of a frame."""
        return self._mechanism.frame_chain(frame).in_numbers(motion.rows)

    def _fixed_arm(self, frame: str, point: str) -> Vector | None:
        """From the platform's origin to a point, axes of a frame, if all are on one body; m."""
        platform, frames = (
            self._mechanism.description.platform,
            self._mechanism.structure.tree.frames,
        )
        at, end, origin = frames[frame], frames[point], frames[platform]
        if not at.body == end.body == origin.body:
            return None
        arm: Vector = (at.rotation.T @ (end.position - origin.position)).tolist()
        return arm

    def on_platform(
        self, measured: MeasuredWrench, motion: Motion | Effort, transport: Transport | None = None
    ) -> FloatArray:
        """Wrench (6,) in base axes about the platform's origin, in a motion.

        Parameters
        ----------
        transport : Transport or None
            For this motion; used if it is for the measurement's frame.
        """
        frame, point = measured.frame, self.point_frame or measured.frame
        if transport is None or transport.frame != frame or transport.point != point:
            transport = self.transport(frame, motion)
        return transport(measured.wrench)
