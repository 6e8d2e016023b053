# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From a recording to the numbers of the robot: what the data determine, and how well.

Of the numbers that a body can have, those nearest to what the data say are found by a convex
program. A body's moments of mass are those of some distribution of mass if its pseudo-inertia, a
symmetric 4 x 4 matrix, has no negative eigenvalue (Wensing, Kim and Slotine 2018, IEEE RA-L 3, 60);
friction and rotors are not negative. Clarabel solves for the amounts of the learnt directions.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from masticator_dynamics.description.data import JointPhysics, MechanismDescription
from masticator_dynamics.drives.scaling import Scaling
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.with_parameters import in_bounds
from masticator_dynamics.engine.parameters import INERTIAL, Moments
from masticator_dynamics.engine.parameters import consistent as moments_can_be
from masticator_dynamics.errors import InputError
from masticator_dynamics.identification.friction_search import FrictionSearch, WorthIt
from masticator_dynamics.identification.learning import Learnt, learn
from masticator_dynamics.identification.least_squares import least_squares
from masticator_dynamics.identification.measured_motion import (
    MeasuredMotion,
    measured_motion,
)
from masticator_dynamics.identification.misread_joints import misread_joint
from masticator_dynamics.identification.mistakes import MistakeSearch, gain_of
from masticator_dynamics.identification.robot_log import RobotLog, checked
from masticator_dynamics.identification.unknowns import (
    LAG,
    OFFSET,
    Beliefs,
    Unknowns,
    Usual,
    unknowns_of,
)
from masticator_dynamics.identification.weighted_equations import (
    Equations,
    Progress,
    equations,
    usual_sizes,
)
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.optional import needed

# Of the solver: rounding of a recording must not show in the numbers. Where it cannot be so exact,
# it may lose what it had, and is asked for less.
_EXACT = (1e-11, 1e-8)
_STAYS = 1e-4  # of a body, whatever the data say: one without mass can have no inertia
_ROUNDING = 1e-9  # of a body: left by the solver
_BACK = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)  # towards the file, until all is sound
# Of the logarithm of the likelihood: what the solver may leave open. The nearest bodies are then no
# farther than the root of twice this, 0.014 standard deviations.
_NEARLY = 1e-4
_NO_EXTENT = 1e-6  # of a body's largest extent, in units of the body
UNEXPLAINED = 0.2  # part of the efforts, beyond which something is wrong
# What stays unexplained without a gain: where little is explained, much looks like one.
_CLEARLY = 0.5
_NOTHING = 1e-6  # of what a parameter may err by: zero but for the solver
# Periods of the cutoff: less of a lag is known by what it does in proportion.
_LATE = 0.01
_SURE = 2.0  # standard deviations
_SHIFTS = 5  # of efforts, until no lag is left


def pseudo_inertia(moments: FloatArray) -> FloatArray:
    """Matrix (4, 4) of ten moments of mass: second moments, first moments and mass."""
    body = Moments.from_numbers(moments)
    matrix = np.empty((4, 4))
    matrix[:3, :3] = 0.5 * np.trace(body.second) * np.eye(3) - body.second
    matrix[:3, 3] = matrix[3, :3] = body.first
    matrix[3, 3] = body.mass
    return matrix


def is_consistent(unknowns: Unknowns, x: FloatArray) -> bool:
    """Whether bodies and friction can be so; what the file itself breaks does not count."""
    values = unknowns.values + unknowns.spread @ x
    lowest = np.minimum(unknowns.values, 0.0) - _NOTHING * unknowns.deviation
    signs = bool((values >= lowest)[_not_negative(unknowns)].all())
    return signs and all(
        np.linalg.eigvalsh(base + np.tensordot(x, changes, axes=1))[0] > -_ROUNDING
        and moments_can_be(values[rows])
        for rows, base, changes in _bodies(unknowns)
    )


