# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node ``bite_observer``: the force of the food from torques and positions of the motors alone."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from geometry_msgs.msg import WrenchStamped

from masticator_dynamics import Mechanism
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.joint_limits import in_order
from masticator_dynamics.drives.scaling import with_rotors
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.identification.bite_observer import (
    BiteEstimate,
    BiteObserver,
    ObserverSettings,
    measured_by,
)
from masticator_dynamics.ros.common.diagnostics import OK, STALE, WARN, Status
from masticator_dynamics.ros.common.direct_subscription import Outgoing
from masticator_dynamics.ros.common.managed_node import FRAME_PREFIX, ManagedNode, parameter
from masticator_dynamics.ros.joint_states.joint_state_runtime import (
    ACTUATED,
    JointReading,
    JointStateRuntime,
    JointStateSettings,
)

_SOON = 0.75  # of a period, within which a state is left out


@dataclasses.dataclass(frozen=True)
class BiteObserverSettings(JointStateSettings):
    """Values of the parameters; units are in their descriptions."""

    drives: str = parameter(
        'drives.yaml',
        'Drives file, by path or name in config/: counts, torque steps, rotors and friction of '
        'the motors whose efforts come; empty: efforts at the joints, ideal motors.',
    )
    point: str = parameter(
        'molar_left',
        'URDF frame of the platform at whose origin the food is; empty: the platform.',
        constraints='a link of the URDF, or empty',
    )
    rate: float = parameter(
        250.0, 'Joint states used per second, Hz; others are left out.', interval=(50.0, 1e3)
    )
    friction_error: float = parameter(
        0.3, 'Standard deviation of friction, as a share of what is described.', interval=(0.0, 2.0)
    )
    torque_error: float = parameter(
        0.0,
        "Error of a motor's torque, N m or N at the joint, beyond which it is told: at standstill, "
        'and a third of it where motors press against one another; 0: what friction at rest and a '
        'count may be, by the drives file. Large for another goal of node dynamics than torque.',
        interval=(0.0, 1e6),
    )
    least_force: float = parameter(
        0.5, 'Least force that counts as contact, N.', interval=(0.0, 1e3)
    )
    publish_bite_force: bool = parameter(
        False,
        'Publish bite_force, for node dynamics: the part of the estimate that the error of the '
        'model cannot be; zero without contact and while the self-check fails.',
    )
    frame_prefix: str = FRAME_PREFIX


class BiteObserving(JointStateRuntime):
    """Turns topic ``joint_states``, with efforts, into topic ``bite_force_estimate``.

    Raises
    ------
    InputError
        For an unknown frame, or too few degrees of freedom.
    DescriptionError
        For a drives file that cannot be used, or is of another mechanism.
    """

    kinds = (ACTUATED,)

    def __init__(self, node: ManagedNode, settings: BiteObserverSettings):
        mechanism, of, motors = Mechanism.load(settings.mechanism), ObserverSettings(), None
        if settings.drives:
            drives = in_order(load_drives(settings.drives), mechanism)
            mechanism = Mechanism(with_rotors(mechanism.description, drives))
            of, motors = measured_by(drives)
        of = dataclasses.replace(
            of,
            friction_error=settings.friction_error,
            least_force=settings.least_force,
            torque_error=settings.torque_error or of.torque_error,
        )
        self._point = settings.point or mechanism.description.platform
        self._observer = BiteObserver(mechanism, self._point, of, motors)
        self._newest: BiteEstimate | None = None
        self._taken, self._efforts = 0.0, list[FloatArray]()
        frame = settings.frame_prefix + self._point
        message, fed = WrenchStamped(), WrenchStamped()
        message.header.frame_id = fed.header.frame_id = frame
        self._fed = Outgoing(node, 'bite_force', fed, 'wrench.force')
        # What is compiled at first use is compiled before states come.
        home, rest = mechanism.home.position, np.zeros(len(mechanism.actuated))
        for k in range(3):
            self._observer.step(k / settings.rate, home, rest)
        super().__init__(
            node, settings, mechanism, 'joint_states', 'bite_force_estimate', message,
            ('wrench.force',), f'force of the food at {self._point}',
        )  # fmt: skip

    def activate(self) -> str:
        """Begin anew."""
        self._observer.reset()
        self._newest, self._taken = None, 0.0
        return super().activate()

    def destroy(self) -> None:
        """Destroy the topics."""
        super().destroy()
        self._fed.destroy()

    def answer(self, stamp: int, frame: str, reading: JointReading) -> tuple[FloatArray] | None:
        """The force in the axes of the point's frame, N; its torque about the point is zero."""
        if reading.effort is None or reading.measured is None:
            raise InputError('efforts of the actuated joints are missing, or not finite')
        now = stamp * 1e-9
        self._efforts.append(reading.effort)
        if 0.0 <= now - self._taken < _SOON / self._settings.rate:
            return None
        # Means since the sample before have those of states between them in them.
        averaged = self._observer.settings.averaged
        effort = np.mean(self._efforts, axis=0) if averaged else reading.effort
        self._taken, self._efforts = now, []
        estimate = self._observer.step(now, reading.measured, effort, reading.motion)
        if estimate is None:
            return None
        self._newest = estimate
        _, axes = self._mechanism.frame_chain(self._point).poses(reading.motion.q)
        if self._settings.publish_bite_force:
            self._fed.publish(stamp, axes.T @ estimate.guarded(self._observer.settings))
        return (axes.T @ estimate.force,)

    def collect(self) -> list[Status]:
        """What is felt and whether to believe it, and the topic."""
        newest = self._newest
        if newest is None or self.silent:
            return [Status('bite', STALE, 'no joint_states with efforts', {}), *super().collect()]
        fault = newest.model_fault(self._observer.settings)
        text = 'contact' if newest.contact else 'no contact'
        values: dict[str, object] = {
            'force (N)': float(np.linalg.norm(newest.force)),
            **{f'bound {a} (N)': float(b) for a, b in zip('xyz', newest.bound, strict=True)},
            'excess of friction': newest.friction_excess,
            'its standard deviation': newest.friction_sd,
            'unexplained over expected': newest.unexplained,
            'disagreement of encoders': newest.encoder_gap,
            **self._torques(newest),
        }
        level = WARN if fault else OK
        return [Status('bite', level, fault or text, values), *super().collect()]

    def _torques(self, newest: BiteEstimate) -> dict[str, object]:
        """What is known of the errors of each motor's torque, and what is not."""
        of, joints = newest.torque_errors, newest.joints
        kind = 'at the first standstill' if of.measured else 'assumed, no standstill yet'
        return {
            **{f'zero of {j} (N m)': x for j, x in zip(joints, of.zero.tolist(), strict=True)},
            'zeros': kind,
            'pressing against one another (N m)': of.pressing,
            **{
                f'{joint} off if alone (N m)': amount
                for joint, amount in zip(joints, of.alone.tolist(), strict=True)
            },
            'not seen': self._observer.not_seen,
        }


make_node = functools.partial(ManagedNode, 'bite_observer', BiteObserverSettings, BiteObserving)
