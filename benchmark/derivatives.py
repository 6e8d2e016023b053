# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What stands on the engine, in multiples of the torque alone: ``python -m benchmark.derivatives``.

Processor time of one process, in turns, 10th percentile. One row is machine code alone, called
through ctypes, which takes some tenths of a microsecond of each call. Batches are whole calls.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from time import process_time

import numpy as np

from benchmark.multiples import states_near_home
from masticator_dynamics import Mechanism
from masticator_dynamics.engine.traced.row_code import RowCode, address
from masticator_dynamics.errors import InputError
from masticator_dynamics.interchange.mjcf_export import export_mjcf

ROWS, TURNS = 2048, 15
SLOW = 64  # every so manyth row of others that take some hundred times as long


def main() -> int:
    """Print the table for the mechanisms named, or for those of the issue."""
    for name in sys.argv[1:] or ['masticator', 'rcid', 'trimule', 'rss6']:
        print(as_text(name), flush=True)
    return 0


def as_text(name: str) -> str:
    """Lines of the table for a mechanism."""
    mechanism = Mechanism.load(name)
    found = {kind: figures(of) for kind, of in cases(mechanism).items()}
    return '\n'.join(
        f'{name:12} {kind:58} {times[0]:9.3f} us {times[1]:8.2f} x'
        for kind, times in in_turns(found).items()
    )


def figures(of: Callable[[], object]) -> Callable[[], object]:
    """A case after its first call, which may compile, and say so."""
    start = process_time()
    of()
    took = process_time() - start
    if took > 0.2:
        print(f'  first call: {took:.1f} CPU s', file=sys.stderr)
    return of


def in_turns(of: dict[str, Callable[[], object]]) -> dict[str, tuple[float, float]]:
    """Microseconds a row, and multiples of the first case of the same kind (row or batch)."""
    times: dict[str, list[float]] = {kind: [] for kind in of}
    for _ in range(TURNS):
        for kind, call in of.items():
            start = process_time()
            call()
            part = SLOW if 'th row' in kind else 1
            times[kind].append((process_time() - start) * part / ROWS * 1e6)
    best = {kind: float(np.percentile(found, 10)) for kind, found in times.items()}
    first = {}
    for kind in best:
        first.setdefault(kind.partition(':')[0], best[kind])
    return {kind: (t, t / first[kind.partition(':')[0]]) for kind, t in best.items()}