def consistent(unknowns: Unknowns, learnt: Learnt) -> FloatArray:
    """Unknowns (n_x,) as near to what data and belief say as bodies allow.

    Those of which the data say nothing stay, but for those of bodies that could not be so: what is
    seen of a body may ask for more of what is not. A lag stays, too: it would explain what asks for
    bodies that cannot be.

    Raises
    ------
    InputError
        Without Clarabel, or when it finds none.
    """
    if is_consistent(unknowns, learnt.x):
        return learnt.x
    clarabel = needed('clarabel')
    from scipy import sparse

    rows, bounds, cones = [], [], []
    lag = unknowns.spread[unknowns.names.index(LAG)] != 0.0
    free = (learnt.seen | _of_impossible(unknowns, learnt.x)) & ~lag
    spread = unknowns.spread[:, free]
    single = _not_negative(unknowns) & (np.abs(spread).max(axis=1) > 0.0)
    sizes = unknowns.deviation[single]
    rows.append(-spread[single] / sizes[:, None])
    bounds.append(np.maximum(unknowns.values[single], 0.0) / sizes)
    cones.append(clarabel.NonnegativeConeT(int(single.sum())))
    for _, base, changes in _bodies(unknowns):
        per_unknown = changes[free]
        if np.abs(per_unknown).max() > 0.0:
            rows.append(-np.array([_stacked(matrix) for matrix in per_unknown]).T)
            bounds.append(_stacked(base))
            cones.append(clarabel.PSDTriangleConeT(len(base)))
    weight = learnt.precision[np.ix_(free, free)]
    matrix = np.vstack(rows)
    bound = np.concatenate(bounds) - matrix @ learnt.x[free]
    # In standard deviations of each unknown, or of what data and belief say together: precisions
    # differ by many decades, and where the solver gets stuck in one it does not in the other.
    units = np.diag(1.0 / np.sqrt(np.diag(weight))), np.linalg.inv(np.linalg.cholesky(weight)).T
    for exact, unit in itertools.product(_EXACT, units):
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = exact
        solution = clarabel.DefaultSolver(
            sparse.csc_matrix(unit.T @ weight @ unit), np.zeros(len(unit)),
            sparse.csc_matrix(matrix @ unit), bound, cones, settings,
        ).solve()  # fmt: skip
        x = np.where(lag, learnt.x, 0.0)
        x[free] = learnt.x[free] + unit @ solution.x
        open_ = abs(solution.obj_val - solution.obj_val_dual)
        # Whatever it calls its end: how far it may be from the nearest bodies is what counts.
        for step in _BACK if open_ < _NEARLY else ():
            if np.isfinite(x).all() and is_consistent(unknowns, (1.0 - step) * x):
                return np.asarray((1.0 - step) * x)
    raise InputError(
        f'the likeliest bodies that can be were not found: the solver ends with {solution.status} '
        f'and leaves {open_:.2g} of the likelihood open; are bodies of the file possible?'
    )


def _of_impossible(unknowns: Unknowns, x: FloatArray) -> npt.NDArray[np.bool_]:
    """Which unknowns (n_x,) are about bodies that cannot be so."""
    theirs = np.zeros(len(x), dtype=bool)
    for rows, base, changes in _bodies(unknowns):
        if np.linalg.eigvalsh(base + np.tensordot(x, changes, axes=1))[0] < -_ROUNDING:
            theirs |= (unknowns.spread[rows] != 0.0).any(axis=0)
    return theirs


def possible(unknowns: Unknowns, x: FloatArray) -> FloatArray:
    """Parameters (n_p,) for unknowns that are consistent up to rounding: without a negative one."""
    values = unknowns.values + unknowns.spread @ x
    signed = _not_negative(unknowns)
    least = np.where(signed, np.minimum(unknowns.values, 0.0), -np.inf)
    values = np.maximum(values, least)
    nothing = signed & (np.abs(values) < _NOTHING * unknowns.deviation)
    return np.where(nothing, 0.0, values)


def _not_negative(unknowns: Unknowns) -> npt.NDArray[np.bool_]:
    masses = f'.{INERTIAL[0]}'  # which are a matter of the bodies
    names = unknowns.names
    return np.array([not (in_bounds(n, -1.0) or n.endswith(masses)) for n in names])


def _bodies(unknowns: Unknowns) -> list[tuple[slice, FloatArray, FloatArray]]:
    """Numbers of bodies, what may be taken of their pseudo-inertia (n, n), changes (n_x, n, n).

    The latter are in units of the body, and along its n extents: in others, in which it has none
    whatever x is, all are zero, and no solver can stay inside (a thin bar has two, its length and
    its mass).
    """
    bodies = []
    for k, name in enumerate(unknowns.names):
        if name.endswith(f'.{INERTIAL[0]}'):
            rows = slice(k, k + 10)
            base = pseudo_inertia(unknowns.values[rows])
            units = np.sqrt(np.maximum(np.diag(base), 1e-6 * np.diag(base).max()))
            scale = 1.0 / np.outer(units, units)
            sizes, axes = np.linalg.eigh(base * scale)
            sizes = np.maximum(sizes, 0.0)  # what the file has wrong is not for the data to mend
            base = (1.0 - _STAYS) * (axes * sizes) @ axes.T
            changes = np.array([pseudo_inertia(c) * scale for c in unknowns.spread[rows].T])
            squares, along = np.linalg.eigh(base @ base + (changes @ changes).sum(axis=0))
            along = along[:, squares > _NO_EXTENT**2 * squares[-1]]
            bodies.append((rows, along.T @ base @ along, along.T @ changes @ along))
    return bodies


