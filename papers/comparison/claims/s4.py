# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Claims of S4: load inertia of TriMule and its fast estimation."""

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

_SIZES = 'seven dimensions are not printed; ours were identified from Tables 2 and 3'
_MEASURED = 'measured torques, dimensions, friction and the speed along the path are not published'
_MAX = tuple(f'limb {i}, max' for i in (1, 2, 3))
_MEAN = tuple(f'limb {i}, mean' for i in (1, 2, 3))
_MOTORS = tuple(f'motor_{i}' for i in (1, 2, 3))
_EMF, _CMF = 'EMF, S4 Table 4, angle corrected', 'CMF, S4 Table 3, normalised'
_CMF_PRINTED = 'CMF, S4 Table 3, as printed'
_FIVE = SectionTable('estimators', 'Five points')
_ERRORS = SectionTable('estimators', 'Errors of load inertia estimated')
_LESS = SectionTable('estimators', 'Errors of the ellipse membership below')
_COST = SectionTable('estimators', 'Memory and time')
_POINTS = SectionTable('trimule', 'Load inertia at the points')
_DISC = SectionTable('trimule', 'Load inertia over the circle')
_SHAPE = SectionTable('trimule', 'Shape of')
_SLOPE = SectionTable('trimule', 'Slope of the load inertia')
_PATH = SectionTable('trimule-path', 'Torques of the motors on a circle')

