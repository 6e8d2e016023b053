# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Data to play: positions of all joints over time, forces at points, and curves."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from masticator_dynamics.description.loader import shipped_mechanisms
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import frame_poses
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.files.bag import Event, Recording, is_bag, read_bag
from masticator_dynamics.files.joint_series import (
    JointSeries,
    force_series,
    joint_names,
    joint_series,
)
from masticator_dynamics.files.recorded_joints import RecordedJoints, times_in_doubt
from masticator_dynamics.files.tables import Table, read_cut_table
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.motion_file import (
    MEASURED,
    actuated_positions,
    motion_in,
    moves,
)
from masticator_dynamics.motion.motion_rows import rows_at

FRAME_RATE = 25.0  # Hz, of the display
_NO_JOINTS = 'no shipped mechanism has these joints; name one with --mechanism'


@dataclasses.dataclass(frozen=True)
class PointForces:
    """A force at a moving point: ``points`` (N, 3) in m and ``vectors`` (N, 3) in N, base axes."""

    points: FloatArray
    vectors: FloatArray


@dataclasses.dataclass(frozen=True)
class PlayedRun:
    """A motion with its loads."""

    name: str
    mechanism: Mechanism
    time: FloatArray  # (N,), s, increasing, from 0
    q: FloatArray  # (N, n_q), tree positions
    forces: dict[str, PointForces]
    efforts: FloatArray  # (N, n_u), N m or N; no columns where unknown
    doubts: tuple[str, ...] = ()  # sentences on a truncated file, and on numbers that are none

    def charts(self) -> Iterator[tuple[str, FloatArray, Sequence[str]]]:
        """What is drawn over time, where it is known: title, values (N, k) and k names."""
        if self.efforts.shape[1]:
            unit = '/'.join(dict.fromkeys(self.mechanism.effort_units))
            yield f'{self.name}: efforts, {unit}', self.efforts, self.mechanism.actuated
        if self.forces:
            sizes = [np.linalg.norm(force.vectors, axis=1) for force in self.forces.values()]
            yield f'{self.name}: forces, N', np.stack(sizes, axis=1), tuple(self.forces)


def load_run(
    file: pathlib.Path, mechanism: str | None, names: Mapping[str, str] | None = None
) -> PlayedRun:
    """Read a motion (CSV, as ``inverse-dynamics`` takes it), or a bag or a file of one.

    Parameters
    ----------
    mechanism : str, optional
        Name or path; by default found by the names of the joints.
    names : mapping, optional
        How the recording calls joints, by their names in the mechanism.

    Raises
    ------
    InputError
        If the file cannot be read, or no shipped mechanism has its joints.
    """
    recorded = {there: here for here, there in (names or {}).items()}
    if not is_bag(file):
        return _read_csv(file, mechanism, recorded)
    try:
        return _read_bag(file, mechanism, recorded)
    except MasticatorError:
        raise
    except (KeyError, IndexError, TypeError, ValueError) as error:  # messages that do not fit
        reason = f'{type(error).__name__}: {error}'
        raise InputError(f'{file}: its messages make no motion: {reason}') from error


def _read_csv(file: pathlib.Path, mechanism: str | None, recorded: Mapping[str, str]) -> PlayedRun:
    table, cut = read_cut_table(str(file))
    table.rename_joints(recorded)
    late = times_in_doubt(table, table.times())
    doubts = tuple(sentence for sentence in (cut, late and f'{file}: {late}') if sentence)

    def fits(candidate: Mechanism) -> bool:
        return set(candidate.independent) <= set(table.columns)

    model = _mechanism(mechanism, fits)
    if model is None or not fits(model):
        return _read_joints(file, mechanism, table, doubts)
    motion = motion_in(table, model)
    effort = model.feedforward_batch(motion.y, motion.y_dot, motion.y_ddot, motion.wrench)
    time = motion.time - motion.time[0]
    forces = _contacts(model, effort.q, effort.contact)
    if motion.wrench is not None:
        where, _ = frame_poses(model, effort.q, model.description.platform)
        forces['load'] = PointForces(where, motion.wrench[:, :3])
    return PlayedRun(file.stem, model, time, effort.q, forces, effort.actuated, doubts)


