# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts and forces of a cycle, drawn where they act: for RViz, while somebody looks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from geometry_msgs.msg import Point
from rclpy.lifecycle import LifecycleNode
from visualization_msgs.msg import Marker

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.results import Effort
from masticator_dynamics.ros.common import markers
from masticator_dynamics.ros.dynamics.cycle import CycleAnswer, FeedforwardCycle
from masticator_dynamics.ros.dynamics.effort_limits import EffortClamp
from masticator_dynamics.ros.dynamics.force_scale import (
    LONGEST,
    ForceScale,
    Reference,
    drawn_length,
    effort_limits,
)
from masticator_dynamics.ros.dynamics.measured_wrenches import BiteForce, MeasuredWrenches

# Relative to the size of the mechanism.
_RADIUS, _LINE = 0.15, 0.025  # of an arc, and how thick it is
_SHAFT = 0.03  # of an arrow
_TEXT = 0.05
_SHORTEST = 0.1  # part of full length; what is shorter would be a speck

_FULL_TURN = 1.8 * math.pi  # rad, of an arc at the limit
_LEVELS, _POINTS = 90, 24  # drawn lengths of an arc, and points of the longest
_FOOD, _OTHERS, _SOCKETS, _CLOSURES = (
    (1.0, 0.3, 0.35), (0.85, 0.4, 1.0), (0.2, 0.85, 0.95), (0.75, 0.75, 0.8),
)  # fmt: skip


class _Place(NamedTuple):
    """Which drawing of which group, and the frame in which it is."""

    group: str
    number: int
    frame: str


