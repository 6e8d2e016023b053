# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node ``twin``: simulated drives on a bus, the mechanism they move, and food in it."""

from __future__ import annotations

import dataclasses
import time
from typing import Annotated

from geometry_msgs.msg import WrenchStamped
from std_msgs.msg import String

from masticator_dynamics import Mechanism
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.rotors import with_rotors
from masticator_dynamics.drives.state_machine import State
from masticator_dynamics.errors import InputError
from masticator_dynamics.frames import FrameChain
from masticator_dynamics.nodes.common import process
from masticator_dynamics.nodes.common.diagnostics import (
    ERROR,
    OK,
    WARN,
    LogLimit,
    Status,
    shortened,
)
from masticator_dynamics.nodes.common.instant import both_clocks
from masticator_dynamics.nodes.common.keeping_up import KeepingUp, late_answers
from masticator_dynamics.nodes.common.managed_node import ManagedNode, Runtime
from masticator_dynamics.nodes.common.node_clock import NodeClock
from masticator_dynamics.nodes.common.outgoing import Outgoing, joint_topic
from masticator_dynamics.nodes.common.parameters import (
    Autostart,
    Declaration,
    FramePrefix,
    MechanismName,
)
from masticator_dynamics.nodes.common.status_reporter import StatusReporter
from masticator_dynamics.nodes.twin_simulation import TwinSimulation

_FAULTS = (State.FAULT, State.FAULT_REACTION_ACTIVE)
_LEAVE = 3.0  # s at the end, for whatever still uses the drives
_POLL = 0.02  # s


_LONGEST = 200  # characters of a fault
_BURST = 20  # lines in the log at once: answers to faults, and what the drives have to say


@dataclasses.dataclass(frozen=True)
class TwinSettings:
    """Values of the parameters; units are in their descriptions."""

    mechanism: MechanismName = 'masticator'
    drives: Annotated[
        str,
        Declaration(
            'Drives and their bus: a path, or a file in config/. The bus must be one that other '
            'processes reach, such as udp_multicast.'
        ),
    ] = 'drives.yaml'
    simulation: Annotated[
        str, Declaration('What the motors are made of: a path, or a file in config/.')
    ] = 'simulated_drives.yaml'
    food: Annotated[
        str,
        Declaration('Between the molars: a shipped food, or path to a food YAML; empty: nothing.'),
    ] = ''
    friction: Annotated[bool, Declaration('Friction in contacts and actuated joints.')] = True
    fixture: Annotated[
        bool, Declaration('The mechanism is held at home until the drives give their first effort.')
    ] = True
    rate: Annotated[
        float, Declaration('Of bite_force and ~/joint_states, Hz.', interval=(1.0, 2000.0))
    ] = 500.0
    frame_prefix: FramePrefix = ''
    autostart: Autostart = True


