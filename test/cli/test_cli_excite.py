# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`masticator excite`: a motion file that other commands read."""

from masticator_dynamics.files.tables import read_table


def test_the_motion_is_read_by_others_and_internal_efforts_have_columns(run, tmp_path) -> None:
    motion, efforts = tmp_path / 'motion.csv', tmp_path / 'efforts.csv'
    answer = run(
        'excite', 'rrr4', '--output', motion, '--duration', 6, '--tries', 2, '--internal', 0.1
    )
    assert answer.status == 0, answer.err
    assert '1501 rows; condition of the equations' in answer.err
    table = read_table(str(motion)).numbers([f'internal_motor_{k}' for k in range(1, 5)])
    assert abs(table).max() == 0.1
    answer = run('inverse-dynamics', 'rrr4', '--motion', motion, '--output', efforts)
    assert answer.status == 0, answer.err
    assert len(read_table(str(efforts)).times()) == 1501


def test_what_is_too_short_is_refused(run, tmp_path) -> None:
    answer = run('excite', 'five_bar', '--output', tmp_path / 'x.csv', '--duration', 3)
    assert answer.status == 2 and '3 s are too short for 2 Hz; needed are 6 s' in answer.err
    assert not (tmp_path / 'x.csv').exists()