def _stacked(matrix: FloatArray) -> FloatArray:
    """Upper triangle by columns, as Clarabel wants it."""
    upper = [(i, j) for j in range(len(matrix)) for i in range(j + 1)]
    return np.array([matrix[i, j] * (1.0 if i == j else np.sqrt(2.0)) for i, j in upper])


_DETERMINED = 0.5  # of what was believed: a parameter that is surer than this is determined


@dataclasses.dataclass(frozen=True)
class Identified:
    """Result of an identification."""

    # With the file's numbers, and friction of each motor, of the kinds that are worth it.
    mechanism: Mechanism
    measured: MeasuredMotion  # of the part that was learnt from
    unknowns: Unknowns
    learnt: Learnt
    x: FloatArray  # (n_x,): the unknowns: those of bodies that can be
    plain: FloatArray  # (n_x,): by least squares, whether bodies can be so or not
    # On the recording: sentences, each of which begins with the motors that it is about; the former
    # leave clearly more of the efforts unexplained.
    mistakes: tuple[str, ...]
    remarks: tuple[str, ...]
    # Sentences on motors whose friction is of a further kind, where that is worth it.
    friction: tuple[str, ...]
    training: Equations
    held_out: Equations

    @property
    def values(self) -> dict[str, float]:
        """Parameters that differ from the file's, by name."""
        change = self.unknowns.spread @ self.x
        changed = np.abs(change) > 1e-12 * self.unknowns.deviation
        values = possible(self.unknowns, self.x)
        return {
            name: float(x)
            for name, x, new in zip(self.unknowns.names, values, changed, strict=True)
            if new and name != LAG and not name.endswith(f'.{OFFSET}')
        }

    @property
    def deviations(self) -> dict[str, float]:
        """Standard deviations of all parameters that may err, after the data."""
        before, after = self.unknowns.deviation, self.learnt.unsure(self.unknowns.spread)
        pairs = zip(self.unknowns.names, before, after, strict=True)
        return {
            name: float(new)
            for name, old, new in pairs
            if old > 0.0 and name != LAG and not name.endswith(f'.{OFFSET}')
        }

    @property
    def determined(self) -> tuple[str, ...]:
        """Parameters that the data determine by themselves; others only in combinations."""
        before = dict(zip(self.unknowns.names, self.unknowns.deviation, strict=True))
        return tuple(n for n, x in self.deviations.items() if x < _DETERMINED * before[n])

    @property
    def combined(self) -> tuple[str, ...]:
        """Parameters that changed, of which the data know only what they do with others."""
        rest = {*self.determined, *self.kept}
        return tuple(name for name in self.deviations if name not in rest)

    @property
    def kept(self) -> tuple[str, ...]:
        """Parameters of which the data say nothing: they keep their values."""
        changed = self.values
        return tuple(name for name in self.deviations if name not in changed)

    @property
    def offsets(self) -> dict[str, float]:
        """What each motor's efforts show when it gives none, by joint, N m or N."""
        values = zip(self.unknowns.names, self.unknowns.spread @ self.x, strict=True)
        return {
            name.removesuffix(f'.{OFFSET}'): float(-x)
            for name, x in values
            if name.endswith(f'.{OFFSET}')
        }

    @property
    def written(self) -> FloatArray:
        """The unknowns (n_x,) as a description has them: no offsets of efforts."""
        kinds = [cause.rpartition('.')[2] for cause in self.unknowns.causes]
        return np.where(np.isin(kinds, OFFSET), 0.0, self.x)

    @property
    def errors(self) -> tuple[float, float]:
        """RMS errors of efforts in the held-out part, relative to their RMS: before and after."""
        return self.held_out.error(0.0), self.held_out.error(self.x)


def with_motor_friction(description: MechanismDescription) -> MechanismDescription:
    """A description in which every motor has constant and viscous friction, which may be zero."""
    none = JointPhysics(damping=0.0, friction=0.0)
    joints = {joint: description.joints.get(joint, none) for joint in description.actuated}
    return dataclasses.replace(description, joints=description.joints | joints)


