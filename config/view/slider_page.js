// Copyright 2026 The masticator_dynamics authors
// SPDX-License-Identifier: Apache-2.0
// Script of that page; it calls `solve`, which is written for each mechanism.
// Drawing is WebGL with one matrix per body; poses are row-major rotations, then origins.
'use strict';
const robot = JSON.parse(document.getElementById('mechanism').textContent);
const byId = name => document.getElementById(name);
const canvas = byId('scene'), state = byId('state');
const gl = canvas.getContext('webgl');
const decode = (text, Kind) =>
  new Kind(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
const say = text => { state.textContent = text; };
const sub = (a, b) => a.map((v, i) => v - b[i]);
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) =>
  [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = a => { const n = Math.sqrt(dot(a, a)) || 1; return a.map(v => v / n); };
const base = [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0];

const inputs = robot.freedoms.map(f => {
  const digits = Math.max(0, -Math.floor(Math.log10(f.step) + 1e-9));
  const label = byId('sliders').appendChild(document.createElement('label'));
  const name = label.appendChild(document.createElement('span'));
  const shown = label.appendChild(document.createElement('span'));
  name.textContent = f.name;
  const input = byId('sliders').appendChild(document.createElement('input'));
  Object.assign(input, {type: 'range', min: f.low, max: f.high, step: f.step});
  input.setAttribute('aria-label', f.name);
  input.value = f.home / f.per;
  const whole = v => Math.round(v / f.step) * f.step + 0;  // not -0
  const tell = () => { shown.textContent = whole(+input.value).toFixed(digits) + ' ' + f.unit; };
  input.addEventListener('input', () => { tell(); move(); });
  return {input, tell, f};
});
const cells = robot.motors.map(([name, unit]) => {
  const row = byId('efforts').insertRow();
  row.insertCell().textContent = name;
  return {cell: row.insertCell(), unit};
});
byId('home').addEventListener('click', () => {
  for (const {input, f} of inputs) input.value = f.home / f.per;
  update(robot.freedoms.map(f => f.home));
});

let poses = [];
function update(y) {
  for (const {tell} of inputs) tell();
  const found = solve(y);
  if (!(found[0] > 0)) {
    say('Out of reach, or too near a singular pose: the last pose is shown.');
    return;
  }
  say(found[1] > 0 ? '' : 'Outside the range of a joint.');
  const efforts = found.slice(2, 2 + cells.length);
  const largest = Math.max(1e-3, ...efforts.map(Math.abs));
  const decimals = Math.max(0, 3 - Math.floor(Math.log10(largest)));
  cells.forEach(({cell, unit}, k) => {
    cell.textContent = efforts[k].toFixed(decimals) + ' ' + unit;
  });
  const first = 2 + cells.length;
  poses = [];
  for (let k = first; k < found.length; k += 12) poses.push(found.slice(k, k + 12));
  requestAnimationFrame(draw);
}
const move = () => update(inputs.map(({input, f}) => input.value * f.per));

const eye = {turn: 0.9, rise: 0.3, away: 1.3 * robot.extent};
let program, parts = [];
if (gl) {
  const shader = (kind, text) => {
    const made = gl.createShader(kind);
    gl.shaderSource(made, text);
    gl.compileShader(made);
    gl.attachShader(program, made);
  };
  program = gl.createProgram();
  shader(gl.VERTEX_SHADER, `attribute vec3 place, normal, colour; uniform mat4 body, view;
    varying vec3 shade; void main() { gl_Position = view * body * vec4(place, 1.0);
    vec3 n = mat3(body) * normal;
    shade = colour * (0.62 + 0.38 * abs(dot(n, normalize(vec3(0.4, 0.5, 0.8))))); }`);
  shader(gl.FRAGMENT_SHADER, `precision mediump float; varying vec3 shade;
    void main() { gl_FragColor = vec4(shade, 1.0); }`);
  gl.linkProgram(program);
  gl.useProgram(program);
  gl.enable(gl.DEPTH_TEST);
  parts = [...robot.solids, ...robot.rods].map(solid => {
    const corners = decode(solid.corners, Float32Array);
    const colours = decode(solid.colours, Uint8Array);
    const rows = [];
    for (let t = 0; t < corners.length / 9; t++) {
      const [a, b, c] = [0, 3, 6].map(k => Array.from(corners.slice(9 * t + k, 9 * t + k + 3)));
      const normal = unit(cross(sub(b, a), sub(c, a)));
      const colour = Array.from(colours.slice(3 * t, 3 * t + 3)).map(v => v / 255);
      for (const p of [a, b, c]) rows.push(...p, ...normal, ...colour);
    }
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(rows), gl.STATIC_DRAW);
    return {solid, buffer, count: rows.length / 9};
  });
} else {
  byId('panel').insertAdjacentText('afterbegin', 'This browser has no WebGL: no picture.');
}
const matrix = p =>
  [p[0], p[3], p[6], 0, p[1], p[4], p[7], 0, p[2], p[5], p[8], 0, p[9], p[10], p[11], 1];
