# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Progress of the demo: a bar if standard error is a terminal, plain lines otherwise."""

from __future__ import annotations

import sys
from typing import Any

import click


class Progress:
    """Shows stages in words, and seconds of the motion as a bar."""

    def __init__(self) -> None:
        self._bar: Any = None

    def stage(self, text: str) -> None:
        """Say what happens next."""
        self.close()
        print(text, file=sys.stderr, flush=True)

    def motion(self, time: float, duration: float) -> None:
        """Show that so many seconds have been played."""
        if not sys.stderr.isatty():
            return
        if self._bar is None:
            self._bar = click.progressbar(length=round(10.0 * duration), file=sys.stderr)
        self._bar.update(round(10.0 * time) - self._bar.pos)

    def close(self) -> None:
        """End the bar."""
        if self._bar is not None:
            self._bar.render_finish()
            self._bar = None
