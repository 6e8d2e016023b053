// Copyright 2026 The masticator_dynamics authors
// SPDX-License-Identifier: Apache-2.0
// Curves beside viser's page of a run (robot/view/scene_player.py), and a still without WebGL.
// Time is that of the page's scrub bar; curves are drawn once, the line over them every frame.
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