def _read_joints(
    file: pathlib.Path, mechanism: str | None, table: Table, doubts: tuple[str, ...]
) -> PlayedRun:
    """Positions of the actuated joints, as in tables of ``inverse-dynamics`` and of the demo.

    Mechanisms can have the same joints: the first whose loops these positions close is meant.
    """

    def closes(candidate: Mechanism) -> bool:
        named = moves(table, candidate.actuated)
        return named and _closes(candidate, actuated_positions(table, candidate))

    model = _mechanism(mechanism, closes)
    if model is None:
        raise InputError(f'{file}: {_NO_JOINTS}')
    time, q = table.times(), _completed(model, actuated_positions(table, model))
    efforts = table.all_or_none([f'effort_{joint}' for joint in model.actuated])
    contacts = table.all_or_none([f'contact_{name}' for name in model.contacts])
    return PlayedRun(
        file.stem, model, time - time[0], q,
        {} if contacts is None else _contacts(model, q, contacts),
        np.zeros((len(time), 0)) if efforts is None else efforts, doubts,
    )  # fmt: skip


def _closes(mechanism: Mechanism, actuated: FloatArray) -> bool:
    try:
        _completed(mechanism, actuated[:: max(1, len(actuated) // 10)])
    except MasticatorError:
        return False
    return True


def _completed(mechanism: Mechanism, actuated: FloatArray) -> FloatArray:
    """Tree positions (N, n_q) from those of the actuated joints (N, n_u), which may be measured."""
    y = mechanism.forward_kinematics_batch(actuated, MEASURED).y
    return mechanism.feedforward_batch(y).q


def _contacts(
    mechanism: Mechanism, q: FloatArray, multipliers: FloatArray
) -> dict[str, PointForces]:
    forces = {}
    for k, contact in enumerate(mechanism.description.contacts):
        points, _ = frame_poses(mechanism, q, contact.frame)
        forces[contact.name] = PointForces(
            points, multipliers[:, k, None] * np.array(contact.normal)
        )
    return forces


def _mechanism(name: str | None, fits: Callable[[Mechanism], bool]) -> Mechanism | None:
    """The mechanism that is given, or else the first shipped one that fits."""
    if name is not None:
        return Mechanism.load(name)
    names = ['masticator', *(n for n in shipped_mechanisms() if n != 'masticator')]
    return next((model for model in map(Mechanism.load, names) if fits(model)), None)


def _read_bag(file: pathlib.Path, mechanism: str | None, recorded: Mapping[str, str]) -> PlayedRun:
    recording = read_bag(file)
    topics = {name.lstrip('/'): events for name, events in recording.events.items()}
    start = min(events[0].log_time for events in topics.values())

    def joints_of(topic: str, joints: Sequence[str] | None = None) -> JointSeries:
        there = {here: name for name, here in recorded.items()}
        wanted = None if joints is None else [there.get(joint, joint) for joint in joints]
        try:
            return joint_series(topics[topic], start, wanted)
        except InputError as error:
            raise InputError(f'{file}: {error}') from error

    model, topic, joints = _moved(file, mechanism, topics, recorded, joints_of)
    table = RecordedJoints(str(file), topic, joints_of(topic, joints), recording.cut)
    time, moved, doubts = table.times(), table.series, [*table.doubts]
    q = _numbers(moved.position, f'{file}: {topic}: positions', doubts)
    q = q if joints == model.tree_joints else _completed(model, q)

    def forces_of(name: str, times: FloatArray, values: FloatArray) -> FloatArray:
        numbers = _numbers(values, f'{file}: {name}: forces', doubts)
        return rows_at(moved.time, times, numbers, before=0.0)

    forces = {}
    for name, events in topics.items():
        if not hasattr(events[0].content, 'wrench') or not events[0].content.header.frame_id:
            continue
        wrench = force_series(events, start)
        points, turns = frame_poses(model, q, wrench.frame)
        vectors = np.einsum('nij,nj->ni', turns, forces_of(name, wrench.stamps, wrench.force))
        forces[name.replace('/', '_')] = PointForces(points, vectors)
    for name in {'contacts', 'food'} & set(topics):
        loads = joints_of(name)
        values = forces_of(name, loads.time, loads.effort)
        more = {'food': _food(model, q, values, recording, file)} if name == 'food' else {}
        forces |= more or _contacts(model, q, values)
    efforts = np.zeros((len(q), 0))
    for name in ('drive_states', 'servo_drives/state', 'feedforward_state', topic):
        if name in topics and set(model.actuated) <= set(joint_names(topics[name])):
            motors = joints_of(name, model.actuated)
            if motors.effort.shape[1]:
                efforts = forces_of(name, motors.time, motors.effort)
                break
    return PlayedRun(file.stem, model, time, q, forces, efforts, tuple(doubts))


def _moved(
    file: pathlib.Path,
    mechanism: str | None,
    topics: Mapping[str, Sequence[Event]],
    recorded: Mapping[str, str],
    joints_of: Callable[[str, Sequence[str]], JointSeries],
) -> tuple[Mechanism, str, Sequence[str]]:
    """The mechanism of a recording, and the topic with its joints: all, or the actuated ones."""
    present = {
        topic: {recorded.get(name, name) for name in joint_names(events)}
        for topic, events in topics.items()
    }

    def positions_of(joints: Sequence[str]) -> str | None:
        fits = [
            topic
            for topic, names in present.items()
            if set(joints) <= names and joints_of(topic, joints).position.shape[1]
        ]
        # Trajectories tell what was wanted.
        return min(
            fits,
            key=lambda t: (hasattr(topics[t][0].content, 'points'), not t.endswith('joint_states')),
            default=None,
        )

    def closes(candidate: Mechanism) -> bool:
        topic = positions_of(candidate.actuated)
        if topic is None:
            return False
        position = joints_of(topic, candidate.actuated).position
        return _closes(candidate, position[np.isfinite(position).all(axis=1)])

    def whole(candidate: Mechanism) -> bool:
        return positions_of(candidate.tree_joints) is not None

    model = _mechanism(mechanism, whole) or _mechanism(mechanism, closes)
    if model is None:
        raise InputError(f'{file}: {_NO_JOINTS}')
    for joints in (model.tree_joints, model.actuated):
        topic = positions_of(joints)
        if topic is not None:
            return model, topic, joints
    raise InputError(f'{file}: no positions of the joints of {model.name} were recorded')


def _numbers(values: FloatArray, what: str, doubts: list[str]) -> FloatArray:
    """Rows without those that are not finite: the row before stands in, and it is said."""
    sound = np.asarray(np.isfinite(values).all(axis=1))
    if sound.all():
        return values
    if not sound.any():
        raise InputError(f'{what} are not finite in any message')
    doubts.append(
        f'{what} of {np.count_nonzero(~sound)} of {len(sound)} messages are not finite; those '
        'before are shown in their place'
    )
    rows = np.maximum.accumulate(np.where(sound, np.arange(len(sound)), -1))
    rows[rows < 0] = int(np.argmax(sound))
    return values[rows]


def _food(
    mechanism: Mechanism, q: FloatArray, force: FloatArray, recorded: Recording, file: pathlib.Path
) -> PointForces:
    """Force (N, 1) of the food on the tooth: down, at the molar of the side chewed on."""
    try:
        side = json.loads(recorded.metadata['mouthful']['json'])['motion']['side']
        points, _ = frame_poses(mechanism, q, f'molar_{side}')
    except (KeyError, ValueError) as error:
        raise InputError(f'{file}: no recording of a mouthful: {error}') from error
    return PointForces(points, -force * np.array([0.0, 0.0, 1.0]))
