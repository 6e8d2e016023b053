# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Generic closed-loop inverse dynamics on Pinocchio's tree algorithms, for any description file.

Independent of the engine: the YAML is read here, the URDF is expanded by xacro and read by
Pinocchio, the tree kinematics and the tree's inverse dynamics are Pinocchio's, and the loops are
closed by a separate Newton iteration that goes from home in small steps, so that the branch is
continuous with home. Linear systems are dense and solved by singular values: identically zero or
redundant constraint rows (planar loops, for example) do no harm. Nothing is imported from
masticator_dynamics. What is NOT independent of the engine is the content of the description files
(masses, points, axes): `rss_oracle` and `rcid_oracle` check that.

Only frame Jacobians and classical frame accelerations are used, not Pinocchio's constraint models,
whose Jacobian in Pinocchio 4 is silently wrong unless their `calc` ran before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import xacro
import yaml
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# singular values below this fraction of the largest count as zero
RANK_TOLERANCE = 1e-10
# largest change of a joint in one continuation step, rad or m
LARGEST_STEP = 0.1
_ALIGNED = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


@dataclass(frozen=True)
class OracleMotion:
    """
    Tree joint positions, velocities, accelerations (n,) in the order of `joint_names`.

    `motion_map` (n, n_y) is d q / d y; `residual` is the largest loop or contact error in m.
    """

    q: Array
    v: Array
    a: Array
    motion_map: Array
    residual: float


@dataclass(frozen=True)
class OracleEffort:
    """
    Inverse dynamics at one state.

    `actuated` (n_u,): efforts of minimum norm, of the motors where there is a transmission.
    `contact` (n_c,): multipliers; the force on the contact frame's body is normal * multiplier.
    `imbalance`: residual of the tree's equations once efforts, loop forces and contact forces
    are included (N or N·m), a check of the result.
    """

    motion: OracleMotion
    actuated: Array
    contact: Array
    imbalance: float


