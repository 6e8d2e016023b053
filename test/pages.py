# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that README, the first pages and the help show, and the files that they name."""

import functools
import pathlib
import re
import shlex
import shutil

import numpy as np
import samples
import yaml
from processes import free_port

from masticator_dynamics import Mechanism, cli
from masticator_dynamics.files.tables import write_table
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.robot.recording.nodes import on_simulated_bus

README = samples.ROOT / 'README.md'
QUICK_START, TUTORIAL = (samples.ROOT / 'docs' / f'{n}.md' for n in ('quick-start', 'tutorial'))
BLOCK = re.compile(r'```(\w*)\n(.*?)```', re.DOTALL)
# Not run here, and why.
EXCUSED = {
    'make': 'CI runs it',
    'pip': 'CI installs wheel and source in environments of their own',
    'masticator COMMAND --help': 'a placeholder',
    'python -m papers': 'computes for an hour; papers/ has tests of its own',
}
# These talk to other processes until they are interrupted or have chewed for seconds.
WAITING = {'demo', 'simulate-drives', 'view'}
# Where a command as shown computes for minutes: what is added to it here.
SMALLER = {
    'masticator flexible': '--motion spiral.csv --samples 21',
    'masticator build-estimator': '--samples 100 --held-out 100 --reached 300',
    'masticator study-feedforward': '--strokes 1 --incisor recorded.csv',
    'masticator study-force': '--only bites --seeds 1',
    'masticator excite': '--duration 10 --tries 2',
}
IMPORTED = """<mujoco><worldbody>
  <body><joint name="crank" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 .1" size=".01"/>
    <body pos="0 0 .1"><joint name="elbow" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".01"/><site name="end" pos=".3 0 0"/></body>
  </body>
  <body pos=".3 0 0"><joint name="rocker" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 .1" size=".01"/><site name="pin" pos="0 0 .1"/></body>
</worldbody>
<equality><connect site1="end" site2="pin"/></equality>
<actuator><motor joint="crank"/></actuator></mujoco>"""
STUDY = {
    'schema': 1, 'title': 'a five-bar', 'mechanism': 'five_bar',
    'variables': {'half': {'range': ['90 mm', '110 mm'], 'given': 0.1}},
    'parameters': {'motor_1.x': '-half', 'motor_2.x': 'half'},
    'motions': {'home': {'box': {}}}, 'figures': {'condition': {}},
    'minimise': ['condition'], 'samples': {'count': 10},
}  # fmt: skip


def blocks(page: pathlib.Path) -> list[tuple[str, str]]:
    """Language and text of the blocks of a page."""
    return BLOCK.findall(page.read_text(encoding='utf-8'))


def commands(block: str) -> list[tuple[str, str]]:
    """Commands of a console, each with the output below it."""
    parts = re.split(r'^\$ ', block, flags=re.MULTILINE)[1:]
    return [tuple(part.replace('\\\n', '').split('\n', 1)) for part in parts]


def documented() -> list[str]:
    """Every command of README and of the help, once; also those within sentences."""
    text = README.read_text(encoding='utf-8')
    shown = [line for kind, block in blocks(README) if kind == 'console'
             for line, _ in commands(block)]  # fmt: skip
    told = re.findall(r'`((?:masticator|python -m) [^`]+)`', BLOCK.sub('', text))
    helped = [f'masticator {name} {words}' for name, words in cli.EXAMPLES.items()]
    lines = [' '.join(re.split(r'\s#\s', line)[0].split()) for line in [*shown, *told, *helped]]
    return sorted({k for k in lines if k not in EXCUSED and k.split()[0] not in EXCUSED})


def waits(line: str) -> bool:
    """Whether a command is one for the phase of tests that wait."""
    words = line.split()
    return words[0] == 'masticator' and words[1] in WAITING and '--html' not in words


def smaller(line: str) -> list[str]:
    """Words of a command, with additions that make it quick."""
    return shlex.split(' '.join([line, *(SMALLER[k] for k in SMALLER if line.startswith(k))]))


def results(words: list[str]) -> list[str]:
    """Files and folders that a command was told to write."""
    pairs = zip(words, words[1:], strict=False)
    return [value for option, value in pairs if option in ('--output', '--plot', '--html')]


@functools.cache
def stroke() -> tuple[Mechanism, np.ndarray, list[np.ndarray]]:
    """A short chewing stroke: mechanism, times, y with its rates."""
    time = np.linspace(0.0, 1.0, 41)
    path = chewing_stroke(strokes=1, opening=0.1)
    return Mechanism.load('masticator'), time, list(path.sample(time))