def identify(
    description: MechanismDescription,
    log: RobotLog,
    held_out: RobotLog,
    beliefs: Beliefs | None = None,
    cutoff: float = 15.0,
    progress: Progress = lambda rows: None,
    motors: Scaling | None = None,
) -> Identified:
    """Numbers of the robot that made a recording.

    Parameters
    ----------
    description : MechanismDescription
        What is known of it.
    log : RobotLog
        To learn from: motion that excites what is to be found.
    held_out : RobotLog
        To judge by: not learnt from.
    beliefs : Beliefs, optional
        How far the description may err. A force sensor that is taken as true and shows noise alone
        is left out.
    cutoff : float
        Of the filter, Hz: above what moves, below what only shakes.
    progress : callable
        Called with numbers of rows that have been evaluated.
    motors : Scaling, optional
        Of drives that measured the efforts: behind them a gear passes on what friction leaves.

    Raises
    ------
    InputError
        For a recording from which nothing can be learnt; says what was seen.
    """
    mechanism, beliefs = Mechanism(with_motor_friction(description)), beliefs or Beliefs()

    def motion_of(part: RobotLog) -> MeasuredMotion:
        return measured_motion(mechanism, checked(mechanism, part), cutoff, motors)

    measured, judged = map(motion_of, (log, held_out))
    if measured.senses_noise_alone and not beliefs.sensor:  # it would only add its noise
        measured, judged = (dataclasses.replace(part, wrench=None) for part in (measured, judged))
    begun = _begun(mechanism, mechanism, measured, beliefs, progress)
    mistakes = [*MistakeSearch(mechanism, measured, begun.training, begun.unknowns).found()]
    grave = tuple(mistake.told for mistake in mistakes)
    gain, lag = gain_of(mistakes), 0.0
    if not grave:
        lag, begun = _without_lag(mechanism, measured, begun, beliefs, progress)
        measured, judged = (part.sooner(lag) if lag else part for part in (measured, judged))
    result: Identified | None = None
    try:
        result = _identified(
            mechanism, (measured, judged), begun, beliefs, motors, not grave, progress
        )
    except InputError as error:
        if not grave:
            raise
        refused = InputError(f'{"; ".join(grave)}. As they are: {error}')
        if gain is None:
            raise refused from error
    if result is not None and result.errors[1] > UNEXPLAINED:
        as_begun = begun

        def equations_of(part: RobotLog) -> Equations:
            motion = dataclasses.replace(motion_of(part), wrench=measured.wrench)
            return equations(mechanism, motion, as_begun.unknowns, as_begun.usual)

        misread = misread_joint(mechanism.actuated, log, begun.training, equations_of)
        if misread:
            return dataclasses.replace(result, mistakes=(misread,))
    if gain is not None:
        parts = [
            dataclasses.replace(part, effort=part.effort * gain) for part in (measured, judged)
        ]
        begun, which = _begun(mechanism, mechanism, parts[0], beliefs, progress), 'as they are'
        with contextlib.suppress(InputError):
            scaled = _identified(mechanism, parts, begun, beliefs, motors, True, progress)
            # Bodies of efforts that are next to nothing are next to none: they may not be found.
            if result is None or _explains_more(scaled, result):
                result, which = scaled, 'divided by this'
        grave = tuple(f'{told}; the numbers are for efforts {which}' for told in grave)
    if result is None:
        raise refused
    remarks = () if grave else _of_lag(result, lag)
    return dataclasses.replace(result, mistakes=grave, remarks=remarks)


def _without_lag(
    mechanism: Mechanism,
    measured: MeasuredMotion,
    begun: _Begun,
    beliefs: Beliefs,
    progress: Progress,
) -> tuple[float, _Begun]:
    """By how much efforts lag positions, s, and what begins without that; zero for next to nothing.

    It is learnt again and again with efforts that come sooner, as long as a lag is sure: belief and
    noise of efforts, which stands on both sides, make each step too short, but do not ask for one.
    """
    lag, least = 0.0, _LATE / measured.smooth.cutoff
    for _ in range(_SHIFTS):
        learnt = learn(begun.training, begun.unknowns)
        row = begun.unknowns.scaled(learnt.sizes).spread[[begun.unknowns.names.index(LAG)]]
        step, unsure = float((row @ learnt.x)[0]), float(learnt.unsure(row)[0])
        if abs(step) < max(least, _SURE * unsure):
            break
        lag += step
        begun = _begun(mechanism, mechanism, measured.sooner(lag), beliefs, progress)
    return lag, begun


def _of_lag(result: Identified, taken_off: float) -> tuple[str, ...]:
    """A sentence on a lag that is surely there: of what was taken off, s, and what was learnt."""
    row = result.unknowns.spread[[result.unknowns.names.index(LAG)]]
    lag, unsure = taken_off + float((row @ result.x)[0]), float(result.learnt.unsure(row)[0])
    if abs(lag) < max(_LATE / result.measured.smooth.cutoff, _SURE * unsure):
        return ()
    way = 'lag' if lag > 0.0 else 'run ahead of'
    amount = f'{1e3 * abs(lag):.2g} ms; the numbers are for efforts without this'
    return (f'all motors: efforts {way} positions by {amount}',)


