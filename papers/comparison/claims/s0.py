# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Claims of S0: Hessian matrices, Liang's derivatives, Lagrange, inertia coupling."""

import numpy as np

from papers.comparison.claims.claim import (
    FIRST_LARGER,
    Rule,
    SectionTable,
    above,
    below,
    depends,
    digits,
    given,
    numbers,
    refutable,
    unknown,
    within,
)

_MOTION = 'depends on the trajectory, which was measured but not published'
_SIDE = (
    'chewing on the other side swaps the cranks of a pair, so it depends on the side to which the '
    'mandible opens, in a trajectory that is not published'
)
_LEFT, _RIGHT, _STILL, _FREE = (
    'masticator, left molar', 'masticator, right molar', 'masticator, without food',
    'rss6, left molar',
)  # fmt: skip
_LENGTHS = SectionTable('parameters', 'Lengths')
_FRAMES = SectionTable('parameters', 'Printed frames')
_FREEDOMS = SectionTable('parameters', 'Degrees of freedom')
_PARASITIC = SectionTable('parasitic', 'Parasitic rotation')
_MANDIBLE = SectionTable('parasitic', 'Mandible along')
_SYMMETRY = SectionTable('parasitic', 'Symmetry of the cranks')
_HOME = SectionTable('coupling', 'Index MCI at home')
_FORWARD = SectionTable('coupling', 'Index MCI with the jaw forward')
_AVERAGE = SectionTable('coupling', 'Index MCI averaged along built-in chewing, 2')
_MOVED = SectionTable('coupling', 'Index MCI averaged along built-in chewing, moved')
_COURSE = SectionTable('coupling-course', 'Course of the index MCI along built-in chewing')
_PEAKS = SectionTable('torques', 'Largest torques along built-in chewing')
_LIKE = SectionTable('torques', 'Likeness of courses along built-in')
_TIME = SectionTable('formulations', "The papers' claims")
_POSES = _HOME, _FORWARD, _AVERAGE, _MOVED


def most_coupled(*cranks: int) -> Rule:
    """These cranks have the largest of the six indices in every row."""

    def holds(*f: float) -> bool:
        last = np.argsort(np.reshape(f, (-1, 6)), axis=1)[:, -len(cranks) :]
        return bool((np.sort(last, axis=1) + 1 == cranks).all())

    return numbers(f'{", ".join(map(str, cranks))} largest', holds)


