# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node ``twin``: simulated drives on a bus, the mechanism they move, and food in it."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
from geometry_msgs.msg import WrenchStamped
from std_msgs.msg import String

from masticator_dynamics import Mechanism
from masticator_dynamics.drives import real_time
from masticator_dynamics.drives.can_bus import bus_title, open_bus
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.escalation import late_answers
from masticator_dynamics.drives.scaling import with_rotors
from masticator_dynamics.drives.simulator.simulation_file import load_simulation
from masticator_dynamics.drives.simulator.simulator import DriveSimulator
from masticator_dynamics.drives.state_machine import State
from masticator_dynamics.engine.evaluation.frames import FrameChain
from masticator_dynamics.errors import InputError, MasticatorError, in_words
from masticator_dynamics.robot.twin import MechanismPlant, load_food
from masticator_dynamics.ros.common.diagnostics import (
    ERROR,
    OK,
    WARN,
    KeepingUp,
    LogLimit,
    Status,
    shortened,
)
from masticator_dynamics.ros.common.direct_subscription import Outgoing, joint_topic
from masticator_dynamics.ros.common.managed_node import (
    FRAME_PREFIX,
    ManagedNode,
    NodeSettings,
    Runtime,
    parameter,
)
from masticator_dynamics.ros.common.node_clock import NodeClock, both_clocks
from masticator_dynamics.ros.common.status_reporter import StatusReporter

_FAULTS = (State.FAULT, State.FAULT_REACTION_ACTIVE)
_LEAVE = 3.0  # s at the end, for whatever still uses the drives
_POLL = 0.02  # s
_LONGEST = 200  # characters of a fault
_BURST = 20  # lines in the log at once: answers to faults, and what the drives have to say


@dataclasses.dataclass(frozen=True)
class TwinSettings(NodeSettings):
    """Values of the parameters; units are in their descriptions."""

    drives: str = parameter(
        'drives.yaml',
        'Drives and their bus: a path, or a file in config/. The bus must be one that other '
        'processes reach, such as udp_multicast.',
    )
    simulation: str = parameter(
        'simulated_drives.yaml', 'What the motors are made of: a path, or a file in config/.'
    )
    food: str = parameter(
        '', 'Between the molars: a shipped food, or path to a food YAML; empty: nothing.'
    )
    friction: bool = parameter(True, 'Friction in contacts and actuated joints.')
    fixture: bool = parameter(
        True, 'The mechanism is held at home until the drives give their first effort.'
    )
    rate: float = parameter(500.0, 'Of bite_force and ~/joint_states, Hz.', interval=(1.0, 2000.0))
    frame_prefix: str = FRAME_PREFIX


