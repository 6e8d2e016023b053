# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mistakes in how efforts were recorded, found by what the recording would say without them.

Signs, swapped motors, gains, a lag and rows reversed in time are tried one by one. Each is judged
by what is left of the efforts after a fit of bodies near the file's, of friction that brakes, of
rotors and offsets: a mistake is told when the recording without it is much likelier, whatever
friction the file has. Likelihoods are relative to each motor's own efforts, so that a wrist counts
as much as a shoulder. Long recordings make small things certain: efforts of every drive lag a
little. A lag without which hardly less would be left is no mistake: it is learnt like all else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.effort_regressor import powers
from masticator_dynamics.engine.evaluation.with_parameters import in_bounds
from masticator_dynamics.engine.parameters import BRAKES, INERTIAL
from masticator_dynamics.identification.measured_motion import MeasuredMotion
from masticator_dynamics.identification.unknowns import LAG, Unknowns
from masticator_dynamics.identification.weighted_equations import Equations
from masticator_dynamics.mechanism import Mechanism

_WIDE = 1e5  # times what is believed of friction, rotors and offsets: nothing is known
_RESOLVED = 0.02  # of a motor's efforts: smaller differences prove nothing
_INDEPENDENT = 4.0  # rows per second that count as such
_ROUNDS = 3
_SURE = 12.0  # logarithm of how much likelier a recording must be without the mistake
_LESS = 0.85  # of what is left of each motor's efforts, on average, without a lag that matters
_GAINS = 10.0 ** np.array([-4.0, -3.0, -2.5, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25])
_FAR = 15.0  # decades
_FINER = 0.01  # decades, to which a gain is found
_BEYOND = 1.0  # decade, by which efforts would show next to nothing of the bodies
_NO_GAIN = np.log10(1.5)  # decades by which bodies may be other than the file's
_LONGEST = 0.25  # s, of lags that are looked for, or
_MOST_ROWS = 24
_COARSE = 12  # steps on the way there
_FEWEST = 2  # rows, of lags that are told
_AT_ONCE = 3  # mistakes


@dataclasses.dataclass(frozen=True)
class _Reading:
    """How efforts are to be read: what each motor gave by what the columns say, and when."""

    mixing: FloatArray  # (n_u, n_u)
    lag: int = 0  # rows
    backward: bool = False
    told: str = ''
    gain: FloatArray | None = None  # (n_u,), of the last mistake, if it is one


class _Judged(NamedTuple):
    """How a reading fits."""

    unlikely: float  # minus the logarithm of the likelihood
    left: float  # part of a motor's efforts that is left, geometric mean over motors


class Mistake(NamedTuple):
    """A sentence that begins with the motors it is about.

    gain (n_u,): efforts are to be multiplied by it, if that is all that is wrong.
    """

    told: str
    gain: FloatArray | None


def _gain_sentence(name: str, factor: float, most: str) -> str:
    """Of efforts that must be multiplied by a factor to be what bodies need."""
    times = f'{most}{1.0 / factor:.3g} times as large as bodies like those of the file need'
    return f'{name}: efforts are {times}; a gain, or a unit other than N m or N (a current?)'


def gain_of(mistakes: Sequence[Mistake]) -> FloatArray | None:
    """What efforts (n_u,) are to be multiplied by, if gains are all that is wrong with them."""
    gains = [mistake.gain for mistake in mistakes]
    factors = [gain for gain in gains if gain is not None]
    if not factors or len(factors) < len(gains):
        return None
    return np.asarray(np.prod(factors, axis=0))


