# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the food does, from the torques and positions of the motors: an observer of momentum.

The generalised momentum M y_dot changes by what motors, gravity and friction do to it; what is left
is what the food does (De Luca, Albu-Schaeffer, Haddadin and Hirzinger, IROS 2006). Changes of
momentum are taken as M times the change of velocity from sample to sample, which is the same
without the rate of M; the acceleration that the motors' torques cause, friction under the loads of
the moment included, is the engine's forward dynamics.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.scaling import Scaling
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.actuated_fit import ActuatedFit
from masticator_dynamics.engine.evaluation.results import Motion
from masticator_dynamics.engine.traced.simulation_data import Regularisation
from masticator_dynamics.errors import InputError
from masticator_dynamics.identification.torque_watch import TorqueErrors, TorqueWatch
from masticator_dynamics.mechanism import Mechanism

_LONGEST = 0.05  # s between samples, after which the observer begins anew
_POSES = 24  # that fitting one sample may solve
_FORGET = 2.0  # s, of the self-check
_SURE = 3.0  # standard deviations of the self-check
_MODEL = 4.0  # standard deviations of the model's errors beyond which there is contact
_ALONE, _BEFORE, _END = 1.3, 0.6, 0.5  # of that: one sample, the one before, what ends contact
_LAW = Regularisation()  # velocities from counts are noisy
_NEAR = 3.0  # samples, within which the sign of a velocity is not sure
_VAGUE = 1e3  # times friction: noise beside which it tells nothing; at rest it is rounding alone
_LEAST_ERROR = 10.0  # steps of torque that are no error
_TELLING = 1e-3  # of the largest generalised friction: what tells nothing about it


@dataclasses.dataclass(frozen=True)
class ObserverSettings:
    """How measurements are made, and how well the model is known.

    Attributes
    ----------
    count, torque_step : float
        Steps of positions (rad or m) and efforts (N m or N) of the actuated joints.
    averaged : bool
        Whether efforts are means since the sample before, and not those of the instant.
    cutoff : float
        Hz, of the two poles of the filter.
    friction_error, inertia_error : float
        Standard deviations of friction and of inertial forces, as shares.
    torque_error : float
        N m or N, of a motor's torque at standstill, or of torques that press against one another:
        more is told. What friction at rest and counts of position loops may be.
    least_force : float
        N, of what counts as contact.
    sure : float
        Standard deviations of noise and reversals of friction beyond which there is contact; of the
        model's errors, which are not new in every sample, four count.
    """

    count: float = 2.0 * np.pi / (4096 * 4.8)
    torque_step: float = 4.2e-4
    averaged: bool = False
    cutoff: float = 80.0
    friction_error: float = 0.1
    inertia_error: float = 0.02
    torque_error: float = 0.01
    least_force: float = 0.5
    sure: float = 6.0


def measured_by(drives: Drives) -> tuple[ObserverSettings, Scaling]:
    """Steps of what drives measure, and what their motors and gears take of it."""
    motors = [drive.motor for drive in drives.drives.values()]
    averaged = all(drive.measured_torque == 'mean' for drive in drives.drives.values())
    counts = [2.0 * np.pi / (motor.counts_per_turn * motor.gear_ratio) for motor in motors]
    steps = [1e-3 * motor.rated_torque * motor.gear_ratio for motor in motors]
    gains = [drive.gains.position if drive.gains else 0.0 for drive in drives.drives.values()]
    rows = zip(motors, gains, counts, strict=True)
    held = [m.friction.coulomb * m.gear_ratio + gain * count for m, gain, count in rows]
    settings = ObserverSettings(
        count=max(counts), torque_step=max(steps), averaged=averaged,
        torque_error=max(*held, _LEAST_ERROR * max(steps)),
    )  # fmt: skip
    return settings, Scaling(motors)