def _explains_more(scaled: Identified, result: Identified) -> bool:
    """Whether less than half as much is left of efforts held out that were divided by a gain.

    Each motor's as a part of its own, whatever its unit; motors count alike, or as their efforts
    are large: next to nothing can be explained of what hardly turns.
    """
    shares = [part.held_out.error_by_motor(part.x) for part in (scaled, result)]
    large = np.sqrt((result.held_out.effort**2).mean(axis=0)) / result.held_out.usual
    for weight in (np.ones_like(large), large):
        after, before = (float(np.linalg.norm(weight * share)) for share in shares)
        if after < _CLEARLY * before:
            return True
    return False


def _identified(
    mechanism: Mechanism,
    parts: Sequence[MeasuredMotion],
    begun: _Begun,
    beliefs: Beliefs,
    motors: Scaling | None,
    friction_too: bool,
    progress: Progress,
) -> Identified:
    """Numbers from one part of a motion, judged by the other; without mistakes and remarks."""
    measured, judged = parts
    fit = _fitted(mechanism, measured, begun, progress)
    kinds: list[WorthIt] = []
    if friction_too:
        search = FrictionSearch(mechanism, measured, fit.training, fit.unknowns, fit.x)
        kinds = [*search.found()]
    if kinds and motors is None:  # else friction is the drives', which have no other kinds
        mechanism = _with_kinds(mechanism, kinds)
        present = _with(mechanism, fit.unknowns, fit.x)
        begun = _begun(mechanism, present, measured, beliefs, progress)
        fit = _fitted(mechanism, measured, begun, progress)
    other = equations(fit.present, judged, fit.unknowns, begun.usual, progress)
    return Identified(
        mechanism, measured, fit.unknowns, fit.learnt, fit.x, least_squares(fit.training), (),
        (), tuple(kind.sentence(motors is None) for kind in kinds), fit.training, other,
    )  # fmt: skip


class _Begun(NamedTuple):
    """What is believed, and the equations to learn from."""

    usual: Usual
    unknowns: Unknowns
    training: Equations


def _begun(
    mechanism: Mechanism,
    present: Mechanism,
    measured: MeasuredMotion,
    beliefs: Beliefs,
    progress: Progress,
) -> _Begun:
    """At loads of a mechanism with present numbers."""
    usual = usual_sizes(mechanism, measured)
    unknowns = unknowns_of(mechanism, beliefs, usual)
    return _Begun(usual, unknowns, equations(present, measured, unknowns, usual, progress))


class _Fit(NamedTuple):
    """What was learnt from equations, which are in units of the unknowns found."""

    unknowns: Unknowns
    learnt: Learnt
    x: FloatArray
    training: Equations
    present: Mechanism  # with the numbers found


def _fitted(
    mechanism: Mechanism, measured: MeasuredMotion, begun: _Begun, progress: Progress
) -> _Fit:
    """From equations at loads as they are believed first; then at those found."""
    usual, before, training = begun
    for further in reversed(range(passes(mechanism.description))):
        learnt = learn(training, before)
        unknowns = before.scaled(learnt.sizes)
        x = consistent(unknowns, learnt)
        present = _with(mechanism, unknowns, x)
        if further:
            training = equations(present, measured, before, usual, progress)
    return _Fit(unknowns, learnt, x, training.scaled(learnt.sizes), present)


def _with_kinds(mechanism: Mechanism, kinds: Iterable[WorthIt]) -> Mechanism:
    """The mechanism whose motors have friction of further kinds, to be identified."""
    description = mechanism.description
    for worth in kinds:
        description = worth.kind.described(description, worth.joint, worth.velocity)
    return Mechanism(description)


def passes(description: MechanismDescription) -> int:
    """How often equations are set up: twice where friction grows with loads of what is unknown."""
    laws = [motor.friction for motor in description.actuators.values()]
    loaded = any(law.coulomb or law.gear_loss is not None for law in laws)
    return 2 if loaded or any(part.friction.coulomb for part in description.contacts) else 1


def _with(mechanism: Mechanism, unknowns: Unknowns, x: FloatArray) -> Mechanism:
    """The mechanism with other numbers."""
    parameters = mechanism.parameters(friction=True)
    values = zip(unknowns.names, possible(unknowns, x), strict=True)
    return mechanism.with_parameters({n: float(value) for n, value in values if n in parameters})
