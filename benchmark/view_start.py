# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Seconds from ``masticator view`` to the page's first byte and to the first picture of the robot.

``python -m benchmark.view_start [MECHANISM]`` starts the command five times next to a headless
Chromium without a graphics card, which opens the page as soon as it responds. The first picture is
the first frame that draws more than the empty scene. Needs playwright and Chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

from playwright.sync_api import BrowserContext, sync_playwright

ROUNDS, PORT, EMPTY = 5, 8231, 20  # EMPTY: most draw calls of a scene without a robot
FLAGS = ('--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader')
COUNT_DRAWS = """
window.drawn = []; let calls = 0;
for (const name of ['drawElements', 'drawArrays', 'drawElementsInstanced', 'drawArraysInstanced']) {
  const real = WebGL2RenderingContext.prototype[name];
  WebGL2RenderingContext.prototype[name] = function(...a) { calls++; return real.apply(this, a); };
}
const look = () => {
  if (calls) drawn.push([(performance.timeOrigin + performance.now()) / 1e3, calls]);
  calls = 0; requestAnimationFrame(look);
};
look();
"""


def started(browser: BrowserContext, what: list[str]) -> tuple[float, float]:
    """Start the command; returns seconds to the first byte and to the first picture."""
    page, address = browser.new_page(), f'http://127.0.0.1:{PORT}'
    page.set_default_timeout(120e3)
    page.add_init_script(COUNT_DRAWS)
    start = time.time()
    command = [sys.executable, '-m', 'masticator_dynamics', 'view', *what, '--port', str(PORT)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                urllib.request.urlopen(address, timeout=1.0).read(1)
                break
            except OSError:
                time.sleep(0.01)
        first = time.time() - start
        page.goto(address, wait_until='commit')
        page.wait_for_function(f'window.drawn && drawn.some(d => d[1] > {EMPTY})', polling=200)
        drawn = page.evaluate(f'drawn.find(d => d[1] > {EMPTY})[0]')
        return first, drawn - start
    finally:
        process.terminate()
        process.wait()
        page.close()


def main() -> None:
    """Print the times of each round."""
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:
        browser = playwright.chromium.launch_persistent_context(
            profile, executable_path=shutil.which('chromium'), args=list(FLAGS)
        )
        for _ in range(ROUNDS):
            first, picture = started(browser, sys.argv[1:])
            print(f'first byte {first:.2f} s, first picture {picture:.2f} s', flush=True)
        browser.close()


if __name__ == '__main__':
    main()
