# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inputs of all sections: a chewing motion of the masticator, by default the built-in one.

The papers' own trajectory and bite force were never published; every comparison that depends on
them says so.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import wrenches_on_platform
from masticator_dynamics.mechanism import Mechanism

SAMPLES = 250
STROKES, PERIOD = 5, 1.0  # as in S0 Sec. 7 and S1 Fig. 9: five bursts in five seconds
POSE = ('x', 'y', 'z', 'alpha', 'beta', 'gamma')
CRANKS = tuple(f'crank_{i}' for i in range(1, 7))
CONDYLES = ('condyle_left', 'condyle_right')
Case = TypeVar('Case', bound=Hashable)


@dataclasses.dataclass(frozen=True)
class ChewingMotion:
    """A motion of the masticator and the wrench of the food on the mandible.

    Attributes
    ----------
    name : str
        For titles and notes.
    time : array, shape (N,)
        s.
    y, y_dot, y_ddot : array, shape (N, 4)
        x, y (m), alpha, beta (rad) and their time derivatives.
    wrench : array, shape (N, 6)
        N and N m, on the mandible, base axes, torque about the mandible's origin.
    built_in : bool
        Whether it is ours rather than the user's.
    """

    name: str
    time: FloatArray
    y: FloatArray
    y_dot: FloatArray
    y_ddot: FloatArray
    wrench: FloatArray
    built_in: bool = False

    @property
    def states(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Arguments of ``feedforward_batch``, the wrench included."""
        return self.y, self.y_dot, self.y_ddot, self.wrench


class PlatformMotion(NamedTuple):
    """The six coordinates (N, 6) of a platform, m and rad, and their time derivatives."""

    y: FloatArray
    y_dot: FloatArray
    y_ddot: FloatArray


def _silent(steps: Iterable[Any], label: str, count: int) -> Iterable[Any]:
    return steps


class Inputs:
    """Mechanisms and motion, each made once, when a section first asks for it.

    Parameters
    ----------
    motion : callable, optional
        Makes the motion to compare on from the masticator; default: built-in chewing.
    show : callable, optional
        Iterates over steps and shows progress, given the steps, a label and their number; shows
        nothing by default.

    Attributes
    ----------
    known : dict
        Results computed in advance, by function and case.
    """

    def __init__(
        self,
        motion: Callable[[Mechanism], ChewingMotion] | None = None,
        show: Callable[[Iterable[Any], str, int], Iterable[Any]] = _silent,
    ):
        self._make_motion = motion or built_in_motion
        self.show = show
        self.known: dict[tuple[Callable[..., Any], Hashable], Any] = {}

    def progress(self, steps: Sequence[Any], label: str) -> Iterable[Any]:
        """Iterate over steps and show how many are done."""
        return self.show(steps, label, len(steps))

    def results(
        self, function: Callable[[Case], Any], cases: Sequence[Case], label: str
    ) -> dict[Case, Any]:
        """Results of a function by case, each computed once.

        Parameters
        ----------
        function : callable
            Takes one case.
        cases : sequence
            Hashable; may contain repetitions.
        label : str
            Label for the progress shown.
        """
        missing = [case for case in dict.fromkeys(cases) if (function, case) not in self.known]
        for case in self.progress(missing, label) if missing else ():
            self.known[function, case] = function(case)
        return {case: self.known[function, case] for case in cases}

    def having(self, motion: ChewingMotion, masticator: Mechanism | None = None) -> Inputs:
        """Inputs with another motion, and optionally another masticator."""
        inputs = Inputs(lambda _: motion, self.show)
        inputs.masticator = masticator or self.masticator
        inputs.rss6 = self.rss6
        return inputs

    @functools.cached_property
    def masticator(self) -> Mechanism:
        """The mechanism with contacts."""
        return Mechanism.load('masticator')

    @property
    def given_motion(self) -> ChewingMotion | None:
        """:attr:`motion`, or None if it is the built-in one."""
        return None if self._make_motion is built_in_motion else self.motion

    @functools.cached_property
    def rss6(self) -> Mechanism:
        """The counterpart of the masticator without contacts."""
        return Mechanism.load('rss6')

    @functools.cached_property
    def motion(self) -> ChewingMotion:
        """The motion of both mechanisms."""
        return self._make_motion(self.masticator)

    @functools.cached_property
    def platform_motion(self) -> PlatformMotion:
        """:attr:`motion` in six coordinates of the mandible, which rss6 needs; loops closed."""
        motion, masticator = self.motion, self.masticator
        solved = masticator.feedforward_batch(*motion.states[:3])
        columns = masticator.tree_indices(POSE)
        return PlatformMotion(solved.q[:, columns], solved.v[:, columns], solved.a[:, columns])


def built_in_motion(
    masticator: Mechanism,
    *,
    samples: int = SAMPLES,
    shift: FloatArray | None = None,
    straight_down: bool = False,
) -> ChewingMotion:
    """Five chewing strokes in five seconds and the food's force on the left molar.

    Parameters
    ----------
    masticator : Mechanism
    samples : int
        Number of samples, evenly spaced.
    shift : array, shape (4,), optional
        Added to all poses, m and rad.
    straight_down : bool
        Turn the force straight down, keeping its magnitude.
    """
    # Only here: scipy's splines take long to import.
    from masticator_dynamics.motion.chewing import bite_force, chewing_stroke

    path = chewing_stroke(strokes=STROKES, period=PERIOD)
    food = bite_force(strokes=STROKES, period=PERIOD)
    step = STROKES * PERIOD / samples
    time = np.asarray((np.arange(samples) + 0.5) * step, dtype=np.float64)
    y, y_dot, y_ddot = path.sample(time)
    y = y if shift is None else y + shift
    force = np.zeros((samples, 6))
    force[:, :3] = food.sample(time)
    if straight_down:
        force[:, 2] = -np.linalg.norm(force[:, :3], axis=1)
        force[:, :2] = 0.0
    q = masticator.feedforward_batch(y).q
    wrench = wrenches_on_platform(masticator, q, force, point=food.frame)
    return ChewingMotion('built-in chewing', time, y, y_dot, y_ddot, wrench, True)