CLAIMS = (
    given('S4 Figs. 1, 2, 3, 4', 'model, schema, body-fixed frames', 'drawings'),
    given('S4 Table 1', 'bodies whose inertia and weight count', 'input, used as printed'),
    given('S4 Table 2', 'masses and inertia; pitch 10 mm, I_s 10.75e-4 kg m²',
          'inputs, used as printed; the platform is missing, ours is assumed'),
    refutable(
        'S4 Fig. 5', 'isolines are "approximately concentric ellipses" (off an ellipse, %)',
        below(5.0), _SHAPE.row('isoline at 0.1: off an ellipse, % of its size'),
        _SHAPE.row('isoline at 0.3: off an ellipse, % of its size'),
        _SHAPE.row('isoline at 0.5: off an ellipse, % of its size'),
    ),
    refutable(
        'S4 Fig. 5', 'ellipses are concentric (centre off, m; workspace 0.6 m)', below(0.06),
        _SHAPE.row('isoline at 0.1: centre off the point of least inertia, m'),
        _SHAPE.row('isoline at 0.3: centre off the point of least inertia, m'),
        _SHAPE.row('isoline at 0.5: centre off the point of least inertia, m'),
    ),
    refutable(
        'S4 Fig. 5', 'the gradient grows towards the boundary in the direction of the minor axis',
        by_pairs('larger at the rim', lambda a, b: a > b), _SLOPE.row('short axis, at the rim'),
        _SLOPE.row('short axis, half way'),
    ),
    refutable('S4 Fig. 5', '"the fluctuation amount can reach 37%"', between(36.0, 38.0),
              _SHAPE.row('largest above the least, %', 'limb 2', 'limb 3')),
    given('S4 Fig. 6, Eq. 22', 'inverse distance weighting on a grid',
          "drawing; ours weights a cell's corners"),
    refutable('S4 Figs. 7, 8, Eq. 23', 'five points: each place depends on 2-3 of them only',
              between(1, 3), _FIVE.row('points that count, at most')),
    refutable(
        'S4 Fig. 8, Eq. 23', 'five points: "the estimation of inertia is not accurate" (mean '
        'error above that of ellipses)', by_pairs('larger', lambda a, b: a > b),
        _ERRORS.row('five points, Eq. 23 as printed', *_MEAN), _ERRORS.row(_EMF, *_MEAN),
    ),
    refutable(
        'S4 Eq. 23', 'its weights make an average (least sum of the weights)', within(5, 1.0),
        _FIVE.row('sum of the weights, least'),
        proof='they sum to 0.47 at the rim between two points, so half the inertia is lost; '
        'normalised, the error is a third or less',
    ),
    given('S4 Figs. 9, 10, 12, 13', 'membership functions', 'drawings'),
    refutable(
        'S4 Table 3', 'nine values of inertia at nine points',
        within(0.5, 2.65, 2.83, 3.51, 2.69, 2.88, 3.69, 2.69, 2.88, 3.69),
        _POINTS.column(
            'ours', 'limb 1, least, at (0, -0.29)', 'limb 1, mean, at (0, 0.04)',
            'limb 1, largest, at (0, 0.41)', 'limb 2, least, at (0.06, -0.12)',
            'limb 2, mean, at (-0.2, -0.32)', 'limb 2, largest, at (-0.5, -0.53)',
            'limb 3, least, at (-0.06, -0.12)', 'limb 3, mean, at (0.2, -0.32)',
            'limb 3, largest, at (0.5, -0.53)'),
    ),
    refutable(
        'S4 Table 3', 'least, mean and largest over the workspace',
        within(0.5, 2.65, 2.69, 2.69, 2.83, 2.88, 2.88, 3.51, 3.69, 3.69),
        _DISC.column('ours', *(f'limb {k}, {what}' for what in ('least', 'mean', 'largest')
                               for k in (1, 2, 3))),
    ),
    refutable(
        'S4 Figs. 11, 14', 'the fit by ellipses is closer to the model than that by circles '
        '(mean errors)', by_pairs('larger', lambda a, b: a > b),
        _ERRORS.row(_CMF, *_MEAN), _ERRORS.row(_EMF, *_MEAN),
    ),
    given('S4 Table 4', 'semi-axes and centres of the ellipses', 'inputs, used as printed'),
    refutable(
        'S4 Eq. 25', 'theta_k = atan(b_k / a_k tan(phi)) (mean error, against atan(a_k / b_k ...))',
        by_pairs('not larger', lambda a, b: a <= b),
        _ERRORS.row('EMF, S4 Table 4, angle as printed', *_MEAN), _ERRORS.row(_EMF, *_MEAN),
        proof='the parameter of an ellipse at polar angle phi is atan(a / b tan(phi)), which '
        'gives the printed mean errors',
    ),
    refutable(
        'S4 Table 5, Fig. 15', 'CMF, largest error 0.268, 0.447, 0.447',
        within(15, 0.268, 0.447, 0.447), _ERRORS.row(_CMF, *_MAX),
        proof='Eq. 24 with Table 3 gives 0.35 and 0.47, normalised or not: the points determine '
        'the weights, and the model agrees with Table 3 within 0.4 %',
    ),
    refutable(
        'S4 Table 5, Fig. 15', 'CMF, mean error 0.076, 0.128, 0.128 (weights as printed; '
        'normalised)', within(15, 0.076, 0.128, 0.128, 0.076, 0.128, 0.128),
        _ERRORS.row(_CMF_PRINTED, *_MEAN), _ERRORS.row(_CMF, *_MEAN),
        proof='0.161 and 0.179 with Eq. 24 as printed, 0.088 and 0.108 normalised',
    ),
    refutable('S4 Table 5, Fig. 16', 'EMF, largest error 0.163, 0.218, 0.218',
              within(15, 0.163, 0.218, 0.218), _ERRORS.row(_EMF, *_MAX)),
    refutable('S4 Table 5, Fig. 16', 'EMF, mean error 0.026, 0.024, 0.024',
              within(15, 0.026, 0.024, 0.024), _ERRORS.row(_EMF, *_MEAN)),
    refutable(
        'S4 Table 5', 'percent reduction 39.18, 65.79, 51.23, 81.25 %, of the printed errors',
        digits('39.18', '65.79', '51.23', '81.25'), 100.0 * (1.0 - 0.163 / 0.268),
        100.0 * (1.0 - 0.026 / 0.076), 100.0 * (1.0 - 0.218 / 0.447),
        100.0 * (1.0 - 0.024 / 0.128),
    ),
    refutable(
        'S4 Table 5, Abstract', "percent reduction, recomputed from S4's tables",
        within(15, 39.18, 65.79, 51.23, 81.25),
        _LESS.row("S4's tables, angle corrected", 'limb 1, max', 'limb 1, mean', 'limb 2, max',
                  'limb 2, mean'),
        proof='the errors of its circles are not those of its tables; ellipses are better by 47 '
        'to 78 %',
    ),
    refutable(
        'S4 Sec. Simulations', 'errors of the ellipses within 0.22 and 0.026 (largest, mean)',
        numbers('at most 0.2249 and 0.02649',
                lambda *f: max(f[:3]) < 0.225 and max(f[3:]) < 0.0265), _ERRORS.row(_EMF, *_MAX),
        _ERRORS.row(_EMF, *_MEAN),
    ),
    refutable('S4 Table 6', '10,421.06 kB of nodes and 1.41 kB of program are 10,422.47 kB',
              digits('10422.47'), 10421.06 + 1.41),
    refutable(
        'S4 Table 6', 'the grid takes "much larger" memory than model and ellipses (kB)',
        numbers('100 times', lambda grid, *rest: grid > 100.0 * max(rest)),
        _COST.column('kB, ours', 'grid, 900 x 900 nodes', 'dynamic model', 'EMF'),
    ),
    refutable(
        'S4 Table 6', 'the ellipses take the least memory (kB)',
        numbers('less', lambda emf, *rest: emf < min(rest)),
        _COST.column('kB, ours', 'EMF', 'dynamic model', 'grid, 900 x 900 nodes'),
    ),
    refutable('S4 Table 6', 'estimators are faster than the model (ms)', FIRST_LARGER,
              _COST.column('ms, ours', 'dynamic model', 'EMF', 'grid, 900 x 900 nodes')),
    refutable(
        'S4 Table 6', 'the model does not fit into the cycle of 10 ms (50.01 ms; ours, ms)',
        above(10.0), _COST.row('dynamic model', 'ms, ours'),
        proof='it takes hundredths of a millisecond on a personal computer: 50 ms is the time '
        'of one program on one controller',
    ),
    unknown('S4 Table 6', '8.26, 10422.47, 3.18 kB; 50.01, 2.75, 3.06 ms',
            "they depend on the authors' controller, and include its program"),
    given('S4 Fig. 17', 'prototype, path R 0.3, H 1.2, h 0.19 m; 30 m/min, 5 m/s²',
          'photograph; inputs, used as printed'),
    unknown('S4 Sec. Experiments', 'the robot can do 60 m/min and 10 m/s²',
            'a property of the prototype'),
    unknown('S4 Fig. 18, Table 7', 'error against measurement: model 0.27, 0.64, 0.50 N m; '
            'estimate 0.32, 0.66, 0.57 N m', _MEASURED),
    depends(
        'S4 Fig. 18, Table 7', 'torques by model and by estimate are similar, with a difference '
        'that Table 7 allows (rms, N m)',
        numbers('between the bounds',
                lambda *f: all(low <= ours <= high for ours, low, high
                               in zip(f[:3], f[3:6], f[6:], strict=True))),
        _PATH.row('estimate off model, rms: and without couplings, ours', *_MOTORS),
        _PATH.row('estimate off model, rms: at least, by the two above', *_MOTORS),
        _PATH.row('estimate off model, rms: at most, by the two above', *_MOTORS),
        on=_MEASURED + '; ' + _SIZES,
    ),
    refutable(
        'S4 Sec. Experiments', 'deviations from measurement "are caused by the fitting errors" '
        "(error that the estimate adds, over the model's own)", above(0.5), 0.32 / 0.27 - 1.0,
        0.66 / 0.64 - 1.0, 0.57 / 0.50 - 1.0,
        proof='by Table 7 the model alone is off by 0.27, 0.64, 0.50: fitting adds 3 to 19 %',
    ),
    refutable('S4 Sec. Experiments', 'errors against measurement "are within 0.7 N m"', below(0.7),
              0.27, 0.64, 0.50, 0.32, 0.66, 0.57),
)  # fmt: skip