class ForceMarkers:
    """What acts on a mechanism, as one topic of drawings.

    Efforts of turning joints are arcs about their axes, of sliding ones arrows along them, coloured
    by their share of the limit. Forces are arrows that begin where they act, torques arcs about
    their axis, both with their amount. Lengths: :mod:`force_scale`.

    Parameters
    ----------
    frame_prefix : str
        Put before the names of frames.
    cycle : FeedforwardCycle
        Computes forces of contacts.
    bite, external : measured wrenches
        Drawn while they are fresh.
    clamp : EffortClamp
        Knows which part of the limits may be used.

    Attributes
    ----------
    closures : bool
        Whether forces in closures are drawn, too.
    """

    def __init__(
        self,
        node: LifecycleNode,
        mechanism: Mechanism,
        frame_prefix: str,
        cycle: FeedforwardCycle,
        bite: BiteForce,
        external: MeasuredWrenches,
        clamp: EffortClamp,
    ):
        self._mechanism, self._cycle = mechanism, cycle
        self._bite, self._external, self._clamp = bite, external, clamp
        self._pen = _Pen(mechanism, frame_prefix)
        self._scale = ForceScale.of(mechanism)
        joints = {joint.name: joint for joint in mechanism.description.tree.joints}
        self._motors = [joints[name] for name in mechanism.actuated]
        self._references = [Reference(math.inf) for _ in self._motors]
        origins = mechanism.structure.tree.poses(mechanism.home.q).origins
        middle = 0.5 * (origins.max(axis=0) + origins.min(axis=0))
        self._above = middle + [0.0, 0.0, 0.75 * mechanism.structure.extent()]
        self.closures = False
        self._board = markers.Board(node)

    def show(self, time: int, answer: CycleAnswer) -> None:
        """Draw a cycle of a time (ns), if somebody looks and it is time for the next drawing."""
        if not self._board.is_due(time):
            return
        self._board.show(
            time, [*self._efforts(answer.actuated), *self._forces(time, answer.effort)]
        )

    def destroy(self) -> None:
        """Destroy the topic."""
        self._board.destroy()

    def _efforts(self, efforts: FloatArray) -> Iterator[Marker]:
        """Efforts (n_u,) of the motors, and the largest share in words."""
        limits = effort_limits(self._mechanism, efforts, self._clamp.scale)
        shares = []
        for number, (joint, effort, limit) in enumerate(
            zip(self._motors, efforts.tolist(), limits.tolist(), strict=True)
        ):
            reference = self._references[number]
            reference.limit = limit
            share = reference.share(abs(effort))
            shares.append(share)
            axis = joint.axis if effort >= 0.0 else -joint.axis
            colour = markers.by_share(share) if math.isfinite(limit) else markers.WHITE
            draw = self._pen.arrow if joint.unit == 'm' else self._pen.arc
            yield from draw(_Place('efforts', number, joint.child), axis, share, colour)
        if shares:
            yield self._words(int(np.argmax(shares)), efforts, limits)

    def _words(self, number: int, efforts: FloatArray, limits: FloatArray) -> Marker:
        name, unit = self._mechanism.actuated[number], self._mechanism.effort_units[number]
        text = f'{name}: {efforts[number]:.3g} {unit}'
        if math.isfinite(limits[number]):
            text += f', {100.0 * abs(efforts[number]) / limits[number]:.2g}% of its limit'
        base = _Place('efforts', -1, self._mechanism.description.base)
        return self._pen.text(base, self._above, text)

    def _forces(self, time: int, effort: Effort) -> Iterator[Marker]:
        """Forces of contacts and closures, and the wrenches that count at a time (ns)."""
        contacts = self._mechanism.description.contacts
        forces = self._cycle.contact_forces(effort)
        for number, (contact, force) in enumerate(zip(contacts, forces, strict=True)):
            yield from self._force('contacts', 3 * number, contact.frame, force, _SOCKETS)
        if self.closures:
            yield from self._closure_forces(effort)
        if (bite := self._bite.fresh(time)) is not None:
            point = self._bite.point_frame or bite.frame
            wrench = self._turned(bite.wrench, bite.frame, point, effort)
            yield from self._wrench('bite_force', 0, point, wrench, _FOOD)
        for number, measured in enumerate(self._external.all_fresh(time)):
            yield from self._wrench(
                'external_wrench', number, measured.frame, measured.wrench, _OTHERS
            )

    def _closure_forces(self, effort: Effort) -> Iterator[Marker]:
        """Of the first frame's body on the second's, at the second frame."""
        closures = self._mechanism.description.closures
        for number, (closure, force) in enumerate(zip(closures, effort.loop_force, strict=True)):
            if closure.frames:
                frame = closure.frames[1]
                turn = self._mechanism.frame_chain(frame).poses(effort.q)[1]
                yield from self._force('closures', 3 * number, frame, force @ turn, _CLOSURES)

    def _turned(self, wrench: FloatArray, frame: str, into: str, effort: Effort) -> FloatArray:
        """A wrench (6,) in the axes of another frame; the point stays where it is."""
        if frame == into:
            return wrench
        chain = self._mechanism.frame_chain
        turn = chain(frame).poses(effort.q)[1].T @ chain(into).poses(effort.q)[1]
        return (wrench.reshape(2, 3) @ turn).reshape(6)

    def _wrench(
        self, group: str, number: int, frame: str, wrench: FloatArray, colour: markers.Colour
    ) -> Iterator[Marker]:
        yield from self._force(group, 3 * number, frame, wrench[:3], colour)
        amount = float(np.linalg.norm(wrench[3:]))
        if amount > 0.0:
            share = self._scale.torque.share(amount)
            axis = wrench[3:] / amount
            yield from self._pen.arc(_Place(group, 3 * number + 2, frame), axis, share, colour)

    def _force(
        self, group: str, number: int, frame: str, force: FloatArray, colour: markers.Colour
    ) -> Iterator[Marker]:
        """An arrow from the frame's origin along a force (3,), N, with its amount at the tip."""
        amount = float(np.linalg.norm(force))
        if not amount > 0.0:
            return
        share = self._scale.force.share(amount)
        direction = force / amount
        for arrow in self._pen.arrow(_Place(group, number, frame), direction, share, colour):
            yield arrow
            tip, words = direction * self._pen.length(share), _Place(group, number + 1, frame)
            yield self._pen.text(words, 1.15 * tip, f'{amount:.3g} N', colour)


