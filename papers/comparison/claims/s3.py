# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Claims of S3: planar 4-RRR with flexible rods, three drive modes."""

from papers.comparison.claims.claim import (
    FIRST_LARGER,
    SectionTable,
    above,
    below,
    between,
    by_pairs,
    depends,
    digits,
    given,
    numbers,
    refutable,
    unknown,
    within,
)

_LAYOUT = (
    'S3 prints neither the positions of its motors nor the inertia of its platform, and draws '
    'curves without numbers'
)
_MODES = ('mode a', 'mode b', 'mode c')
_FREEDOMS = SectionTable('rrr4', 'Degrees of freedom')
_PATH = SectionTable('rrr4', 'Spiral path of P')
_TORQUES = SectionTable('rrr4', 'Motor torques')
_FREQUENCY = SectionTable('flexible', 'Lowest frequency')
_SPREAD = SectionTable('flexible', "S3's claims over layouts and paths")
_WINDOWS = SectionTable('flexible', 'Tip deflections in two')
_LARGEST = SectionTable('flexible', 'Largest tip')
_ERRORS = SectionTable('flexible', 'Errors of the platform')
_ANGLES = SectionTable('flexible', 'Errors of the angles')
_RATES = SectionTable('flexible', 'Deviations of angular rates')
_PIECES = SectionTable('flexible', 'Assumed modes against')

