# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Additions to viser's page: curves in time with the picture, and a still without WebGL."""

from __future__ import annotations

import base64
import html
import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import frame_poses
from masticator_dynamics.robot.view.played_run import PlayedRun

_POINTS = 500  # of a curve
_DIGITS = 4
PALETTE = ('#1f77b4', '#ff7f0e', '#2ca02c', '#d62728', '#9467bd', '#8c564b', '#e377c2')
_NO_WEBGL = 'This browser cannot draw in three dimensions (WebGL is missing or switched off).'
# Time is that of the page's scrub bar; curves are drawn once, the line over them every frame.
_SCRIPT = """
addEventListener('load', () => {
  const data = JSON.parse(document.getElementById('curves').textContent);
  if (!document.createElement('canvas').getContext('webgl2')) {
    document.body.innerHTML = document.getElementById('still').innerHTML;
    return;
  }
  const panel = document.body.appendChild(document.createElement('div'));
  panel.id = 'curves-panel';
  panel.style = 'position:fixed;top:8px;right:8px;z-index:9;background:#fffe;padding:6px;' +
    'font:12px sans-serif;color:#222;max-height:85vh;overflow:auto;border-radius:4px';
  const wide = 320, high = 150, foot = 24;
  const charts = data.map(chart => {
    const title = panel.appendChild(document.createElement('div'));
    title.textContent = chart.title;
    const canvas = panel.appendChild(document.createElement('canvas'));
    canvas.width = wide; canvas.height = high;
    const names = panel.appendChild(document.createElement('div'));
    names.style = 'max-width:' + wide + 'px';
    const values = chart.curves.flatMap(c => c.values);
    const low = Math.min(0, ...values), most = Math.max(0, ...values);
    const top = most > low ? most : 1e-9;
    const end = chart.time[chart.time.length - 1];
    const x = t => 44 + (wide - 48) * t / end;
    const y = v => 6 + (high - 6 - foot) * (top - v) / (top - low);
    const drawn = document.createElement('canvas');
    drawn.width = wide; drawn.height = high;
    const pen = drawn.getContext('2d');
    pen.font = '10px sans-serif';
    pen.textAlign = 'right';
    for (const v of [low, top]) pen.fillText(v.toPrecision(3), 40, y(v) + 4);
    pen.textAlign = 'center';
    const rough = 10 ** Math.floor(Math.log10(end / 3)), times = end / 3 / rough;
    const step = rough * (times >= 5 ? 5 : times >= 2 ? 2 : 1);
    for (let k = 0; k * step <= end + 1e-9; k++) {
      pen.fillRect(x(k * step), high - foot, 1, 3);
      pen.fillText(+(k * step).toPrecision(6), Math.min(x(k * step), wide - 12), high - 11);
    }
    pen.fillText('time, s', x(end / 2), high - 1);
    pen.strokeStyle = '#bbb';
    pen.strokeRect(x(0), y(top), x(end) - x(0), y(low) - y(top));
    for (const curve of chart.curves) {
      const name = names.appendChild(document.createElement('span'));
      name.textContent = curve.name + '  ';
      name.style.color = pen.strokeStyle = curve.colour;
      pen.beginPath();
      curve.values.forEach((v, k) => pen.lineTo(x(chart.time[k]), y(v)));
      pen.stroke();
    }
    return {canvas, drawn, x, end};
  });
  const follow = () => {
    const bar = document.querySelector('[role=slider]');
    const now = bar ? +bar.getAttribute('aria-valuenow') : 0;
    for (const {canvas, drawn, x, end} of charts) {
      const pen = canvas.getContext('2d'), at = x(Math.min(now, end));
      pen.clearRect(0, 0, wide, high);
      pen.drawImage(drawn, 0, 0);
      pen.fillStyle = '#000';
      pen.fillRect(Math.round(at), 0, 1, high);
      canvas.dataset.time = now;
    }
    requestAnimationFrame(follow);
  };
  follow();
});
"""


def with_curves(page: str, runs: Sequence[PlayedRun]) -> str:
    """Add curves of efforts and forces, and a still picture, to a page made by viser."""
    charts = [
        _chart(run.time, title, values, names)
        for run in runs
        for title, values, names in run.charts()
    ]
    text = json.dumps(charts, separators=(',', ':')).replace('</', '<\\/')
    picture = base64.b64encode(_still(runs[0])).decode()
    added = (
        f'<script type="application/json" id="curves">{text}</script>'
        f'<template id="still"><p>{html.escape(_NO_WEBGL)}</p>'
        f'<img alt="{html.escape(runs[0].name)}" src="data:image/png;base64,{picture}"></template>'
        f'<script>{_SCRIPT}</script>'
    )
    end = page.rindex('</body>')
    return page[:end] + added + page[end:]


def _chart(time: FloatArray, title: str, values: FloatArray, names: Sequence[str]) -> Any:
    every = max(1, len(time) // _POINTS)
    curves = [
        {
            'name': name,
            'colour': PALETTE[k % len(PALETTE)],
            'values': [float(f'{v:.{_DIGITS}g}') for v in values[::every, k].tolist()],
        }
        for k, name in enumerate(names)
    ]
    return {'title': title, 'time': np.round(time[::every], 4).tolist(), 'curves': curves}


def _still(run: PlayedRun) -> bytes:
    """The mechanism as lines between joints, halfway through the run, from the front; PNG."""
    from matplotlib.figure import Figure

    tree = run.mechanism.structure.tree
    poses = tree.poses(run.q[len(run.q) // 2])
    figure = Figure(figsize=(5.0, 4.0), layout='constrained')
    axes = figure.subplots()
    for j, placement in enumerate(tree.placements):
        if placement.body >= 0:
            ends = poses.origins[[placement.body, j]]
            axes.plot(1e3 * ends[:, 1], 1e3 * ends[:, 2], '.-', color='#555', lw=2)
    if 'incisor' in run.mechanism.frames:
        path = frame_poses(run.mechanism, run.q, 'incisor')[0]
        axes.plot(1e3 * path[:, 1], 1e3 * path[:, 2], color=PALETTE[2])
    axes.set(xlabel='y, mm', ylabel='z, mm', title=run.name, aspect='equal')
    stream = io.BytesIO()
    figure.savefig(stream, format='png', dpi=100)
    return stream.getvalue()
