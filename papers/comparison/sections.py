# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""List of all sections; each is imported when it runs.

If most of a section's time goes into many independent cases, its module has ``CASES`` and a
function ``run(case)``, and ``inputs.results(run, CASES, label)`` returns the results. The cases of
all sections are computed in parallel.
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable, Hashable
from typing import Any

from papers.comparison.comparison_table import ComparisonTable
from papers.comparison.inputs import Inputs

Section = Callable[[Inputs], list[ComparisonTable]]

# Name (the module's, with hyphens for underscores), and what the section compares.
SECTIONS = {
    'parameters': "Consistency of the masticator's printed parameters (S0, S1).",
    'coupling': 'Inertia coupling of the masticator and of rss6 (S0 Figs. 7, 8).',
    'coupling-course': 'Inertia coupling over time: amplitude and smoothness (S0 Fig. 7).',
    'parasitic': 'Motion of mandible and cranks; formulas for Z and gamma (S0, S1 Figs. 6, 7).',
    'torques': 'Torques of the masticator and rss6 while chewing left and right (S0 Figs. 5, 6).',
    'goals': 'Seven indices for three goals of torque distribution (S1 Table 3).',
    'friction': 'Friction, contact and constraint forces while chewing (S1 Figs. 10 to 13).',
    'goal-search': "Cost of S1's optimisation for its three goals (S1 Sec. 4.5, Fig. 14).",
    'incisor': 'Incisor tracking next to the three separate optimisations of S1.',
    'formulations': "The papers' own methods: agreement with the engine, and time (S0, S1).",
    'rcid': 'Generalized momentum on the RCID: agreement, spin of links, operations (S2).',
    'rcid-stroke': 'Stroke of the actuators that the workspace of the RCID needs (S2 Sec. 2).',
    'rrr4': 'Planar 4-RRR, rigid links: path, torques and powers of the drive modes (S3 Sec. 4).',
    'flexible': "Flexible rods of rrr4: frequencies, drive modes, S3's claims (S3 Secs. 4-6).",
    'trimule': 'Load inertia of TriMule at the points of S4 Table 3 and over its workspace.',
    'trimule-path': 'Torques of TriMule on a circle, by model and estimate (S4 Table 7, Fig. 18).',
    'estimators': "Estimators of the TriMule's load inertia (S4 Tables 5, 6).",
}

# Sections that measure time: they run alone.
TIMED = ('formulations', 'goal-search', 'estimators')

# Short names of the papers.
PAPERS = {
    'S0': 'Cheng et al. 2024, Mechanical Sciences 15, 587',
    'S1': 'Cheng, Yuan and Li 2025, Biomimetics 10, 437',
    'S2': 'Lopes and Almeida 2008, in: Parallel Manipulators, towards New Applications',
    'S3': 'Liu, Yang, Ding and Chai 2023, Mathematical Biosciences and Engineering 20, 3918',
    'S4': 'Liu, Yan, Li and Ma, Dynamic formulation and inertia fast estimation of a 5-DOF hybrid '
    'robot',
}


def section(name: str) -> Section:
    """Import a section's function ``compare``."""
    compare: Section = _module(name).compare
    return compare


def cases(name: str) -> list[tuple[Callable[[Any], Any], Hashable]]:
    """Import a section's function ``run``, once for each of its cases."""
    module = _module(name)
    return [(module.run, case) for case in getattr(module, 'CASES', ())]


def _module(name: str) -> types.ModuleType:
    return importlib.import_module(f'{__package__}.{name.replace("-", "_")}')