@dataclasses.dataclass(frozen=True)
class BiteEstimate:
    """What the environment does to the platform at the observed point.

    Attributes
    ----------
    time : float
        s, of the sample before the newest: what the estimate is of.
    force : array, shape (3,)
        N, base axes.
    covariance : array, shape (3, 3)
        N^2; for the stated errors of friction and inertia, and zeros of the motors' torques.
    contact : bool
        Whether it is more than the model's own error, as stated or, if that is more, as shown by
        what no force at the point can cause.
    friction_excess : float
        By how much friction seems to be more than described, as a share; from what no force at
        the point can cause.
    friction_sd : float
        Its standard deviation.
    unexplained : float
        Root mean square of what no force at the point can cause, over what is expected.
    encoder_gap : float
        By how much redundant encoders disagree, rad or m.
    torque_errors : TorqueErrors
        Of the motors ``joints``.
    joints : tuple of str
    """

    time: float
    force: FloatArray
    covariance: FloatArray
    contact: bool
    friction_excess: float
    friction_sd: float
    unexplained: float
    encoder_gap: float
    torque_errors: TorqueErrors
    joints: tuple[str, ...]

    @property
    def bound(self) -> FloatArray:
        """Half of the 95 % interval (3,) of each component, N."""
        return np.asarray(1.96 * np.sqrt(np.diag(self.covariance)))

    def model_fault(self, settings: ObserverSettings) -> str:
        """Why the model and not the food is the cause; empty if nothing says so."""
        allowed = 2.0 * settings.friction_error
        if abs(self.friction_excess) > allowed + _SURE * self.friction_sd:
            way = 'more' if self.friction_excess > 0.0 else 'less'
            return f'friction is about {abs(self.friction_excess):.0%} {way} than described'
        if self.unexplained > _SURE:
            return (
                f'motors do {self.unexplained:.2g} times what friction and noise explain and no '
                'force at the point can cause: another load, or a wrong model'
            )
        if self.encoder_gap > 20.0 * settings.count:
            return f'encoders disagree by {self.encoder_gap:.2g}: zeros, play or a slipping encoder'
        return self.torque_errors.fault(self.joints, settings.torque_error)

    def guarded(self, settings: ObserverSettings) -> FloatArray:
        """The part (3,) of the force that the model's error cannot be, N: what may be fed forward.

        Zero without contact and where the model is at fault, and shorter by its own bound
        otherwise: an error of the model is not fed back.
        """
        size = float(np.linalg.norm(self.force))
        if not self.contact or not size or self.model_fault(settings):
            return np.zeros(3)
        along = self.force / size
        bound = 1.96 * float(np.sqrt(along @ self.covariance @ along))
        return np.asarray(self.force * max(1.0 - bound / size, 0.0))