CLAIMS = (
    given('S0 Fig. 1', 'schema of the mechanism', 'drawing'),
    given('S0 Fig. 2', 'model of the parts, and photograph', 'drawing'),
    given('S0 Table 1', 'coordinates of G_i, S_i, M_i', 'empty in our copy of the text; as in '
          'S1 Table 1'),
    refutable(
        'S0 Sec. 4', 'lengths of cranks: 10, 10, 15, 15, 15, 15 mm',
        within(0.1, 10, 10, 15, 15, 15, 15),
        _LENGTHS.row('cranks, from the points of S1 Table 1, mm'),
    ),
    refutable('S0 Sec. 4', 'lengths of couplers: 33 mm; 5 and 6: 52 mm',
              within(0.1, 33, 33, 33, 33, 52, 52), _LENGTHS.row('couplers, from the points, mm')),
    refutable('S0 Sec. 4', 'rotation matrices of the cranks, orthonormal to four digits',
              below(2e-4), _FRAMES.column('largest of C^T C - 1', 'crank_1', 'crank_3', 'crank_5')),
    given('S0 Eq. 1', 'p1 to p6: 1.1, -13.215, -10, 5, 69, 75', 'input, used as printed'),
    given('S0 Sec. 5.1', 'inertia of cranks 3510, 6630, 17628 g mm²', 'input, used as printed'),
    given('S0 Sec. 5.1', 'mass 340.22 g and inertia of the end effector', 'input, used as printed'),
    refutable(
        'S0 Eq. 30', 'density of couplers 7.8 g/mm³ (area 17.3494 mm²)', below(340.22),
        _LENGTHS.row('mass of couplers with 7.8 g/mm³, S0 Eq. 30, g'),
        proof='a coupler would weigh 4.5 to 7 kg, but the mandible weighs 0.34 kg; steel: 7.8e-3',
    ),
    refutable('S0 Sec. 3', '4 degrees of freedom of the mechanism, 6 of 6RSS', digits('4', '6'),
              _FREEDOMS.column('freedoms, ours', 'masticator', 'rss6')),
    refutable(
        'S0 Eq. 5', 'gamma = atan(s(alpha) / (p1 c(beta) + c(alpha) s(beta)))', below(1e-12),
        _PARASITIC.row('gamma of S0 Eq. 5 off by'),
        proof='the closed loops need a minus in the denominator, to rounding',
    ),
    depends(
        'S0 Fig. 3', '"a larger translation along the ZS axis than that along the XS and YS axes"',
        FIRST_LARGER, _MANDIBLE.row('range of displacement', 'z', 'x', 'y'), on=_MOTION,
    ),
    depends(
        'S0 Fig. 3', '"a larger rotation around the YM axis than that around the XM and ZM axes"',
        FIRST_LARGER, _MANDIBLE.row('range of displacement', 'beta', 'alpha', 'gamma'), on=_MOTION,
    ),
    depends(
        'S0 Fig. 4', 'left and right cranks "are nearly symmetric"', below(0.25),
        _SYMMETRY.row('theta: rms of the difference / rms'),
        on='exact for symmetric motions; the deviation grows with motion sideways: ' + _MOTION,
    ),
    given('S0 Fig. 5', 'bite force on peanuts, five bursts',
          'measured, not published; built-in chewing has five bursts along the same direction'),
    depends('S0 Fig. 6a', 'the bursts of the torques "tightly follow those in Fig. 5"', above(0.9),
            _LIKE.row(f'{_LEFT}, with the force of the food'), on=_MOTION),
    depends(
        'S0 Fig. 6a', '"much more actuating torques are needed than those to run the mechanism '
        'itself"', numbers('10 times or more', lambda left, still: left > 10.0 * still),
        _PEAKS.column('norm', f'{_LEFT}, largest', f'{_STILL}, largest'), on=_MOTION,
    ),
    depends(
        'S0 Fig. 6a', '"the six actuators output torques synchronously", left and right roughly '
        'symmetric', above(0.9), _LIKE.row(f'{_LEFT}, with the crank of the other side'),
        on=_MOTION,
    ),
    refutable('S0 Fig. 6b', 'Hessian and Lagrange equations: differences "very tiny"', below(1e-9),
              _TIME.row('torques, Hessian and Lagrange', 'masticator')),
    depends('S0 Fig. 6c', 'right molar: the profiles of tau 1 and 2 "vary little"', above(0.95),
            _LIKE.row(f'{_RIGHT}, with {_LEFT}', 'crank_1', 'crank_2'), on=_MOTION),
    depends(
        'S0 Fig. 6c', 'right molar: torques of the fourth and fifth joints "are larger"',
        numbers('larger', lambda r4, r5, l4, l5: r4 > l4 and r5 > l5),
        _PEAKS.row(f'{_RIGHT}, largest', 'crank_4', 'crank_5'),
        _PEAKS.row(f'{_LEFT}, largest', 'crank_4', 'crank_5'), on=_MOTION,
    ),
    depends(
        'S0 Fig. 6c', 'right molar: "those from the third and sixth active joints are smaller"',
        numbers('smaller', lambda r3, r6, l3, l6: r3 < l3 and r6 < l6),
        _PEAKS.row(f'{_RIGHT}, largest', 'crank_3', 'crank_6'),
        _PEAKS.row(f'{_LEFT}, largest', 'crank_3', 'crank_6'), on=_MOTION,
    ),
    depends('S0 Fig. 6c', 'right molar: "the five bursts still follow those in Fig. 5"', above(0.9),
            _LIKE.row(f'{_RIGHT}, with the force of the food'), on=_MOTION),
    depends(
        'S0 Sec. 7.1', 'Hessian 27.87 s, Liang 21.79 s: Hessian slower', above(1.0),
        _TIME.row('time, Hessian / Liang', 'masticator'),
        on="time of the authors' program; in our implementation, the Hessian is not slower",
    ),
    refutable(
        'S0 Sec. 7.1', '27.87 s is "21.82 % slower" than 21.79 s', digits('21.82'),
        100.0 * (27.87 / 21.79 - 1.0),
        proof='arithmetic: 27.9 % slower; 21.82 % is how much faster 21.79 s is than 27.87 s',
    ),
    depends(
        'S0 Fig. 7', 'indices "fluctuate roughly with the peaks and valleys" of the displacements',
        above(0.9), _COURSE.row('masticator, likeness to displacement'), on=_MOTION,
    ),
    refutable('S0 Fig. 7', 'MCI "is not zero" near the initial configuration', above(0.0),
              _HOME.row('masticator, ours')),
    depends(
        'S0 Fig. 7', 'MCI 1 around 0.23, MCI 3 around 0.23, MCI 4 around 0.25',
        within(20, 0.23, 0.23, 0.25),
        _MOVED.row('masticator, ours', 'crank_1', 'crank_3', 'crank_4'),
        on=_MOTION + '; they occur with the jaw about 7 mm forward',
    ),
    depends('S0 Fig. 7', 'MCI 1 "is larger than MCI2"', FIRST_LARGER,
            _AVERAGE.row('masticator, ours', 'crank_1', 'crank_2'), on=_SIDE),
    depends('S0 Fig. 7', '"MCI4 has a larger amplitude" than MCI 3', FIRST_LARGER,
            _COURSE.row('masticator, amplitude', 'crank_4', 'crank_3'), on=_SIDE),
    depends('S0 Fig. 7', '"MCI6 is larger than MCI5"', FIRST_LARGER,
            _AVERAGE.row('masticator, ours', 'crank_6', 'crank_5'), on=_SIDE),
    refutable(
        'S0 Figs. 7, 8', 'MCI 5 and 6 "evidently smaller than MCI1-MCI4"',
        most_coupled(1, 2, 3, 4), *(table.row('masticator, ours') for table in _POSES),
    ),
    depends(
        'S0 Fig. 8', '"the first, third, and fourth active joints are more strongly coupled"',
        most_coupled(1, 3, 4), _AVERAGE.row('masticator, ours'), _MOVED.row('masticator, ours'),
        on='which cranks lead depends on the pose; ' + _MOTION,
    ),
    depends(
        'S0 Sec. 7.3', 'averages of MCI are 50.67, 40.60, 38.87, 40.66, 24.89, 30.83 % of those '
        'of 6RSS', within(10, 50.67, 40.60, 38.87, 40.66, 24.89, 30.83),
        _AVERAGE.row('ratio ours, %'),
        on=_MOTION + '; with the mean pose moved forward they are 59, 47, 40, 39, 28, 31 %',
    ),
    depends(
        'S0 Sec. 7.3', 'the base\'s constraints "greatly alleviate the inertia coupling"',
        below(100.0), _AVERAGE.row('ratio ours, %'),
        on='at home, cranks 1 and 2 are coupled slightly more with the constraints than without',
    ),
    refutable('S0 Sec. 7.2', 'the bite has no influence on MCI', below(1e-12),
              _COURSE.row('masticator, change by the bite', 'crank_1')),
    depends('S0 Sec. 7.3', 'torques of 6RSS: "similar profiles"', above(0.75),
            _LIKE.row(f'{_FREE}, with {_LEFT}'), on='here all but that of crank 5; ' + _MOTION),
    refutable('S0 Sec. 7.3', 'torques of 6RSS: "a larger magnitude" (norm)', FIRST_LARGER,
              _PEAKS.column('norm', f'{_FREE}, largest', f'{_LEFT}, largest')),
    depends(
        'S0 Sec. 7.3', '6RSS: 2.64 s and 2.44 s, Hessian slower', above(1.0),
        _TIME.row('time, Hessian / Liang', 'rss6'),
        on="time of the authors' program; in our implementation, the Hessian is not slower",
    ),
    refutable(
        'S0 Sec. 7.3', 'time "9.56 and 7.93 times larger than that of the 6RSS PM", of necessity',
        above(5.0),
        _TIME.column('masticator', 'time, masticator / rss6, Hessian',
                     'time, masticator / rss6, Liang'),
        proof='27.87 / 2.64 = 10.56 and 21.79 / 2.44 = 8.93 are ratios for one program; Z, '
        'gamma and the pseudo-inverse, given as reasons, do not multiply the time if '
        'differentiated by the chain rule',
    ),
    depends(
        'S0 Fig. 7', '6RSS: a "similar profile"', above(0.8),
        _COURSE.row('correlation of the two mechanisms'),
        on='here only for cranks 3 to 6; ' + _MOTION,
    ),
    refutable('S0 Figs. 7, 8', '6RSS: "larger magnitudes"', below(100.0),
              _AVERAGE.row('ratio ours, %')),
    depends(
        'S0 Fig. 7', '6RSS: "MCI1 is much smoother than MCI2"',
        numbers('half the path or less', lambda one, two: one < 0.5 * two),
        _COURSE.row('rss6, path, 1/s', 'crank_1', 'crank_2'), on=_SIDE,
    ),
    refutable(
        'S0 Fig. 7', '6RSS: "MCI3 and MCI4 are approximately identical"', above(0.95),
        _COURSE.row('rss6, correlation with the crank of the other side', 'crank_3', 'crank_4'),
    ),
    refutable(
        'S0 Fig. 7', '6RSS: MCI 3 and 4 have "a larger amplitude than the other four indices"',
        numbers('both larger', lambda a, b, *rest: min(a, b) > max(rest)),
        _COURSE.row('rss6, amplitude', 'crank_3', 'crank_4', 'crank_1', 'crank_2', 'crank_5',
                    'crank_6'),
    ),
    depends('S0 Fig. 7', '6RSS: "MCI5 is experiencing more drastic changes than MCI6"',
            FIRST_LARGER, _COURSE.row('rss6, path, 1/s', 'crank_5', 'crank_6'), on=_SIDE),
    refutable('S0 Fig. 8', '6RSS: "the third and the fourth active joints are mostly coupled"',
              most_coupled(3, 4), *(table.row('rss6, ours') for table in _POSES)),
    depends(
        'S0 Fig. 8', '6RSS: "the fifth and sixth joints are least coupled"',
        most_coupled(1, 2, 3, 4), _AVERAGE.row('rss6, ours'),
        on='here cranks 1 and 2 are coupled least, at home and while chewing; ' + _MOTION,
    ),
    unknown('S0 Sec. 7.1', '"Intel Core i7-8700K CPU at 3.70 GHz and 32 GB"',
            "the authors' machine and programs; times are compared as ratios"),
)  # fmt: skip
