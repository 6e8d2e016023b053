# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism as one HTML file: sliders, loops closed by the engine's own formulas, efforts.

The formulas are recorded as those of machine code are, and written as JavaScript.
Style and script of the page are in ``config/view/``; the script calls the page's own ``solve``.
"""

from __future__ import annotations

import base64
import html
import json
import string
from typing import TYPE_CHECKING, Any

import numpy as np

from masticator_dynamics.engine.traced.c_controller import PRECISE_IN_C
from masticator_dynamics.engine.traced.c_statements import statements
from masticator_dynamics.engine.traced.inverse_dynamics import InverseDynamics, LeastNorm
from masticator_dynamics.engine.traced.kernels import MOST_OPERATIONS
from masticator_dynamics.engine.traced.numbers import Graph, TooLargeError
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.share import config_text
from masticator_dynamics.optional import needed
from masticator_dynamics.robot.view.scene import Solid, cylinder, slider_ranges, solids

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism


_POSE, _WRENCH = 12, 6  # numbers of a body


def slider_page(mechanism: Mechanism) -> tuple[str, list[str]]:
    """The page, and a sentence for each shape that is missing from it.

    Raises
    ------
    InputError
        For a mechanism that is too large to be written out, or if trimesh is not installed.
    """
    needed('trimesh')
    shapes, rods, missing = solids(mechanism)
    home = mechanism.home.y.tolist()
    freedoms = [
        {'name': name, 'home': at, 'unit': unit, 'per': per, 'low': low, 'high': high, 'step': step}
        for name, at, (unit, per, low, high, step) in zip(
            mechanism.independent, home, slider_ranges(mechanism), strict=True
        )
    ]
    poses = mechanism.structure.tree.poses(mechanism.home.q)
    corners = np.vstack(
        [s.mesh.vertices @ poses.rotations[s.body].T + poses.origins[s.body] for s in shapes]
    )
    low, high = corners.min(axis=0), corners.max(axis=0)
    content = {
        'freedoms': freedoms,
        'motors': list(zip(mechanism.actuated, mechanism.effort_units, strict=True)),
        'extent': float(np.linalg.norm(high - low)),
        'middle': (0.5 * (low + high)).tolist(),
        'solids': [_triangles(solid) for solid in shapes],
        'rods': [
            {
                'bodies': rod.bodies,
                'points': [point.tolist() for point in rod.points],
                **_triangles(Solid('rod', -1, cylinder(rod.radius, rod.length))),
            }
            for rod in rods
        ],
    }
    page = string.Template(config_text('view/slider_page.html')).substitute(
        name=html.escape(mechanism.name),
        style=config_text('view/slider_page.css'),
        data=json.dumps(content, separators=(',', ':')).replace('</', '<\\/'),
        solver=_solver(mechanism),
        script=config_text('view/slider_page.js'),
    )
    return page, missing


def _solver(mechanism: Mechanism) -> str:
    """JavaScript from coordinates to validity, being within ranges, efforts and poses of bodies."""
    description, structure = mechanism.description, mechanism.structure
    count = len(description.independent)
    graph = Graph(MOST_OPERATIONS)
    inputs = graph.inputs(3 * count + _WRENCH)
    names = [f'y[{i}]' if i < count else '0.0' for i in range(len(inputs))]  # at rest, unloaded
    try:
        run = InverseDynamics(
            description, structure, inputs, description.actuated, share=False, thorough=True
        )
        for closing in run.closings:
            closing.require(PRECISE_IN_C)
        efforts, bodies = LeastNorm(run).efforts(), run.bodies()
    except TooLargeError as error:
        raise InputError(f'{mechanism.name}: too large to be written out: {error}') from None
    each = _POSE + _WRENCH
    poses = [bodies[k + i] for k in range(0, len(bodies), each) for i in range(_POSE)]
    wanted = [run.valid(), run.within_ranges(), *efforts, *poses]
    parts, results, _ = statements(graph, wanted, names, {}, split=False)
    body = '\n'.join(parts).replace('const double', 'const')
    return f'function solve(y) {{\n{body}\n  return [{", ".join(results)}];\n}}'


def _triangles(solid: Solid) -> dict[str, Any]:
    """Corners (9 numbers a triangle) and colours (3) as float32 and uint8 in base64."""
    mesh = solid.mesh
    visual: Any = mesh.visual
    plain = visual if visual.kind != 'texture' else visual.to_color()
    colours = np.asarray(plain.face_colors, dtype=np.uint8)[:, :3]
    corners = np.asarray(mesh.triangles, dtype='<f4')
    return {
        'body': solid.body,
        'corners': base64.b64encode(corners.tobytes()).decode(),
        'colours': base64.b64encode(np.ascontiguousarray(colours).tobytes()).decode(),
    }
