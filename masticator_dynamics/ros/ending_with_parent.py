# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that end with the process that has started them, whatever ends it, SIGKILL too."""

from __future__ import annotations

import shutil


def ending_with_parent(*, at_once: bool = False) -> str:
    """What comes before a command line for the kernel to end the program with its parent.

    Parameters
    ----------
    at_once : bool
        Whether by SIGKILL: for windows. Their event loops go on when SIGTERM has ended what they
        have of ROS, and they hold nothing. Others hear SIGTERM and end in order.

    Returns
    -------
    str
        Words, with a blank after them; empty where util-linux is missing.
    """
    if not shutil.which('setpriv'):
        return ''
    return f'setpriv --pdeathsig {"KILL" if at_once else "TERM"} '