class Twin(Runtime):
    """Drives and mechanism in their own thread.

    Publishes ``bite_force``, the wrench of the food on the mandible at its tooth, in the tooth's
    axes, and ``~/joint_states``, the true motion of all joints, which no encoder sees. Faults are
    injected by topic ``~/fault``.

    Parameters
    ----------
    node : ManagedNode
    settings : TwinSettings

    Raises
    ------
    MasticatorError
        For files that cannot be used, or a bus that cannot be opened.
    """

    def __init__(self, node: ManagedNode, settings: TwinSettings):
        self._node = node
        self._now = NodeClock(node)
        self._log_limit = LogLimit(_BURST)
        drives = load_drives(settings.drives)
        mechanism = Mechanism(with_rotors(settings.mechanism, drives))
        self._simulation = TwinSimulation(
            mechanism,
            drives,
            settings.drives,
            settings.simulation,
            settings.food,
            friction=settings.friction,
            fixture=settings.fixture,
            period=1.0 / settings.rate,
            report=self._publish,
            log=self._log,
        )
        self._frame = self._simulation.food_frame
        self._tooth = FrameChain(mechanism, self._frame) if self._frame else None
        if self._tooth is not None:
            self._tooth.poses(mechanism.home.q)  # loads compiled code
        self._states = joint_topic(
            node, '~/joint_states', mechanism.tree_joints, 'position', 'velocity'
        )
        bite = WrenchStamped()
        bite.header.frame_id = settings.frame_prefix + self._frame
        self._bites = Outgoing(node, 'bite_force', bite, {'wrench.force': 3})
        self._faults = node.create_subscription(String, '~/fault', self._inject, 10)
        self._keeping_up = KeepingUp(node.get_logger().warning)
        self._answers_late = late_answers(drives)
        self._reporter = StatusReporter(node, mechanism.name, self.collect)

    def activate(self) -> str:
        """Switch the drives on."""
        self._simulation.start()
        return f'simulating {self._simulation.title}'

    def deactivate(self) -> None:
        """Switch the drives off; the mechanism stays as it is until they are on again."""
        self._simulation.stop()

    def outlast(self) -> None:
        """Continue until nobody uses the drives, so that nobody waits for them in vain.

        Ctrl-C reaches all processes of a launch at once.
        """
        end = time.monotonic() + _LEAVE
        while self._simulation.in_use and time.monotonic() < end:
            time.sleep(_POLL)

    def destroy(self) -> None:
        """Release bus, topics and thread."""
        self._simulation.close()
        self._reporter.destroy()
        self._node.destroy_subscription(self._faults)
        for topic in (self._states, self._bites):
            topic.destroy()

    def collect(self) -> list[Status]:
        """Whether the simulation runs, and as fast as the clock; states of the drives."""
        simulation = self._simulation
        clock = simulation.simulator.real_time
        self._keeping_up.look(
            'the twin stood still', clock.behind.take(), *self._answers_late,
            clock.held_back.take(),
        )  # fmt: skip
        level, text = OK, 'running' if simulation.running else 'off'
        if simulation.error:
            level, text = ERROR, simulation.error
        elif simulation.slow:
            level, text = WARN, 'slower than the clock'
        return [
            self._reporter.status('simulation', level, text, simulation.figures()),
            self._drives(),
        ]

    def _drives(self) -> Status:
        """Status of all drives, even when no node reports on them any more."""
        slaves = self._simulation.simulator.slaves
        states = {joint: slave.device.state for joint, slave in slaves.items()}
        faults = [joint for joint, state in states.items() if state in _FAULTS]
        words: dict[str, object] = {joint: state.words for joint, state in states.items()}
        level, text = OK, 'in use' if self._simulation.in_use else 'not in use'
        if self._simulation.abandoned:
            level, text = ERROR, 'servo_drives has gone: nothing comes from it any more'
        if faults:
            level, text = ERROR, f'{text}; in fault: {", ".join(faults)}'
        return self._reporter.status('drives', level, text, words)

    def _log(self, line: str) -> None:
        if self._log_limit.allows():
            self._node.get_logger().info(f'{shortened(line)}{self._log_limit.note()}')

    def _inject(self, message: String) -> None:
        if len(message.data) > _LONGEST:
            raise InputError(f'{len(message.data)} characters; a fault has at most {_LONGEST}')
        self._simulation.simulator.post(message.data)

    def _publish(self) -> None:
        """Called by the simulation's thread, between two of its steps."""
        plant = self._simulation.plant
        # Late steps follow one another closely; their times do not.
        now, steady = both_clocks(self._now)
        time = now - round(self._simulation.simulator.age(steady) * 1e9)
        q = plant.tree_positions
        self._states.publish(time, q, plant.tree_velocities)
        if self._tooth is not None:
            _, rotation = self._tooth.poses(q)
            force = rotation.T @ plant.food_force
            self._bites.publish(time, force)


class TwinNode(ManagedNode):
    """Ends after node ``servo_drives``."""

    def __init__(self) -> None:
        super().__init__('twin', TwinSettings, Twin)

    def stop(self) -> None:
        """End all threads once nobody uses the drives."""
        if isinstance(self._runtime, Twin):
            self._runtime.outlast()
        super().stop()


def main() -> int:
    """Run the node; returns the exit code."""
    return process.run(TwinNode)


if __name__ == '__main__':
    process.leave(main())