class Twin(Runtime):
    """Drives and mechanism in their own thread, in step with the clock.

    Publishes ``~/joint_states``, the true motion of all joints, which no encoder sees, and if there
    is food ``bite_force``, its wrench on the mandible at the bitten tooth, in the tooth's axes.
    Faults are injected by topic ``~/fault``.

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
        simulation = load_simulation(settings.simulation, drives)
        food = load_food(settings.food) if settings.food else None
        # From activation to deactivation only the thread uses it.
        self._plant = MechanismPlant(
            mechanism, step=simulation.step, friction=settings.friction, food=food,
            in_fixture=settings.fixture,
        )  # fmt: skip
        self._title = f'{len(drives.drives)} drives on {bus_title(drives.bus)}'
        self._bus = open_bus(drives.bus)
        try:
            self._simulator = DriveSimulator(
                drives, simulation, self._bus, self._plant, settings.drives, answer=self._log,
                report=self._log,
            )  # fmt: skip
        except MasticatorError:
            self._bus.shutdown()
            raise
        self._error = ''  # why the simulation ended by itself
        self._period, self._next = 1.0 / settings.rate, 0.0  # s of the plant's time
        self._given_up = 0.0  # s, at the last look
        self._worker = real_time.Worker('twin', self._run)
        self._states = joint_topic(
            node, '~/joint_states', mechanism.tree_joints, 'position', 'velocity'
        )
        # Without food the topic is left to what does publish forces.
        self._bites: Outgoing | None = None
        if food:
            self._tooth = FrameChain(mechanism, food.frame)
            self._tooth.in_numbers(mechanism.home.rows)  # loads compiled code
            bite = WrenchStamped()
            bite.header.frame_id = settings.frame_prefix + food.frame
            self._bites = Outgoing(node, 'bite_force', bite, 'wrench.force')
        self._faults = node.create_subscription(String, '~/fault', self._inject, 10)
        self._keeping_up = KeepingUp(node.get_logger().warning)
        self._answers_late = late_answers(drives)
        self._reporter = StatusReporter(node, mechanism.name, self.collect)

    def activate(self) -> str:
        """Switch the drives on."""
        self._error = ''
        self._worker.start()
        return f'simulating {self._title}'

    def deactivate(self) -> None:
        """Switch the drives off; the mechanism stays as it is until they are on again."""
        self._worker.stop()

    def outlast(self) -> None:
        """Continue until nobody uses the drives, so that nobody waits for them in vain.

        Ctrl-C reaches all processes of a launch at once.
        """
        end = time.monotonic() + _LEAVE
        while self._worker.running and self._simulator.in_use and time.monotonic() < end:
            time.sleep(_POLL)

    def destroy(self) -> None:
        """Release bus, topics and thread."""
        self.deactivate()
        self._bus.shutdown()
        self._reporter.destroy()
        self._node.destroy_subscription(self._faults)
        for topic in filter(None, (self._states, self._bites)):
            topic.destroy()

    def collect(self) -> list[Status]:
        """Whether the simulation runs, and as fast as the clock; states of the drives."""
        clock, force = self._simulator.real_time, self._plant.food_force
        self._keeping_up.look(
            'the twin stood still', clock.behind.take(), *self._answers_late,
            clock.held_back.take(),
        )  # fmt: skip
        slow, self._given_up = clock.given_up > self._given_up, clock.given_up
        level, text = OK, 'running' if self._worker.running else 'off'
        if self._error:
            level, text = ERROR, self._error
        elif slow:
            level, text = WARN, 'slower than the clock'
        values: dict[str, object] = {
            'simulated time (s)': f'{self._simulator.axes.time:.1f}',
            'steps late (%)': f'{100.0 * clock.late / max(clock.steps, 1):.2f}',
            'time given up (s)': f'{clock.given_up:.3f}',
            'bite force (N)': f'{float(force @ force) ** 0.5:.2f}',
        }
        return [Status('simulation', level, text, values), self._drives()]

    def _drives(self) -> Status:
        """Status of all drives, even when no node reports on them any more."""
        simulator, on = self._simulator, self._worker.running
        states = {joint: slave.device.state for joint, slave in simulator.slaves.items()}
        faults = [joint for joint, state in states.items() if state in _FAULTS]
        words: dict[str, object] = {joint: state.words for joint, state in states.items()}
        level, text = OK, 'in use' if on and simulator.in_use else 'not in use'
        if on and simulator.abandoned:
            level, text = ERROR, 'servo_drives has gone: nothing comes from it any more'
        if faults:
            level, text = ERROR, f'{text}; in fault: {", ".join(faults)}'
        return Status('drives', level, text, words)

    def _log(self, line: str) -> None:
        if self._log_limit.allows():
            self._node.get_logger().info(f'{shortened(line)}{self._log_limit.note()}')

    def _inject(self, message: String) -> None:
        if len(message.data) > _LONGEST:
            raise InputError(f'{len(message.data)} characters; a fault has at most {_LONGEST}')
        self._simulator.post(message.data)

    def _run(self) -> None:
        try:
            self._simulator.run(self._keep_on)
        except Exception as error:  # whatever it was, the node must report that time stands still
            self._error = in_words(error)
            self._log(f'the simulation ended: {self._error}')

    def _keep_on(self) -> bool:
        """Between two steps: publish when it is time; return whether to go on."""
        late = self._simulator.axes.time - self._next
        if late >= 0.0:
            # Due times stay on their grid, even when the simulator had to catch up.
            self._next += self._period * (1 + late // self._period)
            self._publish()
        return not self._worker.ended.is_set()

    def _publish(self) -> None:
        # Late steps follow one another closely; their times do not.
        now, steady = both_clocks(self._now)
        stamp = now - round(self._simulator.age(steady) * 1e9)
        plant = self._plant
        if self._states.wanted:
            self._states.publish(stamp, plant.tree_positions, plant.tree_velocities)
        if self._bites is not None and self._bites.wanted:
            force = plant.food_force
            if force[2]:
                force = np.array(self._tooth.in_numbers(plant.row)[1]).T @ force
            self._bites.publish(stamp, force)


class TwinNode(ManagedNode):
    """Ends after node ``servo_drives``."""

    def __init__(self) -> None:
        super().__init__('twin', TwinSettings, Twin)

    def stop(self) -> None:
        """End all threads once nobody uses the drives."""
        if isinstance(self._runtime, Twin):
            self._runtime.outlast()
        super().stop()


make_node = TwinNode
