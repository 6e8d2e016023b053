# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where the force comes from that is controlled: a sensor, or the motors by an observer.

The other one checks it, if it is there: a sensor that the observer contradicts is let go of.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from rclpy.lifecycle import LifecycleNode

from masticator_dynamics import Mechanism
from masticator_dynamics.control.force_goal import ForceBounds, ForceSensor
from masticator_dynamics.control.pressing_path import PressingPath
from masticator_dynamics.control.rest_doubt import rest_doubt
from masticator_dynamics.drives.scaling import Scaling
from masticator_dynamics.errors import InputError
from masticator_dynamics.ros.common.connections import who_publishes
from masticator_dynamics.ros.dynamics.dynamics_topics import WrenchInput
from masticator_dynamics.ros.dynamics.force_turn import ONE
from masticator_dynamics.ros.dynamics.measured_wrenches import BiteForce
from masticator_dynamics.ros.dynamics.settings import OBSERVER, DynamicsSettings

_ESTIMATE = 'bite_force_estimate'
_LONGEST_DELAY = 0.012  # s
_TOLERANCE = 0.1  # of the largest force, if none is asked
# At least, of a force by an observer: N, and s of its filter, which stamps do not show.
_OBSERVED_NOISE, _OBSERVED_DELAY = 2.0, 0.010


def refuse_several(node: LifecycleNode, topic: str, publishers: int) -> None:
    """Refuse a topic that several publish, with their names (`InputError`)."""
    if publishers > 1:
        who = who_publishes(node, topic)
        raise InputError(f'{topic} has {publishers} publishers ({who}); {ONE}')


class ForceSources:
    """The measured force and the observed one, for goals.

    Parameters
    ----------
    mechanism : Mechanism
        For the thread of goals.
    bite : BiteForce
        Of the sensor.
    now : callable
        The node's clock, ns.
    """

    def __init__(
        self,
        node: LifecycleNode,
        mechanism: Mechanism,
        motors: Scaling,
        bite: BiteForce,
        now: Callable[[], int],
        frame_prefix: str,
    ):
        self._node, self._mechanism = node, mechanism
        self._motors, self._bite = motors, bite
        self.observed = BiteForce(mechanism)
        self._input = WrenchInput(node, _ESTIMATE, self.observed, now, frame_prefix)

    def destroy(self) -> None:
        """Destroy the topic."""
        self._input.destroy()

    def controlled(self, settings: DynamicsSettings, now: int) -> BiteForce:
        """The force that a goal controls.

        Raises
        ------
        InputError
            If it is not measured, or by several at once.
        """
        observer = settings.force_source == OBSERVER
        source, topic = (self.observed, _ESTIMATE) if observer else (self._bite, 'bite_force')
        if source.fresh(now) is None:
            age = source.age(now)
            when = 'never' if age is None else f'{age:.3g} s ago'
            raise InputError(f'a force was measured {when}: no {topic}')
        refuse_several(self._node, topic, source.publishers)
        return source

    def sensor(self, settings: DynamicsSettings) -> ForceSensor:
        """What is known of it."""
        noise, delay = settings.force_sensor_noise, settings.force_sensor_delay
        if settings.force_source == OBSERVER:
            noise, delay = max(noise, _OBSERVED_NOISE), max(delay, _OBSERVED_DELAY)
        return ForceSensor(noise, delay, longest_delay=max(delay, _LONGEST_DELAY))

    def bounds(
        self, settings: DynamicsSettings, path: PressingPath, most: float, velocity: float,
        tolerance: float,
    ) -> ForceBounds:  # fmt: skip
        """What ends a goal as a fault: a sensor may differ from the observer by its doubt.

        Raises
        ------
        InputError
            If the observer is to be the source, and does not tell the force as well as is asked.
        """
        bounds = ForceBounds(lateral_force=settings.force_lateral, torque=settings.force_torque)
        doubt = rest_doubt(self._mechanism, path, self._motors, most, velocity)
        asked = tolerance or _TOLERANCE * most
        if settings.force_source == OBSERVER and doubt > asked:
            raise InputError(
                f'{path.frame} is asked to press with {most:g} N to {asked:.3g} N; at rest the '
                f'motors tell its force only to {doubt:.3g} N, since friction and gear losses '
                'change sides there: a sensor is needed (force.source), or a larger tolerance'
            )
        return dataclasses.replace(bounds, disagreement=max(bounds.disagreement, doubt))