def stock(folder: pathlib.Path) -> None:
    """Write every file that a documented command reads."""
    jaw, time, rows = stroke()
    motion = jaw.solve_batch(*rows)
    write_table(str(folder / 'motion.csv'), ['time', *jaw.independent],
                np.column_stack([time, rows[0]]))  # fmt: skip
    write_table(str(folder / 'cranks.csv'), ['time', *jaw.actuated],
                np.column_stack([time, motion.position]))  # fmt: skip
    incisor = jaw.frame_pose(motion, 'incisor').position
    write_table(str(folder / 'recorded.csv'), ['time', 'incisor_x', 'incisor_y', 'incisor_z'],
                np.column_stack([time, incisor - incisor[0]]))  # fmt: skip
    _write_recordings(folder, jaw)
    _write_tool(folder)
    _write_curves(folder)
    (folder / 'robot.xml').write_text(IMPORTED, encoding='utf-8')
    (folder / 'study.yaml').write_text(yaml.safe_dump(STUDY), encoding='utf-8')
    protocol = yaml.safe_load((samples.ROOT / 'examples/nut_or_bread.yaml').read_text('utf-8'))
    protocol |= {'strokes': 1, 'factors': {'food': ['peanut', 'bread']}, 'repetitions': 1}
    (folder / 'examples').mkdir()
    for name in ('protocol.yaml', 'examples/nut_or_bread.yaml'):
        (folder / name).write_text(yaml.safe_dump(protocol), encoding='utf-8')
    archetype = samples.ROOT / 'config' / 'archetypes' / 'five_bar'
    shutil.copy(f'{archetype}.urdf.xacro', folder)
    robot = yaml.safe_load(pathlib.Path(f'{archetype}.yaml').read_text('utf-8'))
    robot.pop('home', None)
    (folder / 'my_robot.yaml').write_text(yaml.safe_dump(robot), encoding='utf-8')
    drives = on_simulated_bus(samples.ROOT / 'config' / 'drives.yaml', free_port())
    (folder / 'my_drives.yaml').write_text(drives, encoding='utf-8')


def _write_recordings(folder: pathlib.Path, jaw: Mechanism) -> None:
    """run.csv: efforts of a jaw that is heavier than described; moved.csv: zeros of encoders."""
    box, time = samples.BOXES['masticator'], np.arange(0.0, 20.0, 1.0 / 60.0)
    phase = np.outer(time, [2.1, 3.7, 4.3, 5.9]) + [0.0, 1.0, 2.0, 3.0]
    rates, half = np.array([2.1, 3.7, 4.3, 5.9]), 0.4 * (box.upper - box.lower)
    middle = 0.5 * (box.upper + box.lower)
    rows = (middle + half * np.sin(phase), half * rates * np.cos(phase),
            -half * rates**2 * np.sin(phase))  # fmt: skip
    heavy = jaw.with_parameters({'mandible.mass': 1.3 * jaw.parameters()['mandible.mass']})
    effort = heavy.feedforward_batch(*rows)
    names = [f'{kind}_{joint}' for kind in ('position', 'effort') for joint in jaw.actuated]
    position = jaw.solve_batch(rows[0]).position
    write_table(str(folder / 'run.csv'), ['time', *names],
                np.column_stack([time, position, effort.actuated]))  # fmt: skip
    write_table(str(folder / 'moved.csv'), ['time', *jaw.actuated],
                np.column_stack([time, position - 0.01])[::3])  # fmt: skip


def _write_tool(folder: pathlib.Path) -> None:
    machine, turns = Mechanism.load('trimule_five_axis'), np.linspace(0.0, 1.0, 5)
    y = machine.home.y + np.outer(turns, [0.05, 0.0, 0.0, 0.1, 0.2]) + [0, 0, 0, 0, 0.3]
    tool = machine.frame_pose(machine.solve_batch(y), 'tool')
    columns = ['time', 'tip_x', 'tip_y', 'tip_z', 'axis_x', 'axis_y', 'axis_z']
    write_table(str(folder / 'tool.csv'), columns,
                np.column_stack([turns, tool.position, tool.rotation[:, :, 2]]))  # fmt: skip
    still = np.zeros(5)
    spiral = np.column_stack([turns * 0.02, 1e-4 * turns**3, still, 2.0944 + still])
    write_table(str(folder / 'spiral.csv'), ['time', 'x', 'y', 'phi'], spiral)


def _write_curves(folder: pathlib.Path) -> None:
    """Two compressions of a food that yields at 30 N."""
    time = np.linspace(0.0, 8.0, 801)
    depth = np.clip(4.0 - np.abs(time % 4.0 - 2.0) * 4.0, 0.0, None)
    force = np.minimum(20.0 * depth, 30.0)
    (folder / 'measurements').mkdir()
    for file in ('curve.csv', 'measurements/bread.csv'):
        rows = [f'{t:.2f};{d:.4f};{f:.4f}' for t, d, f in zip(time, depth, force, strict=True)]
        rows = rows[: 201 if file == 'curve.csv' else None]
        (folder / file).write_text('\n'.join(['Time (s);Distance (mm);Force (N)', *rows]) + '\n')
