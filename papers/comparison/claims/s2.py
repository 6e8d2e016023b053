# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Claims of S2: generalized momentum on the RCID."""

from papers.comparison.claims.claim import (
    SectionTable,
    above,
    below,
    between,
    digits,
    given,
    refutable,
    unknown,
    within,
)

_RATIO = 'Lagrange / momentum'
_MAPLE = (
    'S2 used Maple to differentiate, and does not say in which form the Jacobians were given, nor '
    'what was simplified or shared: the counts are those of one program. Only the ratio can be '
    'compared'
)
_HARDWARE = 'data of the prototype; none of it can be computed from what is printed'
_STROKE = SectionTable('rcid-stroke', 'Stroke of the actuators')
_EULER = SectionTable('rcid-stroke', 'Euler angles')
_AGREE = SectionTable('rcid', 'rcid along sines')
_SPIN = SectionTable('rcid', 'Spin of the links')
_COUNT = SectionTable('rcid', 'Arithmetic operations of the matrices V')

CLAIMS = (
    given('S2 Fig. 1', 'photograph', 'nothing claimed'),
    given('S2 Figs. 2, 3, 4', 'schema, positions of joints, link', 'drawings'),
    given('S2 Table 1', 'r_B 80, r_P 40, L 97.98 mm, angles 15 and 0 degrees',
          'inputs, used as printed'),
    refutable(
        'S2 Sec. 2, Table 1', 'a sphere of 10 mm and 15 degrees "requires the actuators '
        'displacement of" about 70 mm', between(65.0, 75.0),
        _STROKE.row('sphere of 10 mm, 15 degrees about any axis', 'ours, greatest of six'),
        proof='52 mm suffice, by optimisation, and 51.4 mm at random poses by the engine; 70 mm '
        'is the stroke of the actuators, more than the workspace needs',
    ),
    unknown('S2 Sec. 2', 'parameters "adjusted in order to maximize the manipulator dexterity"',
            'index and bounds of the optimisation are not printed (Lopes and Almeida 1996)'),
    unknown('S2 Sec. 2', 'height 530 mm, diameter 265 mm, mass 9.7 kg', _HARDWARE),
    unknown('S2 Sec. 2', 'velocity 220 mm/s upwards, payload 5 kg',
            _HARDWARE + '; the comparison uses this velocity'),
    unknown('S2 Sec. 2', 'motors, transducers, accelerometers 5 g, force sensor 200 N', _HARDWARE),
    refutable(
        'S2 Sec. 2', 'the Euler angles are singular at theta = 90 degrees only, outside the '
        'workspace (least |det J_A| inside)', above(0.9),
        _EULER.row('least |det J_A| over the workspace'),
    ),
    refutable(
        'S2 Secs. 3, 4', 'momentum and Lagrange give the same forces (to the engine)', below(1e-9),
        _AGREE.column('forces, to the engine', 'Generalized momentum',
                      "Lagrange, Koditschek's form"),
    ),
    refutable(
        'S2 Eqs. 63, 64', 'a link on a universal joint "cannot rotate along its own axis" '
        '(largest force of its spin with I_Lxx = 4e-5 kg m², y_L level, N)', below(1e-9),
        _SPIN.row('vertical (y_L level, Eq. 60): 4e-05', 'largest, N'),
        proof='a universal joint prevents twist, not spin: if its axes tilt, the link turns '
        'about its line; the effect is small, and zero for links without I_Lxx',
    ),
    refutable(
        'S2 Table 2', 'totals are the sums of the lines, links six times (20924, 36733, 108; '
        '3734, 6824, 84)', digits('20924', '36733', '108', '3734', '6824', '84'),
        310 + 3028 + 6 * (751 + 2180), 590 + 4403 + 6 * (1579 + 3711), 0 + 30 + 6 * (6 + 7),
        94 + 724 + 6 * (131 + 355), 226 + 940 + 6 * (279 + 664), 0 + 18 + 6 * (4 + 7),
    ),
    unknown('S2 Table 2', 'every count itself', _MAPLE),
    *(
        refutable('S2 Table 2', printed, within(15, ratio),
                  _COUNT.row(f'{line}, each time', _RATIO))
        for line, printed, ratio in (
            ('platform', 'platform: 310, 590, 0 against 94, 226, 0 operations (ratio 2.81)', 2.81),
            ('six actuators', 'six actuators: 3028, 4403, 30 against 724, 940, 18 (4.44)', 4.44),
            ('translating link', 'translating link: 751, 1579, 6 against 131, 279, 4 (5.64)', 5.64),
            ('rotating link', 'rotating link: 2180, 3711, 7 against 355, 664, 7 (5.75)', 5.75),
            ('total', 'total: 20924, 36733, 108 against 3734, 6824, 84 (5.43)', 5.43),
        )
    ),
)  # fmt: skip
