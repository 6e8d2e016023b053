# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""All timings side by side: ``python -m benchmark.run [--json FILE]``, or ``make bench``.

The exit code says whether the methods agree, never whether they are fast.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import sys
import tempfile

from benchmark.control_loop import busy_processes, time_loop
from benchmark.derivatives import as_text as derivatives_as_text
from benchmark.drive_cycle import time_drive_cycle
from benchmark.equations import as_text as equations_as_text
from benchmark.first_torque import METHODS as FRESH_METHODS
from benchmark.first_torque import time_first_torque
from benchmark.floor import CompilerMissingError, floor_method
from benchmark.friction import COLUMNS as WITH_FRICTION
from benchmark.friction import NOTES as FRICTION_NOTES
from benchmark.friction import FrictionMethods
from benchmark.multiples import as_text as multiples_as_text
from benchmark.multiples import multiples
from benchmark.numpy_method import NumpyMethod
from benchmark.pinocchio_method import PinocchioMethod
from benchmark.states import MECHANISMS, random_states
from benchmark.table import Row, as_data, as_text
from benchmark.timing import Method, disagreement, percentiles, time_batches, time_calls
from masticator_dynamics import Mechanism
from masticator_dynamics.drives.configuration import Gains
from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.robot.twin.study import StudySetting, study_feedforward
from papers.formulations.geometry import read_geometry

OURS, PINOCCHIO, NUMPY, FLOOR = 'engine', 'Pinocchio', 'numpy', 'C++ floor'
TOLERANCES = {PINOCCHIO: 1e-8, NUMPY: 1e-8, FLOOR: 1e-9}  # of the largest torque
PACKAGES = ('numpy', 'scipy', 'llvmlite', 'pin', 'daqp')
POOL, CHECKED, BATCH, LOOPED = 256, 2000, 5000, 250
# Best gains of PD alone with margins of 6 dB and 30 degrees: `masticator study-feedforward --tune`.
GAINS = Gains(position=16.0, velocity=0.08)
NOTES = """\
Numbers in brackets are multiples of the engine's. One call: from Python, with warm caches and
scattered poses; the mean over a turn of about 1 ms, its median (p50) and tenth percentile (p10)
over {rounds} turns. Engine: torques with residuals and contact forces; the torques are read, and in
the row that says so also the rest of Effort, for which the rows are computed a second time.
Pinocchio: from Python, Newton from home, numpy for the loops, torques only; a batch is a loop over
{looped} samples, scaled up. numpy: closed form for the masticator alone, torques only; batches
vectorised over samples. C++ floor: the same, written by hand and called with packed numbers through
ctypes, torques only."""


