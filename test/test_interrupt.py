# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while code of others calls back into Python: it takes effect afterwards."""

import signal
import textwrap
import time

import pytest
from processes import PYTHON, completed

COMPILE = """
    import os, signal, sys
    from masticator_dynamics.interrupt import held_back

    {before}
    done = []
    try:
        with held_back():
            os.kill(os.getpid(), signal.{name})
            {then}
            done.append(1)
        print('not told')
    except BaseException as error:
        print(type(error).__name__, len(done))
"""


def run(name='SIGINT', then='pass', before=''):
    script = textwrap.dedent(COMPILE.format(name=name, then=then, before=before))
    return completed(*PYTHON, '-c', script)


def test_ctrl_c_is_raised_when_the_compiler_is_done():
    answer = run()
    assert answer.stdout.split() == ['KeyboardInterrupt', '1'], answer


def test_a_handler_of_sigterm_is_called_then_too():
    raising = 'signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))'
    assert run('SIGTERM', before=raising).stdout.split() == ['SystemExit', '1']


def test_a_process_in_which_it_is_a_flag_goes_on():
    flag = (
        'from masticator_dynamics import interrupt; interrupt.use_flag(); '
        'signal.signal(signal.SIGINT, lambda *_: interrupt.request())'
    )
    assert run(before=flag).stdout.split() == ['not', 'told']


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_compiler_that_takes_long_is_not_waited_for(number):
    begin = time.monotonic()
    handled = 'signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))'
    answer = run(number.name, 'import time; time.sleep(60.0)', handled)
    assert (answer.returncode, answer.stdout) == (128 + number, '')
    assert time.monotonic() - begin < 50.0