const poseOf = body => body < 0 ? base : poses[body];
function pointOf(body, p) {
  const at = poseOf(body);
  return [0, 1, 2].map(i => at[9 + i] + dot(at.slice(3 * i, 3 * i + 3), p));
}
function rodPose(rod) {
  const [a, b] = rod.bodies.map((body, k) => pointOf(body, rod.points[k]));
  const z = unit(sub(b, a)), size = z.map(Math.abs), least = size.indexOf(Math.min(...size));
  const x = unit(cross([0, 1, 2].map(i => +(i === least)), z)), y = cross(z, x);
  return [x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2],
    ...a.map((v, i) => 0.5 * (v + b[i]))];
}
function draw() {
  if (!gl || !poses.length) return;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = innerWidth * ratio;
  canvas.height = innerHeight * ratio;
  const free = canvas.width - 300 * ratio;  // beside the panel
  gl.viewport(0, 0, free > 0 ? free : canvas.width, canvas.height);
  gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  const {turn, rise, away} = eye;
  const back = [Math.cos(rise) * Math.cos(turn), Math.cos(rise) * Math.sin(turn), Math.sin(rise)];
  const from = robot.middle.map((v, i) => v + away * back[i]);
  const side = unit(cross([0, 0, 1], back)), up = cross(back, side);
  const near = 0.05 * away, far = away + 20 * robot.extent, lens = 2.2;
  const wide = lens * canvas.height / (free > 0 ? free : canvas.width);
  const deep = (far + near) / (near - far), shift = 2 * far * near / (near - far);
  const rows = [[...side.map(v => v * wide), -wide * dot(side, from)],
    [...up.map(v => v * lens), -lens * dot(up, from)],
    [...back.map(v => v * deep), -deep * dot(back, from) + shift],
    [...back.map(v => -v), dot(back, from)]];
  const view = [0, 1, 2, 3].flatMap(c => rows.map(row => row[c]));
  gl.uniformMatrix4fv(gl.getUniformLocation(program, 'view'), false, view);
  for (const {solid, buffer, count} of parts) {
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    ['place', 'normal', 'colour'].forEach((name, k) => {
      const at = gl.getAttribLocation(program, name);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, 3, gl.FLOAT, false, 36, 12 * k);
    });
    const pose = solid.bodies ? rodPose(solid) : poseOf(solid.body);
    gl.uniformMatrix4fv(gl.getUniformLocation(program, 'body'), false, matrix(pose));
    gl.drawArrays(gl.TRIANGLES, 0, count);
  }
}
canvas.addEventListener('pointermove', event => {
  if (!event.buttons) return;
  eye.turn -= 0.008 * event.movementX;
  eye.rise = Math.max(-1.5, Math.min(1.5, eye.rise + 0.008 * event.movementY));
  draw();
});
canvas.addEventListener('wheel', event => {
  event.preventDefault();
  eye.away *= Math.exp(0.001 * event.deltaY);
  draw();
}, {passive: false});
addEventListener('resize', draw);
update(robot.freedoms.map(f => f.home));