class PinocchioOracle:
    """
    Closed-loop mechanism of one description file.

    Parameters
    ----------
    path : the description YAML (schema 1).

    Raises
    ------
    ValueError
        If a joint, frame or constraint type is not handled.
    """

    def __init__(self, path: str | Path) -> None:
        path = Path(path)
        self.description: dict[str, Any] = yaml.safe_load(path.read_text(encoding='utf-8'))
        urdf = path.parent / self.description['urdf']
        arguments = self.description.get('xacro_arguments') or {}
        xml = xacro.process_file(str(urdf), mappings=arguments).toxml()
        self.model = pin.buildModelFromXML(xml)
        self.model.gravity = pin.Motion(
            np.array(self.description['gravity'], dtype=float), np.zeros(3)
        )
        self.data = self.model.createData()
        self.joint_names: tuple[str, ...] = tuple(self.model.names)[1:]
        if any(joint.nv != 1 for joint in list(self.model.joints)[1:]):
            raise ValueError('only joints with one degree of freedom are handled')
        self.independent: tuple[str, ...] = tuple(self.description['independent'])
        self.actuated: tuple[str, ...] = tuple(self.description['actuated'])
        self._independent_rows = self._select(self.independent)
        self._actuated_rows = self._select(self.actuated)
        self._require_base_at_root()
        self._platform = self._frame(self.description['platform'])
        self._read_constraints()
        self._rotor_inertia = np.zeros(len(self.joint_names))
        # motor per joint motion; efforts are the motors'
        self._ratio = np.ones(len(self.joint_names))
        for name, actuator in (self.description.get('actuators') or {}).items():
            row = self.joint_names.index(name)
            transmission = actuator.get('transmission') or {}
            if 'lead' in transmission:
                self._ratio[row] = 2.0 * np.pi / transmission['lead']
            else:
                self._ratio[row] = transmission.get('ratio', 1.0)
            self._rotor_inertia[row] = actuator.get('rotor_inertia', 0.0) * self._ratio[row] ** 2
        self._stiffness, self._slack = np.zeros((2, len(self.joint_names)))
        for name, joint in (self.description.get('joints') or {}).items():
            row = self.joint_names.index(name)
            self._stiffness[row] = joint.get('stiffness', 0.0)
            self._slack[row] = joint.get('reference', 0.0)
        self._motor_rows = self._ratio * self._actuated_rows
        self.q_home = self._find_home()

    def _select(self, names: tuple[str, ...]) -> Array:
        """Return the matrix (len(names), n) that picks these joints."""
        return np.eye(len(self.joint_names))[[self.joint_names.index(name) for name in names]]

    def _frame(self, link: str) -> int:
        if not self.model.existFrame(link, pin.FrameType.BODY):
            raise ValueError(f'the URDF has no link {link!r}')
        return int(self.model.getFrameId(link, pin.FrameType.BODY))

    def _require_base_at_root(self) -> None:
        # base axes are Pinocchio's world axes only then
        frame = self.model.frames[self._frame(self.description['base'])]
        if frame.parentJoint != 0 or not frame.placement.isIdentity():
            raise ValueError('the base must be the root link of the URDF')

    def _read_constraints(self) -> None:
        closures = self.description.get('closures') or []
        contacts = self.description.get('contacts') or []
        couplings = [c for c in closures if c['type'] == 'coupling']
        loops = [c for c in closures if c['type'] != 'coupling']
        kinds = [(c, ('point', 'hinge')) for c in loops] + [(c, ('plane',)) for c in contacts]
        for item, known in kinds:
            if item['type'] not in known:
                raise ValueError(f'{item["name"]}: type {item["type"]!r} is not handled')
        self._closures = [tuple(self._frame(link) for link in c['frames']) for c in loops]
        # Hinges are points whose frames' axes z stay parallel, besides.
        self._hinges = [
            frames for frames, c in zip(self._closures, loops, strict=True) if c['type'] == 'hinge'
        ]
        self._contacts = [
            (self._frame(c['frame']), np.array(c['normal'], dtype=float), float(c['offset']))
            for c in contacts
        ]
        # Gears and mimics: rows of joint = offset + ratio * other joint + …, straight lines only.
        self._gears = np.zeros((len(couplings), len(self.joint_names)))
        self._gear_offsets = np.array([float(c.get('offset', 0.0)) for c in couplings])
        for row, coupling in zip(self._gears, couplings, strict=True):
            row[self.joint_names.index(coupling['joint'])] = 1.0
            for name, powers in coupling['of'].items():
                if len(powers) > 1:
                    raise ValueError(f'{coupling["name"]}: a curved coupling is not handled')
                row[self.joint_names.index(name)] -= powers[0]

    # --- Tree kinematics ------------------------------------------------------------------------

    def _configuration(self, q: Array) -> Array:
        """Return Pinocchio's configuration: continuous joints are stored as (cos, sin) there."""
        out = np.zeros(self.model.nq)
        for value, joint in zip(q, list(self.model.joints)[1:], strict=True):
            if joint.nq == 1:
                out[joint.idx_q] = value
            else:
                out[joint.idx_q : joint.idx_q + 2] = np.cos(value), np.sin(value)
        return out

    def _position(self, frame: int) -> Array:
        return np.array(self.data.oMf[frame].translation)

    def _jacobian(self, frame: int) -> Array:
        return np.array(pin.getFrameJacobian(self.model, self.data, frame, _ALIGNED))

    def _classical_acceleration(self, frame: int) -> Array:
        motion = pin.getFrameClassicalAcceleration(self.model, self.data, frame, _ALIGNED)
        return np.array(motion.linear)

    def _axes(self, frame: int) -> Array:
        return np.array(self.data.oMf[frame].rotation)

    def _turn(self, frame: int, of: str) -> Array:
        """Return the frame's angular velocity or acceleration."""
        ask = getattr(pin, f'getFrame{of}')
        return np.array(ask(self.model, self.data, frame, _ALIGNED).angular)

    def _hinge_levers(self, a: int, b: int) -> Array:
        """Return rows that map the relative angular velocity to the rates of x_b z_a, y_b z_a."""
        return np.cross(self._axes(b)[:, :2].T, self._axes(a)[:, 2])

    def _hinge_drift(self, a: int, b: int) -> Array:
        turn_a, turn_b = self._turn(a, 'Velocity'), self._turn(b, 'Velocity')
        across, along = self._axes(b)[:, :2].T, self._axes(a)[:, 2]
        levers_rate = np.cross(np.cross(turn_b, across), along) + np.cross(
            across, np.cross(turn_a, along)
        )
        change = self._turn(b, 'ClassicalAcceleration') - self._turn(a, 'ClassicalAcceleration')
        return np.asarray(self._hinge_levers(a, b) @ change + levers_rate @ (turn_b - turn_a))

    def _constraint_error(self, q: Array) -> Array:
        """Return loop errors (3 each) and contact errors (1 each), m."""
        pin.framesForwardKinematics(self.model, self.data, self._configuration(q))
        loops = [self._position(a) - self._position(b) for a, b in self._closures]
        planes = [[n @ self._position(frame) + offset] for frame, n, offset in self._contacts]
        hinges = [self._axes(b)[:, :2].T @ self._axes(a)[:, 2] for a, b in self._hinges]
        gears = self._gears @ q - self._gear_offsets
        return np.concatenate([*loops, *planes, *hinges, gears])

    def _constraint_jacobian(self, q: Array) -> Array:
        pin.computeJointJacobians(self.model, self.data, self._configuration(q))
        pin.updateFramePlacements(self.model, self.data)
        loops = [self._jacobian(a)[:3] - self._jacobian(b)[:3] for a, b in self._closures]
        planes = [(n @ self._jacobian(frame)[:3])[None] for frame, n, _ in self._contacts]
        hinges = [
            self._hinge_levers(a, b) @ (self._jacobian(b)[3:] - self._jacobian(a)[3:])
            for a, b in self._hinges
        ]
        return np.concatenate([*loops, *planes, *hinges, self._gears])

    def _constraint_drift(self, q: Array, v: Array) -> Array:
        """Return the constraints' second derivatives at zero joint accelerations."""
        pin.forwardKinematics(self.model, self.data, self._configuration(q), v, np.zeros(len(v)))
        pin.updateFramePlacements(self.model, self.data)
        loops = [
            self._classical_acceleration(a) - self._classical_acceleration(b)
            for a, b in self._closures
        ]
        planes = [[n @ self._classical_acceleration(frame)] for frame, n, _ in self._contacts]
        hinges = [self._hinge_drift(a, b) for a, b in self._hinges]
        return np.concatenate([*loops, *planes, *hinges, np.zeros(len(self._gears))])

    # --- Closing the loops ----------------------------------------------------------------------

    def _tree_from(self, jacobian: Array, constraint_rhs: Array, independent_rhs: Array) -> Array:
        """Return tree rates (n,) with `jacobian @ rates = constraint_rhs` and given rates of y."""
        matrix = np.concatenate([jacobian, self._independent_rows])
        rhs = np.concatenate([constraint_rhs, independent_rhs])
        rates, _, rank, values = np.linalg.lstsq(matrix, rhs, rcond=RANK_TOLERANCE)
        if rank < matrix.shape[1]:
            raise ValueError(f'singular configuration: rank {rank} of {matrix.shape[1]}')
        return np.asarray(rates)

    def _close(self, q: Array, y: Array, largest_correction: float) -> Array | None:
        """Return `q` with the loops closed at `y` by Newton, or None if it is not near `q`."""
        start = q
        for _ in range(12):
            error = self._constraint_error(q)
            step = self._tree_from(
                self._constraint_jacobian(q), -error, y - self._independent_rows @ q
            )
            q = q + step
            if np.max(np.abs(q - start)) > largest_correction:
                return None
            if np.max(np.abs(step)) < 1e-13:
                return q
        # the last digits may flicker; a loop closed to rounding is closed
        return q if np.max(np.abs(self._constraint_error(q))) < 1e-14 else None

    def _find_home(self) -> Array:
        home = self.description.get('home') or {}
        q = np.array([float(home.get(name, 0.0)) for name in self.joint_names])
        error = float(np.max(np.abs(self._constraint_error(q))))
        if error > 1e-6:
            raise ValueError(f'the loops do not close at home: {error:.3g} m')
        closed = self._close(q, self._independent_rows @ q, 1e-3)
        if closed is None:
            raise ValueError('home is not a regular configuration')
        return closed

    def _continue_from_home(self, y: Array) -> Array:
        """Go from home to `y` on a straight line in independent coordinates."""
        q, y_start = self.q_home, self._independent_rows @ self.q_home
        done, step = 0.0, 0.1
        while done < 1.0:
            if step < 1e-6:
                raise ValueError(f'the loops cannot be followed beyond {done:.4f} of the way')
            step = min(step, 1.0 - done)
            closed = None
            jacobian = self._constraint_jacobian(q)
            change = self._tree_from(jacobian, np.zeros(len(jacobian)), step * (y - y_start))
            if np.max(np.abs(change)) <= LARGEST_STEP:
                target = y_start + (done + step) * (y - y_start)
                closed = self._close(q + change, target, 0.3 * LARGEST_STEP)
            if closed is None:
                step *= 0.5
            else:
                q, done, step = closed, done + step, 1.5 * step
        return q

    def solve(
        self, y: ArrayLike, y_dot: ArrayLike | None = None, y_ddot: ArrayLike | None = None
    ) -> OracleMotion:
        """Return the tree motion for independent coordinates (n_y,) and their derivatives."""
        y = np.asarray(y, dtype=float)
        y_dot = np.zeros_like(y) if y_dot is None else np.asarray(y_dot, dtype=float)
        y_ddot = np.zeros_like(y) if y_ddot is None else np.asarray(y_ddot, dtype=float)
        q = self._continue_from_home(y)
        jacobian = self._constraint_jacobian(q)
        still = np.zeros(len(jacobian))
        motion_map = np.stack(
            [self._tree_from(jacobian, still, unit) for unit in np.eye(len(y))], axis=1
        )
        v = self._tree_from(jacobian, still, y_dot)
        a = self._tree_from(jacobian, -self._constraint_drift(q, v), y_ddot)
        residual = float(np.max(np.abs(self._constraint_error(q))))
        return OracleMotion(q, v, a, motion_map, residual)

    def by_name(self, values: ArrayLike) -> dict[str, float]:
        """Return tree values (n,) keyed by joint name."""
        return dict(zip(self.joint_names, np.asarray(values, dtype=float).tolist(), strict=True))

    def of_actuated(self, values: ArrayLike) -> Array:
        """Return the actuated joints' part (n_u,) of tree values (n,)."""
        return np.asarray(self._actuated_rows @ np.asarray(values, dtype=float))

    # --- Dynamics -------------------------------------------------------------------------------

    def inverse_dynamics(
        self,
        y: ArrayLike,
        y_dot: ArrayLike | None = None,
        y_ddot: ArrayLike | None = None,
        wrench: ArrayLike | None = None,
        link_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> OracleEffort:
        """
        Return the actuated efforts of minimum norm and the contact multipliers.

        Parameters
        ----------
        y, y_dot, y_ddot : (n_y,) independent coordinates and derivatives.
        wrench : (6,) force and moment about the platform's origin on the platform, base axes.
        link_wrenches : the same on other links, by name, about their origins.
        """
        motion = self.solve(y, y_dot, y_ddot)
        needed = pin.rnea(self.model, self.data, self._configuration(motion.q), motion.v, motion.a)
        needed = needed + self._rotor_inertia * motion.a
        needed = needed + self._stiffness * (motion.q - self._slack)
        jacobian = self._constraint_jacobian(motion.q)
        if wrench is not None:
            needed = needed - self._jacobian(self._platform).T @ np.asarray(wrench, dtype=float)
        for link, on_link in (link_wrenches or {}).items():
            needed = needed - self._jacobian(self._frame(link)).T @ np.asarray(on_link, dtype=float)

        # loop and contact forces do no work on the mechanism's own motions
        actuated_map = self._motor_rows @ motion.motion_map
        actuated = np.linalg.pinv(actuated_map.T, rcond=RANK_TOLERANCE) @ (
            motion.motion_map.T @ needed
        )
        left = needed - self._motor_rows.T @ actuated
        multipliers = np.linalg.lstsq(jacobian.T, left, rcond=RANK_TOLERANCE)[0]
        imbalance = float(np.max(np.abs(left - jacobian.T @ multipliers)))
        first, count = 3 * len(self._closures), len(self._contacts)
        return OracleEffort(motion, actuated, multipliers[first : first + count], imbalance)

    def mass_matrix_independent(self, y: ArrayLike) -> Array:
        """Return the mass matrix (n_y, n_y) of the independent coordinates, rotors included."""
        motion = self.solve(y)
        tree = self._mass_matrix(motion.q)
        return np.asarray(motion.motion_map.T @ tree @ motion.motion_map)

    def _mass_matrix(self, q: Array) -> Array:
        upper = np.triu(pin.crba(self.model, self.data, self._configuration(q)))
        return np.asarray(upper + np.triu(upper, 1).T + np.diag(self._rotor_inertia))

    def energy(self, q: Array, v: Array) -> tuple[float, float]:
        """Return kinetic (rotors included) and potential energy, J, of a tree state."""
        kinetic = 0.5 * v @ self._mass_matrix(q) @ v
        potential = pin.computePotentialEnergy(self.model, self.data, self._configuration(q))
        return float(kinetic), float(potential)

    # --- Frames ---------------------------------------------------------------------------------

    def frame_position(self, name: str, q: Array) -> Array:
        """Return the position (3,) of a link's origin in base axes, m."""
        return self.frame_pose(name, q)[0]

    def frame_pose(self, name: str, q: Array) -> tuple[Array, Array]:
        """Return position (3,) and rotation (3, 3), frame to base, of a link's frame."""
        pin.framesForwardKinematics(self.model, self.data, self._configuration(q))
        placement = self.data.oMf[self._frame(name)]
        return np.array(placement.translation), np.array(placement.rotation)

    def frame_jacobian(self, name: str, motion: OracleMotion) -> Array:
        """Return the (6, n_y) map from y_dot to a frame's [linear; angular] velocity, base axes."""
        pin.computeJointJacobians(self.model, self.data, self._configuration(motion.q))
        pin.updateFramePlacements(self.model, self.data)
        return np.asarray(self._jacobian(self._frame(name)) @ motion.motion_map)
