# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Progress of the demo: a bar if standard error is a terminal, plain lines otherwise."""

from __future__ import annotations

import sys
from typing import Any


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
            import tqdm

            self._bar = tqdm.tqdm(
                total=round(duration, 1),
                file=sys.stderr,
                leave=False,
                bar_format='  {bar:40} {n:.1f} of {total:.1f} s',
            )
        self._bar.n = round(time, 1)
        self._bar.refresh()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