class _Pen:
    """Makes drawings of the size of a mechanism; each is made once and then changed."""

    def __init__(self, mechanism: Mechanism, frame_prefix: str):
        self._prefix, self._size = frame_prefix, mechanism.structure.extent()
        self._made: dict[tuple[str, int], Marker] = {}
        self._arcs: dict[tuple[bytes, int], list[Point]] = {}

    def length(self, share: float) -> float:
        """Of the arrow for a share of the reference, m."""
        return LONGEST * self._size * drawn_length(share)

    def arrow(
        self, at: _Place, direction: FloatArray, share: float, colour: markers.Colour
    ) -> Iterator[Marker]:
        """An arrow from a frame's origin; none if it would be too short to be seen."""
        if drawn_length(share) < _SHORTEST:
            return
        drawn = self._marker(Marker.ARROW, at, colour)
        end = direction * self.length(share)
        markers.arrow_between(drawn, np.zeros(3), end, _SHAFT * self._size)
        yield drawn

    def arc(
        self, at: _Place, axis: FloatArray, share: float, colour: markers.Colour
    ) -> Iterator[Marker]:
        """An arc about an axis through a frame's origin, right-handed, with a barbed end."""
        if drawn_length(share) < _SHORTEST:
            return
        drawn = self._marker(Marker.LINE_STRIP, at, colour)
        drawn.scale.x = _LINE * self._size
        drawn.points = self._arc_points(axis, max(round(_LEVELS * drawn_length(share)), 1))
        yield drawn

    def text(
        self, at: _Place, position: FloatArray, text: str, colour: markers.Colour = markers.WHITE
    ) -> Marker:
        """A text that faces whoever looks."""
        drawn = self._marker(Marker.TEXT_VIEW_FACING, at, colour)
        markers.write(drawn, text, position, _TEXT * self._size)
        return drawn

    def _marker(self, kind: int, at: _Place, colour: markers.Colour) -> Marker:
        frame, key = self._prefix + at.frame, (at.group, at.number)
        if key not in self._made:
            self._made[key] = markers.marker(kind, *key, frame)
        drawn = self._made[key]
        drawn.header.frame_id = frame
        markers.paint(drawn, colour)
        return drawn

    def _arc_points(self, axis: FloatArray, level: int) -> list[Point]:
        """Points of an arc of a level of 1 to `_LEVELS`; those of motors come again and again."""
        key = (axis.tobytes(), level)
        if key not in self._arcs:
            if len(self._arcs) > 100 * _LEVELS:  # axes of measured torques never come again
                self._arcs.clear()
            self._arcs[key] = [markers.point(p) for p in self._arc(axis, level / _LEVELS)]
        return self._arcs[key]

    def _arc(self, axis: FloatArray, part: float) -> FloatArray:
        """Points (N, 3) of an arc, m, and of the two barbs at its end."""
        aside = np.eye(3)[np.abs(axis).argmin()]
        first = np.cross(axis, aside)
        first /= np.linalg.norm(first)
        second, radius = np.cross(axis, first), _RADIUS * self._size
        sweep = _FULL_TURN * part
        barb = min(0.35, 0.5 * sweep)  # rad back from the end
        angles = np.linspace(0.0, sweep, max(round(_POINTS * part), 3))
        angles = np.append(angles, [sweep - barb, sweep, sweep - barb])
        radii = np.full(len(angles), radius)
        radii[-3], radii[-1] = (1.0 + 0.7 * barb) * radius, (1.0 - 0.7 * barb) * radius
        circle = np.outer(np.cos(angles), first) + np.outer(np.sin(angles), second)
        return np.asarray(radii[:, None] * circle)