def cases(mechanism: Mechanism) -> dict[str, Callable[[], object]]:
    """What is timed, all over as many rows."""
    of, columns = mechanism.kernels, states_near_home(mechanism, ROWS).columns()
    rubbing = mechanism.solver.distribution('torque', True).derivatives
    rows = np.hstack(columns)
    served = np.flatnonzero((of.derivatives(rows)[:, 0] == 1.0) & (rubbing(rows)[:, 0] == 1.0))
    if len(served) < ROWS:
        print(f'  left out: {ROWS - len(served)} rows that are handed over', file=sys.stderr)
    columns = [column[np.resize(served, ROWS)] for column in columns]
    given = np.ascontiguousarray(np.hstack(columns))
    names = dimensions(mechanism)
    batch = mechanism.parameter_batch(names)
    numbers = np.tile(batch.values, (ROWS // 64, 1))
    weights = np.ones((len(numbers), 64, of.actuators))
    few = [column[:64] for column in columns]
    motion = mechanism.feedforward_batch(*columns[:3])
    _ = motion.q, motion.tangent
    found = {
        'row: torque': one_by_one(of.evaluate, given),
        'row: torque and its Jacobian': one_by_one(of.derivatives, given),
        'row: with friction, and its Jacobian': one_by_one(rubbing, given),
        'batch: torque': lambda: mechanism.feedforward_batch(*columns).actuated,
        'batch: torque and its Jacobian': lambda: (
            mechanism.feedforward_derivatives_batch(*columns).by_y
        ),
        'batch: with friction, and its Jacobian': lambda: (
            mechanism.feedforward_derivatives_batch(*columns, friction=True).by_y
        ),
        f'batch: regressor, {len(mechanism.parameters())} columns': lambda: mechanism.regressor(
            motion
        ),
        'batch: the same of efforts (matrix)': lambda: mechanism.regressor(motion).matrix,
        f'batch: {len(numbers)} geometries x 64 poses, {len(names)} numbers': lambda: (
            batch.feedforward(numbers, *few)
        ),
        'batch: the same, gradient of an objective': lambda: batch.gradient(weights, numbers, *few),
    }
    return found | others(mechanism, motion.q, motion.v, motion.a)


def others(
    mechanism: Mechanism, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> dict[str, Callable[[], object]]:
    """The same of the open tree, one row after another, where these packages are installed."""
    found: dict[str, Callable[[], object]] = {}
    try:
        model = mechanism.to_pinocchio().model
    except InputError:  # it is not installed
        pass
    else:
        import pinocchio as pin

        data = model.createData()
        derive = functools.partial(pin.computeRNEADerivatives, model, data)
        found['row: open tree, Pinocchio computeRNEADerivatives'] = lambda: [
            derive(*row) for row in zip(q, v, a, strict=True)
        ]
    found |= drake(mechanism, q, v, a)
    try:
        import mujoco
    except ImportError:
        return found
    model_m = mujoco.MjModel.from_xml_string(export_mjcf(mechanism.description).text)
    data_m, size = mujoco.MjData(model_m), (model_m.nv, model_m.nv)
    at = [int(model_m.joint(name).qposadr[0]) for name in mechanism.tree_joints]
    by = [np.zeros(size) for _ in range(3)]

    def differences() -> None:
        for row in range(0, len(q), SLOW):
            data_m.qpos[at], data_m.qvel[at], data_m.qacc[at] = q[row], v[row], a[row]
            mujoco.mjd_inverseFD(model_m, data_m, 1e-6, 1, *by, None, None, None, None)

    found[f'row: open tree, MuJoCo mjd_inverseFD (every {SLOW}th row)'] = differences
    return found


def drake(
    mechanism: Mechanism, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> dict[str, Callable[[], object]]:
    """Drake's inverse dynamics on numbers that carry their derivatives."""
    try:
        from pydrake.autodiffutils import AutoDiffXd, InitializeAutoDiffTuple
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant
        from pydrake.multibody.tree import MultibodyForces_
    except ImportError:
        return {}
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(mechanism.description.urdf_xml, 'urdf')
    base = plant.GetFrameByName(mechanism.description.base)
    plant.WeldFrames(plant.world_frame(), base)
    plant.mutable_gravity_field().set_gravity_vector(mechanism.description.gravity)
    plant.Finalize()
    at = [plant.GetJointByName(name).position_start() for name in mechanism.tree_joints]
    derived = plant.ToAutoDiffXd()
    context, forces = derived.CreateDefaultContext(), MultibodyForces_[AutoDiffXd](derived)

    def torques(row: int) -> object:
        state = np.zeros((3, len(at)))
        state[:, at] = q[row], v[row], a[row]
        positions, velocities, accelerations = InitializeAutoDiffTuple(*state)
        derived.SetPositions(context, positions)
        derived.SetVelocities(context, velocities)
        derived.CalcForceElementsContribution(context, forces)
        return derived.CalcInverseDynamics(context, accelerations, forces)

    return {
        f'row: open tree, Drake AutoDiff (every {SLOW}th row)': lambda: [
            torques(row) for row in range(0, len(q), SLOW)
        ]
    }


def dimensions(mechanism: Mechanism) -> list[str]:
    """Places of the joints of limbs, in three coordinates: up to 60 numbers."""
    linear, found = mechanism.parameters(), []
    for name in mechanism.parameters(geometry=True):
        joint, _, kind = name.rpartition('.')
        if kind in ('x', 'y', 'z') and name not in linear and joint not in mechanism.independent:
            found.append(name)
    return found[:60]


def one_by_one(code: RowCode, given: np.ndarray) -> Callable[[], object]:
    """Machine code of a row, called for each."""
    out = np.empty(code.outputs)
    row, source, target, stride = code.row.row, address(given), address(out), given.strides[0]

    def call() -> np.ndarray:
        for i in range(len(given)):
            row(source + i * stride, target)
        return out  # which must live as long as it is written to

    return call


if __name__ == '__main__':
    sys.exit(main())