CLAIMS = (
    given('S3 Figs. 1, 2, 3', 'schema, deformed rod, cut joints', 'drawings'),
    given('S3 Table 1', 'l1 = l2 = 100, l3 = 35 mm, A 16 mm², h 2.5 mm, rho 0.0027 g/mm³, E 70 '
          'GPa, m_P 20 g', 'inputs, used as printed'),
    refutable('S3 Sec. 4', '3 freedoms, 4 motors: any 3 suffice', digits('3'),
              _FREEDOMS.row('any three motors, least freedoms driven', 'ours')),
    refutable(
        'S3 Sec. 4, Fig. 4', 'from (0, 0) to (1.2 mm, -17.5 mm) in a spiral within 0.4 s',
        within(1, 1.2, -17.5, 0.4),
        _PATH.column('ours', 'end, x, mm', 'end, y, mm', 'duration, s'),
    ),
    refutable(
        'S3 Figs. 5, 6', '"a gradually increasing velocity and acceleration" (largest value '
        'over the value at the end)', within(0.1, 1.0, 1.0),
        _PATH.column('ours', 'largest speed / speed at the end',
                     'largest acceleration / acceleration at the end'),
    ),
    depends(
        'S3 Fig. 7', 'torques of three modes: b has the least norm, a the most',
        numbers('a > c > b', lambda a, c, b: a > c > b),
        _TORQUES.row('all, rms of norm', 'a: motors 1 to 3', 'c: least power', 'b: least torque'),
        on=_LAYOUT,
    ),
    unknown('S3 Fig. 7', 'the torques themselves', _LAYOUT),
    depends(
        'S3 Fig. 8 (1)', 'rods 1-4: vibration in mode a "about 2-3 times bigger" (all four)',
        between(2.0, 3.0),
        _WINDOWS.column('all four', '0-0.35 s, vibration, a/b', '0-0.35 s, vibration, a/c',
                        '0.35-0.4 s, vibration, a/b', '0.35-0.4 s, vibration, a/c'), on=_LAYOUT,
    ),
    depends(
        'S3 Fig. 8 (1)', 'rods 1-4: deflections in mode a "about 2-3 times bigger" (rms over '
        'layouts and paths, median)', between(2.0, 3.0),
        _SPREAD.row('ours, median', 'tips 1-4, a/b'),
        on='1.2 to 1.9 times in twelve layouts and paths; ' + _LAYOUT,
    ),
    depends(
        'S3 Fig. 8 (2)', 'mode a: "slightly larger" in 0-0.35 s, "much larger" in 0.35-0.4 s',
        numbers('late 1.5 times early', lambda early, late: late > 1.5 * early),
        _WINDOWS.column('all four', '0-0.35 s, vibration, a/b', '0.35-0.4 s, vibration, a/b'),
        on='here twice as large in both windows; ' + _LAYOUT,
    ),
    refutable('S3 Fig. 8 (3)', 'driven rods: deformation "much smaller" (% of the driving ones)',
              below(10.0), _LARGEST.row('rods 5-8 of rods 1-4, %')),
    depends('S3 Fig. 8 (4)', 'driven rods: the three modes "did not greatly differ"', below(2.0),
            _LARGEST.row('rods 5-8, largest mode / least'), on=_LAYOUT),
    depends(
        'S3 Fig. 8 (5)', 'rods 2, 3, 4: mode b "slightly smaller" at most than c (b / c)',
        below(1.0), _LARGEST.column('b / c', 'rod 2', 'rod 3', 'rod 4'),
        on='here only for rods 1 and 4; ' + _LAYOUT,
    ),
    depends(
        'S3 Sec. 6', 'mode b has "slightly less" deformation than c, "almost equivalent" (c / '
        'b, median)', between(1.0, 1.1), _SPREAD.row('ours, median', 'tips 1-4, c/b'), on=_LAYOUT,
    ),
    depends(
        'S3 Figs. 9, 10', 'redundant modes have "relatively small deviations" of P (a / b, all '
        'cases)', above(1.0), _SPREAD.row('ours, smallest', 'end point, a/b'),
        on='true in eight of twelve layouts and paths; ' + _LAYOUT,
    ),
    depends('S3 Fig. 10', 'angle of the platform: smaller error in b and c than in a', FIRST_LARGER,
            _ERRORS.row('phi, rms, µrad', *_MODES), on='here 10 % larger; ' + _LAYOUT),
    depends('S3 Fig. 11', 'angle errors increase "sharply from 0.2s in all three" (growth, rods '
            '1-4)', above(2.0), _ANGLES.row('rods 1-4, growth', *_MODES), on=_LAYOUT),
    depends('S3 Fig. 11', 'angle errors "greater in the non-redundant drive mode" (rods 1-4)',
            FIRST_LARGER, _ANGLES.row('rods 1-4, rms from 0.2 s on', *_MODES), on=_LAYOUT),
    depends(
        'S3 Fig. 12', 'rates of rods 1-4 in mode a "approximately 2-3 times greater" (median '
        'over layouts and paths)', between(2.0, 3.0), _SPREAD.row('ours, median', 'rates 1-4, a/b'),
        on=_LAYOUT,
    ),
    depends('S3 Fig. 12', 'rod 5 in 0.35-0.4 s: rate "slightly greater" in mode a', FIRST_LARGER,
            _RATES.row('rod 5, 0.35-0.4 s, rate, rad/s, rms', *_MODES), on=_LAYOUT),
    depends(
        'S3 Fig. 13', 'rod 5 in 0.35-0.4 s: acceleration "slightly greater" in mode a',
        FIRST_LARGER, _RATES.row('rod 5, 0.35-0.4 s, acceleration, rad/s², rms', *_MODES),
        on=_LAYOUT,
    ),
    refutable(
        'S3 Fig. 13', 'accelerations: "at a higher frequency" than rates (rods 1-4)',
        by_pairs('higher', lambda a, b: a > b),
        _RATES.row('rods 1-4, acceleration, mean frequency, Hz', *_MODES),
        _RATES.row('rods 1-4, rate, mean frequency, Hz', *_MODES),
    ),
    refutable(
        'S3 Fig. 13', 'accelerations: "a greater amplitude" than rates (rad/s² against rad/s)',
        by_pairs('larger', lambda a, b: a > b),
        _RATES.row('rods 1-4, acceleration, rms, rad/s²', *_MODES),
        _RATES.row('rods 1-4, rate, rms, rad/s', *_MODES),
    ),
    refutable(
        'S3 Fig. 14', 'one fixed-free shape per rod is as good as nine pieces (lowest '
        'frequency, motors free, Hz)',
        numbers('within 15 %', lambda one, nine: abs(one / nine - 1.0) < 0.15),
        _FREQUENCY.column('motors free', 'one fixed-free shape per rod, as S3',
                          'nine equal pieces on springs, as S3'),
        proof='a rod between pins vibrates at 577 Hz (beam theory); one fixed-free shape is 48 '
        '% too high, and the pieces are right: the number of cells is not the reason',
    ),
    *(
        refutable(place, printed, below(limit), _PIECES.row('S3 shapes, mode b', curve))
        for place, printed, limit, curve in (
            ('S3 Fig. 15', 'displacements of P "in good correspondence" (%)', 1.0,
             'displacement of P'),
            ('S3 Fig. 16', 'velocities of P: "only some minor deviations" (%)', 1.0,
             'velocity of P'),
            ('S3 Fig. 17', 'angular rates of rods 1-4: deviations "bound by 15%"', 15.0,
             'angular rates of rods 1-4'),
        )
    ),
)  # fmt: skip
