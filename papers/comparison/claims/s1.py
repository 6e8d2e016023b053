# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Claims of S1: Euler parameters, friction, three goals, incisor tracking."""

from papers.comparison.claims.claim import (
    FIRST_LARGER,
    FIRST_LEAST,
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

_MOTION = 'depends on trajectory, bite force and bite point, which are not published'
_S1 = 'S1, three optimisations'
_NORMS = ('|tau| Nm', '|F_S| N', '|F_Z| N', '|M^C| Nm', '|tau_f| Nm', '|F_G| N', '|f_T| N')
_POLE = (
    'P_i has a pole where a torque passes through zero, so its largest value changes with ten '
    'times the samples'
)
_LENGTHS = SectionTable('parameters', 'Lengths')
_FREEDOMS = SectionTable('parameters', 'Degrees of freedom')
_PARASITIC = SectionTable('parasitic', 'Parasitic rotation')
_MANDIBLE = SectionTable('parasitic', 'Mandible along')
_LIKE = SectionTable('torques', 'Likeness of courses')
_TRACK = SectionTable('incisor', 'Incisor tracking')
_TIME = SectionTable('formulations', "The papers' claims")
_RSS6 = SectionTable('formulations', 'rss6, the same motion')
_SEARCH = SectionTable('goal-search', 'Search for torques')
_COLUMNS = SectionTable('goals', 'Columns of the printed table')
_MEANS = 'Means of seven norms for three goals: built-in chewing, bite force '
_SCALED = SectionTable('goals', _MEANS + 'scaled')
_NORMS_OF_GOALS = SectionTable('goals', _MEANS + 'as it is'), _SCALED
_G1, _G2, _G3 = 'G1 torque, ours', 'G2 joint-force, ours', 'G3 contact-force, ours'
_CONTACTS = SectionTable('friction', 'Contact forces of the condyles')
_SHARES = SectionTable('friction', 'Shares of friction in the torques')
_FEET = SectionTable('friction', 'Forces at S_i along')
_MOMENTS = SectionTable('friction', 'Moments at G_i next to torques')

CLAIMS = (
    given('S1 Figs. 1, 2', 'schema, model and parts', 'drawings'),
    given('S1 Figs. 3, 4', 'free bodies; forces at the condyles', 'drawings'),
    given('S1 Fig. 15', 'schema of 6RSS', 'drawing'),
    given('S1 Table 1', 'coordinates of G_i, S_i, M_i', 'input, used as printed'),
    given('S1 Table 2', 'p1 to p6; masses; inertia of the end effector (unit: g mm², not mm³)',
          'input, used as printed'),
    refutable(
        'S1 Table 2', 'length of cranks 1 to 4: 10 mm', within(1, 10, 10, 10, 10),
        _LENGTHS.row('cranks, from the points of S1 Table 1, mm', 'limb 1', 'limb 2', 'limb 3',
                     'limb 4'), proof='the points of Table 1 give 15 mm for 3 and 4, as S0 prints',
    ),
    refutable('S1 Table 2', 'lengths of couplers: 33 mm; 5 and 6: 52 mm',
              within(0.1, 33, 33, 33, 33, 52, 52), _LENGTHS.row('couplers, from the points, mm')),
    refutable(
        'S1 Table 2', 'inertia of cranks 3510 (1 to 4), 17628 g mm²',
        within(1, 3510, 3510, 3510, 3510, 17628, 17628),
        _LENGTHS.row('of discs with S1 masses and these lengths, g mm²'),
        proof='this fits cranks of 10 mm, but cranks 3 and 4 are 15 mm long; S0 has 6630',
    ),
    refutable('S1 Sec. 3.1', 'four degrees of freedom', digits('4'),
              _FREEDOMS.row('masticator', 'freedoms, ours')),
    refutable('S1 Eq. 7', 'theta_3 of the constrained end effector', below(1e-12),
              _PARASITIC.row('theta_3 of S1 Eq. 7 off by')),
    refutable(
        'S1 Eq. 65', 'gamma = -atan(s(alpha) / (p1 c(beta) + c(alpha) s(beta)))', below(1e-12),
        _PARASITIC.row('gamma of S1 Eq. 65 off by'),
        proof='closed loops need no minus in front, but one in the denominator',
    ),
    given('S1 Fig. 5', 'incisor trajectory of a subject', 'measured, not published; replaced by '
          'a built-in stroke'),
    refutable(
        'S1 Fig. 5', 'tracking errors f_D, f_V, f_A "very tiny" (mm, s)', below(1e-6),
        _TRACK.column(_S1, 'incisor off its path, mm (f_D)',
                      'velocity of the incisor off, mm/s (f_V)',
                      'acceleration of the incisor off, mm/s^2 (f_A)'),
    ),
    refutable(
        'S1 Sec. 5.1', 'displacement, velocity and acceleration found separately are one motion '
        '(velocity of Y against the slope of Y, mm/s)', below(1.0),
        _TRACK.row('Y: velocity off the slope of position, mm/s', _S1),
        proof='Eqs. 56, 60 and 62 each leave one freedom undetermined, which is chosen '
        'separately, so the velocity is not the derivative of the positions',
    ),
    depends(
        'S1 Fig. 6', 'the range of Z "is far larger than that of X and Y"',
        numbers('more than 1.5 times', lambda z, x, y: z > 1.5 * max(x, y)),
        _MANDIBLE.row('range of displacement', 'z', 'x', 'y'), on=_MOTION,
    ),
    depends(
        'S1 Fig. 6', 'velocity and acceleration along Z "far larger than their counterparts"',
        numbers('larger', lambda z, x, y, za, xa, ya: z > max(x, y) and za > max(xa, ya)),
        _MANDIBLE.row('largest velocity', 'z', 'x', 'y'),
        _MANDIBLE.row('largest acceleration', 'z', 'x', 'y'), on=_MOTION,
    ),
    refutable(
        'S1 Figs. 6, 7', 'the coefficient of theta_1 in Eq. 7 "almost equal 1"', between(0.9, 1.1),
        _PARASITIC.row('factor of theta_1 in Eq. 7, least'),
        _PARASITIC.row('factor of theta_1 in Eq. 7, greatest'),
    ),
    refutable('S1 Sec. 5.1', 'the denominator of theta_3 "is nonzero" on the path', above(0.5),
              _PARASITIC.row('its denominator, least')),
    refutable('S1 Fig. 7', 'gamma "almost equivalent to that of alpha"', within(10, 1.0),
              _PARASITIC.row('gamma / alpha, rms')),
    refutable(
        'S1 Sec. 5.2, Fig. 8', 'Euler parameters and angles "can reach neither an identical '
        'twist nor its first time-rate"', above(1e-9),
        _TIME.row('rate of twist, Euler parameters and angles', 'masticator'),
        proof='both charts span the same four-dimensional space of motions: twists and rates of '
        'one motion are the same in both, to rounding; Fig. 8 shows the difference of two '
        'optimisations',
    ),
    given('S1 Sec. 5.3', 'friction coefficients 0.02, 0.03 g/s, arm 15 mm',
          'inputs, assumed by S1; the viscous coefficient of the cranks does not give a torque '
          'as printed and is read as 4.5e-10 N m s'),
    given('S1 Fig. 9', 'bite force of S0, mostly vertical', 'measured, not published'),
    depends('S1 Fig. 10', 'all torques and forces "are following an identical rhythm"', above(0.9),
            _LIKE.row('masticator, left molar, with the force of the food'), on=_MOTION),
    depends('S1 Fig. 10', '"a certain degree of symmetry" of tau_i and tau_i+1', above(0.9),
            _LIKE.row('masticator, left molar, with the crank of the other side'), on=_MOTION),
    depends(
        'S1 Fig. 10', 'F_Z right negative, left positive, "at most of the time instants" (of '
        'the bite)',
        numbers('left over 50 %, right under', lambda left, right: left > 50.0 > right),
        _CONTACTS.row('F_Z positive while the food resists, % of the time'), on=_MOTION,
    ),
    depends('S1 Fig. 10', 'F_Z right "has larger peaks" than left', FIRST_LARGER,
            _CONTACTS.row('F_Z, largest magnitude, N', 'right', 'left'), on=_MOTION),
    depends('S1 Fig. 10', 'friction peaks at the right condyle larger than at the left',
            FIRST_LARGER, _CONTACTS.row('friction, largest, N', 'right', 'left'), on=_MOTION),
    depends(
        'S1 Fig. 11a', 'G1: share of friction in actuator 2 "over 6000%"', above(6000.0),
        _SHARES.row('G1, largest |P|', 'crank_2'),
        on='this needs tau_2 to pass through zero; ' + _POLE + '. Here tau_3 and tau_4 pass '
        'through zero',
    ),
    refutable(
        'S1 Fig. 11', 'largest shares measure how much friction matters (G1, actuators 3, 4)',
        numbers('the same, within 10 %, with ten times the samples',
                lambda a, b, c, d: abs(c / a - 1.0) < 0.1 and abs(d / b - 1.0) < 0.1),
        _SHARES.row('G1, largest |P|', 'crank_3', 'crank_4'),
        _SHARES.row('G1, largest |P|, 10 times the samples', 'crank_3', 'crank_4'), proof=_POLE,
    ),
    *(
        depends(
            place, f'{goal}: actuator {motor} {printed}', rule,
            _SHARES.row(f'{goal}, largest |P|', f'crank_{motor}'),
            on=_MOTION + '; ' + _POLE,
        )
        for place, goal, motor, printed, rule in (
            ('S1 Fig. 11a', 'G1', 4, '"over 100%"', above(100.0)),
            ('S1 Fig. 11a', 'G1', 5, '"approximately 60%"', within(20, 60.0)),
            ('S1 Fig. 11b', 'G2', 4, '"over 350%"', above(350.0)),
            ('S1 Fig. 11b', 'G2', 5, '"between 50% and 100%"', between(50.0, 100.0)),
            ('S1 Fig. 11c', 'G3', 4, '"over 100%"', above(100.0)),
        )
    ),
    depends('S1 Fig. 11c', 'G3: actuators 1 and 2 "limited between" 5 % up and down', below(5.0),
            _SHARES.row('G3, largest |P|', 'crank_1', 'crank_2'), on=_MOTION),
    depends(
        'S1 Fig. 12', 'at S_1 components along X and Y "nearly equivalent"',
        numbers('within 15 %, Z less', lambda x, y, z: abs(x / y - 1.0) < 0.15 and z < min(x, y)),
        _FEET.column('crank_1', 'F_S along X, largest', 'F_S along Y, largest',
                     'F_S along Z, largest'), on=_MOTION,
    ),
    depends(
        'S1 Fig. 12', 'at S_2 the component along Y "has the highest peak"', FIRST_LARGER,
        _FEET.column('crank_2', 'F_S along Y, largest', 'F_S along X, largest',
                     'F_S along Z, largest'), on=_MOTION,
    ),
    depends(
        'S1 Fig. 12', 'at S_3 and S_4 the component along X is largest',
        numbers('larger', lambda a, b, *rest: a > max(rest[::2]) and b > max(rest[1::2])),
        _FEET.row('F_S along X, largest', 'crank_3', 'crank_4'),
        _FEET.row('F_S along Y, largest', 'crank_3', 'crank_4'),
        _FEET.row('F_S along Z, largest', 'crank_3', 'crank_4'), on=_MOTION,
    ),
    depends(
        'S1 Fig. 12', 'at S_5 and S_6 the component along Z is largest',
        numbers('larger', lambda a, b, *rest: a > max(rest[::2]) and b > max(rest[1::2])),
        _FEET.row('F_S along Z, largest', 'crank_5', 'crank_6'),
        _FEET.row('F_S along X, largest', 'crank_5', 'crank_6'),
        _FEET.row('F_S along Y, largest', 'crank_5', 'crank_6'), on=_MOTION,
    ),
    depends(
        'S1 Sec. 5.3', 'F_S and F_G "do not have a significant difference"',
        by_pairs('within 15 %', lambda a, b: abs(b / a - 1.0) < 0.15),
        _FEET.row('F_S, largest norm'), _FEET.row('F_G, largest norm'), on=_MOTION,
    ),
    depends(
        'S1 Fig. 13', 'constraint moments "much smaller" than torques',
        numbers('3 times or more', lambda *ratios: min(ratios) >= 3.0),
        _MOMENTS.row('torque / M^C'), on=_MOTION,
    ),
    depends(
        'S1 Table 3', 'G1: 0.1912, 18.5039, 4.2544, 0.0219, 0.0059, 20.0250, 0.1265',
        within(15, 0.1912, 18.5039, 4.2544, 0.0219, 0.0059, 20.0250, 0.1265),
        _SCALED.row('G1 torque, ours', *_NORMS),
        on='with the bite scaled to fit F_S of 6RSS, |F_Z| and |f_T| are 30 % lower; ' + _MOTION,
    ),
    depends(
        'S1 Table 3', 'G2: 0.1958, 17.8948, 3.4370, 0.0184, 0.0058, 19.5470, 0.1022',
        within(15, 0.1958, 17.8948, 3.4370, 0.0184, 0.0058, 19.5470, 0.1022),
        _SCALED.row('G2 joint-force, ours', *_NORMS),
        on='with the bite scaled to fit F_S of 6RSS, |F_Z| and |f_T| are 30 % lower; ' + _MOTION,
    ),
    depends(
        'S1 Table 3', 'G3: 0.2653, 27.3216, 0.0482, 0.0084, 28.4067 (all but the contacts)',
        within(15, 0.2653, 27.3216, 0.0482, 0.0084, 28.4067),
        _SCALED.row('G3 contact-force, ours', *_NORMS[:2], *_NORMS[3:6]), on=_MOTION,
    ),
    refutable(
        'S1 Table 3', 'G3: |F_Z| is 5.28e-6 (parameters), 1.75e-5 N (angles)', above(1e-9),
        _SCALED.row('G3 contact-force, ours', '|F_Z| N'),
        proof='the minimum is exactly zero; the printed values are the remainder of the search',
    ),
    depends(
        'S1 Table 3', '6RSS: 0.2652, 27.3214, 0.0482, 0.0084, 28.4066',
        within(15, 0.2652, 27.3214, 0.0482, 0.0084, 28.4066),
        _SCALED.row('rss6, ours', *_NORMS[:2], *_NORMS[3:6]), on=_MOTION,
    ),
    refutable(
        'S1 Table 3', 'columns F_4 to F_7 as Eq. 74 defines them (F_5 is |M^C|: printed over R '
        'mu F_6, G1 and G2)',
        numbers('not equal within 2 %',
                lambda a, p, b, q: not (abs(p / a - 1.0) < 0.02 and abs(q / b - 1.0) < 0.02)),
        _COLUMNS.row('G1', 'R mu_Ci F6, Nm', 'F5 printed'),
        _COLUMNS.row('G2', 'R mu_Ci F6, Nm', 'F5 printed'),
        proof='the printed columns are |M^C|, |tau_f|, |F_G|, |f_T|: F5 is the friction due to '
        'F6',
    ),
    refutable(
        'S1 Table 3', 'indices "are always the smallest under the corresponding" goal', FIRST_LEAST,
        *(t.column('|tau| Nm', _G1, _G2, _G3) for t in _NORMS_OF_GOALS),
        *(t.column('|F_S| N', _G2, _G1, _G3) for t in _NORMS_OF_GOALS),
        *(t.column('|F_Z| N', _G3, _G1, _G2) for t in _NORMS_OF_GOALS),
    ),
    refutable(
        'S1 Table 3', 'the smallest F2 under G2 "also gives rise to the smallest" F4 to F6',
        FIRST_LEAST, *(t.column('|M^C| Nm', _G2, _G1, _G3) for t in _NORMS_OF_GOALS),
        *(t.column('|tau_f| Nm', _G2, _G1, _G3) for t in _NORMS_OF_GOALS),
        *(t.column('|F_G| N', _G2, _G1, _G3) for t in _NORMS_OF_GOALS),
    ),
    refutable('S1 Table 3', 'the smallest F3 under G3 "also produces the smallest" F7',
              FIRST_LEAST, *(t.column('|f_T| N', _G3, _G1, _G2) for t in _NORMS_OF_GOALS)),
    refutable(
        'S1 Sec. 5.4', 'under G3 all indices "are close to those of the 6RSS PM"',
        by_pairs('within 0.1 %', lambda a, b: abs(a / b - 1.0) < 1e-3),
        *(t.row(_G3, *_NORMS[:2], *_NORMS[3:6]) for t in _NORMS_OF_GOALS),
        *(t.row('rss6, ours', *_NORMS[:2], *_NORMS[3:6]) for t in _NORMS_OF_GOALS),
    ),
    refutable(
        'S1 Sec. 5.4, Fig. 16', '6RSS: torques by parameters and by angles, differences "very '
        'minor"', below(1e-9),
        _RSS6.column('torques', 'Newton-Euler, Euler parameters', 'Newton-Euler, Euler angles'),
    ),
    refutable(
        'S1 Abstract, Fig. 14', 'time with Euler parameters "only approximately 23%" of that '
        'with angles, because of the parameters', within(50, 0.23),
        _TIME.row('time, Euler parameters / angles', 'masticator'),
        proof="they can shorten only the end effector's motion, a small part of the time; the "
        "figure is that of S1's program",
    ),
    refutable(
        'S1 Sec. 5.4, Fig. 14', '6RSS: "only approximately 60%"', within(20, 0.60),
        _TIME.row('time, Euler parameters / angles', 'rss6'),
        proof="as above: they save time in the end effector's motion, but none in total",
    ),
    refutable(
        'S1 Fig. 14', 'the constraints "sharply raise" the cost (evaluations of Eq. 50 by the '
        'search; 6RSS takes one)', above(5.0), _SEARCH.row('evaluations of Eq. 50 per sample'),
    ),
    refutable(
        'S1 Fig. 14', 'the constraints must raise the cost (times, masticator / 6RSS)', above(2.0),
        _TIME.column('masticator', 'time, masticator / rss6, Euler angles',
                     'time, masticator / rss6, Euler parameters'),
        proof='only the search raises it: with contact forces as a least-squares problem, '
        'solved piece by piece between kinks, constraints cost about a quarter more',
    ),
    refutable('S1 Fig. 14', 'the cost under the third goal "is a little heavier"', FIRST_LARGER,
              _SEARCH.row('evaluations of Eq. 50 per sample', 'G3', 'G1', 'G2')),
    unknown('S1 Sec. 5.3', 'times of Fig. 14 in seconds; Xeon W-2235, 3.80 GHz, 32 GB',
            "drawn without numbers; they depend on the authors' machine and programs"),
    refutable('S1 Sec. 4.4', 'six equations and eight unknowns', digits('2'),
              _FREEDOMS.row('masticator', 'torques to choose')),
)  # fmt: skip
