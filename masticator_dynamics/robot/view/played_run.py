# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Data to play: positions of all joints over time, forces at points, and curves."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from masticator_dynamics.description.loader import shipped_mechanisms
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.evaluation.frames import frame_poses
from masticator_dynamics.files.mcap_file import Recording, read_mcap
from masticator_dynamics.files.tables import read_cut_table
from masticator_dynamics.mechanism import Mechanism

FRAME_RATE = 25.0  # Hz, of the display


@dataclasses.dataclass(frozen=True)
class PointForces:
    """A force at a moving point: ``points`` (N, 3) in m and ``vectors`` (N, 3) in N, base axes."""

    points: FloatArray
    vectors: FloatArray


@dataclasses.dataclass(frozen=True)
class PlayedRun:
    """A motion with its loads.

    Attributes
    ----------
    name : str
    mechanism : Mechanism
    time : array, shape (N,)
        s, increasing, from 0.
    q : array, shape (N, n_q)
        Tree positions.
    forces : dict of PointForces
    efforts : array, shape (N, n_u)
        N m or N; no columns where unknown.
    cut : str
        If the file is truncated, a sentence on how much is there.
    """

    name: str
    mechanism: Mechanism
    time: FloatArray
    q: FloatArray
    forces: dict[str, PointForces]
    efforts: FloatArray
    cut: str = ''

    def charts(self) -> Iterator[tuple[str, FloatArray, Sequence[str]]]:
        """What is drawn over time, where it is known: title, values (N, k) and k names."""
        if self.efforts.shape[1]:
            unit = '/'.join(dict.fromkeys(self.mechanism.effort_units))
            yield f'{self.name}: efforts, {unit}', self.efforts, self.mechanism.actuated
        if self.forces:
            sizes = [np.linalg.norm(force.vectors, axis=1) for force in self.forces.values()]
            yield f'{self.name}: forces, N', np.stack(sizes, axis=1), tuple(self.forces)


def load_run(file: pathlib.Path, mechanism: str | None) -> PlayedRun:
    """Read a motion (CSV, as ``inverse-dynamics`` takes it) or a recording (MCAP).

    Parameters
    ----------
    mechanism : str, optional
        Name or path; by default found by the names of the joints.

    Raises
    ------
    InputError
        If the file cannot be read, or no shipped mechanism has its joints.
    """
    if file.suffix != '.mcap':
        return _read_csv(file, mechanism)
    try:
        return _read_mcap(file, mechanism)
    except MasticatorError:
        raise
    except (KeyError, IndexError, TypeError, ValueError) as error:  # messages that do not fit
        reason = f'{type(error).__name__}: {error}'
        raise InputError(f'{file}: its messages make no motion: {reason}') from error


def _read_csv(file: pathlib.Path, mechanism: str | None) -> PlayedRun:
    from masticator_dynamics.motion.motion_file import motion_in

    table, cut = read_cut_table(str(file))
    columns = set(table.columns)
    found = _mechanism(file, mechanism, lambda m: set(m.independent) <= columns)
    motion = motion_in(table, found)
    effort = found.feedforward_batch(motion.y, motion.y_dot, motion.y_ddot, motion.wrench)
    time = motion.time - motion.time[0]
    forces = _contacts(found, effort.q, effort.contact)
    if motion.wrench is not None:
        where, _ = frame_poses(found, effort.q, found.description.platform)
        forces['load'] = PointForces(where, motion.wrench[:, :3])
    return PlayedRun(file.stem, found, time, effort.q, forces, effort.actuated, cut)


def _contacts(
    mechanism: Mechanism, q: FloatArray, multipliers: FloatArray
) -> dict[str, PointForces]:
    found = {}
    for k, contact in enumerate(mechanism.description.contacts):
        points, _ = frame_poses(mechanism, q, contact.frame)
        found[contact.name] = PointForces(
            points, multipliers[:, k, None] * np.array(contact.normal)
        )
    return found


def _mechanism(
    file: pathlib.Path, given: str | None, fits: Callable[[Mechanism], bool]
) -> Mechanism:
    if given is not None:
        return Mechanism.load(given)
    names = ['masticator', *(n for n in shipped_mechanisms() if n != 'masticator')]
    for name in names:
        mechanism = Mechanism.load(name)
        if fits(mechanism):
            return mechanism
    raise InputError(f'{file}: no shipped mechanism has these joints; name one with --mechanism')


def _read_mcap(file: pathlib.Path, mechanism: str | None) -> PlayedRun:
    recorded = read_mcap(file)
    times, messages = {}, {}
    for topic, events in recorded.events.items():
        name = topic.lstrip('/')
        times[name] = np.array([1e-9 * event.log_time for event in events])
        messages[name] = [event.content for event in events]
    if 'joint_states' not in messages:
        raise InputError(recorded.cut or f'{file}: nothing was recorded on joint_states')
    names = list(messages['joint_states'][0].name)
    found = _mechanism(file, mechanism, lambda m: set(m.tree_joints) == set(names))
    order = [names.index(joint) for joint in found.tree_joints]
    time = times['joint_states']
    q = np.array([message.position for message in messages['joint_states']])[:, order]
    start, forces = time[0], {}
    for topic, series in messages.items():
        if not hasattr(series[0], 'wrench') or not series[0].header.frame_id:
            continue
        points, turns = frame_poses(found, q, series[0].header.frame_id)
        given = np.array([[getattr(m.wrench.force, a) for a in 'xyz'] for m in series])
        local = _resampled(time, times[topic], given)
        forces[topic.replace('/', '_')] = PointForces(points, np.einsum('nij,nj->ni', turns, local))
    if 'contacts' in messages:
        given = np.array([message.effort for message in messages['contacts']])
        forces |= _contacts(found, q, _resampled(time, times['contacts'], given))
    if 'food' in messages:
        given = np.array([message.effort for message in messages['food']])
        forces['food'] = _food(found, q, _resampled(time, times['food'], given), recorded, file)
    efforts = np.zeros((len(time), 0))
    for topic in ('drive_states', 'feedforward_state'):
        if topic in messages and len(messages[topic][0].effort):
            joints = list(messages[topic][0].name)
            columns = [joints.index(joint) for joint in found.actuated]
            given = np.array([message.effort for message in messages[topic]])[:, columns]
            efforts = _resampled(time, times[topic], given)
            break
    return PlayedRun(file.stem, found, time - start, q, forces, efforts, recorded.cut)


def _resampled(time: FloatArray, times: FloatArray, values: FloatArray) -> FloatArray:
    """Values (M, k) at other times (N,): linear between them, zero before the first."""
    columns = [np.interp(time, times, column, left=0.0) for column in values.T]
    return np.stack(columns, axis=1)


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