class MistakeSearch:
    """What a recording would say, read in another way."""

    def __init__(
        self,
        mechanism: Mechanism,
        measured: MeasuredMotion,
        equations: Equations,
        unknowns: Unknowns,
    ):
        self._mechanism, self._measured, self._equations = mechanism, measured, equations
        self._rates = powers(mechanism, measured.motion)
        self._by_pair = self._of_pairs()
        self._columns = equations.back @ equations.matrix  # (M, n_u, n_x)
        self._columns[..., unknowns.causes.index(LAG)] = 0.0  # lags are looked for by shifting
        self._needed = np.einsum('muaa->mu', self._by_pair) - equations.errors(0.0)
        names = np.array(unknowns.names)
        single = (unknowns.spread != 0.0).sum(axis=0) == 1
        rows = np.abs(unknowns.spread).argmax(axis=0)
        size = unknowns.spread[rows, np.arange(len(rows))]
        bounded = [not in_bounds(n, -1.0) and not n.endswith(INERTIAL[0]) for n in names[rows]]
        self._least = np.where(single & bounded, -unknowns.values[rows] / size, -np.inf)
        kinds = np.array([name.rpartition('.')[2] for name in names[rows]])
        measured_by = (kinds == 'effort_scale') | np.char.startswith(names[rows], 'sensor.')
        # Of motors' friction and offsets the size comes from efforts, which may be in any unit.
        larger = np.maximum(1.0, self._needed_of_shown())
        by_motor = dict(zip(mechanism.actuated, larger, strict=True))
        wide = [_WIDE * by_motor.get(name.rpartition('.')[0], 1.0) for name in names[rows]]
        self._precision = np.where(single & ~measured_by, wide, 1.0) ** -2.0
        self._brakes = single & np.isin(kinds, BRAKES)
        length = equations.time[-1] - equations.time[0]
        self._worth = max(_INDEPENDENT * length / len(equations.time), 1e-9)
        self._normal = np.einsum('mui,muj->uij', self._columns, self._columns)

    def _moving(self, forces: FloatArray) -> FloatArray:
        """Smallest efforts (M, n_u, ...) for generalised forces (N, n_y, ...), filtered."""
        return np.asarray(self._equations.back @ self._measured.smooth(forces)[self._measured.kept])

    def _of_pairs(self) -> FloatArray:
        """Moving efforts (M, n_u, a, b) of motor a if it gave what the column of motor b says."""
        parts = [
            self._moving(self._rates[..., a, None] * self._measured.effort[:, None, :])
            for a in range(self._rates.shape[-1])
        ]
        return np.stack(parts, axis=2)

    def _supplied(self, reading: _Reading) -> FloatArray:
        """Moving efforts (M, n_u)."""
        if not reading.lag:
            return np.tensordot(self._by_pair, reading.mixing, axes=([2, 3], [0, 1]))
        effort = np.roll(self._measured.effort @ reading.mixing.T, -reading.lag, axis=0)
        return self._moving(self._rates @ effort[..., None])[..., 0]

    def judged(self, reading: _Reading) -> _Judged:
        """How a reading fits."""
        rows = self._inside(reading.lag)
        supplied = self._supplied(reading)[rows]
        target, columns = supplied - self._needed[rows], self._columns[rows]
        size = np.sqrt((supplied**2).mean(axis=0)) + 1e-12 * self._equations.usual
        sign = np.where(self._brakes & reading.backward, -1.0, 1.0)
        right = np.einsum('mui,mu->ui', columns, target) * sign
        worth, noise = self._worth * len(self._needed) / len(target), size
        for _ in range(_ROUNDS):
            weight = worth / noise**2
            normal = np.tensordot(weight, self._normal, axes=1) * np.outer(sign, sign)
            x = self._bounded(normal + np.diag(self._precision), weight @ right)
            error = target - columns @ (sign * x)
            noise = np.sqrt((error**2).mean(axis=0) + (_RESOLVED * size) ** 2)
        log_shares = np.log(noise / size)
        unlikely = worth * len(target) * log_shares.sum() + 0.5 * (self._precision * x) @ x
        return _Judged(float(unlikely), float(np.exp(log_shares.mean())))

    def _inside(self, lag: int) -> npt.NDArray[np.bool_]:
        """Rows (M,) that stay inside the recording when they are read later."""
        rows, smooth = self._measured.kept + lag, self._measured.smooth
        edge = smooth.kept(0).start // 2 if lag else 0
        return np.asarray((rows >= edge) & (rows < len(self._measured.time) - edge))

    def _bounded(self, normal: FloatArray, right: FloatArray) -> FloatArray:
        """Least squares in which friction and rotors are not negative."""
        free = np.ones(len(right), dtype=bool)
        x = np.zeros(len(right))
        for _ in range(_ROUNDS):
            x[~free] = self._least[~free]
            part = right[free] - normal[np.ix_(free, ~free)] @ x[~free]
            x[free] = np.linalg.solve(normal[np.ix_(free, free)], part)
            below = free & (x < self._least)
            if not below.any():
                break
            free &= ~below
        return np.maximum(x, self._least)

    def found(self) -> Iterator[Mistake]:
        """Mistakes, the one that explains most first."""
        present = _Reading(np.eye(len(self._mechanism.actuated)))
        before, mistakes = self.judged(present), list[Mistake]()
        for _ in range(_AT_ONCE):
            others = [(self.judged(reading), reading) for reading in self._others(present)]
            after, likeliest = min(others, key=lambda pair: pair[0].unlikely)
            if after.unlikely > before.unlikely - _SURE:
                break
            if likeliest.lag == present.lag or after.left < _LESS * before.left:
                mistakes.append(Mistake(likeliest.told, likeliest.gain))
            present, before = likeliest, after
        gains = [mistake for mistake in mistakes if mistake.gain is not None]
        if len(gains) > 1:
            rest = [mistake for mistake in mistakes if mistake.gain is None]
            mistakes = [*rest, *([*self._by_motor(gains, present)] or gains)]
        yield from mistakes

    def _by_motor(self, gains: Sequence[Mistake], present: _Reading) -> Iterator[Mistake]:
        """Gains of single motors, where all have one and some others: the likeliest together.

        Motors whose efforts show friction alone have none, unless one was found for them alone.
        """
        names, each = self._mechanism.actuated, np.eye(len(self._mechanism.actuated))

        def unlikely(decades: FloatArray) -> float:
            mixing = 10.0 ** decades[:, None] * present.mixing
            return self.judged(dataclasses.replace(present, mixing=mixing)).unlikely

        before = np.array([gain.gain for gain in gains])
        finer = np.zeros(len(names))
        if not (before != 1.0).all(axis=1).any():  # perhaps one that was not looked for any more
            apart = np.log10(self._needed_of_shown() / before.prod(axis=0)).mean()
            starts = *np.log10(np.concatenate([_GAINS, 1.0 / _GAINS])), np.clip(apart, -_FAR, _FAR)
            all_alike = min((start + finer for start in starts), key=unlikely)
            if unlikely(all_alike) < unlikely(finer) - _SURE:
                finer = all_alike
        sure = unlikely(finer) + _SURE
        telling = [k for k in range(len(names)) if unlikely(finer + _BEYOND * each[k]) > sure]
        for _ in range(_ROUNDS):
            for direction in (np.ones(len(names)), *each[telling]):
                step = 1.0
                while step > _FINER:
                    step *= 0.5
                    change = step * direction
                    finer = min((finer - change, finer, finer + change), key=unlikely)
        total = before.prod(axis=0) * 10.0**finer
        alone = before[(before != 1.0).sum(axis=1) == 1]
        for k in np.flatnonzero(np.abs(np.log10(total)) > _NO_GAIN).tolist():
            if k in telling or (alone[:, k] != 1.0).any():
                most = '' if k in telling else 'at most '
                sentence = _gain_sentence(names[k], float(total[k]), most)
                yield Mistake(sentence, np.where(each[k] > 0.0, total, 1.0))

    def _others(self, present: _Reading) -> Iterator[_Reading]:
        """Readings with one mistake more."""
        names, same = self._mechanism.actuated, np.eye(len(self._mechanism.actuated))
        present = dataclasses.replace(present, gain=None)

        def other(change: FloatArray, sentence: str) -> _Reading:
            return dataclasses.replace(present, mixing=change @ present.mixing, told=sentence)

        for a, name in enumerate(names):
            sentence = f'{name}: efforts of {name} have the other sign'
            yield other(same - 2.0 * np.outer(same[a], same[a]), sentence)
            for b in range(a):
                apart = same[a] - same[b]
                sentence = f'{names[b]} and {name}: efforts of {names[b]} and {name} are swapped'
                yield other(same - np.outer(apart, apart), sentence)
            yield from self._gain(other, same - np.outer(same[a], same[a]), name)
        yield other(-same, 'all motors: efforts have the other sign')
        yield from self._gain(other, 0.0 * same, 'all motors')
        sentence = 'all motors: rows run backward in time, since friction drives instead of braking'
        yield dataclasses.replace(present, backward=not present.backward, told=sentence)
        yield from self._lag(present)

    def _gain(
        self, other: Callable[[FloatArray, str], _Reading], fixed: FloatArray, name: str
    ) -> Iterator[_Reading]:
        """The likeliest factor by which efforts are too small or too large, if that is much."""
        changed = np.eye(len(fixed)) - fixed

        def reading(factor: float, most: str = '') -> _Reading:
            gain = np.diag(fixed + factor * changed)
            sentence = _gain_sentence(name, factor, most)
            return dataclasses.replace(other(np.diag(gain), sentence), gain=gain)

        def unlikely(decades: float) -> float:
            return self.judged(reading(10.0**decades)).unlikely

        motors = np.diag(changed) > 0.0
        # However far units are apart.
        apart = float(np.clip(np.log10(self._needed_of_shown()[motors]).mean(), -_FAR, _FAR))
        factors = [*np.log10(np.concatenate([_GAINS, 1.0 / _GAINS])), apart]
        best, step = min(factors, key=unlikely), 1.0
        while step > _FINER:
            step *= 0.5
            best = min((best - step, best, best + step), key=unlikely)
        if abs(best) <= _NO_GAIN:
            return
        if unlikely(best + _BEYOND) > unlikely(best) + _SURE:
            yield reading(10.0**best)
        elif best > 0.0 and (self._needed_of_shown()[motors] > 10.0**_BEYOND).all():
            # Nearly all friction: any further gain makes as much sense.
            yield reading(10.0**best, 'at most ')

    def _needed_of_shown(self) -> FloatArray:
        """How large (n_u,) efforts are that move the file's bodies, compared with the measured."""
        shown = np.sqrt((self._equations.effort**2).mean(axis=0))
        tiny = np.finfo(float).tiny
        return np.asarray((self._needed.std(axis=0) + tiny) / (shown + tiny))

    def _lag(self, present: _Reading) -> Iterator[_Reading]:
        """The likeliest time by which efforts lag positions, if that is some rows."""
        rate = self._measured.smooth.rate
        most = min(max(round(_LONGEST * rate), _MOST_ROWS), len(self._measured.time) // 8)

        def reading(rows: int) -> _Reading:
            way = 'lag' if rows > 0 else 'run ahead of'
            least = 'at least ' if abs(rows) >= most else ''
            time = f'{least}{abs(rows) / rate:.3g} s ({abs(rows)} rows)'
            sentence = f'all motors: efforts {way} positions by {time}'
            return dataclasses.replace(present, lag=rows, told=sentence)

        def unlikely(rows: int) -> float:
            return self.judged(reading(rows)).unlikely

        step = max(1, most // _COARSE)
        best = min(range(-most, most + 1, step), key=unlikely)
        while step > 1:
            step = (step + 1) // 2
            best = min((best - step, best, best + step), key=unlikely)
        if abs(best - present.lag) >= _FEWEST:
            yield reading(best)
