# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The paragraph on methods, and how to cite, from what was asked for and what was recorded."""

from __future__ import annotations

import importlib.metadata
from typing import Any

from masticator_dynamics.robot.laboratory import recording
from masticator_dynamics.robot.laboratory.experiment_run import ROBOT, Experiment
from masticator_dynamics.robot.laboratory.texture_profile import TOUCH
from masticator_dynamics.robot.laboratory.units import level, named_term

PACKAGE = 'masticator_dynamics'
_YEAR = 2026
_FIGURES = (
    'Texture figures were computed from gap and force as in a texture profile analysis with two '
    'bites (Friedman, Whitney and Szczesniak 1963; Bourne 1978), with contact above {touch} N.'
)
_TESTS = (
    'Figures were compared by analysis of variance of all factors and their interactions (sums of '
    'squares of type II; p corrected for all effects on a figure after Holm), levels by marginal '
    'means (Tukey and Kramer), with statsmodels {version}; intervals are 95 % confidence intervals.'
)


def methods(experiment: Experiment) -> str:
    """What was done, as a paragraph of a paper."""
    protocol, kept = experiment.protocol, _recorded(experiment)
    motion = protocol.motion
    if motion.recording:
        moved = f'The jaw repeated the recorded motion of a subject ({motion.recording})'
    else:
        same = {
            'motion.side': f'on the {motion.side} side',
            'motion.period': f'a period of {level("motion.period", motion.period)}',
            'motion.opening': f'an opening of {level("motion.opening", motion.opening)}',
            'motion.occlusal_gap': f'an occlusal gap of {motion.occlusal_gap:g} m',
        }
        kept_same = [text for name, text in same.items() if name not in protocol.factors]
        moved = ', '.join([f'The jaw chewed {_strokes(experiment)}', *kept_same])
    sentences = [
        f'Mouthfuls were chewed by {experiment.where} (six motors, four degrees of freedom, '
        f'sockets: {protocol.sockets}; drives at {kept["rate"]:g} Hz).',
        f'{moved}.',
        _design(experiment),
    ]
    spread = {name: size for name, size in dict(protocol.variation).items() if size}
    if spread and experiment.where != ROBOT:
        parts = ', '.join(f'{name.replace("_", " ")} {size:g}' for name, size in spread.items())
        sentences.append(
            f'The simulated food varied from mouthful to mouthful (standard deviations of the '
            f'logarithm: {parts}).'
        )
    sentences.append(_FIGURES.format(touch=TOUCH))
    if experiment.random:
        sentences.append(_TESTS.format(version=importlib.metadata.version('statsmodels')))
    versions = kept['versions']
    chewed, now = versions[PACKAGE], importlib.metadata.version(PACKAGE)
    software = f'Software: {PACKAGE} {chewed}' + (f' (this report: {now})' if now != chewed else '')
    sentences.append(
        f'{software}, Python {versions["python"]}, NumPy {versions["numpy"]}, SciPy '
        f'{versions["scipy"]}.'
    )
    return ' '.join(sentences)


def citation(experiment: Experiment) -> str:
    """How to cite the software that chewed."""
    version = _recorded(experiment)['versions'][PACKAGE]
    return f'The {PACKAGE} authors ({_YEAR}): {PACKAGE}, version {version}. Software.'


def _recorded(experiment: Experiment) -> dict[str, Any]:
    """Settings of the first mouthful that was chewed."""
    files = map(experiment.recording, experiment.mouthfuls)
    return recording.read_settings(next(file for file in files if file.exists()))


def _strokes(experiment: Experiment) -> str:
    counts = sorted({mouthful.strokes for mouthful in experiment.mouthfuls})
    return ' or '.join(map(str, counts)) + ' strokes per mouthful'


def _design(experiment: Experiment) -> str:
    protocol = experiment.protocol
    factors = dict(protocol.factors)
    if protocol.samples:
        factors['strokes'] = list(protocol.samples)
    times = f'{protocol.repetitions} repetition{"s" * (protocol.repetitions > 1)}'
    order = f'in random order (seed {protocol.seed})' if protocol.order == 'random' else 'in order'
    if not factors:
        return f'{protocol.food} was chewed with {times}, {order}.'
    levels = ' × '.join(
        f'{named_term(name)} ({", ".join(level(name, v) for v in values)})'
        for name, values in factors.items()
    )
    return f'Factors were crossed: {levels}, with {times} of each condition, {order}.'
