# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""CSV tables: exact numbers, errors that name the place, files complete or not written."""

import os
import pathlib
import re
import stat

import numpy as np
import pytest

from masticator_dynamics.errors import InputError
from masticator_dynamics.files import tables


def table(text: str) -> tables.Table:
    return tables.Table('a.csv', text)


def test_numbers_are_read_by_name_in_the_order_asked_for() -> None:
    found = table('time, x,note,y\n0,1.5,hello,-2e-3\n1, 2.5 ,,4\n').numbers(['y', 'x'])
    np.testing.assert_array_equal(found, [[-2e-3, 1.5], [4.0, 2.5]])


@pytest.mark.parametrize(
    'content',
    [
        b'\xef\xbb\xbftime,x\n0,1\n',
        b'time,x\r\n0,1\r\n',
        b'time,x\n0,1\n\n',
        b'time,x\n0,1\n  \n\n',
        b'time,x\n0,1',
        b'"time","x"\n"0","1"\n',
    ],
)
def test_marks_of_other_programs_are_tolerated(tmp_path: pathlib.Path, content: bytes) -> None:
    file = tmp_path / 'a.csv'
    file.write_bytes(content)
    np.testing.assert_array_equal(tables.read_table(str(file)).numbers(['time', 'x']), [[0, 1]])


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('', 'a.csv: the file is empty; a header row is needed'),
        ('\n\n', 'a.csv: the file is empty; a header row is needed'),
        ('time,x\n', 'a.csv: there are no rows below the header'),
        ('time,x\n0,1\n1\n', 'a.csv: row 2 (line 3) has 1 cells, the header has 2 columns'),
        ('time,x\n0,1,2\n', 'a.csv: row 1 (line 2) has 3 cells, the header has 2 columns'),
        ('time,x\n0,1\n\n1,2\n', 'a.csv: row 2 (line 3) has 0 cells, the header has 2 columns'),
        ('t,u,v\n0,1,1\n', 'a.csv: missing columns time, x; there are: t, u, v'),
        ('time,x,x\n0,1,1\n', "a.csv: column 'x' is there twice"),
        ('time,x\n0,1\n1,nan\n', "a.csv: row 2 (line 3), column 'x': 'nan' is not finite"),
        ('time,x\n0,-inf\n', "a.csv: row 1 (line 2), column 'x': '-inf' is not finite"),
        ('time,x\n0,1e999\n', "a.csv: row 1 (line 2), column 'x': '1e999' is not finite"),
        ('time,x\n0,one\n', "a.csv: row 1 (line 2), column 'x': 'one' is not a number"),
        ('time,x\n0,1_0\n', "a.csv: row 1 (line 2), column 'x': '1_0' is not a number"),
        ('time,x\n0,\n', "a.csv: row 1 (line 2), column 'x': an empty cell is not a number"),
        ('time,x\n0,"1\n', 'a.csv: line 2: unexpected end of data'),
        ('time;x\n0;1\n', "a.csv: cells are separated by ';'; commas are needed"),
        ('time;x\n0;0,1\n', "a.csv: cells are separated by ';'; commas are needed"),
        ('time\tx\n0\t1\n', "a.csv: cells are separated by '\\t'; commas are needed"),
    ],
)
def test_faults_are_named_with_file_row_and_column(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        table(text).numbers(['time', 'x'])
    assert str(caught.value) == message


def test_a_cell_over_several_lines_does_not_shift_the_line_numbers() -> None:
    with pytest.raises(InputError, match=re.escape('row 2 (line 4)')):
        table('x,note\n1,"two\nlines"\noops,\n').numbers(['x'])


def test_columns_that_are_not_asked_for_may_be_there_twice() -> None:
    np.testing.assert_array_equal(table('x,,\n1,,\n').numbers(['x']), [[1.0]])


def test_columns_that_belong_together() -> None:
    text = table('x,fx,fy\n0,1,2\n')
    np.testing.assert_array_equal(text.all_or_none(['fx', 'fy']), [[1.0, 2.0]])
    assert text.all_or_none(['tx', 'ty']) is None
    with pytest.raises(InputError, match='missing columns fz, tx, needed with column fx'):
        text.all_or_none(['fx', 'fz', 'tx'])


@pytest.mark.parametrize('second', ['1', '0.5'])
def test_a_column_that_must_increase(second: str) -> None:
    np.testing.assert_array_equal(table('t\n0\n1e-9\n').increasing('t'), [0.0, 1e-9])
    with pytest.raises(InputError) as caught:
        table(f't\n1\n{second}\n').increasing('t')
    assert str(caught.value) == (
        f"a.csv: row 2 (line 3), column 't': {float(second)} does not increase, "
        'the row before has 1.0; leave one of them out'
    )


NS = "; a column 'time [ns]' holds others"


@pytest.mark.parametrize(
    ('first', 'second', 'row', 'fault'),
    [
        ('0', '1.7e18', 2, f'1.7e+18 s is beyond 1e+10 s; times are in seconds{NS}'),
        ('-1.7e90', '0', 1, f'-1.7e+90 s is beyond 1e+10 s; times are in seconds{NS}'),
        ('0', '1e-13', 2, 'the row before is 1e-13 s earlier; at least 1e-12 s are needed'),
    ],
)
def test_times_are_such_that_speeds_can_be_computed(first, second, row, fault) -> None:
    with pytest.raises(InputError) as caught:
        table(f'time\n{first}\n{second}\n').times()
    assert str(caught.value) == f"a.csv: row {row} (line {row + 1}), column 'time': {fault}"


def test_files_that_cannot_be_read(tmp_path: pathlib.Path) -> None:
    binary = tmp_path / 'b.csv'
    binary.write_bytes(b'time\n0\n\xff\xfe\n')
    with pytest.raises(InputError, match='b.csv: line 3: not UTF-8 text'):
        tables.read_table(str(binary))
    with pytest.raises(InputError, match='none.csv: No such file'):
        tables.read_table(str(tmp_path / 'none.csv'))
    with pytest.raises(InputError, match='directory'):
        tables.read_table(str(tmp_path))


def test_every_float_comes_back_exactly(tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2**64, size=4000, dtype=np.uint64).view(np.float64)
    values = bits[np.isfinite(bits)][:3000].reshape(-1, 3)
    values[0] = [0.1, -0.0, 5e-324]
    file = str(tmp_path / 'a.csv')
    tables.write_table(file, ['p', 'q', 'r'], values)
    again = tables.read_table(file).numbers(['p', 'q', 'r'])
    assert again.tobytes() == values.tobytes()
    lines = pathlib.Path(file).read_bytes().split(b'\n')
    assert lines[:2] == [b'p,q,r', b'0.1,-0.0,5e-324']
    assert lines[-1] == b''


def test_a_file_is_replaced_only_when_all_of_it_is_written(tmp_path: pathlib.Path) -> None:
    file = tmp_path / 'a.csv'
    file.write_text('precious')
    with pytest.raises(RuntimeError), tables.replacing(file) as stream:
        stream.write('half')
        stream.flush()
        raise RuntimeError
    assert file.read_text() == 'precious'
    assert os.listdir(tmp_path) == ['a.csv']
    with tables.replacing(file) as stream:
        stream.write('whole')
        stream.flush()
        assert file.read_text() == 'precious'
    assert file.read_text() == 'whole'
    assert os.listdir(tmp_path) == ['a.csv']


def test_text_and_tables_are_written_whole_or_not(tmp_path: pathlib.Path) -> None:
    file = tmp_path / 'a.txt'
    tables.write_text(str(file), 'first\n')
    for write in (
        lambda: tables.write_text(str(file), 'second\n' * 9999 + '\ud800'),  # no UTF-8 for this
        lambda: tables.write_table(str(file), ['\ud800'], np.ones((9999, 1))),
    ):
        with pytest.raises(UnicodeEncodeError):
            write()
        assert file.read_text() == 'first\n'
        assert os.listdir(tmp_path) == ['a.txt']


def test_permissions_follow_the_user_and_the_file_that_was_there(tmp_path: pathlib.Path) -> None:
    plain, written, old = tmp_path / 'plain', tmp_path / 'written', tmp_path / 'old'
    plain.touch()
    old.touch(mode=0o640)
    for file in (written, old):
        tables.write_table(str(file), ['x'], np.ones((1, 1)))
    assert stat.S_IMODE(written.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    assert stat.S_IMODE(old.stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path: pathlib.Path) -> None:
    link, real = tmp_path / 'link.csv', tmp_path / 'folder' / 'real.csv'
    real.parent.mkdir()
    link.symlink_to(real)
    tables.check_writable(str(link))
    tables.write_table(str(link), ['x'], np.ones((1, 1)))
    assert link.is_symlink()
    assert real.read_text() == 'x\n1.0\n'


def test_a_pipe_is_written_to_and_stays(tmp_path: pathlib.Path) -> None:
    pipe = tmp_path / 'pipe'
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        tables.check_writable(str(pipe))
        tables.write_table(str(pipe), ['x'], np.ones((1, 1)))
        assert os.read(reader, 100) == b'x\n1.0\n'
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_file_that_cannot_be_written_is_refused_early(tmp_path: pathlib.Path) -> None:
    with pytest.raises(InputError, match='there is no folder'):
        tables.check_writable(str(tmp_path / 'none' / 'a.csv'))
    with pytest.raises(InputError, match='it is a folder'):
        tables.check_writable(str(tmp_path))
    (tmp_path / 'file').touch()
    with pytest.raises(InputError, match='there is no folder'):
        tables.check_writable(str(tmp_path / 'file' / 'a.csv'))
    tables.check_writable(str(tmp_path / 'a.csv'))
    tables.check_writable('-')


def test_a_folder_without_permission_is_refused_early(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Tests may run as root, whom no permission stops.
    monkeypatch.setattr(os, 'access', lambda path, mode: False)
    with pytest.raises(InputError, match='no permission in'):
        tables.check_writable(str(tmp_path / 'a.csv'))


def test_a_message_about_columns_is_short_whatever_the_file() -> None:
    """For a file with 200 000 columns, it used to be one line of 1.3 MB."""
    many = ','.join(f'c{k}' for k in range(200_000))
    with pytest.raises(InputError, match=r'c28, c29 and 199970 more$') as refused:
        table(f'{many}\n{many}\n').numbers(['time'])
    assert len(str(refused.value)) < 300
    with pytest.raises(InputError, match=r'there are: x{60}…, y$'):
        table(f'{"x" * 100_000},y\n1,1\n').numbers(['time'])


@pytest.mark.parametrize(
    ('header', 'read', 'meant'),
    [
        ('Fx,Fy', 'Fx', 'fx'),
        ('fx [N],fy [N]', 'fx [N]', 'fx'),
        ('fx,FY', 'FY', 'fy'),
        ('F_x (N),F_y (N)', 'F_x (N)', 'fx'),
        ('force_x,force_y', 'force_x', 'fx'),
        ('fx_N,fy_N', 'fx_N', 'fx'),
    ],
)
def test_columns_that_resemble_what_is_read_are_refused(header: str, read: str, meant: str) -> None:
    """They would be ignored otherwise, as columns of another meaning are."""
    with pytest.raises(InputError, match=re.escape(f'{read!r} is not read; is {meant!r} meant?')):
        table(f'{header}\n1,2\n').all_or_none(['fx', 'fy'])
    assert table('note,fx2,x,offset\n1,2,3,4\n').all_or_none(['fx', 'fy']) is None
    assert table('FX,fx,fy\n1,2,3\n').all_or_none(['fx', 'fy']) is not None
    joint = table('F_x\n1\n')
    assert joint.numbers(['F_x'])[0] == 1.0  # what a mechanism calls so is no other column
    assert joint.all_or_none(['fx', 'fy']) is None


def test_times_that_fall_throughout_are_sorted_and_no_row_is_left_out() -> None:
    table = tables.Table('run.csv', 'time,x\n0.3,1\n0.2,2\n0.1,3\n')
    with pytest.raises(InputError, match=r"'time' falls .* 0\.3 to 0\.1: .* sort them by it"):
        table.times()