class BiteObserver:
    """Observes the force of the environment at one point of the platform, sample by sample.

    Parameters
    ----------
    mechanism : Mechanism
        With the friction that is known of it; for one thread.
    point : str
        URDF link of the platform at whose origin the force acts.
    settings : ObserverSettings
    motors : Scaling, optional
        Of the motors, whose friction takes a part of the efforts that they measure.

    Raises
    ------
    InputError
        For an unknown link, or a mechanism of fewer freedoms than a force has components.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        point: str,
        settings: ObserverSettings | None = None,
        motors: Scaling | None = None,
    ):
        self._mechanism = mechanism
        self.settings = settings or ObserverSettings()
        if point not in mechanism.frames:
            raise InputError(f'no frame {point!r}; there are: {", ".join(mechanism.frames)}')
        self._freedoms = len(mechanism.independent)
        if self._freedoms < 3:
            raise InputError(
                f'{mechanism.name} has {self._freedoms} degrees of freedom: a force of three '
                'components cannot be told'
            )
        platform, frames = mechanism.description.platform, mechanism.structure.tree.frames
        if frames[point].body != frames[platform].body:
            raise InputError(f'{point} is not fixed to the platform, {platform}')
        self._fit, self._platform = ActuatedFit(mechanism), mechanism.frame_chain(platform)
        at, axes = self._platform.poses(mechanism.home.q)
        self._offset = axes.T @ (mechanism.frame_chain(point).poses(mechanism.home.q)[0] - at)
        self._motors = motors
        self._torques = TorqueWatch(mechanism, self.settings.count, self.settings.torque_step)
        self.reset()

    @property
    def not_seen(self) -> str:
        """Which errors of the motors' torques nothing shows while food may act."""
        motors, freedoms = len(self._mechanism.actuated), self._freedoms
        return (
            f'of {motors} torques, {motors - freedoms} combinations press against one another and '
            f'{freedoms - 3} move what no force at the point moves: an error in the 3 others looks '
            'like food, but for zeros at the first standstill'
        )

    def reset(self) -> None:
        """Begin anew: forget all samples, zeros, and what the self-check has learnt."""
        self._torques.forget()
        self._begin()

    def _begin(self) -> None:
        n = self._freedoms
        self._samples: list[tuple[float, Motion, FloatArray]] = []
        self._stages = np.zeros((2, n))
        self._expected = np.zeros((2, n, n))  # by noise and reversals, and by the model
        self._velocity, self._late = np.zeros(n), np.zeros(n)
        self._friction = np.zeros(n)
        self._wrench, self._contact = np.zeros(6), False
        self._clear = np.zeros(3)  # the last force over what begins contact
        self._sums = np.zeros(4)  # g g, r g, squared rest over expected, weight

    def step(
        self,
        time: float,
        position: FloatArray,
        effort: FloatArray,
        motion: Motion | None = None,
    ) -> BiteEstimate | None:
        """Take a sample; returns the estimate for the one before.

        Parameters
        ----------
        time : float
            When it was taken, s.
        position, effort : arrays, shape (n_u,)
            Of the actuated joints, rad or m, N m or N: with what motors and gears take, if that
            was given.
        motion : Motion, optional
            The closed pose that fits the positions best, where it is known.

        Returns
        -------
        BiteEstimate or None
            None for the first two samples, and after a gap.

        Raises
        ------
        ReachError, SingularityError
            For positions of no pose.
        """
        if motion is None:
            near = self._samples[-1][1] if self._samples else None
            motion = self._fit.closest(np.asarray(position, dtype=float), _POSES, near)
        if self._samples and not 0.0 < time - self._samples[-1][0] < _LONGEST:
            if time == self._samples[-1][0]:
                return None
            self._begin()  # zeros are as they were
        self._torques.rest(time, position, effort, motion)
        self._samples = [*self._samples[-2:], (time, motion, np.asarray(effort, dtype=float))]
        if len(self._samples) < 3:
            return None
        gap = float(np.abs(motion.position - position).max())
        return self._estimate(gap)

    def _estimate(self, gap: float) -> BiteEstimate:
        (t0, before, _), (t1, now, effort), (t2, after, last) = self._samples
        if self.settings.averaged:
            effort = ((t1 - t0) * effort + (t2 - t1) * last) / (t2 - t0)
        slow, fast = (now.y - before.y) / (t1 - t0), (after.y - now.y) / (t2 - t1)
        period = 0.5 * (t2 - t0)
        share = -np.expm1(-2.0 * np.pi * self.settings.cutoff * period)
        acceleration = (fast - slow) / period
        # Friction needs the sign of a velocity that quantisation does not reverse.
        self._velocity += share * (0.5 * (slow + fast) - self._velocity)
        mechanism = self._mechanism
        mass, tangent = mechanism.mass_matrix(now), now.tangent[mechanism.actuated_rows]
        twist, arm = mechanism.frame_jacobian(now, mechanism.description.platform), self._arm(now)
        # Friction now, and where velocities are some samples before and after.
        near = self._velocity + _NEAR * (fast - slow) * np.array([[0.0], [-1.0], [1.0]])
        efforts = np.tile(effort, (3, 1))
        if self._motors is not None:
            efforts = self._motors.effort_behind_friction(efforts, near @ tangent.T)
        state = np.tile(now.y, (3, 1)), near, efforts, np.tile(self._wrench, (3, 1))
        free = mechanism.forward_dynamics_batch(*state)
        caused = mechanism.forward_dynamics_batch(*state, friction=_LAW)
        friction, *others = (caused - free) @ mass - (effort - efforts) @ tangent
        external = mass @ (acceleration - caused[0]) + twist.T @ self._wrench
        self._stages[0] += share * (external - self._stages[0])
        self._stages[1] += share * (self._stages[0] - self._stages[1])
        of = self.settings
        doubts = [of.inertia_error * (mass @ acceleration), of.friction_error * friction]
        # Of friction, every coordinate may also be off by itself.
        doubts += [*np.diag(doubts[1])]
        model = sum(np.outer(x, x) for x in doubts)
        noise = self._noise(mass, tangent, period, share)
        # Where a velocity changes its sign dry friction may be what it was or what it will be.
        noise += sum(np.outer(x, x) for x in others - friction)
        self._expected += share * (np.stack([noise, model]) - self._expected)
        # The two poles are behind a force that changes by twice as much as they differ.
        self._late = 2.0 * (self._stages[0] - self._stages[1])
        self._friction += share * (friction - self._friction)
        self._torques.press(efforts[0], tangent, period)
        return self._told(t1, twist, arm, tangent, period, gap)

    def _noise(
        self, mass: FloatArray, tangent: FloatArray, period: float, share: float
    ) -> FloatArray:
        """Covariance (n_y, n_y) of the filtered generalised force by steps of measurements."""
        of = self.settings
        steps = np.arange(60)  # of the first pole twice, less the second
        impulse = share * (2.0 - share * (steps + 1)) * (1.0 - share) ** steps
        second = np.convolve(impulse, [1.0, -2.0, 1.0]) / period**2
        by_count = mass @ np.linalg.solve(tangent.T @ tangent, mass) * of.count**2 / 12.0
        by_torque = tangent.T @ tangent * of.torque_step**2 / 12.0
        return np.asarray(by_count * (second @ second) + by_torque * (impulse @ impulse))

    def _told(
        self,
        time: float,
        twist: FloatArray,
        arm: FloatArray,
        tangent: FloatArray,
        period: float,
        gap: float,
    ) -> BiteEstimate:
        """The force that explains what is left, and what none does."""
        smoothed, friction = self._stages[1] + self._late, self._friction
        chain = twist[:3] - _cross(arm) @ twist[3:]  # velocity of the point per y_dot
        late = 0.25 * np.outer(self._late, self._late)
        weight = np.linalg.inv(self._expected.sum(axis=0) + late)
        covariance: FloatArray = np.linalg.inv(chain @ weight @ chain.T).astype(np.float64)
        to_force = covariance @ chain @ weight
        force = to_force @ smoothed
        excess, sd, unexplained = self._self_check(chain, smoothed, friction, period)
        # Friction that seems to be more wrong than stated is no bite, nor is what no force causes.
        of = self.settings
        wrong = (abs(excess) - sd) / max(of.friction_error, _TELLING)
        noise, model = to_force @ (self._expected + [0.0 * late, late]) @ to_force.T
        beyond = of.sure**2 * noise + (_MODEL * max(unexplained, wrong, 1.0)) ** 2 * model
        torques = self._torques.errors()
        by_motor = to_force @ tangent.T
        by_zero, by_press = by_motor * torques.zero, by_motor * torques.pressed
        if torques.measured:  # what is only assumed is no reason to overlook a bite
            beyond = beyond + _MODEL**2 * by_zero @ by_zero.T
        bounded = covariance + by_zero @ by_zero.T + by_press @ by_press.T
        self._contact = self._touches(force, beyond)
        self._wrench = np.concatenate([force, _cross(arm) @ force]) * self._contact
        return BiteEstimate(
            time, force, bounded, self._contact, excess, sd, unexplained, gap,
            torques, self._mechanism.actuated,
        )  # fmt: skip

    def _touches(self, force: FloatArray, beyond: FloatArray) -> bool:
        """Whether a force is contact, by squares of forces (3, 3) that may be none.

        Single samples err: it begins with a larger one, or when the sample before shows the same
        force less clearly. It ends at half of what it begins with.
        """
        size = float(np.linalg.norm(force))
        clear = float(np.sqrt(force @ np.linalg.solve(beyond, force)))
        if self.settings.least_force:
            clear = min(clear, size / self.settings.least_force)
        before = float(self._clear @ force) / size if size else 0.0
        self._clear = force * (clear / size) if size else force
        if self._contact:
            return clear > _END
        return clear > _ALONE or (clear > 1.0 and before > _BEFORE)

    def _arm(self, now: Motion) -> FloatArray:
        """From the platform's origin to the point, m, base axes."""
        return np.asarray(self._platform.poses(now.q)[1] @ self._offset)

    def _self_check(
        self, chain: FloatArray, torques: FloatArray, friction: FloatArray, period: float
    ) -> tuple[float, float, float]:
        """Excess of friction, its standard deviation, and what no force at the point explains."""
        across = np.linalg.svd(chain)[2][3:]  # motions that leave the point where it is
        if not len(across):
            return 0.0, float('inf'), 0.0
        rest, rubbed = across @ torques, across @ friction
        expected = across @ self._expected.sum(axis=0) @ across.T
        scaled = np.linalg.solve(expected, rest)
        memory = np.exp(-period / _FORGET)
        self._sums = memory * self._sums + [
            rubbed @ rubbed, rest @ rubbed, rest @ scaled / len(across), 1.0,
        ]  # fmt: skip
        squares, products, ratio, count = self._sums
        if squares <= (_TELLING * np.abs(friction).max()) ** 2 * count or not squares:
            return 0.0, float('inf'), float(np.sqrt(ratio / count))
        noise = np.sqrt(float(np.trace(expected)))
        independent = max(count * period * self.settings.cutoff, 1.0) / count
        sd = float(noise / np.sqrt(squares * independent))
        if sd > _VAGUE:
            return 0.0, float('inf'), float(np.sqrt(ratio / count))
        return products / squares, sd, float(np.sqrt(ratio / count))


def _cross(vector: FloatArray) -> FloatArray:
    """What multiplies another vector by the vector's cross product (3, 3)."""
    x, y, z = vector.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