def main() -> int:
    """Run everything and print the table."""
    options = _options()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as directory:
        methods = _masticator_methods(pathlib.Path(directory))
    _tell('Checking that all methods agree')
    agreement = _check(methods, 'masticator')
    friction = FrictionMethods(Mechanism.load('masticator'))
    misses = friction.check(random_states('masticator', CHECKED))
    rows += _one_call(methods, options.rounds)
    _tell('One call with friction')
    with_friction = friction.time(random_states('masticator', POOL), options.rounds)
    rows += _batch(methods, options.rounds // 20)
    rows += _fresh_process(options.processes)
    rows += _control_loop(methods, options.loop_rounds, options.busy)
    rows += _per_mechanism(options.rounds // 2, agreement)
    rows += _drive_cycle()
    _tell('Tracking')
    setting = StudySetting.shipped(chewing_stroke(strokes=1), 'soft', 500.0)
    tracked = study_feedforward(setting, GAINS)
    try:
        in_multiples = multiples_as_text(multiples(options.rounds // 4))
    except CompilerMissingError:
        in_multiples = ''  # a message was printed above
    of_equations = equations_as_text(options.rounds // 4)
    _tell('Derivatives, regressor and parameters as inputs')
    of_derivatives = '\n'.join(map(derivatives_as_text, ('masticator', 'trimule')))
    machine = _machine()
    print('\n'.join(f'{key}: {value}' for key, value in machine.items()), end='\n\n')
    print(as_text(rows, [OURS, PINOCCHIO, NUMPY, FLOOR]), end='\n\n')
    print(NOTES.format(rounds=options.rounds, looped=LOOPED), end='\n\n')
    print(as_text(with_friction, list(WITH_FRICTION)), end='\n\n')
    print(FRICTION_NOTES.format(checked=CHECKED))
    print('\n'.join(miss.as_text() for miss in misses), end='\n\n')
    print(in_multiples, end='\n\n')
    print(of_equations, end='\n\n')
    print(of_derivatives, end='\n\n')
    print('Incisor tracking of one stroke against soft food, simulated drives')
    print(tracked.text(), end='\n\n')
    differences = ', '.join(f'{name} {value:.0e}' for name, value in agreement.items())
    print(f'Largest difference from the engine, of the largest torque:\n{differences}')
    if options.json:
        data = {
            'machine': machine,
            'agreement': agreement,
            'misses': [dataclasses.asdict(miss) for miss in misses],
            'rows': as_data(rows + with_friction, OURS),
            'incisor_rms': {run.label: run.incisor_rms for run in tracked.runs},
        }
        options.json.write_text(json.dumps(data, indent=2) + '\n', encoding='utf-8')
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='python -m benchmark.run', description=__doc__)
    parser.add_argument('--json', type=pathlib.Path, metavar='FILE', help='write the figures, too')
    parser.add_argument('--rounds', type=int, default=200, help='turns of each method (200)')
    parser.add_argument('--processes', type=int, default=5, help='fresh processes each (5)')
    parser.add_argument('--loop-rounds', type=int, default=20, help='quarters of a second (20)')
    parser.add_argument('--busy', type=int, default=1, help='processes beside the loop (1)')
    return parser.parse_args()


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _engine(mechanism: Mechanism) -> Method:
    return Method(
        OURS,
        lambda *state: mechanism.feedforward(*state).actuated,
        batch=lambda *columns: mechanism.feedforward_batch(*columns).actuated,
    )


def _masticator_methods(directory: pathlib.Path) -> list[Method]:
    _tell('Loading; after a change of the engine this compiles it, which takes half a minute')
    mechanism = Mechanism.load('masticator')
    geometry = read_geometry(mechanism.description)
    in_numpy = NumpyMethod(geometry)
    methods = [
        _engine(mechanism),
        Method(PINOCCHIO, PinocchioMethod(mechanism.description.file).torques),
        Method(NUMPY, in_numpy.torques, batch=in_numpy.torques),
    ]
    try:
        methods.append(floor_method(geometry, directory))
    except CompilerMissingError as error:
        _tell(f'The C++ floor is left out: {error}')
    return methods


def _check(methods: list[Method], mechanism: str) -> dict[str, float]:
    """Check that all methods do the same job; returns their differences from the engine."""
    found = disagreement(methods, random_states(mechanism, POOL))
    for name, tolerance in TOLERANCES.items():
        if not found.get(name, 0.0) <= tolerance:
            raise SystemExit(f'{name} and the engine differ by {found[name]:.3g} on {mechanism}')
    return {name: value for name, value in found.items() if name != OURS}


def _one_call(methods: list[Method], rounds: int) -> list[Row]:
    _tell('One call')
    seconds = time_calls(methods, random_states('masticator', POOL), rounds)
    return [
        Row('masticator, one call from Python', '', {}),
        Row('pose to least-norm torques, p50', 'µs', percentiles(seconds, 50, 1e6), 10.0),
        Row('pose to least-norm torques, p10', 'µs', percentiles(seconds, 10, 1e6)),
    ]


def _batch(methods: list[Method], rounds: int) -> list[Row]:
    _tell('Batch')
    seconds = time_batches(methods, random_states('masticator', BATCH), rounds, LOOPED)
    figures = percentiles(seconds, 50, 1e3)
    return [
        Row('masticator, batch', '', {}),
        Row(f'{BATCH} samples, p50', 'ms', figures, 40.0),
        Row('per sample', 'µs', {name: 1e3 * v / BATCH for name, v in figures.items()}),
        _batch_of_everything(rounds),
    ]


def _batch_of_everything(rounds: int) -> Row:
    """Time a batch whose positions, velocities, accelerations and tangent are also read."""
    mechanism = Mechanism.load('masticator')
    method = Method(
        OURS,
        lambda *state: mechanism.feedforward(*state).q,
        batch=lambda *columns: mechanism.feedforward_batch(*columns).q,
    )
    seconds = time_batches([method], random_states('masticator', BATCH), rounds, LOOPED)
    figures = percentiles(seconds, 50, 1e6)
    per_sample = {name: v / BATCH for name, v in figures.items()}
    return Row('per sample, all of Effort', 'µs', per_sample)


def _fresh_process(rounds: int) -> list[Row]:
    _tell('Fresh processes')
    seconds = time_first_torque(FRESH_METHODS, rounds)
    return [
        Row('masticator, fresh process, warm cache', '', {}),
        Row('start to first torque, median', 's', percentiles(seconds, 50, 1.0), 1.5),
    ]


def _control_loop(methods: list[Method], rounds: int, busy: int) -> list[Row]:
    _tell('Loop')
    with busy_processes(busy):
        seconds = time_loop(methods, random_states('masticator', POOL), rounds)
    rows = [Row(f'masticator, 1 kHz loop with sleeps, {busy} busy process(es) beside it', '', {})]
    for percentile, budget in ((50, None), (99, 50.0), (99.9, None)):
        figures = percentiles(seconds, percentile, 1e6)
        rows.append(Row(f'one evaluation, p{percentile:g}', 'µs', figures, budget))
    return rows


def _per_mechanism(rounds: int, agreement: dict[str, float]) -> list[Row]:
    """Time one call for every mechanism; adds the differences to ``agreement``."""
    rows = [Row('every mechanism, one call from Python', '', {})]
    for name in MECHANISMS:
        _tell(f'One call, {name}')
        mechanism = Mechanism.load(name)
        pinocchio = PinocchioMethod(mechanism.description.file)
        methods = [_engine(mechanism), Method(PINOCCHIO, pinocchio.torques)]
        agreement[f'{PINOCCHIO} on {name}'] = _check(methods, name)[PINOCCHIO]
        seconds = time_calls(methods, random_states(name, POOL), rounds)
        rows.append(Row(f'{name}, p50', 'µs', percentiles(seconds, 50, 1e6)))
        rows.append(Row(f'{name}, p10', 'µs', percentiles(seconds, 10, 1e6)))
    return rows


def _drive_cycle() -> list[Row]:
    _tell('Cycle of the drives')
    with tempfile.TemporaryDirectory() as directory:
        try:
            found = time_drive_cycle(pathlib.Path(directory))
        except MasticatorError as error:
            _tell(f'The cycle of the drives is left out: {error}')
            return []
    answer, duration = found.answer.spread(), found.duration.spread()
    figures = (
        ('exchange and supervision, processor time', found.processor),
        ('SYNC to the last answer, p50', answer['p50']),
        ('SYNC to the last frame sent, p50', duration['p50']),
        ('SYNC to the last frame sent, p99', duration['p99']),
        ('SYNC late, p99', found.lateness.spread()['p99']),
    )
    return [
        Row('six simulated drives in another process, cycles at 500 Hz', '', {}),
        *(Row(label, 'µs', {OURS: 1e6 * seconds}) for label, seconds in figures),
    ]


def _machine() -> dict[str, str]:
    """Machine, software and date of the measurement."""
    model = ''
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        for line in file:
            if line.startswith('model name'):
                model = line.split(':', 1)[1].strip()
                break
    versions = [f'{name} {importlib.metadata.version(name)}' for name in PACKAGES]
    load = ' '.join(f'{value:.2f}' for value in os.getloadavg())
    return {
        'machine': f'{model or platform.processor()}, {os.cpu_count()} cores, {platform.machine()}',
        'software': ', '.join([f'Python {platform.python_version()}', *versions]),
        'date': f'{datetime.datetime.now():%Y-%m-%d %H:%M}, load average at the end {load}',
    }


if __name__ == '__main__':
    sys.exit(main())
